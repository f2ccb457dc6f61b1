import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// Zones of a few records: their trees are in the catalog, which shows only in the size of the file.
@Suite("Small zones")
struct SmallZoneTests {
  @Test("zones of ten records take little more than their bodies, before and after a compaction")
  func littleSpace() throws {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    let database = try Database.open(on: disk)
    let zoneCount = 400
    var bodyByteCount = 0
    for number in 0..<zoneCount {
      let zone = try Zone.ID("Zone \(number * 7919 % zoneCount)")
      try database.write { transaction in
        try transaction.save(Zone(zone))
        for index in 0..<10 {
          var record = try Record(type: "Note", id: Record.ID("record \(index)", in: zone))
          record["text"] = String(repeating: "x", count: 100)
          bodyByteCount += try transaction.save(record).body.withBytes { $0.count }
        }
      }
    }
    func expectLittle() throws {
      let live = try database.statistics().liveByteCount
      #expect(Double(live) <= 1.5 * Double(bodyByteCount) + 200 * 10 * Double(zoneCount), "\(live) bytes for \(bodyByteCount)")
      try database.expectClean()
    }
    try expectLittle()
    try database.store.checkpoint()
    try expectLittle()
    try database.compact()
    try expectLittle()
    try database.close()
    let reopened = try Database.open(on: disk)
    #expect(try reopened.zones().count == zoneCount + 1)
    let zone = try Zone.ID("Zone 17")
    #expect(try reopened.records(in: zone).map(\.id.name) == (0..<10).map { "record \($0)" })
    #expect(try reopened.changes(in: zone, since: nil).saved.count == 10)
    #expect(try reopened.recordCount(in: zone, ofType: "Note") == 10)
    try reopened.expectClean()
    try reopened.close()
  }

  @Test("a zone that grows out of its cell and shrinks again keeps its records", arguments: [Access.mapped, .buffered])
  func growsAndShrinks(access: Access) throws {
    let disk = SimulatedDisk(seed: 2, maximumFileByteCount: 32 << 20)
    func open() throws -> Database { try Database.open(on: disk) { $0.access = access == .buffered ? .buffered : .mapped } }
    var database = try open()
    let zones = try ["Left", "Middle", "Right"].map { try Zone.ID($0) }
    try database.write { transaction in for zone in zones { try transaction.save(Zone(zone)) } }
    var counts = [0, 0, 0]
    var step = 0
    for goal in [1, 6, 25, 400, 60, 12, 3, 0, 9] {
      for (index, zone) in zones.enumerated() {
        // The zones are of different sizes at one time.
        let goal = index == 1 ? max(0, 100 - goal) : goal
        try database.write { transaction in
          for number in 0..<max(goal, counts[index]) {
            let id = try Record.ID("record \(number)", in: zone)
            if number >= goal {
              try transaction.delete(id)
            } else if number >= counts[index] {
              try transaction.save(Record(type: number % 2 == 0 ? "Even" : "Odd", id: id))
            }
            // Another zone is looked at while this one is open.
            if number % 3 == 0 { _ = try transaction.recordCount(in: zones[(index + 1) % 3]) }
          }
        }
        counts[index] = goal
      }
      step += 1
      switch step % 4 {
      case 0: try database.store.checkpoint()
      case 1:
        try database.close()
        database = try open()
      case 2: try database.compact()
      default: break
      }
      for (zone, count) in zip(zones, counts) {
        #expect(try database.recordCount(in: zone) == count)
        #expect(try database.records(in: zone, limit: 1000).count == count)
        #expect(try database.recordCount(in: zone, ofType: "Even") == (count + 1) / 2)
      }
      try database.expectClean()
    }
    try database.close()
  }

  enum Access: Sendable { case mapped, buffered }

  private final class Held {
    let snapshot: Snapshot
    init(_ snapshot: consuming Snapshot) { self.snapshot = snapshot }
  }

  @Test("a snapshot reads small zones as they were, whatever is written meanwhile")
  func snapshots() throws {
    let database = try Database.open(on: SimulatedDisk(seed: 3))
    let zones = try (0..<20).map { try Zone.ID("Zone \($0)") }
    func writeAll(_ round: Int) throws {
      try database.write { transaction in
        for zone in zones {
          try transaction.save(Zone(zone))
          for index in 0..<3 {
            var record = try Record(type: "Note", id: Record.ID("r\(index)", in: zone))
            record["round"] = round
            try transaction.save(record, policy: .allKeys)
          }
        }
      }
    }
    var snapshots: [Held] = []
    for round in 0..<12 {
      try writeAll(round)
      snapshots.append(Held(try database.snapshot()))
      if round % 5 == 4 { try database.store.checkpoint() }
    }
    for (round, held) in snapshots.enumerated() {
      for zone in zones {
        let found = try held.snapshot.records(in: zone).map { $0["round"] as Int? }
        #expect(found == [round, round, round])
      }
    }
    try database.expectClean()
    try database.close()
  }

  @Test("a savepoint that goes back leaves small zones as they were")
  func savepoints() throws {
    struct ChangedMyMind: Error {}
    let database = try Database.open(on: SimulatedDisk(seed: 4))
    let zones = try (0..<6).map { try Zone.ID("Zone \($0)") }
    try database.write { transaction in
      for zone in zones {
        try transaction.save(Zone(zone))
        try transaction.save(Record(type: "Kept", id: Record.ID("a", in: zone)))
        do {
          try transaction.savepoint {
            for other in zones where try transaction.record(Record.ID("a", in: other)) != nil {
              try transaction.save(Record(type: "Lost", id: Record.ID("b", in: other)))
              try transaction.delete(Record.ID("a", in: other))
            }
            throw ChangedMyMind()
          }
        } catch is ChangedMyMind {}
      }
    }
    for zone in zones { #expect(try database.records(in: zone).map(\.id.name) == ["a"]) }
    try database.expectClean()
    try database.close()
  }
}
