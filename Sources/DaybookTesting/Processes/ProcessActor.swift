#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

/// A thread of a process: its script, and what it holds.
///
/// Errors that a script has caused are part of the run: the process goes on as an application would, and opens the database
/// again after final ones. All others are findings.
final class ProcessActor: @unchecked Sendable {
  let index: Int
  let process: SimulatedProcess
  let script: [ProcessStep]
  unowned let run: ProcessRun
  /// The disk of the present step: other threads may close the database and open it again in the meantime.
  private(set) var disk: ProcessDisk
  private var open: ProcessOpen?
  private var held: HeldSnapshot?
  /// A content that was prepared, which a later step saves in the same open.
  var prepared: (asset: Asset, content: Int, open: ProcessOpen)?
  /// What the application keeps of the database, also where its process dies.
  var mirror = ProcessMirror()

  private final class HeldSnapshot {
    let snapshot: Snapshot
    let number: Int
    let open: ProcessOpen
    init(_ snapshot: consuming Snapshot, _ number: Int, _ open: ProcessOpen) {
      self.snapshot = snapshot
      self.number = number
      self.open = open
    }
  }

  init(_ index: Int, _ process: SimulatedProcess, _ script: [ProcessStep], _ run: ProcessRun) {
    self.index = index
    self.process = process
    self.script = script
    self.run = run
    disk = process.disk
  }

  var member: ProcessSettings.Member { process.member }
  var history: ProcessHistory { run.history }

  /// The whole script, on the actor's thread.
  func play() {
    for step in script {
      if run.finding != nil { break }
      run.scheduler.beginStep(step.number, of: index)
      disk = process.disk
      do {
        do { try perform(step.action) } catch let deviation as CrashDeviation { throw deviation } catch {
          try survive(error, step)
        }
      } catch {
        // What a process sees while it is being killed does not matter.
        if !disk.isDead { run.fail("actor \(index), \(step): \(error)") }
      }
      open = nil
      if run.isPowerOut {
        leave()
        run.scheduler.standBy(index)
        process.revive()
      } else if disk.isDead {
        leave()
        process.revive()
      }
    }
    if run.finding != nil { leave() }
  }

  /// Nothing of this open reaches the disk any more.
  func leave() {
    process.leave(disk)
    held = nil
    prepared = nil
    open = nil
  }

  // MARK: steps

  private func perform(_ action: ProcessAction) throws {
    switch action {
    case .dieSoon(let calls): return disk.die(inCalls: calls)
    case .fail(let fault): return disk.inject(fault.fault)
    case .limit(let byteCount): return run.limit(byteCount)
    case .close:
      held = nil
      guard let open = process.open, let closing = process.take(open) else { return }
      let seen = open.seen
      try closing.close()
      if member.role != .follower { try history.promise(seen, "commit \(seen) was there when its writer closed") }
      return
    default: break
    }
    let open = try process.current()
    self.open = open
    disk = open.disk
    if held?.open !== open { held = nil }
    if prepared?.open !== open { prepared = nil }
    let database = open.database
    switch action {
    case .commit(let operation): try commit(operation, open)
    case .savepoints(let zone, let count): try savepoints("z\(zone)", count, open)
    case .abort(let zone, let count): try abort("z\(zone)", count, open)
    case .checkpoint: try holding(database) { (store) throws(StoreError) in try store.checkpoint() }
    case .note: try holding(database) { (store) throws(StoreError) in store.appendNote() }
    case .zeros: try holding(database) { (store) throws(StoreError) in store.prepareZeros() }
    case .sync:
      let seen = open.seen
      try database.sync()
      try history.promise(seen, "commit \(seen) was synced")
    case .compact: try database.compact()
    case .collect: try database.collectAssets(grace: .zero)
    case .backup: try backUp(open)
    case .refresh:
      try database.refresh()
      try process.look(open)
    case .read: try process.look(open)
    case .hold:
      let snapshot = try database.snapshot()
      let number = try process.read(snapshot, of: open, floor: 0)
      held = HeldSnapshot(snapshot, number, open)
    case .look: try lookAgain()
    case .follow(let limit): try follow(open, limit: limit)
    case .lookUp(let zone, let count): try lookUp(open, zone: "z\(zone)", count)
    case .lookBack(let zone, let record): try lookBack(open, zone: "z\(zone)", record: "r\(record)")
    case .peek: try peek()
    case .salvage: try salvage()
    case .numbers: _ = try database.statistics()
    case .prepare(let content): try prepare(content, open)
    case .savePrepared(let zone, let record): try savePrepared(in: "z\(zone)", as: "r\(record)", open)
    case .suspend:
      let seen = open.seen
      try database.suspend()
      if member.role != .follower { try history.promise(seen, "commit \(seen) was there when its writer was suspended") }
    case .resume:
      try database.resume()
      try process.look(open)
    case .dieSoon, .fail, .limit, .close: break
    }
  }

