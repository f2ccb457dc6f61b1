import DaybookTesting
import Testing

@testable import DaybookEngine

// Replay in the order of keys: the sorting beside a naive one, and stores whose tails are replayed both ways. Equal means
// every key, every value, and the bytes that live.

@Suite("Replay in the order of keys")
struct ReplayTests {
  // MARK: sorting

  /// Keys of one kind: random bytes, digits behind a common beginning, few letters and many lengths, zeros, long, few at all.
  private static func key(_ style: Int, _ generator: inout SeededGenerator) -> [UInt8] {
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
    switch style {
    case 0: return (0..<number(16...24)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    case 1: return [UInt8]("\(["movie", "person", "movie-cast"][number(0...2)])-\(100_000 + number(0...9_999))".utf8)
    case 2: return (0..<number(0...9)).map { _ in UInt8(97 + number(0...1)) }
    case 3: return [UInt8](repeating: 0, count: number(0...40))
    case 4: return [UInt8](repeating: 7, count: 1200) + (0..<number(0...4)).map { _ in UInt8(number(0...255)) }
    default: return [UInt8("k".utf8.first!), UInt8(number(0...20))]
    }
  }

  @Test("a run sorts by group, key and place in the log", arguments: testSeeds(1...1))
  func sorting(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for style in 0..<6 {
      for (count, groupCount) in [(1, 1), (11, 1), (40, 3), (600, 1), (2000, 2), (3000, 1)] {
        let run = ReplayRun()
        var naive: [(group: Int, key: [UInt8], position: Int)] = []
        for position in 0..<count {
          let key = Self.key(style, &generator)
          let group = Int.random(in: 0..<groupCount, using: &generator)
          key.withView {
            run.append(
              kind: 1, key: $0, rest: $0.prefix(min(3, key.count)), group: UInt32(group),
              place: Place(offset: UInt64(position), byteCount: 20), sequence: 1, ordinal: UInt32(position))
          }
          naive.append((group, key, position))
        }
        run.sort(groupCount: groupCount)
        naive.sort {
          if $0.group != $1.group { return $0.group < $1.group }
          return $0.key == $1.key ? $0.position < $1.position : $0.key.lexicographicallyPrecedes($1.key)
        }
        #expect((0..<count).map { run.position(atRank: $0) } == naive.map(\.position), "style \(style), \(count) keys")
        for group in 0..<groupCount { try compareKeys(run, group, naive.filter { $0.group == group }.map(\.key)) }
      }
    }
  }

  private func compareKeys(_ run: ReplayRun, _ group: Int, _ keys: [[UInt8]]) throws {
    let ranks = run.ranks(of: group)
    #expect(ranks.count == keys.count)
    let logOrder = ranks.map { run.position(atLogRank: $0) }
    #expect(logOrder == logOrder.sorted() && Set(logOrder) == Set(ranks.map { run.position(atRank: $0) }))
    var rank = ranks.lowerBound
    while rank < ranks.upperBound {
      let end = run.endOfKey(atRank: rank, in: ranks)
      let key = keys[rank - ranks.lowerBound]
      #expect(keys[(rank - ranks.lowerBound)..<(end - ranks.lowerBound)].allSatisfy { $0 == key })
      #expect(end == ranks.upperBound || keys[end - ranks.lowerBound] != key)
      let position = run.position(atRank: rank)
      #expect(run.key(position).array == key && run.rest(position).array == Array(key.prefix(3)))
      rank = end
    }
  }

  // MARK: keys and values

  @Test("a sorted replay of keys gives what applying one by one gives", arguments: testSeeds(1...20))
  func keys(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let disk = SimulatedDisk(seed: seed)
    var options = StoreOptions.withoutCheckpoints(seed: seed)
    options.partByteCount = [300, 1 << 20][Int(seed % 2)]
    let store = try KeyValueStore("/d/book", disk: disk, options: options)
    for _ in 0..<Int.random(in: 3...25, using: &generator) {
      if Int.random(in: 0..<8, using: &generator) == 0 { try store.store.checkpoint() }
      try store.write { try Self.change($0, &generator, depth: 0) }
    }
    disk.stop()
    try ReplayComparison(disk, path: "/d/book") { KeyValueApplier() }.run()
  }

  private static func change(
    _ transaction: borrowing KeyValueTransaction, _ generator: inout SeededGenerator, depth: Int
  ) throws {
    for _ in 0..<Int.random(in: 1...40, using: &generator) {
      let number = Int.random(in: 0..<150, using: &generator)
      let key = String(repeating: "prefix ", count: number % 3) + "\(number)"
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<11: try transaction.put(key, filler(number, Int.random(in: 0...90, using: &generator)))
      case 11..<19: try transaction.delete(key)
      default:
        if depth > 2 { continue }
        let savepoint = try transaction.transaction.savepoint()
        try change(transaction, &generator, depth: depth + 1)
        if Bool.random(using: &generator) { try transaction.transaction.rollBack(to: savepoint) }
      }
    }
  }

