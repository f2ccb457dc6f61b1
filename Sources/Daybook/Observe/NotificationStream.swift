import DaybookEngine

/// What `Database.notifications` hands out: one queue of notifications.
///
///     commit ─► tell: keeps the notice ─► consumer asks: reads the subscriptions, tests the records ─► notifications
///
/// The subscriptions are read for each batch of commits, so those count that were saved before, here or by another process.
final class NotificationStream: CommitWatcher {
  /// More than this is not kept for a slow consumer: each subscription then tells that something was missed.
  private static let noticeLimit = 1024
  private static let bodyByteLimit = 32 << 20

  private struct State {
    var notices: [WatchNotice] = []
    var bodyByteCount = 0
    /// Something came of which nothing is known; the last such commit.
    var missed: UInt64?
    var ready: [SubscriptionNotification] = []
    var isBusy = false
    var waiting: [CheckedContinuation<Void, Never>] = []
    var isFinished = false
    var known = Known()

    mutating func miss(_ sequence: UInt64) {
      missed = max(missed ?? 0, sequence)
      notices = []
      bodyByteCount = 0
    }

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
      defer { waiting = [] }
      return waiting
    }
  }

  /// What is kept from one batch of commits to the next.
  private struct Known: Sendable {
    var stored: StoredSubscriptions?
    /// Subscriptions that fire once and did, by the commits that saved them.
    var fired: [Subscription.ID: UInt64] = [:]
  }

  private enum Step {
    case end, wait
    case hand(SubscriptionNotification)
    case evaluate([WatchNotice], missed: UInt64?, Known)
  }

  private let state = Locked(State())
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
    let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      switch notice {
      case .commit(let changes):
        if excluded != nil, changes.origin == excluded { return [] }
        state.notices.append(notice)
        state.bodyByteCount += changes.kept.bodyByteCount
        if state.notices.count > Self.noticeLimit || state.bodyByteCount > Self.bodyByteLimit { state.miss(changes.sequence) }
      case .untold(let sequence, let origin, _):
        if excluded != nil, origin == excluded { return [] }
        state.miss(sequence)
      case .others(let others): state.miss(others.last)
      }
      return state.takeWaiting()
    }
    for continuation in waiting { continuation.resume() }
  }

  func finish() {
    let waiting = state.withLock { state in
      state.isFinished = true
      return state.takeWaiting()
    }
    for continuation in waiting { continuation.resume() }
  }

  private func next(of database: Database) async -> SubscriptionNotification? {
    while true {
      switch takeStep() {
      case .end: return nil
      case .wait: await waitForWork()
      case .hand(let notification): return notification
      case .evaluate(let notices, let missed, let known):
        let found = try? await database.queues.read { [self] in try evaluate(notices, missed, known, database) }
        let waiting = state.withLock { state in
          state.isBusy = false
          if let found {
            state.ready += found.notifications
            state.known = found.known
          } else if !state.isFinished {
            // The subscriptions could not be read. With the next commit it is tried again.
            state.missed = max(state.missed ?? 0, missed ?? notices.last?.sequence ?? 0)
            state.notices = []
          }
          return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume() }
        if found == nil { await waitForCommit() }
      }
    }
  }

  private func takeStep() -> Step {
    state.withLock { state in
      if !state.ready.isEmpty { return .hand(state.ready.removeFirst()) }
      if state.isFinished { return .end }
      guard !state.isBusy, state.missed != nil || !state.notices.isEmpty else { return .wait }
      state.isBusy = true
      defer {
        state.notices = []
        state.bodyByteCount = 0
        state.missed = nil
      }
      return .evaluate(state.notices, missed: state.missed, state.known)
    }
  }

  private func waitForWork() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        let hasWork = !state.isBusy && (state.missed != nil || !state.notices.isEmpty)
        if state.isFinished || !state.ready.isEmpty || hasWork { return true }
        state.waiting.append(continuation)
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  private func waitForCommit() async {
    await withCheckedContinuation { continuation in
      let isFinished = state.withLock { state in
        if !state.isFinished { state.waiting.append(continuation) }
        return state.isFinished
      }
      if isFinished { continuation.resume() }
    }
  }

  // MARK: what has fired

  private func evaluate(
    _ notices: [WatchNotice], _ missed: UInt64?, _ known: Known, _ database: Database
  ) throws(DatabaseError) -> (notifications: [SubscriptionNotification], known: Known) {
    var known = known
    let (all, newest) = try database.reading { (view) throws(DatabaseError) in
      (try StoredSubscriptions(view, last: known.stored), view.sequence)
    }
    known.stored = all
    var notifications: [SubscriptionNotification] = []
    for stored in all.list {
      // In a copy of a file commits may have lower numbers than they had.
      let since = stored.since > newest ? 0 : stored.since
      let subscription = stored.subscription
      if known.fired[subscription.id] == stored.since { continue }
      var test = SubscriptionTest(subscription, database)
      var found: [SubscriptionNotification] = []
      if let missed, missed > since { found.append(.init(subscription, .missed, sequence: missed)) }
      for notice in notices {
        guard case .commit(let changes) = notice, changes.sequence > since else { continue }
        test.append(changes, to: &found)
      }
      guard let first = found.first else { continue }
      guard subscription.firesOnce, subscription.isOfQuery, first.content != .missed else {
        notifications += found
        continue
      }
      if fire(stored, database) { notifications.append(first) }
      known.fired[subscription.id] = stored.since
    }
    if notifications.count > Self.noticeLimit {
      // Too many to keep: each subscription once, in their order.
      var seen = Set<Subscription.ID>()
      notifications = notifications.filter { seen.insert($0.subscription.id).inserted }.map {
        .init($0.subscription, .missed, sequence: notices.last?.sequence ?? missed)
      }
    }
    return (notifications, known)
  }

  /// Deletes a subscription that fires once. Returns whether it was there: the stream that deletes it tells of it. Where
  /// nothing can be written, it is told once for each stream.
  private func fire(_ stored: StoredSubscriptions.Stored, _ database: Database) -> Bool {
    do {
      return try database.write { transaction in
        var all = try StoredSubscriptions(transaction.context.view)
        guard all.list.contains(stored) else { return false }
        _ = all.delete(stored.subscription.id)
        try all.write(to: transaction.context)
        return true
      }
    } catch { return true }
  }
}

