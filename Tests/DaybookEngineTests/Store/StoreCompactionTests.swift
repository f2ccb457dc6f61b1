@testable import DaybookEngine
import DaybookTesting
import Testing

/// Compaction of raw keys: what the new file holds, what goes on meanwhile, and what is left when it fails.
@Suite("Store: compaction")
struct StoreCompactionTests {
  private static func filled(
    _ disk: SimulatedDisk, _ options: StoreOptions = .small(), rounds: Int = 3
  ) throws -> (store: KeyValueStore, contents: Contents) {
    let store = try KeyValueStore("a", disk: disk, options: options)
    var contents: Contents = [:]
    for round in 0..<rounds {
      for number in 0..<200 {
        let key = "key \(number * 7919 % 1000)"
        let value = [UInt8](repeating: UInt8(round * 50 + number % 50), count: 40 + number % 60)
        try store.put(key, value)
        contents[key] = value
      }
      try store.write { transaction in
        for number in stride(from: round, to: 200, by: 5) {
          try transaction.delete("key \(number * 7919 % 1000)")
          contents["key \(number * 7919 % 1000)"] = nil
        }
      }
    }
    return (store, contents)
  }

  private static func expectSound(_ store: KeyValueStore) throws {
    let pin = try store.store.beginRead()
    defer { store.store.endRead(pin) }
    let report = try store.store.check(pin)
    #expect(report.isClean, "\(report.findings)")
  }

