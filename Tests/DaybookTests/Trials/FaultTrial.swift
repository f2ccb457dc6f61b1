import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// One run of a fixed workload on a disk that fails at a chosen call. After each error: is it the right one, do reads go
// on, is the database usable or dead as it says, and would a crash right now leave what was acknowledged? Beside it stands
// a dictionary that knows what each commit leaves.

/// What is in a database: the number in each record of each zone.
typealias Holdings = [String: [String: Int64]]

/// The workload.
enum FaultStep {
  enum Edit {
    case save(String, in: String = "Notes", Int64, byteCount: Int = 40)
    case delete(String, in: String = "Notes")
    case saveZone(String)
    case deleteZone(String)
    /// A savepoint that is rolled back.
    case tried([Edit])
  }

  case write([Edit])
  /// A transaction that throws.
  case abort([Edit])
  case checkpoint
  case close
  /// A process that only reads, beside the writer or alone; it looks twice.
  case read

  /// Opening (creating) is whatever the first step does to begin with, and each step after a `close`.
  static let script: [FaultStep] = [
    .write([.saveZone("Notes"), .save("a", 1)]),
    .write([.save("b", 2), .save("c", 3)]),
    .read,
    .write((0..<30).map { .save("r\($0)", Int64($0), byteCount: 150) }),
    .write([.saveZone("Library"), .save("x", in: "Library", 1), .save("y", in: "Library", 2)]),
    .write([.delete("b"), .delete("r3"), .save("c", 33)]),
    .abort((0..<20).map { .save("never\($0)", -1, byteCount: 200) }),
    .checkpoint,
    .write([
      .save("d", 4), .tried((0..<25).map { .save("r\($0)", -1, byteCount: 150) } + [.deleteZone("Library")]), .save("e", 5),
    ]),
    .write([.deleteZone("Library")]),
    .close,
    .read,
    .write([.saveZone("Library"), .save("x", in: "Library", 10)]),
    .write((0..<60).map { .save("s\($0)", Int64($0), byteCount: 300) }),
    .read,
    .write((0..<30).map { .delete("s\($0)") }),
    .checkpoint,
    .write([.save("f", 6)]),
    .close,
    .write([.save("g", 7), .delete("a")]),
    .close,
  ]
}

extension Holdings {
  mutating func apply(_ edits: [FaultStep.Edit]) {
    for edit in edits {
      switch edit {
      case .save(let name, let zone, let number, _): self[zone, default: [:]][name] = number
      case .delete(let name, let zone): self[zone]?[name] = nil
      case .saveZone(let zone): self[zone] = self[zone] ?? [:]
      case .deleteZone(let zone): self[zone] = nil
      case .tried: break
      }
    }
  }
}

extension Database {
  /// Everything, as a dictionary; zones without records count, the default zone does not.
  func holdings() throws -> Holdings {
    try read { snapshot in
      var holdings: Holdings = [:]
      for zone in try snapshot.zones() where zone.id != .default {
        holdings[zone.id.name] = Dictionary(
          uniqueKeysWithValues: try snapshot.records(in: zone.id).map { ($0.id.name, $0["n"] ?? Int64.min) })
      }
      return holdings
    }
  }
}

/// A database did something else than it promised.
struct FaultDeviation: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Runs the script on one disk with one fault.
final class FaultTrial {
  static let path = "test.daybook"
  let fault: SimulatedFault
  /// Whether zeros, notes and checkpoints are written by a thread of their own, as they are outside of tests. Which call is
  /// which is then decided by the system; what must hold is the same.
  let hasMaintenance: Bool
  /// Commits wait for no sync, so a crash may take the last ones, in their order.
  let isRelaxed: Bool
  /// Reads that fail are met where the file is not mapped.
  private let access: Database.Options.Access
  let disk: SimulatedDisk
  private var database: Database?
  private var openCount: UInt64 = 0
  /// What each acknowledged commit left.
  private var history: [Holdings] = [[:]]
  /// From which of them on a crash may leave the database at `.relaxed`.
  private var durableIndex = 0
  /// What the commit of unknown outcome leaves, if it is there.
  private var pending: Holdings?
  private(set) var errorCount = 0
  private(set) var deathCount = 0
  /// A crash took commits at `.relaxed`: the rest of the script would not fit what is left.
  private var hasLostTail = false
  private struct LostTail: Error {}
  /// How many images of crashes were looked at.
  private(set) var imageCount = 0

