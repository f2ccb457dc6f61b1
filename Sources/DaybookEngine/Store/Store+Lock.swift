/// Taking turns with other processes: the file lock is given back between transactions (`locksPerTransaction`) or while the
/// application is suspended, and taken again for the next.
///
///     take lock ─► same file under the name? last frame still there? handed over? ─► apply what others have committed ─►
///     transactions … ─► sync ─► note that covers everything ─► give lock back
///
/// Between holds the trees stay as they are, and readers of this process read them. Where the name leads to another file, the
/// log is another one, or a process has died without handing over, `.moved` says that the file must be opened again.
///
/// Always true: the lock is given back only when everything written under it is durable, or when this writer is dead.
extension Store {
  /// Takes the file lock and catches up.
  /// - Parameter start: when the caller came. It has waited for the turn, maybe behind others who waited for the same lock.
  func acquireFileLock(
    since start: UInt64 = SystemClock.monotonicNanoseconds(), _ hold: borrowing Turn.Hold
  ) throws(StoreError) {
    if fileLock.isHeld { return }
    if life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    let (timeout, now) = (options.lockTimeoutNanoseconds, SystemClock.monotonicNanoseconds())
    try takeFileLock(atMost: timeout - min(timeout, SystemClock.nanoseconds(from: start, to: now)), hold)
  }

  private func takeFileLock(atMost timeoutNanoseconds: UInt64, _ hold: borrowing Turn.Hold) throws(StoreError) {
    try fileLock.take(atMost: timeoutNanoseconds, hold) { () throws(StoreError) in
      // Whoever closes or suspends waits for this turn.
      if life.isClosed.load(ordering: .acquiring) { throw closedError }
      if life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    } _: { () throws(StoreError) in
      try catchUpWithOthers(hold)
    }
  }

  /// For the last frame. Where several processes write, only when nobody else is at it right now.
  func keepFileLockToClose() -> Bool {
    withTurnForBackground { hold in
      if !fileLock.isHeld {
        guard options.locksPerTransaction, log.hasWritten || isDirtySinceOpen, !life.isSuspended.load(ordering: .acquiring),
          log.isAlive
        else { return false }
        do { try takeFileLock(atMost: 0, hold) } catch { return false }
      }
      return fileLock.keep(hold)
    }
  }

  /// Where this process has held the lock for long, and another waits for it: that one goes first.
  func letOthersHaveTheFileLock(_ hold: borrowing Turn.Hold) throws(StoreError) {
    guard fileLock.isDue(hold), !fileLock.isKept else { return }
    try syncThrough(max(head.frameNumber, log.tail.lastTruthNumber))
    guard releaseFileLock(hold) else { return }
    fileLock.letOthersGoFirst(hold)
    try acquireFileLock(hold)
  }

  /// Goes on behind what others have handed over. Where one has died instead, or the name or the log has changed, the file is
  /// opened again: what is not proven is repaired at one place only, before anybody sees it.
  private func catchUpWithOthers(_ hold: borrowing Turn.Hold) throws(StoreError) {
    let reader: LogReader
    do {
      guard try disk.identity(of: path) == file.identity || isMutant("skip-inode-check-at-takeover") else {
        throw StoreError.moved(.otherFile)
      }
      reader = try Store.log(of: file, header, byteCount: try file.byteCount(), options)
    } catch let error as StoreError { throw error } catch { throw .disk(error as! DiskFailure) }
    let plan = try planOfOthers(in: reader, hold)
    guard plan.isCleanlyHandedOver || isMutant("publish-before-repair") else { throw .moved(.notHandedOver) }
    log.zerosEnd.store(reader.end, ordering: .relaxed)
    guard plan.last != nil else { return }
    if plan.lastSequence > log.tail.sequence { try show(plan, reader, hold) }
    log.move(to: plan.end, provenThrough: plan.provenThrough, hold)
    setDurable(through: plan.provenThrough)
  }

  /// Gives the file lock back, unless a writer of this process waits for its turn or its sync: that one comes by here, too,
  /// whatever becomes of it.
  func releaseFileLockIfIdle() {
    guard options.locksPerTransaction, !life.isForked.load(ordering: .acquiring) else { return }
    withTurnForBackground { hold in
      let isWanted = turn.monitor.withLock { turn.waitingWriterCount > 0 }
      if !isWanted, !fileLock.isKept { releaseFileLock(hold) }
    }
  }

  /// Gives the file lock back; false while a commit is not durable yet, unless the writer is dead. Nobody keeps it.
  @discardableResult
  func releaseFileLock(_ hold: borrowing Turn.Hold) -> Bool {
    if !fileLock.isHeld { return true }
    if log.isAlive {
      // Whoever waits for a commit syncs it, and comes by again. Nobody waits for parts of a transaction that went back.
      if !log.isDurable(head.frameNumber) { return false }
      if !log.isDurable(log.tail.lastTruthNumber) { try? syncThrough(log.tail.lastTruthNumber) }
    }
    if log.isAlive {
      // A checkpoint's own sync acknowledges nothing, and a frame that nothing proves is written again by whoever comes next.
      // So does it where there is no room for the note.
      let last = max(log.tail.lastTruthNumber, log.tail.lastCheckpointNumber)
      if !log.isDurable(last) { try? syncThrough(last) }
      if !isMutant("hand-over-without-note") { try? log.appendNote(covering: last, hold) }
    }
    fileLock.giveBack(hold)
    return true
  }

