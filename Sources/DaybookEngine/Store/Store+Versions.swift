/// Looking at versions that snapshots hold, beside the one that is read.
extension Store {
  /// Calls `body` with each version older than `pin` that somebody has pinned. Runs within a turn: nothing is freed meanwhile.
  ///
  /// Once `pin` has been published nobody can pin an older version any more, so after this call all who see one were seen.
  package func forEachPinnedVersion<Failure: Error>(
    before pin: Pin?, _ body: (Pin) throws(Failure) -> Void
  ) throws(Failure) {
    try withTurnForBackground { (_) throws(Failure) in
      // The last reader of a store whose place is taken frees its pages without a turn.
      guard versions.beginVisit() else { return }
      defer { endVisit() }
      for state in versions.pinnedStates(before: pin?.version ?? .max) {
        try body(Pin(slot: -1, state: state, source: source))
      }
    }
  }

  /// Runs short work on files of the database within a turn, without a transaction. The database is open for writing and
  /// alive, and stays so until the work is done.
  package func withTurn<Result>(_ body: () throws(DiskFailure) -> Result) throws(StoreError) -> Result {
    try checkUsable()
    return try withTurnForBackground { (_) throws(StoreError) in
      try checkUsable()
      do throws(DiskFailure) { return try body() } catch { throw .disk(error) }
    }
  }
}
