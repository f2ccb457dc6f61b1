import Synchronization

/// The checkpoint: pages that changed go into the log, children first, in frames of at most 256 KB; then a frame that names
/// the roots. After that, replay starts where the checkpoint's version ended.
///
/// The sync of a commit waits for whatever stands in the drive's queue before it. So while others sync commits, frames are
/// half as large, and each is synced before the next: the slowest hundredth of durable commits takes 3 to 4 times the median
/// and not 5 (`daybook-bench latency`). Where nobody does, a sync a megabyte is enough: updates among ten million keys, which
/// wait for the checkpoint, were a third slower with the small pieces (`daybook-bench large`).
///
/// The version written is a published one, pinned like any reader's, so commits go on meanwhile. When it is durable, one
/// short edit makes the newest trees refer to the file where they can, and the memory of the written pages comes free.
///
/// Always true: a checkpoint frame is appended only after all its pages are durable.
extension Store {
  private static let pagesPerFrame = 62
  private static let pagesPerHurriedFrame = 30
  private static let framesPerSync = 4

  /// Writes a checkpoint of what readers see now. Errors of the disk other than a failed sync leave the store usable.
  /// Once the store closes, only `close` itself makes one.
  package func checkpoint(isClosing: Bool = false) throws(StoreError) {
    if source.firstFault.withLock({ $0 }) != nil { return try tellOfDamagedPage() }
    holdCheckpoints()
    defer { allowCheckpoints() }
    // `close` sets its flag and then waits for checkpoints: it has seen ours, or we see the flag.
    if !isClosing && isClosed.load(ordering: .sequentiallyConsistent) { return }
    guard let (slot, state) = slots.claim() else { return }
    do {
      defer { slots.release(slot) }
      let version = state.record
      guard version.end > freezeOffset else { return }
      // At `.relaxed` a version is shown before it is durable. The checkpoint frame must prove that all before it is, also
      // when there are no pages whose sync would see to it.
      if !isMutant("checkpoint-before-commits") { try syncThrough(version.frameNumber) }
      var walk = CheckpointWalk(roots: version.roots.array)
      var others = CommitSyncs(self)
      var hasPages = false
      var unsyncedCount = 0
      while try writePages(&walk, atMost: others.wereSeen ? Store.pagesPerHurriedFrame : Store.pagesPerFrame) {
        hasPages = true
        unsyncedCount += 1
        if !others.look(), unsyncedCount < Store.framesPerSync { continue }
        unsyncedCount = 0
        try syncPages()
      }
      if unsyncedCount > 0 { try syncPages() }
      try writeCheckpointFrame(version, hasPages: hasPages)
      try exchangeWritten()
    }
    // Only now, because our own pin has held the written pages.
    takeTurnForBackground()
    reclaim()
    // What waits for a commit that is not durable yet comes free with the next transaction.
    reclaimThreshold = Store.minimumReclaimByteCount
    let unused = editor.pages.detachUnused(moreThan: options.checkpointMemoryByteCount / 2)
    giveTurn()
    PageSlabs.release(unused)
  }

  private func syncPages() throws(StoreError) {
    if isMutant("publish-checkpoint-early") { return }
    do { try backgroundFile.sync(.full) } catch {
      die(error)
      throw .outcomeUnknown(error)
    }
  }

  /// Waits until no checkpoint is under way, and keeps others from beginning.
  func holdCheckpoints() {
    turn.lock()
    while isCheckpointing { turn.wait() }
    isCheckpointing = true
    turn.unlock()
  }

  func allowCheckpoints() {
    turn.withLock {
      isCheckpointing = false
      turn.broadcast()
    }
  }

  /// Waits until no checkpoint is under way.
  func waitForCheckpoint() {
    turn.lock()
    while isCheckpointing { turn.wait() }
    turn.unlock()
  }

  /// A page failed its check: a note says so, and the next open for writing rebuilds the trees from the log.
  func tellOfDamagedPage() throws(StoreError) {
    guard let fault = source.firstFault.withLock({ $0 }), !options.isReadOnly else { return }
    takeTurnForBackground()
    defer { giveTurn() }
    if hasToldOfDamagedPage { return }
    let frame = ByteBuffer(capacity: 256)
    frame.append(zeros: FrameHeader.byteCount)
    frame.append(uint64: fault.offset)
    _ = try append(.note, frame, sequence: tail.sequence, keepsReserve: false, through: backgroundFile)
    hasToldOfDamagedPage = true
  }

  /// One frame of pages within one turn; false when there are none left.
  private func writePages(_ walk: inout CheckpointWalk, atMost limit: Int) throws(StoreError) -> Bool {
    waitForBackgroundTurn()
    defer { giveTurn() }
    return try appendPages(&walk, atMost: limit)
  }

  /// One frame of pages. Called with the turn.
  func appendPages(_ walk: inout CheckpointWalk, atMost limit: Int = pagesPerHurriedFrame) throws(StoreError) -> Bool {
    let frame = ByteBuffer(capacity: FrameHeader.byteCount + (limit + 2) * Page.byteCount)
    frame.append(zeros: FrameHeader.byteCount)
    // The first page starts at a multiple of 4096 in the file, so no page straddles two pages of the system.
    let first = (tail.offset + UInt64(FrameHeader.byteCount) + 4095) & ~4095
    frame.append(zeros: Int(first - tail.offset) - FrameHeader.byteCount)
    let firstWritten = writtenPages.count
    while writtenPages.count - firstWritten < limit, let reference = walk.next() {
      let start = frame.count
      frame.append(zeros: Page.byteCount)
      // Safe: the frame's buffer has the page's bytes at `start`, and does not grow before they are written.
      let target = unsafe Page(frame.base + start)
      do { try editor.encodeForFile(reference, into: target, offset: tail.offset + UInt64(start)) } catch {
        forgetWritten(from: firstWritten)
        throw StoreError(error)
      }
      writtenPages.append(reference)
    }
    guard writtenPages.count > firstWritten else { return false }
    do {
      _ = try append(.pages, frame, sequence: tail.sequence, through: backgroundFile)
    } catch {
      forgetWritten(from: firstWritten)
      throw error
    }
    return true
  }

