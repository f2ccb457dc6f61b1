/// Looking at versions that snapshots hold, beside the one that is read.
extension Store {
  /// Calls `body` with each version older than `pin` that somebody has pinned. Runs within a turn: nothing is freed meanwhile.
  ///
  /// Once `pin` has been published nobody can pin an older version any more, so after this call all who see one were seen.
  package func forEachPinnedVersion<Failure: Error>(
    before pin: Pin?, _ body: (Pin) throws(Failure) -> Void
  ) throws(Failure) {
    takeTurnForBackground()
    defer { giveTurn() }
    // The last reader of a store whose place is taken frees its pages without a turn.
    guard beginVisit() else { return }
    defer { endVisit() }
    let words = slots.pinnedWords()
    let older = syncMonitor.withLock {
      // A slot may name a version that is gone; those that are not are in this table, and only the turn removes them.
      liveStates.filter { word, version in words.contains(word) && version < pin?.version ?? .max }.map(\.key)
    }
    for word in older { try body(Pin(slot: -1, state: StateReference(word: word), source: source)) }
  }

  /// Runs short work on files of the database within a turn, without a transaction. The database is open for writing and
  /// alive, and stays so until the work is done.
  package func withTurn<Result>(_ body: () throws(DiskFailure) -> Result) throws(StoreError) -> Result {
    try checkUsable()
    takeTurnForBackground()
    defer { giveTurn() }
    try checkUsable()
    do { return try body() } catch { throw .disk(error) }
  }
}
