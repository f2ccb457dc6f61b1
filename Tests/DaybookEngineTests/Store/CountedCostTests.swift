import DaybookBenchmarking
import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// What a commit costs in writes and syncs, and that the loops of the benchmarks do the work that they say.

@Suite("Counted costs")
struct CountedCostTests {
  private func open(_ disk: any Disk, _ durability: StoreOptions.Durability) throws -> KeyValueStore {
    var options = StoreOptions()
    options.durability = durability
    options.hasBackgroundThread = false
    return try KeyValueStore(storePath, disk: disk, options: options)
  }

  @Test("a durable commit is one write and one sync, whatever it holds", arguments: [1, 10, 1000])
  func durable(putCount: Int) throws {
    let disk = CountingDisk(MemoryDisk())
    let loops = BenchmarkLoops(try open(disk, .full))
    // The first commits prepare room behind the log.
    try loops.load(0..<10, perTransaction: 1)
    let (writes, syncs) = (disk.writeCount, disk.syncCount)
    for round in 0..<5 {
      let first = UInt64(10 + round * putCount)
      try loops.load(first..<first + UInt64(putCount), perTransaction: putCount)
    }
    #expect(disk.writeCount - writes == 5)
    #expect(disk.syncCount - syncs == 5)
    try loops.store.checkThoroughly()
    try loops.store.close()
  }

  @Test("a relaxed commit is one write and waits for no sync")
  func relaxed() throws {
    let disk = CountingDisk(MemoryDisk())
    let loops = BenchmarkLoops(try open(disk, .relaxed))
    try loops.load(0..<10, perTransaction: 1)
    let (writes, syncs) = (disk.writeCount, disk.syncCount)
    try loops.load(10..<110, perTransaction: 10)
    #expect(disk.writeCount - writes == 10)
    #expect(disk.syncCount == syncs)
    try loops.store.checkThoroughly()
    try loops.store.close()
  }

  @Test("to open a large file, save a little and close it writes little; who goes on saving gets room prepared")
  func session() throws {
    let disk = CountingDisk(MemoryDisk())
    let loops = BenchmarkLoops(try open(disk, .full))
    try loops.load(0..<20_000, perTransaction: 1000)
    try loops.store.close()
    let before = disk.writtenByteCount
    let session = BenchmarkLoops(try open(disk, .full))
    let store = session.store.store
    // Between commits, what the background thread does.
    func load(_ keys: Range<UInt64>) throws {
      for key in keys {
        try session.load(key..<key + 1, perTransaction: 1)
        if store.log.needsZeros { store.prepareZeros() }
      }
    }
    try load(20_000..<20_002)
    try session.store.close()
    let byteCount = disk.writtenByteCount - before
    #expect(byteCount < 100 << 10, "\(byteCount)")

    let again = BenchmarkLoops(try open(disk, .full))
    var preparedCount = 0
    for key in 20_002..<22_002 as Range<UInt64> {
      try again.load(key..<key + 1, perTransaction: 1)
      if again.store.store.log.needsZeros {
        again.store.store.prepareZeros()
        preparedCount += 1
      }
      #expect(!again.store.store.log.needsZeros)
    }
    #expect(preparedCount > 0 && preparedCount < 20)
    try again.store.close()
  }

  @Test("reading writes and syncs nothing")
  func reading() throws {
    let disk = CountingDisk(MemoryDisk())
    let loops = BenchmarkLoops(try open(disk, .full))
    try loops.load(0..<500, perTransaction: 100)
    let (writes, syncs) = (disk.writeCount, disk.syncCount)
    _ = try loops.getEach(500, among: 500, round: 0)
    _ = try loops.seek(20, length: 100, among: 500, round: 0)
    _ = try loops.miss(500, among: 500, round: 0, from: 1 << 50)
    _ = try loops.scan()
    #expect(disk.writeCount == writes && disk.syncCount == syncs)
    try loops.store.close()
  }

  @Test("opening a closed file replays nothing, and reads no more of one that is four times as large")
  func opening() throws {
    var byteCounts: [Int] = []
    for recordCount in [10_000, 40_000] as [UInt64] {
      let disk = CountingDisk(MemoryDisk())
      var options = StoreOptions()
      options.hasBackgroundThread = false
      options.access = .buffered
      let loops = BenchmarkLoops(try KeyValueStore(storePath, disk: disk, options: options))
      try loops.load(0..<recordCount, perTransaction: 1000)
      try loops.store.close()
      let before = disk.readByteCount
      let store = try KeyValueStore(storePath, disk: disk, options: options)
      byteCounts.append(disk.readByteCount - before)
      #expect(store.store.recovery.replayedCommitCount == 0)
      try store.close()
    }
    #expect(byteCounts[0] > 0 && byteCounts[1] < byteCounts[0] + 64 << 10, "\(byteCounts)")
  }

