/// A read-only store moves on beside a writer in another process.
///
/// It walks the log from where it stands and applies what the writer says is durable. Only when nobody writes does it show
/// everything that holds. Readers of older versions keep them. The place to go on from is always behind a commit, so that
/// the parts of a large transaction are never cut from the commit that names them.
extension Store {
  /// Shows what has become durable since the last look; true when there was something.
  /// - Throws: `.rotten` when acknowledged commits are damaged, `.disk`; `.refused` when the log that was shown has been
  ///   replaced, and the file must be opened again.
  package func refresh() throws(StoreError) -> Bool {
    if isClosed.load(ordering: .acquiring) { throw .closed }
    guard options.isReadOnly else { return false }
    takeTurn()
    defer { giveTurn() }
    let isAlone: Bool
    let log: LogReader
    do {
      isAlone = try file.tryLock(.writer, .shared)
      log = try Store.log(of: file, header, byteCount: try file.byteCount(), options)
    } catch { throw .disk(error) }
    defer { if isAlone { file.unlock(.writer) } }
    guard log.end >= tail.offset else { throw .refused(reason: "the log that was shown is gone") }
    let place = CheckpointContents(
      freezeOffset: tail.offset, freezeNumber: tail.number, freezeSequence: tail.sequence,
      freezePrevious: tail.previous, pageCount: 0, liveByteCount: 0, roots: [])
    var plan: RecoveryPlan
    do {
      plan = try isAlone
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
    guard plan.lastSequence > tail.sequence else { return false }
    try replayMore(plan, log)
    return true
  }

  private func replayMore(_ plan: RecoveryPlan, _ log: LogReader) throws(StoreError) {
    let transaction = reusableTransaction
    transaction.begin()
    // Pages of the checkpoint that this open started from may lie behind the last commit that is proven.
    let end = max(plan.end, head.end)
    editor.end = end
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        try transaction.replay(operations, sequence: commit.sequence)
      }
      try applier.flush(transaction)
    } catch {
      transaction.rollBackAll()
      throw StoreError(error)
    }
    let tail: LogTail
    do { tail = try self.tail.moved(behindLastCommitOf: plan, log) } catch {
      transaction.rollBackAll()
      throw .disk(error)
    }
    let balance = editor.pageBalance
    let version = head.version + 1
    retire(editor.finishEdit(), newest: version)
    self.tail = tail
    head = StateRecord(
      version: version, sequence: plan.lastSequence, end: end, nextNumber: tail.number, previous: tail.previous,
      frameNumber: tail.number - 1, pageCount: UInt64(max(0, Int(head.pageCount) + balance)),
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
    do { tail = try tail.moved(behindLastCommitOf: plan, log) } catch { throw .disk(error) }
  }
}

extension LogTail {
  fileprivate func moved(behindLastCommitOf plan: RecoveryPlan, _ log: LogReader) throws(DiskFailure) -> LogTail {
    var tail = self
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
    }
    try log.checkRead()
    return tail
  }
}
