#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// What can be read of a database: of its newest version through ``Database``, of one that stays as it is through ``Snapshot``,
/// and with a transaction's own changes through ``Transaction``.
///
/// Every read is written once, here, so what one of them can do, all can. A function that reads may take any of them:
///
/// ```swift
/// func movieCount(_ reader: borrowing some RecordReader & ~Copyable) throws -> Int {
///   try reader.recordCount(in: library, ofType: "Movie")
/// }
/// ```
///
/// Through a ``Database`` each call shows the newest version at that moment, all of one call the same; two calls may show
/// two. The three types of this library are all that conform: what a type would need for that is not public.
public protocol RecordReader: ~Copyable {
  // A requirement, though it is the same everywhere: called from another module, a method of the extension below is generic,
  // and this is the call that has to be fast.
  /// The record with this ID; nil when there is none.
  /// - Throws: `corrupted` when the record's bytes fail their checksum; never wrong data.
  func record(_ id: Record.ID) throws(DatabaseError) -> Record?

  // Public as everything that a public protocol requires, and hidden: no application sees these two, so none can leave a
  // version pinned, and no type of another module can conform.
  /// Begins a read of one version. `endReading` has to follow.
  @_spi(Daybook) func beginReading() throws(DatabaseError) -> ReadView

  @_spi(Daybook) func endReading(_ view: ReadView)
}

extension RecordReader where Self: ~Copyable {
  /// Looks at one version, which is not revoked before `body` has returned.
  @inline(__always)
  func reading<R>(_ body: (ReadView) throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    let view = try beginReading()
    defer { endReading(view) }
    return try body(view)
  }

  // MARK: records

