import DaybookEngine

/// A walk over all records of a type in some zones, in the order of their last saves, that stops at those that pass a filter.
/// Where an index leaves fewer, only these are looked at, in the same order.
///
/// Each body is copied out of the log into the same few kilobytes, verified in the copy, and looked at there; only one that
/// passes stays.
struct QueryScan {
  /// A record that passed.
  struct Found {
    let body: RecordBody
    let place: Place
    /// The position of its zone among those of the scan.
    let zone: Int
  }

  /// How often a scan looks whether it is to stop: after so many records, of which a long one counts once for each 4 KB.
  private static let patience = 256

  private let view: ReadView
  private let type: String?
  let zones: [Zone.ID]
  private let filter: BodyFilter
  private let stop: QueryStop?
  private let hidesUsers: Bool

  private var zone: Int
  private var start: (sequence: UInt64, ordinal: UInt32)
  private var isDefault = false
  private var walk: ChangeWalk?
  private let choice: IndexChoice?
  /// What the index leaves; nil before it was asked.
  private var candidates: [Candidate]?
  private var candidate = 0

  private struct Candidate {
    let zone: Int
    let entry: RecordEntry
  }
  private var batch: RecordBodyBatch
  /// No more bytes than the log has can be read as records of one walk; in a forged file they may.
  private var remaining: UInt64
  private var steps = 0

  /// - Parameters:
  ///   - start: the zone to begin with, as a position, and the place in its change journal.
  init(
    _ view: ReadView, _ plan: QueryPreparation, from start: (zone: Int, sequence: UInt64, ordinal: UInt32) = (0, 0, 0),
    stop: QueryStop?
  ) {
    self.view = view
    batch = RecordBodyBatch(count: nil, view.store.records.shapes.table, services: view.services)
    type = plan.query.recordType
    zones = plan.zones
    filter = plan.filter
    choice = plan.choice.flatMap { $0.use == .candidates ? $0 : nil }
    self.stop = stop
    hidesUsers = type == nil && view.database.scope != nil
    zone = start.zone - 1
    self.start = (start.sequence, start.ordinal)
    remaining = view.logEnd
  }

  /// The next record that passes; nil when there is none.
  mutating func next() throws(DatabaseError) -> Found? {
    if choice != nil { return try nextCandidate() }
    while try findEntry() {
      let entry: ChangeEntry
      do throws(PageFault) {
        walk?.touchAhead()
        guard let found = try walk?.entry else { return nil }
        entry = found
      } catch { throw view.failure(error) }
      steps += 1 + Int(entry.place.byteCount / 4096)
      if steps >= Self.patience {
        steps = 0
        try view.checkStop(stop)
      }
      if entry.isDeleted {
        guard type == nil else { throw view.failure(.operation(offset: entry.place.offset)) }
        try advance()
        continue
      }
      guard UInt64(entry.place.byteCount) <= remaining else { throw view.failure(.operation(offset: entry.place.offset)) }
      remaining -= UInt64(entry.place.byteCount)
      let body = try read(entry.place)
      try advance()
      guard body.isOf(zones[zone], isDefault: isDefault) else { throw view.misplaced(entry.place, zones[zone]) }
      if let type {
        guard body.hasType(type) else { throw view.misplaced(entry.place, zones[zone], body.name) }
      } else if hidesUsers, body.hasType(NameRules.userType) {
        continue
      }
      if filter.accepts(body) { return Found(body: body, place: entry.place, zone: zone) }
      batch.takeBack()
    }
    return nil
  }

  /// A record that was found and is not kept.
  mutating func drop(_ found: consuming Found) { batch.takeBack() }

  /// Where the next record would be looked for; nil at the end.
  mutating func place() throws(DatabaseError) -> (zone: Int, sequence: UInt64, ordinal: UInt32)? {
    if choice != nil {
      let candidates = try foundCandidates()
      guard candidate < candidates.count else { return nil }
      return (candidates[candidate].zone, candidates[candidate].entry.sequence, candidates[candidate].entry.ordinal)
    }
    guard try findEntry() else { return nil }
    do throws(PageFault) {
      guard let position = try walk?.position() else { return nil }
      return (zone, position.sequence, position.ordinal)
    } catch { throw view.failure(error) }
  }

  // MARK: candidates

  private mutating func nextCandidate() throws(DatabaseError) -> Found? {
    while candidate < (try foundCandidates()).count {
      guard let next = candidates?[candidate] else { return nil }
      candidate += 1
      let place = next.entry.place
      steps += 1 + Int(place.byteCount / 4096)
      if steps >= Self.patience {
        steps = 0
        try view.checkStop(stop)
      }
      guard UInt64(place.byteCount) <= remaining else { throw view.failure(.operation(offset: place.offset)) }
      remaining -= UInt64(place.byteCount)
      let body = try read(place)
      let zone = zones[next.zone]
      guard body.isOf(zone, isDefault: zone.isDefault), let type, body.hasType(type) else {
        throw view.misplaced(place, zone, body.name)
      }
      if filter.accepts(body) { return Found(body: body, place: place, zone: next.zone) }
      batch.takeBack()
    }
    return nil
  }

