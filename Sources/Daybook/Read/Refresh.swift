import DaybookEngine

extension Database {
  /// How far a read-only database follows the process that writes.
  public enum RefreshTarget: Sendable {
    /// The commits that the writer has acknowledged, the last one up to about 10 ms later, after a compaction that long after the
    /// first look at the new file; all commits, when no process is writing.
    case durable
    /// The same today. (At `.relaxed` the writer's own process sees commits before they are durable; other processes do not.)
    case visible
  }

  /// Moves a database on to what other processes have committed since, as far as they have said that it is durable: the last
  /// commits of a writer that keeps the lock become visible about 10 ms after it pauses. For a read-only database, or one that
  /// shares the file (``Options/Lock/perTransaction``) and has had no transaction since. Snapshots keep what they show.
  /// - Throws: `locked` while the database is suspended: it has no lock then, so a writer could truncate the file under the
  ///   reader.
  /// - Returns: whether anything was new, or the file another one, as after a compaction. A database that keeps the lock from open to
  ///   close is always up to date.
  @discardableResult
  public func refresh(to target: RefreshTarget = .durable) throws(DatabaseError) -> Bool {
    try engine(stores.refresh())
  }
}
