import Synchronization

/// Compacts an open file: when it is asked to, and on a thread of its own when the store says that it is time.
///
///     let signal = CompactionSignal()
///     options.onCompactionDue = { signal.send() }         then open, make the switch, and the compactor of both
///
/// Always true: one compaction at a time; `stop` returns when none runs, and none begins after it.
package final class Compactor: Sendable {
  private let stores: StoreSwitch
  private let makeImager: @Sendable () -> any Imager
  private let bytesPerSecond: Int?
  private let signal: CompactionSignal

  /// - Parameter makeImager: for the compactions that nobody asks for.
  package init(
    _ stores: StoreSwitch, bytesPerSecond: Int?, signal: CompactionSignal,
    makeImager: @escaping @Sendable () -> any Imager
  ) {
    self.stores = stores
    self.makeImager = makeImager
    self.bytesPerSecond = bytesPerSecond
    self.signal = signal
    signal.setWork { [weak self] in self?.compactIfDue() ?? true }
  }

  package func stop() { signal.stop() }
  /// Whatever compacts gives up, and nothing begins until `goOn`.
  package func pause() { signal.isPaused = true }
  package func goOn() { signal.isPaused = false }

  package func compact(_ imager: any Imager) throws(StoreError) {
    let signal = signal
    try stores.compact(imager, pace: Pace(bytesPerSecond: bytesPerSecond) { !signal.isStopped && !signal.isPaused })
  }

  /// False when it was due and failed.
  private func compactIfDue() -> Bool {
    guard stores.store.isCompactionDue else { return true }
    do {
      try compact(makeImager())
      return true
    } catch {
      // Nobody asked for it; the database is as it was, and the file as large.
      return false
    }
  }
}
