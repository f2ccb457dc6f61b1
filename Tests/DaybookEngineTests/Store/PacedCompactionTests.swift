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
      var asked = 0
    }
    let base = KeyValueRewriter()
    let store: KeyValueStore
    /// For how many copied commits it makes one.
    let ratio: Int
    /// It is not wanted any more once it catches up.
    var isGivenUp = false
    /// Commits whenever it is asked whether it is wanted.
    var commitsWhenAsked = false
    let counts = Locked(Counts())

    var isWanted: Bool {
      if commitsWhenAsked { commit(0) }
      return counts.withLock { counts in
        counts.asked += 1
        return !isGivenUp || counts.copied == 0
      }
    }

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

  private static func compact(
    ratio: Int, byteCount: Int = 1, bytesPerSecond: Int? = 1 << 40, isGivenUp: Bool = false,
    commitsWhenAsked: Bool = false
  ) throws -> RivalImager.Counts {
    var options = StoreOptions.small()
    options.durability = .relaxed
    let store = try KeyValueStore("a", disk: MemoryDisk(), options: options)
    try store.put("first", [UInt8](repeating: 1, count: byteCount))
    let rewriter = RivalImager(store: store, ratio: ratio, isGivenUp: isGivenUp, commitsWhenAsked: commitsWhenAsked)
    // Limited, and usually no slower for it.
    let pace = Pace(bytesPerSecond: bytesPerSecond, isWanted: { rewriter.isWanted }) { true }
    do { try store.stores.compact(rewriter, pace: pace) } catch {
      guard isGivenUp, case .refused = error else { throw error }
    }
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

  @Test("a slow compaction that commits outrun hears that it is not wanted any more")
  func hearsWhileCatchingUp() throws {
    // At its rate, because less is missing than was copied; each of its sleeps is a short one.
    let counts = try Self.compact(ratio: 1, byteCount: 3_000_000, bytesPerSecond: 1_000_000, isGivenUp: true)
    #expect(counts.copied > 0 && counts.copied < 300, "\(counts.copied) commits were copied for nothing")
  }

  @Test("a progress that commits does not wait for its own compaction", arguments: [nil, 1_000_000] as [Int?])
  func progressThatCommits(bytesPerSecond: Int?) throws {
    let counts = try Self.compact(ratio: 1, byteCount: 3_000_000, bytesPerSecond: bytesPerSecond, commitsWhenAsked: true)
    #expect(counts.copied >= 300)
  }

  @Test("a slow compaction that commits got far ahead of goes on as fast as it can")
  func hurriesAtOnce() throws {
    // At its rate the 300 commits would take a minute and a half, and it would be asked ten times a second whether it is wanted.
    let counts = try Self.compact(ratio: 1000, bytesPerSecond: 4_000)
    #expect(counts.copied >= 300 && counts.asked < 100, "it was asked \(counts.asked) times")
  }
}
