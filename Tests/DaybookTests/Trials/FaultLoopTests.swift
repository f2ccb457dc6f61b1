import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Failure loops: the first call of a kind fails, then the second, the third, until the workload no longer reaches the
// call. `swift test` takes some of the calls, `Scripts/faults.sh` all of them.

/// One kind of failure.
struct FaultKind: Sendable, CustomTestStringConvertible {
  let name: String
  let operations: Set<DiskFailure.Operation>
  let code: Int32
  var repeats = false
  var leavesPartOfWrite = false
  var syncLoss = SimulatedFault.SyncLoss.keepsPages
  var hasMaintenance = false
  var isRelaxed = false

  var testDescription: String { name }

  func fault(atCall call: Int) -> SimulatedFault {
    SimulatedFault(
      operations, call: call, code: code, repeats: repeats, syncLoss: syncLoss, leavesPartOfWrite: leavesPartOfWrite)
  }

  private static let interrupted: Int32 = 4

  /// Every operation with every code, once and permanently.
  static let all: [FaultKind] = {
    var kinds: [FaultKind] = []
    let operations: [DiskFailure.Operation] = [
      .open, .create, .status, .read, .write, .sync, .syncDirectory, .rename, .remove, .truncate, .map, .lock,
    ]
    let codes = [("EIO", ErrorNumber.inputOutput), ("ENOSPC", ErrorNumber.noSpace), ("EINTR", interrupted)]
    for operation in operations {
      for (codeName, code) in codes {
        for repeats in [false, true] {
          let name = "\(operation.rawValue) \(codeName) \(repeats ? "for ever" : "once")"
          kinds.append(FaultKind(name: name, operations: [operation], code: code, repeats: repeats))
          if operation == .write {
            kinds.append(
              FaultKind(
                name: "short \(name)", operations: [operation], code: code, repeats: repeats, leavesPartOfWrite: true))
          }
          if operation == .sync {
            kinds.append(
              FaultKind(
                name: "\(name), pages dropped", operations: [operation], code: code, repeats: repeats,
                syncLoss: .dropsPages))
          }
        }
      }
    }
    // The device is gone: whatever is tried, also to repair what failed before.
    kinds.append(
      FaultKind(
        name: "everything EIO for ever", operations: SimulatedCall.countedOperations.union([.map, .status, .lock, .open]),
        code: ErrorNumber.inputOutput, repeats: true, leavesPartOfWrite: true))
    kinds.append(
      FaultKind(
        name: "map, then write EIO for ever", operations: [.map, .write], code: ErrorNumber.inputOutput, repeats: true))
    return kinds
  }()

  /// The same with the background thread, and at `.relaxed`.
  static let variants: [FaultKind] = all.flatMap { kind -> [FaultKind] in
    guard kind.code != interrupted, kind.name.contains("write") || kind.name.contains("sync") || kind.name.contains("every")
    else { return [] }
    return [(true, false), (false, true), (true, true)].map { hasMaintenance, isRelaxed in
      FaultKind(
        name: kind.name + (hasMaintenance ? ", with maintenance" : "") + (isRelaxed ? ", relaxed" : ""),
        operations: kind.operations,
        code: kind.code, repeats: kind.repeats, leavesPartOfWrite: kind.leavesPartOfWrite, syncLoss: kind.syncLoss,
        hasMaintenance: hasMaintenance, isRelaxed: isRelaxed)
    }
  }

  static let runsAll = ProcessInfo.processInfo.environment["DAYBOOK_FAULTS"] == "all"

  /// What `swift test` takes: a code for each operation.
  static let selected = (all + variants).filter {
    runsAll || ($0.code == ErrorNumber.inputOutput && $0.hasMaintenance == $0.isRelaxed)
      || $0.name.hasPrefix("short write ENOSPC")
  }
}