/// Finds what of a commit concerns a subscription.
private struct SubscriptionTest {
  private let subscription: Subscription
  private let filter: BodyFilter?
  private let zones: Set<Zone.ID>?
  private let type: String?

  init(_ subscription: Subscription, _ database: Database) {
    self.subscription = subscription
    switch subscription.target {
    case .query(let query):
      filter = BodyFilter(query.predicate, dialect: database.options.dialect, now: database.options.now())
      // Other than a query, a subscription without a zone is one to all of them, in CloudKit too.
      zones = query.zone.map { [$0] }
      type = query.recordType
    case .zone(let zone):
      filter = nil
      zones = [zone]
      type = subscription.recordType
    case .database:
      filter = nil
      zones = nil
      type = subscription.recordType
    }
  }

  mutating func append(_ commit: CommitChanges, to found: inout [SubscriptionNotification]) {
    switch subscription.target {
    case .query:
      for record in commit.records where zones?.contains(record.id.zone) ?? true {
        if let notification = notification(of: record, in: commit) { found.append(notification) }
      }
      if subscription.firesOn.contains(.deletion), commit.zoneChanges.contains(where: concerns) {
        found.append(.init(subscription, .record(.deleted, nil, fields: [:]), sequence: commit.sequence))
      }
    case .zone(let zone):
      if changes(zone, in: commit) { replaceLast(by: .zone(zone), commit, &found) }
    case .database:
      if commit.zones.contains(where: { !$0.isDefault && changes($0, in: commit) }) {
        replaceLast(by: .database, commit, &found)
      }
    }
  }

  /// A change of records that were not named, because their zone went.
  private func concerns(_ change: ZoneChange) -> Bool {
    guard let deletion = change.deletion, zones?.contains(change.id) ?? true else { return false }
    return type.map { deletion.concerns([$0]) } ?? true
  }

  private func changes(_ zone: Zone.ID, in commit: CommitChanges) -> Bool {
    guard commit.zones.contains(zone) else { return false }
    guard let type else { return true }
    return commit.zoneChanges.contains { $0.id == zone && concerns($0) }
      || commit.records.contains { $0.id.zone == zone && ($0.new ?? $0.old)?.hasType(type) ?? false }
  }

  /// Of several commits that change something the last is told.
  private func replaceLast(
    by content: SubscriptionNotification.Content, _ commit: CommitChanges, _ found: inout [SubscriptionNotification]
  ) {
    if found.last?.content == content { found.removeLast() }
    found.append(.init(subscription, content, sequence: commit.sequence))
  }

  private func notification(of change: RecordChange, in commit: CommitChanges) -> SubscriptionNotification? {
    let reason: SubscriptionNotification.Reason
    let trigger: Subscription.Trigger
    switch (change.old, change.new) {
    case (nil, _?): (reason, trigger) = (.created, .creation)
    case (_?, _?): (reason, trigger) = (.updated, .update)
    case (_?, nil): (reason, trigger) = (.deleted, .deletion)
    case (nil, nil): return nil
    }
    guard subscription.firesOn.contains(trigger), let body = change.new ?? change.old, type.map(body.hasType) ?? true,
      filter?.accepts(body) ?? true
    else { return nil }
    let record = Record(body: body)
    var fields: [String: Record.Value] = [:]
    for key in subscription.info.desiredKeys { fields[key] = record[key] as Record.Value? }
    return .init(subscription, .record(reason, change.id, fields: fields), sequence: commit.sequence, of: record)
  }
}

extension Subscription {
  fileprivate var isOfQuery: Bool { if case .query = target { true } else { false } }
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
  /// ``SubscriptionNotification/Content/missed``. A subscription that fires once is deleted when it is told, so one stream gets
  /// it, in one process; where the file is read-only each does. The stream ends with the database, which it keeps open.
  /// - Parameter origin: commits of this origin are left out, so that a device is not told of its own.
  public func notifications(excluding origin: Origin?) -> AsyncStream<SubscriptionNotification> {
    NotificationStream.make(of: self, excluding: origin)
  }
}
