/// Sharing with other processes: the file lock is released between transactions (`locksPerTransaction`) or while the
/// application is suspended, and taken again for the next transaction.
///
///     take lock ─► same file under the name? last frame still there? handed over? ─► apply what others have committed ─►
///     transactions … ─► sync ─► note that covers everything ─► give lock back
///
/// Between holds, the trees do not change, and readers of this process read them. If the name leads to another file, the log
/// was replaced, a process has died without handing over, or others have written so much that an open is less work, `.moved`
/// says that the file must be opened again.
///
/// Always true: the lock is released only when everything written under it is durable, or when this writer is dead.
extension Store {
  /// Takes the file lock and catches up.
  /// - Parameter start: when the caller began to wait: first for the turn, perhaps behind others that waited for the same lock.
  func acquireFileLock(
    since start: UInt64 = SystemClock.monotonicNanoseconds(), _ hold: borrowing Turn.Hold
  ) throws(StoreError) {
    if fileLock.isHeld { return }
    if life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    let (timeout, now) = (options.lockTimeoutNanoseconds, SystemClock.monotonicNanoseconds())
    try takeFileLock(atMost: timeout - min(timeout, SystemClock.nanoseconds(from: start, to: now)), hold)
  }

  /// - Parameter mostLag: how much of others' log is applied: more throws `.moved`, whether the file can be opened at a
  ///   checkpoint or not.
  private func takeFileLock(
    atMost timeoutNanoseconds: UInt64, mostLag: UInt64 = .max, _ hold: borrowing Turn.Hold
  ) throws(StoreError) {
    try fileLock.take(atMost: timeoutNanoseconds, hold) { () throws(StoreError) in
      // A `close` or `suspend` is waiting for this turn, or for the right to replace this store.
      try endRequests.check()
      if life.isClosed.load(ordering: .acquiring) { throw closedError }
      if life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    } _: { () throws(StoreError) in
      try catchUpWithOthers(mostLag: mostLag, hold)
      // A later version may have written what this one must not change.
      try checkFeatures()
    }
  }

  /// Keeps the file lock for the last frame. If several processes write, only if no other holds the lock right now, or has
  /// written much since: who has nothing to write need not know it, and the others close the file in their turn.
  func retainFileLockToClose() -> Bool {
    withTurnForBackground { hold in
      if !fileLock.isHeld {
        guard options.locksPerTransaction, log.hasWritten || isDirtySinceOpen, !life.isSuspended.load(ordering: .acquiring),
          log.isAlive
        else { return false }
        let mostLag = UInt64(max(0, options.closeCheckpointByteCount))
        do { try takeFileLock(atMost: 0, mostLag: mostLag, hold) } catch { return false }
      }
      return fileLock.retain(hold)
    }
  }

  /// If this process has held the lock for long and another waits for it, lets that one go first.
  func letOthersHaveTheFileLock(_ hold: borrowing Turn.Hold) throws(StoreError) {
    guard fileLock.isDue(hold), !fileLock.isRetained else { return }
    try syncThrough(max(head.frameNumber, log.tail.lastDataNumber))
    guard releaseFileLock(hold) else { return }
    fileLock.letOthersGoFirst(hold)
    try acquireFileLock(hold)
  }

  /// Continues behind what others have handed over. If one has died instead, or the name or the log has changed, the file is
  /// opened again: only an open repairs what is not proven, before anyone sees it.
  private func catchUpWithOthers(mostLag: UInt64, _ hold: borrowing Turn.Hold) throws(StoreError) {
    let reader: LogReader
    do {
      guard try disk.identity(of: path) == file.identity || isMutant("skip-inode-check-at-takeover") else {
        throw StoreError.moved(.otherFile)
      }
      reader = try logOfOthers()
    } catch { throw StoreError(diskOrStore: error) }
    let plan = try planOfOthers(in: reader, hold)
    guard plan.isCleanlyHandedOver || isMutant("publish-before-repair") else { throw .moved(.notHandedOver) }
    log.zerosEnd.store(reader.end, ordering: .relaxed)
    guard plan.last != nil else { return }
    if plan.lastSequence > log.tail.sequence {
      if lag(of: plan) > mostLag || isBetterOpened(plan) { throw .moved(.outgrown) }
      try publish(plan, reader, hold)
    }
    log.move(to: plan.end, provenThrough: plan.provenThrough, hold)
    log.setDurable(plan.provenThrough)
  }

