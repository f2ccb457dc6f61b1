import DaybookEngine
import Synchronization

extension Database {
  /// Makes the file anew with only what lives in it: the present version of each record, tombstones, metadata.
  ///
  /// Reads and writes go on meanwhile, and snapshots keep reading the old file. Sequences, change tags, tokens and dates stay
  /// as they are; older versions of records go, so ``history(of:)`` begins anew. Takes free space for what lives. In the
  /// background this happens by itself, see ``Options/Compaction``.
  /// - Parameter progress: called with the records done and all records; false stops with `operationCancelled`, and the
  ///   database is as it was.
  /// - Throws: `diskFull` and `ioFailed` leave the database as it was; `outcomeUnknown` when the last step failed, which
  ///   gives the new file its name: only opening it again tells which of the two it leads to. Both hold every commit.
  public func compact(progress: ((_ done: Int, _ total: Int) -> Bool)? = nil) throws(DatabaseError) {
    guard let compactor else { throw DatabaseError(.readOnly, facts: .init(path: path)) }
    do { try compactor.compact(progress) } catch { throw DatabaseError(error, path: path) }
  }
}

/// Compacts a database: when it is asked to, and on a thread of its own when the engine says that it is time.
///
/// Always true: one compaction at a time; `stop` returns when none runs, and none begins after it.
final class Compactor: Sendable {
  private let stores: StoreSwitch
  private let options: Database.Options
  private let signal: CompactionSignal

  init(_ stores: StoreSwitch, options: Database.Options, signal: CompactionSignal) {
    self.stores = stores
    self.options = options
    self.signal = signal
    signal.setWork { [weak self] in self?.compactIfDue() ?? true }
  }

  func stop() { signal.stop() }
  func pause() { signal.isPaused = true }
  func goOn() { signal.isPaused = false }

  func compact(_ progress: ((_ done: Int, _ total: Int) -> Bool)?) throws(StoreError) {
    try run(progress)
  }

  /// False when it was due and failed.
  private func compactIfDue() -> Bool {
    guard stores.store.isCompactionDue else { return true }
    do {
      try run(nil)
      return true
    } catch {
      // Nobody asked for it; the database is as it was, and the file as large.
      return false
    }
  }

  private func run(_ progress: ((_ done: Int, _ total: Int) -> Bool)?) throws(StoreError) {
    let signal = signal
    let pace = Pace(bytesPerSecond: options.compaction.bytesPerSecond) { !signal.isStopped && !signal.isPaused }
    try stores.compact(RecordImager(options: options, progress: progress), pace: pace)
  }
}

/// The thread that compacts, started when it is wanted for the first time.
final class CompactionSignal: Sendable {
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

  var isStopped: Bool { stopped.load(ordering: .acquiring) }
  /// While the database is suspended: whatever compacts gives up.
  var isPaused: Bool {
    get { paused.load(ordering: .acquiring) }
    set { paused.store(newValue, ordering: .releasing) }
  }

  func setWork(_ work: @escaping @Sendable () -> Bool) { state.withLock { $0.work = work } }

  /// The engine asks; any thread.
  func send() {
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
