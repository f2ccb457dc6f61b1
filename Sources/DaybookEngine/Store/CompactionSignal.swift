import Synchronization

/// The compaction thread, started when it is first needed.
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
  private static let firstDelayNanoseconds: UInt64 = 10_000_000_000
  private static let longestDelayNanoseconds: UInt64 = 600_000_000_000

  package init() {}

  var isStopped: Bool { stopped.load(ordering: .acquiring) }

  func setWork(_ work: @escaping @Sendable () -> Bool) { state.withLock { $0.work = work } }

  /// Called by the store when a compaction is due, on any thread.
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
