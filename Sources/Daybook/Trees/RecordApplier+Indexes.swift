import DaybookEngine

/// Operations that define, build and drop indexes. What saves and deletions change in them is `IndexTree`'s.
///
/// Building an index is a row of operations, each for the records of a zone up to a place of the log's order. What one adds follows from
/// the log: the type's entries of the change journal from the last place to this one, and the bodies that they lead to. Replay does the
/// same again.
extension RecordApplier {
  /// Makes the list of indexes what the transaction's tree has.
  func alignIndexes(_ changes: StoreTransaction) throws(LogFault) {
    let root = changes.roots[Roots.schema]
    if root == indexesRoot { return }
    do throws(PageFault) { indexes.replace(try IndexDefinition.all(in: root, changes.reader)) } catch { throw .page(error) }
    indexesRoot = root
  }

  /// The definitions have changed: a rollback may bring back the same root with others.
  private func indexesChanged(_ changes: StoreTransaction) throws(LogFault) {
    try alignIndexes(changes)
    indexesRoot = nil
  }

  /// What the transaction's tree has.
  func definedIndexes(_ changes: StoreTransaction) throws(LogFault) -> [IndexDefinition] {
    try alignShapes(changes)
    return indexes.all
  }

  func defineIndex(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard let definition = IndexDefinition(payload) else { throw .operation }
    guard indexes[definition.number] == nil,
      !indexes.all.contains(where: { $0.isSame(as: definition) }),
      // In a forged file each save would derive as many entries as there are definitions.
      indexes.all.count < IndexList.limit, indexes.all.count(where: { $0.type == definition.type }) < IndexList.limitPerType
    else { throw .inconsistent }
    try definition.put(key, changes)
    indexesRoot = nil
    try indexesChanged(changes)
  }

  func buildIndex(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count >= 14 else { throw .operation }
    guard var definition = indexes[payload.uint16(at: 0)], !definition.isComplete else { throw .inconsistent }
    // Reading bodies may take the memory of the payload.
    let end = (payload.uint64(at: 2), payload.uint32(at: 10))
    let zoneKey = payload.dropFirst(14).array
    unreadable = nil
    if zoneKey.isEmpty {
      definition.isComplete = true
      definition.zoneKey = []
      definition.sequence = 0
      definition.ordinal = 0
    } else {
      try flush(changes)
      let order = zoneKey.withView { key in definition.zoneKey.withView { compareKeys(key, $0) } }
      guard order > 0 || order == 0 && end >= (definition.sequence, definition.ordinal) else { throw .inconsistent }
      let start = order == 0 ? (definition.sequence, definition.ordinal) : (0, 0)
      try zoneKey.withView { (key) throws(LogFault) in
        try buildIndex(definition, of: key, from: start, through: end, changes)
      }
      definition.zoneKey = zoneKey
      definition.sequence = end.0
      definition.ordinal = end.1
      // Who builds it now is told, and rolls back; a replay goes on.
      if unreadable != nil { definition.hasGaps = true }
    }
    try definition.put(key, changes)
    indexesRoot = nil
    try indexesChanged(changes)
  }