  /// Releases the file lock, unless a writer of this process waits for its turn or its sync. That writer will come here, too,
  /// however it ends.
  func releaseFileLockIfIdle() {
    guard options.locksPerTransaction || laterFeatures.load(ordering: .relaxed) != 0, !life.isForked.load(ordering: .acquiring)
    else { return }
    withTurnForBackground { hold in
      let isWanted = turn.monitor.withLock { turn.waitingWriterCount > 0 }
      if !isWanted, !fileLock.isRetained { releaseFileLock(hold) }
    }
  }

  /// Releases the file lock; false while a commit is not durable yet, unless the writer is dead. Called when nothing keeps the
  /// lock.
  @discardableResult
  func releaseFileLock(_ hold: borrowing Turn.Hold) -> Bool {
    if !fileLock.isHeld { return true }
    let mayAppend = log.isAlive && laterFeatures.load(ordering: .relaxed) == 0
    if log.isAlive {
      // A thread that waits for a commit syncs it and will come here again. Nobody waits for parts of a transaction that was
      // rolled back.
      if !log.isDurable(head.frameNumber) { return false }
      if !log.isDurable(log.tail.lastDataNumber) { try? syncThrough(log.tail.lastDataNumber) }
    }
    if mayAppend {
      // The sync of a checkpoint acknowledges nothing, and the next writer rewrites a frame that nothing proves. That also
      // happens if there is no room for the note.
      let last = max(log.tail.lastDataNumber, log.tail.lastCheckpointNumber)
      if !log.isDurable(last) { try? syncThrough(last) }
      if !isMutant("hand-over-without-note") { try? log.appendNote(covering: last, hold) }
    }
    fileLock.giveBack(hold)
    return true
  }

  /// Retains the file lock for work that lasts longer than a transaction. `releaseRetainedFileLock` ends that.
  /// - Parameter start: when the caller began to wait.
  func retainFileLock(since start: UInt64 = SystemClock.monotonicNanoseconds()) throws(StoreError) {
    try checkUsable()
    do throws(StoreError) {
      try turn.holding(takeTurn()) { (hold) throws(StoreError) in
        try acquireFileLock(since: start, hold)
        _ = fileLock.retain(hold)
      }
    } catch {
      releaseFileLockIfIdle()
      throw error
    }
  }

  func releaseRetainedFileLock() {
    fileLock.release()
    releaseFileLockIfIdle()
  }

  // MARK: suspending

  /// Releases every lock, after everything written is durable and background work has stopped. Reads go on.
  func suspend() throws(StoreError) {
    try checkProcess()
    if life.isClosed.load(ordering: .acquiring) { throw closedError }
    life.isSuspended.store(true, ordering: .sequentiallyConsistent)
    if options.isReadOnly {
      // Within the turn: a refresh would walk over zeros that a writer may cut off from here on.
      return withTurnForBackground { _ in file.unlock(.readers) }
    }
    maintenance?.stop()
    try turn.holding(takeTurnWhenNothingRetains()) { (hold) throws(StoreError) in
      // Within the turn: a commit that is still under way may make a request to it.
      maintenance = nil
      // Also after a failed sync: then this writer is dead, and the system may suspend its process.
      defer { releaseFileLock(hold) }
      if log.isAlive { try syncWritten() }
      try requireDurable(hold)
    }
  }

  /// Takes the turn when nothing retains the file lock; once the store is suspended, nothing will.
  private func takeTurnWhenNothingRetains() -> Turn.Hold {
    while true {
      let hold = turn.takeForBackground()
      if !fileLock.isRetained { return hold }
      turn.give(hold)
      fileLock.waitUntilReleased()
    }
  }

  /// Takes the locks again and catches up with what others have done. If that fails, or the file must be opened again, this
  /// store has no lock and stays suspended.
  /// - Parameter start: when the caller began to wait.
  func resume(since start: UInt64) throws(StoreError) {
    try checkProcess()
    if life.isClosed.load(ordering: .acquiring) { throw closedError }
    // Within one turn: a waiting writer must not see the store resumed too early, and take a lock that nobody would release.
    try turn.holding(takeTurn()) { (hold) throws(StoreError) in
      guard life.isSuspended.exchange(false, ordering: .sequentiallyConsistent) else { return }
      do throws(StoreError) {
        if options.isReadOnly {
          try Store.lockReaders(file, options)
        } else if !options.locksPerTransaction {
          try acquireFileLock(since: start, hold)
          startMaintenance()
        }
      } catch .laterFeatures {
        // Caught up, and reading goes on without the lock.
        return
      } catch {
        life.isSuspended.store(true, ordering: .sequentiallyConsistent)
        throw error
      }
    }
  }
}