  init(_ fault: SimulatedFault, hasMaintenance: Bool = false, isRelaxed: Bool = false) {
    self.fault = fault
    self.hasMaintenance = hasMaintenance
    self.isRelaxed = isRelaxed
    access = fault.operations.contains(.read) ? .buffered : Database.Options().access
    disk = SimulatedDisk(seed: UInt64(fault.call), maximumFileByteCount: 4 << 20)
    disk.startTrace()
    disk.inject(fault)
  }

  private var acknowledged: Holdings { history[history.count - 1] }

  /// Whether the fault came to pass.
  var hasStruck: Bool { disk.trace.count { fault.operations.contains($0.operation) } >= fault.call }

  /// Goes through the script; each step that fails is judged, and tried again when the disk is whole.
  func run() throws {
    for (index, step) in FaultStep.script.enumerated() where !hasLostTail {
      do {
        // Once more when the step failed, and once more when that showed that the database was dead.
        for attempt in 0..<4 {
          do {
            try perform(step)
            break
          } catch is LostTail {
            break
          } catch let error as DatabaseError {
            guard attempt < 3 else { throw FaultDeviation("the database does not come back: \(error)") }
            try judge(error, step)
          }
        }
        if let database { try expectReads(database) }
      } catch {
        throw FaultDeviation("step \(index), \(error)")
      }
    }
    disk.removeFaults()
    try database?.close()
    try expectSound(disk, mayHoldPending: false)
    let strangers = disk.paths.filter { $0 != FaultTrial.path && !$0.hasPrefix(FaultTrial.path + ".discarded-") }
    if !strangers.isEmpty { throw FaultDeviation("files are left over: \(strangers)") }
  }

  // MARK: steps

  private func perform(_ step: FaultStep) throws {
    switch step {
    case .read: return try readBeside()
    case .close where database == nil: return
    default: break
    }
    let database = try opened()
    switch step {
    case .write(let edits):
      var target = acknowledged
      target.apply(edits)
      // The commit of unknown outcome was there after all.
      if target == acknowledged { return }
      pending = target
      try database.write { transaction in try FaultTrial.apply(edits, transaction) }
      pending = nil
      history.append(target)
    case .abort(let edits):
      do {
        try database.write { transaction in
          try FaultTrial.apply(edits, transaction)
          throw Intended()
        }
      } catch is Intended {}
    case .checkpoint:
      do { try database.store.checkpoint() } catch { throw DatabaseError(error, path: database.path) }
      durableIndex = history.count - 1
    case .close:
      // Whatever it throws, the file is released.
      self.database = nil
      try database.close()
      durableIndex = history.count - 1
    case .read: break
    }
  }

  private static func apply(_ edits: [FaultStep.Edit], _ transaction: borrowing Transaction) throws {
    for edit in edits {
      switch edit {
      case .save(let name, let zone, let number, let byteCount):
        let values: [String: Record.Value] = ["n": .int(number), "b": .bytes(Data(count: byteCount))]
        try transaction.save(.fresh(name, in: Zone.ID(zone), values), policy: .changedKeys)
      case .delete(let name, let zone): try transaction.delete(Record.ID(name, in: Zone.ID(zone)))
      case .saveZone(let zone): try transaction.save(Zone(Zone.ID(zone)))
      case .deleteZone(let zone): try transaction.deleteZone(Zone.ID(zone))
      case .tried(let edits):
        do {
          try transaction.savepoint {
            try apply(edits, transaction)
            throw Intended()
          }
        } catch is Intended {}
      }
    }
  }

