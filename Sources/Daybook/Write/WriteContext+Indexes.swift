import DaybookEngine

/// Defining, building and dropping indexes.
extension WriteContext {
  private func indexes(on key: String, ofType type: String) throws(DatabaseError) -> [IndexDefinition] {
    let (key, type) = (Array(key.utf8), Array(type.utf8))
    let known = try declared().defined
    return known.all[known.range(of: type)].filter { $0.key == key }
  }

  /// Whether a field has an index, complete or not.
  func hasIndex(on key: String, ofType type: String) throws(DatabaseError) -> Bool {
    try !indexes(on: key, ofType: type).isEmpty
  }

  /// The indexes as this transaction has them.
  private func declared() throws(DatabaseError) -> IndexList {
    do throws(LogFault) { try applier.alignShapes(changes) } catch { throw failure(error) }
    return applier.declared
  }

  /// Defines an index, if there is none. Without records of the type it is complete.
  /// - Returns: whether it is new.
  func defineIndex(on key: String, ofType type: String, kind: IndexKind = .value) throws(DatabaseError) -> Bool {
    try requireOpen()
    if let fault = NameRules.faultOfType(type, isNew: false) { throw fault }
    try Database.requireIndexable(key, ofType: type, kind: kind)
    if try indexes(on: key, ofType: type).contains(where: { $0.kind == kind }) { return false }
    try view.requireQueryable(key, ofType: type)
    let known = try declared()
    let name = Array(type.utf8)
    let count = known.defined.range(of: name).count
    guard known.defined.count < DefinedIndexes.limit else {
      throw DatabaseError(
        .limitExceeded, "The database has too many indexes.",
        facts: .init(recordType: type, key: key, size: known.defined.count, limit: DefinedIndexes.limit))
    }
    guard count < DefinedIndexes.limitPerType, let number = known.nextNumber() else {
      throw DatabaseError(
        .limitExceeded, "A record type has too many indexes.",
        facts: .init(recordType: type, key: key, size: count, limit: DefinedIndexes.limitPerType))
    }
    var isEmpty = true
    for zone in try view.zones() where isEmpty {
      isEmpty = try view.count(ofType: type, in: try view.existingZone(zone.id)) == 0
    }
    try declareFields(of: Schema.RecordType(name: type))
    try start()
    let operationStart = changes.beginOperation()
    IndexDefinition(
      number: number, kind: kind, type: name, key: Array(key.utf8), isComplete: isEmpty, sinceSequence: changes.sequence,
      sinceOrdinal: changes.ordinal
    ).append(to: payload)
    try endOperation(operationStart, .defineIndex)
    return true
  }

  /// Drops the indexes of a field of some kinds with all their entries.
  /// - Parameter kinds: nil for all.
  /// - Returns: whether there was one.
  func dropIndex(on key: String, ofType type: String, kinds: Set<IndexKind>? = nil) throws(DatabaseError) -> Bool {
    try requireOpen()
    var isFound = false
    for definition in try indexes(on: key, ofType: type) {
      if let kinds, !(definition.kind.map { kinds.contains($0) } ?? false) { continue }
      try start()
      let operationStart = changes.beginOperation()
      payload.append(uint16: definition.number)
      try endOperation(operationStart, .dropIndex)
      isFound = true
    }
    return isFound
  }

  /// Adds the entries of so many records to indexes that are being built. Returns whether all are complete.
  func buildIndexes(limit: Int) throws(DatabaseError) -> Bool {
    try requireOpen()
    var rest = limit
    for index in try view.indexes() where !index.isComplete && index.kind != nil {
      let part = try buildIndex(index, limit: rest)
      if !part.isComplete { return false }
      rest = max(1, rest - part.count)
    }
    return true
  }

  /// Adds the entries of the next records to an index that is being built; all of them, if they are few enough, and if their entries
  /// fit into a quarter of the memory that the transaction may take.
  /// - Parameter index: as it was when the build began.
  /// - Returns: how many records, and whether the index is complete now, or was dropped meanwhile: then another one may have its number.
  func buildIndex(_ index: IndexDefinition, limit: Int) throws(DatabaseError) -> (count: Int, isComplete: Bool) {
    let number = index.number
    var done = 0
    while true {
      guard let definition = try declared()[number], definition.isSame(as: index) else { return (done, true) }
      if definition.isComplete { return (done, true) }
      guard let next = try nextPart(of: definition, limit: limit - done) else {
        try appendBuild(number, 0, 0, zoneKey: [])
        return (done, true)
      }
      try start()
      let part: IndexPart
      do throws(StoreError) {
        part = try changes.ahead { () throws(LogFault) in
          try applier.buildNext(definition, in: next.zoneKey, through: (next.sequence, next.ordinal), changes)
        }
      } catch { throw failure(error) }
      try appendBuild(number, part.end.sequence, part.end.ordinal, zoneKey: next.zoneKey)
      done += part.count
      if done >= limit || part.isFull { return (done, false) }
    }
  }

  private func appendBuild(_ number: UInt16, _ sequence: UInt64, _ ordinal: UInt32, zoneKey: [UInt8]) throws(DatabaseError) {
    try start()
    let operationStart = changes.beginOperation()
    payload.append(uint16: number)
    payload.append(uint64: sequence)
    payload.append(uint32: ordinal)
    payload.append(zoneKey)
    try endOperation(operationStart, .buildIndex)
    // Without its entries the index would hide the record, and not tell.
    guard let place = changes.store.records.unreadable, !isMutant("build-without-unreadable") else { return }
    throw view.failure(.operation(offset: place.offset))
  }

  private struct Part {
    let zoneKey: [UInt8]
    let sequence: UInt64
    let ordinal: UInt32
  }

  /// The first zone that has records to build, and as many of them as there may be; nil when none has.
  private func nextPart(of definition: IndexDefinition, limit: Int) throws(DatabaseError) -> Part? {
    let since = (definition.sinceSequence, definition.sinceOrdinal)
    for zone in try view.zones() {
      let key = zone.id.key
      if key.lexicographicallyPrecedes(definition.zoneKey) { continue }
      let place = key == definition.zoneKey ? (definition.sequence, definition.ordinal) : (0, 0)
      let trees = try view.existingZone(zone.id)
      var last: (UInt64, UInt32)?
      var count = 0
      try view.asDatabaseError { () throws(PageFault) in
        let found = ByteBuffer(capacity: ChangeKey.maximumByteCount)
        definition.type.withView { ChangeKey.set(found, type: $0, sequence: place.0, ordinal: place.1) }
        var cursor = view.reader.cursor(in: trees.changeJournal)
        try cursor.start(at: found.view)
        while count < limit, try cursor.next() {
          cursor.key(into: found)
          guard let parts = ChangeKey.parts(found.view), definition.type.withView({ UTF8Order.equal(parts.type, $0) }),
            (parts.sequence, parts.ordinal) <= since
          else { break }
          if (parts.sequence, parts.ordinal) > place {
            last = (parts.sequence, parts.ordinal)
            count += 1
          }
        }
      }
      if let last { return Part(zoneKey: key, sequence: last.0, ordinal: last.1) }
    }
    return nil
  }
}
