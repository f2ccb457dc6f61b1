#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

/// One process: its script, the database as it has it open, and what it has seen so far.
///
/// Errors that the script or another process brought about are part of the run: the process goes on as an application would, and
/// opens the database again after those that are final. All others are findings.
final class ProcessActor: @unchecked Sendable {
  let index: Int
  let member: ProcessSettings.Member
  let script: [ProcessStep]
  unowned let run: ProcessRun
  private(set) var disk: ProcessDisk
  private(set) var database: Database?
  private var held: HeldSnapshot?
  /// The newest commit that this open has seen: what it sees next stands on it.
  private var seen = 0
  /// Names this open as a writer.
  private var writer = 0

  private final class HeldSnapshot {
    let snapshot: Snapshot
    let number: Int
    init(_ snapshot: consuming Snapshot, _ number: Int) {
      self.snapshot = snapshot
      self.number = number
    }
  }

  init(_ index: Int, _ member: ProcessSettings.Member, _ script: [ProcessStep], _ run: ProcessRun) {
    self.index = index
    self.member = member
    self.script = script
    self.run = run
    disk = run.makeDisk(for: index)
  }

  private var history: ProcessHistory { run.history }

  /// The whole script, on the actor's thread.
  func play() {
    for step in script {
      if run.finding != nil { break }
      run.scheduler.beginStep(step.number, of: index)
      do {
        do { try perform(step.action) } catch let deviation as CrashDeviation { throw deviation } catch {
          try survive(error, step)
        }
      } catch {
        // What a process sees while it is being killed is nobody's business.
        if !disk.isDead { run.fail("actor \(index), \(step): \(error)") }
      }
      if run.isPowerOut {
        leave()
        run.scheduler.rest(index)
        disk = run.makeDisk(for: index)
      } else if disk.isDead {
        leave()
        disk = run.makeDisk(for: index)
      }
    }
    if run.finding != nil { leave() }
  }

  /// Nothing of this open reaches the disk any more.
  func leave() {
    disk.die()
    held = nil
    database = nil
    seen = 0
  }

  private func current() throws -> Database {
    if let database { return database }
    let floor = history.present
    let number = run.nextOpen()
    let opened = try Database.open(at: ProcessRun.path, options: run.settings.options(member, open: number), disk: disk)
    database = opened
    writer = Int(number)
    seen = 0
    if member.role != .follower { history.wasCreated = true }
    // Beside a writer a reader sees what that one has proven, which may be less than it has acknowledged.
    let isAlone = member.role != .follower || !opened.store.recovery.isBesideWriter
    if opened.lastRecovery.tellsOfDamage { throw CrashDeviation("open takes a crash for rot") }
    try look(opened, floor: isAlone ? floor : 0)
    return opened
  }

  // MARK: looking

  private func look(_ database: Database, floor: Int = 0) throws {
    let snapshot = try database.snapshot()
    let number = try read(snapshot, floor: floor)
    try see(number)
  }

  private func read(_ snapshot: borrowing Snapshot, floor: Int) throws -> Int {
    let (sequence, state) = try CrashState.read(snapshot, withAssets: run.readsAssets) { record in
      guard run.checksTags, let tag = record.metadata?.changeTag, let number = record["n"] as Int64? else { return }
      try history.check(changeTag: tag, of: "\(record.id)", version: number)
    }
    let number = try history.check(sequence, state, floor: floor, withAssets: run.readsAssets) { "what actor \(index) sees" }
    guard history.stands(number, on: seen) else {
      throw CrashDeviation("actor \(index) sees commit \(history.chain(number)) after \(history.chain(seen))")
    }
    return number
  }

  /// What is durable for its reader stays.
  private func see(_ number: Int) throws {
    seen = number
    let isDurable = member.role == .follower || member.durability != .relaxed
    let promised = isDurable ? number : history.othersPart(of: number, writer: writer)
    try history.promise(promised, "actor \(index) was shown commit \(promised)")
  }

  // MARK: steps

