/// Visits versions that snapshots hold.
extension Store {
  /// Calls `body` with each version older than `pin` that is pinned. Runs within a turn, so nothing is freed meanwhile.
  ///
  /// Once `pin` has been published, nobody can pin an older version any more, so this visits all older versions in use.
  package func forEachPinnedVersion<Failure: Error>(
    before pin: Pin?, _ body: (Pin) throws(Failure) -> Void
  ) throws(Failure) {
    try withTurnForBackground { (_) throws(Failure) in
      // The last reader of a store that was replaced frees its pages without a turn.
      guard versions.beginVisit() else { return }
      defer { endVisit() }
      for state in versions.pinnedStates(before: pin?.version ?? .max) {
        try body(Pin(slot: -1, state: state, source: source))
      }
    }
  }

  /// Runs short work on files of the database within a turn, without a transaction. The database is open for writing, and stays
  /// so until the work is done.
  package func withTurn<Result>(_ body: () throws(DiskFailure) -> Result) throws(StoreError) -> Result {
    try checkUsable()
    return try withTurnForBackground { (_) throws(StoreError) in
      try checkUsable()
      return try Store.onDisk(call: try body())
    }
  }
}