@Suite("failure loops")
struct FaultLoopTests {
  @Test("each call that fails is told truly, loses nothing acknowledged, and leaves a database", arguments: FaultKind.selected)
  func everyCall(_ kind: FaultKind) throws {
    // Some calls are as good as all for a quick look; a step that is prime to the rhythm of the workload.
    let stride = FaultKind.runsAll ? 1 : 13
    var call = 1
    var runs = 0, errors = 0, deaths = 0, images = 0
    while true {
      let trial = FaultTrial(kind.fault(atCall: call), hasMaintenance: kind.hasMaintenance, isRelaxed: kind.isRelaxed)
      do { try trial.run() } catch {
        Issue.record("\(kind.name), k = \(call): \(error)")
        if runs > 3 { break }
      }
      if !trial.hasStruck { break }
      runs += 1
      errors += trial.errorCount
      deaths += trial.deathCount
      images += trial.imageCount
      call += stride
    }
    // Nothing is removed when nothing fails, and nothing is mapped where files are read.
    let unmet: Set<DiskFailure.Operation> = Database.Options().access == .buffered ? [.map, .remove] : [.remove]
    #expect(errors > 0 || kind.operations.isSubset(of: unmet), "the workload does not meet \(kind.name)")
    if FaultKind.runsAll {
      print("faults: \(kind.name): k = 1 to \(call - 1), \(errors) errors, \(deaths) deaths, \(images) images of crashes")
    }
  }

  @Test(
    "a recovery that fails at any call is done again, and finds the same",
    arguments: FaultKind.selected.filter { !$0.hasMaintenance && !$0.isRelaxed })
  func everyCallOfRecovery(_ kind: FaultKind) throws {
    var runs = 0, errors = 0
    for image in try RecoveryImages.all.get() {
      let expected = try Database.open(on: image.killed()).holdings()
      for call in 1... {
        let disk = image.killed()
        disk.startTrace()
        disk.inject(kind.fault(atCall: call))
        let error = failure {
          try Database.open(on: disk, seed: 2) { if kind.operations == [.read] { $0.access = .buffered } }.close()
        }
        if disk.trace.count(where: { kind.operations.contains($0.operation) }) < call { break }
        runs += 1
        if let error {
          errors += 1
          #expect([.ioFailed, .diskFull, .outcomeUnknown].contains(error.code), "\(kind.name), k = \(call): \(error)")
        }
        disk.removeFaults()
        for found in [disk.crashed(seed: 3, policy: .none), disk.crashed(seed: UInt64(call)), disk] {
          let database = try Database.open(on: found, seed: 4)
          #expect(try database.holdings() == expected, "\(kind.name), k = \(call)")
          try database.expectClean()
          try database.close()
        }
      }
    }
    if FaultKind.runsAll { print("faults: recovery, \(kind.name): \(runs) calls failed, \(errors) errors") }
  }

  @Test("however full the disk is, reads go on, a delete succeeds, and a save names the bytes it needs")
  func fullDisk() throws {
    var refusedCount = 0, capacityCount = 0
    let stride = FaultKind.runsAll ? 37 : 1009
    for capacity in Swift.stride(from: 0, to: 40_000, by: stride) {
      capacityCount += 1
      let disk = SimulatedDisk(seed: UInt64(capacity), maximumFileByteCount: 4 << 20)
      do {
        refusedCount += try FullDiskTrial(disk, copiesOnWrite: capacityCount % 2 == 0).run(capacity)
      } catch { Issue.record("\(capacity) bytes: \(error)") }
    }
    #expect(refusedCount > capacityCount)
    if FaultKind.runsAll { print("faults: full disk: \(capacityCount) sizes, \(refusedCount) refusals") }
  }
}

/// Disks that crashed in the middle of commits which nothing had synced: one with a torn end, one with whole frames after the
/// tear, which recovery sets aside.
enum RecoveryImages {
  static let all = Result { try make() }

