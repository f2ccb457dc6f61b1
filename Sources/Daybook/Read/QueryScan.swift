import DaybookEngine

/// A walk over all records of a type in some zones, in the order of their last saves, that stops at those that pass a filter.
/// Where an index leaves fewer, only these are looked at, in the same order.
///
/// Each body is copied out of the log into the same few kilobytes, verified in the copy, and looked at there; only one that
/// passes stays.
struct QueryScan: ~Copyable {
  /// A record that passed.
  struct Found {
    let body: RecordBody
    let place: Place
    /// The position of its zone among those of the scan.
    let zone: Int
  }

  /// How often a scan looks whether it is to stop: after so many records, of which a long one counts once for each 4 KB, and each once
  /// more for sixteen conditions.
  private static let patience = 256
  private let weight: Int
  private static let touchedCount = 8

  private let view: ReadView
  private let type: String?
  let zones: [Zone.ID]
  private let filter: BodyFilter
  private var packedFilter: PackedFilter?
  private let stop: QueryStop?
  private let hidesUsers: Bool

  private var zone: Int
  private var start: (sequence: UInt64, ordinal: UInt32)
  private var isDefault = false
  private var walk: ChangeWalk?
  /// The next entries, and how many of them were taken: the walk is still in front of the first.
  private var entries: [ChangeEntry] = []
  private var taken = 0
  private let access: QueryPreparation.Access
  /// Only some records are looked at, and `access` says which.
  private let isListed: Bool
  /// They are asked for by name: some may be of other types.
  private let isNamed: Bool
  /// What the index or the names leave, once they were asked.
  private var candidates: [Candidate] = []
  private var hasCandidates = false
  private var candidate = 0

  private struct Candidate {
    let zone: Int
    let entry: RecordEntry
  }
  private var bodies: BodyReading
  private let reader: TreeReader
  private let trees: [ZoneTrees]
  /// No more bytes than the log has can be read as records of one walk; in a forged file they may.
  private var remaining: UInt64
  private var steps = 0

  /// - Parameters:
  ///   - start: the zone to begin with, as an index, and the position in its change journal.
  init(
    _ view: ReadView, _ plan: QueryPreparation, from start: (zone: Int, sequence: UInt64, ordinal: UInt32) = (0, 0, 0),
    stop: QueryStop?
  ) {
    self.view = view
    bodies = BodyReading(view)
    reader = view.reader
    trees = plan.trees
    type = plan.query.recordType
    zones = plan.zones
    filter = plan.filter
    weight = 1 + plan.filter.comparisonCount / 16
    access = plan.access
    switch plan.access {
    case .scan, .order: (isListed, isNamed) = (false, false)
    case .none, .candidates: (isListed, isNamed) = (true, false)
    case .named: (isListed, isNamed) = (true, true)
    }
    packedFilter = isNamed ? nil : type.flatMap { PackedFilter(plan.filter, ofType: $0) }
    self.stop = stop
    hidesUsers = type == nil && view.database.scope != nil
    zone = start.zone - 1
    self.start = (start.sequence, start.ordinal)
    remaining = view.logEnd
  }

  /// The next record that passes; nil when there is none.
  mutating func next() throws(DatabaseError) -> Found? {
    if isListed { return try nextCandidate() }
    while true {
      if taken == entries.count, try !look() { return nil }
      let entry = entries[taken]
      steps += weight + Int(entry.place.byteCount / 4096)
      if steps >= Self.patience {
        steps = 0
        try view.checkStop(stop)
      }
      if entry.isDeleted {
        guard type == nil else { throw view.failure(.operation(offset: entry.place.offset)) }
        taken += 1
        continue
      }
      guard UInt64(entry.place.byteCount) <= remaining else { throw view.failure(.operation(offset: entry.place.offset)) }
      remaining -= UInt64(entry.place.byteCount)
      taken += 1
      if let found = try body(at: entry.place, zone) { return found }
    }
  }

  /// The body at a place, if it passes.
  @inline(__always)
  private mutating func body(at place: Place, _ zone: Int) throws(DatabaseError) -> Found? {
    let body: RecordBody
    if packedFilter != nil {
      switch try bodies.read(place, passing: &packedFilter!) {
      case .failed: return nil
      case .passed(let found): return Found(body: found, place: place, zone: zone)
      case .unknown(let found): body = found
      }
    } else {
      body = try bodies.read(place)
    }
    guard body.isOf(zones[zone], isDefault: isDefault) else { throw view.misplaced(place, zones[zone]) }
    var isHidden = false
    if let type {
      if !body.hasType(type) {
        guard isNamed else { throw view.misplaced(place, zones[zone], body.name) }
        isHidden = true
      }
    } else {
      isHidden = hidesUsers && body.hasType(NameRules.userType)
    }
    if !isHidden, filter.accepts(body) { return Found(body: body, place: place, zone: zone) }
    bodies.takeBack()
    return nil
  }

  /// A record that was found and is not kept.
  mutating func drop(_ found: consuming Found) { bodies.takeBack() }

  /// Where the next record would be looked for; nil at the end.
  mutating func position() throws(DatabaseError) -> (zone: Int, sequence: UInt64, ordinal: UInt32)? {
    if isListed {
      try findCandidates()
      guard candidate < candidates.count else { return nil }
      return (candidates[candidate].zone, candidates[candidate].entry.sequence, candidates[candidate].entry.ordinal)
    }
    try skip()
    guard try findEntry() else { return nil }
    do throws(PageFault) {
      guard let position = try walk?.position() else { return nil }
      return (zone, position.sequence, position.ordinal)
    } catch { throw view.failure(error) }
  }

