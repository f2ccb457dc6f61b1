/// Writing: a transaction within the turn, its frame at the end of the log, one sync for all waiting commits.
///
///     beginTransaction ─► operations ─► commit: frame appended, head moves, turn given back ─► wait: sync, publish
///
/// While one thread syncs, others append; the next sync acknowledges them all.
extension Store {
  /// What a writer waits for: the frame that must be durable before its results are reported.
  package struct Ticket: Sendable {
    package let frameNumber: UInt64
    /// The sequence of the commit, or of the last commit before it if the transaction wrote nothing.
    package let sequence: UInt64
    package let didCommit: Bool
    /// Whether the log budget is used up without a checkpoint: then the committing thread makes it.
    var needsCheckpoint = false
    /// Whether, at `.relaxed`, a sync is due without a background thread: then the committing thread makes it.
    var needsSync = false
  }

  /// Takes the turn and starts a transaction on the newest version. `commit` or `abort` ends it.
  package func beginTransaction(
    since start: UInt64 = SystemClock.monotonicNanoseconds()
  ) throws(StoreError) -> StoreTransaction {
    try checkUsable()
    try checkMayWait()
    let hold = takeTurn()
    do throws(StoreError) {
      try checkUsable()
      if !fileLock.isHeld {
        if options.locksPerTransaction { fileLock.letOthersGoFirstIfDue(hold) }
        try acquireFileLock(since: start, hold)
      } else if options.locksPerTransaction {
        try letOthersHaveTheFileLock(hold)
      }
    } catch {
      turn.give(hold)
      // The previous holder of the turn may have left the file lock to this writer.
      releaseFileLockIfIdle()
      throw error
    }
    versions.reclaimIfDue(hold)
    let transaction = reusableTransaction
    transaction.begin(hold)
    return transaction
  }

  /// Appends the transaction's frame and releases the turn. After an error, nothing of it is left.
  /// - Parameter whenWritten: called with the turn, when the commit can no longer fail and nobody sees it yet.
  package func commit(
    _ transaction: StoreTransaction, whenWritten: () -> Void = {}
  ) throws(StoreError) -> Ticket {
    guard transaction.hasOperations else {
      let ticket = abort(transaction)
      return ticket
    }
    let header: FrameHeader
    do throws(StoreError) {
      try transaction.withTurn { (hold) throws(StoreError) in try makeNameDurable(hold) }
      header = try transaction.writeCommit()
    } catch {
      abandon(transaction)
      throw error
    }
    whenWritten()
    return makeNewest(transaction, with: header)
  }

  /// Syncs the directory before the first commit of an open, because the process that renamed the file may have died before it
  /// did. It does not happen with the commit's own sync: if the directory cannot be opened, nothing is lost, and only this
  /// transaction fails.
  func makeNameDurable(_: borrowing Turn.Hold) throws(StoreError) {
    if hasDurableName || isUnfinished { return }
    do throws(DiskFailure) {
      if !isMutant("skip-directory-sync") { try disk.syncDirectory(holding: path) }
    } catch {
      guard error.operation == .syncDirectory else { throw .disk(error) }
      try log.orDie { () throws(DiskFailure) in throw error }
    }
    hasDurableName = true
  }

  /// Makes the result of a transaction the newest version and releases the turn.
  /// - Parameter header: the header of its commit frame, or of the last one in a batch.
  func makeNewest(_ transaction: StoreTransaction, with header: FrameHeader) -> Ticket {
    facts = applier.facts(transaction)
    let hold = transaction.takeTurn()
    let balance = editor.pageBalance
    replaceHead(
      by: Version(
        number: head.number + 1, position: log.tail.position, end: log.tail.offset, frameNumber: header.number,
        pageCount: head.pageCount, pageBalance: balance, liveByteCount: transaction.liveByteCount,
        roots: transaction.roots), hold)
    repeatDeclarationsIfDue(hold)
    commitCount.add(1, ordering: .releasing)
    keepFeatures(of: transaction)
    var published: UInt64?
    if options.durability == .relaxed || isMutant("acknowledge-before-sync") { published = versions.publish(regardless: true) }
    var ticket = Ticket(frameNumber: header.number, sequence: header.sequence, didCommit: true)
    if let maintenance {
      ask(maintenance, afterCommit: header, hold)
    } else {
      ticket.needsSync = mustSyncWithoutMaintenance(hold)
    }
    ticket.needsCheckpoint = needsCheckpointNow(hold)
    turn.give(hold)
    if let published { options.onPublish?(published, number) }
    return ticket
  }

  /// Undoes the transaction and releases the turn. The ticket covers what the transaction may have read: its caller waits for
  /// it, which also releases the file lock.
  package func abort(_ transaction: StoreTransaction) -> Ticket {
    transaction.rollBackAll()
    transaction.giveBackRoom()
    let ticket = Ticket(frameNumber: head.frameNumber, sequence: head.sequence, didCommit: false)
    turn.give(transaction.takeTurn())
    return ticket
  }

  /// Undoes a transaction that ends with an error of the store, and releases the turn and the file lock.
  package func abandon(_ transaction: StoreTransaction) {
    // The ticket is dropped, because the error says nothing of what was read.
    _ = abort(transaction)
    releaseFileLockIfIdle()
  }

  /// Waits until everything up to a ticket is durable and visible. At `.relaxed` there is nothing to wait for,
  /// unless writers share the file, or the ticket asks for a sync.
  package func wait(_ ticket: Ticket) throws(StoreError) {
    defer { releaseFileLockIfIdle() }
    if options.durability != .relaxed || options.locksPerTransaction {
      try syncThrough(isMutant("acknowledge-before-sync") ? ticket.frameNumber - 1 : ticket.frameNumber)
    }
    if ticket.needsSync { try syncThrough(ticket.frameNumber) }
    guard ticket.needsCheckpoint else { return }
    tryCheckpoint()
    // At `.relaxed` nothing waited for this commit, and the checkpoint's sync may have failed.
    if !isDurable(ticket.frameNumber) { try checkAlive() }
  }

  /// Makes everything written so far durable.
  package func sync() throws(StoreError) {
    try checkUsable()
    // A writer that shares the file has waited for its commits. At most a note is unsynced. It has no file lock now: a failed sync here
    // could drop what another process is writing.
    let hasWaited = options.locksPerTransaction && options.durability != .relaxed && !versions.hasPending
    if hasWaited, !isMutant("sync-out-of-turn") { return }
    // Also while the store is suspending: it sets its flag before it has synced.
    try syncWritten()
    // At `.relaxed` a note follows, so that an open from now on sees what was synced. At other levels the next frame suffices.
    if options.durability == .relaxed { _ = tryNote() }
  }

  func syncWritten() throws(StoreError) { try syncThrough(log.writtenNumber) }
}