  private static func open(
    _ disk: SimulatedDisk, seed: UInt64, isReadOnly: Bool = false, hasMaintenance: Bool = false, isRelaxed: Bool = false,
    access: Database.Options.Access = Database.Options().access
  ) throws -> Database {
    try Database.open(on: disk, seed: seed) {
      $0.access = access
      $0.hasBackgroundThread = hasMaintenance
      $0.durability = isRelaxed ? .relaxed : .full
      $0.partByteCount = 2000
      $0.isReadOnly = isReadOnly
      $0.lockTimeout = .zero
    }
  }

  /// The open database, or a new open, which settles a commit whose outcome was unknown.
  private func opened() throws -> Database {
    if let database { return database }
    openCount += 1
    let database = try FaultTrial.open(
      disk, seed: openCount, hasMaintenance: hasMaintenance, isRelaxed: isRelaxed, access: access)
    let found = try database.holdings()
    if let pending, found == pending {
      history.append(found)
    } else if isRelaxed, found != acknowledged, let index = history.lastIndex(of: found), index >= durableIndex {
      history.removeSubrange((index + 1)...)
      hasLostTail = true
    } else if found != acknowledged {
      throw FaultDeviation("opened again, it does not hold what was acknowledged")
    }
    pending = nil
    durableIndex = history.count - 1
    self.database = database
    if hasLostTail { throw LostTail() }
    return database
  }

  private func readBeside() throws {
    let reader = try FaultTrial.open(disk, seed: 0, isReadOnly: true, access: access)
    // What a reader shows may be older than the writer's newest, and never becomes older.
    let first = try reader.holdings()
    _ = try reader.refresh()
    let second = try reader.holdings()
    try reader.close()
    let known = history + (pending.map { [$0] } ?? [])
    guard let age = known.firstIndex(of: first), let secondAge = known.lastIndex(of: second), secondAge >= age else {
      throw FaultDeviation("a reader shows what no commit left")
    }
    if database == nil && first != acknowledged && first != pending && !(isRelaxed && history[durableIndex...].contains(first))
    {
      throw FaultDeviation("a reader alone does not show what was acknowledged")
    }
  }

  // MARK: judging

  /// Reads go on and show what was acknowledged.
  private func expectReads(_ database: Database) throws {
    do {
      if try database.holdings() != acknowledged { throw FaultDeviation("reads show something else than was acknowledged") }
    } catch let error as DatabaseError where fault.operations.contains(.read) {
      // The read itself met the fault. It says so, and where it fails but once, the next one finds everything.
      try expectTrue(error, .checkpoint)
      errorCount += 1
      if fault.repeats { return }
      if try database.holdings() != acknowledged { throw FaultDeviation("a failed read leaves something behind") }
    } catch let error as DatabaseError {
      // What was shown before it was durable can go when the system drops the pages of a failed sync. It is noticed.
      let mayBeGone = isRelaxed && fault.syncLoss == .dropsPages && database.store.log.isDead.load(ordering: .acquiring)
      if !mayBeGone || error.code != .corrupted { throw FaultDeviation("reads do not go on: \(error)") }
    }
  }

  private func judge(_ error: DatabaseError, _ step: FaultStep) throws {
    errorCount += 1
    try expectTrue(error, step)
    // The disk is still as it was when the call failed: another failure, if it fails permanently, must be as honest.
    if let database {
      try expectReads(database)
      if error.code == .outcomeUnknown { try expectDead(database, error) }
    }
    for image in [disk.killed(), disk.crashed(seed: 1, policy: .none), disk.crashed(seed: UInt64(fault.call))] {
      try expectSound(image, mayHoldPending: error.code == .outcomeUnknown)
    }
    if fault.repeats {
      if let database, error.code != .outcomeUnknown { try expectHonest(database) }
      disk.removeFaults()
    }
    if let database, database.store.log.isDead.load(ordering: .acquiring) {
      deathCount += 1
      self.database = nil
      // A dead database gives its file back and has nothing to add, but for commits that returned before they were durable.
      do { try database.close() } catch {
        guard isRelaxed, error.code == .outcomeUnknown else { throw error }
      }
    }
    if error.code != .outcomeUnknown { pending = nil }
  }

