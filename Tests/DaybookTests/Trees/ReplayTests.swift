import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Databases whose tails are replayed both ways: in the order of names, and one operation at a time. Every tree has to be
// the same, key by key and value by value, and as many bytes have to live. First what writers write, then what none would.
//
// DAYBOOK_REPLAY_HISTORIES sets the number of histories of each kind, DAYBOOK_REPLAY_SEED the first seed; a failure prints its
// own.

/// A random history of a database; ends without being closed.
private struct ReplayHistory {
  private var generator: SeededGenerator
  private let seed: UInt64
  let disk: SimulatedDisk
  private let zones: [Zone.ID]
  private let types = ["Note", "Movie"]
  private var commitNumber: UInt64 = 0

  init(seed: UInt64) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    disk = SimulatedDisk(seed: seed)
    zones = try [.default, Zone.ID("A"), Zone.ID("A longer name"), Zone.ID("B")]
  }

  private mutating func chance(_ part: Int, in whole: Int) -> Bool { Int.random(in: 0..<whole, using: &generator) < part }
  private mutating func pick<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &generator)] }

  mutating func run(commitCount: Int) throws {
    let database = try Database.open(on: disk, seed: seed) {
      $0.inlineAssetByteCount = 0
      $0.checkpoint.minimumLogByteCount = 16 << 20
      $0.partByteCount = seed % 2 == 0 ? 1 << 10 : 8 << 20
    }
    for _ in 0..<commitCount {
      commitNumber += 1
      if chance(1, in: 12) { try database.store.checkpoint() }
      if chance(1, in: 40) { try database.compact() }
      do {
        try database.write { transaction in
          for _ in 0..<Int.random(in: 1...9, using: &generator) { try operation(transaction, depth: 0) }
          if chance(1, in: 15) { throw Intended() }
        }
      } catch is Intended {} catch let error as DatabaseError where error.code == .referenceViolation {}
    }
    disk.stop()
  }

  private mutating func operation(_ transaction: borrowing Transaction, depth: Int) throws {
    do {
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<55: _ = try transaction.save(try record(), policy: pick([.allKeys, .changedKeys]))
      case 55..<78: try transaction.delete(try name())
      case 78..<86: try transaction.save(Zone(pick(zones)))
      case 86..<88: try transaction.deleteZone(pick(zones))
      case 88..<92: try transaction.setMetadata(chance(1, in: 3) ? nil : Data([1, 2]), forKey: pick(["a", "b"]))
      case 92 where chance(1, in: 2):
        try transaction.forgetDeletions(through: UInt64.random(in: 0...commitNumber, using: &generator))
      case 93..<96: try index(transaction)
      case 96..<100 where depth < 3:
        do {
          try transaction.savepoint {
            for _ in 0..<Int.random(in: 1...5, using: &generator) { try operation(transaction, depth: depth + 1) }
            if chance(1, in: 2) { throw Intended() }
          }
        } catch is Intended {}
      default: break
      }
    } catch is DatabaseError {
      // A zone that is not there, a record of another type: nothing was written.
    }
  }

  /// Defines, builds or drops one.
  private mutating func index(_ transaction: borrowing Transaction) throws {
    let context = transaction.context
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: _ = try context.dropIndex(on: pick(["k", "l", "all"]), ofType: pick(types))
    case 1, 2: _ = try context.defineIndex(on: pick(["k", "l", "all"]), ofType: pick(types), kind: pick(IndexKind.allCases))
    default:
      for index in try context.view.indexes() where !index.isComplete && chance(1, in: 2) {
        _ = try context.buildIndex(index, limit: Int.random(in: 1...6, using: &generator))
      }
    }
  }

  private mutating func name() throws -> Record.ID {
    let number = Int.random(in: 0..<14, using: &generator)
    return try Record.ID(String(repeating: "name-", count: number % 3) + "\(number)", in: pick(zones))
  }

  private mutating func record() throws -> Record {
    let id = try name()
    var record = try Record(type: pick(types), id: id)
    for key in ["k", "l", "m"] where chance(1, in: 3) { record[key] = Int64.random(in: 0..<100, using: &generator) }
    if chance(1, in: 20) { record["new\(Int.random(in: 0..<9, using: &generator))"] = "s" }
    if chance(1, in: 6) {
      let target = Record.ID(unchecked: try name().name, in: id.zone)
      record["owner"] = Record.Reference(target, action: pick([.none, .deleteSelf, .validate]))
    }
    if chance(1, in: 8) {
      record["all"] = .references(
        try (0..<Int.random(in: 0...3, using: &generator)).map { _ in
          Record.Reference(Record.ID(unchecked: try name().name, in: id.zone), action: .none)
        })
    }
    if chance(1, in: 10) { record.parent = Record.Reference(Record.ID(unchecked: try name().name, in: id.zone)) }
    if chance(1, in: 6) {
      record["file"] = Asset(data: AssetBench.content(Int.random(in: 0..<4, using: &generator), byteCount: 40))
    }
    return record
  }
}