  @Test("what no writer wrote is refused in the order of keys as it is one by one", arguments: testSeeds(1...30))
  func invented(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let disk = SimulatedDisk(seed: seed)
    var commit: ReplayComparison.Commit = []
    for _ in 0..<Int.random(in: 1...60, using: &generator) {
      let key = Array("\(Int.random(in: 0..<12, using: &generator))".utf8)
      var (kind, payload) = (KeyValueApplier.Kind.put, [UInt8(key.count), 0] + key + [1, 2])
      switch Int.random(in: 0..<90, using: &generator) {
      case 0: payload = [200, 0] + key
      case 1: payload = [0]
      case 2: kind = 77
      case 3: payload = [0xFF, 0x0F] + [UInt8](repeating: 1, count: 4095)
      case 4..<40: (kind, payload) = (KeyValueApplier.Kind.delete, key)
      default: break
      }
      commit.append((kind, payload))
    }
    try ReplayComparison.invent([commit], at: "/d/book", on: disk)
    try ReplayComparison(disk, path: "/d/book") { KeyValueApplier() }.run()
  }

  @Test("a refresh beside a writer gathers, too")
  func refreshing() throws {
    let disk = SimulatedDisk(seed: 3)
    let store = try KeyValueStore("/d/book", disk: disk, options: .withoutCheckpoints())
    try store.put("a", [0])
    let reader = try KeyValueStore("/d/book", disk: disk, options: StoreOptions.withoutCheckpoints().readOnly)
    for round in 1...5 as ClosedRange<UInt8> {
      try store.write { transaction in
        for number in 0..<40 { try transaction.put("\(number)", [round]) }
        for number in 0..<20 { try transaction.delete("\(number * 2)") }
      }
      try store.put("a", [round])
      store.store.appendNote()
      try reader.refresh()
      #expect(try reader.contents() == store.contents() && reader.contents().count == 21)
    }
  }

  @Test("a run ends when it is as large as it may be", arguments: [2_000, 20_000, 1 << 20])
  func bound(_ byteCount: Int) throws {
    let disk = SimulatedDisk(seed: 4)
    let store = try KeyValueStore("/d/book", disk: disk, options: .withoutCheckpoints())
    for _ in 0..<10 {
      try store.write { transaction in for number in 0..<50 { try transaction.put("key \(number)", [1]) } }
    }
    disk.stop()
    var options = StoreOptions.withoutCheckpoints()
    options.replayByteCount = byteCount
    let applier = KeyValueApplier()
    let again = try Store.open("/d/book", disk: disk.killed(), options: options, applier: applier)
    let needed = 500 * (ReplayRun.byteCountPerOperation + 6)
    #expect(applier.run.sortCount >= needed / (byteCount + ReplayRun.byteCountPerOperation + 6))
    #expect(applier.run.sortCount <= needed / byteCount + 1)
    #expect(applier.run.count == 0 && applier.run.byteCount == 0)
    try again.close()
  }
}
