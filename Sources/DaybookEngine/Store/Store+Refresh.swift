/// A read-only store follows a writer in another process.
///
/// It walks the log from its position and applies what the writer says is durable. That takes no lock that a writer waits for.
/// Only if unproven commits follow does it ask whether there is a writer; if not, the file is opened again, which makes them
/// durable first. Readers of older versions keep them. The position is always behind a commit, so that the parts of a large
/// transaction are never separated from the commit that names them.
///
/// If the name leads to another file by now (a compaction), or the log that was shown is gone (a recovery discarded frames that
/// nothing had proven), the file is opened again, and the new store replaces this one.
extension StoreSwitch {
  /// Publishes what has become durable since the last look; true when there was something.
  /// - Throws: `.corrupt` when acknowledged commits are damaged, `.disk`; `.replaced` when the name leads to another
  ///   database.
  package func refresh() throws(StoreError) -> Bool {
    try checkProcess()
    // Within a transaction nothing can be new, and replacing the store would wait for the transaction.
    if store.turn.isHeldByCaller || replacing.isHeldByCaller { return false }
    replacing.lock()
    defer { replacing.unlock() }
    return try refresh(store)
  }

  /// The last commit that is in the file, durable or not; nil where that cannot be said right away.
  package func lastWrittenCommit() -> UInt64? {
    guard !store.turn.isHeldByCaller, !replacing.isHeldByCaller else { return nil }
    return store.lastWrittenCommit()
  }

  /// Called with `replacing`.
  func refresh(_ store: Store) throws(StoreError) -> Bool {
    // A look may publish some of it before it finds that the file is better opened again.
    let known = store.lastSequence
    switch try store.refresh() {
    case .nothing: return false
    case .published: return true
    case .moved(let cause):
      do { try reload(store, cause) } catch {
        // Another process has the lock by now. It repairs what the dead one left, and this store will see that later.
        guard case (.notHandedOver, .locked) = (cause, error) else { throw error }
        return store.lastSequence > known
      }
      // What others have committed can be shown as it is, if not as cheaply.
      if cause == .outgrown, self.store === store { return try store.refreshAsItIs() || store.lastSequence > known }
      return cause != .outgrown || self.store.lastSequence > known
    }
  }
}

extension Store {
  enum Refreshed {
    /// The same as before, or more.
    case nothing, published
    /// The file must be opened again.
    case moved(StoreError.Moved)
  }

  func refresh() throws(StoreError) -> Refreshed { try refresh(mayReopen: true) }

  /// The same where the file cannot be opened again now: however much there is, it is applied.
  func refreshAsItIs() throws(StoreError) -> Bool {
    if case .published = try refresh(mayReopen: false) { true } else { false }
  }

  /// - Parameter mayReopen: whether the file may be opened again only because that is less work.
  private func refresh(mayReopen: Bool) throws(StoreError) -> Refreshed {
    try checkProcess()
    if life.isClosed.load(ordering: .acquiring) { throw closedError }
    if life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    // A writer that keeps the file lock already sees everything.
    guard options.isReadOnly || options.locksPerTransaction else { return .nothing }
    do {
      if let identity = try disk.identity(of: path), identity != file.identity, !isMutant("stay-in-old-file") {
        return .moved(.otherFile)
      }
    } catch { throw .disk(error) }
    // A transaction that has ended in the meantime may have left the lock to the next holder of the turn.
    defer { releaseFileLockIfIdle() }
    return try turn.holding(takeTurn()) { (hold) throws(StoreError) in try refresh(mayReopen: mayReopen, hold) }
  }

  private func refresh(mayReopen: Bool, _ hold: borrowing Turn.Hold) throws(StoreError) -> Refreshed {
    if !options.isReadOnly && fileLock.isHeld { return .nothing }
    // Test again with the turn, which `suspend` takes before it releases the lock.
    if life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    // A writer that locks per transaction does not always hold the readers' lock: between its transactions, others may cut off
    // zeros, but not now.
    if !options.isReadOnly { try Store.lockReaders(file, options) }
    defer { if !options.isReadOnly { file.unlock(.readers) } }
    do throws(StoreError) {
      let (reader, plan, writtenSequence) = try planBesideWriter(hold)
      var found = Refreshed.nothing
      if plan.lastSequence > log.tail.sequence {
        if mayReopen, isBetterOpened(plan), canOpenAtOnce { return .moved(.outgrown) }
        try publish(plan, reader, hold)
        finishRecovery(after: plan, hold)
        found = .published
      }
      if mayReopen, hasOutgrown, canOpenAtOnce { return .moved(.outgrown) }
      if writtenSequence <= plan.lastSequence { return found }
      return try showWhatNobodyProves(hold) ? .published : found
    } catch {
      guard case .moved(let cause) = error else { throw error }
      return .moved(cause)
    }
  }

  /// The last commit that is in the file, durable or not; nil where another thread or process is at work on the file, or it is to be
  /// opened again.
  func lastWrittenCommit() -> UInt64? {
    guard !life.isClosed.load(ordering: .acquiring), (try? disk.identity(of: path)) == file.identity, let hold = turn.tryTake()
    else { return nil }
    defer { releaseFileLockIfIdle() }
    return try? turn.holding(hold) { (hold) throws(StoreError) -> UInt64? in
      if life.isSuspended.load(ordering: .acquiring) { return nil }
      if !options.isReadOnly && fileLock.isHeld { return head.sequence }
      if !options.isReadOnly { try Store.lockReaders(file, options) }
      defer { if !options.isReadOnly { file.unlock(.readers) } }
      return try planBesideWriter(hold).writtenSequence
    }
  }

