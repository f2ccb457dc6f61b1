import DaybookEngine

extension Database {
  /// How far a read-only database follows the process that writes.
  public enum RefreshTarget: Sendable {
    /// What the writer has acknowledged; everything that holds when nobody writes.
    case durable
    /// The same today: what is not durable yet is not visible to its own process either.
    case visible
  }

  /// Moves a read-only database on to what another process has committed since. Snapshots keep what they show.
  /// - Returns: whether anything was new. A database that is open for writing is always up to date.
  @discardableResult
  public func refresh(to target: RefreshTarget = .durable) throws(DatabaseError) -> Bool {
    do { return try stores.refresh { RecordApplier() } } catch { throw DatabaseError(error, path: path) }
  }
}