  // MARK: candidates

  private mutating func nextCandidate() throws(DatabaseError) -> Found? {
    if !hasCandidates { try findCandidates() }
    while candidate < candidates.count {
      if candidate % Self.touchedCount == 0 { touchCandidates() }
      let (place, index) = (candidates[candidate].entry.place, candidates[candidate].zone)
      candidate += 1
      steps += weight + Int(place.byteCount / 4096)
      if steps >= Self.patience {
        steps = 0
        try view.checkStop(stop)
      }
      guard UInt64(place.byteCount) <= remaining else { throw view.failure(.operation(offset: place.offset)) }
      remaining -= UInt64(place.byteCount)
      if index != zone { enter(index) }
      if let found = try body(at: place, index) { return found }
    }
    return nil
  }

  /// Loads the next bodies, so that the processor waits for several at a time and not for one after the other (row: query-equal).
  private func touchCandidates() {
    for index in candidate..<min(candidate + Self.touchedCount, candidates.count) {
      reader.touch(candidates[index].entry.place)
    }
  }

  /// What the index leaves from the start on, in the order of the log, each record once.
  private mutating func findCandidates() throws(DatabaseError) {
    if hasCandidates { return }
    hasCandidates = true
    var entries: [RecordEntry] = []
    entries.reserveCapacity(LookupGroup.largestCount)
    var group = LookupGroup()
    for index in zone + 1..<max(zone + 1, zones.count) {
      let names = try candidateNames(index)
      let first = index == zone + 1 ? start : (0, 0)
      let begin = candidates.count
      candidates.reserveCapacity(begin + names.count)
      var next = 0
      while next < names.count {
        let end = min(next + LookupGroup.largestCount, names.count)
        entries.removeAll(keepingCapacity: true)
        try view.appendEntries(of: names, next..<end, in: trees[index], &group, to: &entries)
        for entry in entries where (entry.sequence, entry.ordinal) >= first {
          candidates.append(Candidate(zone: index, entry: entry))
        }
        next = end
        if next % Self.patience == 0 { try view.checkStop(stop) }
      }
      arrange(from: begin)
    }
    // From here on it is the zone of the candidate that was read last.
    zone = -1
  }

  /// Puts the candidates of a zone into the order of the log, each once: a list may have several elements in the ranges.
  private mutating func arrange(from begin: Int) {
    candidates[begin...].sort { ($0.entry.sequence, $0.entry.ordinal) < ($1.entry.sequence, $1.entry.ordinal) }
    var last = begin
    for next in begin..<max(begin, candidates.count) where next > begin {
      if candidates[last].entry.sequence == candidates[next].entry.sequence,
        candidates[last].entry.ordinal == candidates[next].entry.ordinal
      {
        continue
      }
      last += 1
      candidates[last] = candidates[next]
    }
    if candidates.count > last + 1 { candidates.removeSubrange((last + 1)...) }
  }

  /// The names of records that are asked for, or have an entry in the ranges of the index and in those of each other word.
  private func candidateNames(_ zone: Int) throws(DatabaseError) -> CandidateNames {
    let choice: IndexChoice
    switch access {
    case .none, .scan, .order: return CandidateNames()
    case .named(let names): return names[zone]
    case .candidates(let found): choice = found
    }
    func all(_ choice: IndexChoice) throws(DatabaseError) -> CandidateNames {
      if let known = choice.names { return known[zone] }
      return try CandidateNames(in: choice.ranges, trees[zone].indexes, view, stop) ?? CandidateNames()
    }
    var names = try all(choice)
    if choice.others.isEmpty { return names }
    names.arrange()
    for other in choice.others where names.count > 0 {
      var others = try all(other)
      others.arrange()
      names.keep(in: others)
    }
    return names
  }

  /// Whether there is another entry, in this zone or one that follows.
  private mutating func findEntry() throws(DatabaseError) -> Bool {
    while walk?.isValid != true {
      guard zone + 1 < zones.count else { return false }
      enter(zone + 1)
      walk = try view.walk(over: trees[zone], ofType: type, from: start, limit: .max)
      start = (0, 0)
    }
    return true
  }

  private mutating func enter(_ index: Int) {
    zone = index
    isDefault = zones[index].isDefault
    packedFilter?.enter(zones[index])
  }

  /// Looks at the next entries; false where there are none.
  private mutating func look() throws(DatabaseError) -> Bool {
    try skip()
    guard try findEntry() else { return false }
    if entries.capacity == 0 { entries.reserveCapacity(Cursor.lookCount) }
    do throws(PageFault) { try walk?.look(&entries) } catch { throw view.failure(error) }
    return true
  }

  /// Moves the walk to the next entry.
  private mutating func skip() throws(DatabaseError) {
    do throws(PageFault) { try walk?.skip(taken) } catch { throw view.failure(error) }
    entries.removeAll(keepingCapacity: true)
    taken = 0
  }
}

extension ReadView {
  /// Throws when a query is to stop: when its task is cancelled, which without a stop is the caller's.
  func checkStop(_ stop: QueryStop?) throws(DatabaseError) {
    if stop?.isSet ?? Task.isCancelled { throw DatabaseError(.operationCancelled, facts: .init(path: path)) }
  }
}