  /// Adds the entries of a zone's versions after one place, up to another, in runs of sorted keys.
  private func buildIndex(
    _ definition: IndexDefinition, of zoneKey: ByteView, from start: (UInt64, UInt32), through end: (UInt64, UInt32),
    _ changes: StoreTransaction
  ) throws(LogFault) {
    try open(zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted else { throw .inconsistent }
    var complete = definition
    complete.isComplete = true
    let since = (definition.sinceSequence, definition.sinceOrdinal)
    let end = end < since ? end : since
    let places = try places(ofType: definition.type, in: zone, from: start, through: end, changes)
    let run = gathered.contributions
    run.removeAll(keepingCapacity: true)
    for entry in places {
      coming.removeAll()
      for index in try collect(of: entry, zoneKey, for: complete, changes) {
        run.append(
          kind: GatheredRecords.coming, key: coming.key(index), rest: coming.value(index), place: .none, sequence: 0, ordinal: 0
        )
      }
      // Lists of many elements may have more entries than there is room for.
      if run.byteCount >= changes.replayByteCount { try put(run, in: &zone, changes) }
    }
    try put(run, in: &zone, changes)
    run.removeAll()
    setOpenZone(zone)
  }

  private func put(_ run: ReplayRun, in zone: inout ZoneTrees, _ changes: StoreTransaction) throws(LogFault) {
    if run.count == 0 { return }
    run.sort()
    for rank in run.ranks() {
      let position = run.position(atRank: rank)
      try changes.put(run.key(position), run.rest(position), in: &zone.indexes)
    }
    run.removeAll(keepingCapacity: true)
  }

  /// The versions of a type after a place of the log's order, up to another.
  private func places(
    ofType type: [UInt8], in zone: ZoneTrees, from start: (UInt64, UInt32), through end: (UInt64, UInt32),
    _ changes: StoreTransaction
  ) throws(LogFault) -> [RecordEntry] {
    var result: [RecordEntry] = []
    // In a forged file many entries may lead to one large body.
    var remaining = changes.logEnd
    let low = ByteBuffer(capacity: ChangeKey.maximumByteCount)
    let found = ByteBuffer(capacity: ChangeKey.maximumByteCount)
    do throws(PageFault) {
      type.withView { ChangeKey.set(low, type: $0, sequence: start.0, ordinal: start.1) }
      var cursor = changes.reader.cursor(in: zone.changeJournal)
      try cursor.start(at: low.view)
      while try cursor.next() {
        cursor.key(into: found)
        guard let parts = ChangeKey.parts(found.view), type.withView({ UTF8Order.equal(parts.type, $0) }),
          (parts.sequence, parts.ordinal) <= end
        else { break }
        guard let entry = ChangeEntry(cursor.value), UInt64(entry.place.byteCount) <= remaining else {
          throw PageFault(offset: 0, reason: .value)
        }
        remaining -= UInt64(entry.place.byteCount)
        if (parts.sequence, parts.ordinal) > start {
          result.append(RecordEntry(place: entry.place, sequence: parts.sequence, ordinal: parts.ordinal))
        }
      }
    } catch { throw .page(error) }
    return result
  }

  /// Puts the entries of one version into `coming`. A corrupt body has none: it must not keep a file from opening. The check names it,
  /// and who builds an index is told by `unreadable`.
  private func collect(
    of entry: RecordEntry, _ zoneKey: ByteView, for definition: IndexDefinition, _ changes: StoreTransaction
  ) throws(LogFault) -> Range<Int> {
    let operation: ByteView
    do throws(StoreError) { operation = try changes.operation(at: entry.place) } catch {
      if case .disk(let failure) = error { throw .page(PageFault(failure, offset: entry.place.offset)) }
      unreadable = entry.place
      return 0..<0
    }
    guard Operation.isOf(.saveRecord, operation),
      let body = try? shapes.spelled(Operation.payload(operation), in: spelledBody), let identity = BodyIdentity.body(body),
      UTF8Order.equal(identity.zoneKey, zoneKey)
    else {
      unreadable = entry.place
      return 0..<0
    }
    return coming.collect(RecordVersion(body, identity, entry), for: definition)
  }

  func dropIndex(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count == 2 else { throw .operation }
    guard let definition = indexes[payload.uint16(at: 0)] else { throw .inconsistent }
    try flush(changes)
    // In a forged file many zones may share one large tree.
    var remaining = changes.logEnd.multipliedReportingOverflow(by: 8).partialValue &+ 1 << 22
    for zoneKey in try zoneKeys(changes) {
      try zoneKey.withView { (zoneKey) throws(LogFault) in
        try open(zoneKey, changes)
        guard var zone = openZone, !zone.isDeleted, zone.indexes.count > 0 else { return }
        while !isMutant("drop-index-leave-entries"), try removeSome(of: definition.number, &zone, &remaining, changes) {}
        setOpenZone(zone)
      }
    }
    try definition.remove(key, changes)
    indexesRoot = nil
    try indexesChanged(changes)
  }

  /// Takes out the first entries of an index; false when there were none.
  private func removeSome(
    of number: UInt16, _ zone: inout ZoneTrees, _ remaining: inout UInt64, _ changes: StoreTransaction
  ) throws(LogFault) -> Bool {
    let keys = gathered.contributions
    keys.removeAll(keepingCapacity: true)
    value.truncate(to: 0)
    IndexKey.appendNumber(number, to: value)
    do throws(PageFault) {
      var cursor = changes.reader.cursor(in: zone.indexes)
      try cursor.start(at: value.view)
      while keys.count < 4096, try cursor.next() {
        cursor.key(into: key)
        guard key.count > IndexKey.numberByteCount, UTF8Order.equal(key.view.prefix(IndexKey.numberByteCount), value.view)
        else { break }
        guard remaining > 0 else { throw PageFault(offset: 0, reason: .value) }
        remaining -= 1
        keys.append(
          kind: GatheredRecords.going, key: key.view, rest: key.view.prefix(0), place: .none, sequence: 0, ordinal: 0)
      }
    } catch { throw .page(error) }
    for index in 0..<keys.count { try changes.remove(keys.key(index), from: &zone.indexes) }
    let hasFound = keys.count > 0
    keys.removeAll(keepingCapacity: true)
    return hasFound
  }
}