  private func perform(_ action: ProcessAction) throws {
    switch action {
    case .dieSoon(let calls): return disk.die(inCalls: calls)
    case .fail(let fault): return disk.inject(fault.fault)
    case .limit(let byteCount): return run.limit(byteCount)
    case .close:
      held = nil
      guard let database else { return }
      self.database = nil
      return try database.close()
    default: break
    }
    let database = try current()
    switch action {
    case .commit(let operation): try commit(operation, database)
    case .savepoints(let zone, let count): try savepoints("z\(zone)", count, database)
    case .abort(let zone, let count): try abort("z\(zone)", count, database)
    case .checkpoint: try holding(database) { (store) throws(StoreError) in try store.checkpoint() }
    case .note: try holding(database) { (store) throws(StoreError) in store.appendNote() }
    case .zeros: try holding(database) { (store) throws(StoreError) in store.prepareZeros() }
    case .sync:
      try database.sync()
      try history.promise(seen, "commit \(seen) was synced")
    case .compact: try database.compact()
    case .collect: try database.collectAssets(grace: .zero)
    case .backup: try backUp(database)
    case .refresh:
      try database.refresh()
      try look(database)
    case .read: try look(database)
    case .hold:
      let snapshot = try database.snapshot()
      let number = try read(snapshot, floor: 0)
      try see(number)
      held = HeldSnapshot(snapshot, number)
    case .look: try lookAgain()
    case .suspend:
      try database.suspend()
      if member.role != .follower { try history.promise(seen, "commit \(seen) was there when its writer was suspended") }
    case .resume:
      try database.resume()
      try look(database)
    case .dieSoon, .fail, .limit, .close: break
    }
  }

  /// Background work of a process that takes turns belongs into a hold of the lock.
  private func holding(_ database: Database, _ body: (Store) throws(StoreError) -> Void) throws {
    let store = try database.stores.beginHolding()
    defer { database.stores.endHolding(store) }
    try body(store)
  }

  private func lookAgain() throws {
    guard let held else { return }
    let (sequence, state) = try CrashState.read(held.snapshot, withAssets: run.readsAssets)
    let number = try history.check(sequence, state, floor: held.number, withAssets: run.readsAssets) {
      "the snapshot of actor \(index)"
    }
    if number != held.number { throw CrashDeviation("a snapshot of commit \(held.number) shows commit \(number)") }
  }

  private func backUp(_ database: Database) throws {
    let path = ProcessRun.copyPath(index)
    run.copies[index] = nil
    if try disk.exists(path) { try disk.remove(path) }
    try disk.syncDirectory(holding: path)
    try AssetStore.removeAll(path + ".assets", on: disk)
    try database.backup(to: path, disk: disk)
    run.copies[index] = try run.readCopy(path, on: run.disk, floor: seen)
  }

  // MARK: transactions

  private func commit(_ operation: CrashOperation, _ database: Database) throws {
    switch operation {
    case .save(let zone, let record, let byteCount): try save(["r\(record)"], "z\(zone)", byteCount, database)
    case .saveMany(let zone, let count, let byteCount):
      try save((0..<count).map { "r\($0)" }, "z\(zone)", byteCount, database)
    case .saveAsset(let zone, let record, let content): try save(["r\(record)"], "z\(zone)", 40, database, asset: content)
    case .saveOwned(let zone, let record, let owner):
      try save(["r\(record)"], "z\(zone)", 40, database, owner: "r\(owner)")
    case .delete(let zone, let record):
      let (zone, name) = ("z\(zone)", "r\(record)")
      try write(database) { state, number, transaction in
        guard state.zones[zone]?.records[name] != nil else { return }
        state.delete(name, in: zone)
        try transaction.delete(Record.ID(name, in: Zone.ID(zone)))
      }
    case .deleteZone(let number):
      let zone = "z\(number)"
      try write(database) { state, number, transaction in
        guard state.zones[zone] != nil else { return }
        state.zones[zone] = nil
        try transaction.deleteZone(Zone.ID(zone))
      }
    case .forgetDeletions:
      try write(database) { state, number, transaction in
        for zone in state.zones.keys { state.zones[zone]?.deleted = [] }
        try transaction.forgetDeletions(through: UInt64(history.attempts[Int(state.step)].sequence))
      }
    default: preconditionFailure("scripts hold no other commits")
    }
  }

  private func save(
    _ names: [String], _ zone: String, _ byteCount: Int, _ database: Database, asset: Int? = nil, owner: String? = nil
  ) throws {
    try write(database) { state, number, transaction in
      let entry = CrashState.Entry(number: Int64(number), byteCount: byteCount, asset: asset, owner: owner)
      let id = try Zone.ID(zone)
      try transaction.save(Zone(id))
      for name in names {
        let found = try transaction.record(Record.ID(name, in: id)).flatMap { $0["n"] as Int64? }
        let expected = state.zones[zone]?.records[name]?.number
        guard found == expected else {
          throw CrashDeviation("a transaction finds version \(found ?? 0) of \(name), expected \(expected ?? 0)")
        }
        state.save(name, in: zone, entry)
        try transaction.save(CrashRun.record(name, id, entry), policy: .changedKeys)
      }
    }
  }

  private struct ChangedMyMind: Error {}

