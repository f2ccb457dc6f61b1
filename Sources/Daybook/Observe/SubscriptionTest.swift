import DaybookEngine

/// Finds what of a commit concerns a subscription.
struct SubscriptionTest {
  let subscription: Subscription
  private(set) var found: [SubscriptionNotification] = []
  private(set) var room: NotificationStream.Room
  private let filter: BodyFilter?
  private let zones: Set<Zone.ID>?
  private let type: String?

  init(_ subscription: Subscription, _ database: Database, _ room: NotificationStream.Room) {
    self.subscription = subscription
    self.room = room
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

  /// Something came before what is looked at, of which nothing is known.
  mutating func tellMissed(through sequence: UInt64) { append(.init(subscription, .missed, sequence: sequence)) }

  /// Finds what a commit tells, as long as there is room.
  mutating func look(at commit: CommitChanges) {
    switch subscription.target {
    case .query:
      for record in commit.records where zones?.contains(record.id.zone) ?? true {
        if room.isUsedUp { return }
        if let notification = notification(of: record, in: commit) { append(notification) }
      }
      if !room.isUsedUp, subscription.firesOn.contains(.deletion), commit.zoneChanges.contains(where: deletesRecords) {
        append(.init(subscription, .record(.deleted, nil, fields: [:]), sequence: commit.sequence))
      }
    case .zone(let zone):
      if changes(zone, in: commit) { replaceLast(by: .zone(zone), commit) }
    case .database:
      if commit.zones.contains(where: { !$0.isDefault && changes($0, in: commit) }) { replaceLast(by: .database, commit) }
    }
  }

  private mutating func append(_ notification: SubscriptionNotification) {
    found.append(notification)
    room.count -= 1
  }

  /// A change of records that were not named, because their zone went.
  private func deletesRecords(_ change: ZoneChange) -> Bool {
    guard let deletion = change.deletion, zones?.contains(change.id) ?? true else { return false }
    return type.map { deletion.hadRecords(of: [$0]) } ?? true
  }

  private func changes(_ zone: Zone.ID, in commit: CommitChanges) -> Bool {
    guard commit.zones.contains(zone) else { return false }
    guard let type else { return true }
    return commit.zoneChanges.contains { $0.id == zone && deletesRecords($0) }
      || commit.records.contains {
        $0.id.zone == zone && ($0.new?.hasType(type) ?? false || $0.old?.hasType(type) ?? false)
      }
  }

  /// Of several commits that change something the last is told.
  private mutating func replaceLast(by content: SubscriptionNotification.Content, _ commit: CommitChanges) {
    if found.last?.content == content {
      found.removeLast()
      room.count += 1
    }
    append(.init(subscription, content, sequence: commit.sequence))
  }

  private func ofType(_ body: RecordBody) -> RecordBody? { type.map(body.hasType) ?? true ? body : nil }

  private mutating func notification(of change: RecordChange, in commit: CommitChanges) -> SubscriptionNotification? {
    let reason: SubscriptionNotification.Reason
    let trigger: Subscription.Trigger
    // A record of another type may have taken the name within the commit.
    let (old, new) = (change.old.flatMap(ofType), change.new.flatMap(ofType))
    switch (old, new) {
    case (nil, _?): (reason, trigger) = (.created, .creation)
    case (_?, _?): (reason, trigger) = (.updated, .update)
    case (_?, nil): (reason, trigger) = (.deleted, .deletion)
    case (nil, nil): return nil
    }
    guard subscription.firesOn.contains(trigger), let body = new ?? old, filter?.accepts(body) ?? true else { return nil }
    // Fields and texts are parts of the record, and copies of them.
    if subscription.info.hasFields { room.byteCount -= 2 * body.byteCount }
    let record = Record(body: body)
    var fields: [String: Record.Value] = [:]
    for key in subscription.info.desiredKeys { fields[key] = record[key] as Record.Value? }
    return .init(subscription, .record(reason, change.id, fields: fields), sequence: commit.sequence, of: record)
  }
}

extension Subscription {
  var isOfQuery: Bool { if case .query = target { true } else { false } }
}

extension Subscription.NotificationInfo {
  /// Whether a notification has anything of its record.
  fileprivate var hasFields: Bool {
    !(desiredKeys.isEmpty && alertLocalizationArgs.isEmpty && titleLocalizationArgs.isEmpty && subtitleLocalizationArgs.isEmpty)
  }
}
