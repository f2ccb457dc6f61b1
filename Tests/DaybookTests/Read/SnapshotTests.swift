import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Snapshots: one moment, whatever happens later, on whatever thread.

@Suite("snapshots")
struct SnapshotTests {
  @Test("a snapshot reads the same however much is written, deleted and checkpointed after it")
  func immutable() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    let zone = try database.zone("Library")
    try database.write { transaction in
      for number in 0..<300 { try transaction.save(.fresh("r\(number)", in: zone, ["n": .int(Int64(number))])) }
      try transaction.setMetadata(Data([1]), forKey: "state")
    }
    let snapshot = try database.snapshot()
    let records = try snapshot.records(in: zone)
    let feed = try snapshot.changes(in: zone, since: nil, limit: 1000)
    let sequence = snapshot.sequence
    for round in 0..<40 {
      try database.write { transaction in
        for number in 0..<300 where number % 40 != round % 40 {
          let id = try Record.ID("r\(number)", in: zone)
          if (number + round) % 3 == 0 {
            try transaction.delete(id)
          } else {
            try transaction.save(.fresh("r\(number)", in: zone, ["n": -1, "b": .bytes(Data(count: 50))]), policy: .changedKeys)
          }
        }
        try transaction.setMetadata(Data([UInt8(round)]), forKey: "state")
        if round == 20 {
          try transaction.deleteZone(zone)
          try transaction.save(Zone(zone))
        }
      }
    }
    #expect(try snapshot.records(in: zone) == records && snapshot.sequence == sequence)
    #expect(try snapshot.recordCount(in: zone) == 300 && snapshot.metadata(forKey: "state") == Data([1]))
    #expect(try snapshot.changes(in: zone, since: nil, limit: 1000).saved == feed.saved)
    #expect(try snapshot.zones().count == 2 && snapshot.recordTypes(in: zone).count == 1)
    #expect(try snapshot.databaseChanges(since: nil).changed == [zone])
    try database.expectClean()
  }

  @Test("read sees one moment; a write inside it is not seen")
  func oneMoment() throws {
    let database = try Database.scratch()
    let id = try Record.ID("a")
    let result = try database.read { snapshot in
      #expect(try snapshot.record(id) == nil)
      try database.put("a")
      #expect(try snapshot.record(id) == nil && snapshot.recordCount(in: .default) == 0)
      return try database.recordCount(in: .default)
    }
    #expect(result == 1)
  }

  @Test("many snapshots at once, each of its own moment, ended in any order")
  func many() throws {
    let database = try Database.scratch()
    var boxes: [SnapshotBox] = []
    for number in 0..<500 as Range<Int64> {
      try database.put("a", ["n": .int(number)])
      boxes.append(SnapshotBox(try database.snapshot()))
    }
    var generator = SeededGenerator(seed: 4)
    while !boxes.isEmpty {
      let box = boxes.remove(at: Int.random(in: 0..<boxes.count, using: &generator))
      let record = try box.snapshot.record(Record.ID("a"))
      #expect(record?["n"] == Int(box.snapshot.sequence) - 1)
      if boxes.count % 100 == 0 { try database.put("b") }
    }
    try database.expectClean()
  }

  @Test("a snapshot moves to another thread")
  func threads() async throws {
    let database = try Database.scratch()
    _ = try { try database.put("a", ["n": 1]) }()
    let box = SnapshotBox(try database.snapshot())
    _ = try { try database.put("a", ["n": 2]) }()
    let value = try await Task.detached { try box.snapshot.record(Record.ID("a"))?["n"] as Int? }.value
    #expect(value == 1)
  }

  @Test("several threads read through one snapshot at once: it stays as new as it was while one of them reads")
  func shared() throws {
    let database = try Database.scratch {
      $0.snapshotMemory = 64 << 10
      $0.checkpoint = .init()
    }
    let count = 500
    try database.write { transaction in
      for number in 0..<count { try transaction.save(.fresh("r\(number)", ["n": .int(Int64(number))])) }
    }
    let box = SnapshotBox(try database.snapshot())
    // One read begins and ends inside another one, and neither lets the writer have the version.
    let read = try box.snapshot.reading { (view) throws(DatabaseError) in
      let before = try view.record(Record.ID("r7"))
      for _ in 0..<3 {
        let inner = try box.snapshot.record(Record.ID("r7"))
        #expect(inner == before)
      }
      for round in 0..<60 {
        _ = failure {
          try database.write { transaction in
            for number in stride(from: round % 5, to: count, by: 5) {
              try transaction.save(.fresh("r\(number)", ["n": -1]), policy: .changedKeys)
            }
          }
        }
      }
      return try view.record(Record.ID("r7"))
    }
    #expect(read?["n"] == 7)
  }

  @Test("threads that read through one snapshot beside a writer read its moment, and never that it is too old")
  func sharedByThreads() throws {
    let database = try Database.scratch()
    let count = 200
    try database.write { transaction in
      for number in 0..<count { try transaction.save(.fresh("r\(number)", ["n": .int(Int64(number))])) }
    }
    let box = SnapshotBox(try database.snapshot())
    let bad = Locked<[String]>([])
    let readers = (0..<3).compactMap { start in
      BackgroundThread(name: "reader \(start)") {
        for step in 0..<20_000 {
          let number = (start * 7 + step * 13) % count
          do {
            let n: Int? = try box.snapshot.record(Record.ID("r\(number)"))?["n"]
            if n != number { bad.withLock { $0.append("r\(number) is \(n ?? -2)") } }
          } catch { bad.withLock { $0.append("\(error)") } }
        }
      }
    }
    for round in 0..<50 {
      try database.write { transaction in
        for number in stride(from: round % 10, to: count, by: 10) {
          try transaction.save(.fresh("r\(number)", ["n": -1]), policy: .changedKeys)
        }
      }
    }
    for reader in readers { reader.join() }
    #expect(readers.count == 3 && bad.withLock { $0.isEmpty }, "\(bad.withLock { $0.prefix(3) })")
    try database.expectClean()
  }

  @Test("after close a snapshot says closed, and may still be let go of")
  func closed() throws {
    let database = try Database.scratch()
    try database.put("a")
    let snapshot = try database.snapshot()
    try database.close()
    let read = failure { try snapshot.record(Record.ID("a")) }
    let zones = failure { try snapshot.zones() }
    let fresh = failure { _ = try database.snapshot() }
    let write = failure { try database.put("b") }
    #expect(read?.code == .closed && zones?.code == .closed && fresh?.code == .closed && write?.code == .closed)
    #expect(snapshot.sequence == 1)
    try database.close()
  }

  @Test("a snapshot keeps the database open that nobody else holds")
  func lastReference() throws {
    let disk = SimulatedDisk(seed: 1)
    func take() throws -> SnapshotBox {
      let database = try Database.open(on: disk)
      try database.put("a", ["n": 1])
      return SnapshotBox(try database.snapshot())
    }
    do {
      let box = try take()
      #expect(try box.snapshot.record(Record.ID("a"))?["n"] == 1)
    }
    let again = try Database.open(on: disk, seed: 2)
    #expect(again.lastRecovery.wasClosed)
  }

  @Test("a snapshot knows its sequence also after it was revoked")
  func sequenceAfterRevocation() throws {
    let database = try Database.scratch {
      $0.snapshotMemory = 64 << 10
      $0.checkpoint = .init()
    }
    func churn(_ round: Int) throws {
      try database.write { transaction in
        for number in 0..<500 {
          try transaction.save(.fresh("r\(number * 37 % 500)-\(round % 7)", ["n": .int(Int64(round))]), policy: .allKeys)
        }
      }
    }
    for round in 0..<7 { try churn(round) }
    let snapshot = try database.snapshot()
    let sequence = database.store.lastSequence
    for round in 0..<40 {
      try churn(round)
      #expect(snapshot.sequence == sequence)
    }
    #expect(throws: DatabaseError.self) { try snapshot.zones() }
    #expect(snapshot.sequence == sequence && database.store.lastSequence == sequence + 40)
    try database.close()
  }

  @Test("a snapshot that holds back too much memory is too old, and says so")
  func tooOld() throws {
    let database = try Database.scratch {
      $0.snapshotMemory = 64 << 10
      $0.checkpoint = .init()
    }
    try database.write { transaction in for number in 0..<5000 { try transaction.save(.fresh("r\(number)")) } }
    let snapshot = try database.snapshot()
    var error: DatabaseError?
    for _ in 0..<200 where error == nil {
      try database.write { transaction in
        for number in stride(from: 0, to: 5000, by: 50) {
          try transaction.save(.fresh("r\(number)"), policy: .changedKeys)
        }
      }
      error = failure { try snapshot.recordCount(in: .default) }
    }
    #expect(error?.code == .snapshotTooOld)
    #expect(try database.recordCount(in: .default) == 5000)
    try database.expectClean()
  }
}

/// A snapshot in an array or a task: it cannot be copied itself.
final class SnapshotBox: Sendable {
  let snapshot: Snapshot
  init(_ snapshot: consuming Snapshot) { self.snapshot = snapshot }
}
