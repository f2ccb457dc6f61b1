import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// At `.relaxed` commits return before they are durable. A sync may fail that no commit waits for; who makes sure that all is safe is
/// told, each time.
@Suite("what was never made durable")
struct UndurableTests {
  /// Whose sync fails.
  enum Work: String, CaseIterable, Sendable { case abort, checkpoint, suspension }

  private struct ChangedMyMind: Error {}

  private static func open(_ disk: SimulatedDisk) throws -> Database {
    var options = Database.Options()
    options.durability = .relaxed
    options.partByteCount = 64 << 10
    return try Database.open(at: "a", on: disk, options: options)
  }

  private static func save(_ name: String, byteCount: Int = 10) throws -> Record {
    var record = try Record(type: "Note", id: Record.ID(name))
    record["bytes"] = Data(repeating: 7, count: byteCount)
    return record
  }

  /// A database with a commit that a failed sync has left undurable; and whether anybody was told of it.
  private static func database(_ work: Work, on disk: SimulatedDisk, repeats: Bool) throws -> Database {
    let database = try open(disk)
    try database.save(save("durable"))
    try database.sync()
    try database.save(save("returned"))
    disk.inject(SimulatedFault([.sync], call: 1, repeats: repeats))
    switch work {
    case .abort:
      #expect(throws: ChangedMyMind.self) {
        try database.write { transaction in
          for index in 0..<40 { try transaction.save(save("never\(index)", byteCount: 10_000)) }
          throw ChangedMyMind()
        }
      }
    case .checkpoint: try? database.store.checkpoint()
    case .suspension: try? database.suspend()
    }
    return database
  }

  private static func isThere(after disk: SimulatedDisk) throws -> Bool {
    let database = try open(disk.afterPowerLoss(keeping: .nothing))
    defer { try? database.close() }
    #expect(try database.record(Record.ID("durable")) != nil)
    return try database.record(Record.ID("returned")) != nil
  }

  @Test(
    "a suspension that returns leaves nothing that a power loss takes, whichever sync has failed before",
    arguments: Work.allCases, [false, true])
  func suspension(work: Work, repeats: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.database(work, on: disk, repeats: repeats)
    for attempt in 1...3 {
      var isTold = false
      do { try database.suspend() } catch {
        #expect(error.code == .outcomeUnknown)
        isTold = true
      }
      #expect(try isTold || Self.isThere(after: disk), "suspension \(attempt) returns, and a commit that returned is gone")
    }
    // Suspended, it has no lock any more; the last chance to say so.
    for _ in 0..<2 { #expect { try database.close() } throws: { ($0 as? DatabaseError)?.code == .outcomeUnknown } }
  }

  @Test(
    "a close that returns leaves nothing that a power loss takes, whichever sync has failed before", arguments: Work.allCases)
  func closing(work: Work) throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.database(work, on: disk, repeats: false)
    for attempt in 1...2 {
      var isTold = false
      do { try database.close() } catch { isTold = true }
      #expect(try isTold || Self.isThere(after: disk), "close \(attempt) returns, and a commit that returned is gone")
    }
  }

  @Test("at full durability a database whose sync failed can be closed, because each commit was told")
  func full() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(at: "a", on: disk)
    try database.save(Self.save("durable"))
    disk.inject(SimulatedFault([.sync], call: 1, repeats: false))
    #expect(throws: DatabaseError.self) { try database.save(Self.save("told")) }
    try database.suspend()
    try database.close()
  }
}
