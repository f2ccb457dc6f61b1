/// Frees the space of a transaction that was rolled back after parts of it had been written, or that a full disk has refused.
///
///     … │ commit │ part │ part │ no room
///     … │ commit │ zeros, synced        the tail and the numbers are what they were; then the zeros are cut off
///
/// Where the disk is not full, they are cut off before the sync, all but the reserve; but not beside a reader: then the parts stay
/// where they are until a compaction, because zeroing them would write as much once more, and a note after them says that they
/// are over.
///
/// Nobody was told of its parts, and nothing refers to them. Other processes are positioned behind a commit, and walk over
/// these zeros as over any others. A sync of another thread may have declared their numbers durable, and these numbers will be
/// used again. So no sync is under way when that is taken back, and a thread that waits for such a number waits only for what
/// is written (`syncThrough`).
extension Store {
  /// Takes back everything behind the end that the log had when a transaction began, and cuts off zeros that were added
  /// since. If the disk fails, the parts stay.
  /// - Parameter isFull: whether the disk has refused something.
  func takeBack(to earlier: LogTail, zerosEnd: UInt64, isFull: Bool, _ hold: borrowing Turn.Hold) {
    if log.tail.offset > earlier.offset {
      let isGone = isFull ? try? log.erase(after: earlier, hold) : try? log.cut(after: earlier, hold)
      guard isGone == true else {
        // Then the log says that no commit of them follows: a salvage of a file that was cut here would bring them back. Nothing
        // may follow what was overwritten in part.
        if !log.hasDamagedEnd, !isMutant("leave-parts-open") { try? log.appendNoteAfterParts(hold) }
        return
      }
      syncMonitor.withLock {
        // The turn is held, so nothing more is written and this loop ends.
        while groupCommit.isSyncing { syncMonitor.wait(at: groupCommit.covered) }
        log.moveBack(to: earlier, hold)
      }
      // The transaction may have read what it wrote, so the cache may hold it.
      source.buffered?.evict()
    }
    if isFull { try? log.cutZeros(after: zerosEnd, hold) }
  }
}