  /// The records with these IDs that exist, all from one moment.
  public func records(
    _ ids: [Record.ID], desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> [Record.ID: Record] {
    try reading { (view) throws(DatabaseError) in try view.records(ids, desiredKeys: desiredKeys) }
  }

  /// The records with these IDs, each with a result: `unknownItem` or `zoneNotFound` where there is none.
  /// - Throws: `limitExceeded` for more than `Options.limits.itemsPerRequest` IDs.
  public func records(
    for ids: [Record.ID], desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> [Record.ID: Result<Record, DatabaseError>] {
    try reading { (view) throws(DatabaseError) in try view.results(for: ids, desiredKeys: desiredKeys) }
  }

  /// A page of the records of a zone, in the order of their names: those that are UUIDs first, the others by their bytes.
  /// - Parameters:
  ///   - name: the name after which the page begins; nil begins at the first.
  ///   - limit: at least one.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one.
  public func records(
    in zone: Zone.ID, after name: String? = nil, limit: Int = .max
  ) throws(DatabaseError) -> [Record] {
    try reading { (view) throws(DatabaseError) in try view.page(in: zone, after: name, limit: limit) }
  }

  /// The records of one type in a zone, in the order in which they were last saved.
  /// - Parameter limit: at least one; ``recordPage(in:ofType:after:limit:)`` goes on behind it.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one.
  public func records(in zone: Zone.ID, ofType type: String, limit: Int = .max) throws(DatabaseError) -> [Record] {
    try recordPage(in: zone, ofType: type, limit: limit).records
  }

  /// A page of the records of one type in a zone, in the order in which they were last saved, and where the next one begins.
  ///
  /// A record that is saved moves to the end. Pages of one snapshot have each record once; pages of a database, or of a
  /// transaction that saves meanwhile, leave no record out, but may have one again that they had in an earlier state. So
  /// whoever saves the records of each page reads the pages from a snapshot.
  /// - Parameters:
  ///   - cursor: ``RecordPage/next`` of the page before; nil begins at the first.
  ///   - limit: at least one.
  /// - Returns: an empty page with the same cursor where the cursor is ahead of what is read, as of a snapshot that is older.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one; `changeTokenForked` for a cursor of another history, as of a
  ///   restored backup, or of what was rolled back.
  /// - Complexity: O(log records) to find the first, then what it returns.
  public func recordPage(
    in zone: Zone.ID, ofType type: String, after cursor: RecordCursor? = nil, limit: Int = .max
  ) throws(DatabaseError) -> RecordPage {
    try reading { (view) throws(DatabaseError) in try view.page(in: zone, ofType: type, after: cursor, limit: limit) }
  }

  /// The records that refer to a record, by a field or as their parent, in the order of their names, each once.
  ///
  /// The target need not exist. Costs what it returns.
  /// - Parameters:
  ///   - name: the name after which the page begins; nil begins at the first.
  ///   - limit: at least one.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one.
  public func referencing(
    _ id: Record.ID, after name: String? = nil, limit: Int = .max
  ) throws(DatabaseError) -> [Record] {
    try reading { (view) throws(DatabaseError) in try view.referencing(id, after: name, limit: limit) }
  }

  /// How many records a zone has, or how many of one type. Costs a few page visits, whatever the number.
  /// - Throws: `zoneNotFound`.
  public func recordCount(in zone: Zone.ID, ofType type: String? = nil) throws(DatabaseError) -> Int {
    try reading { (view) throws(DatabaseError) in try view.recordCount(in: zone, ofType: type) }
  }

  /// The record types of a zone with the number of their records, by name.
  /// - Throws: `zoneNotFound`.
  /// - Complexity: O(types × log records).
  public func recordTypes(in zone: Zone.ID) throws(DatabaseError) -> [(type: String, count: Int)] {
    try reading { (view) throws(DatabaseError) in try view.recordTypes(in: zone) }
  }

  /// The versions of a record that the file still has, newest first; a deletion is a version too.
  ///
  /// A record that was saved a million times has as many: ask for a page, and for the next one with the tag of the last
  /// version. A page is empty when the file no longer has the version it was to begin after, as when a compaction came between.
  /// - Parameters:
  ///   - tag: the change tag of the version after which the page begins; nil begins at the newest.
  ///   - limit: versions on the page, at least one.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one; `corrupted` when a version on the way fails its checksum.
  /// - Complexity: a read of the log for each version that is returned, or newer.
  public func history(
    of id: Record.ID, before tag: String? = nil, limit: Int = .max
  ) throws(DatabaseError) -> [RecordHistoryVersion] {
    try reading { (view) throws(DatabaseError) in try view.history(of: id, before: tag, limit: limit) }
  }

  /// The record of the container's user in a zone: type `Users`, the same name everywhere in the container. It is not
  /// stored before it is saved for the first time, and may have fields of the application's own.
  /// - Throws: `badContainer` for a database that was opened by itself; `zoneNotFound`.
  public func userRecord(in zone: Zone.ID = .default) throws(DatabaseError) -> Record {
    try reading { (view) throws(DatabaseError) in try view.userRecord(in: zone) }
  }

  /// A file with the content of a record's asset; of a list, of the one at `index`. See ``Asset/fileURL``.
  /// - Throws: `unknownItem` when there is no such record or asset, `zoneNotFound`, `assetFileNotFound` and `assetFileModified`
  ///   when the stored content is gone or damaged, `ioFailed`, `diskFull`.
  public func asset(_ key: String, of id: Record.ID, at index: Int = 0) throws(DatabaseError) -> URL {
    let (record, database) = try reading { (view) throws(DatabaseError) in
      _ = try view.existingZone(id.zone)
      return (try view.record(id), view.database)
    }
    return try database.fileURL(ofAsset: key, at: index, in: record, id)
  }

  // MARK: zones and schema

  /// All zones, by name. The default zone is always there, but in the shared database of a container.
  public func zones() throws(DatabaseError) -> [Zone] {
    try reading { (view) throws(DatabaseError) in view.database.inScope(try view.zones()) }
  }

  /// The record types, their fields and the kinds that each field has had. Costs what it returns.
  public func schema() throws(DatabaseError) -> Schema {
    try reading { (view) throws(DatabaseError) in try view.schema() }
  }

  // MARK: changes

  /// One page of what changed in a zone since a token: each record once, in its present state, deletions as tombstones.
  ///
  /// Keep the token of the page after applying it; ask again while `moreComing`.
  ///
  /// A token that is newer than what is shown is no error: an older snapshot has not seen its commit yet, nor has a database
  /// that reads beside a writer, shares the file with other writers or is suspended. The page is empty then and has the same
  /// token.
  ///
  /// Within a transaction all feeds show the version that it began on: what it writes itself is in no feed before it
  /// commits, and hides nothing that was there before it.
  /// - Parameters:
  ///   - token: what the last page returned; nil starts from the beginning.
  ///   - limit: changes on the page, at least one; nil takes `Options.limits.changesPerPage`.
  ///   - desiredKeys: fields to return; nil for all, empty for metadata only.
  /// - Throws: `zoneNotFound`, or `userDeletedZone` for a purged one; `changeTokenExpired` when the zone was re-created, the
  ///   changes were forgotten, or the token belongs to another database: start over with nil; `changeTokenForked` when it
  ///   belongs to a copy with a history of its own, or to a commit that a crash took; `invalidArguments` when to another feed,
  ///   for a limit below one, and in ``Dialect/cloudKit`` for the default zone.
  public func changes(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int? = nil, desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> ZoneChanges {
    try reading { (view) throws(DatabaseError) in
      try view.database.requireFeed(of: zone)
      return try view.committed.changes(
        in: zone, since: token, limit: limit ?? view.changesPerPage, desiredKeys: desiredKeys, known: view.lastKnownCommit)
    }
  }

  /// How many changes of a zone come after a token. Costs a few page visits, whatever the number.
  /// - Throws: as ``changes(in:since:limit:desiredKeys:)``.
  public func changeCount(in zone: Zone.ID, since token: ChangeToken?) throws(DatabaseError) -> Int {
    try reading { (view) throws(DatabaseError) in
      try view.database.requireFeed(of: zone)
      return try view.committed.changeCount(in: zone, since: token, known: view.lastKnownCommit)
    }
  }

  /// One page of which zones changed or were deleted since a token. The default zone never appears.
  /// - Parameter limit: zones on the page, at least one; those that one commit changed stay together.
  /// - Throws: as ``changes(in:since:limit:desiredKeys:)``; `badDatabase` for the public database in ``Dialect/cloudKit``.
  public func databaseChanges(since token: ChangeToken?, limit: Int? = nil) throws(DatabaseError) -> DatabaseChanges {
    try reading { (view) throws(DatabaseError) in
      try view.database.requireFeed()
      return try view.committed.databaseChanges(
        since: token, limit: limit ?? view.changesPerPage, known: view.lastKnownCommit)
    }
  }

  // MARK: metadata of the application

  /// What the application keeps under a key; nil when there is nothing. Metadata is in no change feed.
  public func metadata(forKey key: String) throws(DatabaseError) -> Data? {
    try reading { (view) throws(DatabaseError) in try view.metadata(forKey: key) }
  }
}