@Suite("replay in the order of names")
struct ReplayTests {
  private static func number(_ name: String, _ usual: Int) -> Int {
    Int(ProcessInfo.processInfo.environment[name] ?? "") ?? usual
  }
  private static let historyCount = number("DAYBOOK_REPLAY_HISTORIES", 40)
  private static let firstSeed = UInt64(number("DAYBOOK_REPLAY_SEED", 1))

  private func compare(_ disk: SimulatedDisk) throws -> ReplayComparison.Outcome {
    try ReplayComparison(disk, path: "test.daybook") { RecordApplier() }.run()
  }

  @Test("a sorted replay gives what applying one by one gives")
  func histories() throws {
    for seed in Self.firstSeed..<Self.firstSeed + UInt64(Self.historyCount) {
      var history = try ReplayHistory(seed: seed)
      do {
        try history.run(commitCount: 24)
        let outcome = try compare(history.disk)
        #expect(outcome == .trees, "seed \(seed)")
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
  }

  /// What writers have written, taken apart and put together wrongly: on empty trees, or on sound ones.
  @Test("what no writer wrote is refused in the order of names as it is one by one")
  func invented() throws {
    var counts = [0, 0]
    for seed in Self.firstSeed..<Self.firstSeed + UInt64(Self.historyCount) {
      var generator = SeededGenerator(seed: seed)
      var history = try ReplayHistory(seed: seed)
      try history.run(commitCount: 12)
      var commits = try ReplayComparison.operations(of: history.disk.bytes(of: "test.daybook") ?? [])
      for _ in 0..<4 {
        Self.spoil(&commits, &generator)
        let disk = seed % 2 == 0 ? SimulatedDisk(seed: seed) : history.disk.killed()
        do {
          try ReplayComparison.invent(commits, at: "test.daybook", on: disk, seed: seed)
          counts[try compare(disk) == .trees ? 0 : 1] += 1
        } catch {
          Issue.record("seed \(seed): \(error)")
          return
        }
      }
    }
    #expect(counts.allSatisfy { $0 > Self.historyCount / 4 }, "sound and faulty: \(counts)")
  }

  /// Bytes of a sound log without pages, edited as the fuzzers do it, and sealed again.
  @Test("a forged log is refused in the order of names as it is one by one")
  func forged() throws {
    var counts = [0, 0]
    for seed in Self.firstSeed..<Self.firstSeed + UInt64(Self.historyCount * 4) {
      var generator = SeededGenerator(seed: seed)
      let edits = (0..<Int.random(in: 5...40, using: &generator)).map { _ in UInt8.random(in: .min ... .max, using: &generator)
      }
      let disk = SimulatedDisk(seed: seed)
      disk.install(FuzzForging.image([2 | 2 << 2] + edits), at: "test.daybook")
      do { counts[try compare(disk) == .trees ? 0 : 1] += 1 } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
    #expect(counts.allSatisfy { $0 > Self.historyCount / 8 }, "sound and faulty: \(counts)")
  }

  private static func spoil(_ commits: inout [ReplayComparison.Commit], _ generator: inout SeededGenerator) {
    func place() -> (Int, Int)? {
      let commit = Int.random(in: 0..<max(1, commits.count), using: &generator)
      guard commit < commits.count, !commits[commit].isEmpty else { return nil }
      return (commit, Int.random(in: 0..<commits[commit].count, using: &generator))
    }
    guard let (commit, index) = place(), let (other, second) = place() else { return }
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: commits[commit].remove(at: index)
    case 1: commits[commit].insert(commits[other][second], at: index)
    case 2: commits.swapAt(commit, other)
    case 3: commits[commit].append(commits[other][second])
    case 4:
      let bit = Int.random(in: 0..<max(1, commits[commit][index].payload.count * 8), using: &generator)
      if bit / 8 < commits[commit][index].payload.count { commits[commit][index].payload[bit / 8] ^= UInt8(1 << (bit % 8)) }
    case 5: commits[commit][index].kind = UInt8([5, 6, 10, 11, 3, 200].randomElement(using: &generator) ?? 5)
    case 6: commits[commit].insert((OperationKind.imageStamps.rawValue, [UInt8](repeating: 1, count: 12)), at: index)
    default: (commits[commit][index], commits[other][second]) = (commits[other][second], commits[commit][index])
    }
  }

  @Test("a run of records ends when it is as large as it may be")
  func bound() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.checkpoint.minimumLogByteCount = 16 << 20 }
    for round in 0..<10 as Range<Int64> {
      try database.write { transaction in
        for number in 0..<20 {
          var record = try Record.fresh("r\(number)")
          record["n"] = round
          record["to"] = Record.Reference(try Record.ID("r0"), action: .none)
          try transaction.save(record, policy: .allKeys)
        }
      }
    }
    disk.stop()
    for (byteCount, sortCount) in [(64 << 20, 1...1), (10_000, 3...20), (1, 200...200)] {
      var options = Database.Options.simulated(seed: 1).storeOptions
      options.isReadOnly = true
      options.replayByteCount = byteCount
      let applier = RecordApplier()
      let store = try Store.open("test.daybook", disk: disk.killed(), options: options, applier: applier)
      #expect(sortCount.contains(applier.gathered.run.sortCount), "\(byteCount): \(applier.gathered.run.sortCount)")
      #expect(applier.gathered.run.count == 0 && applier.gathered.zoneKeys.isEmpty)
      try store.close()
    }
  }

