import Daybook
import DaybookEngine
import Foundation

/// A database and dictionaries in lockstep. The input decides what happens: transactions, savepoints, zones, closing, kills,
/// crashes, failing syncs and writes, full disks. In between, both are asked the same questions, and a client follows the
/// change feed with its own copy.
///
/// After a crash the database is the state behind some commit, and no acknowledged one is lost.
package struct FuzzTrial {
  private struct Intended: Error {}

  /// What a database should hold: values by zone and name, metadata beside them.
  private struct State: Equatable {
    var zones: [Int: [Int: [UInt8]]] = [0: [:]]
    /// The owner with which a record is deleted, by zone and name.
    var owners: [Int: [Int: Int]] = [:]
    var metadata: [Int: UInt8] = [:]
    /// The kinds of indexes that the type "Even" has.
    var indexes: Set<IndexKind> = []

    mutating func save(_ name: Int, in zone: Int, _ value: [UInt8], owner: Int?) {
      guard zones[zone] != nil else { return }
      zones[zone]?[name] = value
      owners[zone, default: [:]][name] = owner
    }

    /// Deletes a record, what it owns, what that owns, …
    mutating func delete(_ name: Int, in zone: Int) {
      var rest = [name]
      while let name = rest.popLast() {
        guard zones[zone]?[name] != nil else { continue }
        zones[zone]?[name] = nil
        owners[zone]?[name] = nil
        rest += (owners[zone] ?? [:]).filter { $0.value == name }.map(\.key)
      }
    }
  }

  /// Another application's copy of one zone, kept up to date by the feed.
  private struct Replica {
    var zone: Int
    var token: ChangeToken?
    var values: [String: [UInt8]] = [:]
  }

  private var input: FuzzInput
  private var disk = FuzzForging.disk(seed: 5)
  private var database: Database
  private var state = State()
  private var sequence: UInt64 = 0
  /// The states that a crash may go back to.
  private var states: [UInt64: State] = [0: State()]
  private var floor: UInt64 = 0
  private var isRelaxed = false
  private var syncMayHaveFailed = false
  /// After a failed sync, pages may be missing from the cache: until the file is opened again, reads may find them damaged.
  private var pagesMayBeGone = false
  private var replicas: [Replica]
  private var seed: UInt64 = 1

  /// How often everything was compared.
  private var compareCount = 0
  /// Nothing has happened since everything was compared.
  private var isCompared = false

  private static let nameCount = 24
  private static let names = (0..<nameCount).map { "r\($0)" }
  /// The zones, and all records that there may be, by zone and name. Made once.
  private static let known: (zones: [Zone.ID], ids: [[Record.ID]])? = {
    guard let a = try? Zone.ID("A"), let b = try? Zone.ID("B") else { return nil }
    let zones = [.default, a, b]
    return (zones, zones.map { zone in names.compactMap { try? Record.ID($0, in: zone) } })
  }()
  /// The numbers of the names in the order of the records that have them.
  private static let order = (known?.ids[0] ?? []).enumerated().sorted { $0.element < $1.element }.map(\.offset)
  private let zones: [Zone.ID]
  private let ids: [[Record.ID]]

  package static func run(_ input: [UInt8]) throws {
    var trial = try FuzzTrial(input)
    try trial.run()
  }

  private init(_ bytes: [UInt8]) throws {
    input = FuzzInput(bytes)
    guard let known = FuzzTrial.known else { throw Forgery.Finding("names of zones are refused") }
    (zones, ids) = known
    replicas = [Replica(zone: 0), Replica(zone: 1)]
    database = try Database.open(at: "a.daybook", options: FuzzForging.options(seed: 1), disk: disk)
  }

  private mutating func run() throws {
    var stepCount = 0
    while !input.isAtEnd, stepCount < 60 {
      stepCount += 1
      do { try step() } catch let error as DatabaseError where error.code == .corrupted && pagesMayBeGone {
        try lose(crashes: false)
      }
    }
    if !isCompared {
      do { try compare() } catch let error as DatabaseError where error.code == .corrupted && pagesMayBeGone {
        try lose(crashes: false)
      }
    }
    if pagesMayBeGone { try lose(crashes: false) }
    // Compare before or after closing, not both: each takes as long as everything else.
    let looksFirst = stepCount & 1 == 0
    if looksFirst { try check() }
    try reopen()
    try compare(isLast: true)
    if !looksFirst { try check() }
    for index in replicas.indices { try follow(index) }
    try database.close()
  }

  private mutating func step() throws {
    isCompared = false
    switch input.number(below: 16) {
    case 0..<8: try transaction(fault: 0)
    case 8: try transaction(fault: 1 + input.number(below: 4))
    case 9: try reopen()
    case 10: try lose(crashes: false)
    case 11: try lose(crashes: true)
    case 12: try compare()
    case 13: try follow(0)
    case 14: try follow(1)
    default: try synchronize()
    }
  }

  private func check() throws {
    let report = try database.check(.deep)
    try require(report.isClean, "check: \(report.findings)")
  }

  // MARK: transactions

  private mutating func transaction(fault: Int) throws {
    var next = state
    arm(fault)
    defer {
      disk.removeFaults()
      disk.limit(toByteCount: nil)
    }
    let script = input.byte()
    let throwsAtEnd = script & 0x80 != 0
    do {
      var input = self.input
      defer { self.input = input }
      try database.write { transaction in
        for _ in 0...(script & 7) { try operation(transaction, &next, &input, depth: 0) }
        if throwsAtEnd { throw Intended() }
      }
      return try advance(to: next)
    } catch is Intended {
      return try require(try database.snapshot().sequence == sequence, "a transaction that threw has left a commit")
    } catch let error as DatabaseError {
      switch error.code {
      case .outcomeUnknown:
        try require(syncMayHaveFailed, "an unknown outcome out of nothing: \(error)")
        states[sequence + 1] = next
        try lose(crashes: script & 0x40 != 0)
      case .corrupted where pagesMayBeGone:
        try lose(crashes: script & 0x40 != 0)
      case .diskFull, .ioFailed:
        try require(fault != 0, "an error out of nothing: \(error)")
        try require(try database.snapshot().sequence == sequence, "a transaction that failed has left a commit")
      default: throw Forgery.Finding("a transaction threw \(error)")
      }
    }
  }

  private mutating func arm(_ fault: Int) {
    switch fault {
    case 1, 2:
      syncMayHaveFailed = true
      pagesMayBeGone = pagesMayBeGone || fault == 2
      disk.inject(SimulatedFault([.sync], call: 1, syncLoss: fault == 1 ? .keepsPages : .dropsPages))
    case 3: disk.inject(SimulatedFault([.write], call: 1 + input.number(below: 3), code: ErrorNumber.noSpace))
    case 4:
      let used = disk.paths.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) }
      disk.limit(toByteCount: used + input.byte())
    default: break
    }
  }

  /// A commit was acknowledged, or there was nothing to commit.
  private mutating func advance(to next: State) throws {
    let found = try database.snapshot().sequence
    try require(found == sequence || found == sequence + 1, "commit \(found) after \(sequence)")
    try require(found > sequence || next == state, "a transaction that changed something has no commit")
    sequence = found
    state = next
    states[sequence] = next
    if !isRelaxed { raiseFloor() }
  }

  private mutating func raiseFloor() {
    floor = sequence
    states = [sequence: state]
  }

  private func operation(
    _ transaction: borrowing Transaction, _ next: inout State, _ input: inout FuzzInput, depth: Int
  ) throws {
    let code = input.byte()
    let zone = code >> 4 & 3 == 3 ? 0 : code >> 4 & 3
    let name = input.number(below: FuzzTrial.nameCount)
    let id = ids[zone][name]
    switch code & 15 {
    case 0..<7, 14:
      let length = code & 0x80 != 0 ? input.byte() * 16 : input.byte() & 31
      let value = [UInt8](repeating: UInt8(name), count: length)
      var record = try Record(type: name & 1 == 0 ? "Even" : "Odd", id: id)
      record["v"] = Data(value)
      let owner: Int? = code & 15 == 14 ? input.number(below: FuzzTrial.nameCount) : nil
      CrashIndex.set(&record, Int64(name))
      record["n"] = Int64(length)
      record["o"] = owner.map { Record.Reference(ids[zone][$0], action: .deleteSelf) }
      try expect(next.zones[zone] == nil ? .zoneNotFound : nil, "save") { () throws(DatabaseError) in
        try transaction.save(record, policy: .allKeys)
      }
      next.save(name, in: zone, value, owner: owner)
    case 7..<10:
      // Deleting a missing record may or may not be an error: the model does not decide that.
      let isThere = next.zones[zone]?[name] != nil
      do throws(DatabaseError) { try transaction.delete(id) } catch {
        if error.code == .diskFull || error.code == .ioFailed { throw error }
        try require(!isThere, "a delete threw \(error)")
      }
      next.delete(name, in: zone)
    case 10:
      try transaction.save(Zone(zones[zone]))
      if next.zones[zone] == nil { next.zones[zone] = [:] }
    case 11:
      let code: DatabaseError.Code? = zone == 0 ? .invalidArguments : next.zones[zone] == nil ? .zoneNotFound : nil
      try expect(code, "delete a zone") { () throws(DatabaseError) in
        try transaction.deleteZone(zones[zone])
      }
      if zone != 0 {
        next.zones[zone] = nil
        next.owners[zone] = nil
      }
    case 12:
      let value = UInt8(truncatingIfNeeded: input.byte())
      try transaction.setMetadata(value == 0 ? nil : Data([value]), forKey: "m\(name & 3)")
      next.metadata[name & 3] = value == 0 ? nil : value
    case 13 where depth < 3:
      let before = next
      do {
        try transaction.savepoint {
          for _ in 0...(name & 3) { try operation(transaction, &next, &input, depth: depth + 1) }
          if name & 4 != 0 { throw Intended() }
        }
      } catch is Intended { next = before }
    case 15 where name & 1 == 1:
      let kind = IndexKind.allCases[name / 2 % 3]
      if name & 8 == 0 {
        let type = Schema.RecordType(name: "Even", indexes: CrashIndex.indexes([kind]))
        try transaction.declare(Schema(types: [type]))
        next.indexes.insert(kind)
      } else if name & 16 == 0 {
        _ = try transaction.buildIndexes(recordCount: 1 + zone)
      } else {
        let dropped = try CrashIndex.indexes([kind]).map { try transaction.dropIndex(on: $0.key, ofType: "Even") }
        let isThere = dropped.contains(true)
        try require(isThere == (next.indexes.remove(kind) != nil), "dropping the index (\(kind.rawValue)): \(isThere)")
      }
    default:
      let found = try? transaction.record(id)
      try compare(found, next.zones[zone]?[name], "inside, \(id)")
      if next.zones[zone] != nil {
        let count = try transaction.recordCount(in: zones[zone])
        try require(count == next.zones[zone]?.count, "inside, \(count) records in \(zones[zone])")
      }
    }
  }

  private func expect(
    _ code: DatabaseError.Code?, _ what: String, _ body: () throws(DatabaseError) -> Void
  ) throws {
    var found: DatabaseError.Code?
    do throws(DatabaseError) { try body() } catch {
      if error.code == .diskFull || error.code == .ioFailed { throw error }
      found = error.code
    }
    try require(found == code, "\(what): \(String(describing: found)), expected \(String(describing: code))")
  }

  // MARK: looking

  private func compare(_ record: Record?, _ value: [UInt8]?, _ what: String) throws {
    let found = (record?["v"] as Data?).map { [UInt8]($0) }
    try require(found == value, "\(what): \(String(describing: found)), expected \(String(describing: value))")
  }

  /// Compares whole zones each time. Single names and kinds of queries only in part, others each time, and all of them at the end: a
  /// mistake does not go away.
  private mutating func compare(isLast: Bool = false) throws {
    compareCount += 1
    let snapshot = try database.snapshot()
    try require(snapshot.sequence == sequence, "commit \(snapshot.sequence), expected \(sequence)")
    let found = try snapshot.zones().map(\.id)
    try require(found == state.zones.keys.map { zones[$0] }.sorted(), "zones \(found)")
    let indexes = try snapshot.schema()["Even"]?.indexes ?? []
    try require(Set(indexes.map(\.kind)) == state.indexes, "indexes \(indexes), expected \(state.indexes)")
    for (zone, values) in state.zones {
      for (index, kind) in IndexKind.allCases.enumerated()
      where isLast || (compareCount + zone) % IndexKind.allCases.count == index {
        try compareQuery(kind, snapshot, zone, values)
      }
      let records = try snapshot.records(in: zones[zone])
      let ids = self.ids[zone]
      let names = FuzzTrial.order.filter { values[$0] != nil }
      try require(records.map(\.id) == names.map { ids[$0] }, "records of \(zones[zone])")
      for (record, name) in zip(records, names) { try compare(record, values[name], "r\(name) of all") }
      for (name, id) in ids.enumerated() where isLast || name % 4 == compareCount % 4 {
        try compare(try snapshot.record(id), values[name], "r\(name)")
        let sources = try snapshot.referencing(id).map(\.id.name)
        let expected = (state.owners[zone] ?? [:]).compactMap { $0.value == name ? FuzzTrial.names[$0.key] : nil }
        try require(sources.sorted() == expected.sorted(), "\(sources) point at r\(name), expected \(expected)")
      }
      for (type, parity) in [("Even", 0), ("Odd", 1)] {
        let count = try snapshot.recordCount(in: zones[zone], ofType: type)
        try require(count == values.keys.filter { $0 & 1 == parity }.count, "count of \(type)")
      }
    }
    for key in 0..<4 {
      let value = try snapshot.metadata(forKey: "m\(key)").map { [UInt8]($0) }
      try require(value == state.metadata[key].map { [$0] }, "metadata \(key)")
    }
    isCompared = true
  }

  /// Asks for a field that may have an index.
  private func compareQuery(
    _ kind: IndexKind, _ snapshot: borrowing Snapshot, _ zone: Int, _ values: [Int: [UInt8]]
  ) throws {
    let asked = compareCount % FuzzTrial.nameCount
    let number = kind == .value ? values[asked]?.count ?? 0 : asked
    let found = try snapshot.records(Query("Even", where: CrashIndex.predicate(kind, Int64(number)), in: zones[zone]))
    let expected = values.compactMap { name, value in
      name & 1 == 0 && CrashIndex.finds(kind, Int64(number), Int64(kind == .value ? value.count : name))
        ? FuzzTrial.names[name] : nil
    }
    try require(
      found.map(\.id.name).sorted() == expected.sorted(),
      "a query (\(kind.rawValue)) for \(number) finds \(found.map(\.id.name)), expected \(expected)")
  }

  /// Takes the changes since the last time; then the copy must equal the zone.
  private mutating func follow(_ index: Int) throws {
    var replica = replicas[index]
    let zone = zones[replica.zone]
    guard let expected = state.zones[replica.zone] else {
      replicas[index] = Replica(zone: replica.zone)
      return
    }
    let limit = 1 + input.number(below: 5)
    while true {
      let page: ZoneChanges
      do throws(DatabaseError) { page = try database.changes(in: zone, since: replica.token, limit: limit) } catch {
        let isRefusal = error.code == .changeTokenExpired || error.code == .changeTokenForked
        try require(isRefusal && replica.token != nil, "changes of \(zone): \(error)")
        replica = Replica(zone: replica.zone)
        continue
      }
      for record in page.saved { replica.values[record.id.name] = (record["v"] as Data?).map { [UInt8]($0) } ?? [] }
      for gone in page.deleted { replica.values[gone.id.name] = nil }
      replica.token = page.token
      if !page.moreComing { break }
    }
    let wanted = Dictionary(uniqueKeysWithValues: expected.map { (FuzzTrial.names[$0.key], $0.value) })
    try require(replica.values == wanted, "a copy that follows the feed of \(zone) has \(replica.values), expected \(wanted)")
    replicas[index] = replica
  }

  // MARK: closing, killing, crashing

  private mutating func synchronize() throws {
    if syncMayHaveFailed { return try lose(crashes: false) }
    try database.sync()
    raiseFloor()
  }

  private mutating func openAgain() throws {
    seed += 1
    var options = FuzzForging.options(seed: seed)
    let choice = input.byte()
    isRelaxed = choice & 1 != 0
    options.durability = isRelaxed ? .relaxed : .full
    options.padding = choice & 2 != 0
    options.partByteCount = choice & 4 != 0 ? 400 : 8 << 20
    options.closeCheckpointByteCount = choice & 8 != 0 ? 0 : 1 << 20
    options.checkpoint.minimumLogByteCount = choice & 16 != 0 ? 4 << 10 : 1 << 20
    database = try Database.open(at: "a.daybook", options: options, disk: disk)
    syncMayHaveFailed = false
    pagesMayBeGone = false
  }

  private mutating func reopen() throws {
    if syncMayHaveFailed { return try lose(crashes: false) }
    try database.close()
    try openAgain()
    try require(database.lastRecovery.wasClosed, "a closed file: \(database.lastRecovery)")
    try require(try database.snapshot().sequence == sequence, "closing and opening changed the last commit")
    raiseFloor()
  }

  private mutating func lose(crashes: Bool) throws {
    disk.stop()
    let mayGoBack = crashes || syncMayHaveFailed
    disk = crashes ? disk.crashed(seed: UInt64(input.byte())) : disk.killed()
    try openAgain()
    let found = try database.snapshot().sequence
    guard found >= floor, let survivor = states[found] else {
      throw Forgery.Finding("reopened at commit \(found); \(floor) to \(sequence) were acknowledged")
    }
    try require(mayGoBack || found == sequence, "a kill lost commits: \(found) of \(sequence)")
    sequence = found
    state = survivor
    raiseFloor()
    try compare()
  }
}
