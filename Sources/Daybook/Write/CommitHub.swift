import DaybookEngine
import Synchronization

/// Reports commits to watchers, when they are published.
///
///     save, delete ─► ChangeRecorder ─► commit: queued, within the turn ─► sync ─► publish ─► watchers
///         nil without watchers
///
/// A commit is queued by its writer within the turn, so the queue is in the order of commits, and is delivered when the engine
/// says that its sequence has been published. The engine reports the commits of other processes where it publishes them. A
/// transaction that was rolled back is never queued; a commit whose sync failed is never published. A commit that began without
/// watchers kept no changes: a watcher that came before it was published gets a notice that says so.
final class CommitHub: Sendable {
  private struct Queued {
    let sequence: UInt64
    /// The number of its store. Where an older file has taken the name, others have its sequence.
    let store: Int
    let origin: Origin?
    let changes: CommitChanges?

    func notice(for interest: WatchInterest) -> WatchNotice? {
      guard let changes else { return .untold(sequence: sequence, origin: origin, .notWatched) }
      if let gap = changes.gap(for: interest) { return .untold(sequence: sequence, origin: origin, gap) }
      return changes.mayConcern(interest) ? .commit(changes) : nil
    }
  }

  private struct State {
    var queued: [Queued] = []
    /// What the changes of these commits take.
    var kept = ChangeRecorder.Mark()
    var watchers: [Int: (watcher: any CommitWatcher, interest: WatchInterest)] = [:]
    var nextNumber = 0
    var isFinished = false

    /// - Parameter store: the one that has published it. Its thread may say so late, when commits of a store that was opened since are
    ///   queued, and an older file may have given them lower numbers.
    mutating func publish(through sequence: UInt64, of store: Int = .max) {
      func isPublished(_ commit: Queued) -> Bool { commit.store <= store && commit.sequence <= sequence }
      guard let first = queued.first, isPublished(first) else { return }
      let count = queued.firstIndex { !isPublished($0) } ?? queued.count
      for commit in queued[..<count] {
        for (watcher, interest) in watchers.values {
          if let notice = commit.notice(for: interest) { watcher.tell(notice) }
        }
        if let changes = commit.changes { kept.subtract(changes.kept) }
      }
      queued.removeSubrange(..<count)
    }
  }

  private let state = Locked(State())
  private let watcherCount = Atomic<Int>(0)
  private let written = Atomic<UInt64>(0)
  private let limits: ChangeRecorder.Limits
  private let process = processID()

  init(limits: ChangeRecorder.Limits = .init()) { self.limits = limits }

  /// In a child after `fork` nothing is reported: its parent's threads may have held the lock.
  var isForked: Bool { process != processID() }

  /// The last commit that this open has written or was told of, visible or not; 0 before the first.
  var lastWritten: UInt64 { written.load(ordering: .acquiring) }

  /// What keeps the changes of a transaction that begins now; nil without watchers.
  func recorder() -> ChangeRecorder? {
    // Who comes later has missed this transaction.
    if watcherCount.load(ordering: .acquiring) == 0 { return nil }
    return state.withLock { state in
      let interests = Set(state.watchers.values.map(\.interest))
      return interests.isEmpty ? nil : ChangeRecorder(Array(interests), limits.left(beside: state.kept))
    }
  }

  /// A commit was written. Called within the turn, before it can be published.
  func enqueue(_ sequence: UInt64, of store: Int, _ origin: Origin?, _ changes: ChangeRecorder?) {
    written.store(sequence, ordering: .releasing)
    let changes = changes.map { CommitChanges(sequence: sequence, store: store, origin: origin, $0) }
    state.withLock { state in
      state.queued.append(Queued(sequence: sequence, store: store, origin: origin, changes: changes))
      if let changes { state.kept.add(changes.kept) }
    }
  }

  /// Commits of other processes are published; that is all that is known of them here. What is queued came before, so it is
  /// published, too; what is queued after the last commit known was lost with a writer that died.
  func pass(_ others: OthersCommits) {
    written.store(others.last, ordering: .releasing)
    state.withLock { state in
      state.publish(through: others.known)
      state.queued = []
      state.kept = .init()
      guard others.last > others.known || others.isReopened else { return }
      for (watcher, _) in state.watchers.values { watcher.tell(.others(others)) }
    }
  }

  func publish(through sequence: UInt64, of store: Int) { state.withLock { $0.publish(through: sequence, of: store) } }

  /// Reports to a watcher what is published from now on, as long as the returned watch lives; nil when the database is closed.
  func add(_ watcher: any CommitWatcher, _ interest: WatchInterest) -> CommitWatch? {
    if isForked { return nil }
    let number = state.withLock { state -> Int? in
      guard !state.isFinished else { return nil }
      state.nextNumber += 1
      state.watchers[state.nextNumber] = (watcher, interest)
      watcherCount.store(state.watchers.count, ordering: .releasing)
      return state.nextNumber
    }
    return number.map { CommitWatch(self, $0) }
  }

  fileprivate func remove(_ number: Int) {
    if isForked { return }
    // What goes with the watcher goes outside the lock.
    _ = state.withLock { state in
      defer { watcherCount.store(state.watchers.count, ordering: .releasing) }
      return state.watchers.removeValue(forKey: number)
    }
  }

  func finish() {
    if isForked { return }
    let watchers = state.withLock { state in
      state.isFinished = true
      defer {
        state.watchers = [:]
        watcherCount.store(0, ordering: .releasing)
      }
      return Array(state.watchers.values)
    }
    for (watcher, _) in watchers { watcher.finish() }
  }
}

/// A watcher's registration: ends when this is released.
final class CommitWatch: Sendable {
  private let hub: CommitHub
  private let number: Int

  fileprivate init(_ hub: CommitHub, _ number: Int) {
    self.hub = hub
    self.number = number
  }

  deinit { hub.remove(number) }
}
