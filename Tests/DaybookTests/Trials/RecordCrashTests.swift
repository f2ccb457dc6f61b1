import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A crash at every call that changes the disk, while a small application works: saves, deletes, zones, savepoints,
// metadata, large transactions, checkpoints, closing. What is opened afterwards is the state after some commit, with
// everything that was acknowledged; it is sound, and work goes on from there.

@Suite("records through crashes")
struct RecordCrashTests {
  /// What is in a database, as text: zones, records with values and metadata, feeds, history, metadata.
  static func dump(_ database: Database) throws -> String {
    let snapshot = try database.snapshot()
    var lines: [String] = ["commit \(snapshot.sequence)"]
    for zone in try snapshot.zones() {
      lines.append("zone \(zone.id) \(zone.capabilities.rawValue)")
      for record in try snapshot.records(in: zone.id) {
        let values = record.keys.map { "\($0)=\(record[$0] as Record.Value? ?? .string("?"))" }
        lines.append(
          "\(record.id) \(record.type) \(record.metadata?.changeTag ?? "") \(values) \(record.parent?.id.name ?? "")")
        lines.append("  pointed at by \(try snapshot.referencing(record.id).map(\.id.name))")
        let history = try snapshot.history(of: record.id).map { "\($0.changeTag)@\($0.date.timeIntervalSinceReferenceDate)" }
        lines.append("  history \(history)")
      }
      let changes = try snapshot.changes(in: zone.id, since: nil, limit: .max)
      lines.append("feed \(changes.savedNames) \(changes.deleted.map { "\($0.id) \($0.type)" })")
    }
    let changes = try snapshot.databaseChanges(since: nil, limit: .max)
    lines.append("zones \(changes.changed) \(changes.deleted.map { "\($0.id) \($0.reason)" })")
    for key in ["state", "token"] { lines.append("\(key) \(try snapshot.metadata(forKey: key).map { Array($0) } ?? [])") }
    return lines.joined(separator: "\n")
  }

  /// The application's work. Each step is one commit, or none.
  private static func workload() throws -> [@Sendable (Database) throws -> Void] {
    let library = try Zone.ID("Library")
    let other = try Zone.ID("Öther")
    @Sendable func save(_ transaction: borrowing Transaction, _ name: String, _ zone: Zone.ID, _ number: Int64) throws {
      try transaction.save(
        .fresh(name, in: zone, ["n": .int(number), "b": .bytes(Data(repeating: UInt8(number), count: 60))]),
        policy: .changedKeys)
    }
    return [
      { database in
        try database.write { transaction in
          try transaction.save(Zone(library))
          for number in 0..<6 as Range<Int64> { try save(transaction, "r\(number)", library, number) }
          try transaction.setMetadata(Data([1]), forKey: "state")
        }
      },
      { try $0.write { try save($0, "r1", library, 11) } },
      { database in
        try database.write { transaction in
          try transaction.delete(Record.ID("r2", in: library))
          try transaction.save(Zone(other))
          try? transaction.savepoint {
            try save(transaction, "never", other, 1)
            try transaction.deleteZone(library)
            throw Intended()
          }
          try save(transaction, "x", other, 3)
        }
      },
      { database in
        // Large enough for several parts.
        try database.write { transaction in
          for number in 0..<40 as Range<Int64> { try save(transaction, "big\(number)", other, number) }
          try? transaction.savepoint {
            for number in 0..<20 as Range<Int64> { try save(transaction, "never\(number)", other, number) }
            throw Intended()
          }
          try save(transaction, "r2", library, 22)
        }
      },
      { database in
        try? database.write { transaction in
          for number in 0..<30 as Range<Int64> { try save(transaction, "aborted\(number)", other, number) }
          throw Intended()
        }
      },
      { database in
        try database.write { transaction in
          for number in stride(from: 0, to: 40, by: 2) { try transaction.delete(Record.ID("big\(number)", in: other)) }
          try transaction.setMetadata(Data([2, 2]), forKey: "token")
        }
      },
      { try $0.write { try $0.deleteZone(other, reason: .purged) } },
      { database in
        try database.write { transaction in
          try transaction.save(Zone(other))
          try save(transaction, "new life", other, 1)
          try transaction.setMetadata(nil, forKey: "state")
        }
      },
      { try $0.write { try $0.forgetDeletions(through: 3) } },
      { database in
        // A family that owns itself from one to the next, in several parts; half of it changes its mind.
        try database.write { transaction in
          for number in 0..<24 {
            var record = try Record.fresh("f\(number)", in: library)
            if number > 0 {
              record["owner"] = Record.Reference(try Record.ID("f\(number - 1)", in: library), action: .deleteSelf)
            }
            if number > 12 { record.parent = Record.Reference(try Record.ID("f12", in: library)) }
            try transaction.save(record, policy: .changedKeys)
          }
        }
        try database.write { transaction in
          for number in 20..<24 {
            var record = try #require(try transaction.record(Record.ID("f\(number)", in: library)))
            record["owner"] = nil as Record.Reference?
            record.parent = nil
            try transaction.save(record)
          }
        }
      },
      { try $0.write { try $0.delete(Record.ID("f2", in: library)) } },
      { database in
        for number in 0..<12 as Range<Int64> { try database.write { try save($0, "r\(number % 4)", library, 50 + number) } }
      },
    ]
  }

