import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// What a power loss leaves of a file that is made under another name: it blocks nothing, and what was whole once stays.
@Suite("leftovers after a power loss")
struct LeftoverPowerLossTests {
  enum Work: String, CaseIterable, Sendable {
    case creation, compaction, backup, salvage

    /// The name under which the file is made.
    var temporary: String {
      switch self {
      case .creation: "made.new"
      case .compaction: "database.compacted"
      case .backup, .salvage: "made.unfinished"
      }
    }
    /// The name that it gets.
    var target: String { self == .compaction ? "database" : "made" }
  }

  /// How the same disk is found again: after a kill, and after some of all that a power loss may leave.
  private static func states(_ disk: SimulatedDisk, _ seed: UInt64) -> [SimulatedDisk] {
    [disk.afterKill(), disk.afterPowerLoss(keeping: .nothing)] + (0..<2).map { disk.afterPowerLoss(seed: seed &* 2 &+ $0) }
  }

  private static func open(_ disk: SimulatedDisk, _ padding: Bool, _ path: String = "database") throws -> Database {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.padding = padding
    return try Database.open(at: path, on: disk, options: options)
  }

  private static func carryOut(_ work: Work, on disk: SimulatedDisk, _ padding: Bool) throws {
    switch work {
    case .creation: try open(disk, padding, "made").close()
    case .compaction:
      let database = try open(disk, padding)
      defer { try? database.close() }
      try database.compact()
    case .backup:
      let database = try open(disk, padding)
      defer { try? database.close() }
      try database.backup(to: "made", disk: disk)
    case .salvage:
      var options = Database.Options.simulated(seed: 5)
      options.padding = padding
      _ = try Database.salvage(from: "database", to: "made", options: options, disk: disk)
    }
  }

