/// A read-only open shows every commit that was acknowledged before it began.
///
/// Beside a live writer only what it has proven durable may be shown, and what proves a commit is the frame behind it: the next
/// commit's, or the note that the keeper writes when writers rest. So the last commits may stand in the log, acknowledged or not,
/// and nothing says which. The open waits for the word: it looks again every few milliseconds until what it saw at first is
/// proven. A keeper that finds somebody reading writes its note after a short rest (`Keeper`).
///
///     open ─► plan, cut to what is proven ─► replay ─► was more there? ── no ──► done
///                                                          └─ yes ─► refresh ─► proven? the writer gone? time over?
///
/// A writer that is stopped, or whose sync has failed, never says it; then the open ends after `proofTimeoutNanoseconds` with
/// what is proven, and `recovery.isBehindWriter` tells.
extension Store {
  /// Opens a store for whoever wants to see all that was acknowledged so far.
  package static func openProven(
    _ path: String, disk: any Disk, options: StoreOptions, applier: () -> any Applier
  ) throws(StoreError) -> Store {
    var end: UInt64?
    while true {
      let store = try open(path, disk: disk, options: options, applier: applier())
      guard store.recovery.unprovenSequence != nil, !isMutant("open-behind-writer") else { return store }
      let start = SystemClock.monotonicNanoseconds()
      let limit = end ?? start + min(options.proofTimeoutNanoseconds, .max - start)
      end = limit
      if store.waitForProof(until: limit) { return store }
      // The writer has died, or another file has the name: whoever opens now finds out what holds.
      try? store.close()
    }
  }

  /// Looks again until everything that stood in the log is proven. False when the file has to be opened again.
  private func waitForProof(until end: UInt64) -> Bool {
    var pause: UInt64 = 500_000
    while let wanted = recovery.unprovenSequence, log.tail.sequence < wanted {
      recovery.isBehindWriter = SystemClock.monotonicNanoseconds() >= end
      if recovery.isBehindWriter { return true }
      SystemClock.sleep(nanoseconds: pause)
      pause = min(2 * pause, 4_000_000)
      do {
        if case .moved = try refresh() { return false }
      } catch {
        // What the open has found is as good as before; the next look tells of this.
        recovery.isBehindWriter = true
        return true
      }
    }
    recovery.unprovenSequence = nil
    return true
  }
}