  private func forgetWritten(from index: Int) {
    for reference in writtenPages[index...] { DirtyPage(reference).fileOffset = 0 }
    writtenPages.removeSubrange(index...)
  }

  /// - Parameter hasPages: pages of this checkpoint were written, and everything was synced after the last of them.
  private func writeCheckpointFrame(_ version: StateRecord, hasPages: Bool) throws(StoreError) {
    var contents = CheckpointContents(
      freezeOffset: version.end, freezeNumber: version.nextNumber, freezeSequence: version.sequence,
      freezePrevious: version.previous, pageCount: version.pageCount, liveByteCount: version.liveByteCount,
      roots: version.roots.array.map { root in
        let isDirty = root.reference & PageSource.memoryTag != 0
        return TreeRoot(
          reference: isDirty ? DirtyPage(root.reference).fileOffset : root.reference, count: root.count,
          pageCount: root.pageCount)
      })
    var freezePageFrameByteCount = version.pageFrameByteCount
    waitForBackgroundTurn()
    // Where nothing but these pages came after the version, replay begins behind them: an open that had to walk over the
    // pages of 100,000 zones took 31 ms, and 3 behind them (`daybook-bench large-zones`).
    if hasPages, tail.offset - version.end == tail.pageFrameByteCount - version.pageFrameByteCount {
      contents.freezeOffset = tail.offset
      contents.freezeNumber = tail.number
      contents.freezePrevious = tail.previous
      freezePageFrameByteCount = tail.pageFrameByteCount
    }
    let frame = ByteBuffer(capacity: 512)
    frame.append(zeros: FrameHeader.byteCount)
    contents.append(to: frame, header: header)
    let checkpoint: FrameHeader
    do {
      checkpoint = try append(.checkpoint, frame, sequence: tail.sequence, through: backgroundFile)
    } catch {
      giveTurn()
      throw error
    }
    giveTurn()
    do { try backgroundFile.sync(.full) } catch {
      die(error)
      throw .outcomeUnknown(error)
    }
    takeTurnForBackground()
    tail.olderCheckpoint = tail.newestCheckpoint
    tail.newestCheckpoint = checkpoint.offset
    freezeOffset = contents.freezeOffset
    self.freezePageFrameByteCount = freezePageFrameByteCount
    giveTurn()
  }

  /// The short edit after a checkpoint. Nothing of it goes into the log: the trees hold the same as before.
  private func exchangeWritten() throws(StoreError) {
    takeTurnForBackground()
    let version = head.version + 1
    editor.version = version
    editor.end = tail.offset
    let start = editor.beginEdit()
    var roots = head.roots
    do {
      for index in 0..<RootSet.count {
        roots[index].reference = try editor.exchangeWritten(roots[index].reference)
      }
    } catch {
      editor.rollBack(to: start)
      giveTurn()
      throw StoreError(error)
    }
    // Pages of dropped trees are retired already, tree by tree; say so page by page before the written ones go.
    expandWholeTrees(pinned: [], published: 0, all: true)
    // Memory that has gone to another page since a failed checkpoint has no file offset; `retireWritten` retires only once.
    editor.retireWritten(writtenPages.filter { DirtyPage($0).fileOffset != 0 })
    writtenPages.removeAll()
    retire(editor.finishEdit(), newest: version)
    head.version = version
    head.end = tail.offset
    head.nextNumber = tail.number
    head.previous = tail.previous
    head.pageFrameByteCount = tail.pageFrameByteCount
    head.roots = roots
    enqueue(head)
    syncMonitor.lock()
    let shown = publishPending(regardless: options.durability == .relaxed)
    syncMonitor.unlock()
    giveTurn()
    if let shown { options.onPublish?(shown) }
  }

  /// Background work lets writers go first, until three quarters of the log budget or of the memory are used.
  private func waitForBackgroundTurn() {
    while !tryTurn(isUrgent: isUrgent) { SystemClock.sleep(nanoseconds: 200_000) }
  }

  /// Takes the turn; whoever holds it gives it soon.
  func takeTurnForBackground() { while !tryTurn(isUrgent: true) {} }

  private var isUrgent: Bool {
    if !options.hasBackgroundThread { return true }
    return turn.withLock { !isTurnTaken && hasUsed(quarters: 3) }
  }
}

/// Whether others sync commits, seen from work in the background that syncs pieces of its own.
struct CommitSyncs {
  final class Count: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.add(1, ordering: .relaxed) }
    var now: Int { value.load(ordering: .relaxed) }
  }

  private let syncs: Count
  private var count: Int
  /// Somebody had at the last look.
  private(set) var wereSeen = false

  init(_ store: Store) {
    syncs = store.commitSyncs
    count = syncs.now
  }

  /// Whether somebody has since the last look.
  mutating func look() -> Bool {
    let now = syncs.now
    wereSeen = now != count
    count = now
    return wereSeen
  }
}