  private static func source(_ padding: Bool, isEmpty: Bool) throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 11)
    let database = try open(disk, padding)
    if !isEmpty {
      try database.put("text", ["text": .string(String(repeating: "t", count: 700))])
      try database.put("picture", ["picture": .asset(Asset(data: AssetBench.content(7)))])
    }
    try database.close()
    return disk.afterKill()
  }

  @Test(
    "whatever a power loss leaves at any call of a creation, compaction, backup or salvage, the next one works",
    arguments: Work.allCases, [false, true])
  func blocksNothing(work: Work, padding: Bool) throws {
    let source = try Self.source(padding, isEmpty: false)
    var isDone = false
    var call = 0
    while !isDone {
      let disk = source.afterKill()
      disk.stop(atCall: disk.callCount + call, tearsWrite: call % 2 == 0)
      isDone = (try? Self.carryOut(work, on: disk, padding)) != nil
      for found in Self.states(disk, UInt64(call)) {
        do {
          if try work == .compaction || !found.exists("made") { try Self.carryOut(work, on: found, padding) }
          let made = try Self.open(found, padding, work.target)
          #expect(try made.recordCount(in: .default) == (work == .creation ? 0 : 2), "call \(call)")
          if work != .compaction { try made.compact() }
          try made.expectClean()
          try made.close()
          #expect(try !found.exists(work.temporary), "call \(call)")
          let database = try Self.open(found, padding)
          #expect(try database.recordCount(in: .default) == 2, "call \(call)")
          try database.close()
        } catch { Issue.record("\(work), call \(call): \(error)") }
      }
      call += 1
    }
    #expect(call > 5)
  }

  @Test("whatever a power loss leaves of a creation or compaction that was just beginning, the next one works")
  func beginning() throws {
    let source = try Self.source(false, isEmpty: true)
    for work in [Work.creation, .compaction] {
      for call in 0..<12 {
        let disk = source.afterKill()
        disk.stop(atCall: disk.callCount + call)
        _ = try? Self.carryOut(work, on: disk, false)
        for seed in 0..<40 as Range<UInt64> {
          let found = disk.afterPowerLoss(seed: seed)
          do {
            if try work == .compaction || !found.exists("made") { try Self.carryOut(work, on: found, false) }
          } catch { Issue.record("\(work), call \(call), seed \(seed): \(error)") }
        }
      }
    }
  }

  @Test(
    "a file that has had its own name is removed under no other, opened since or not, whatever a power loss left of it",
    arguments: [Work.compaction, .backup, .salvage], [false, true])
  func finishedStays(work: Work, padding: Bool) throws {
    for isEmpty in [false, true] { try Self.expectStays(work, padding, try Self.source(padding, isEmpty: isEmpty)) }
  }

  private static func expectStays(_ work: Work, _ padding: Bool, _ source: SimulatedDisk) throws {
    let done = source.afterKill()
    try Self.carryOut(work, on: done, padding)
    func expectStays(_ disk: SimulatedDisk, _ what: String) throws {
      // A user gives it the very name under which it was made, and what makes such files is at work again.
      try disk.rename(work.target, to: work.temporary)
      if work == .compaction { try Self.open(disk, padding).close() }
      do {
        try Self.carryOut(work, on: disk, padding)
        Issue.record("\(what): nothing was in the way")
      } catch let error as DatabaseError {
        #expect(error.code == .ioFailed && error.facts.path?.hasSuffix(work.temporary) == true, "\(error)")
      }
      try Self.open(disk, padding, work.temporary).close()
      #expect(try disk.exists(work.temporary), "\(what)")
    }
    try expectStays(done.afterKill(), "finished")
    // Finished, and then the power fails at once: a process that opens it to write says that it is a database.
    for found in Self.states(done, 1) where try found.exists(work.target) {
      let made = try Self.open(found, padding, work.target)
      try made.close()
      try expectStays(found, "opened")
    }
    // Opened, and killed before anything else happens.
    for isWritten in [false, true] {
      let disk = done.afterKill()
      let made = try Self.open(disk, padding, work.target)
      if isWritten { try made.put("mine") }
      try expectStays(disk.afterKill(), isWritten ? "written" : "opened and killed")
    }
  }

  @Test(
    "a backup or salvage that has returned is a closed file with everything, whatever of its last calls fails, and the power then",
    arguments: [Work.backup, .salvage], [false, true])
  func closedBeforeItsName(work: Work, padding: Bool) throws {
    let source = try Self.source(padding, isEmpty: false)
    let whole = source.afterKill()
    try Self.carryOut(work, on: whole, padding)
    let callCount = whole.callCount
    var returnedCount = 0
    for call in (callCount - 16)...callCount {
      for syncLoss in [SimulatedFault.SyncLoss.dropsPages, .keepsPages] {
        let disk = source.afterKill()
        disk.inject(
          SimulatedFault(call: call - disk.callCount, code: ErrorNumber.noSpace, repeats: true, syncLoss: syncLoss))
        let hasReturned = (try? Self.carryOut(work, on: disk, padding)) != nil
        disk.removeFaults()
        for found in Self.states(disk, UInt64(call)) {
          guard try found.exists("made") else {
            #expect(!hasReturned, "call \(call)")
            continue
          }
          if hasReturned { returnedCount += 1 }
          var options = Database.Options()
          options.isReadOnly = true
          let made = try Database.open(at: "made", on: found, options: options)
          #expect(made.lastRecovery.wasClosed, "call \(call): \(made.lastRecovery)")
          #expect(try made.recordCount(in: .default) == 2, "call \(call)")
          try made.expectClean()
          try made.close()
        }
      }
    }
    #expect(returnedCount > 0)
  }

  @Test(
    "after a compaction whose last sync of the folder failed, a power loss leaves nothing that blocks the next ones",
    arguments: [false, true], [false, true])
  func compactionWithoutItsLastSync(padding: Bool, isEmpty: Bool) throws {
    let source = SimulatedDisk(seed: 11)
    let first = try Self.open(source, padding)
    if !isEmpty { for number in 0..<3 { try first.put("r\(number)") } }
    try first.close()
    var isDone = false
    var call = 1
    while !isDone {
      let disk = source.afterKill()
      let database = try Self.open(disk, padding)
      disk.inject(SimulatedFault([.syncDirectory], call: call, repeats: true))
      isDone = (try? database.compact()) != nil
      try? database.close()
      disk.removeFaults()
      // Opened to write, closed or killed, and nothing is saved.
      for closes in [true, false] {
        let again = try Self.open(disk, padding)
        if closes { try again.close() }
        for found in Self.states(disk, UInt64(call)) {
          do {
            let after = try Self.open(found, padding)
            for _ in 0..<2 { try after.compact() }
            #expect(try after.recordCount(in: .default) == (isEmpty ? 0 : 3))
            try after.close()
          } catch { Issue.record("call \(call): \(error)") }
        }
        if !closes { try again.close() }
      }
      call += 1
    }
    #expect(call > 2)
  }

  @Test("of a copy whose power fails before it says that it is finished, the next open says it", arguments: [false, true])
  func saidByOpen(padding: Bool) throws {
    let source = try Self.source(padding, isEmpty: false)
    var hasMet = false
    var call = 0
    var isDone = false
    while !isDone {
      let disk = source.afterKill()
      disk.stop(atCall: disk.callCount + call)
      isDone = (try? Self.carryOut(.backup, on: disk, padding)) != nil
      call += 1
      guard !isDone else { continue }
      for found in Self.states(disk, UInt64(call)) where try found.exists("made") {
        hasMet = true
        // Killed as soon as it is open.
        let made = try Self.open(found, padding, "made")
        let killed = found.afterKill()
        try made.close()
        try killed.rename("made", to: "made.unfinished")
        #expect(throws: DatabaseError.self) { try Self.carryOut(.backup, on: killed, padding) }
        #expect(try killed.exists("made.unfinished"), "call \(call)")
      }
    }
    #expect(hasMet)
  }
}