  private static func make() throws -> [SimulatedDisk] {
    let disk = SimulatedDisk(seed: 77, maximumFileByteCount: 4 << 20)
    let database = try Database.open(on: disk) { $0.durability = .relaxed }
    let zone = try database.zone("Notes")
    for number in 0..<40 {
      try database.put("r\(number % 15)", in: zone, ["n": .int(Int64(number)), "b": .bytes(Data(count: 400))])
      if number == 20 { try database.sync() }
    }
    var images: [Bool: SimulatedDisk] = [:]
    for seed in 1...500 as ClosedRange<UInt64> where images.count < 2 {
      let image = disk.crashed(seed: seed)
      let recovery = try Database.open(on: image.killed()).store.recovery
      if recovery.discardedByteCount > 0 { images[recovery.discardedCopyPath != nil] = image }
    }
    guard images.count == 2 else { throw FaultDeviation("no crash left what is wanted") }
    return [images[false]!, images[true]!]
  }
}

/// A disk with room for so many bytes and no more.
struct FullDiskTrial {
  private let disk: SimulatedDisk
  private let copiesOnWrite: Bool

  init(_ disk: SimulatedDisk, copiesOnWrite: Bool) {
    self.disk = disk
    self.copiesOnWrite = copiesOnWrite
    if copiesOnWrite { disk.copyOnWrite() }
  }

  private func open(seed: UInt64) throws -> Database {
    try Database.open(on: disk, seed: seed) {
      $0.reserveByteCount = 2 << 10
      $0.partByteCount = 3000
    }
  }

  /// How often a call was refused for want of room.
  func run(_ capacity: Int) throws -> Int {
    disk.limit(toByteCount: capacity)
    var refusedCount = 0
    func refused(_ body: () throws -> Void) throws -> Bool {
      do {
        try body()
        return false
      } catch let error as DatabaseError {
        guard error.code == .diskFull, let size = error.facts.size, size > 0 else {
          throw FaultDeviation("not the error of a full disk: \(error)")
        }
        refusedCount += 1
        return true
      }
    }
    var made: Database?
    if try refused({ made = try open(seed: 1) }) {
      guard disk.paths.isEmpty else { throw FaultDeviation("files are left of a database that was not made: \(disk.paths)") }
      disk.limit(toByteCount: nil)
      made = try open(seed: 2)
      disk.limit(toByteCount: capacity)
    }
    var database = made!
    var held: [String: Int64] = [:]
    func expectHeld() throws {
      let found = Dictionary(
        uniqueKeysWithValues: try database.records(in: .default).map { ($0.id.name, ($0["n"] ?? Int64.min)) })
      guard found == held else { throw FaultDeviation("\(found.count) records are there, \(held.count) were acknowledged") }
    }
    for number in 0..<30 {
      // Single saves, and now and then a transaction of several parts.
      let names = number % 7 == 3 ? (0..<20).map { "many \(number) \($0)" } : ["one \(number)"]
      let isRefused = try refused {
        try database.write { transaction in
          for name in names {
            try transaction.save(
              .fresh(name, ["n": .int(Int64(number)), "b": .bytes(Data(count: 300))]), policy: .changedKeys)
          }
        }
      }
      if !isRefused { for name in names { held[name] = Int64(number) } }
      try expectHeld()
      if isRefused, let victim = held.keys.min() {
        // The reserve is for this.
        try database.write { try $0.delete(Record.ID(victim)) }
        held[victim] = nil
        try expectHeld()
        if refusedCount > 4 { break }
      }
      if number % 10 == 9 {
        if copiesOnWrite {
          // The length in the first page is overwritten. That may find no room; all else is done.
          _ = try refused { try database.close() }
        } else {
          try database.close()
        }
        database = try open(seed: UInt64(number) + 10)
        try expectHeld()
      }
    }
    let image = disk.crashed(seed: UInt64(capacity), policy: .none)
    let found = try Database.open(on: image, seed: 50)
    guard try found.recordCount(in: .default) == held.count else { throw FaultDeviation("a crash loses commits") }
    // Room again, and everything works again.
    disk.limit(toByteCount: nil)
    try database.put("room", ["n": 1])
    held["room"] = 1
    try expectHeld()
    let report = try database.check(.deep)
    guard report.isClean else { throw FaultDeviation("the check finds \(report.findings)") }
    try database.close()
    return refusedCount
  }
}
