/// A read-only open shows every commit that was acknowledged before it began.
///
/// Beside a live writer, only what it has proven durable may be shown, and a commit is proven by a later frame: the next
/// commit, or the note that the maintenance thread writes when writers are idle. So the last commits in the log may be acknowledged or not,
/// and nothing says which. The open waits for the proof: it looks every few milliseconds until everything that it found at
/// first is proven. If that thread finds that someone reads, it writes its note after a short pause (`MaintenanceThread`).
///
///     open ─► plan, cut to what is proven ─► replay ─► was more there? ── no ──► done
///                                                          └─ yes ─► refresh ─► proven? the writer gone? time over?
///
/// A writer that is stopped, or whose sync has failed, never proves it. Then the open ends after `proofTimeoutNanoseconds` with
/// what is proven, and sets `recovery.isBehindWriter`.
extension Store {
  /// Opens a store that shows everything that was acknowledged so far.
  package static func openProven(
    _ path: String, born: (any DiskFile)? = nil, disk: any Disk, options: StoreOptions, applier: () -> any Applier
  ) throws(StoreError) -> Store {
    var end: UInt64?
    while true {
      let store = try open(path, born: born, disk: disk, options: options, applier: applier())
      guard store.recovery.unprovenSequence != nil, !isMutant("open-behind-writer") else { return store }
      let start = SystemClock.monotonicNanoseconds()
      let limit = end ?? start + min(options.proofTimeoutNanoseconds, .max - start)
      end = limit
      if store.waitForProof(until: limit) { return store }
      // The writer has died, or another file has the name: a new open finds out what is valid.
      try? store.close()
    }
  }

  /// Looks again until everything that was in the log is proven. False when the file must be opened again.
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
        // What the open has found is still valid; the next refresh reports the error.
        recovery.isBehindWriter = true
        return true
      }
    }
    recovery.unprovenSequence = nil
    return true
  }
}
