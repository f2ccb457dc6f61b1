import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// A remote whose calls a test changes.
final class ChangingRemote: RecordDatabase {
  let base: Database
  let onModify: @Sendable ([Record], [Record.ID], ModifyResult?) async throws -> ModifyResult?
  let onZones: @Sendable ([Zone], [Zone.ID]) async throws -> ModifyZonesResult?
  let onRecords: @Sendable ([Record.ID: Result<Record, DatabaseError>]) -> [Record.ID: Result<Record, DatabaseError>]
  let onChanges: @Sendable (ZoneChanges) throws -> ZoneChanges
  let onToken: @Sendable (ChangeToken?) throws -> Void
  init(
    _ base: Database,
    modify: @escaping @Sendable ([Record], [Record.ID], ModifyResult?) async throws -> ModifyResult? = { _, _, _ in nil },
    zones: @escaping @Sendable ([Zone], [Zone.ID]) async throws -> ModifyZonesResult? = { _, _ in nil },
    records: @escaping @Sendable ([Record.ID: Result<Record, DatabaseError>]) -> [Record.ID: Result<Record, DatabaseError>] = {
      $0
    },
    changes: @escaping @Sendable (ZoneChanges) throws -> ZoneChanges = { $0 },
    tokens: @escaping @Sendable (ChangeToken?) throws -> Void = { _ in }
  ) {
    self.base = base
    onModify = modify
    onZones = zones
    onRecords = records
    onChanges = changes
    onToken = tokens
  }
  var limits: Limits { base.limits }
  func identity() async throws -> String? { try await base.identity() }
  func modify(saving records: [Record], deleting ids: [Record.ID], policy: SavePolicy, atomically: Bool) async throws
    -> ModifyResult
  {
    if let result = try await onModify(records, ids, nil) { return result }
    return try await base.modify(saving: records, deleting: ids, policy: policy, atomically: atomically)
  }
  func records(for ids: [Record.ID], desiredKeys: [String]?) async throws -> [Record.ID: Result<Record, DatabaseError>] {
    onRecords(try await base.records(for: ids, desiredKeys: desiredKeys))
  }
  func query(_ query: Query, after cursor: Query.Cursor?) async throws -> Query.Page {
    try await base.query(query, after: cursor)
  }
  func zones() async throws -> [Zone] { try await base.zones() }
  func modifyZones(saving zones: [Zone], deleting ids: [Zone.ID]) async throws -> ModifyZonesResult {
    if let result = try await onZones(zones, ids) { return result }
    return try await base.modifyZones(saving: zones, deleting: ids)
  }
  func changes(in zone: Zone.ID, since token: ChangeToken?, limit: Int?, desiredKeys: [String]?) async throws -> ZoneChanges {
    try onToken(token)
    return try onChanges(try await base.changes(in: zone, since: token, limit: limit, desiredKeys: desiredKeys))
  }
  func asset(_ key: String, of id: Record.ID) async throws -> URL { try await base.asset(key, of: id) }
  func databaseChanges(since token: ChangeToken?, limit: Int?) async throws -> DatabaseChanges {
    try await base.databaseChanges(since: token, limit: limit)
  }
  func subscriptions() async throws -> [Subscription] { [] }
  func modifySubscriptions(saving subscriptions: [Subscription], deleting ids: [Subscription.ID]) async throws
    -> ModifySubscriptionsResult
  { try await base.modifySubscriptions(saving: subscriptions, deleting: ids) }
  func notifications() -> AsyncStream<SubscriptionNotification> { base.notifications() }
}

func small(_ bytes: Int = 5000) -> Database.Options {
  var options = Database.Options()
  options.limits.recordByteCount = bytes
  return options
}

func big(_ n: Int = 10_000) -> Record.Value { .string(String(repeating: "x", count: n)) }

/// Whether work comes to an end: within minutes, because all tests share two processors.
func ends(_ body: @escaping @Sendable () async throws -> Void) async throws -> Bool {
  let done = Lock(false)
  let task = Task {
    try await body()
    done.set(true)
  }
  let end = Date(timeIntervalSinceNow: 800)
  while !done.get(), Date() < end { try await Task.sleep(for: .milliseconds(20)) }
  task.cancel()
  return done.get()
}
