import Synchronization

/// Compacts an open file: on request, and on a thread of its own when the store reports that a compaction is due.
///
///     let signal = CompactionSignal()
///     options.onCompactionDue = { signal.send() }         then open, make the switch, and the compactor of both
///
/// Always true: one compaction at a time; `stop` returns when none runs, and none begins after it.
package final class Compactor: Sendable {
  private let stores: StoreSwitch
  private let makeRewriter: @Sendable () -> any Rewriter
  private let bytesPerSecond: Int?
  private let signal: CompactionSignal

  private var failures: BackgroundFailures { stores.store.options.failures }

  /// - Parameter makeRewriter: for compactions that are due, as opposed to requested.
  package init(
    _ stores: StoreSwitch, bytesPerSecond: Int?, signal: CompactionSignal,
    makeRewriter: @escaping @Sendable () -> any Rewriter
  ) {
    self.stores = stores
    self.makeRewriter = makeRewriter
    self.bytesPerSecond = bytesPerSecond
    self.signal = signal
    signal.setWork { [weak self] in self?.compactIfDue() ?? true }
  }

  package func stop() { signal.stop() }

  package func compact(_ rewriter: any Rewriter) throws(StoreError) {
    let (signal, ends) = (signal, stores.endRequests)
    let pace = Pace(bytesPerSecond: bytesPerSecond, isWanted: { rewriter.isWanted }) { !signal.isStopped && !ends.isSuspending }
    try stores.compact(rewriter, pace: pace)
    failures[.compaction] = nil
  }

  /// False when a compaction was due and failed.
  private func compactIfDue() -> Bool {
    guard stores.store.isCompactionDue else { return true }
    do {
      try compact(makeRewriter())
      return true
    } catch {
      // Nobody asked for it; the database is as it was, and the file as large. Statistics tell.
      if !signal.isStopped, !stores.endRequests.isSuspending { failures[.compaction] = error }
      return false
    }
  }
}
