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
  /// What a hold of the file lock found that others had done.
  package struct Takeover: Sendable {
    /// Grows with each hold that found something.
    package var count = 0
    /// The last commit known before.
    package var from: UInt64 = 0
    package var to: UInt64 = 0
    /// Something had to be discarded or rewritten, because a process had died; or it is another file or log.
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

  /// Goes on behind what others have handed over. Where one has died instead, or the name or the log has changed, the file is
  /// opened again: what is not proven is repaired at one place only, before anybody sees it.
  private func catchUpWithOthers() throws(StoreError) {
    let log: LogReader
    do {
      guard try disk.identity(of: path) == file.identity || isMutant("skip-inode-check-at-takeover") else {
        throw StoreError.moved(.otherFile)
      }
      log = try Store.log(of: file, header, byteCount: try file.byteCount(), options)
    } catch let error as StoreError { throw error } catch { throw .disk(error as! DiskFailure) }
    let plan = try planOfOthers(in: log)
    guard plan.isCleanlyHandedOver || isMutant("publish-before-repair") else { throw .moved(.notHandedOver) }
    zerosEnd.store(log.end, ordering: .relaxed)
    guard plan.last != nil else { return }
    let before = tail.sequence
    if plan.lastSequence > before { try show(plan, log) }
    tail.move(to: plan.end, provenThrough: plan.provenThrough)
    setDurable(through: plan.provenThrough)
    if plan.lastSequence > before {
      takeover = Takeover(count: takeover.count + 1, from: before, to: plan.lastSequence, hasMended: false)
    }
  }

  /// Gives the file lock back, unless a writer of this process waits for its turn or its sync.
  func releaseFileLockIfIdle() {
    guard options.locksPerTransaction, !isForked.load(ordering: .acquiring) else { return }
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
    try checkProcess()
    if isClosed.load(ordering: .acquiring) { throw closedError }
    isSuspended.store(true, ordering: .sequentiallyConsistent)
    if options.isReadOnly {
      // Not under a refresh, which walks over what a writer may cut off from here on.
      takeTurnForBackground()
      defer { giveTurn() }
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
    try checkProcess()
    if isClosed.load(ordering: .acquiring) { throw closedError }
    guard isSuspended.exchange(false, ordering: .sequentiallyConsistent) else { return }
    do throws(StoreError) {
      if options.isReadOnly {
        try Store.lockReaders(file, options)
      } else if !options.locksPerTransaction {
        takeTurn()
        defer { giveTurn() }
        try acquireFileLock()
        startKeeper()
      }
    } catch {
      // Also where the file has to be opened again: until that has worked, this one has no lock, and stays suspended.
      isSuspended.store(true, ordering: .sequentiallyConsistent)
      throw error
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
    store.takeTurnForBackground()
    defer { store.giveTurn() }
    if !store.options.isReadOnly, store.holdsFileLock { return false }
    let next = try Store.open(store.path, disk: store.disk, options: store.options, applier: makeApplier())
    guard next.header.uuidHigh == store.header.uuidHigh, next.header.uuidLow == store.header.uuidLow else {
      try? next.close()
      throw .replaced(path: store.path)
    }
    // What older snapshots show may have been written over.
    if cause == .otherLog { store.revokeSnapshots() }
    // Whatever has the name now, it need not go on from what was known: an older copy may have been put there.
    next.takeover = Store.Takeover(count: 1, from: store.head.sequence, to: next.head.sequence, hasMended: true)
    replace(by: next)
    store.supersede()
    return true
  }

  /// Gives back every lock until `resume`; writes throw `.suspended` meanwhile.
  package func suspend() throws(StoreError) {
    try checkProcess()
    replacing.lock()
    defer { replacing.unlock() }
    try store.suspend()
  }

  package func resume() throws(StoreError) {
    try checkProcess()
    replacing.lock()
    defer { replacing.unlock() }
    let store = self.store
    do { try store.resume() } catch {
      guard case .moved(let cause) = error else { throw error }
      try reload(store, cause)
    }
  }
}
