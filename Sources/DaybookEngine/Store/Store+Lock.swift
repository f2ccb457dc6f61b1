/// Taking turns with other processes: the file lock is given back between transactions (`locksPerTransaction`) or while the
/// application is suspended, and taken again for the next.
///
///     take lock ─► same file under the name? last frame still there? ─► apply what others have committed ─► mend what a
///     process that died has left ─► transactions … ─► sync ─► note that covers everything ─► give lock back
///
/// Between holds the trees stay as they are, and readers of this process read them. Where the name leads to another file, or
/// the log is another one, `.moved` says that the file must be opened again.
///
/// Always true: the lock is given back only when everything written under it is durable, or when this writer is dead.
extension Store {
  /// What a hold of the file lock found that others had done.
  package struct Takeover: Sendable {
    /// Grows with each hold that found something.
    package var count = 0
    /// The last commit known before.
    package var from: UInt64 = 0
    package var to: UInt64 = 0
    /// Something had to be discarded or rewritten: a process had died.
    package var hasMended = false
  }

  /// Takes the file lock and catches up. Called with the turn.
  func acquireFileLock() throws(StoreError) {
    if holdsFileLock { return }
    if isSuspended.load(ordering: .acquiring) { throw .suspended }
    try takeFileLock(atMost: options.lockTimeoutNanoseconds)
  }

  private func takeFileLock(atMost timeoutNanoseconds: UInt64) throws(StoreError) {
    let claim = try waitForFileLock(atMost: timeoutNanoseconds)
    do { try catchUpWithOthers() } catch {
      file.unlock(.writer)
      claim.release()
      throw error
    }
    writerClaim = claim
    holdsFileLock = true
  }

  /// For the last frame of a file that several processes write: only when nobody else is at it right now.
  func takeFileLockToClose() -> Bool {
    guard options.locksPerTransaction, hasWritten || isDirtySinceOpen, !isSuspended.load(ordering: .acquiring),
      !isDead.load(ordering: .acquiring)
    else { return false }
    takeTurnForBackground()
    defer { giveTurn() }
    do { try takeFileLock(atMost: 0) } catch { return false }
    return true
  }

  private func waitForFileLock(atMost timeoutNanoseconds: UInt64) throws(StoreError) -> WriterClaim {
    let start = SystemClock.monotonicNanoseconds()
    // Another process gives the lock back after a fraction of a millisecond; later there is no hurry.
    var pause: UInt64 = 50_000
    while true {
      if let claim = WriterClaim(file.identity) {
        do {
          if try file.tryLock(.writer, .exclusive) { return claim }
        } catch {
          claim.release()
          throw .disk(error)
        }
        claim.release()
      }
      if SystemClock.monotonicNanoseconds() - start >= timeoutNanoseconds { throw .locked(path: path) }
      SystemClock.sleep(nanoseconds: pause)
      pause = min(pause + pause / 4, 2_000_000)
    }
  }

  private func catchUpWithOthers() throws(StoreError) {
    let log: LogReader
    do {
      guard try disk.identity(of: path) == file.identity || isMutant("skip-inode-check-at-takeover") else {
        throw StoreError.moved
      }
      log = try Store.log(of: file, header, byteCount: try file.byteCount(), options)
    } catch let error as StoreError { throw error } catch { throw .disk(error as! DiskFailure) }
    guard try lastShownHolds(in: log) else { throw .moved }
    let plan: RecoveryPlan
    do { plan = try log.plan(continuing: placeOfTail) } catch { throw .disk(error) }
    if case .rotten(let lost) = plan.ending { throw .rotten(lost: lost) }
    let before = tail
    let rewritten = recovery.rewrittenFrameCount
    if plan.lastSequence > tail.sequence { try replayMore(plan, log) }
    try mend(plan, log: log, isTakeover: true)
    moveTail(behind: plan, from: before)
    setDurable(plan)
    let hasMended = plan.ending != .clean || recovery.rewrittenFrameCount != rewritten
    if hasMended || plan.lastSequence > before.sequence {
      takeover = Takeover(
        count: takeover.count + 1, from: before.sequence, to: plan.lastSequence, hasMended: hasMended)
    }
  }

  /// Where the walk over what others have written begins.
  var placeOfTail: CheckpointContents {
    CheckpointContents(
      freezeOffset: tail.offset, freezeNumber: tail.number, freezeSequence: tail.sequence,
      freezePrevious: tail.previous, pageCount: 0, liveByteCount: 0, roots: [])
  }

  private func moveTail(behind plan: RecoveryPlan, from old: LogTail) {
    guard let last = plan.last else {
      tail = old
      return
    }
    tail = LogTail(plan)
    // Checkpoints count whoever has made them; that the walk began behind one does not make it go away.
    if plan.newestCheckpoint == 0 {
      tail.newestCheckpoint = old.newestCheckpoint
      tail.olderCheckpoint = old.olderCheckpoint
    } else {
      tail.newestCheckpoint = plan.newestCheckpoint
      tail.olderCheckpoint = plan.olderCheckpoint
    }
    tail.pageFrameByteCount &+= old.pageFrameByteCount
    lastShown = (last.offset, last.checksum)
  }

