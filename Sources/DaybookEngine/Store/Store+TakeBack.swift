/// Giving back the room of a transaction that a full disk has refused.
///
///     … │ commit │ part │ part │ no room
///     … │ commit │ zeros, synced        the tail and the numbers are what they were; then the zeros are cut off
///
/// Nobody has been told of its parts, and nothing names them: other processes stand behind a commit, and walk over zeros as over
/// any that are prepared. A sync of somebody else may have called their numbers durable, and these are given again: so no sync
/// is under way when that is forgotten, and whoever waits for such a number waits for what is written (`syncThrough`).
extension Store {
  /// Takes everything back behind a place where a transaction began, and cuts off zeros that were not there then. Where the disk
  /// does not let it, the parts stay as those of other transactions that went back.
  func takeBack(to place: LogTail, zerosEnd: UInt64, _ hold: borrowing Turn.Hold) {
    if log.tail.offset > place.offset {
      guard (try? log.erase(behind: place, hold)) == true else { return }
      syncMonitor.withLock {
        // The turn is held: nothing more is written, so this ends.
        while groupCommit.isSyncing { syncMonitor.wait(at: groupCommit.covered) }
        log.moveBack(to: place, hold)
      }
      // The transaction may have read what it wrote.
      source.buffered?.evict()
    }
    try? log.cutZeros(behind: zerosEnd, hold)
  }
}
