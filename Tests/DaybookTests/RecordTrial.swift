import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// A database and its naive twin in lockstep: random transactions on both, the same questions asked of both; in between
/// the database is closed, killed, crashed, and its disk fills up or fails.
final class RecordTrial {
  struct Mismatch: Error, CustomStringConvertible { let description: String }

  /// A token, and what the twin knows of the place that it names.
  private struct HeldToken {
    var token: ChangeToken
    var zone: Zone.ID?
    var life = 0
    var order = 0
    var sequence: UInt64
    /// What had been forgotten when the token was made.
    var horizon: UInt64
    /// The commit `sequence` was not seen as a whole.
    var isPartial = false
    /// The commit that it names is gone with a crash.
    var isForked = false
  }

  let seed: UInt64
  private(set) var stepCount = 0
  private var generator: SeededGenerator
  private let clock = TestClock()
  private var disk: SimulatedDisk
  private var database: Database
  private var options: Database.Options
  private var model = ModelDatabase()
  /// What a crash may go back to, and the oldest commit that must survive one.
  private var states: [UInt64: ModelDatabase] = [:]
  private var floor: UInt64 = 0
  /// A sync was made to fail since the file was opened, maybe a checkpoint's: the next write may find the writer dead.
  private var syncMayHaveFailed = false
  private var clients: [ModelClient] = []
  private var tokens: [HeldToken] = []
  private var tags: Set<String> = []

  private let zones: [Zone.ID]
  private let names = (0..<14).map { "record-\($0)" }
  private let types = ["Note", "Movie", "A"]
  private let keys = (0..<6).map { "k\($0)" }

