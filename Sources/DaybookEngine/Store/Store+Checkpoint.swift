import Synchronization

/// The checkpoint: changed pages are written to the log, children first, in frames of at most 256 KB, then a frame that names
/// the roots. After that, replay starts where the checkpoint's version ended.
///
/// The sync of a commit waits for everything in the drive's queue before it. So while commits are being synced, frames are half
/// as large and each is synced before the next: the slowest hundredth of durable commits then takes 3 to 4 times the median
/// instead of 5 (`daybook-bench latency`). Otherwise one sync for each megabyte suffices: updates among ten million keys, which
/// wait for the checkpoint, were a third slower with the small pieces (`daybook-bench large`).
///
/// A checkpoint writes a published version, pinned like any reader's, so commits go on meanwhile. When it is durable, one short
/// edit makes the newest trees refer to the file where possible, and the memory of the written pages is freed.
///
/// Always true: a checkpoint frame is appended only after all its pages are durable.
extension Store {
  private static let pagesPerFrame = 62
  private static let pagesPerHurriedFrame = 30
  private static let framesPerSync = 4
  /// The same at a close, which no commit waits for.
  private static let framesPerSyncAtClose = 64

  /// Writes a checkpoint of what readers see now. After a disk error other than a failed sync the store stays usable, and
  /// statistics tell of it (`BackgroundFailures`). Once the store is closing, only `close` itself makes a checkpoint.
  package func checkpoint(isClosing: Bool = false) throws(StoreError) {
    do throws(StoreError) {
      if try makeCheckpoint(isClosing: isClosing) { tellOfCheckpoint(nil) }
    } catch {
      tellOfCheckpoint(error)
      throw error
    }
  }

  /// Of an unfinished file the compaction tells that makes it.
  private func tellOfCheckpoint(_ failure: StoreError?) {
    if !withTurnForBackground({ _ in isUnfinished }) { options.failures[.checkpoint] = failure }
  }

  /// Returns false where none may be made now.
  private func makeCheckpoint(isClosing: Bool) throws(StoreError) -> Bool {
    holdCheckpoints()
    defer { allowCheckpoints() }
    // `close` sets its flag and then waits for checkpoints: either it sees ours, or we see the flag.
    if !isClosing && life.isClosed.load(ordering: .sequentiallyConsistent) { return false }
    // It is made while the file lock is held throughout; not if the lock is not held, or will soon be released.
    let mayWrite = withTurnForBackground { hold in
      !life.isSuspended.load(ordering: .acquiring) && laterFeatures.load(ordering: .acquiring) == 0 && fileLock.retain(hold)
    }
    guard mayWrite else { return false }
    defer { releaseRetainedFileLock() }
    try tellOfDamagedPage()
    var failure: StoreError?
    do { if try !writeVersion(isClosing: isClosing) { return true } } catch { failure = error }
    // Only now, because until here our own pin held the written pages.
    let unused = withTurnForBackground { hold in
      versions.reclaimSoon(hold)
      return editor.pages.detachUnused(moreThan: options.checkpointMemoryByteCount / 2)
    }
    PageSlabs.release(unused)
    if let failure { throw failure }
    return true
  }

  /// Returns false when there is nothing to write.
  private func writeVersion(isClosing: Bool) throws(StoreError) -> Bool {
    guard let (slot, state) = slots.claim(versions.publishedWord) else { return false }
    let version = state.fields
    var pages = CheckpointPages(of: version, pinnedBy: slot, in: slots)
    guard version.position.offset > replayStart.offset else { return false }
    do throws(StoreError) {
      try write(&pages, version, isClosing: isClosing)
    } catch {
      // Pages that got into the file stay there, and their memory is freed anyway: on a full disk, the next checkpoint need not
      // write them again. Any frame that names them follows a sync.
      if log.isAlive, !pages.written.isEmpty { try? exchange(&pages) }
      throw error
    }
    try exchange(&pages)
    return true
  }