  @Test("a counting disk counts files, directories and what goes through either")
  func counting() throws {
    let disk = CountingDisk(MemoryDisk())
    let file = try disk.open("/d/file", .createNew)
    let bytes: [UInt8] = [1, 2, 3]
    try bytes.withView { (view) throws(DiskFailure) in try file.write(view, at: 0) }
    try bytes.withView { (view) throws(DiskFailure) in try file.write(view, at: 3) }
    try file.sync(.full)
    try disk.syncDirectory(holding: "/d/file")
    try disk.syncDirectory(holding: "/d/file")
    try disk.syncDirectory(holding: "/d/file")
    #expect(disk.writeCount == 2 && disk.syncCount == 1 && disk.directorySyncCount == 3)
    #expect(try file.byteCount() == 6)
    file.close()
  }
}

@Suite("Benchmark loops")
struct BenchmarkLoopTests {
  private func withStore(_ body: (EngineStore) throws -> Void) throws {
    try withDirectory { directory in
      let store = try EngineStore(path: directory + "/keys.daybook", durability: .relaxed)
      try body(store)
      try store.close()
    }
  }

  /// What a reader adds up of one value.
  private func sum(_ value: [UInt8]) -> UInt64 {
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    return word(value.prefix(8)) &+ word(value.suffix(8))
  }

  @Test("puts what it says, under random and under ascending keys")
  func put() throws {
    try withStore { store in
      try store.benchmarkPut(0..<250, round: 7, isAscending: false, perTransaction: 100)
      try store.benchmarkPut(0..<250, round: 8, isAscending: true, perTransaction: 100)
      #expect(try store.count == 500)
      let wrong = try (0..<UInt64(250)).filter { number in
        let random = try store.get(EngineStore.benchmarkKey(number))
        let ascending = try store.get(EngineStore.benchmarkAscendingKey(number))
        return random != EngineStore.benchmarkValue(number, round: 7)
          || ascending != EngineStore.benchmarkValue(number, round: 8)
      }
      #expect(wrong == [])
      let keys = (0..<UInt64(250)).map { EngineStore.benchmarkAscendingKey($0) }
      #expect(keys == keys.sorted { $0.lexicographicallyPrecedes($1) })
    }
  }

  @Test("deletes every second key, no other", arguments: [7, 250, 1000])
  func delete(perTransaction: Int) throws {
    try withStore { store in
      try store.benchmarkLoad(0..<501, perTransaction: 100)
      try store.benchmarkDelete(everySecondOf: 501, perTransaction: perTransaction)
      #expect(try store.count == 250)
      let left = try (0..<UInt64(501)).filter { try store.get(EngineStore.benchmarkKey($0)) != nil }
      #expect(left == Array(stride(from: 1, to: 501, by: 2)))
    }
  }

  @Test("misses where nothing is, and finds where something is")
  func miss() throws {
    try withStore { store in
      try store.benchmarkLoad(0..<300, perTransaction: 100)
      #expect(try store.benchmarkMiss(1000, among: 300, round: 0, from: 1 << 50) == 0)
      #expect(try store.benchmarkMiss(1000, among: 300, round: 0, from: 0) == 1000)
    }
  }

  @Test("a seek reads the key and those behind it, to the end at most", arguments: [1, 10, 400])
  func seek(length: Int) throws {
    try withStore { store in
      try store.benchmarkLoad(0..<300, perTransaction: 100)
      var all: [(key: [UInt8], value: [UInt8])] = []
      try store.scan { key, value in
        all.append((key, value))
        return true
      }
      var expected: UInt64 = 0
      for step in 0..<20 {
        let number = BenchmarkWorkload().pick(step, among: 300, round: 5)
        let first = try #require(all.firstIndex { $0.key == EngineStore.benchmarkKey(number) })
        for (key, value) in all[first...].prefix(length) { expected &+= sum(value) &+ UInt64(key.count) }
      }
      #expect(try store.benchmarkSeek(20, length: length, among: 300, round: 5) == expected)
    }
  }

  @Test("mixed work reads what the steps before it have put")
  func mix() throws {
    try withStore { store in
      try store.benchmarkLoad(0..<50, perTransaction: 50)
      var values = (0..<UInt64(50)).map { EngineStore.benchmarkValue($0, round: 0) }
      var expected: UInt64 = 0
      for step in 0..<400 {
        let number = BenchmarkWorkload().pick(step, among: 50, round: 9)
        if step % 20 == 19 {
          values[Int(number)] = EngineStore.benchmarkValue(number, round: 9)
        } else {
          expected &+= sum(values[Int(number)])
        }
      }
      #expect(try store.benchmarkMix(400, among: 50, round: 9) == expected)
      let found = try (0..<UInt64(50)).map { try store.get(EngineStore.benchmarkKey($0)) }
      #expect(found == values)
    }
  }
}