  private static func options(seed: UInt64, _ durability: Database.Options.Durability) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.durability = durability
    options.partByteCount = 1500
    options.checkpoint.minimumLogByteCount = 6 << 10
    options.closeCheckpointByteCount = 1 << 10
    return options
  }

  /// The same work in two opens, so that lineages and checkpoints of an earlier open are there too.
  private static func work(
    on disk: SimulatedDisk, _ durability: Database.Options.Durability, step: (_ sequence: UInt64, _ isDurable: Bool) -> Void
  ) throws {
    for round in 1...2 as ClosedRange<UInt64> {
      let database = try Database.open(at: "a.daybook", options: options(seed: round, durability), disk: disk)
      for work in try workload() {
        try work(database)
        step(try database.snapshot().sequence, durability == .full)
      }
      if durability == .relaxed {
        try database.sync()
        step(try database.snapshot().sequence, true)
      }
      try database.close()
    }
  }

  /// The state after each commit, from a run that nothing disturbs. A step of many commits is looked at from inside.
  private static func states(_ durability: Database.Options.Durability) throws -> [UInt64: String] {
    var states: [UInt64: String] = [:]
    let disk = SimulatedDisk(seed: 1)
    let states2 = Locked<[UInt64: String]>([:])
    for round in 1...2 as ClosedRange<UInt64> {
      let database = try Database.open(at: "a.daybook", options: options(seed: round, durability), disk: disk)
      if round == 1 { states[0] = try dump(database) }
      // Before each call of the disk the newest visible state is looked at; a commit is visible before the next begins.
      disk.observe { _ in
        guard let text = try? dump(database), let sequence = try? database.snapshot().sequence else { return }
        states2.withLock { $0[sequence] = text }
      }
      for work in try workload() {
        try work(database)
        let sequence = try database.snapshot().sequence
        states[sequence] = try dump(database)
      }
      disk.observe(nil)
      try database.close()
    }
    return states.merging(states2.withLock { $0 }) { first, _ in first }
  }

  @Test(
    "after a crash at any write, sync or rename the database is at a commit, with all that was acknowledged",
    arguments: [Database.Options.Durability.full, .relaxed], [UInt64(1), 2, 3])
  func everyCall(_ durability: Database.Options.Durability, _ seed: UInt64) throws {
    let states = try Self.states(durability)
    #expect(states.count == states.keys.max().map { Int($0) + 1 }, "the state behind each commit is known")
    let disk = SimulatedDisk(seed: 1)
    let acknowledged = Locked<UInt64>(0)
    let hasFile = Locked(false)
    let crashCount = Locked(0)
    disk.observe { call in
      let floor = acknowledged.withLock { $0 }
      var policies: [CrashPolicy] = [.random]
      if seed == 1 { policies += [.none, .all] }
      for (index, policy) in policies.enumerated() {
        let image = disk.crashed(seed: seed &* 1000 &+ UInt64(call.number) &* 7 &+ UInt64(index), policy: policy)
        crashCount.withLock { $0 += 1 }
        do {
          try Self.verify(image, states, floor: floor, mayBeMissing: !hasFile.withLock { $0 }, durability)
        } catch {
          Issue.record("crash before \(call), policy \(index), seed \(seed): \(error)")
        }
      }
    }
    try Self.work(on: disk, durability) { sequence, isDurable in
      hasFile.withLock { $0 = true }
      if isDurable { acknowledged.withLock { $0 = sequence } }
    }
    #expect(crashCount.withLock { $0 } > 60)
  }

  private static func verify(
    _ image: SimulatedDisk, _ states: [UInt64: String], floor: UInt64, mayBeMissing: Bool,
    _ durability: Database.Options.Durability
  ) throws {
    struct Failed: Error, CustomStringConvertible { let description: String }
    let isMissing = try !image.exists("a.daybook")
    if isMissing, !mayBeMissing { throw Failed(description: "the file is gone") }
    // Recovery itself may be cut short; the second attempt finds the same.
    var first: String?
    for attempt in 0..<2 as Range<UInt64> {
      let database = try Database.open(at: "a.daybook", options: options(seed: 90 + attempt, durability), disk: image)
      let text = try dump(database)
      let sequence = try database.snapshot().sequence
      if sequence < floor { throw Failed(description: "at commit \(sequence), acknowledged \(floor)") }
      guard states[sequence] == text else {
        throw Failed(description: "commit \(sequence) is another:\n\(text)\nexpected\n\(states[sequence] ?? "nothing")")
      }
      if let first, first != text { throw Failed(description: "opened twice, it differs") }
      first = text
      let report = try database.check(.deep)
      if !report.isClean { throw Failed(description: "\(report.findings)") }
      if let lost = database.lastRecovery.lostSequences { throw Failed(description: "lost \(lost)") }
      if attempt == 0 {
        image.stop()
        let next = image.killed()
        let again = try Database.open(at: "a.daybook", options: options(seed: 95, durability), disk: next)
        if try dump(again) != text { throw Failed(description: "killed and opened, it differs") }
        try again.put("after the crash")
        let report = try again.check(.deep)
        if !report.isClean { throw Failed(description: "after going on: \(report.findings)") }
        return
      }
    }
  }

  @Test("a crash in the middle of recovery is recovered from", arguments: 1...12 as ClosedRange<UInt64>)
  func crashInRecovery(_ seed: UInt64) throws {
    let states = try Self.states(.full)
    let disk = SimulatedDisk(seed: seed)
    disk.stop(atCall: 20 + Int(seed) * 5, tearsWrite: true)
    let acknowledged = Locked<UInt64>(0)
    try? Self.work(on: disk, .full) { sequence, _ in acknowledged.withLock { $0 = sequence } }
    var image = disk.crashed(seed: seed)
    for attempt in 1...30 {
      image.stop(atCall: attempt)
      let database = try? Database.open(at: "a.daybook", options: Self.options(seed: 70, .full), disk: image)
      if let database {
        _ = try Self.dump(database)
        if !image.isStopped { break }
      }
      image = image.crashed(seed: seed &+ UInt64(attempt))
    }
    let last = image.killed()
    try Self.verify(last, states, floor: acknowledged.withLock { $0 }, mayBeMissing: false, .full)
  }
}