  /// In a process that locks per transaction, background work needs the file lock.
  private func holding(_ database: Database, _ body: (Store) throws(StoreError) -> Void) throws {
    let store = try database.stores.beginHolding()
    defer { database.stores.endHolding(store) }
    try body(store)
  }

  private func lookAgain() throws {
    guard let held else { return }
    let number = try process.walk(held.snapshot, floor: held.number) { "the snapshot of actor \(index)" }
    if number != held.number { throw CrashDeviation("a snapshot of commit \(held.number) shows commit \(number)") }
  }

  private func backUp(_ open: ProcessOpen) throws {
    let path = ProcessRun.copyPath(index)
    run.copies[index] = nil
    let seen = open.seen
    if try disk.exists(path) { try disk.remove(path) }
    try disk.syncDirectory(holding: path)
    try AssetStore.removeAll(path + ".assets", on: disk)
    try open.database.backup(to: path, disk: disk)
    run.copies[index] = try run.readCopy(path, on: run.disk, floor: seen)
  }

  // MARK: transactions

  private func commit(_ operation: CrashOperation, _ open: ProcessOpen) throws {
    switch operation {
    case .save(let zone, let record, let byteCount): try save(["r\(record)"], "z\(zone)", byteCount, open)
    case .saveMany(let zone, let count, let byteCount):
      try save((0..<count).map { "r\($0)" }, "z\(zone)", byteCount, open)
    case .saveAsset(let zone, let record, let content): try save(["r\(record)"], "z\(zone)", 40, open, asset: content)
    case .saveOwned(let zone, let record, let owner):
      try save(["r\(record)"], "z\(zone)", 40, open, owner: "r\(owner)")
    case .delete(let zone, let record):
      let (zone, name) = ("z\(zone)", "r\(record)")
      try write(open) { state, number, transaction in
        guard state.zones[zone]?.records[name] != nil else { return }
        state.delete(name, in: zone)
        try transaction.delete(Record.ID(name, in: Zone.ID(zone)))
      }
    case .deleteZone(let number):
      let zone = "z\(number)"
      try write(open) { state, number, transaction in
        guard state.zones[zone] != nil else { return }
        state.zones[zone] = nil
        try transaction.deleteZone(Zone.ID(zone))
      }
    case .forgetDeletions:
      try write(open) { state, number, transaction in
        for zone in state.zones.keys { state.zones[zone]?.deleted = [] }
        try transaction.forgetDeletions(through: UInt64(history.attempts[Int(state.step)].sequence))
      }
    case .index(let kinds):
      try write(open) { state, number, transaction in
        if state.indexes.isDisjoint(with: kinds) {
          state.indexes.formUnion(kinds)
          try transaction.declare(CrashIndex.schema(kinds))
        } else if number % 3 == 0 {
          state.indexes.subtract(kinds)
          for index in CrashIndex.indexes(kinds) { _ = try transaction.dropIndex(on: index.key, ofType: "Note") }
        } else {
          _ = try transaction.buildIndexes(recordCount: 3)
        }
      }
    default: preconditionFailure("scripts hold no other commits")
    }
  }

  private func save(
    _ names: [String], _ zone: String, _ byteCount: Int, _ open: ProcessOpen, asset: Int? = nil, owner: String? = nil
  ) throws {
    try write(open) { state, number, transaction in
      let entry = CrashState.Entry(number: Int64(number), byteCount: byteCount, asset: asset, owner: owner)
      let id = try Zone.ID(zone)
      try transaction.save(Zone(id))
      for name in names {
        let found = try transaction.record(Record.ID(name, in: id)).flatMap { $0["n"] as Int64? }
        let expected = state.zones[zone]?.records[name]?.number
        guard found == expected else {
          throw CrashDeviation("a transaction finds version \(found ?? 0) of \(name), expected \(expected ?? 0)")
        }
        run.scheduler.point()
        state.save(name, in: zone, entry)
        try transaction.save(CrashRun.record(name, id, entry), policy: .changedKeys)
      }
    }
  }

  private struct ChangedMyMind: Error {}

