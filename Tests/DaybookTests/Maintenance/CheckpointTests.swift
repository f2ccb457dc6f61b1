import Daybook
import DaybookEngine
import DaybookTesting
import Foundation
import Testing

/// Checkpoints under the record layer: zones' roots move into the file while transactions go on.
@Suite("Checkpoints under records")
struct CheckpointTests {
  /// Found by 300,000 inserts with a checkpoint in the background: the open zone of the applier kept roots from before the
  /// checkpoint, wrote into freed pages, and `check` said that a key lies above its separator.
  @Test("records saved across many checkpoints stay where they belong", arguments: [true, false])
  func checkpointsBetweenTransactions(inBackground: Bool) throws {
    var options = Database.Options()
    options.durability = .relaxed
    options.hasBackgroundThread = inBackground
    options.checkpoint.minimumLogByteCount = 64 << 10
    options.checkpoint.maximumLogByteCount = 64 << 10
    let disk = SimulatedDisk(seed: 7)
    let database = try Database.open(at: "db", options: options, disk: disk)
    let zone = try Zone.ID("Library")
    try database.write { try $0.save(Zone(zone)) }
    var generator = SeededGenerator(seed: 7)
    var names: Set<String> = []
    for _ in 0..<120 {
      try database.write { transaction in
        for _ in 0..<25 {
          let name = "r" + String(generator.next() % 100_000)
          names.insert(name)
          var record = try Record(type: "Item", id: Record.ID(name, in: zone))
          record["number"] = Int(generator.next() % 1000)
          try transaction.save(record, policy: .allKeys)
        }
      }
    }
    #expect(try database.recordCount(in: zone) == names.count)
    let report = try database.check(.deep)
    #expect(report.findings.isEmpty)
    try database.close()
    let reopened = try Database.open(at: "db", options: options, disk: disk)
    #expect(try reopened.recordCount(in: zone) == names.count)
    let second = try reopened.check(.deep)
    #expect(second.findings.isEmpty)
  }

  @Test("every tree can be rebuilt from the log with equal keys and values")
  func rebuildFromLog() throws {
    let disk = SimulatedDisk(seed: 21)
    let database = try Database.open(on: disk)
    let zone = try database.zone("Z")
    for number in 0..<200 {
      try database.put("r\(number * 37 % 120)", in: number % 3 == 0 ? zone : .default, ["n": .int(Int64(number))])
      if number % 7 == 0 { try database.write { try $0.delete(Record.ID("r\(number % 50)", in: zone)) } }
      if number % 40 == 39 { try database.store.checkpoint() }
    }
    try database.write { try $0.setMetadata(Data([1, 2]), forKey: "key") }
    let token = try database.changes(in: zone, since: nil).token
    let before = try (database.records(in: .default), database.records(in: zone), database.changes(in: zone, since: nil))
    try database.close()
    let report = try Database.rebuild(at: "test.daybook", options: .simulated(seed: 2), disk: disk)
    #expect(report.isClean, "\(report.findings)")
    let again = try Database.open(on: disk, seed: 3)
    #expect(again.lastRecovery.wasClosed)
    let after = try (again.records(in: .default), again.records(in: zone), again.changes(in: zone, since: nil))
    #expect(after.0.map(\.id) == before.0.map(\.id) && after.1.map(\.id) == before.1.map(\.id))
    #expect(zip(after.0 + after.1, before.0 + before.1).allSatisfy { $0["n"] == $1["n"] as Record.Value? })
    #expect(after.2.saved.map(\.id) == before.2.saved.map(\.id) && after.2.deleted == before.2.deleted)
    #expect(try again.changes(in: zone, since: token).saved.isEmpty)
    #expect(try again.metadata(forKey: "key") == Data([1, 2]))
    try again.expectClean()
  }
}
