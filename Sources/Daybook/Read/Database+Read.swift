import DaybookEngine

/// Snapshots and streams. The reads themselves, each of the newest version, are those of ``RecordReader``.
extension Database {
  /// The database at this moment, for as long as the value lives.
  public func snapshot() throws(DatabaseError) -> Snapshot { try Snapshot(self) }

  /// Reads several things from one moment.
  ///
  /// Where a local function within `body` uses the snapshot, write down the snapshot's type: with
  /// `{ (snapshot: borrowing Snapshot) in … }` it compiles, and without it the compiler of Swift 6.3 crashes.
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

  /// Commits from now on, as they become visible. At most 1,024 wait for a slow consumer, or some 200,000 records in them;
  /// then one `.missed` replaces those that were dropped. Commits of other processes are reported as missed when they become
  /// visible here, and so is one that changes more than 100,000 records. Each commit is reported once. Where an older file
  /// took the name (a restored backup), a `.missed` begins at or below a number that was told: those commits are gone, or others
  /// have their numbers. The stream ends with the database.
  ///
  /// Ask for a stream for each loop: loops over one stream share it, each notice goes to one of them, and cancelling the task
  /// of one ends it for all.
  /// - Parameter origin: commits of this origin are left out, so that an observer need not see its own.
  public func commits(excluding origin: Origin? = nil) -> AsyncStream<CommitNotice> {
    CommitStream.make(of: hub, excluding: origin)
  }
}

/// How far a stream of pages has come.
private final class PageState: Sendable {
  struct Step { var value: ChangeToken? }
  private let state: Locked<(token: ChangeToken?, isDrained: Bool)>

  init(_ token: ChangeToken?) { state = Locked((token, false)) }

  func next() -> Step? { state.withLock { $0.isDrained ? nil : Step(value: $0.token) } }
  func advance(_ page: ZoneChanges) { state.withLock { $0 = (page.token, !page.moreComing) } }
}

extension Database: RecordReader {
  /// The record with this ID; nil when there is none.
  /// - Throws: `corrupted` when the record's bytes fail their checksum; never wrong data.
  public func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    try reading { (view) throws(DatabaseError) in try view.record(id) }
  }

  /// Pins the newest version.
  @_spi(Daybook) @inline(__always)
  public func beginReading() throws(DatabaseError) -> ReadView {
    do throws(StoreError) {
      let (store, pin) = try stores.beginRead()
      return ReadView(database: self, store: store, source: .pin(pin))
    } catch { throw DatabaseError(error, path: path) }
  }

  /// Releases the pin.
  @_spi(Daybook) @inline(__always)
  public func endReading(_ view: ReadView) {
    if case .pin(let pin) = view.source { view.store.endRead(pin) }
  }
}
