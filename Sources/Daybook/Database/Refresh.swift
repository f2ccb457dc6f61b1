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
    let before = store.lastSequence
    do {
      let isNew = try stores.refresh()
      // Whoever listens for commits learns that there were some; what they did is in the feeds.
      let after = store.lastSequence
      if after > before { hub.pass(before + 1...after) }
      return isNew
    } catch { throw DatabaseError(error, path: path) }
  }
}
