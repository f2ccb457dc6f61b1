import DaybookEngine

/// What is told of commits together with others that want to know of the same zones and types.
protocol ObservationTarget: AnyObject, Sendable {
  /// What a change has to have to concern it; nil where each has to be tested.
  var key: ObservationKey? { get }
  /// A commit that changed some of the zones and types: `records` are those of its changes.
  func tell(_ commit: CommitChanges, _ records: [RecordChange])
  /// Something was changed, and nothing more is known.
  func tellOfUnknown()
  /// The database is closed.
  func finish()
}

/// All observations of a database, by what they want to know.
///
///     commit ─► hub ─► group: keeps the notice, wakes its thread   ─► each observation that it may concern: does it?
///                      (on the writer's thread)                        (on the group's thread) ─► wakes its consumer, or not
///
/// However many observations there are, a writer pays for the groups only: one for each set of zones and types.
final class ObservationGroups: Sendable {
  private let hub: CommitHub
  private let queues: WorkQueues
  private let groups = Locked<[WatchInterest: (group: ObservationGroup, watch: CommitWatch)]>([:])

  init(_ hub: CommitHub, _ queues: WorkQueues) {
    self.hub = hub
    self.queues = queues
  }

  /// In a child after `fork` no observation is told anything.
  var areForked: Bool { hub.isForked }

  var groupCount: Int { groups.withLock { $0.count } }

  /// Tells a target of all that is published from now on, until it is removed. Returns whether the database is open.
  func add(_ target: any ObservationTarget, _ interest: WatchInterest) -> Bool {
    if areForked { return false }
    return groups.withLock { groups in
      if let group = groups[interest]?.group { return group.add(target) }
      let group = ObservationGroup(interest, queues)
      guard let watch = hub.add(group, interest) else { return false }
      groups[interest] = (group, watch)
      return group.add(target)
    }
  }

  func remove(_ target: any ObservationTarget, _ interest: WatchInterest) {
    if areForked { return }
    // What goes with the last one goes outside the lock.
    _ = groups.withLock { groups -> CommitWatch? in
      guard let (group, watch) = groups[interest], group.remove(target) else { return nil }
      groups[interest] = nil
      return watch
    }
  }
}

/// Observations that want to know of the same zones and types.
final class ObservationGroup: CommitWatcher {
  /// What waits for the group's thread at most; more than that is only known to have been. The bodies are those of the
  /// commits, which keep them for all groups.
  private static let noticeLimit = 4096
  private static let recordLimit = 200_000
  private static let bodyByteLimit = 64 << 20

  private struct State {
    var notices: [WatchNotice] = []
    var recordCount = 0
    var bodyByteCount = 0
    var isOverfull = false
    /// Whether the group's thread runs, or will.
    var isAwake = false
    var targets = ObservationIndex()
    /// The database is closed: a target that is added now would never be told.
    var isFinished = false
  }

  private let state = Locked(State())
  private let interest: WatchInterest
  private let queues: WorkQueues

  init(_ interest: WatchInterest, _ queues: WorkQueues) {
    self.interest = interest
    self.queues = queues
  }

  /// Returns whether the database is open.
  func add(_ target: any ObservationTarget) -> Bool {
    state.withLock { state in
      if state.isFinished { return false }
      state.targets.add(target)
      return true
    }
  }

  /// Returns whether it was the last one.
  func remove(_ target: any ObservationTarget) -> Bool {
    state.withLock { $0.targets.remove(target) && $0.targets.isEmpty }
  }

  func tell(_ notice: WatchNotice) {
    let isAsleep = state.withLock { state in
      if !state.isOverfull {
        if case .commit(let changes) = notice {
          state.recordCount += changes.kept.count
          state.bodyByteCount += changes.kept.bodyByteCount
        }
        state.notices.append(notice)
        if state.notices.count > Self.noticeLimit || state.recordCount > Self.recordLimit
          || state.bodyByteCount > Self.bodyByteLimit
        {
          state.isOverfull = true
          state.notices = []
        }
      }
      defer { state.isAwake = true }
      return !state.isAwake
    }
    if isAsleep { queues.observe { [self] in tellTargets() } }
  }

  func finish() {
    let targets = state.withLock { state in
      state.isFinished = true
      return state.targets.all
    }
    for target in targets { target.finish() }
  }

  /// Tells the targets what has come, until nothing comes any more. One that was added after a notice came reads a version in
  /// which the commit is.
  private func tellTargets() {
    while true {
      let (notices, isOverfull, targets) = state.withLock { state in
        let taken = (state.notices, state.isOverfull, state.targets)
        state.notices = []
        (state.recordCount, state.bodyByteCount, state.isOverfull) = (0, 0, false)
        if taken.0.isEmpty, !taken.1 { state.isAwake = false }
        return taken
      }
      if notices.isEmpty, !isOverfull { return }
      if isOverfull { for target in targets.all { target.tellOfUnknown() } }
      for notice in notices {
        if case .commit(let changes) = notice {
          targets.tell(changes, changes.records(for: interest))
        } else {
          for target in targets.all { target.tellOfUnknown() }
        }
      }
    }
  }
}
