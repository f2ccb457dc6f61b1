#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The database at one moment. Whatever is written later, a snapshot reads the same.
///
/// Cheap to take (about 10 ns); a long-lived one holds back memory and, past `Options.snapshotMemory`, throws
/// `snapshotTooOld`. It may move to another thread, and several may read through it at once.
public struct Snapshot: ~Copyable, Sendable {
  let database: Database
  /// The store that it reads: after a compaction another than the database's.
  private let store: Store
  private let pin: Store.SnapshotPin

  init(_ database: Database) throws(DatabaseError) {
    self.database = database
    do { (store, pin) = try database.stores.beginSnapshot() } catch { throw DatabaseError(error, path: database.path) }
  }

  deinit { store.end(pin) }

  /// The last commit that the snapshot holds.
  public var sequence: UInt64 { pin.sequence }

  /// Looks at the version while nobody can take it away.
  func reading<R>(_ body: (ReadView) throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    let version: Store.Pin
    do { version = try store.resume(pin) } catch { throw DatabaseError(error, path: database.path) }
    defer { store.endRead(through: pin) }
    return try body(database.view(store, version))
  }

  /// The record with this ID; nil when there is none.
  public func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    try reading { (view) throws(DatabaseError) in try view.record(id) }
  }

  /// The records with these IDs, as far as they exist.
  public func records(
    _ ids: [Record.ID], desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> [Record.ID: Record] {
    try reading { (view) throws(DatabaseError) in try view.records(ids, desiredKeys: desiredKeys) }
  }

  /// A page of the records of a zone, or of one type in it, in the order of their names.
  /// - Parameter name: the name behind which the page begins; nil begins at the first.
  public func records(
    in zone: Zone.ID, ofType type: String? = nil, after name: String? = nil, limit: Int = .max
  ) throws(DatabaseError) -> [Record] {
    try database.requireListable(type)
    return try reading { (view) throws(DatabaseError) in
      try view.page(in: zone, ofType: type, after: name, limit: limit)
    }
  }

  /// The records that point at a record; see ``Database/referencing(_:after:limit:)``.
  public func referencing(
    _ id: Record.ID, after name: String? = nil, limit: Int = .max
  ) throws(DatabaseError) -> [Record] {
    try reading { (view) throws(DatabaseError) in try view.referencing(id, after: name, limit: limit) }
  }

  /// How many records a zone holds, or how many of one type. Costs a few page visits, whatever the number.
  public func recordCount(in zone: Zone.ID, ofType type: String? = nil) throws(DatabaseError) -> Int {
    try reading { (view) throws(DatabaseError) in try view.recordCount(in: zone, ofType: type) }
  }

  /// The record types of a zone with the number of their records.
  public func recordTypes(in zone: Zone.ID) throws(DatabaseError) -> [(type: String, count: Int)] {
    try reading { (view) throws(DatabaseError) in try view.recordTypes(in: zone) }
  }

  /// All zones, by name.
  public func zones() throws(DatabaseError) -> [Zone] {
    database.inScope(try reading { (view) throws(DatabaseError) in try view.zones() })
  }

  /// One page of what changed in a zone; see ``Database/changes(in:since:limit:desiredKeys:)``.
  public func changes(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int? = nil, desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> ZoneChanges {
    try database.requireFeed(of: zone)
    let limit = limit ?? database.options.limits.changesPerPage
    return try reading { (view) throws(DatabaseError) in
      try view.changes(in: zone, since: token, limit: limit, desiredKeys: desiredKeys, known: database.lastKnownCommit)
    }
  }

  /// One page of which zones changed; see ``Database/databaseChanges(since:limit:)``.
  public func databaseChanges(since token: ChangeToken?, limit: Int? = nil) throws(DatabaseError) -> DatabaseChanges {
    try database.requireFeed()
    let limit = limit ?? database.options.limits.changesPerPage
    return try reading { (view) throws(DatabaseError) in
      try view.databaseChanges(since: token, limit: limit, known: database.lastKnownCommit)
    }
  }

  /// How many changes of a zone come after a token. Costs a few page visits, whatever the number.
  public func changeCount(in zone: Zone.ID, since token: ChangeToken?) throws(DatabaseError) -> Int {
    try database.requireFeed(of: zone)
    return try reading { (view) throws(DatabaseError) in
      try view.changeCount(in: zone, since: token, known: database.lastKnownCommit)
    }
  }

  /// What the application keeps under a key; nil when there is nothing.
  public func metadata(forKey key: String) throws(DatabaseError) -> Data? {
    try reading { (view) throws(DatabaseError) in try view.metadata(forKey: key) }
  }

  /// The versions of a record that the file still has, newest first; a deletion is a version too.
  public func history(of id: Record.ID) throws(DatabaseError) -> [RecordHistoryVersion] {
    try reading { (view) throws(DatabaseError) in try view.history(of: id) }
  }
}
