import DaybookEngine
import Synchronization

/// Hands commit notices to those who subscribed, once the commits are visible.
///
/// A notice is queued by its writer within the turn, so the queue is in the order of commits, and goes out when the engine
/// says that its sequence has been published. Commits of others are told by the engine where it shows them. A slow consumer keeps at most 1,024 notices; what comes then is counted in
/// one `.missed`. A commit that began when nobody listened kept no notes: whoever listens when it becomes visible has
/// missed it, and is told so.
final class CommitHub: Sendable {
  private struct State {
    var queued: [(commit: CommitNotice.Commit, isComplete: Bool)] = []
    var subscribers: [Int: Subscriber] = [:]
    var nextNumber = 0
    var isFinished = false

    mutating func publish(through sequence: UInt64) {
      guard let first = queued.first, first.commit.sequence <= sequence else { return }
      let count = queued.firstIndex { $0.commit.sequence > sequence } ?? queued.count
      for (commit, isComplete) in queued[..<count] {
        for subscriber in subscribers.values { subscriber.offer(commit, isComplete: isComplete) }
      }
      queued.removeSubrange(..<count)
    }
  }

  private let state = Locked(State())
  private let written = Atomic<UInt64>(0)

  init() {}

  /// The last commit of this database that was written, visible or not; 0 before the first.
  var lastWritten: UInt64 { written.load(ordering: .acquiring) }

  var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

  func enqueue(_ commit: CommitNotice.Commit, isComplete: Bool) {
    written.store(commit.sequence, ordering: .releasing)
    state.withLock { $0.queued.append((commit, isComplete)) }
  }

  /// Commits of others are visible; that they are there is all that is known of them here. What is queued came before, so it
  /// is visible, too; what lies behind the last that was known went with a writer that died.
  func pass(_ others: OthersCommits) {
    written.store(others.last, ordering: .releasing)
    state.withLock { state in
      state.publish(through: others.known)
      state.queued = []
      guard others.last > others.known else { return }
      for subscriber in state.subscribers.values { subscriber.miss(others.known + 1...others.last) }
    }
  }

  func publish(through sequence: UInt64) { state.withLock { $0.publish(through: sequence) } }

  func subscribe(excluding origin: Origin?) -> AsyncStream<CommitNotice> {
    let subscriber = Subscriber(excluding: origin)
    let number = state.withLock { state -> Int? in
      guard !state.isFinished else { return nil }
      state.nextNumber += 1
      state.subscribers[state.nextNumber] = subscriber
      return state.nextNumber
    }
    guard let number else { subscriber.finish(); return AsyncStream { nil } }
    // The stream's closure keeps this alive; with the stream the subscription ends.
    let membership = Membership { [self] in _ = state.withLock { $0.subscribers.removeValue(forKey: number) } }
    return AsyncStream {
      await withTaskCancellationHandler {
        await membership.keep(subscriber).next()
      } onCancel: {
        subscriber.finish()
      }
    }
  }

  func finish() {
    let subscribers = state.withLock { state in
      state.isFinished = true
      defer { state.subscribers = [:] }
      return Array(state.subscribers.values)
    }
    for subscriber in subscribers { subscriber.finish() }
  }

  private final class Membership: Sendable {
    private let leave: @Sendable () -> Void
    init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }
    deinit { leave() }
    func keep(_ subscriber: Subscriber) -> Subscriber { subscriber }
  }

  /// One stream's queue.
  private final class Subscriber: Sendable {
    private static let limit = 1024
    private struct State {
      var notices: [CommitNotice] = []
      var missed: (from: UInt64, to: UInt64)?
      /// Loops that wait, in the order in which they came: there may be several over one stream. Empty while there are notices.
      var waiting: [CheckedContinuation<CommitNotice?, Never>] = []
      var isFinished = false
    }
    private let state = Locked(State())
    private let excluded: Origin?

    init(excluding origin: Origin?) { excluded = origin }

    func offer(_ commit: CommitNotice.Commit, isComplete: Bool) {
      if let excluded, commit.origin == excluded { return }
      isComplete ? deliver(.commit(commit), commit.sequence...commit.sequence) : miss(commit.sequence...commit.sequence)
    }

    /// Commits of which nothing but their number can be told.
    func miss(_ sequences: ClosedRange<UInt64>) {
      deliver(.missed(from: sequences.lowerBound, to: sequences.upperBound), sequences)
    }

    /// Hands a notice to whoever waits, or keeps it; behind a `.missed`, or when too many are kept, it is one more of those.
    private func deliver(_ notice: CommitNotice, _ sequences: ClosedRange<UInt64>) {
      let waiting = state.withLock { state -> CheckedContinuation<CommitNotice?, Never>? in
        if state.isFinished { return nil }
        if !state.waiting.isEmpty { return state.waiting.removeFirst() }
        if state.missed != nil {
          state.missed!.to = sequences.upperBound
        } else if state.notices.count >= Subscriber.limit {
          state.missed = (sequences.lowerBound, sequences.upperBound)
        } else {
          state.notices.append(notice)
        }
        return nil
      }
      waiting?.resume(returning: notice)
    }

    func next() async -> CommitNotice? {
      await withCheckedContinuation { continuation in
        let ready = state.withLock { state -> CommitNotice?? in
          if !state.notices.isEmpty { return .some(state.notices.removeFirst()) }
          if let missed = state.missed {
            state.missed = nil
            return .some(.missed(from: missed.from, to: missed.to))
          }
          if state.isFinished { return .some(nil) }
          state.waiting.append(continuation)
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    }

    func finish() {
      let waiting = state.withLock { state in
        state.isFinished = true
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume(returning: nil) }
    }
  }
}
