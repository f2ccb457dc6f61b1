/// Writing: a transaction within the turn, its frame at the log's end, one sync for all that wait.
///
///     beginTransaction ─► operations ─► commit: frame appended, head moves, turn given back ─► wait: sync, publish
///
/// While one thread syncs, others append; the next sync acknowledges all of them.
extension Store {
  /// What a writer waits for: the frame that must be durable before its results may be told.
  package struct Ticket: Sendable {
    package let frameNumber: UInt64
    /// The sequence of the commit; of the last one before it for a transaction that wrote nothing.
    package let sequence: UInt64
    package let didCommit: Bool
    /// The log budget is used up, and nobody has begun a checkpoint: whoever committed makes it.
    var needsCheckpoint = false
  }

  /// Takes the turn and starts a transaction on the newest version. Ends with `commit` or `abort`.
  package func beginTransaction() throws(StoreError) -> StoreTransaction {
    try checkUsable()
    takeTurn()
    do throws(StoreError) {
      try checkUsable()
      if !holdsFileLock { try acquireFileLock() }
    } catch {
      giveTurn()
      throw error
    }
    if waitingByteCount >= reclaimThreshold { reclaim() }
    let transaction = reusableTransaction
    transaction.begin()
    return transaction
  }

  /// Appends the transaction's frame and gives the turn back. After an error nothing of it is left.
  /// - Parameter whenWritten: called with the turn, once the commit can fail no more and before anybody sees it.
  package func commit(
    _ transaction: StoreTransaction, whenWritten: () -> Void = {}
  ) throws(StoreError) -> Ticket {
    guard transaction.hasOperations else {
      let ticket = abort(transaction)
      return ticket
    }
    let header: FrameHeader
    do { header = try transaction.writeCommit() } catch {
      abort(transaction)
      releaseFileLockIfIdle()
      throw error
    }
    whenWritten()
    return finish(transaction, with: header)
  }

  /// Makes what a transaction has done the newest version, and gives the turn back.
  /// - Parameter header: of the frame of its commit, or of the last when it was a batch.
  func finish(_ transaction: StoreTransaction, with header: FrameHeader) -> Ticket {
    let balance = editor.pageBalance
    let version = head.version + 1
    retire(editor.finishEdit(), newest: version)
    head = StateRecord(
      version: version, position: tail.position, end: tail.offset, frameNumber: header.number,
      pageCount: UInt64(max(0, Int(head.pageCount) + balance)), liveByteCount: transaction.liveByteCount,
      roots: transaction.roots)
    enqueue(head)
    commitCount.add(1, ordering: .releasing)
    var shown: UInt64?
    if options.durability == .relaxed || isMutant("acknowledge-before-sync") {
      syncMonitor.lock()
      shown = publishPending(regardless: true)
      syncMonitor.unlock()
    }
    askKeeper(afterCommit: header)
    var ticket = Ticket(frameNumber: header.number, sequence: header.sequence, didCommit: true)
    ticket.needsCheckpoint = needsCheckpointNow
    giveTurn()
    if let shown { options.onPublish?(shown) }
    return ticket
  }

  /// Undoes the transaction and gives the turn back. The ticket is for what the transaction may have read.
  @discardableResult
  package func abort(_ transaction: StoreTransaction) -> Ticket {
    transaction.rollBackAll()
    let ticket = Ticket(frameNumber: head.frameNumber, sequence: head.sequence, didCommit: false)
    giveTurn()
    return ticket
  }

  /// Waits until everything up to a ticket is durable and visible. At `.relaxed` there is nothing to wait for.
  package func wait(_ ticket: Ticket) throws(StoreError) {
    defer { releaseFileLockIfIdle() }
    if options.durability != .relaxed || options.locksPerTransaction {
      try syncThrough(isMutant("acknowledge-before-sync") ? ticket.frameNumber - 1 : ticket.frameNumber)
    }
    guard ticket.needsCheckpoint else { return }
    tryCheckpoint()
    // At `.relaxed` nobody has waited for this commit, and the checkpoint's sync may have failed with it.
    if !isDurable(ticket.frameNumber) { try checkAlive() }
  }

