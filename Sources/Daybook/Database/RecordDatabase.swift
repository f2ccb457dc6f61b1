#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What codecs and the sync engine need of a database, be it a file here or a server elsewhere.
///
/// Requirements are `async`, because a remote needs the network; ``Database`` does them off the caller's thread.
public protocol RecordDatabase: AnyObject, Sendable {
  /// How much one request and one record may be.
  var limits: Limits { get }

  /// What tells this database from all others, also after it moved, and the data of one account from that of another. A sync
  /// keeps what it knows under it, so that one database can be kept equal with several. Nil where there is nothing of the kind.
  func identity() async throws -> String?

  /// Whether there is an account to write with.
  func accountStatus() async throws -> AccountStatus

  /// Saves and deletes records, with a result for each; see ``Database/modify(saving:deleting:policy:atomically:origin:)``.
  func modify(
    saving records: [Record], deleting ids: [Record.ID], policy: SavePolicy, atomically: Bool
  ) async throws -> ModifyResult

  /// The records with these IDs, each with a result.
  func records(
    for ids: [Record.ID], desiredKeys: [String]?
  ) async throws -> [Record.ID: Result<Record, DatabaseError>]

  /// A page of what a query finds, and where the next one begins; see ``Database/query(_:after:desiredKeys:)-(_,_,_)``.
  func query(_ query: Query, after cursor: Query.Cursor?) async throws -> Query.Page

  /// All zones.
  func zones() async throws -> [Zone]

  /// Creates and deletes zones, with a result for each.
  func modifyZones(saving zones: [Zone], deleting ids: [Zone.ID]) async throws -> ModifyZonesResult

  /// One page of what changed in a zone.
  func changes(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int?, desiredKeys: [String]?
  ) async throws -> ZoneChanges

  /// A file with the content of a record's asset; see ``Database/asset(_:of:at:)``.
  func asset(_ key: String, of id: Record.ID) async throws -> URL

  /// One page of which zones changed.
  func databaseChanges(since token: ChangeToken?, limit: Int?) async throws -> DatabaseChanges

  /// All subscriptions.
  func subscriptions() async throws -> [Subscription]

  /// Saves and deletes subscriptions, with a result for each.
  func modifySubscriptions(
    saving subscriptions: [Subscription], deleting ids: [Subscription.ID]
  ) async throws -> ModifySubscriptionsResult

  /// What the subscriptions tell from now on.
  func notifications() -> AsyncStream<SubscriptionNotification>
}

extension RecordDatabase {
  /// A database that does not say which one it is.
  public func identity() async throws -> String? { nil }

  /// A database without accounts: always there.
  public func accountStatus() async throws -> AccountStatus { .available }
}

extension Database: RecordDatabase {
  /// How much one request and one record may be: `options.limits`.
  public var limits: Limits { options.limits }

  // The requirements are matched word for word: a method with one parameter more is none of them, whatever its defaults.

  /// ``modify(saving:deleting:policy:atomically:origin:)`` without an origin, off the caller's thread.
  @discardableResult
  public func modify(
    saving records: [Record], deleting ids: [Record.ID], policy: SavePolicy, atomically: Bool
  ) async throws -> ModifyResult {
    try await modify(saving: records, deleting: ids, policy: policy, atomically: atomically, origin: nil)
  }

  /// The file's own number, which its copies and backups have, too.
  public func identity() async throws -> String? { try databaseIdentity.uuidString }

  /// ``query(_:after:desiredKeys:)-(_,_,_)`` with all fields, off the caller's thread.
  public func query(_ query: Query, after cursor: Query.Cursor?) async throws -> Query.Page {
    try await self.query(query, after: cursor, desiredKeys: nil)
  }

  /// ``asset(_:of:at:)``, off the caller's thread.
  public func asset(_ key: String, of id: Record.ID) async throws -> URL { try await asset(key, of: id, at: 0) }

  /// ``notifications(excluding:)`` of all commits.
  public func notifications() -> AsyncStream<SubscriptionNotification> { notifications(excluding: nil) }

  /// ``modifyZones(saving:deleting:origin:)`` without an origin, off the caller's thread.
  @discardableResult
  public func modifyZones(saving zones: [Zone], deleting ids: [Zone.ID]) async throws -> ModifyZonesResult {
    try await modifyZones(saving: zones, deleting: ids, origin: nil)
  }
}
