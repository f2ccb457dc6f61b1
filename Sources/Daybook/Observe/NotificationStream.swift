import DaybookEngine

/// What `Database.notifications` hands out: one queue of notifications.
///
///     commit ─► tell: keeps the notice ─► consumer asks: reads the subscriptions, tests the records ─► notifications
///
/// The subscriptions are read for each batch of commits, so those count that were saved before, here or by another process.
final class NotificationStream: CommitWatcher {
  /// More than this is not kept for a slow consumer: each subscription then tells that something was missed.
  static let noticeLimit = 1024
  static let bodyByteLimit = 32 << 20

  private struct State: MailboxState {
    var notices: [WatchNotice] = []
    var bodyByteCount = 0
    /// Something came of which nothing is known.
    var gap: Gap?
    var ready: [Ready] = []
    /// Subscriptions that fire once, were told and could not be deleted yet.
    var owed: [Firing] = []
    var isBusy = false
    /// The subscriptions could not be read. With the next commit it is tried again.
    var isStalled = false
    var isFinished = false
    var known = Known()
    /// How often another history has come.
    var historyCount = 0

    /// Whether one of those who wait may evaluate what came.
    var hasWork: Bool { !isBusy && !isStalled && (gap != nil || !notices.isEmpty) }

    var isReady: Bool { isFinished || !ready.isEmpty || hasWork }

    mutating func dropNotices(through sequence: UInt64, inAnotherHistory: Bool = false) {
      widenGap(by: Gap(last: sequence, isInAnotherHistory: inAnotherHistory))
      notices = []
      bodyByteCount = 0
    }

    /// Nothing that was found before is to be deleted.
    mutating func forgetFirings() {
      historyCount += 1
      owed = []
      for index in ready.indices { ready[index].firing = nil }
    }

    mutating func widenGap(by other: Gap) {
      gap = Gap(
        last: max(gap?.last ?? 0, other.last), isInAnotherHistory: gap?.isInAnotherHistory ?? false || other.isInAnotherHistory)
    }
  }

  /// Commits of which nothing is known.
  struct Gap {
    let last: UInt64
    /// Commits that were known are gone, and others may have their numbers.
    let isInAnotherHistory: Bool

    func mayHaveCommits(after since: UInt64) -> Bool {
      (isInAnotherHistory && !isMutant("since-in-any-history")) || last > since
    }
  }

  /// What is kept from one batch of commits to the next.
  struct Known: Sendable {
    var stored: StoredSubscriptions?
    /// Subscriptions that fire once and did, by the commits that saved them.
    var fired: [Subscription.ID: UInt64] = [:]
  }

  private enum Step {
    case end, wait
    case hand(Ready)
    case evaluate([WatchNotice], gap: Gap?, Known, history: Int)
  }

  private let mailbox = Mailbox(State())
  private let excluded: Origin?

  private init(excluding origin: Origin?) { excluded = origin }

  static func make(of database: Database, excluding origin: Origin?) -> AsyncStream<SubscriptionNotification> {
    let stream = NotificationStream(excluding: origin)
    guard let watch = database.hub.add(stream, WatchInterest()) else { return AsyncStream { nil } }
    // The closure keeps the watch; with the stream it ends.
    return AsyncStream {
      await withTaskCancellationHandler {
        await withExtendedLifetime(watch) { stream }.next(of: database)
      } onCancel: {
        stream.finish()
      }
    }
  }

  func tell(_ notice: WatchNotice) {
    mailbox.withState { state in
      switch notice {
      case .commit(let changes):
        if excluded != nil, changes.origin == excluded { return }
        // As one that deletes a subscription: hundreds of them must not displace what there is to tell.
        if changes.isEmpty { break }
        state.notices.append(notice)
        state.bodyByteCount += changes.kept.bodyByteCount
        if state.notices.count > Self.noticeLimit || state.bodyByteCount > Self.bodyByteLimit {
          state.dropNotices(through: changes.sequence)
        }
      case .untold(let sequence, let origin, _):
        if excluded != nil, origin == excluded { return }
        state.dropNotices(through: sequence)
      case .others(let others):
        let isInAnotherHistory = others.lastCommon < others.known
        state.dropNotices(through: others.last, inAnotherHistory: isInAnotherHistory)
        // There they may not have fired.
        if isInAnotherHistory { state.forgetFirings() }
      }
      state.isStalled = false
    }
  }

  func finish() { mailbox.withState { $0.isFinished = true } }

  private func next(of database: Database) async -> SubscriptionNotification? {
    while true {
      switch takeStep() {
      case .end: return nil
      case .wait: await mailbox.wait()
      case .hand(let ready): if await claim(ready.firing, in: database) { return ready.notification }
      case .evaluate(let notices, let gap, let known, let history):
        let found = try? await database.queues.read { [self] in
          try database.reading { (view) throws(DatabaseError) in try evaluate(notices, gap, known, history, view) }
        }
        // What is owed may be paid now.
        _ = await claim(nil, in: database)
        mailbox.withState { state in
          state.isBusy = false
          if let found {
            state.ready += found.ready
            state.known = found.known
          } else {
            // What came meanwhile is reason enough to try again.
            state.isStalled = state.gap == nil && state.notices.isEmpty
            if let gap { state.widenGap(by: gap) }
            if let last = notices.last { state.widenGap(by: Gap(last: last.sequence, isInAnotherHistory: false)) }
          }
        }
      }
    }
  }