  /// Handles commits behind the last published one that nothing proves durable. Either a live writer will prove them, or their
  /// writer has died, and an open makes them durable before anyone sees them.
  private func showWhatNobodyProves(_ hold: borrowing Turn.Hold) throws(StoreError) -> Bool {
    guard try Store.onDisk({ () throws(DiskFailure) in try file.tryLock(.writer, .shared) }) else { return false }
    var holdsWriterByte = true
    defer { if holdsWriterByte { file.unlock(.writer) } }
    let reader = try readerOfFile()
    let plan = try planOfOthers(in: reader, hold)
    guard plan.lastSequence > log.tail.sequence else { return false }
    if plan.hasUnprovenData { throw .moved(.notHandedOver) }
    // What was found does not change, so writers need not wait for a long replay.
    if !isMutant("replay-under-lock") {
      file.unlock(.writer)
      holdsWriterByte = false
    }
    try publish(plan, reader, hold)
    finishRecovery(after: plan, hold)
    return true
  }

  /// Whether too many changed pages are in memory. A follower changes pages as a writer does, but makes no checkpoints. If the
  /// writer has made one since, an open that starts there finds the pages in the file instead.
  private var hasOutgrown: Bool {
    hasPassedCheckpoint && editor.pages.usedByteCount > options.checkpointMemoryByteCount / 2
      && !life.appliesAll.load(ordering: .relaxed)
  }

  /// How much log the commits of a plan are.
  func lag(of plan: RecoveryPlan) -> UInt64 {
    let (end, known) = (plan.lastCommitEnd.commitOffset, log.tail.position.commitOffset)
    return end - min(end, known)
  }

  /// Whether others have written more than a log has before a checkpoint, and a checkpoint on the way. To apply all of that
  /// would take memory for every page that they changed, and the next checkpoint here would write those pages again. An open
  /// begins at theirs.
  func isBetterOpened(_ plan: RecoveryPlan) -> Bool {
    plan.passesCheckpoint && lag(of: plan) > UInt64(logBudgetByteCount) && !life.appliesAll.load(ordering: .relaxed)
  }

  /// Whether an open would not wait: a writer that shares the file needs its lock for that, and a look waits for no other process.
  private var canOpenAtOnce: Bool { options.isReadOnly || !((try? file.isLockedByOthers(.writer)) ?? true) }

  private func readerOfFile() throws(StoreError) -> LogReader {
    try Store.onDisk(call: try logOfOthers())
  }

  /// The plan for what follows the tail by now.
  func planOfOthers(in reader: LogReader, _: borrowing Turn.Hold) throws(StoreError) -> RecoveryPlan {
    let (place, proven) = (log.tail.position, log.durableNumber)
    let plan: RecoveryPlan
    do {
      guard try place.isValid(in: reader) else { throw StoreError.moved(.otherLog) }
      plan = try reader.plan(continuing: place, provenThrough: proven)
    } catch { throw StoreError(diskOrStore: error) }
    if case .corrupt(let lost) = plan.ending { throw .corrupt(lost: lost) }
    return plan
  }

  /// The same beside a live writer: what it has proven durable, and the last commit in the log.
  private func planBesideWriter(
    _: borrowing Turn.Hold
  ) throws(StoreError) -> (LogReader, RecoveryPlan, writtenSequence: UInt64) {
    let (place, proven) = (log.tail.position, log.durableNumber)
    let reader = try readerOfFile()
    do {
      guard try place.isValid(in: reader) else { throw StoreError.moved(.otherLog) }
      var plan = try RecoveryPlan.besideWriter { () throws(DiskFailure) in
        try reader.plan(continuing: place, provenThrough: proven)
      }
      if case .corrupt(let lost) = plan.ending { throw StoreError.corrupt(lost: lost) }
      let written = plan.lastSequence
      try plan.cut(to: reader)
      return (reader, plan, written)
    } catch { throw StoreError(diskOrStore: error) }
  }

  /// Applies the commits of a plan, all of them durable, publishes them and tells listeners.
  func publish(_ plan: RecoveryPlan, _ reader: LogReader, _ hold: borrowing Turn.Hold) throws(StoreError) {
    let transaction = reusableTransaction
    transaction.begin(borrowing: hold)
    // Pages of the checkpoint that this open started from may lie behind the last proven commit.
    let end = max(plan.readableEnd, head.end)
    transaction.readsOnlyFile(upTo: end)
    do throws(LogFault) {
      try reader.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        try transaction.replay(operations, sequence: commit.sequence)
      }
      try applier.finishReplay(transaction)
    } catch {
      transaction.rollBackAll()
      throw StoreError(error)
    }
    keepFeatures(of: transaction)
    facts = applier.facts(transaction)
    let balance = editor.pageBalance
    if plan.passesCheckpoint { hasPassedCheckpoint = true }
    life.appliesAll.store(false, ordering: .relaxed)
    let known = head.sequence
    replaceHead(
      by: Version(
        number: head.number + 1, position: plan.lastCommitEnd, end: end, frameNumber: plan.lastCommitEnd.number - 1,
        pageCount: head.pageCount, pageBalance: balance, liveByteCount: transaction.liveByteCount,
        roots: transaction.roots), hold)
    let published = versions.publish(regardless: true)
    versions.reclaim(hold)
    if let published { options.onOthers?(OthersCommits(known: known, last: published, isReopened: false), self) }
  }

  /// Sets the position for the next look: behind the last commit of a plan whose commits, all durable, are published. So the
  /// parts of a large transaction are never separated from the commit that names them.
  func finishRecovery(after plan: RecoveryPlan, _ hold: borrowing Turn.Hold) {
    let place = plan.lastCommitEnd
    log.move(to: place, provenThrough: place.number - 1, hold)
    head.position = place
    log.setDurable(place.number - 1)
  }
}
