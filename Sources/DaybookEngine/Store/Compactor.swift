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

/// The thread that compacts, started when it is wanted for the first time.
package final class CompactionSignal: Sendable {
  private struct State {
    var work: (@Sendable () -> Bool)?
    var thread: BackgroundThread?
    var isDue = false
    /// After a failure, how long to wait before the next attempt.
    var delayNanoseconds: UInt64 = 0
  }

  private let state = Locked(State())
  private let monitor = Monitor()
  private let stopped = Atomic<Bool>(false)
  private let paused = Atomic<Bool>(false)
  private static let firstDelayNanoseconds: UInt64 = 10_000_000_000
  private static let longestDelayNanoseconds: UInt64 = 600_000_000_000

  package init() {}

  var isStopped: Bool { stopped.load(ordering: .acquiring) }
  /// While the database is suspended: whatever compacts gives up.
  var isPaused: Bool {
    get { paused.load(ordering: .acquiring) }
    set { paused.store(newValue, ordering: .releasing) }
  }

  func setWork(_ work: @escaping @Sendable () -> Bool) { state.withLock { $0.work = work } }

  /// The store asks; any thread.
  package func send() {
    if isStopped { return }
    state.withLock { state in
      state.isDue = true
      if state.thread == nil {
        state.thread = BackgroundThread(name: "daybook.compaction") { [self] in run() }
      }
    }
    monitor.withLock { monitor.broadcast() }
  }

  func stop() {
    stopped.store(true, ordering: .releasing)
    monitor.withLock { monitor.broadcast() }
    let thread = state.withLock { state -> BackgroundThread? in
      defer { state.thread = nil }
      return state.thread
    }
    thread?.join()
  }

  private func run() {
    while !isStopped {
      let (work, delay) = state.withLock { state -> ((@Sendable () -> Bool)?, UInt64) in
        guard state.isDue else { return (nil, 0) }
        state.isDue = false
        return (state.work, state.delayNanoseconds)
      }
      if delay > 0 { sleep(nanoseconds: delay) }
      guard let work, !isStopped else {
        monitor.lock()
        if !isStopped, state.withLock({ !$0.isDue }) { monitor.wait() }
        monitor.unlock()
        continue
      }
      let isDone = work()
      state.withLock { state in
        state.delayNanoseconds =
          isDone ? 0 : min(max(2 * state.delayNanoseconds, Self.firstDelayNanoseconds), Self.longestDelayNanoseconds)
      }
    }
  }

  private func sleep(nanoseconds: UInt64) {
    let end = SystemClock.monotonicNanoseconds() + nanoseconds
    monitor.lock()
    defer { monitor.unlock() }
    while !isStopped {
      let now = SystemClock.monotonicNanoseconds()
      if now >= end { return }
      _ = monitor.wait(nanoseconds: end - now)
    }
  }
}