  /// Makes everything written so far durable.
  package func sync() throws(StoreError) {
    try checkUsable()
    // What was written under a lock that has been given back is durable.
    if isSuspended.load(ordering: .acquiring) { return }
    try syncThrough(writtenNumber.load(ordering: .acquiring))
  }

  /// Puts replaced pages aside; those that no version ever showed are free at once.
  func retire(_ retired: [TreeEditor.Retired], newest: UInt64) {
    for page in retired {
      if !page.isWholeTree && page.birth == newest && page.reference & PageSource.memoryTag != 0 {
        editor.pages.deallocate(page.reference)
      } else {
        waitingPages.append(page)
        waitingByteCount += DirtyPages.byteCount(of: page.reference)
      }
    }
  }

  /// Seals a frame and writes it at the end of the log. Called with the turn.
  /// - Parameter keepsReserve: the reserve must stand behind the frame afterwards, or there is no room for it.
  func append(
    _ kind: FrameHeader.Kind, _ frame: ByteBuffer, sequence: UInt64, hasParts: Bool = false, isImage: Bool = false,
    keepsReserve: Bool = true, through target: (any DiskFile)? = nil
  ) throws(StoreError) -> FrameHeader {
    try checkAlive()
    var header = FrameHeader(
      kind: kind, offset: tail.offset, number: tail.number, sequence: sequence, previous: tail.previous,
      durableThrough: isMutant("prove-too-much") ? tail.number - 1 : durableThrough.load(ordering: .acquiring),
      newestCheckpoint: kind == .checkpoint ? tail.offset : tail.newestCheckpoint,
      olderCheckpoint: kind == .checkpoint ? tail.newestCheckpoint : tail.olderCheckpoint)
    header.hasParts = hasParts
    header.isImage = isImage
    header.fillsSectors = options.startsBatchesOnFreshSector
    header.seal(into: frame, salt: self.header.salt)
    let byteCount = frame.count
    frame.append(zeros: Int(header.next - header.end))
    waitForZeros(through: header.next)
    let reserve = keepsReserve ? reserveToWrite(behind: header.next) : 0
    frame.append(zeros: reserve)
    let writtenEnd = header.next + UInt64(reserve)
    defer { frame.truncate(to: byteCount) }
    do {
      try (target ?? file).write(frame.view, at: Int(header.offset))
      if !source.isBuffered { try file.map(through: Int(header.next)) }
    } catch {
      if error.kind == .full { hasMetFullDisk = true }
      eraseUnfinished(from: header.offset, through: writtenEnd)
      // What could not be erased may be found whole by the next open: then nobody can say that it failed.
      try checkAlive()
      throw .disk(error)
    }
    if reserve > 0 { zerosEnd.store(writtenEnd, ordering: .relaxed) }
    tail.move(over: header)
    hasWritten = true
    writtenNumber.store(header.number, ordering: .releasing)
    writtenOffset.store(header.next, ordering: .releasing)
    return header
  }

  /// How many zeros to write with a frame, so that the reserve stands behind it; none where zeros were prepared already,
  /// or are being written right now. Twice the reserve, so that the next small commits need none.
  private func reserveToWrite(behind next: UInt64) -> Int {
    let reserve = UInt64(options.reserveByteCount)
    if zerosEnd.load(ordering: .relaxed) >= next + reserve { return 0 }
    return turn.withLock { claimedZeros == nil ? Int(2 * reserve) : 0 }
  }

  /// A write failed half way: what it left is zeroed before anything else is appended, or the writer is dead. Synced, so
  /// that a whole frame whose transaction was told that it failed does not come back from the disk after a crash; through
  /// the background's description, because the commit path's reports a write-back error only once.
  private func eraseUnfinished(from offset: UInt64, through end: UInt64) {
    if isMutant("keep-failed-write") { return }
    do {
      let byteCount = try file.byteCount()
      if byteCount > Int(offset) {
        let zeros = ByteBuffer(capacity: 1 << 16)
        zeros.append(zeros: 1 << 16)
        var position = Int(offset)
        let last = min(byteCount, Int(end))
        while position < last {
          let count = min(zeros.count, last - position)
          try file.write(zeros.view.prefix(count), at: position)
          position += count
        }
        try backgroundFile.sync(.full)
      }
    } catch { die(error) }
  }
}
