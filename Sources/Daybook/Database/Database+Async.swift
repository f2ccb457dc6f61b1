#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The synchronous calls once more, off the caller's thread: in an asynchronous function these are meant.
///
/// The compiler takes them there for the `async` alone, so labels and defaults are those of their namesakes: one that lacks a
/// default leaves the call without that argument to the synchronous method, which keeps a thread of the pool waiting for the
/// turn or the disk.
extension Database {
  // MARK: requests

  /// ``modify(saving:deleting:policy:atomically:origin:)-(_,_,_,_,_)``, off the caller's thread.
  @discardableResult
  public func modify(
    saving records: [Record] = [], deleting ids: [Record.ID] = [], policy: SavePolicy = .ifServerRecordUnchanged,
    atomically: Bool = true, origin: Origin? = nil
  ) async throws -> ModifyResult {
    let prepare: @Sendable () throws -> PreparedRecords = { [self] in
      try checkRequest(records, ids)
      return prepared(records)
    }
    let takesLong = records.contains(where: takesContentsIn)
    let (records, unprepared, holds) = try await takesLong ? queues.ingest(prepare) : queues.read(prepare)
    return try await write(origin: origin) { [self] transaction in
      transaction.context.preparedHolds = holds
      return try modify(transaction.context, records, ids, policy, atomically, unprepared)
    }
  }

  /// Creates and deletes zones, each with a result of its own, off the caller's thread.
  @discardableResult
  public func modifyZones(
    saving zones: [Zone] = [], deleting ids: [Zone.ID] = [], origin: Origin? = nil
  ) async throws -> ModifyZonesResult {
    try await write(origin: origin) { [self] transaction in try modifyZones(transaction, zones, ids) }
  }

  /// Takes the content of an asset in, off the caller's thread.
  public func prepare(_ asset: Asset) async throws -> Asset {
    try await queues.ingest { [self] in try prepare(asset) }
  }

  /// The record with all assets prepared that were set since it was read, off the caller's thread.
  public func prepare(_ record: Record) async throws -> Record {
    try await queues.ingest { [self] in try prepare(record) }
  }

  // MARK: reads

  /// The record with this ID; nil when there is none. Off the caller's thread, as all of these.
  public func record(_ id: Record.ID) async throws -> Record? {
    try await queues.read { [self] in try record(id) }
  }

  /// The records with these IDs, as far as they exist, all from one moment.
  public func records(_ ids: [Record.ID], desiredKeys: [String]? = nil) async throws -> [Record.ID: Record] {
    try await queues.read { [self] in try records(ids, desiredKeys: desiredKeys) }
  }

  /// The records with these IDs, each with a result.
  public func records(
    for ids: [Record.ID], desiredKeys: [String]? = nil
  ) async throws -> [Record.ID: Result<Record, DatabaseError>] {
    try await queues.read { [self] in try records(for: ids, desiredKeys: desiredKeys) }
  }

  /// A page of the records of a zone, in the order of their names.
  public func records(
    in zone: Zone.ID, after name: String? = nil, limit: Int = .max
  ) async throws -> [Record] {
    try await queues.read { [self] in try records(in: zone, after: name, limit: limit) }
  }

  /// The records of one type in a zone, in the order in which they were last saved.
  public func records(in zone: Zone.ID, ofType type: String, limit: Int = .max) async throws -> [Record] {
    try await queues.read { [self] in try records(in: zone, ofType: type, limit: limit) }
  }

  /// A page of the records of one type in a zone, in the order in which they were last saved, and where the next one begins.
  public func recordPage(
    in zone: Zone.ID, ofType type: String, after cursor: RecordCursor? = nil, limit: Int = .max
  ) async throws -> RecordPage {
    try await queues.read { [self] in try recordPage(in: zone, ofType: type, after: cursor, limit: limit) }
  }

  /// The records that refer to a record, by a field or as their parent, in the order of their names, each once.
  public func referencing(
    _ id: Record.ID, after name: String? = nil, limit: Int = .max
  ) async throws -> [Record] {
    try await queues.read { [self] in try referencing(id, after: name, limit: limit) }
  }

  /// How many records a zone has, or how many of one type.
  public func recordCount(in zone: Zone.ID, ofType type: String? = nil) async throws -> Int {
    try await queues.read { [self] in try recordCount(in: zone, ofType: type) }
  }

  /// The record types of a zone with the number of their records.
  public func recordTypes(in zone: Zone.ID) async throws -> [(type: String, count: Int)] {
    try await queues.read { [self] in try recordTypes(in: zone) }
  }

  /// The record of the container's user in a zone, stored or not.
  public func userRecord(in zone: Zone.ID = .default) async throws -> Record {
    try await queues.read { [self] in try userRecord(in: zone) }
  }

  /// The record types, their fields and the kinds that each field has had.
  public func schema() async throws -> Schema { try await queues.read { [self] in try schema() } }

  /// All zones, by name.
  public func zones() async throws -> [Zone] { try await queues.read { [self] in try zones() } }

  /// One page of what changed in a zone since a token.
  public func changes(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int? = nil, desiredKeys: [String]? = nil
  ) async throws -> ZoneChanges {
    try await queues.read { [self] in try changes(in: zone, since: token, limit: limit, desiredKeys: desiredKeys) }
  }

  /// How many changes of a zone come after a token.
  public func changeCount(in zone: Zone.ID, since token: ChangeToken?) async throws -> Int {
    try await queues.read { [self] in try changeCount(in: zone, since: token) }
  }

  /// One page of which zones changed or were deleted since a token.
  public func databaseChanges(since token: ChangeToken?, limit: Int? = nil) async throws -> DatabaseChanges {
    try await queues.read { [self] in try databaseChanges(since: token, limit: limit) }
  }

  /// What the application keeps under a key; nil when there is nothing.
  public func metadata(forKey key: String) async throws -> Data? {
    try await queues.read { [self] in try metadata(forKey: key) }
  }

  /// The versions of a record that the file still has, newest first.
  public func history(
    of id: Record.ID, before tag: String? = nil, limit: Int = .max
  ) async throws -> [RecordHistoryVersion] {
    try await queues.read { [self] in try history(of: id, before: tag, limit: limit) }
  }

  /// A file with the content of a record's asset; of a list, of the one at `index`.
  public func asset(_ key: String, of id: Record.ID, at index: Int = 0) async throws -> URL {
    try await queues.read { [self] in try asset(key, of: id, at: index) }
  }
}