  private func write(_ pages: inout CheckpointPages, _ version: Version, isClosing: Bool) throws(StoreError) {
    // At `.relaxed`, a version is published before it is durable. The checkpoint frame must prove that everything before it is
    // durable, even when there are no pages whose sync would ensure that.
    if !isMutant("checkpoint-before-commits") { try syncThrough(version.frameNumber) }
    var others = CommitSyncs(self)
    var unsyncedCount = 0
    let framesPerSync = isClosing ? Store.framesPerSyncAtClose : Store.framesPerSync
    var sentOffset = log.writtenOffset
    while try writePages(&pages, atMost: others.wereSeen ? Store.pagesPerHurriedFrame : Store.pagesPerFrame) {
      unsyncedCount += 1
      if !others.look(), unsyncedCount < framesPerSync {
        // The disk writes while the next frame is made (row: use-close).
        let end = log.writtenOffset
        // A transaction that was rolled back meanwhile may have moved it back.
        if end > sentOffset { backgroundFile.beginWriteBack(Int(sentOffset)..<Int(end)) }
        sentOffset = end
        continue
      }
      unsyncedCount = 0
      try syncPages()
    }
    if hasUnsyncedPages { try syncPages() }
    try writeCheckpointFrame(version, hasPages: !pages.written.isEmpty)
  }

  private func syncPages() throws(StoreError) {
    if isMutant("publish-checkpoint-early") { return }
    try log.sync(backgroundFile)
    hasUnsyncedPages = false
  }

  /// Waits until no checkpoint is under way, and prevents new ones.
  func holdCheckpoints() {
    turn.monitor.lock()
    while isCheckpointing { turn.monitor.wait() }
    isCheckpointing = true
    turn.monitor.unlock()
  }

  func allowCheckpoints() {
    turn.monitor.withLock {
      isCheckpointing = false
      turn.monitor.broadcast()
    }
  }

  /// Waits until no checkpoint is under way.
  func waitForCheckpoint() {
    turn.monitor.lock()
    while isCheckpointing { turn.monitor.wait() }
    turn.monitor.unlock()
  }

  /// A page failed its check: a note says so, and the next open for writing rebuilds the trees from the log. Until then
  /// checkpoints continue, so that neither log nor memory grows. Each is followed by such a note, because a checkpoint cancels
  /// notes before it.
  func tellOfDamagedPage() throws(StoreError) {
    guard let fault = damagedPage, !options.isReadOnly else { return }
    try withTurnForBackground { (hold) throws(StoreError) in
      if !hasToldOfDamagedPage { try appendNote(of: fault, hold) }
    }
  }

  private var damagedPage: PageFault? { source.firstFault.withLock { $0 } }

  private func appendNote(of fault: PageFault, _ hold: borrowing Turn.Hold) throws(StoreError) {
    let frame = FrameHeader.buffer()
    frame.append(uint64: fault.offset ?? 0)
    _ = try log.append(
      .note, frame, sequence: log.tail.sequence, keepsReserve: false, via: backgroundFile, hold)
    hasToldOfDamagedPage = true
  }

  /// Appends one frame of pages within one turn; false when there are none left.
  private func writePages(_ pages: inout CheckpointPages, atMost limit: Int) throws(StoreError) -> Bool {
    let hold = takePoliteTurn()
    let isMore: Bool
    do { isMore = try appendPages(&pages, atMost: limit, hold) } catch {
      turn.give(hold)
      throw error
    }
    turn.give(hold)
    return isMore
  }

  /// Appends one frame of pages; false when there are none left.
  func appendPages(
    _ pages: inout CheckpointPages, atMost limit: Int = pagesPerHurriedFrame, _ hold: borrowing Turn.Hold
  ) throws(StoreError) -> Bool {
    let tail = log.tail
    let frame = FrameHeader.buffer(payloadByteCount: (limit + 2) * Page.byteCount)
    // The first page starts at a multiple of 4096 in the file, so no page spans two pages of the system.
    let first = (tail.offset + UInt64(FrameHeader.byteCount) + 4095) & ~4095
    frame.append(zeros: Int(first - tail.offset) - FrameHeader.byteCount)
    let firstWritten = pages.written.count
    while pages.written.count - firstWritten < limit, let reference = pages.next() {
      let start = frame.count
      frame.append(zeros: Page.byteCount)
      // Safe: the frame's buffer has the page's bytes at `start`, and does not grow before they are written.
      let target = unsafe Page(frame.base + start)
      let offset = tail.offset + UInt64(start)
      do { try editor.encodeForFile(reference, into: target, offset: offset) } catch {
        if error.failure != nil {
          pages.takeBack(from: firstWritten)
          throw StoreError(error)
        }
        // The leaf below a delta is corrupt, so the two cannot be merged. A page that fails its check takes their place:
        // whoever reads a key of it gets an error, and the log still has the data.
        editor.encodeDamage(reference, into: target, offset: offset)
      }
      pages.didWrite(reference)
    }
    guard pages.written.count > firstWritten else { return false }
    do {
      _ = try log.append(.pages, frame, sequence: tail.sequence, via: backgroundFile, hold)
    } catch {
      pages.takeBack(from: firstWritten)
      throw error
    }
    hasUnsyncedPages = true
    return true
  }