  private func setDurable(_ plan: RecoveryPlan) {
    if plan.last == nil {
      // Nothing behind what a refresh has shown, and that is durable; our own note at the end need not be.
      syncMonitor.lock()
      durableNumber = max(durableNumber, head.frameNumber)
      durableThrough.store(durableNumber, ordering: .releasing)
      syncMonitor.unlock()
      writtenNumber.store(max(writtenNumber.load(ordering: .acquiring), tail.number - 1), ordering: .releasing)
      writtenOffset.store(tail.offset, ordering: .releasing)
      syncedOffset.store(tail.offset, ordering: .releasing)
      return
    }
    // A `closed` frame at the end, or the note of a hand-over, becomes durable with what is appended behind it.
    let number = plan.isClosed || plan.isHandedOver ? tail.number - 2 : tail.number - 1
    syncMonitor.lock()
    durableNumber = max(durableNumber, number)
    durableThrough.store(durableNumber, ordering: .releasing)
    syncMonitor.unlock()
    writtenNumber.store(tail.number - 1, ordering: .releasing)
    writtenOffset.store(tail.offset, ordering: .releasing)
    syncedOffset.store(tail.offset, ordering: .releasing)
    tail.lastDurableThrough = plan.provenThrough
    tail.lastTruthNumber = plan.hasUnprovenTruth ? number : tail.lastDurableThrough
  }

  /// Gives the file lock back, unless a writer of this process waits for its turn or its sync.
  func releaseFileLockIfIdle() {
    guard options.locksPerTransaction else { return }
    takeTurnForBackground()
    defer { giveTurn() }
    let isBusy = turn.withLock { waitingWriterCount > 0 || fileLockKeeperCount > 0 }
    if isBusy { return }
    releaseFileLock()
  }

  /// Gives the file lock back. Called with the turn; does nothing while something written is not durable yet, unless the
  /// writer is dead.
  @discardableResult
  func releaseFileLock() -> Bool {
    if !holdsFileLock { return true }
    if !isDead.load(ordering: .acquiring) {
      if durableThrough.load(ordering: .acquiring) < tail.lastTruthNumber { return false }
      // A checkpoint's own sync acknowledges nothing, and a frame that nothing proves is written again by whoever comes next.
      // So does it where there is no room for the note.
      let last = max(tail.lastTruthNumber, tail.lastCheckpointNumber)
      if durableThrough.load(ordering: .acquiring) < last { try? syncThrough(last) }
      if !isMutant("hand-over-without-note") { try? writeNote(covering: last) }
    }
    file.unlock(.writer)
    writerClaim?.release()
    writerClaim = nil
    holdsFileLock = false
    return true
  }

  /// Keeps the file lock from being given back, for work that lasts longer than a transaction.
  func keepFileLock() throws(StoreError) {
    try checkUsable()
    takeTurn()
    defer { giveTurn() }
    try acquireFileLock()
    turn.withLock { fileLockKeeperCount += 1 }
  }

  func letFileLockGo() {
    turn.withLock { fileLockKeeperCount -= 1 }
    releaseFileLockIfIdle()
  }

  // MARK: suspending

  /// Gives back every lock, after everything written is durable and background work has stopped. Reads go on.
  func suspend() throws(StoreError) {
    if isClosed.load(ordering: .acquiring) { throw closedError }
    isSuspended.store(true, ordering: .sequentiallyConsistent)
    if options.isReadOnly {
      file.unlock(.readers)
      return
    }
    keeper?.stop()
    waitForCheckpoint()
    takeTurnForBackground()
    defer { giveTurn() }
    // Within the turn: a commit that is still under way may ask it for something.
    keeper = nil
    if !isDead.load(ordering: .acquiring) { try syncThrough(writtenNumber.load(ordering: .acquiring)) }
    releaseFileLock()
  }

  /// Takes the locks again and catches up with what others have done.
  func resume() throws(StoreError) {
    if isClosed.load(ordering: .acquiring) { throw closedError }
    guard isSuspended.exchange(false, ordering: .sequentiallyConsistent) else { return }
    do throws(StoreError) {
      if options.isReadOnly {
        do { _ = try file.tryLock(.readers, .shared) } catch { throw .disk(error) }
      } else if !options.locksPerTransaction {
        takeTurn()
        defer { giveTurn() }
        try acquireFileLock()
        startKeeper()
      }
    } catch {
      // `.moved` is dealt with by opening the file again.
      if case .moved = error {} else { isSuspended.store(true, ordering: .sequentiallyConsistent) }
      throw error
    }
  }
}

extension StoreSwitch {
  /// Opens the file again, and lets the store that comes of it take this one's place.
  func reload(_ store: Store, isSameFile: Bool) throws(StoreError) {
    let next = try Store.open(store.path, disk: store.disk, options: store.options, applier: makeApplier())
    guard next.header.uuidHigh == store.header.uuidHigh, next.header.uuidLow == store.header.uuidLow else {
      try? next.close()
      throw .replaced(path: store.path)
    }
    // What older snapshots show may have been written over.
    if isSameFile { store.revokeSnapshots() }
    replace(by: next)
    store.supersede()
    store.retire()
  }

  /// The store was found to lead to another file or log. Called with `replacing`.
  func reloadMoved(_ store: Store) throws(StoreError) {
    guard self.store === store else { return }
    let isSameFile: Bool
    do { isSameFile = try store.disk.identity(of: store.path) == store.file.identity } catch { throw .disk(error) }
    try reload(store, isSameFile: isSameFile)
  }

  /// Gives back every lock until `resume`; writes throw `.suspended` meanwhile.
  package func suspend() throws(StoreError) {
    replacing.lock()
    defer { replacing.unlock() }
    try store.suspend()
  }

  package func resume() throws(StoreError) {
    let store = self.store
    do { try store.resume() } catch {
      guard case .moved = error else { throw error }
      try replacing.withLock { () throws(StoreError) in try reloadMoved(store) }
    }
  }
}
