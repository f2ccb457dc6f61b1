/// A read-only store moves on beside a writer in another process.
///
/// It walks the log from where it stands and applies what the writer says is durable. Only when nobody writes does it show
/// everything that holds. Readers of older versions keep them. The place to go on from is always behind a commit, so that
/// the parts of a large transaction are never cut from the commit that names them.
///
/// When the name leads to another file by now (a compaction), or the log that was shown is gone (a recovery gave up frames
/// that nothing had proven), the file is opened again, and the store that comes of it takes this one's place.
extension StoreSwitch {
  /// Shows what has become durable since the last look; true when there was something.
  /// - Throws: `.rotten` when acknowledged commits are damaged, `.disk`; `.replaced` when the name leads to another
  ///   database.
  package func refresh() throws(StoreError) -> Bool {
    replacing.lock()
    defer { replacing.unlock() }
    let store = self.store
    let isSameFile: Bool
    switch try store.refresh() {
    case .nothing: return false
    case .moved: return true
    case .otherFile: isSameFile = false
    case .otherLog: isSameFile = true
    }
    try reload(store, isSameFile: isSameFile)
    return true
  }
}

extension Store {
  enum Refreshed {
    /// The same as before, or more.
    case nothing, moved
    /// The name leads to another file, or the frames that were shown are not there any more: open again.
    case otherFile, otherLog
  }

  func refresh() throws(StoreError) -> Refreshed {
    if isClosed.load(ordering: .acquiring) { throw .closed }
    // A writer that keeps the file lock has seen everything.
    guard options.isReadOnly || options.locksPerTransaction else { return .nothing }
    do {
      if let identity = try disk.identity(of: path), identity != file.identity, !isMutant("stay-in-old-file") {
        return .otherFile
      }
    } catch { throw .disk(error) }
    takeTurn()
    defer { giveTurn() }
    if !options.isReadOnly && holdsFileLock { return .nothing }
    let isAlone: Bool
    let log: LogReader
    do {
      isAlone = try file.tryLock(.writer, .shared)
      log = try Store.log(of: file, header, byteCount: try file.byteCount(), options)
    } catch { throw .disk(error) }
    defer { if isAlone { file.unlock(.writer) } }
    guard try lastShownHolds(in: log) else { return .otherLog }
    let place = placeOfTail
    var plan: RecoveryPlan
    do {
      plan =
        try isAlone
        ? log.plan(continuing: place)
        : RecoveryPlan.besideWriter { () throws(DiskFailure) in try log.plan(continuing: place) }
    } catch { throw .disk(error) }
    if case .rotten(let lost) = plan.ending { throw .rotten(lost: lost) }
    if !isAlone {
      do { try plan.cut(to: log) } catch { throw .disk(error) }
    } else if plan.hasUnprovenTruth {
      // Nobody will prove it any more: make it durable before anybody sees it, as open does.
      do { try file.sync(.full) } catch { throw .disk(error) }
    }
    guard plan.lastSequence > tail.sequence else { return .nothing }
    try replayMore(plan, log)
    return .moved
  }

  func lastShownHolds(in log: LogReader) throws(StoreError) -> Bool {
    guard let lastShown else { return true }
    let found = log.header(at: lastShown.offset)
    do { try log.checkRead() } catch { throw .disk(error) }
    // The zeros that fill the last sector need not be there.
    guard let header = found, header.end <= log.end else { return false }
    return header.checksum == lastShown.checksum
  }

  func replayMore(_ plan: RecoveryPlan, _ log: LogReader) throws(StoreError) {
    let transaction = reusableTransaction
    transaction.begin()
    // Pages of the checkpoint that this open started from may lie behind the last commit that is proven.
    let end = max(plan.end, head.end)
    transaction.readsOnlyFile(through: end)
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        try transaction.replay(operations, sequence: commit.sequence)
      }
      try applier.flush(transaction)
    } catch {
      transaction.rollBackAll()
      throw StoreError(error)
    }
    do { try moveTail(behindLastCommitOf: plan, log) } catch {
      transaction.rollBackAll()
      throw .disk(error)
    }
    let balance = editor.pageBalance
    let version = head.version + 1
    retire(editor.finishEdit(), newest: version)
    head = StateRecord(
      version: version, sequence: plan.lastSequence, end: end, nextNumber: tail.number, previous: tail.previous,
      pageFrameByteCount: tail.pageFrameByteCount &+ plan.pageFrameByteCount, frameNumber: tail.number - 1,
      pageCount: UInt64(max(0, Int(head.pageCount) + balance)),
      liveByteCount: transaction.liveByteCount, roots: transaction.roots)
    enqueue(head)
    syncMonitor.lock()
    let shown = publishPending(regardless: true)
    syncMonitor.unlock()
    reclaim()
    if let shown { options.onPublish?(shown) }
  }

  /// Where the first refresh goes on: behind the last commit that open has applied.
  func settleTail(_ plan: RecoveryPlan, _ log: LogReader) throws(StoreError) {
    tail.offset = plan.startOffset
    tail.number = plan.checkpoint?.freezeNumber ?? 1
    tail.previous = plan.checkpoint?.freezePrevious ?? 0
    tail.sequence = plan.startSequence
    do { try moveTail(behindLastCommitOf: plan, log) } catch { throw .disk(error) }
    if lastShown == nil, let last = plan.last { lastShown = (last.offset, last.checksum) }
  }

  /// All of it or, when the disk fails, nothing.
  private func moveTail(behindLastCommitOf plan: RecoveryPlan, _ log: LogReader) throws(DiskFailure) {
    var tail = tail
    var lastShown = lastShown
    var offset = plan.startOffset
    while offset < plan.end {
      if let target = plan.skips[offset] {
        offset = target
        continue
      }
      guard let header = log.header(at: offset) else { break }
      offset = header.next
      guard header.kind == .commit else { continue }
      // Commits that nothing proves yet may stand before the end of a checkpoint: they come with a later refresh.
      if header.sequence > plan.lastSequence { break }
      tail.offset = header.next
      tail.number = header.number + 1
      tail.previous = header.checksum
      tail.sequence = header.sequence
      lastShown = (header.offset, header.checksum)
    }
    try log.checkRead()
    self.tail = tail
    self.lastShown = lastShown
  }
}
