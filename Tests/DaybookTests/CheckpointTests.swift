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
}