  /// Keeps the file lock from being given back, for work that lasts longer than a transaction. Ends with `letFileLockGo`.
  func keepFileLock() throws(StoreError) {
    try checkUsable()
    do throws(StoreError) {
      try turn.holding(takeTurn()) { (hold) throws(StoreError) in
        try acquireFileLock(hold)
        _ = fileLock.keep(hold)
      }
    } catch {
      releaseFileLockIfIdle()
      throw error
    }
  }

  func letFileLockGo() {
    fileLock.letGo()
    releaseFileLockIfIdle()
  }

  // MARK: suspending

  /// Gives back every lock, after everything written is durable and background work has stopped. Reads go on.
  func suspend() throws(StoreError) {
    try checkProcess()
    if life.isClosed.load(ordering: .acquiring) { throw closedError }
    life.isSuspended.store(true, ordering: .sequentiallyConsistent)
    if options.isReadOnly {
      // Not under a refresh, which walks over what a writer may cut off from here on.
      return withTurnForBackground { _ in file.unlock(.readers) }
    }
    keeper?.stop()
    try turn.holding(takeTurnWithoutKeepers()) { (hold) throws(StoreError) in
      // Within the turn: a commit that is still under way may ask it for something.
      keeper = nil
      // Also behind a sync that fails: this writer is dead then, and its process may be frozen.
      defer { releaseFileLock(hold) }
      if log.isAlive { try syncWritten() }
    }
  }

  /// The turn, while nobody keeps the file lock; nobody begins to, once the store is suspended.
  private func takeTurnWithoutKeepers() -> Turn.Hold {
    while true {
      let hold = turn.takeForBackground()
      if !fileLock.isKept { return hold }
      turn.give(hold)
      fileLock.waitForKeepers()
    }
  }

  /// Takes the locks again and catches up with what others have done. Where that fails, also because the file has to be opened
  /// again, this store has no lock and stays suspended.
  func resume() throws(StoreError) {
    try checkProcess()
    if life.isClosed.load(ordering: .acquiring) { throw closedError }
    // Within one turn: a writer in line must not find the store awake, and take a lock that nobody would give back.
    try turn.holding(takeTurn()) { (hold) throws(StoreError) in
      guard life.isSuspended.exchange(false, ordering: .sequentiallyConsistent) else { return }
      do throws(StoreError) {
        if options.isReadOnly {
          try Store.lockReaders(file, options)
        } else if !options.locksPerTransaction {
          try acquireFileLock(hold)
          startKeeper()
        }
      } catch {
        life.isSuspended.store(true, ordering: .sequentiallyConsistent)
        throw error
      }
    }
  }
}

extension StoreSwitch {
  /// Opens the file again, and lets the store that comes of it take this one's place. Called with `replacing`.
  ///
  /// With the turn: a commit of the old store behind the new one's back would be acknowledged, and missing from what is read.
  func reload(_ store: Store, _ cause: StoreError.Moved) throws(StoreError) {
    guard self.store === store else { return }
    guard try replaceByNewOpen(store, cause) else { return }
    store.retire()
  }

  /// False where another thread has the lock: it found that whatever was the matter is over.
  private func replaceByNewOpen(_ store: Store, _ cause: StoreError.Moved) throws(StoreError) -> Bool {
    try store.withTurnForBackground { (hold) throws(StoreError) in
      if !store.options.isReadOnly, store.fileLock.isHeld { return false }
      let next = try Store.open(store.path, disk: store.disk, options: store.options, applier: makeApplier())
      guard next.header.uuidHigh == store.header.uuidHigh, next.header.uuidLow == store.header.uuidLow else {
        try? next.close()
        throw .replaced(path: store.path)
      }
      // What older snapshots show may have been written over.
      if cause == .otherLog { store.revokeSnapshots() }
      // With both turns: nobody commits to the new one before those who listen know how far it is.
      next.withTurnForBackground { _ in
        replace(by: next)
        store.supersede(hold)
        // What a dead writer has written and not shown may have gone, and counts as others' where it has not.
        let known = store.log.isAlive ? store.head.sequence : store.versions.shownSequence.load(ordering: .acquiring)
        store.options.onOthers?(OthersCommits(known: known, last: next.head.sequence, isReopened: true))
      }
      return true
    }
  }

  /// Gives back every lock until `resume`; writes throw `.suspended` meanwhile.
  package func suspend() throws(StoreError) {
    try checkCaller()
    replacing.lock()
    defer { replacing.unlock() }
    try store.suspend()
  }

  package func resume() throws(StoreError) {
    try checkCaller()
    replacing.lock()
    defer { replacing.unlock() }
    let store = self.store
    let wasSuspended = store.life.isSuspended.load(ordering: .acquiring)
    do { try store.resume() } catch {
      guard case .moved(let cause) = error else { throw error }
      return try reload(store, cause)
    }
    // Whoever keeps the lock has caught up by taking it. Where the look fails, nothing is resumed: what the database does
    // beside its store would not be, either. A database that was awake stays so.
    do { _ = try refresh(store) } catch {
      if wasSuspended { try? self.store.suspend() }
      throw error
    }
  }
}
