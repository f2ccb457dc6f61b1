#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// One-shot reads: each pins the newest version for as long as it takes.
extension Database {
  @inline(__always)
  func view(_ store: Store, _ pin: Store.Pin) -> ReadView {
    ReadView(store: store, services: services, source: .pin(pin), path: path)
  }

  @inline(__always)
  func reading<R>(_ body: (ReadView) throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    let store: Store
    let pin: Store.Pin
    do { (store, pin) = try stores.beginRead() } catch { throw DatabaseError(error, path: path) }
    defer { store.endRead(pin) }
    return try body(view(store, pin))
  }

  /// The database at this moment, for as long as the value lives.
  public func snapshot() throws(DatabaseError) -> Snapshot { try Snapshot(self) }

  /// Reads several things from one moment.
  @discardableResult
  public func read<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
    let snapshot = try Snapshot(self)
    return try body(snapshot)
  }

  /// Reads several things from one moment, off the caller's thread. The body never suspends.
  @discardableResult
  public func read<R: Sendable>(_ body: @escaping @Sendable (borrowing Snapshot) throws -> R) async throws -> R {
    try await queues.read { [self] in
      let snapshot = try Snapshot(self)
      return try body(snapshot)
    }
  }

  /// The record with this ID; nil when there is none.
  /// - Throws: `corrupted` when the record's bytes fail their checksum; never wrong data.
  public func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    try reading { (view) throws(DatabaseError) in try view.record(id) }
  }

  /// The records with these IDs, as far as they exist, all from one moment.
  public func records(
    _ ids: [Record.ID], desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> [Record.ID: Record] {
    try reading { (view) throws(DatabaseError) in try view.records(ids, desiredKeys: desiredKeys) }
  }

  /// A page of the records of a zone, or of one type in it, in the order of their names.
  /// - Parameters:
  ///   - name: the name behind which the page begins; nil begins at the first.
  ///   - limit: at least one.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one.
  public func records(
    in zone: Zone.ID, ofType type: String? = nil, after name: String? = nil, limit: Int = .max
  ) throws(DatabaseError) -> [Record] {
    try requireListable(type)
    return try reading { (view) throws(DatabaseError) in
      try view.page(in: zone, ofType: type, after: name, limit: limit)
    }
  }

  /// The records that point at a record, by a field or as their parent, in the order of their names, each once.
  ///
  /// The target need not exist. Costs what it returns.
  /// - Parameters:
  ///   - name: the name behind which the page begins; nil begins at the first.
  ///   - limit: at least one.
  /// - Throws: `zoneNotFound`; `invalidArguments` for a limit below one.
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

  /// All zones, by name. The default zone is always there, but in the shared database of a container.
  public func zones() throws(DatabaseError) -> [Zone] {
    inScope(try reading { (view) throws(DatabaseError) in try view.zones() })
  }

  /// One page of what changed in a zone since a token: each record once, in its present state, deletions as tombstones.
  ///
  /// Keep the token of the page after applying it; ask again while `moreComing`.
  ///
  /// A token that is newer than what is shown is no error: an older snapshot has not seen its commit yet, nor has a database
  /// that reads beside a writer, takes turns or is suspended. The page is empty then and has the same token.
  /// - Parameters:
  ///   - token: what the last page returned; nil starts from the beginning.
  ///   - limit: changes on the page, at least one; nil takes `Options.limits.changesPerPage`.
  ///   - desiredKeys: fields to return; nil for all, empty for metadata only.
  /// - Throws: `zoneNotFound`, or `userDeletedZone` for a purged one; `changeTokenExpired` when the zone was re-created, the
  ///   changes were forgotten, or the token is of another database: start over with nil; `changeTokenForked` when it is of
  ///   a copy that went its own way, or of a commit that a crash took; `invalidArguments` when it is of another feed, for a
  ///   limit below one, and in ``Dialect/cloudKit`` for the default zone.
  public func changes(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int? = nil, desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> ZoneChanges {
    try requireFeed(of: zone)
    let limit = limit ?? options.limits.changesPerPage
    return try reading { (view) throws(DatabaseError) in
      try view.changes(in: zone, since: token, limit: limit, desiredKeys: desiredKeys, known: lastKnownCommit)
    }
  }

  /// All pages of a zone's changes, one after another; ends when the feed is drained.
  public func changePages(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int? = nil, desiredKeys: [String]? = nil
  ) -> AsyncThrowingStream<ZoneChanges, any Error> {
    let state = PageState(token)
    return AsyncThrowingStream { [self] in
      guard let token = state.next() else { return nil }
      let page = try await queues.read { [self] in
        try changes(in: zone, since: token.value, limit: limit, desiredKeys: desiredKeys)
      }
      state.advance(page)
      return page
    }
  }

  /// How many changes of a zone come after a token. Costs a few page visits, whatever the number.
  public func changeCount(in zone: Zone.ID, since token: ChangeToken?) throws(DatabaseError) -> Int {
    try requireFeed(of: zone)
    return try reading { (view) throws(DatabaseError) in try view.changeCount(in: zone, since: token, known: lastKnownCommit) }
  }

  /// One page of which zones changed or were deleted since a token. The default zone never appears.
  /// - Parameter limit: zones on the page, at least one; those that one commit changed stay together.
  public func databaseChanges(since token: ChangeToken?, limit: Int? = nil) throws(DatabaseError) -> DatabaseChanges {
    try requireFeed()
    let limit = limit ?? options.limits.changesPerPage
    return try reading { (view) throws(DatabaseError) in
      try view.databaseChanges(since: token, limit: limit, known: lastKnownCommit)
    }
  }

  /// What the application keeps under a key; nil when there is nothing. Metadata is in no change feed.
  public func metadata(forKey key: String) throws(DatabaseError) -> Data? {
    try reading { (view) throws(DatabaseError) in try view.metadata(forKey: key) }
  }

  /// The versions of a record that the file still has, newest first; a deletion is a version too.
  public func history(of id: Record.ID) throws(DatabaseError) -> [RecordHistoryVersion] {
    try reading { (view) throws(DatabaseError) in try view.history(of: id) }
  }

  /// Commits from now on, as they become visible. At most 1,024 wait for a slow consumer; then one `.missed` stands for
  /// those that were dropped. Commits of other processes are told as missed when they become visible here, and each commit
  /// is told once. The stream ends with the database.
  ///
  /// Whoever wants to hear of every commit asks for a stream of its own: several loops over one stream share it, each notice
  /// goes to one of them, and with the task of one that is cancelled it ends for all.
  /// - Parameter origin: commits of this origin are left out, so that an observer need not see its own.
  public func commits(excluding origin: Origin? = nil) -> AsyncStream<CommitNotice> {
    hub.subscribe(excluding: origin)
  }
}

/// Where a stream of pages stands.
private final class PageState: Sendable {
  struct Step { var value: ChangeToken? }
  private let state: Locked<(token: ChangeToken?, isDrained: Bool)>

  init(_ token: ChangeToken?) { state = Locked((token, false)) }

  func next() -> Step? { state.withLock { $0.isDrained ? nil : Step(value: $0.token) } }
  func advance(_ page: ZoneChanges) { state.withLock { $0 = (page.token, !page.moreComing) } }
}