  /// The error names what failed: this operation with this code, as a kind of error that fits.
  private func expectTrue(_ error: DatabaseError, _ step: FaultStep) throws {
    guard let cause = error.cause as? DiskFailure else { throw FaultDeviation("no failure of the disk: \(error)") }
    // A failed sync makes the next one on another description fail, with the code that the system has for it.
    let isEcho = cause.operation == .sync && cause.code == ErrorNumber.inputOutput && fault.operations.contains(.sync)
    guard isEcho || fault.operations.contains(cause.operation) && cause.code == fault.code else {
      throw FaultDeviation("the disk did something else: \(error)")
    }
    switch error.code {
    case .diskFull:
      if cause.code != ErrorNumber.noSpace { throw FaultDeviation("the disk is not full: \(error)") }
      if cause.operation == .write, error.facts.size ?? 0 <= 0 { throw FaultDeviation("no word of the bytes needed: \(error)") }
    case .ioFailed:
      if cause.code == ErrorNumber.noSpace { throw FaultDeviation("the disk was full: \(error)") }
    case .outcomeUnknown:
      break
    default: throw FaultDeviation("no such error can come of it: \(error)")
    }
    // Once a commit's frame is in the file, a failed sync leaves its outcome open.
    if case .write = step, database != nil, cause.operation == .sync || cause.operation == .syncDirectory,
      error.code != .outcomeUnknown
    {
      throw FaultDeviation("the outcome of a failed sync is unknown: \(error)")
    }
  }

  /// After a failed sync nothing is written any more, whatever the disk would do now.
  private func expectDead(_ database: Database, _ error: DatabaseError) throws {
    let callCount = disk.callCount
    for attempt in 0..<2 {
      let second = failure { try database.put("probe \(attempt)") }
      guard second?.code == .outcomeUnknown else { throw FaultDeviation("a dead database takes a commit") }
    }
    if failure(of: { try database.sync() })?.code != .outcomeUnknown { throw FaultDeviation("a dead database syncs") }
    // The maintenance thread may be in the middle of something.
    if !hasMaintenance && disk.callCount != callCount { throw FaultDeviation("a dead database changes its file") }
  }

  /// While the fault lasts, a further commit fails with as good a reason, or is really there.
  private func expectHonest(_ database: Database) throws {
    do {
      try database.put("probe")
      // Nothing of the probe shall stay, for the model knows nothing of it.
      try database.write { try $0.delete(Record.ID("probe")) }
    } catch let error as DatabaseError {
      try expectTrue(error, .checkpoint)
      // The probe itself may be there when its deletion failed.
      if fault.operations.contains(.read) { return }
      guard try database.holdings() == acknowledged else { throw FaultDeviation("a failed commit shows") }
    }
  }

  /// What is on a disk opens to what was acknowledged, checks clean, takes a commit and keeps it.
  private func expectSound(_ image: SimulatedDisk, mayHoldPending: Bool) throws {
    imageCount += 1
    let opened = try FaultTrial.open(image, seed: 1000 + openCount)
    let found = try opened.holdings()
    guard found == acknowledged || mayHoldPending && found == pending || isRelaxed && history[durableIndex...].contains(found)
    else {
      throw FaultDeviation("what is on the disk is not what was acknowledged")
    }
    let report = try opened.check(.deep)
    if !report.isClean { throw FaultDeviation("the check finds \(report.findings)") }
    try opened.put("after")
    try opened.close()
    let again = try FaultTrial.open(image, seed: 2000 + openCount)
    guard try again.holdings() == found, try again.record(Record.ID("after")) != nil else {
      throw FaultDeviation("a commit after recovery is gone")
    }
    try again.close()
  }
}