  /// What the index leaves from the start on, in the order of the log, each record once.
  private mutating func foundCandidates() throws(DatabaseError) -> [Candidate] {
    if let candidates { return candidates }
    guard let choice else { return [] }
    var found: [Candidate] = []
    var visited = 0
    for index in zone + 1..<max(zone + 1, zones.count) {
      let trees = try view.existingZone(zones[index])
      let first = index == zone + 1 ? start : (0, 0)
      let begin = found.count
      func add(_ entry: RecordEntry) {
        if (entry.sequence, entry.ordinal) >= first { found.append(Candidate(zone: index, entry: entry)) }
      }
      if choice.others.isEmpty {
        try forEachKey(in: choice.ranges, trees, &visited) { (key) throws(DatabaseError) in
          add(try view.entry(ofIndexKey: key, in: trees))
        }
      } else {
        let names = try commonNames(choice, trees, &visited)
        for name in 0..<names.count { add(try view.entry(named: names.name(name), in: trees)) }
      }
      found[begin...].sort { ($0.entry.sequence, $0.entry.ordinal) < ($1.entry.sequence, $1.entry.ordinal) }
      // A list may have several elements in the ranges.
      var last = begin
      for next in begin..<max(begin, found.count) where next > begin {
        if found[last].entry.sequence == found[next].entry.sequence, found[last].entry.ordinal == found[next].entry.ordinal {
          continue
        }
        last += 1
        found[last] = found[next]
      }
      if found.count > last + 1 { found.removeSubrange((last + 1)...) }
    }
    candidates = found
    return found
  }

  /// Calls `body` with the keys of a zone's indexes that lie in ranges.
  private func forEachKey(
    in ranges: [IndexRange], _ trees: ZoneTrees, _ visited: inout Int, _ body: (ByteView) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    let key = ByteBuffer(capacity: 512)
    for range in ranges {
      var cursor = view.reader.cursor(in: trees.indexes)
      do throws(PageFault) {
        try range.lower.withView { (lower) throws(PageFault) in try cursor.start(at: lower) }
      } catch { throw view.failure(error) }
      while try view.next(&cursor) {
        cursor.key(into: key)
        if range.upper.withView({ compareKeys(key.view, $0) >= 0 }) { break }
        visited += 1
        if visited % Self.patience == 0 { try view.checkStop(stop) }
        try body(key.view)
      }
    }
  }

  /// The names of records that have an entry in the ranges of the index and in those of each other word.
  private func commonNames(
    _ choice: IndexChoice, _ trees: ZoneTrees, _ visited: inout Int
  ) throws(DatabaseError) -> CandidateNames {
    var names = CandidateNames()
    try forEachKey(in: choice.ranges, trees, &visited) { (key) throws(DatabaseError) in
      names.append(try view.recordName(inIndexKey: key, of: trees))
    }
    names.arrange()
    for ranges in choice.others where names.count > 0 {
      names.beginMarking()
      try forEachKey(in: ranges, trees, &visited) { (key) throws(DatabaseError) in
        names.mark(try view.recordName(inIndexKey: key, of: trees))
      }
      names.keepMarked()
    }
    return names
  }

  /// Whether there is another entry, in this zone or one that follows.
  private mutating func findEntry() throws(DatabaseError) -> Bool {
    while walk?.isValid != true {
      guard zone + 1 < zones.count else { return false }
      zone += 1
      isDefault = zones[zone].isDefault
      walk = try view.walk(over: try view.existingZone(zones[zone]), ofType: type, from: start, limit: .max)
      start = (0, 0)
    }
    return true
  }

  private mutating func advance() throws(DatabaseError) {
    do throws(PageFault) { try walk?.next() } catch { throw view.failure(error) }
  }

  private mutating func read(_ place: Place) throws(DatabaseError) -> RecordBody {
    guard case .pin(let pin) = view.source else { return try view.body(at: place) }
    do throws(StoreError) {
      return try batch.read(place, from: view.store, end: pin.end)
    } catch { throw view.failure(error) }
  }
}

extension ReadView {
  /// Throws when a query is to stop: when its task is cancelled, which without a stop is the caller's.
  func checkStop(_ stop: QueryStop?) throws(DatabaseError) {
    if stop?.isSet ?? Task.isCancelled { throw DatabaseError(.operationCancelled, facts: .init(path: path)) }
  }
}