  @Test("a content that is named with two sizes comes out the same each time")
  func twoSizes() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.inlineAssetByteCount = 0 }
    try database.put("a", asset: Asset(data: AssetBench.content(1, byteCount: 40)))
    disk.stop()
    var commits = try ReplayComparison.operations(of: disk.bytes(of: "test.daybook") ?? [])
    let last = try #require(commits.last)
    let saved = try #require(last.first { $0.kind == OperationKind.saveRecord.rawValue })
    // The size is the value's last eight bytes, and the asset's the last value.
    for size in [41, 40, 43, 40, 39] as [UInt8] {
      var payload = saved.payload
      #expect(payload[payload.count - 8] == 40 && payload.suffix(7).allSatisfy { $0 == 0 })
      payload[payload.count - 8] = size
      commits.append([(OperationKind.saveRecord.rawValue, payload)])
    }
    // The order of a dictionary is another one each time.
    for _ in 0..<10 {
      let forged = SimulatedDisk(seed: 1)
      try ReplayComparison.invent(commits, at: "test.daybook", on: forged)
      #expect(try compare(forged) == .trees)
    }
  }

  @Test("records that were deleted and made again within a tail have one entry each, and the bytes that live are theirs")
  func deletedAndMadeAgain() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.checkpoint.minimumLogByteCount = 16 << 20 }
    let zone = try database.zone("Z")
    try database.put("a", in: zone, ["n": 1])
    try database.put("gone", in: zone, ["n": 1])
    try database.write { try $0.delete(Record.ID("gone", in: zone)) }
    try database.store.checkpoint()
    for round in 0..<3 as Range<Int64> {
      try database.write { try $0.delete(Record.ID("a", in: zone)) }
      try database.put("a", in: zone, type: round % 2 == 0 ? "Movie" : "Note", ["n": .int(round)])
      try database.put("gone", in: zone, ["n": .int(round)])
      try database.write { try $0.delete(Record.ID("gone", in: zone)) }
    }
    disk.stop()
    #expect(try compare(disk) == .trees)
    let again = try Database.open(on: disk.killed())
    #expect(try again.record(Record.ID("a", in: zone))?.type == "Movie")
    let changes = try again.changes(in: zone, since: nil)
    #expect(changes.savedNames == ["a"] && changes.deletedNames == ["gone"])
    try again.expectClean()
  }
}