  private func savepoints(_ zone: String, _ count: Int, _ database: Database) throws {
    try write(database) { state, number, transaction in
      let id = try Zone.ID(zone)
      try transaction.save(Zone(id))
      let entry = CrashState.Entry(number: Int64(number), byteCount: 200)
      do {
        try transaction.savepoint {
          for index in 0..<count { try transaction.save(CrashRun.record("never\(index)", id, entry), policy: .changedKeys) }
          throw ChangedMyMind()
        }
      } catch is ChangedMyMind {}
      try transaction.savepoint {
        for index in 0..<count {
          state.save("r\(index)", in: zone, entry)
          try transaction.save(CrashRun.record("r\(index)", id, entry), policy: .changedKeys)
        }
      }
    }
  }

  private func abort(_ zone: String, _ count: Int, _ database: Database) throws {
    do {
      try write(database) { state, number, transaction in
        let id = try Zone.ID(zone)
        try transaction.save(Zone(id))
        let entry = CrashState.Entry(number: Int64(number), byteCount: 150)
        for index in 0..<count { try transaction.save(CrashRun.record("never\(index)", id, entry), policy: .changedKeys) }
        throw ChangedMyMind()
      }
    } catch is ChangedMyMind {}
  }

  /// One transaction on top of what it finds. The closure changes the twin and the database alike.
  private func write(
    _ database: Database, _ change: (inout CrashState, Int, borrowing Transaction) throws -> Void
  ) throws {
    var attempted: Int?
    var parent = 0
    do {
      try database.write { transaction in
        parent = try Self.number(transaction.metadata(forKey: "step"))
        guard history.attempts.indices.contains(parent), history.attempts[parent].outcome != .refused,
          history.stands(parent, on: history.present), history.stands(parent, on: seen)
        else {
          throw CrashDeviation(
            "a transaction stands on commit \(parent), expected one that stands on \(history.present) and \(seen)")
        }
        var state = history.attempts[parent].state
        let number = history.attempts.count
        attempted = history.begin(on: parent, writer: writer)
        try change(&state, number, transaction)
        try transaction.setMetadata(Self.stamp(number), forKey: "step")
        history.settle(number, state)
      }
    } catch {
      if let attempted {
        let isUnknown = disk.isDead || (error as? DatabaseError)?.code == .outcomeUnknown
        history.end(attempted, isUnknown ? .unknown : .refused)
      }
      throw error
    }
    guard let attempted else { return }
    try history.acknowledge(attempted, isDurable: member.durability != .relaxed || member.role == .turnTaker)
    seen = attempted
  }

  private static func stamp(_ number: Int) -> Data {
    Data((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
  }

  private static func number(_ data: Data?) -> Int { data.map { $0.reduce(0) { $0 << 8 | Int($1) } } ?? 0 }

  // MARK: errors

  /// What an application does about an error; throws when there is no reason for one.
  private func survive(_ error: any Error, _ step: ProcessStep) throws {
    // A process that is gone notices nothing.
    if disk.isDead { return }
    func unexpected() -> CrashDeviation { CrashDeviation("throws \(error)") }
    guard let code = Self.code(of: error) else {
      // The calls of the script itself, outside the database.
      if error is DiskFailure, run.hasFailures { return }
      throw unexpected()
    }
    switch code {
    case .locked: break
    case .outcomeUnknown:
      guard run.hasFailures else { throw unexpected() }
      held = nil
      try? database?.close()
      database = nil
    case .ioFailed where !history.wasCreated: break
    case .ioFailed, .diskFull: guard run.hasFailures else { throw unexpected() }
    case .snapshotTooOld where step.action == .look: held = nil
    case .corrupted where run.hasDroppedPages && member.durability == .relaxed:
      held = nil
      try? database?.close()
      database = nil
    default: throw unexpected()
    }
  }

  private static func code(of error: any Error) -> DatabaseError.Code? {
    if let error = error as? DatabaseError { return error.code }
    guard let error = error as? StoreError else { return nil }
    return switch error {
    case .locked, .suspended: .locked
    case .outcomeUnknown: .outcomeUnknown
    case .disk(let failure): failure.kind == .full ? .diskFull : .ioFailed
    case .snapshotTooOld: .snapshotTooOld
    default: .corrupted
    }
  }

  // MARK: the end

  /// Everything that still goes on goes well now.
  func finish() throws {
    disk.removeFaults()
    guard let database, !disk.isDead else { return leave() }
    do { try lookAgain() } catch let error as DatabaseError where error.code == .snapshotTooOld {}
    held = nil
    try look(database)
  }

  func close() throws {
    guard let database else { return }
    self.database = nil
    do { try database.close() } catch {
      guard run.hasFailures else { throw CrashDeviation("closing actor \(index) throws \(error)") }
    }
  }

  /// After all writers have closed.
  func followToTheEnd() throws {
    guard member.role == .follower, let database else { return }
    do {
      try database.resume()
      try database.refresh()
    } catch { throw CrashDeviation("the last refresh of actor \(index) throws \(error)") }
    try look(database, floor: history.present)
    try close()
  }
}
