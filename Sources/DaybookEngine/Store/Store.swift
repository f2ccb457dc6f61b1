import Synchronization

/// One open database file: a log, the trees that index it, and who reads and writes them.
///
///     readers ── claim a slot ──► newest StateRecord ──► roots ──► pages (memory or mapped file) ──► log bodies
///     writers ── the turn ──► StoreTransaction ──► frame appended ──► sync, shared ──► publish
///     keeper thread ── checkpoint pieces, zeros ahead, notes, relaxed syncs (each within a turn of its own)
///
/// Two locks, two names: the *file lock* says that this process may write; the *turn* is held by one transaction, or by one
/// piece of background work. `head` is the newest version, seen by the next writer; the published version is what readers
/// see, and at `.full` it trails until the sync has returned.
///
/// Always true: what is published is durable (except at `.relaxed`); a failed sync is final; nothing of the file is
/// changed once a commit depends on it.
@safe package final class Store: @unchecked Sendable {
  /// The name under which users know the file.
  package let path: String
  package let header: FileHeader
  package let options: StoreOptions
  package let source: PageSource
  let disk: any Disk
  package let applier: any Applier
  let openingProcess = processID()

  // The parts. Each has its own facts, and moves them.
  let turn = Turn()
  let log: LogWriter
  let fileLock: FileLock
  let versions: Versions
  let editor: TreeEditor
  let life = StoreLife()

  // What follows changes with the turn.

  /// The newest version, which the next transaction begins on.
  @safe @exclusivity(unchecked) var head: StateRecord
  /// Where replay would start after a crash now.
  @safe @exclusivity(unchecked) var freeze: LogPosition
  let transactionBuffer = ByteBuffer(capacity: 64 << 10)
  /// The one transaction object, lent to the holder of the turn.
  private(set) lazy var reusableTransaction = StoreTransaction(store: self)
  /// A compaction is making this file: a crash throws it away, so nothing of its log need be short for replay.
  var isUnfinished = false
  /// A commit that was shown stands behind another writer's checkpoint.
  var hasPassedCheckpoint = false
  /// Frames of pages have been written since the last sync of background work: no checkpoint may name them yet.
  var hasUnsyncedPages = false
  var hasToldOfDamagedPage = false
  /// When a commit at `.relaxed` was last asked to sync, for want of a background thread.
  @safe @exclusivity(unchecked) var lastOwnSync: UInt64 = 0
  /// The file's name is known to survive power loss: see `makeNameDurable`.
  @safe @exclusivity(unchecked) var hasDurableName = false

  // What follows changes with the turn's monitor locked.

  @safe @exclusivity(unchecked) var isCheckpointing = false
  /// Writers wait while the log, without its frames of pages, is longer than this: a compaction is catching up with them.
  @safe @exclusivity(unchecked) var commitLimit = UInt64.max

  /// Guards what is durable and what is shown.
  let syncMonitor: Monitor
  @safe @exclusivity(unchecked) var groupCommit = GroupCommit()
  /// How often commits that somebody waits for have been synced, here and in the file that this one will replace. Set
  /// with the turn, before the first commit.
  var commitSyncs = CommitSyncs.Count()
  /// Commits of this object; written with the turn.
  let commitCount = Atomic<UInt64>(0)
  /// Who keeps this object as long as anybody may read it.
  var keptBy: StoreSwitch.Kept?

  /// Held while the store closes, so that a second `close` returns after the first.
  let closing = Monitor()
  /// Set when the file must not be written, whatever the options say.
  let lost: ClosedRange<UInt64>?

  // Set while the store opens and not changed after that.

  package internal(set) var recovery = RecoveryReport()
  var keeper: Keeper?
  /// Open had something to recover, so `close` writes a `closed` frame even if nothing was committed.
  var isDirtySinceOpen = false

  init(
    path: String, header: FileHeader, options: StoreOptions, disk: any Disk, file: any DiskFile,
    backgroundFile: any DiskFile, applier: any Applier, plan: RecoveryPlan
  ) throws(StoreError) {
    self.path = path
    self.header = header
    self.disk = disk
    self.applier = applier
    var options = options
    let slots: ReaderSlots
    do {
      options.pageCache = try Store.makeCache(options)
      source = try Store.makeSource(file, header, options.pageCache)
      if let known = options.readerSlots { slots = known } else { slots = try ReaderSlots(limit: options.readerLimit) }
    } catch { throw .disk(error) }
    options.readerSlots = slots
    self.options = options
    if case .corrupt(let lost) = plan.ending { self.lost = lost } else { lost = nil }
    fileLock = FileLock(file, disk: disk, path: path, turn: turn, isHeld: !options.isReadOnly)
    log = LogWriter(
      path: path, salt: header.salt, file: file, backgroundFile: backgroundFile, isMapped: !source.isBuffered,
      options: options, turn: turn, fileLock: fileLock, plan: plan)
    editor = TreeEditor(source: source, poisonsFreedMemory: options.poisonsFreedMemory)
    syncMonitor = Monitor()
    versions = Versions(slots: slots, monitor: syncMonitor, editor: editor, log: log, options: options)
    freeze = plan.start
    head = StateRecord(
      version: 1, position: plan.start, end: plan.readableEnd, frameNumber: 0, pageCount: plan.checkpoint?.pageCount ?? 0,
      liveByteCount: plan.checkpoint?.liveByteCount ?? 0, roots: RootSet(plan.checkpoint?.roots ?? []))
    ForkedProcess.add(self)
  }

  deinit {
    ForkedProcess.remove(self)
    try? close()
  }

  var file: any DiskFile { log.file }
  var backgroundFile: any DiskFile { log.backgroundFile }
  var slots: ReaderSlots { versions.slots }

  // MARK: the turn

  /// Waits for the turn as a writer, who goes before background work.
  func takeTurn() -> Turn.Hold {
    turn.take {
      // So that replay and memory stay bounded.
      if isCheckpointing && hasUsed(quarters: 4) { return .inLine }
      return mustWaitForCompaction ? .aside : .open
    }
  }

  /// Commits are too far ahead of the compaction that copies them. Asked with the turn's monitor locked and the turn free.
  var mustWaitForCompaction: Bool { log.tail.position.commitOffset > commitLimit }

  /// Carries out a piece of background work within a turn, as soon as whoever has it gives it.
  func withTurnForBackground<Result, Failure: Error>(
    _ body: (borrowing Turn.Hold) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try turn.holding(turn.takeForBackground(), body)
  }

  // MARK: whether it may be used

  func checkUsable() throws(StoreError) {
    if life.isClosed.load(ordering: .acquiring) { throw closedError }
    if options.isReadOnly { throw .readOnly }
    if let lost { throw .corrupt(lost: lost) }
    if openingProcess != processID() { throw .forked }
    try checkAlive()
  }

  var closedError: StoreError {
    life.isForked.load(ordering: .acquiring)
      ? .forked : life.isSuperseded.load(ordering: .acquiring) ? .superseded : .closed
  }

  /// Throws in a child process after `fork`. Doors that wait for a lock or a thread ask first: its holder is not there.
  func checkProcess() throws(StoreError) {
    if life.isForked.load(ordering: .acquiring) || openingProcess != processID() { throw .forked }
  }

  /// Throws where the caller's own transaction has the turn, for which it would wait for ever.
  func checkMayWait() throws(StoreError) {
    if turn.isHeldByCaller { throw .withinTransaction }
  }

  func checkAlive() throws(StoreError) {
    if life.isForked.load(ordering: .acquiring) { throw .forked }
    try log.checkAlive()
  }

  // MARK: the budget of the log

  /// Log bytes that a crash now would replay. Frames of pages are passed over and do not count: a checkpoint's own lie
  /// behind its freeze position, and a large one would call for the next at once.
  var replayByteCount: Int { Int(log.tail.position.commitOffset) - Int(freeze.commitOffset) }
  var logBudgetByteCount: Int {
    if isUnfinished { return .max / 4 }
    let twiceIndex = 2 * Int(clamping: head.pageCount) * Page.byteCount
    return min(max(twiceIndex, options.minimumLogBudgetByteCount), options.maximumLogBudgetByteCount)
  }

  /// Whether so many quarters of the log budget are used, or of the memory for changed pages: whichever fills first
  /// calls for a checkpoint, hurries it, and holds writers up.
  func hasUsed(quarters: Int) -> Bool {
    // A file that is still being made has half of the memory: the one that it will replace has its own.
    let memoryByteCount = isUnfinished ? options.checkpointMemoryByteCount / 2 : options.checkpointMemoryByteCount
    return replayByteCount > logBudgetByteCount / 4 * quarters
      || editor.pages.usedByteCount > memoryByteCount / 4 * quarters
  }

  /// Gives the memory of all pages back once nobody reads or writes. A writer that comes late, and is about to be told that
  /// the store closed, may still ask what is used: so not without the lock.
  func releasePages() { turn.monitor.withLock { editor.pages.releaseAll() } }

  /// Puts an edit that has ended in the place of the newest version, for readers to see when its frame is durable.
  func replaceHead(by record: StateRecord, _ hold: borrowing Turn.Hold) {
    versions.retire(editor.finishEdit(), newest: record.version, hold)
    head = record
    versions.enqueue(record, of: self, hold)
  }
}

extension Store: ForkObserver {
  func didFork() {
    life.isForked.store(true, ordering: .sequentiallyConsistent)
    log.isDead.store(true, ordering: .sequentiallyConsistent)
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
  }
}
