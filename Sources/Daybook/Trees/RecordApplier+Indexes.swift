import DaybookEngine

/// Operations that define, build and drop indexes. What saves and deletions change in them is `IndexTree`'s.
///
/// Building an index is a row of operations, each for the records of a zone up to a place of the log's order. What one adds follows from
/// the log: the type's entries of the change journal from the last place to this one, and the bodies that they lead to. A replay adds
/// them at its end (`DeferredIndexes.swift`).
///
/// Where a part ends depends on memory, so the thread that builds adds the entries first, as long as there is room (`buildNext`), and then writes
/// the operation, which finds them there.
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
    let part = ahead.flatMap { $0.number == former.number && $0.zoneKey == zoneKey && $0.end == end ? $0 : nil }
    ahead = nil
    if part == nil { unreadable = nil }
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
      if let part {
        definition.hasGaps = definition.hasGaps || part.hasGaps
      } else if !zoneKey.isEmpty {
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

  /// Adds the entries of a zone's next versions to an index that is being built, up to a place of the log's order or until the
  /// transaction has made many pages; of one version at least. The operation that says how far they go has to follow.
  func buildNext(
    _ former: IndexDefinition, in zoneKey: [UInt8], through end: IndexSpan.Place, _ changes: StoreTransaction
  ) throws(LogFault) -> IndexPart {
    precondition(!defersBuilds(changes), "a replay builds at its end")
    var definition = former
    definition.zoneKey = zoneKey
    (definition.sequence, definition.ordinal) = end
    ahead = nil
    unreadable = nil
    try flush(changes)
    let spans = IndexSpan.missing(in: zoneKey, from: former, to: definition)
    var gaps: Set<UInt16> = []
    var room = BuildRoom(changes)
    let stop = try build(spans, ofType: definition.type, in: zoneKey, &gaps, changes, &room)
    let part = IndexPart(
      number: former.number, zoneKey: zoneKey, end: stop ?? end, count: room.count, isFull: room.isFull(changes),
      hasGaps: !gaps.isEmpty)
    ahead = part
    return part
  }

  /// So many versions are looked up before their bodies are read.
  private static let placesAtOnce = 1 << 16

  /// Adds the entries of a zone's versions of a type, whatever memory they take.
  func build(
    _ spans: [IndexSpan], ofType type: [UInt8], in zoneKey: [UInt8], _ gaps: inout Set<UInt16>, _ changes: StoreTransaction
  ) throws(LogFault) {
    var room = BuildRoom()
    _ = try build(spans, ofType: type, in: zoneKey, &gaps, changes, &room)
  }

  /// Adds the entries of a zone's versions of a type, in runs of sorted keys. Each version is read once, for all of its indexes.
  /// - Parameters:
  ///   - spans: which versions, in the order of the keys of their indexes.
  ///   - gaps: gets the numbers of indexes that lack a version, because it cannot be read.
  /// - Returns: the last version that has its entries, where there was no room for those after it.
  private func build(
    _ spans: [IndexSpan], ofType type: [UInt8], in zoneKey: [UInt8], _ gaps: inout Set<UInt16>, _ changes: StoreTransaction,
    _ room: inout BuildRoom
  ) throws(LogFault) -> IndexSpan.Place? {
    guard let first = spans.map(\.after).min(by: { $0 < $1 }), let last = spans.map(\.through).max(by: { $0 < $1 })
    else { return nil }
    return try zoneKey.withView { (zoneKey) throws(LogFault) -> IndexSpan.Place? in
      try open(zoneKey, changes)
      guard var zone = openZone else { throw .inconsistent }
      if zone.isDeleted || zone.changeJournal.count == 0 { return nil }
      let all = spans.map(\.definition)
      let run = gathered.contributions
      run.removeAll(keepingCapacity: true)
      // In a forged file many entries may lead to one large body.
      var remaining = changes.logEnd
      var start = first
      var hasPut = false
      var stop: IndexSpan.Place?
      while stop == nil {
        let places = try places(ofType: type, in: zone, from: start, through: last, &remaining, changes)
        for entry in places {
          let place = (entry.sequence, entry.ordinal)
          let asked = spans.count == 1 ? all : spans.filter { $0.contains(place) }.map(\.definition)
          if asked.isEmpty { continue }
          room.count += 1
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
          // Long texts and lists of many elements have more entries than there is room for.
          if run.byteCount >= min(room.runByteCount, changes.replayByteCount) {
            let before = changes.createdByteCount
            try put(run, in: &zone, &hasPut, changes)
            room.hasMade(changes.createdByteCount - before)
            if room.isFull(changes), place < last {
              stop = place
              break
            }
          }
        }
        guard places.count == RecordApplier.placesAtOnce, let entry = places.last else { break }
        start = (entry.sequence, entry.ordinal)
      }
      try put(run, in: &zone, &hasPut, changes)
      run.removeAll()
      if hasPut { setOpenZone(zone) }
      return stop
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
  func removalBudget(_ changes: StoreTransaction) -> UInt64 { RecordApplier.entryLimit(logEnd: changes.logEnd) }

  /// More entries of indexes than a log of this length can have made.
  static func entryLimit(logEnd: UInt64) -> UInt64 { logEnd.multipliedReportingOverflow(by: 8).partialValue &+ 1 << 22 }

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

/// What a build has added to an index in one zone.
struct IndexPart {
  let number: UInt16
  let zoneKey: [UInt8]
  let end: IndexSpan.Place
  /// How many versions.
  let count: Int
  /// The transaction should end here.
  let isFull: Bool
  let hasGaps: Bool
}

/// How much of a transaction's memory for pages a build takes.
///
/// An entry may cost a page, where an index is large and its keys are anywhere in it, or as much as its bytes, where they follow one
/// another. So the first run is one that fits in either case, and the next are larger as far as the one before left room.
struct BuildRoom {
  /// Of the transaction's limit; a quarter of it ends a part. Nil where there is none.
  private let limit: Int?
  /// The keys of a run are sorted when it has so many bytes.
  private(set) var runByteCount: Int
  /// Versions so far.
  var count = 0

  init() {
    limit = nil
    runByteCount = .max
  }

  init(_ changes: StoreTransaction) {
    limit = changes.pageByteLimit
    runByteCount = isMutant("build-without-room") ? .max : max(1, changes.pageByteLimit / 512)
  }

  func isFull(_ changes: StoreTransaction) -> Bool { limit.map { changes.createdByteCount >= $0 / 4 } ?? false }

  /// A run has made so many bytes of pages.
  mutating func hasMade(_ byteCount: Int) {
    guard let limit, byteCount <= limit / 16, runByteCount < limit else { return }
    runByteCount *= 2
  }
}
