@testable import DaybookEngine
import DaybookTesting
import Testing

/// Compactions with a limited rate beside writers that go on.
@Suite("Store: compaction at a pace")
struct PacedCompactionTests {
  /// Commits for commits that are copied, from within the copying itself: a wait would have no end.
  private struct RivalImager: Rewriter {
    struct Counts {
      var copied = 0
      /// While all writers wait.
      var copiedWithinTurn = 0
      var hadToWait = false
    }
    let base = KeyValueRewriter()
    let store: KeyValueStore
    /// For how many copied commits it makes one.
    let ratio: Int
    let counts = Locked(Counts())

    func makeApplier() -> any Applier { base.makeApplier() }

    func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
      try base.writeImage(of: pin, source, to: writer)
      for number in 0..<300 { commit(number) }
    }

    func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 {
      let source = store.store
      let (isTaken, mustWait) = source.turn.monitor.withLock { (source.turn.isTaken, source.mustWaitForCompaction) }
      let copied = counts.withLock { counts in
        counts.copied += 1
        if isTaken { counts.copiedWithinTurn += 1 }
        if mustWait, !isTaken { counts.hadToWait = true }
        return counts.copied
      }
      if !isTaken, !mustWait, copied % ratio == 0 { self.commit(copied) }
      return try base.copy(commit, to: batch)
    }

    private func commit(_ number: Int) { try? store.put("key \(number % 10)", [UInt8](repeating: 7, count: 1 << 10)) }
  }

  private static func compact(ratio: Int) throws -> RivalImager.Counts {
    var options = StoreOptions.small()
    options.durability = .relaxed
    let store = try KeyValueStore("a", disk: MemoryDisk(), options: options)
    try store.put("first", [1])
    let rewriter = RivalImager(store: store, ratio: ratio)
    // Limited, and no slower for it.
    try store.stores.compact(rewriter, pace: Pace(bytesPerSecond: 1 << 40) { true })
    #expect(try store.contents().count == 11)
    try store.checkThoroughly()
    try store.close()
    return rewriter.counts.withLock { $0 }
  }

  @Test("writers that are as fast as a slow compaction wait no longer for its end than for that of any other")
  func converges() throws {
    let counts = try Self.compact(ratio: 1)
    // 64 KB, and what is allowed beside them.
    #expect(counts.copiedWithinTurn < 100, "\(counts.copiedWithinTurn) commits were copied while all writers waited")
    #expect(counts.copied < 16 * 300)
  }

  @Test("writers that are slower than a slow compaction never wait for it")
  func leavesSlowWritersAlone() throws {
    let counts = try Self.compact(ratio: 3)
    #expect(!counts.hadToWait)
    #expect(counts.copiedWithinTurn < 100)
  }
}