  @Test("the new file holds the same keys under the same sequence, and little else")
  func keepsContents() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk)
    let before = try store.snapshot()
    let generation = store.store.header.generation
    try store.compact()
    #expect(try store.snapshot().sequence == before.sequence)
    #expect(try store.contents() == contents)
    #expect(store.store.header.generation == generation + 1)
    try Self.expectSound(store)
    let live = try store.store.beginRead().liveByteCount
    #expect(Int(store.store.log.tail.offset) < live * 3 / 2 + 32 << 10)
    try store.put("after", [1])
    #expect(try store.snapshot().sequence == before.sequence + 1)
    try store.close()
    let again = try KeyValueStore("a", disk: disk, options: .small())
    #expect(try again.value("after") == [1])
    #expect(again.store.recovery.wasClosed)
    try Self.expectSound(again)
    try again.close()
    #expect(try disk.exists("a") && !disk.exists(Store.unfinishedPath(of: "a")))
  }

  @Test("trees that are made anew from the log of a compacted file are the same")
  func rebuilds() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk)
    try store.compact()
    try store.put("after", [1])
    try store.close()
    var options = StoreOptions.small()
    options.rebuildsTrees = true
    let again = try KeyValueStore("a", disk: disk, options: options)
    var expected = contents
    expected["after"] = [1]
    #expect(try again.contents() == expected)
    try Self.expectSound(again)
    try again.close()
  }

  @Test("an image whose pages do not fit into memory is written in pieces")
  func spills() throws {
    let disk = SimulatedDisk(seed: 1)
    var options = StoreOptions.small()
    // Pages are written as soon as there are two of them.
    options.checkpointMemoryByteCount = 8 * DirtyPages.byteCountPerPage
    var fillOptions = options
    fillOptions.checkpointMemoryByteCount = 512 << 20
    let (first, contents) = try Self.filled(disk, fillOptions)
    try first.close()
    let store = try KeyValueStore("a", disk: disk, options: options)
    try store.compact()
    #expect(try store.contents() == contents)
    try Self.expectSound(store)
    #expect(store.store.editor.pages.usedPageCount < 8)
    try store.close()
  }

  @Test("an empty database, and one in which nothing lives any more, are compacted too")
  func empty() throws {
    let disk = SimulatedDisk(seed: 1)
    let store = try KeyValueStore("a", disk: disk, options: .small())
    try store.compact()
    #expect(try store.snapshot() == (0, [:]))
    try store.put("a", [1])
    try store.write { try $0.delete("a") }
    try store.compact()
    #expect(try store.snapshot() == (2, [:]))
    try store.put("a", [2])
    try store.close()
    let again = try KeyValueStore("a", disk: disk, options: .small())
    #expect(try again.snapshot() == (3, ["a": [2]]))
    try again.close()
  }

  @Test(
    "commits that a compaction copies in batches are all in the new file, one by one",
    arguments: [(256 << 10, 64 << 20, false), (256 << 10, 300, true), (64 << 20, 64 << 20, true), (64 << 20, 0, false)])
  func catchesUpInBatches(memoryByteCount: Int, replayByteCount: Int, hasBackgroundThread: Bool) throws {
    /// Runs a closure when the image has been written.
    struct WaitingImager: Rewriter {
      let base = KeyValueRewriter()
      let afterImage: () throws -> Void
      func makeApplier() -> any Applier { base.makeApplier() }
      func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
        try base.writeImage(of: pin, source, to: writer)
        do { try afterImage() } catch { throw error as? StoreError ?? .log(.inconsistent) }
      }
      func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 {
        try base.copy(commit, to: batch)
      }
    }
    let disk = SimulatedDisk(seed: 5)
    var options = StoreOptions.small()
    options.checkpointMemoryByteCount = memoryByteCount
    options.replayByteCount = replayByteCount
    options.hasBackgroundThread = hasBackgroundThread
    let (store, filled) = try Self.filled(disk, options, rounds: 1)
    var contents = filled
    var generator = SeededGenerator(seed: UInt64(memoryByteCount + replayByteCount))
    let rewriter = WaitingImager {
      for commit in 0..<300 {
        // Every twentieth is too large for one frame, and the same keys come again and again.
        let count = commit % 20 == 19 ? 60 : Int.random(in: 1...9, using: &generator)
        try store.write { transaction in
          for _ in 0..<count {
            let key = "key \(Int.random(in: 0..<400, using: &generator))"
            if Int.random(in: 0..<4, using: &generator) == 0 {
              try transaction.delete(key)
              contents[key] = nil
            } else {
              let value = [UInt8](repeating: UInt8(commit % 251), count: Int.random(in: 0..<90, using: &generator))
              try transaction.put(key, value)
              contents[key] = value
            }
          }
        }
      }
    }
    try store.stores.compact(rewriter, pace: Pace(bytesPerSecond: nil) { true })
    #expect(try store.snapshot() == (501, contents))
    try Self.expectSound(store)
    let pin = try store.store.beginRead()
    var sequences: [UInt64] = []
    try store.store.forEachCommit(through: pin) { _ in
    } _: { commit in
      sequences.append(commit.sequence)
    }
    store.store.endRead(pin)
    #expect(sequences == Array(201...501))
    let crashed = try KeyValueStore("a", disk: disk.crashed(seed: 9), options: options)
    #expect(try crashed.snapshot() == (501, contents))
    try Self.expectSound(crashed)
    try crashed.close()
    try store.put("after", [1])
    contents["after"] = [1]
    try store.close()
    let again = try KeyValueStore("a", disk: disk, options: options)
    #expect(try again.snapshot() == (502, contents))
    try Self.expectSound(again)
    try again.close()
  }

  @Test("commits that come twice as fast as a compaction copies them wait for it, and it ends")
  func holdsWritersUp() throws {
    final class Counts: Sendable {
      let state = Locked((copied: 0, written: 0, isOver: false))
    }
    struct CountingImager: Rewriter {
      let base = KeyValueRewriter()
      let counts: Counts
      func makeApplier() -> any Applier { base.makeApplier() }
      func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
        try base.writeImage(of: pin, source, to: writer)
        // Meanwhile many commits have come: some megabytes.
        while counts.state.withLock({ $0.written < 700 }) { SystemClock.sleep(nanoseconds: 1_000_000) }
      }
      func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 {
        counts.state.withLock { $0.copied += 1 }
        // A put may take longer than a copy: two of them get a millisecond, which passes only where they are held up.
        for _ in 0..<20 where counts.state.withLock({ $0.written < min(2 * $0.copied + 700, 10_000) }) {
          SystemClock.sleep(nanoseconds: 50_000)
        }
        return try base.copy(commit, to: batch)
      }
    }
    let disk = MemoryDisk()
    var options = StoreOptions.small()
    options.durability = .relaxed
    let store = try KeyValueStore("a", disk: disk, options: options)
    try store.put("first", [1])
    let counts = Counts()
    let value = [UInt8](repeating: 7, count: 8 << 10)
    let limit = 10_000
    let writer = BackgroundThread(name: "writer") {
      while true {
        let (copied, written, isOver) = counts.state.withLock { $0 }
        if isOver || written == limit { return }
        // Two for each that was copied, however fast the machine is.
        if written >= 2 * copied + 700 {
          SystemClock.sleep(nanoseconds: 100_000)
          continue
        }
        try? store.put("key \(written % 10)", value)
        counts.state.withLock { $0.written += 1 }
      }
    }
    try store.stores.compact(CountingImager(counts: counts), pace: Pace(bytesPerSecond: nil) { true })
    let copied = counts.state.withLock { state in
      state.isOver = true
      return state.copied
    }
    writer?.join()
    // 700, then the 1,400 that came meanwhile; from there on half as many each time. Without the limit, all that come.
    #expect(copied < limit / 2, "\(copied) commits were copied")
    #expect(try store.contents().count == 11)
    try Self.expectSound(store)
    try store.close()
  }

  @Test(
    "commits that come slower than a compaction copies them never wait for it, however small they are",
    arguments: [(1 << 10, 600), (10, 6000)])
  func leavesSlowWritersAlone(valueByteCount: Int, count: Int) throws {
    /// Commits once for every two commits that are copied, from within the copying itself: a wait would have no end.
    struct CommittingImager: Rewriter {
      let base = KeyValueRewriter()
      let store: KeyValueStore
      let counts = Locked((copied: 0, hadToWait: false))
      let value: [UInt8]
      let count: Int
      func makeApplier() -> any Applier { base.makeApplier() }
      func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
        try base.writeImage(of: pin, source, to: writer)
        for number in 0..<count { commit(number) }
      }
      func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 {
        let copied = counts.withLock { counts in
          counts.copied += 1
          return counts.copied
        }
        let source = store.store
        let (isFree, mustWait) = source.turn.monitor.withLock { (!source.turn.isTaken, source.mustWaitForCompaction) }
        if isFree, copied % 3 == 0 {
          if mustWait { counts.withLock { $0.hadToWait = true } } else { self.commit(copied) }
        }
        return try base.copy(commit, to: batch)
      }
      private func commit(_ number: Int) { try? store.put("key \(number % 10)", value) }
    }
    let disk = MemoryDisk()
    var options = StoreOptions.small()
    options.durability = .relaxed
    let store = try KeyValueStore("a", disk: disk, options: options)
    try store.put("first", [1])
    let rewriter = CommittingImager(
      store: store, value: [UInt8](repeating: 7, count: valueByteCount), count: count)
    try store.stores.compact(rewriter, pace: Pace(bytesPerSecond: nil) { true })
    let counts = rewriter.counts.withLock { $0 }
    #expect(!counts.hadToWait)
    // All of them, a third of that, and so on.
    #expect((count * 5 / 4...count * 3 / 2).contains(counts.copied), "\(counts.copied) commits were copied")
    #expect(try store.contents().count == 11)
    try store.close()
  }

  @Test("a checkpoint goes on while commits wait for a compaction that waits for the checkpoint")
  func checkpointBesideHeldCommits() throws {
    let disk = MemoryDisk()
    var options = StoreOptions.small()
    options.hasBackgroundThread = true
    options.minimumLogBudgetByteCount = 64 << 20
    options.maximumLogBudgetByteCount = 64 << 20
    let keyValues = try KeyValueStore("a", disk: disk, options: options)
    for number in 0..<300 { try keyValues.put("key \(number)", [1]) }
    let store = keyValues.store
    store.turn.monitor.withLock { store.commitLimit = 0 }
    let states = Locked((hasWritten: false, hasCheckpoint: false))
    let writer = BackgroundThread(name: "writer") {
      try? keyValues.put("key", [2])
      states.withLock { $0.hasWritten = true }
    }
    SystemClock.sleep(nanoseconds: 20_000_000)
    let checkpoint = BackgroundThread(name: "checkpoint") {
      try? store.checkpoint()
      states.withLock { $0.hasCheckpoint = true }
    }
    var patience = 500
    while patience > 0, states.withLock({ !$0.hasCheckpoint }) {
      SystemClock.sleep(nanoseconds: 10_000_000)
      patience -= 1
    }
    #expect(states.withLock { $0.hasCheckpoint && !$0.hasWritten })
    store.turn.monitor.withLock {
      store.commitLimit = .max
      store.turn.monitor.broadcast()
    }
    writer?.join()
    checkpoint?.join()
    #expect(try keyValues.value("key") == [2])
    try keyValues.close()
  }

  @Test("writers that stood in line when a compaction began to hold writers up keep no checkpoint from its end")
  func heldUpInLine() throws {
    var options = StoreOptions.small()
    options.hasBackgroundThread = true
    options.minimumLogBudgetByteCount = 64 << 20
    options.maximumLogBudgetByteCount = 64 << 20
    let keyValues = try KeyValueStore("a", disk: SimulatedDisk(seed: 1), options: options)
    for number in 0..<300 { try keyValues.put("key \(number)", [1]) }
    let store = keyValues.store
    let hasCheckpoint = Locked(false)
    let hold = store.takeTurn()
    let writers = (0..<6).map { number in
      BackgroundThread(name: "writer") { try? keyValues.put("key \(number)", [2]) }
    }
    while store.turn.monitor.withLock({ store.turn.waitingWriterCount < writers.count }) {
      SystemClock.sleep(nanoseconds: 1_000_000)
    }
    // Now all of them sleep, and not only wait awake.
    SystemClock.sleep(nanoseconds: 50_000_000)
    store.turn.monitor.withLock { store.commitLimit = 0 }
    store.turn.give(hold)
    let checkpoint = BackgroundThread(name: "checkpoint") {
      try? store.checkpoint()
      hasCheckpoint.withLock { $0 = true }
    }
    var patience = 500
    while patience > 0, hasCheckpoint.withLock({ !$0 }) {
      SystemClock.sleep(nanoseconds: 10_000_000)
      patience -= 1
    }
    #expect(hasCheckpoint.withLock { $0 })
    store.turn.monitor.withLock {
      store.commitLimit = .max
      store.turn.monitor.broadcast()
    }
    for writer in writers { writer?.join() }
    checkpoint?.join()
    for number in 0..<writers.count { #expect(try keyValues.value("key \(number)") == [2]) }
    try keyValues.close()
  }

  @Test("a snapshot goes on in the old file, whose memory is given back with the last of them")
  func snapshots() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk)
    let old = store.store
    let pin = try old.beginSnapshot()
    try store.compact()
    try store.put("key 0", [9])
    #expect(try store.contents(old.beginRead(via: pin), of: old) == contents)
    old.endRead(via: pin)
    #expect(!old.isReleased)
    #expect(throws: StoreError.self) { try old.beginRead() }
    #expect(throws: StoreError.self) { try old.beginSnapshot() }
    old.endSnapshot(pin)
    #expect(old.isReleased)
    try store.close()
  }

  @Test("a snapshot of the old file ends when the database is closed")
  func closes() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, _) = try Self.filled(disk, rounds: 1)
    let old = store.store
    let pin = try old.beginSnapshot()
    try store.compact()
    try store.close()
    #expect(thrownCase { _ = try old.beginRead(via: pin) } == "closed")
    #expect(old.isReleased)
    old.endSnapshot(pin)
  }

  @Test("commits that come while the image is written are in the new file")
  func catchesUp() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk)
    var expected = contents
    var count = 0
    try store.compact {
      // Called between pieces of the work: as good as another thread.
      if count < 40 {
        try? store.put("during \(count)", [UInt8](repeating: 7, count: 100))
        expected["during \(count)"] = [UInt8](repeating: 7, count: 100)
        count += 1
      }
      return true
    }
    #expect(count > 0)
    #expect(try store.contents() == expected)
    try Self.expectSound(store)
    try store.close()
    let again = try KeyValueStore("a", disk: disk, options: .small())
    #expect(try again.contents() == expected)
    try again.close()
  }

  @Test("what is committed after a compaction survives power loss: the new file's name does, too")
  func survives() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk, rounds: 1)
    try store.compact()
    for policy in [CrashPolicy.none, .all] {
      let found = try KeyValueStore("a", disk: disk.crashed(seed: 2, policy: policy), options: .small())
      #expect(try found.contents() == contents)
    }
    try store.put("after", [1])
    for policy in [CrashPolicy.none, .all] {
      let found = try KeyValueStore("a", disk: disk.crashed(seed: 3, policy: policy), options: .small())
      #expect(try found.value("after") == [1])
      try Self.expectSound(found)
    }
    try store.close()
  }

  @Test("one that a full disk refuses at any write leaves the database as it was, and no file beside it")
  func fullDisk() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk)
    var refusedCount = 0
    for call in 1...1000 {
      disk.inject(SimulatedFault([.write], call: call, code: ErrorNumber.noSpace))
      let thrown = thrownCase { try store.compact() }
      disk.removeFaults()
      if thrown == nil { break }
      refusedCount += 1
      #expect(thrown == "disk", "write \(call)")
      #expect(try !disk.exists(Store.unfinishedPath(of: "a")))
      try store.put("write \(call)", [1])
      try store.write { try $0.delete("write \(call)") }
    }
    #expect(refusedCount > 3)
    #expect(try store.contents() == contents)
    try Self.expectSound(store)
    try store.close()
  }

  @Test("one that is cancelled leaves the database as it was, and no file beside it")
  func cancelled() throws {
    let disk = SimulatedDisk(seed: 1)
    let (store, contents) = try Self.filled(disk)
    for step in 0..<4 {
      var count = 0
      let thrown = thrownCase {
        try store.compact {
          count += 1
          return count <= step
        }
      }
      if thrown == nil { break }
      #expect(thrown == "refused")
      #expect(try store.contents() == contents)
      #expect(try !disk.exists(Store.unfinishedPath(of: "a")))
      try store.put("step \(step)", [1])
      try store.write { try $0.delete("step \(step)") }
    }
    try Self.expectSound(store)
    try store.close()
  }
}

extension KeyValueStore {
  func contents(_ pin: Store.Pin, of store: Store) throws -> Contents {
    var contents: Contents = [:]
    var cursor = pin.reader.cursor(in: pin.root(0))
    let key = ByteBuffer()
    let buffer = ByteBuffer()
    var isValid = try cursor.first()
    while isValid {
      cursor.key(into: key)
      contents[String(decoding: key.view.array, as: UTF8.self)] =
        try KeyValueStore.get(key.view, store, pin, into: buffer)?.array
      isValid = try cursor.next()
    }
    return contents
  }
}