  /// Deletes a subscription that fires once and is about to be told, and those that are owed. Waits like a transaction, on no thread of
  /// the reads.
  /// - Returns: whether to tell it. If nothing can be written, each stream does; a cancelled one leaves it to the others.
  private func claim(_ firing: Firing?, in database: Database) async -> Bool {
    let owed = mailbox.withState { state in
      defer { state.owed = [] }
      return state.owed
    }
    if firing == nil && owed.isEmpty { return true }
    do {
      return try await database.write { [self] transaction in
        // Another history may have come at any moment, also with this turn: what was found before deletes nothing there.
        let present = mailbox.withState { $0.historyCount }
        for one in owed where one.history == present { _ = try one.claim(in: transaction.context) }
        guard let firing, firing.history == present else { return true }
        return try firing.claim(in: transaction.context)
      }
    } catch {
      let isCancelled = error is CancellationError
      mailbox.withState { state in
        state.owed += owed
        if let firing, !isCancelled { state.owed.append(firing) }
      }
      return !isCancelled
    }
  }

  private func takeStep() -> Step {
    mailbox.withState { state in
      if !state.ready.isEmpty { return .hand(state.ready.removeFirst()) }
      if state.isFinished { return .end }
      guard state.hasWork else { return .wait }
      state.isBusy = true
      defer {
        state.notices = []
        state.bodyByteCount = 0
        state.gap = nil
      }
      return .evaluate(state.notices, gap: state.gap, state.known, history: state.historyCount)
    }
  }

  private func evaluate(
    _ notices: [WatchNotice], _ gap: Gap?, _ known: Known, _ history: Int, _ view: ReadView
  ) throws(DatabaseError) -> Found {
    let database = view.database
    var known = known
    // There a subscription that has fired may be one that has not.
    if gap?.isInAnotherHistory ?? false { known.fired = [:] }
    var firing: [Subscription.ID: Firing] = [:]
    let all = try StoredSubscriptions(view, last: known.stored)
    known.stored = all
    var gathered = GatheredNotifications(lastSequence: notices.last?.sequence ?? gap?.last)
    // Those that went with their zones hear of that, and of what came before.
    for case .commit(let changes) in notices {
      for stored in changes.zoneChanges.flatMap({ $0.deletion?.subscriptions ?? [] }) {
        if known.fired[stored.subscription.id] == stored.since { continue }
        if gathered.isFull {
          // That its zone went is enough to know.
          gathered.appendMissed(stored.subscription)
          continue
        }
        var test = SubscriptionTest(stored.subscription, database, gathered.room(for: stored.subscription))
        for case .commit(let other) in notices where other.sequence > stored.since && other.sequence <= changes.sequence {
          test.look(at: other)
        }
        gathered.append(test)
      }
    }
    for stored in all.list {
      // In a copy of a file commits may have lower numbers than they had.
      let since = stored.since > view.sequence ? 0 : stored.since
      let subscription = stored.subscription
      if known.fired[subscription.id] == stored.since { continue }
      var test = SubscriptionTest(subscription, database, gathered.room(for: subscription))
      if let gap, gap.mayHaveCommits(after: since) { test.tellMissed(through: gap.last) }
      for case .commit(let changes) in notices where changes.sequence > since { test.look(at: changes) }
      guard let first = test.found.first else { continue }
      if subscription.firesOnce, subscription.isOfQuery, first.content != .missed {
        known.fired[subscription.id] = stored.since
        firing[subscription.id] = try Firing(stored, view, history)
      }
      gathered.append(test)
    }
    // What they fire for was not told: they fire for the next.
    if gathered.isFull {
      for id in firing.keys { known.fired[id] = nil }
      firing = [:]
    }
    // The last one of an ID is its subscription's: those before are of one that went with its zone.
    var ready: [Ready] = []
    for notification in gathered.notifications.reversed() {
      ready.append(Ready(notification: notification, firing: firing.removeValue(forKey: notification.subscription.id)))
    }
    ready.reverse()
    return Found(ready: ready, known: known)
  }
}

extension WatchNotice {
  fileprivate var sequence: UInt64 {
    switch self {
    case .commit(let changes): changes.sequence
    case .untold(let sequence, _, _): sequence
    case .others(let others): others.last
    }
  }
}

extension Database {
  /// What the subscriptions tell of commits from now on. Loops over one stream share it: ask for a stream for each.
  ///
  /// A notification is a hint, and none is kept for an application that does not run: an application that has to know all fetches
  /// changes with the token of the last look, at its start and for each notification. Commits of other processes, and those that were
  /// too many for a slow consumer, make one notification of each subscription, whose content is
  /// ``SubscriptionNotification/Content/missed``. A subscription that fires once is deleted just before it is told, so one
  /// stream gets it, in one process. Where it cannot be deleted, as in a file that is read-only, each does, and deletes it when
  /// something comes again; where it is saved again or goes with its zone meanwhile, several may. The stream ends with the
  /// database, which it keeps open.
  /// - Parameter origin: commits of this origin are left out, so that a device is not told of its own; nil for none.
  public func notifications(excluding origin: Origin? = nil) -> AsyncStream<SubscriptionNotification> {
    NotificationStream.make(of: self, excluding: origin)
  }
}
