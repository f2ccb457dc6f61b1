#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

/// An application on a simulated disk, and what it has been promised so far.
///
/// Always true: at each disk call, `expectation` says what a crash before that call may leave.
@safe package final class CrashRun: @unchecked Sendable {
  static let path = "a.daybook"
  static let copyPath = "b.daybook"
  let settings: CrashSettings
  let operations: [CrashOperation]
  private(set) var disk: SimulatedDisk
  private(set) var expectation = CrashExpectation()
  /// The operation that is being carried out; -1 while the database is created.
  private(set) var index = -1
  /// Called before each call that changes the disk, and once after the last operation, without a call. The number counts
  /// through the whole run, also when the disk is replaced.
  var onCall: ((CrashRun, SimulatedCall?, Int) -> Void)?
  private var database: Database?
  private var openCount: UInt64 = 0
  private var number: Int64 = 0
  private var callCount = 0

  init(_ settings: CrashSettings, _ operations: [CrashOperation]) {
    self.settings = settings
    self.operations = operations
    disk = SimulatedDisk(
      seed: settings.seed, sectorByteCount: settings.sectorByteCount, maximumFileByteCount: 2 << 20)
    disk.recycle(settings.recycled)
    if settings.cutsTransfers { disk.cutTransfers() }
    if settings.ignoresSyncs { disk.ignoreSyncs() }
    if let fault = settings.fault { disk.inject(fault) }
  }

  /// The bytes of the file after the same work with other values, under another salt, for `recycled`: its frames lie where ours
  /// do, and are valid except for the salt.
  static func recycledBlocks(_ settings: CrashSettings, _ operations: [CrashOperation]) -> [UInt8] {
    var other = settings
    other.seed = settings.seed &+ 0x5EED
    other.fault = nil
    let run = CrashRun(other, operations)
    // These numbers take as many bytes as those of the real run.
    run.number = 30
    try? run.run(closes: true)
    return run.disk.bytes(of: path) ?? []
  }

  /// Carries out all operations; throws when something happens that should not.
  package func run(closes: Bool = false) throws {
    observe()
    do {
      try open()
      for (index, operation) in operations.enumerated() {
        self.index = index
        try perform(operation)
      }
      index = operations.count
      callCount += 1
      onCall?(self, nil, callCount)
      if closes { try database?.close() }
    } catch {
      leave()
      throw error
    }
    leave()
  }

  /// Nothing that happens from now on reaches the disk.
  private func leave() {
    disk.observe(nil)
    disk.stop()
    database = nil
  }

  private func observe() {
    // Remove the observer now: one that outlives its run would look at an old disk.
    disk.observe { [unowned self] call throws(DiskFailure) in
      callCount += 1
      onCall?(self, call, callCount)
    }
  }

  /// Whether errors are expected in this run.
  private var mayFail: Bool { settings.fault != nil || disk.isStopped }

  private func current() throws -> Database {
    guard let database else { throw CrashDeviation("the run has no database") }
    return database
  }

  // MARK: opening

  private func open() throws {
    openCount += 1
    do {
      database = try Database.open(at: Self.path, options: settings.options(open: openCount), disk: disk)
      if openCount == 1 { expectation.wasCreated = true }
    } catch {
      guard mayFail else { throw CrashDeviation("open throws \(error)") }
      // Without the fault it succeeds, or the next line throws.
      if disk.isStopped { move(to: disk.killed()) }
      disk.removeFaults()
      openCount += 1
      database = try Database.open(at: Self.path, options: settings.options(open: openCount), disk: disk)
    }
    let database = try current()
    let (sequence, state) = try CrashState.read(database)
    guard sequence >= expectation.acknowledged, sequence < expectation.history.count else {
      throw CrashDeviation(
        "opened at commit \(sequence), expected \(expectation.acknowledged) to \(expectation.history.count - 1)")
    }
    guard state == expectation.history[sequence] else {
      throw CrashDeviation("opened at commit \(sequence) with \(state), expected \(expectation.history[sequence])")
    }
    if database.lastRecovery.tellsOfDamage { throw CrashDeviation("a failure was taken for corruption") }
    expectation.goBack(to: sequence)
  }

  /// Goes on after a final failure. The seed decides what happens to the process and the system.
  private func recover() throws {
    disk.removeFaults()
    if disk.isStopped {
      move(to: disk.killed())
      return try open()
    }
    switch (settings.seed &+ UInt64(callCount)) % 3 {
    case 0:
      try? database?.close()
      database = nil
    case 1: move(to: disk.killed())
    default: move(to: disk.crashed(seed: settings.seed &+ UInt64(callCount)))
    }
    try open()
  }

  private func move(to next: SimulatedDisk) {
    leave()
    disk = next
    if settings.cutsTransfers { disk.cutTransfers() }
    observe()
  }

  // MARK: operations

  private func perform(_ operation: CrashOperation) throws {
    let zone: (Int) -> String = { "z\($0)" }
    let state = expectation.history.last
    switch operation {
    case .save(let number, let record, let byteCount):
      try save(["r\(record)"], zone(number), byteCount)
    case .saveAsset(let number, let record, let content):
      try save(["r\(record)"], zone(number), 40, asset: content)
    case .saveOwned(let number, let record, let owner):
      try save(["r\(record)"], zone(number), 40, owner: "r\(owner)")
    case .collect:
      try failing { try $0.collectAssets(grace: .zero) }
    case .saveMany(let number, let count, let byteCount):
      try save((0..<count).map { "r\($0)" }, zone(number), byteCount)
    case .delete(let number, let record):
      let name = "r\(record)"
      guard state.zones[zone(number)]?.records[name] != nil else { return }
      let id = try Record.ID(name, in: Zone.ID(zone(number)))
      try commit({ $0.delete(name, in: zone(number)) }, { try $0.delete(id) })
    case .deleteZone(let number):
      guard state.zones[zone(number)] != nil else { return }
      let id = try Zone.ID(zone(number))
      try commit({ $0.zones[zone(number)] = nil }, { try $0.deleteZone(id) })
    case .abort(let number, let count):
      try abort(zone(number), count)
    case .forgetDeletions:
      let horizon = expectation.history.count - 1
      try commit(
        { state in
          for zone in state.zones.keys { state.zones[zone]?.deleted = [] }
          state.horizon = horizon
        },
        { try $0.forgetDeletions(through: UInt64(horizon)) })
    case .checkpoint:
      try failing { try $0.store.checkpoint() }
    case .note:
      try current().store.appendNote()
    case .zeros:
      try current().store.prepareZeros()
    case .sync:
      if try failing({ try $0.sync() }) { expectation.acknowledged = expectation.history.count - 1 }
    case .close:
      if try failing({ try $0.close() }) {
        expectation.acknowledged = expectation.history.count - 1
        database = nil
        try open()
      }
    case .backup: try backUp()
    case .compact:
      if try failing({ try $0.compact() }) { expectation.acknowledged = expectation.history.count - 1 }
    case .index(let kinds):
      var found: [IndexState] = []
      guard try failing({ found = try $0.indexes().filter { kinds.contains($0.kind) } }) else { return }
      if found.isEmpty {
        try commit({ $0.indexes.formUnion(kinds) }, { try $0.declare(CrashIndex.schema(kinds)) })
      } else if found.contains(where: { !$0.isComplete }) {
        try commit({ _ in }, { _ = try $0.buildIndexes(recordCount: 2) })
      } else {
        try commit({ $0.indexes.subtract(kinds) }) { transaction in
          for index in CrashIndex.indexes(kinds) { _ = try transaction.dropIndex(on: index.key, ofType: "Note") }
        }
      }
    case .kill:
      move(to: disk.killed())
      try open()
    case .dieSoon(let calls):
      disk.stop(atCall: disk.callCount + calls, tearsWrite: true)
    case .powerLoss:
      move(to: disk.crashed(seed: settings.seed &+ UInt64(callCount)))
      try open()
    }
  }

  private func backUp() throws {
    let state = expectation.history.last
    expectation.copy = nil
    expectation.copies.append(state)
    let isMade = try failing { database in
      if try disk.exists(Self.copyPath) { try disk.remove(Self.copyPath) }
      // The name must be gone, durably, before its assets are.
      try disk.syncDirectory(holding: Self.copyPath)
      try AssetStore.removeAll(Self.copyPath + ".assets", on: disk)
      try database.backup(to: Self.copyPath, disk: disk)
    }
    if isMade { expectation.copy = state }
  }

  private func save(_ names: [String], _ zone: String, _ byteCount: Int, asset: Int? = nil, owner: String? = nil) throws {
    let id = try Zone.ID(zone)
    let entry = CrashState.Entry(number: number + 1, byteCount: byteCount, asset: asset, owner: owner)
    try commit(
      { state in for name in names { state.save(name, in: zone, entry) } },
      { transaction in
        try transaction.save(Zone(id))
        for name in names { try transaction.save(Self.record(name, id, entry), policy: .changedKeys) }
      })
  }

  static func record(_ name: String, _ zone: Zone.ID, _ entry: CrashState.Entry) throws -> Record {
    var record = try Record(type: "Note", id: Record.ID(name, in: zone))
    record["n"] = entry.number
    CrashIndex.set(&record, entry.number)
    record["b"] = CrashState.content(of: entry)
    record["a"] = entry.asset.map { Asset(data: CrashState.assetContent($0)) }
    record["o"] = try entry.owner.map { Record.Reference(try Record.ID($0, in: zone), action: .deleteSelf) }
    return record
  }

  /// One transaction. Its state is allowed from the moment its frame may be written, and required once `write` has returned.
  private func commit(
    _ change: (inout CrashState) -> Void, _ body: (borrowing Transaction) throws -> Void
  ) throws {
    number += 1
    let stamp = Data((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    var next = expectation.history.last
    change(&next)
    next.step = number
    expectation.history.append(next)
    let database = try current()
    do {
      try database.write { transaction in
        try body(transaction)
        try transaction.setMetadata(stamp, forKey: "step")
      }
    } catch let error as DatabaseError {
      return try survive(error, mayHaveCommitted: true)
    }
    let token = try database.databaseChanges(since: nil).token
    let sequence = expectation.history.count - 1
    guard token.parts?.sequence == UInt64(sequence) else {
      throw CrashDeviation("after commit \(sequence) the token says \(token.parts.map { "\($0.sequence)" } ?? "nothing")")
    }
    if settings.durability != .relaxed { expectation.acknowledged = sequence }
    expectation.tokens.append(.init(token: token, sequence: sequence))
  }

  private func abort(_ zone: String, _ count: Int) throws {
    struct ChangedMyMind: Error {}
    let id = try Zone.ID(zone)
    do {
      try current().write { transaction in
        try transaction.save(Zone(id))
        for index in 0..<count {
          try transaction.save(
            Self.record("never\(index)", id, CrashState.Entry(number: -1, byteCount: 150)), policy: .changedKeys)
        }
        throw ChangedMyMind()
      }
    } catch is ChangedMyMind {
    } catch let error as DatabaseError {
      try survive(error, mayHaveCommitted: false)
    }
  }

  /// False when the call failed, and the run went on after that.
  @discardableResult
  private func failing(_ body: (Database) throws -> Void) throws -> Bool {
    let database = try current()
    do {
      try body(database)
      return true
    } catch {
      guard mayFail else { throw CrashDeviation("\(operations[index]) throws \(error)") }
      try recover()
      return false
    }
  }

  /// A transaction failed. A live writer has undone it, and it must not come back; after a dead one, both outcomes are
  /// possible.
  private func survive(_ error: DatabaseError, mayHaveCommitted: Bool) throws {
    guard mayFail else { throw CrashDeviation("\(operations[index]) throws \(error)") }
    var isDead = error.code == .outcomeUnknown || disk.isStopped
    if !isDead { do { try current().store.sync() } catch { isDead = true } }
    if isDead { return try recover() }
    if mayHaveCommitted { expectation.history.removeLast() }
    let sequence: Int, state: CrashState
    do { (sequence, state) = try CrashState.read(current()) } catch {
      // Its process has died meanwhile.
      guard disk.isStopped else { throw error }
      return try recover()
    }
    guard sequence == expectation.history.count - 1, state == expectation.history[sequence] else {
      throw CrashDeviation("a transaction failed with \(error.code), and left something behind: \(state)")
    }
  }
}