  init(seed: UInt64) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    disk = SimulatedDisk(seed: seed)
    options = .simulated(seed: seed &+ 1, clock: clock)
    database = try .open(at: "trial.daybook", options: options, disk: disk)
    zones = try [.default, Zone.ID("A"), Zone.ID("Zoë"), Zone.ID("Zoe\u{308}"), Zone.ID("دفتر")]
    states[0] = model
  }

  // MARK: chance

  private func chance(_ part: Int, in whole: Int) -> Bool { Int.random(in: 0..<whole, using: &generator) < part }
  private func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
  private func pick<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &generator)] }

  private func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw Mismatch(description: message()) }
  }

  // MARK: the run

  /// Runs at least so many steps; the file is checked now and then and at the end.
  func run(_ wantedCount: Int) throws {
    var nextCheck = 200
    while stepCount < wantedCount {
      switch number(0...99) {
      case 0..<70: try transaction()
      case 70..<88: try feed()
      case 88..<91: try databaseFeed()
      case 91..<94: try synchronize()
      case 94..<96: try reopen()
      case 96..<98: try lose(crashes: chance(1, in: 2), mayGoBack: syncMayHaveFailed)
      case 98: try compact()
      default: try compareAll()
      }
      if stepCount >= nextCheck {
        try check(.structure)
        nextCheck = stepCount + 200
      }
    }
    try compareAll()
    try check(.deep)
    try reopen()
    try check(.deep)
  }

  private func check(_ depth: Database.CheckDepth) throws {
    let report = try database.check(depth)
    try require(report.isClean, "check: \(report.findings)")
  }

  // MARK: transactions

  private func transaction() throws {
    stepCount += 1
    var next = model
    next.sequence += 1
    let isFaulty = chance(1, in: 14)
    let failsSync = isFaulty && chance(1, in: 3)
    if isFaulty { arm(failsSync: failsSync) }
    let throwsAtEnd = chance(1, in: 9)
    do {
      try database.write { transaction in
        next.date = clock.date
        for _ in 0..<number(1...5) { try operation(transaction, &next, depth: 0) }
        if throwsAtEnd { throw Intended() }
      }
      disarm()
      try require(next.dangling.isEmpty, "committed with \(next.dangling)")
      guard next.order != model.order else { return try expectSequence() }
      model = next
      keepState()
      try expectSequence()
    } catch is Intended {
      disarm()
      try expectSequence()
    } catch let error as DatabaseError {
      disarm()
      switch error.code {
      case .outcomeUnknown:
        try require(syncMayHaveFailed, "an unknown outcome without a failed sync: \(error)")
        if next.order != model.order { states[next.sequence] = next }
        try lose(crashes: chance(1, in: 2), mayGoBack: true)
      case .referenceViolation:
        let (source, target) = (error.facts.source, error.facts.target)
        try require(
          next.dangling.contains { $0.source == source && $0.target == target }, "dangling \(next.dangling): \(error)")
        try expectSequence()
      case .diskFull, .ioFailed:
        try require(isFaulty, "an error out of nothing: \(error)")
        try expectSequence()
      default:
        throw Mismatch(description: "a transaction threw \(error)")
      }
    }
  }

  private func arm(failsSync: Bool) {
    if failsSync {
      syncMayHaveFailed = true
      let loss: SimulatedFault.SyncLoss = chance(1, in: 2) ? .dropsPages : .keepsPages
      disk.inject(SimulatedFault([.sync], call: number(1...2), syncLoss: loss))
    } else if chance(1, in: 2) {
      disk.inject(
        SimulatedFault([.write], call: number(1...3), code: chance(1, in: 2) ? ErrorNumber.noSpace : ErrorNumber.inputOutput))
    } else {
      disk.limit(toByteCount: disk.paths.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) } + number(0...600))
    }
  }

  private func disarm() {
    disk.removeFaults()
    disk.limit(toByteCount: nil)
  }

  private func keepState() {
    states[model.sequence] = model
    if options.durability != .relaxed { raiseFloor() }
  }

  private func raiseFloor() {
    floor = model.sequence
    states = states.filter { $0.key >= floor }
  }

  private func expectSequence() throws {
    let sequence = try database.snapshot().sequence
    try require(sequence == model.sequence, "last commit \(sequence), expected \(model.sequence)")
  }

  private func operation(_ transaction: borrowing Transaction, _ next: inout ModelDatabase, depth: Int) throws {
    stepCount += 1
    switch number(0...99) {
    case 0..<48: try save(transaction, &next)
    case 48..<62: try delete(transaction, &next)
    case 62..<68: try saveZone(transaction, &next)
    case 68..<70: try deleteZone(transaction, &next)
    case 70..<76:
      let key = pick(["state", "état", "e\u{301}tat"])
      let value = chance(1, in: 3) ? nil : Data(repeating: 7, count: number(0...300))
      try transaction.setMetadata(value, forKey: key)
      next.setMetadata(value, key)
    case 76 where chance(1, in: 4):
      let wanted = UInt64(number(0...Int(next.sequence - 1)))
      try transaction.forgetDeletions(through: wanted)
      next.raiseHorizon(wanted)
    case 77..<87 where depth < 3:
      let before = next
      do {
        try savepoint(transaction, &next, depth: depth)
      } catch is Intended {
        next = before
      }
    default: try look(transaction, next)
    }
  }

  private func savepoint(_ transaction: borrowing Transaction, _ next: inout ModelDatabase, depth: Int) throws {
    try transaction.savepoint {
      for _ in 0..<number(1...4) { try operation(transaction, &next, depth: depth + 1) }
      if chance(1, in: 2) { throw Intended() }
    }
  }

  /// A record to point at: one that is there, most of the time.
  private func target(in zone: Zone.ID, _ next: ModelDatabase) -> Record.ID {
    let live = (next.zones[zone]?.rows ?? [:]).filter { $0.value.live != nil }.keys.sorted()
    return Record.ID(unchecked: live.isEmpty || chance(1, in: 12) ? pick(names) : pick(live), in: zone)
  }

  private func reference(in zone: Zone.ID, _ next: ModelDatabase) -> Record.Reference {
    Record.Reference(target(in: zone, next), action: pick([.none, .none, .deleteSelf, .deleteSelf, .validate]))
  }

  private func value(in zone: Zone.ID, _ next: ModelDatabase) -> Record.Value {
    switch number(0...8) {
    case 7: .reference(reference(in: zone, next))
    case 8: .references((0..<number(0...3)).map { _ in reference(in: zone, next) })
    case 0: .string(String(repeating: pick(["a", "é", "👩‍👩‍👧", "سلام"]), count: number(0...40)))
    case 1: .int(Int64(number(-5...5)))
    case 2: .double(Double(number(-5...5)) / 4)
    case 3: .bytes(Data(repeating: 3, count: chance(1, in: 6) ? number(0...3000) : number(0...20)))
    case 4: .strings([])
    case 5: .date(Date(timeIntervalSinceReferenceDate: Double(number(0...9))))
    default: .ints([1, Int64(number(0...9))])
    }
  }

  /// A client's record: new, as it is stored now, or from an earlier time; then changed.
  private func client(_ transaction: borrowing Transaction, _ next: ModelDatabase) throws -> ModelClient {
    var client: ModelClient
    let id = try Record.ID(pick(names), in: pick(zones))
    let way = number(0...9)
    if way < 3, !clients.isEmpty {
      client = pick(clients)
    } else if way < 8, let known = try transaction.record(id) {
      client = ModelClient(known)
      if chance(1, in: 6), let some = try transaction.records([id], desiredKeys: [pick(keys)])[id] {
        client = ModelClient(some)
      }
    } else {
      client = ModelClient(try Record(type: pick(types), id: id))
    }
    for _ in 0..<number(0...4) {
      client.record[pick(keys)] = chance(1, in: 4) ? nil : value(in: client.record.id.zone, next)
    }
    if chance(1, in: 8) {
      client.record.parent = chance(1, in: 3) ? nil : Record.Reference(target(in: client.record.id.zone, next))
    }
    return client
  }

  private func save(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let client = try client(transaction, next)
    let policy = pick([SavePolicy.ifServerRecordUnchanged, .ifServerRecordUnchanged, .changedKeys, .allKeys])
    let expected = next.outcome(of: client, policy)
    let id = client.record.id
    do {
      let saved = try transaction.save(client.record, policy: policy)
      guard case .success(var version) = expected else {
        throw Mismatch(description: "saving \(id) \(policy) should fail: \(expected)")
      }
      let tag = saved.metadata?.changeTag ?? ""
      try require(tags.insert(tag).inserted, "the tag \(tag) was given twice")
      version.tag = tag
      try compare(saved, version, "saved \(id) \(policy)")
      next.append(version, to: id)
      clients.append(ModelClient(saved))
    } catch let error as DatabaseError where error.code != .diskFull && error.code != .ioFailed {
      guard case .failure(let fault) = expected else {
        throw Mismatch(description: "saving \(id) \(policy): \(error)")
      }
      try require(error.code == fault.code, "saving \(id) \(policy): \(error), expected \(fault.code)")
      if fault.code == .serverRecordChanged {
        guard let conflict = error.conflict, let server = conflict.server else {
          throw Mismatch(description: "a conflict without its records")
        }
        try compare(server, fault.server, "server of \(id)")
        try compare(conflict.ancestor, fault.ancestor, "ancestor of \(id), client tag \(client.tag ?? "none")")
        try require(conflict.client == client.record, "client of \(id)")
        if chance(1, in: 2) { clients.append(ModelClient(server)) }
      }
    }
    clients.append(client)
    if clients.count > 40 { clients.remove(at: number(0...39)) }
  }

  private func delete(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let id = try Record.ID(pick(names), in: pick(zones))
    let error = try codeOf { try transaction.delete(id) }
    try require(error == next.fault(of: id.zone), "deleting \(id): \(String(describing: error))")
    guard error == nil, next.live(id) != nil else { return }
    var gone = next.victims(of: id)
    try recordDeletion(of: id, transaction, &next)
    gone.remove(id.name)
    // What belongs to it goes in the order of names, what belongs to the last of them first.
    var owners = [id.name]
    while let owner = owners.last {
      let owned = next.sources(of: owner, in: id.zone) { $0.action == .deleteSelf }
      if owned.isEmpty { owners.removeLast() }
      for name in owned {
        try require(gone.remove(name) != nil, "\(name) does not go with \(id)")
        try recordDeletion(of: Record.ID(name, in: id.zone), transaction, &next)
        if !next.sources(of: name, in: id.zone, { $0.action == .deleteSelf }).isEmpty { owners.append(name) }
      }
    }
    try require(gone.isEmpty, "\(gone) should have gone with \(id)")
  }

  private func recordDeletion(
    of id: Record.ID, _ transaction: borrowing Transaction, _ next: inout ModelDatabase
  ) throws {
    guard let known = next.live(id) else { throw Mismatch(description: "\(id) is gone already") }
    try require(try transaction.record(id) == nil, "\(id) is still there")
    let history = try transaction.history(of: id)
    guard let tag = history.first?.changeTag else { throw Mismatch(description: "a deletion without history") }
    try require(tags.insert(tag).inserted, "the tag \(tag) was given twice, to a deletion")
    next.append(ModelVersion(tag: tag, type: known.type, isDeleted: true, modificationDate: next.date), to: id)
  }

  private func saveZone(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    var zone = Zone(pick(zones))
    if chance(1, in: 6) { zone.capabilities = [.fetchChanges] }
    try transaction.save(zone)
    next.save(zone)
  }

  private func deleteZone(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let zone = pick(zones)
    let reason = pick(DatabaseChanges.DeletedZone.Reason.allCases)
    let error = try codeOf { try transaction.deleteZone(zone, reason: reason) }
    let expected = next.deleteZone(zone, reason)
    try require(error == expected, "deleting zone \(zone): \(String(describing: error))")
  }

  /// The code that a call throws. Errors of the disk go on.
  private func codeOf(_ body: () throws -> Void) throws -> DatabaseError.Code? {
    do {
      try body()
      return nil
    } catch let error as DatabaseError where error.code != .diskFull && error.code != .ioFailed {
      return error.code
    }
  }

  // MARK: looking

  private func compare(_ record: Record?, _ version: ModelVersion?, _ what: @autoclosure () -> String) throws {
    guard let record, let version else {
      return try require(
        record == nil && version == nil, "\(what()): \(String(describing: record)), \(String(describing: version))")
    }
    try require(record.type == version.type, "\(what()): type \(record.type)")
    let values = record.values
    try require(record.parent?.id.name == version.parent, "\(what()): parent")
    try require(values == version.values, "\(what()): \(values), expected \(version.values)")
    try require(record.metadata?.changeTag == version.tag, "\(what()): tag")
    try require(record.metadata?.creationDate == version.creationDate, "\(what()): creation date")
    try require(record.metadata?.modificationDate == version.modificationDate, "\(what()): modification date")
    try require(record.changedKeys.isEmpty, "\(what()): changed keys")
  }

  /// Reads inside a transaction see what it has done so far.
  private func look(_ transaction: borrowing Transaction, _ next: ModelDatabase) throws {
    let id = try Record.ID(pick(names), in: pick(zones))
    try compare(try transaction.record(id), next.live(id), "inside, \(id)")
    guard next.fault(of: id.zone) == nil else { return }
    let rows = next.zones[id.zone]?.rows ?? [:]
    switch number(0...5) {
    case 5:
      let found = try transaction.referencing(id).map(\.id.name)
      try require(found == next.sources(of: id.name, in: id.zone), "inside, who points at \(id): \(found)")
    case 0:
      let count = try transaction.recordCount(in: id.zone)
      try require(count == rows.values.filter { $0.live != nil }.count, "inside, count of \(id.zone)")
    case 1:
      let type = pick(types)
      let found = try transaction.records(in: id.zone, ofType: type).map(\.id.name)
      let expected = rows.filter { $0.value.live?.type == type }.keys.sorted()
      try require(found == expected, "inside, \(type) of \(id.zone): \(found), expected \(expected)")
    case 2:
      try compareHistory(try transaction.history(of: id), rows[id.name], "inside, \(id)")
    case 3:
      let found = try transaction.zones().map(\.id)
      let expected = next.zones.filter { $0.value.deletion == nil }.keys.sorted()
      try require(found == expected, "inside, zones: \(found)")
    default:
      // A feed inside a transaction tells what was committed, whatever the transaction has done since.
      guard model.fault(of: id.zone) == nil else { return }
      let changes = try transaction.changes(in: id.zone, since: nil, limit: .max)
      let expected = model.changes(in: id.zone, after: 0)
      try require(
        changes.savedNames == expected.filter { $0.row.live != nil }.map(\.name), "inside, feed of \(id.zone)")
      if let life = model.zones[id.zone]?.life {
        hold(
          HeldToken(
            token: changes.token, zone: id.zone, life: life, order: model.order, sequence: model.sequence,
            horizon: model.horizon))
      }
    }
  }

  private func compareHistory(_ history: [RecordHistoryVersion], _ row: ModelRow?, _ what: @autoclosure () -> String) throws {
    let expected = Array((row?.versions ?? []).reversed())
    try require(
      history.map(\.changeTag) == expected.map(\.tag),
      "\(what()): history \(history.map(\.changeTag)), expected \(expected.map(\.tag))")
    for (found, version) in zip(history, expected) {
      try require(found.date == version.modificationDate, "\(what()): date of a version")
      if version.isDeleted {
        guard case .deleted(let gone) = found.content, gone.type == version.type else {
          throw Mismatch(description: "\(what()): a deletion that is none")
        }
      } else {
        try compare(found.record, version, "\(what()): version")
      }
    }
    try require(history.first?.sequence == row?.sequence, "\(what()): sequence of the newest version")
  }

  private func compareAll() throws {
    stepCount += 1
    let snapshot = try database.snapshot()
    let zones = try snapshot.zones()
    let expected = model.zones.filter { $0.value.deletion == nil }.sorted { $0.key < $1.key }
    try require(zones.map(\.id) == expected.map(\.key), "zones \(zones.map(\.id))")
    try require(zones.map(\.capabilities) == expected.map(\.value.capabilities), "capabilities")
    for (id, zone) in expected {
      let live = zone.rows.filter { $0.value.live != nil }
      let limit = number(1...9)
      var found: [Record] = []
      while true {
        let page = try snapshot.records(in: id, after: found.last?.id.name, limit: limit)
        found += page
        if page.count < limit { break }
      }
      try require(found.map(\.id.name) == live.keys.sorted(), "records of \(id)")
      for record in found { try compare(record, live[record.id.name]?.live, "\(record.id)") }
      for type in types {
        let count = try snapshot.recordCount(in: id, ofType: type)
        try require(count == live.values.filter { $0.live?.type == type }.count, "count of \(type) in \(id)")
      }
      let counts = try snapshot.recordTypes(in: id)
      try require(counts.reduce(0) { $0 + $1.count } == live.count, "types of \(id): \(counts)")
      for name in names where chance(1, in: 5) {
        let found = try snapshot.referencing(Record.ID(name, in: id), limit: 5).map(\.id.name)
        try require(found == Array(model.sources(of: name, in: id).prefix(5)), "who points at \(id)/\(name): \(found)")
      }
      for (name, row) in zone.rows where chance(1, in: 5) {
        try compareHistory(try snapshot.history(of: Record.ID(name, in: id)), row, "\(id)/\(name)")
      }
      let count = try snapshot.changeCount(in: id, since: nil)
      try require(count == zone.rows.count, "changes of \(id): \(count)")
    }
    var schema: [String: [String: Set<String>]] = [:]
    for type in try snapshot.schema().types {
      schema[type.name] = Dictionary(uniqueKeysWithValues: type.fields.map { ($0.key, Set($0.kinds.map(\.rawValue))) })
    }
    try require(schema == model.schema, "schema \(schema), expected \(model.schema)")
    for key in ["state", "état", "e\u{301}tat"] {
      let value = try snapshot.metadata(forKey: key)
      try require(value == model.metadata[Array(key.utf8)], "metadata \(key)")
    }
  }

  // MARK: feeds

  private func hold(_ token: HeldToken) {
    tokens.append(token)
    if tokens.count > 60 { tokens.remove(at: number(0...59)) }
  }

  /// Pages from nothing or from an old token to the end.
  private func feed() throws {
    stepCount += 1
    let old = chance(1, in: 3) ? nil : tokens.filter { $0.zone != nil }.randomElement(using: &generator)
    let zone = old?.zone ?? pick(zones)
    if let old, mayNotBeSeen(old) { return try expectNothingOrForked(old) }
    if let code = expectedRefusal(old, zone) {
      let found = try codeOf { _ = try database.changes(in: zone, since: old?.token) }
      return try require(found == code, "token of \(zone): \(String(describing: found)), expected \(code)")
    }
    let limit = chance(1, in: 3) ? 1 : number(1...12)
    var place = old?.order ?? 0
    var token = old?.token
    let count = try database.changeCount(in: zone, since: token)
    try require(count == model.changes(in: zone, after: place).count, "count of changes of \(zone)")
    while true {
      let pending = model.changes(in: zone, after: place)
      let page = try database.changes(in: zone, since: token, limit: limit, desiredKeys: chance(1, in: 4) ? [] : nil)
      let wanted = pending.prefix(limit)
      try require(
        page.savedNames == wanted.filter { $0.row.live != nil }.map(\.name)
          && page.deletedNames == wanted.filter { $0.row.live == nil }.map(\.name)
          && page.deleted.map(\.type) == wanted.filter { $0.row.live == nil }.map(\.row.current.type)
          && page.saved.map { $0.metadata?.changeTag } == wanted.compactMap { $0.row.live?.tag },
        "feed of \(zone) behind \(place): \(page.savedNames) \(page.deletedNames), expected \(wanted.map(\.name))")
      try require(page.moreComing == (pending.count > limit), "more coming, \(zone)")
      token = page.token
      let life = model.zones[zone]?.life ?? 0
      if page.moreComing {
        place = pending[limit].row.order - 1
        hold(
          HeldToken(
            token: page.token, zone: zone, life: life, order: place, sequence: pending[limit].row.sequence,
            horizon: model.horizon, isPartial: true))
        // Something may happen between two pages.
        if chance(1, in: 4) { return }
      } else {
        return hold(
          HeldToken(
            token: page.token, zone: zone, life: life, order: model.order, sequence: model.sequence, horizon: model.horizon))
      }
    }
  }

  private func expectedRefusal(_ old: HeldToken?, _ zone: Zone.ID) -> DatabaseError.Code? {
    if let fault = model.fault(of: zone) { return fault }
    guard let old else { return nil }
    if old.isForked { return .changeTokenForked }
    if old.life != model.zones[zone]?.life { return .changeTokenExpired }
    return isExpired(old) ? .changeTokenExpired : nil
  }

  /// Lost with a crash, as we know; one that takes turns cannot tell it from a commit that it has not seen yet.
  private func mayNotBeSeen(_ old: HeldToken) -> Bool {
    old.isForked && old.sequence > model.sequence && options.lock == .perTransaction
  }

  private func expectNothingOrForked(_ old: HeldToken) throws {
    let fault = old.zone.flatMap { model.fault(of: $0) }
    var isNothing = false
    let code = try codeOf {
      if let zone = old.zone {
        let page = try database.changes(in: zone, since: old.token)
        isNothing = page.saved.isEmpty && page.deleted.isEmpty && !page.moreComing && page.token == old.token
      } else {
        let page = try database.databaseChanges(since: old.token)
        isNothing = page.changed.isEmpty && page.deleted.isEmpty && !page.moreComing && page.token == old.token
      }
    }
    try require(
      isNothing || code == .changeTokenForked || code != nil && code == fault,
      "the token of commit \(old.sequence), which was lost, at \(model.sequence): \(String(describing: code))")
  }

  private func isExpired(_ old: HeldToken) -> Bool {
    old.horizon != model.horizon
      && (old.sequence < model.horizon || old.sequence == model.horizon && old.isPartial)
  }

  private func databaseFeed() throws {
    stepCount += 1
    let old = chance(1, in: 3) ? nil : tokens.filter { $0.zone == nil }.randomElement(using: &generator)
    if let old, mayNotBeSeen(old) { return try expectNothingOrForked(old) }
    if let old, old.isForked || isExpired(old) {
      let code: DatabaseError.Code = old.isForked ? .changeTokenForked : .changeTokenExpired
      let found = try codeOf { _ = try database.databaseChanges(since: old.token) }
      return try require(found == code, "token of the database: \(String(describing: found)), expected \(code)")
    }
    let expected = model.zoneChanges(after: old?.sequence ?? 0)
    var token = old?.token
    var changed: [Zone.ID] = []
    var deleted: [DatabaseChanges.DeletedZone] = []
    let limit = number(1...3)
    while true {
      let page = try database.databaseChanges(since: token, limit: limit)
      changed += page.changed
      deleted += page.deleted
      token = page.token
      guard let sequence = page.token.parts?.sequence else { throw Mismatch(description: "a token without parts") }
      hold(HeldToken(token: page.token, sequence: sequence, horizon: model.horizon))
      if !page.moreComing { break }
    }
    try require(
      changed == expected.filter { model.zones[$0]?.deletion == nil }, "changed zones \(changed), expected \(expected)")
    try require(
      deleted == expected.compactMap { id in model.zones[id]?.deletion.map { .init(id: id, reason: $0) } },
      "deleted zones \(deleted)")
  }

  // MARK: closing, killing, crashing

  private func synchronize() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    try database.sync()
    raiseFloor()
  }

  /// The same records in a new file; older versions of them are gone.
  private func compact() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    try database.compact()
    for (zone, trees) in model.zones {
      for (name, row) in trees.rows { model.zones[zone]?.rows[name]?.versions = [row.current] }
    }
    keepState()
    raiseFloor()
    try compareAll()
  }

  /// Other options, on whatever disk there is now.
  private func openAgain() throws {
    options = .simulated(seed: generator.next(), clock: clock)
    options.durability = chance(1, in: 2) ? .full : .relaxed
    options.padding = chance(1, in: 4)
    options.lock = chance(1, in: 4) ? .perTransaction : .whileOpen
    options.partByteCount = chance(1, in: 2) ? 1 << 10 : 8 << 20
    options.closeCheckpointByteCount = chance(1, in: 2) ? 0 : 1 << 20
    options.checkpoint.minimumLogByteCount = pick([4 << 10, 16 << 10, 1 << 20])
    database = try .open(at: "trial.daybook", options: options, disk: disk)
    syncMayHaveFailed = false
  }

  private func reopen() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    try database.close()
    let error = try codeOf { _ = try database.zones() }
    try require(error == .closed, "a closed database answers")
    try openAgain()
    try require(database.lastRecovery.wasClosed, "a closed file: \(database.lastRecovery)")
    try expectSequence()
    raiseFloor()
  }

  /// The process or the system goes down. At `.relaxed` a crash may go back to any commit since the last sync; a failed
  /// sync leaves the choice to the disk in any case.
  private func lose(crashes: Bool, mayGoBack: Bool) throws {
    stepCount += 1
    disk.stop()
    disk = crashes ? disk.crashed(seed: generator.next()) : disk.killed()
    try openAgain()
    let sequence = try database.snapshot().sequence
    guard sequence >= floor, let state = states[sequence] else {
      throw Mismatch(description: "reopened at \(sequence), expected \(floor) to \(model.sequence)")
    }
    if !crashes, !mayGoBack { try require(sequence == model.sequence, "a kill lost commits: \(sequence) of \(model.sequence)") }
    model = state
    for index in tokens.indices where tokens[index].sequence > sequence { tokens[index].isForked = true }
    raiseFloor()
    try compareAll()
  }
}