  /// - Parameter hasPages: whether pages of this checkpoint were written; then everything was synced after the last one.
  private func writeCheckpointFrame(_ version: Version, hasPages: Bool) throws(StoreError) {
    var contents = CheckpointContents(
      replayStart: version.position, pageCount: version.pageCount, liveByteCount: version.liveByteCount,
      roots: version.roots.array.map { root in
        let isDirty = root.reference & PageSource.memoryTag != 0
        return TreeRoot(
          reference: isDirty ? DirtyPage(root.reference).fileOffset : root.reference, count: root.count,
          pageCount: root.pageCount)
      })
    let checkpoint = try turn.holding(takePoliteTurn()) { (hold) throws(StoreError) in
      // If only these pages follow the version, replay begins behind them: an open that had to walk over the pages of 100,000
      // zones took 31 ms instead of 3 (`daybook-bench large-zones`).
      let position = log.tail.position
      if hasPages, position.commitOffset == version.position.commitOffset { contents.replayStart = position }
      let frame = FrameHeader.buffer(payloadByteCount: 416)
      contents.append(to: frame, header: header)
      let checkpoint = try log.append(.checkpoint, frame, sequence: position.sequence, via: backgroundFile, hold)
      if let damagedPage, !isMutant("forget-damaged-page") {
        // If there is no room for the note, `close` and the next checkpoint try again.
        hasToldOfDamagedPage = false
        try? appendNote(of: damagedPage, hold)
      }
      checkpointedDeclarationCount = applier.declarationCount(in: version.roots)
      // The trees hold them, too; so the checkpoint counts if there is no room for the copy.
      try? repeatDeclarations(hold)
      return checkpoint
    }
    try log.sync(backgroundFile)
    withTurnForBackground { hold in
      log.name(checkpoint, hold)
      replayStart = contents.replayStart
    }
  }

  /// The short edit after a checkpoint. It writes nothing to the log: the content of the trees does not change.
  private func exchange(_ pages: inout CheckpointPages) throws(StoreError) {
    let hold = turn.takeForBackground()
    do { try exchange(&pages, hold) } catch {
      turn.give(hold)
      throw error
    }
    let published = versions.publish(regardless: options.durability == .relaxed)
    turn.give(hold)
    if let published { options.onPublish?(published, number) }
  }

  private func exchange(_ pages: inout CheckpointPages, _ hold: borrowing Turn.Hold) throws(StoreError) {
    let tail = log.tail
    var next = head
    next.number += 1
    editor.version = next.number
    editor.end = tail.offset
    let start = editor.beginEdit()
    do {
      for index in 0..<RootSet.count {
        next.roots[index].reference = try editor.exchangeWritten(next.roots[index].reference)
      }
    } catch {
      editor.rollBack(to: start)
      throw StoreError(error)
    }
    // Dropped trees were retired as wholes; list their pages one by one before the written pages are retired.
    versions.expandAllWholeTrees(hold)
    editor.retireWritten(pages.written)
    pages.exchanged()
    next.position = tail.position
    next.end = max(next.end, tail.offset)
    replaceHead(by: next, hold)
  }

  /// Takes the turn for background work. Writers go first until three quarters of the log budget or of the memory are used.
  private func takePoliteTurn() -> Turn.Hold {
    while true {
      if isUrgent { return turn.takeForBackground() }
      if let hold = turn.tryTake() { return hold }
      SystemClock.sleep(nanoseconds: 200_000)
    }
  }

  private var isUrgent: Bool {
    if !options.hasBackgroundThread { return true }
    return turn.monitor.withLock { !turn.isTaken && hasUsed(quarters: 3) }
  }
}
