import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A transaction is all or nothing, sees what it has done itself, and can take back a part of it.

@Suite("transactions")
struct TransactionTests {
  @Test("what would wait for the end of a compaction is refused within the closure that is told of its progress")
  func callsWithinCompaction() throws {
    let database = try Database.scratch { _ in }
    for number in 0..<50 { try database.put("record \(number)") }
    var codes: [DatabaseError.Code?] = []
    try database.compact { _, _ in
      let calls: [() throws -> Void] = [
        { try database.compact() }, { try database.collectAssets() }, { try database.suspend() }, { try database.close() },
      ]
      for call in calls { codes.append(failure { try call() }?.code) }
      #expect(throws: Never.self) { try database.refresh() }
      return true
    }
    #expect(!codes.isEmpty && codes.allSatisfy { $0 == .invalidArguments })
    try database.expectClean()
    try database.close()
  }

  @Test("what would wait for the end of its own transaction is refused within it, and the transaction goes on")
  func callsWithin() throws {
    for lock in [Database.Options.Lock.whileOpen, .perTransaction] {
      let database = try Database.scratch {
        $0.lock = lock
        $0.inlineAssetByteCount = 0
      }
      try database.write { transaction in
        try transaction.save(.fresh("before"))
        let calls: [(String, () throws -> Void)] = [
          ("write", { try database.put("inner") }),
          ("modify", { try database.modify(saving: [.fresh("inner")]) }),
          ("modifyZones", { try database.modifyZones(saving: [Zone(.init("Z"))]) }),
          ("compact", { try database.compact() }),
          ("collectAssets", { try database.collectAssets() }),
          ("suspend", { try database.suspend() }),
          ("resume", { try database.resume() }),
          ("close", { try database.close() }),
        ]
        for (name, call) in calls { #expect(failure { try call() }?.code == .invalidArguments, "\(name)") }
        // What needs no turn goes on.
        #expect(try !database.refresh())
        #expect(try database.record(Record.ID("before")) == nil)
        var record = try Record.fresh("with an asset")
        record["file"] = try database.prepare(Asset(data: Data([1, 2, 3])))
        try transaction.save(record)
      }
      #expect(try database.records(in: .default).map(\.id.name) == ["before", "with an asset"])
      try database.put("after")
      try database.expectClean()
      try database.close()
    }
  }

  @Test("a transaction that throws leaves nothing: no record, zone, metadata or commit")
  func throwing() throws {
    let database = try Database.scratch()
    let kept = try database.put("kept", ["n": 1])
    let zone = try Zone.ID("New")
    let sequence = try database.snapshot().sequence
    let error = #expect(throws: Intended.self) {
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(.fresh("a", in: zone))
        try transaction.save(.fresh("kept", ["n": 2]), policy: .changedKeys)
        try transaction.delete(kept.id)
        try transaction.setMetadata(Data([1]), forKey: "state")
        throw Intended()
      }
    }
    #expect(error != nil)
    #expect(try database.record(kept.id) == kept)
    #expect(try database.zones().count == 1 && database.metadata(forKey: "state") == nil)
    #expect(try database.snapshot().sequence == sequence)
    #expect(try database.changes(in: .default, since: nil).savedNames == ["kept"])
    try database.put("after")
    try database.expectClean()
  }

  @Test("reads inside see what was written so far; reads outside see it after the commit")
  func ownWrites() throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("New")
    let id = try Record.ID("a", in: zone)
    try database.write { transaction in
      try transaction.save(Zone(zone))
      #expect(try transaction.zones().map(\.id) == [zone, .default])
      let first = try transaction.save(.fresh("a", in: zone, ["n": 1]))
      #expect(try transaction.record(id) == first)
      var next = first
      next["n"] = 2
      let second = try transaction.save(next)
      #expect(second["n"] == 2 && second.metadata?.changeTag != first.metadata?.changeTag)
      #expect(try transaction.recordCount(in: zone) == 1 && transaction.records([id])[id] == second)
      #expect(try transaction.records(in: zone, ofType: "Note") == [second])
      #expect(try transaction.history(of: id).map(\.changeTag) == [second, first].map { $0.metadata?.changeTag })
      let stale = failure { try transaction.save(first) }
      #expect(stale?.code == .serverRecordChanged && stale?.conflict?.ancestor == first)
      try transaction.setMetadata(Data([7]), forKey: "state")
      #expect(try transaction.metadata(forKey: "state") == Data([7]))
      #expect(try database.record(id) == nil && database.zones().count == 1)
    }
    #expect(try database.record(id)?["n"] == 2)
    try database.expectClean()
  }

  @Test("a feed inside a transaction tells what was committed, also of records that it has changed since")
  func feedInside() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("a", in: zone, ["n": 1])
    var token: ChangeToken?
    try? database.write { transaction in
      try transaction.save(.fresh("a", in: zone, ["n": 2]), policy: .changedKeys)
      try transaction.save(.fresh("b", in: zone))
      let changes = try transaction.changes(in: zone, since: nil)
      #expect(changes.savedNames == ["a"] && changes.saved.first?["n"] == 1)
      token = changes.token
      throw Intended()
    }
    #expect(try database.changes(in: zone, since: token).saved.isEmpty, "nothing was missed, nothing comes twice")
    try database.put("c", in: zone)
    #expect(try database.changes(in: zone, since: token).savedNames == ["c"])
  }

  @Test("a savepoint that throws takes back its part only, at every depth")
  func savepoints() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      try transaction.save(.fresh("1"))
      let value = try transaction.savepoint {
        try transaction.save(.fresh("2"))
        try? transaction.savepoint {
          try transaction.save(.fresh("3"))
          try transaction.delete(Record.ID("1"))
          try transaction.savepoint { try transaction.save(.fresh("4")) }
          throw Intended()
        }
        #expect(try transaction.records(in: .default).map(\.id.name) == ["1", "2"])
        return 42
      }
      #expect(value == 42)
      try? transaction.savepoint {
        try transaction.delete(Record.ID("2"))
        throw Intended()
      }
      try transaction.savepoint { try transaction.save(.fresh("5")) }
    }
    #expect(try database.records(in: .default).map(\.id.name) == ["1", "2", "5"])
    #expect(try database.changes(in: .default, since: nil).savedNames == ["1", "2", "5"])
    try database.expectClean()
  }

  @Test("a transaction whose every part went back commits nothing")
  func nothingLeft() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      try? transaction.savepoint {
        try transaction.save(.fresh("a"))
        throw Intended()
      }
    }
    #expect(try database.snapshot().sequence == 0)
    try database.put("a")
    #expect(try database.changes(in: .default, since: nil).savedNames == ["a"], "the lineage is drawn in spite of it")
    try database.expectClean()
  }

  @Test("an error of one call leaves the transaction as it was")
  func errorsInside() throws {
    let database = try Database.scratch { $0.limits.recordByteCount = 500 }
    let zone = try Zone.ID("Nowhere")
    try database.write { transaction in
      try transaction.save(.fresh("a"))
      let errors = [
        failure { try transaction.save(.fresh("a")) },
        failure { try transaction.save(.fresh("b", in: zone)) },
        failure { try transaction.save(.fresh("c", ["k": .bytes(Data(count: 600))])) },
        failure { try transaction.deleteZone(zone) },
        failure { try transaction.setMetadata(Data(), forKey: "") },
        failure { try transaction.forgetDeletions(through: 1) },
      ]
      #expect(
        errors.map { $0?.code } == [
          .serverRecordChanged, .zoneNotFound, .limitExceeded, .zoneNotFound, .invalidArguments, .invalidArguments,
        ])
      try transaction.save(.fresh("d"))
    }
    #expect(try database.records(in: .default).map(\.id.name) == ["a", "d"])
    #expect(try database.snapshot().sequence == 1)
    try database.expectClean()
  }

  @Test("a transaction that only had refusals commits nothing")
  func onlyRefusals() throws {
    let database = try Database.scratch { $0.limits.recordByteCount = 500 }
    try database.put("a")
    try database.write { transaction in
      let error = failure { try transaction.save(.fresh("c", ["k": .bytes(Data(count: 600))])) }
      #expect(error?.code == .limitExceeded)
    }
    #expect(try database.snapshot().sequence == 1)
  }

  @Test("twenty thousand savepoints in one transaction need the memory of what they changed")
  func manySavepoints() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.checkpoint.memoryByteCount = 4 << 20 }
    try database.write { transaction in
      for number in 0..<1_000 { try transaction.save(.fresh("\(number)")) }
    }
    // Every savepoint reads, so what it has saved is in the trees before it ends.
    try database.write { transaction in
      for number in 0..<20_000 {
        try transaction.savepoint {
          let id = try Record.ID("\(number * 7 % 1_000)")
          var record = try #require(try transaction.record(id))
          record["n"] = number
          try transaction.save(record)
          #expect(try transaction.record(id)?["n"] == number)
        }
        // Of those that fail nothing stays, either.
        if number % 4 == 0 {
          try? transaction.savepoint {
            try transaction.save(.fresh("new")); throw CancellationError()
          }
        }
      }
    }
    #expect(try database.record(Record.ID("7"))?["n"] == 19_001)
    #expect(try database.record(Record.ID("new")) == nil)
    let report = try database.check(.deep)
    #expect(report.isClean, "\(report.findings)")
    try database.close()
  }

  @Test("a transaction in many parts keeps savepoints and its own reads straight", arguments: [false, true])
  func manyParts(_ endsWithRollback: Bool) throws {
    let disk = SimulatedDisk(seed: 5)
    var database = try Database.open(on: disk) { $0.partByteCount = 2000 }
    let zone = try Zone.ID("Library")
    try database.write { transaction in
      try transaction.save(Zone(zone))
      for number in 0..<200 {
        let kept = try transaction.save(
          .fresh("r\(number)", in: zone, ["n": .int(Int64(number)), "b": .bytes(Data(count: 100))]))
        try? transaction.savepoint {
          var other = kept
          other["n"] = -1
          try transaction.save(other)
          for more in 0..<30 { try transaction.save(.fresh("x\(more)", in: zone, ["b": .bytes(Data(count: 100))])) }
          throw Intended()
        }
        #expect(try transaction.record(kept.id) == kept)
      }
      if endsWithRollback {
        try? transaction.savepoint {
          try transaction.deleteZone(zone)
          for number in 0..<100 { try transaction.save(.fresh("y\(number)")) }
          throw Intended()
        }
      }
    }
    for _ in 0..<2 {
      #expect(try database.recordCount(in: zone) == 200 && database.recordCount(in: .default) == 0)
      #expect(try database.record(Record.ID("r7", in: zone))?["n"] == 7)
      #expect(try database.changes(in: zone, since: nil, limit: 500).savedNames == (0..<200).map { "r\($0)" })
      try database.expectClean()
      database = try .open(on: disk.killed(), seed: 2)
    }
  }

  @Test("a transaction that needs too much memory is refused, and the next one works")
  func memoryLimit() throws {
    let database = try Database.scratch { $0.checkpoint.memoryByteCount = 256 << 10 }
    let error = failure {
      try database.write { transaction in
        for number in 0..<20_000 { try transaction.save(.fresh("record number \(number)")) }
      }
    }
    #expect(error?.code == .limitExceeded)
    #expect(try database.recordCount(in: .default) == 0)
    try database.put("a")
    #expect(try database.recordCount(in: .default) == 1)
    try database.expectClean()
  }

  @Test("a full disk leaves the database as it was and usable")
  func fullDisk() throws {
    let disk = SimulatedDisk(seed: 6)
    let database = try Database.open(on: disk)
    try database.put("a", ["n": 1])
    disk.limit(toByteCount: (disk.bytes(of: "test.daybook")?.count ?? 0) + 100)
    let error = failure { try database.put("b", ["k": .bytes(Data(count: 5000))]) }
    #expect(error?.code == .diskFull)
    #expect(try database.records(in: .default).map(\.id.name) == ["a"])
    disk.limit(toByteCount: nil)
    try database.put("c")
    #expect(try database.records(in: .default).map(\.id.name) == ["a", "c"])
    try database.expectClean()
  }

  @Test("on a full disk reads go on, deletes succeed, and a save names the bytes it needs", arguments: [false, true])
  func deletesOnFullDisk(reopens: Bool) throws {
    let disk = SimulatedDisk(seed: 8)
    var database = try Database.open(on: disk) { $0.reserveByteCount = 8 << 10 }
    let saved = try (0..<40).map { try database.put("r\($0)", ["k": .bytes(Data(count: 300))]) }
    disk.limit(toByteCount: disk.bytes(of: "test.daybook")?.count ?? 0)
    var savedOnFullDisk = 0
    var refusal: DatabaseError?
    while refusal == nil {
      refusal = failure { try database.put("more\(savedOnFullDisk)", ["k": .bytes(Data(count: 300))]) }
      if refusal == nil { savedOnFullDisk += 1 }
    }
    #expect(refusal?.code == .diskFull && (refusal?.facts.size ?? 0) >= 8 << 10)
    if reopens {
      try database.close()
      database = try Database.open(on: disk, seed: 2) { $0.reserveByteCount = 8 << 10 }
    }
    for record in saved {
      #expect(try database.record(record.id) != nil)
      try database.write { try $0.delete(record.id) }
      #expect(failure { try database.put("none", ["k": .bytes(Data(count: 300))]) }?.code == .diskFull)
    }
    #expect(try database.recordCount(in: .default) == savedOnFullDisk)
    let found = try Database.open(on: disk.crashed(seed: 3, policy: .none), seed: 4)
    #expect(try found.recordCount(in: .default) == savedOnFullDisk)
    disk.limit(toByteCount: nil)
    try database.put("room")
    try database.expectClean()
  }

  @Test("a full disk in the middle of a large transaction cannot be caught and forgotten")
  func fullDiskInside() throws {
    let disk = SimulatedDisk(seed: 6)
    let database = try Database.open(on: disk) { $0.partByteCount = 1000 }
    try database.put("a")
    disk.limit(toByteCount: (disk.bytes(of: "test.daybook")?.count ?? 0) + 100)
    let error = failure {
      try database.write { transaction in
        for number in 0..<100 {
          _ = try? transaction.save(.fresh("r\(number)", ["k": .bytes(Data(count: 100))]))
        }
      }
    }
    #expect(error?.code == .diskFull)
    disk.limit(toByteCount: nil)
    #expect(try database.records(in: .default).map(\.id.name) == ["a"])
    try database.put("b")
    try database.expectClean()
  }

  @Test("a closure or task that is to give nothing may end with a transaction that ends with a save")
  func nothingGiven() async throws {
    let database = try Database.scratch()
    func run(_ body: () throws -> Void) rethrows { try body() }
    func inline() throws {
      try run { try database.write { transaction in try transaction.save(.fresh("a")) } }
      let saved = try database.write { try $0.save(.fresh("b")) }
      #expect(saved.metadata != nil)
    }
    try inline()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await database.write { transaction in try transaction.save(.fresh("c")) } }
      try await group.waitForAll()
    }
    #expect(try await database.records(in: .default).map(\.id.name) == ["a", "b", "c"])
  }

  @Test("after a failed sync nothing is written until the file is opened again")
  func failedSync() throws {
    let disk = SimulatedDisk(seed: 7)
    let database = try Database.open(on: disk)
    try database.put("a")
    disk.inject(SimulatedFault([.sync], call: 1))
    let first = failure { try database.put("b") }
    let second = failure { try database.put("c") }
    #expect(first?.code == .outcomeUnknown && second?.code == .outcomeUnknown)
    #expect(try database.records(in: .default).map(\.id.name) == ["a"], "reads go on, without what is unknown")
    let again = try Database.open(on: disk.killed(), seed: 2)
    let names = try again.records(in: .default).map(\.id.name)
    #expect(names == ["a"] || names == ["a", "b"])
    try again.put("d")
    try again.expectClean()
  }

  @Test("one transaction spans zones, and changes zones back and forth")
  func zonesBackAndForth() throws {
    let database = try Database.scratch()
    let zones = try ["A", "B", "C"].map { try database.zone($0) }
    try database.write { transaction in
      for number in 0..<90 {
        try transaction.save(.fresh("r\(number)", in: zones[number % 3]))
        if number > 3 { try transaction.delete(Record.ID("r\(number - 3)", in: zones[number % 3])) }
      }
    }
    for (index, zone) in zones.enumerated() {
      #expect(try database.records(in: zone).map(\.id.name).sorted() == (index == 0 ? ["r0", "r87"] : ["r\(87 + index)"]))
    }
    try database.expectClean()
  }
}
