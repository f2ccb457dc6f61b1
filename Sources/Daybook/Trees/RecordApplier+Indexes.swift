import DaybookEngine

/// Operations that define, build and drop indexes. What saves and deletions change in them is `IndexTree`'s.
///
/// Building an index is a row of operations, each for the records of a zone up to a place of the log's order. What one adds follows from
/// the log: the type's entries of the change journal from the last place to this one, and the bodies that they lead to. A replay adds
/// them at its end (`DeferredIndexes.swift`).
extension RecordApplier {
  func defineIndex(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard let definition = IndexDefinition(payload) else { throw .operation }
    guard declared.defined.takes(definition) else { throw .inconsistent }
    try declare(definition, changes)
    if dropped.contains(definition.number) { hasDeferred = true } else { indexes.insert(definition) }
  }

  /// A definition is new, or has changed: here and in the tree.
  func declare(_ definition: IndexDefinition, _ changes: StoreTransaction) throws(LogFault) {
    // First: where the tree is half changed, the lists are read again.
    facts = nil
    try definition.put(key, changes)
    declared.insert(definition)
  }

  func buildIndex(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count >= 14 else { throw .operation }
    guard let former = declared[payload.uint16(at: 0)], !former.isComplete else { throw .inconsistent }
    var definition = former
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
      let order = zoneKey.withView { key in definition.zoneKey.withView { compareKeys(key, $0) } }
      guard order > 0 || order == 0 && end >= (definition.sequence, definition.ordinal) else { throw .inconsistent }
      let isThere = try zoneKey.withView { (key) throws(LogFault) in try zone(key, changes) != nil }
      guard isThere else { throw .inconsistent }
      definition.zoneKey = zoneKey
      definition.sequence = end.0
      definition.ordinal = end.1
    }
    let isDeferred = defersBuilds(changes)
    if isDeferred {
      hasDeferred = true
    } else {
      if !zoneKey.isEmpty {
        try flush(changes)
        let spans = IndexSpan.missing(in: zoneKey, from: former, to: definition)
        var gaps: Set<UInt16> = []
        try build(spans, ofType: definition.type, in: zoneKey, &gaps, changes)
        // Who builds it is told, and rolls back.
        if !gaps.isEmpty { definition.hasGaps = true }
      }
    }
    try declare(definition, changes)
    // After it: if the tree refuses it, the list stays what it was.
    if !isDeferred { indexes.insert(definition) }
  }

  /// So many versions are looked up before their bodies are read.
  private static let placesAtOnce = 1 << 16

  /// Adds the entries of a zone's versions of a type, in runs of sorted keys. Each version is read once, for all of its indexes.
  /// - Parameters:
  ///   - spans: which versions, in the order of the keys of their indexes.
  ///   - gaps: gets the numbers of indexes that lack a version, because it cannot be read.
  func build(
    _ spans: [IndexSpan], ofType type: [UInt8], in zoneKey: [UInt8], _ gaps: inout Set<UInt16>, _ changes: StoreTransaction
  ) throws(LogFault) {
    guard let first = spans.map(\.after).min(by: { $0 < $1 }), let last = spans.map(\.through).max(by: { $0 < $1 })
    else { return }
    try zoneKey.withView { (zoneKey) throws(LogFault) in
      try open(zoneKey, changes)
      guard var zone = openZone else { throw .inconsistent }
      if zone.isDeleted || zone.changeJournal.count == 0 { return }
      let all = spans.map(\.definition)
      let run = gathered.contributions
      run.removeAll(keepingCapacity: true)
      // In a forged file many entries may lead to one large body.
      var remaining = changes.logEnd
      var start = first
      var hasPut = false
      while true {
        let places = try places(ofType: type, in: zone, from: start, through: last, &remaining, changes)
        for entry in places {
          let place = (entry.sequence, entry.ordinal)
          let asked = spans.count == 1 ? all : spans.filter { $0.contains(place) }.map(\.definition)
          if asked.isEmpty { continue }
          coming.removeAll()
          guard let found = try collect(of: entry, zoneKey, for: asked, changes) else {
            gaps.formUnion(asked.map(\.number))
            continue
          }
          for index in found {
            run.append(
              kind: GatheredRecords.coming, key: coming.key(index), rest: coming.value(index), place: .none, sequence: 0,
              ordinal: 0)
          }
          // Lists of many elements may have more entries than there is room for.
          if run.byteCount >= changes.replayByteCount { try put(run, in: &zone, &hasPut, changes) }
        }
        guard places.count == RecordApplier.placesAtOnce, let entry = places.last else { break }
        start = (entry.sequence, entry.ordinal)
      }
      try put(run, in: &zone, &hasPut, changes)
      run.removeAll()
      if hasPut { setOpenZone(zone) }
    }
  }

  private func put(
    _ run: ReplayRun, in zone: inout ZoneTrees, _ hasPut: inout Bool, _ changes: StoreTransaction
  ) throws(LogFault) {
    if run.count == 0 { return }
    hasPut = true
    run.sort()
    for rank in run.ranks() {
      let position = run.position(atRank: rank)
      try changes.put(run.key(position), run.rest(position), in: &zone.indexes)
    }
    run.removeAll(keepingCapacity: true)
  }

  /// The first versions of a type after a place of the log's order, up to another.
  private func places(
    ofType type: [UInt8], in zone: ZoneTrees, from start: IndexSpan.Place, through end: IndexSpan.Place,
    _ remaining: inout UInt64, _ changes: StoreTransaction
  ) throws(LogFault) -> [RecordEntry] {
    var result: [RecordEntry] = []
    let low = ByteBuffer(capacity: ChangeKey.maximumByteCount)
    let found = ByteBuffer(capacity: ChangeKey.maximumByteCount)
    do throws(PageFault) {
      type.withView { ChangeKey.set(low, type: $0, sequence: start.sequence, ordinal: start.ordinal) }
      var cursor = changes.reader.cursor(in: zone.changeJournal)
      try cursor.start(at: low.view)
      while result.count < RecordApplier.placesAtOnce, try cursor.next() {
        cursor.key(into: found)
        guard let parts = ChangeKey.parts(found.view), type.withView({ UTF8Order.equal(parts.type, $0) }),
          (parts.sequence, parts.ordinal) <= end
        else { break }
        if (parts.sequence, parts.ordinal) <= start { continue }
        guard let entry = ChangeEntry(cursor.value), UInt64(entry.place.byteCount) <= remaining else {
          throw changes.reader.fault(in: zone.changeJournal)
        }
        remaining -= UInt64(entry.place.byteCount)
        result.append(RecordEntry(place: entry.place, sequence: parts.sequence, ordinal: parts.ordinal))
      }
    } catch { throw .page(error) }
    return result
  }

  /// Puts the entries of one version into `coming`. Nil for a corrupt body, which has none: it must not keep a file from opening. The
  /// check names it, and who builds an index is told by `unreadable`.
  private func collect(
    of entry: RecordEntry, _ zoneKey: ByteView, for definitions: [IndexDefinition], _ changes: StoreTransaction
  ) throws(LogFault) -> Range<Int>? {
    builtCount += 1
    let operation: ByteView
    do throws(StoreError) { operation = try changes.operation(at: entry.place) } catch {
      if case .disk(let failure) = error { throw .page(PageFault(failure, offset: entry.place.offset)) }
      unreadable = entry.place
      return nil
    }
    guard Operation.isOf(.saveRecord, operation),
      let body = try? shapes.spelled(Operation.payload(operation), in: spelledBody), let identity = BodyIdentity.body(body),
      UTF8Order.equal(identity.zoneKey, zoneKey)
    else {
      unreadable = entry.place
      return nil
    }
    return coming.collect(RecordVersion(body, identity, entry), for: definitions)
  }

  func dropIndex(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count == 2 else { throw .operation }
    guard let definition = declared[payload.uint16(at: 0)] else { throw .inconsistent }
    if defersBuilds(changes) {
      // One that waits for its build has no entries but those of the one before it, which was dropped.
      if indexes[definition.number] != nil { dropped.insert(definition.number) }
      hasDeferred = true
    } else {
      try removeEntries(of: definition.number, changes)
    }
    try definition.remove(key, changes)
    indexes.remove(definition.number)
    declared.remove(definition.number)
    facts = nil
  }

  private func removeEntries(of number: UInt16, _ changes: StoreTransaction) throws(LogFault) {
    try flush(changes)
    // In a forged file many zones may share one large tree.
    var remaining = removalBudget(changes)
    for zoneKey in try zoneKeys(changes) {
      try zoneKey.withView { (zoneKey) throws(LogFault) in
        try open(zoneKey, changes)
        guard var zone = openZone, !zone.isDeleted, zone.indexes.count > 0 else { return }
        while !isMutant("drop-index-leave-entries"), try removeSome(of: number, &zone, &remaining, changes) {}
        setOpenZone(zone)
      }
    }
  }

  /// So many entries may be removed.
  func removalBudget(_ changes: StoreTransaction) -> UInt64 {
    changes.logEnd.multipliedReportingOverflow(by: 8).partialValue &+ 1 << 22
  }

  /// Takes out the first entries of an index; false when there were none.
  func removeSome(
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
        guard remaining > 0 else { throw changes.reader.fault(in: zone.indexes) }
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