  private func savepoints(_ zone: String, _ count: Int, _ open: ProcessOpen) throws {
    try write(open) { state, number, transaction in
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

  private func abort(_ zone: String, _ count: Int, _ open: ProcessOpen) throws {
    do {
      try write(open) { state, number, transaction in
        let id = try Zone.ID(zone)
        try transaction.save(Zone(id))
        let entry = CrashState.Entry(number: Int64(number), byteCount: 150)
        for index in 0..<count { try transaction.save(CrashRun.record("never\(index)", id, entry), policy: .changedKeys) }
        throw ChangedMyMind()
      }
    } catch is ChangedMyMind {}
  }

  /// One transaction on top of what it finds. The closure changes the model and the database in the same way.
  func write(
    _ open: ProcessOpen, _ change: (inout CrashState, Int, borrowing Transaction) throws -> Void
  ) throws {
    var attempted: Int?
    var parent = 0
    do {
      try open.database.write { transaction in
        parent = try CommitNumber.of(transaction.metadata(forKey: "step"))
        let seen = open.seen
        guard history.attempts.indices.contains(parent), history.attempts[parent].outcome != .refused,
          history.stands(parent, on: history.present), history.stands(parent, on: seen)
        else {
          throw CrashDeviation(
            "a transaction stands on commit \(parent), expected one that stands on \(history.present) and \(seen)")
        }
        // The caller has seen what a transaction read, even if it is rolled back: commits of others that it read must survive.
        let others = history.othersPart(of: parent, writer: open.number)
        try history.promise(others, "a transaction of process \(process.index) stood on commit \(others)")
        var state = history.attempts[parent].state
        let number = history.attempts.count
        attempted = history.begin(on: parent, writer: open.number)
        try change(&state, number, transaction)
        try transaction.setMetadata(CommitNumber.data(number), forKey: "step")
        history.confirm(number, state)
      }
    } catch {
      if let attempted {
        let isUnknown = disk.isDead || (error as? DatabaseError)?.code == .outcomeUnknown
        history.end(attempted, isUnknown ? .unknown : .refused)
      }
      throw error
    }
    guard let attempted else { return }
    try history.acknowledge(attempted, isDurable: member.durability != .relaxed || member.role == .sharer)
    open.advance(to: attempted, history)
  }

  // MARK: errors

  /// Reacts to an error as an application would; throws when there is no reason for the error.
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
      // Reads go on, and what they show stays.
      if let open, member.durability != .relaxed {
        do { try process.look(open) } catch let error as DatabaseError where error.code == .closed {
        } catch let error as DatabaseError where error.cause is DiskFailure {
          // A call that an earlier step made fail, and this read is the first to make it.
        } catch let error as DatabaseError where [.ioFailed, .snapshotTooOld].contains(error.code) && run.settings.hasThreads {
          // A call that another thread of this process made fail, or that thread has reopened the file in the meantime.
        }
      }
      giveUp()
    // Another thread has closed it.
    case .closed where run.settings.hasThreads && (open == nil || open !== process.open): held = nil
    // Another thread suspends or closes meanwhile.
    case .operationCancelled where run.settings.hasThreads && [.compact, .collect].contains(step.action): break
    // A collection without a grace time does the same to a version that no lock protects.
    case .assetFileNotFound where !run.readsAssets && step.action == .backup: break
    case .ioFailed where !history.wasCreated: break
    case .ioFailed, .diskFull: guard run.hasFailures else { throw unexpected() }
    case .snapshotTooOld where step.action == .look: held = nil
    case .corrupted where mayLackPages: giveUp()
    default: throw unexpected()
    }
  }

  /// Whether what was read here before may be gone with the pages of a failed sync. At `.full` only a transaction finds such pages: one
  /// based on a commit whose sync has just failed.
  private var mayLackPages: Bool {
    run.hasDroppedPages && (member.durability == .relaxed || run.settings.hasThreads)
  }

  private func giveUp() {
    held = nil
    try? process.take(open)?.close()
  }

  private static func code(of error: any Error) -> DatabaseError.Code? {
    if let error = error as? DatabaseError { return error.code }
    guard let error = error as? StoreError else { return nil }
    return switch error {
    case .locked, .suspended: .locked
    case .closed: .closed
    case .outcomeUnknown: .outcomeUnknown
    case .disk(let failure): failure.kind == .full ? .diskFull : .ioFailed
    case .snapshotTooOld: .snapshotTooOld
    default: .corrupted
    }
  }

  // MARK: the end

  /// From now on, everything that still runs must succeed.
  func finish() throws {
    disk = process.disk
    disk.removeFaults()
    guard let open = process.open, !open.disk.isDead else { return leave() }
    if held?.open !== open { held = nil }
    do {
      do { try lookAgain() } catch let error as DatabaseError where error.code == .snapshotTooOld {}
      held = nil
      prepared = nil
      try process.look(open)
    } catch let error as DatabaseError where error.code == .corrupted && mayLackPages && member.durability == .relaxed {
      // The sync of a transaction that was rolled back may have failed: no call has told of it.
      giveUp()
    } catch {
      // Another thread may kill this process as late as here.
      if open.disk.isDead { return leave() }
      throw error
    }
  }
}
