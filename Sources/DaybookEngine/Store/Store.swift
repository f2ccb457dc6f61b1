import Synchronization

/// One open database file: a log, the trees that index it, and its readers and writers.
///
///     readers ── claim a slot ──► newest Version ──► roots ──► pages (memory or mapped file) ──► log bodies
///     writers ── the turn ──► StoreTransaction ──► frame appended ──► sync, shared ──► publish
///     maintenance thread ── checkpoint pieces, zeros ahead, notes, relaxed syncs (each within a turn of its own)
///
/// Two locks, two names: the *file lock* says that this process may write; the *turn* is held by one transaction, or by one
/// piece of background work. `head` is the newest version, on which the next writer builds. Readers see the published version,
/// which at `.full` is older until the sync has returned.
///
/// Always true: what is published is durable (except at `.relaxed`); a failed sync is final; bytes of the file do not change
/// once a commit depends on them.
@safe package final class Store: @unchecked Sendable {
  /// The file's name, as users know it.
  package let path: String
  package let header: FileHeader
  package let options: StoreOptions
  package let source: PageSource
  let disk: any Disk
  package let applier: any Applier
  let openingProcess = processID()
  /// Among the stores of one database that succeed each other: see `KeptStores`.
  package let number: Int

  // The parts. Each owns its facts and changes them.
  let turn = Turn()
  let log: LogWriter
  let fileLock: FileLock
  let versions: Versions
  let editor: TreeEditor
  let life = StoreLife()
  package let endRequests: EndRequests

  // The following properties change with the turn.

  /// The newest version, which the next transaction begins on.
  @safe @exclusivity(unchecked) var head: Version
  /// What the applier knows of its trees; nil before it has looked at them.
  @safe @exclusivity(unchecked) var facts: (any RootFacts)?
  /// Where replay would start after a crash now.
  @safe @exclusivity(unchecked) var replayStart: LogPosition
  let transactionBuffer = ByteBuffer(capacity: 64 << 10)
  /// The one transaction object, lent to the holder of the turn.
  private(set) lazy var reusableTransaction = StoreTransaction(store: self)
  /// A compaction is making this file. After a crash it is discarded, so its log need not be short for replay.
  var isUnfinished = false
  /// A published commit lies behind another writer's checkpoint.
  var hasPassedCheckpoint = false
  /// Page frames were written since the last sync of background work; no checkpoint may name them yet.
  var hasUnsyncedPages = false
  var hasToldOfDamagedPage = false
  /// How many declarations the last copy in the log has, and where it ends; of what an open finds, those of its
  /// checkpoint, or of the commits before the last copy.
  @safe @exclusivity(unchecked) var repeated: (count: Int, offset: UInt64) = (0, 0)
  /// How many declarations the trees of the newest checkpoint have: so many are on pages, in blocks of their own. Frames of declarations
  /// do not count, since one may be in the block of what it repeats. Belongs to the holder of the turn.
  @safe @exclusivity(unchecked) package internal(set) var checkpointedDeclarationCount = 0
  /// When a commit at `.relaxed` was last asked to sync because there is no background thread.
  @safe @exclusivity(unchecked) var lastOwnSync: UInt64 = 0
  /// The file's name is known to survive power loss: see `makeNameDurable`.
  @safe @exclusivity(unchecked) var hasDurableName = false

  // The following properties change with the turn's monitor locked.

  @safe @exclusivity(unchecked) var isCheckpointing = false
  /// Writers wait while the log, without its page frames, is longer than this: a compaction is catching up.
  @safe @exclusivity(unchecked) var commitLimit = UInt64.max

  /// Guards what is durable, what is published, and who waits for a sync. The log's own, kept here too: by way of the log it would be
  /// retained at each use (row: kv-commit-durable).
  let syncMonitor: Monitor
  @safe @exclusivity(unchecked) var groupCommit = GroupCommit()
  /// How often waiting commits were synced, here and in the file that this one will replace. Set with the turn, before the
  /// first commit.
  var commitSyncs = CommitSyncs.Count()
  /// The number of commits through this object; written with the turn.
  let commitCount = Atomic<UInt64>(0)

  /// Held while the store closes, so that a second `close` returns after the first.
  let closing = Monitor()
  /// Damaged commits, which no open for writing accepts: nothing may be written here, whatever the options say. The options of such
  /// a store are read-only already; this is the second lock on the door.
  let lost: ClosedRange<UInt64>?
  /// What the newest trees require of writers that this version does not know, as bits. Not zero: nothing is written any more,
  /// and the file lock is left to those that may.
  let laterFeatures = Atomic<UInt64>(0)

  // Set while the store opens, and constant afterwards.

  package internal(set) var recovery = RecoveryReport()
  var maintenance: MaintenanceThread?
  /// The open had something to recover, so `close` writes a `closed` frame even if nothing was committed.
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
      let cache = options.pageCache ?? BlockCache.Shared(byteCount: options.pageCacheByteCount)
      options.pageCache = cache
      source = try Store.makeSource(file, header, options, cache)
      try source.admit(Int(plan.readableEnd), of: file)
      if let known = options.readerSlots { slots = known } else { slots = try ReaderSlots(upTo: options.readerLimit) }
    } catch { throw .disk(error) }
    options.readerSlots = slots
    endRequests = options.endRequests ?? EndRequests()
    options.endRequests = endRequests
    number = slots.kept.nextNumber()
    self.options = options
    if case .corrupt(let lost) = plan.ending { self.lost = lost } else { lost = nil }
    fileLock = FileLock(
      file, disk: disk, path: path, turn: turn, isKept: !options.locksPerTransaction, isHeld: !options.isReadOnly)
    log = LogWriter(
      path: path, salt: header.salt, file: file, backgroundFile: backgroundFile, source: source,
      options: options, turn: turn, fileLock: fileLock, plan: plan)
    editor = TreeEditor(source: source, poisonsFreedMemory: options.poisonsFreedMemory)
    syncMonitor = log.syncMonitor
    versions = Versions(slots: slots, editor: editor, log: log, options: options)
    replayStart = plan.start
    head = Version(
      number: 1, position: plan.start, end: plan.readableEnd, frameNumber: 0, pageCount: plan.checkpoint?.pageCount ?? 0,
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

  /// Waits for the turn as a writer; writers go before background work.
  func takeTurn() -> Turn.Hold {
    turn.take {
      // So that replay and memory stay bounded.
      if isCheckpointing && hasUsed(quarters: 4) { return .inLine }
      return mustWaitForCompaction ? .aside : .open
    }
  }

  /// Whether commits are too far ahead of the compaction that copies them. Called with the turn's monitor locked and the turn
  /// free.
  var mustWaitForCompaction: Bool { log.tail.position.commitOffset > commitLimit }

  /// Carries out a piece of background work within a turn, as soon as the present holder gives it back.
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
    try checkFeatures()
    if openingProcess != processID() { throw .forked }
    try checkAlive()
  }

  /// Called when the trees of a transaction become the newest.
  @inline(__always)
  func keepFeatures(of transaction: StoreTransaction) {
    if transaction.laterFeatures != laterFeatures.load(ordering: .relaxed) {
      laterFeatures.store(transaction.laterFeatures, ordering: .releasing)
    }
  }

  /// Throws when the file has what this version would not keep up to date.
  func checkFeatures() throws(StoreError) {
    let features = laterFeatures.load(ordering: .acquiring)
    if features != 0 { throw .laterFeatures(features) }
  }

  var closedError: StoreError {
    life.isForked.load(ordering: .acquiring)
      ? .forked : life.isSuperseded.load(ordering: .acquiring) ? .superseded : .closed
  }

  /// Throws in a child process after `fork`. Calls that wait for a lock or a thread ask this first, because its holder does not
  /// exist there.
  func checkProcess() throws(StoreError) {
    if life.isForked.load(ordering: .acquiring) || openingProcess != processID() { throw .forked }
  }

  /// Throws if the caller's own transaction has the turn, because the caller would wait for itself.
  func checkMayWait() throws(StoreError) {
    if turn.isHeldByCaller { throw .withinTransaction }
  }

  func checkAlive() throws(StoreError) {
    if life.isForked.load(ordering: .acquiring) { throw .forked }
    try log.checkAlive()
  }

  // MARK: the budget of the log

  /// The log bytes that an open would replay after a crash now. Pages and copies of declarations are passed and do not
  /// count: those of a checkpoint lie after the start of its replay, and a large checkpoint would immediately require the next.
  var replayByteCount: Int { Int(log.tail.position.commitOffset) - Int(replayStart.commitOffset) }
  var logBudgetByteCount: Int {
    if isUnfinished { return .max / 4 }
    let twiceIndex = 2 * Int(clamping: head.pageCount) * Page.byteCount
    return min(max(twiceIndex, options.minimumLogBudgetByteCount), options.maximumLogBudgetByteCount)
  }

  /// Whether so many quarters of the log budget, or of the memory for changed pages, are used. Whichever fills first starts a
  /// checkpoint, hurries it, and holds up writers.
  func hasUsed(quarters: Int) -> Bool {
    // An unfinished file may use half of the memory, because the file that it will replace has its own.
    let memoryByteCount = isUnfinished ? options.checkpointMemoryByteCount / 2 : options.checkpointMemoryByteCount
    return replayByteCount > logBudgetByteCount / 4 * quarters
      || editor.pages.usedByteCount > memoryByteCount / 4 * quarters
  }

  /// Releases the memory of all pages when nobody reads or writes. It needs the lock: a late writer, about to be told that the
  /// store is closed, may still ask how much is used.
  func releasePages() { turn.monitor.withLock { editor.pages.releaseAll() } }

  /// Makes the finished edit the newest version; readers see it when its frame is durable.
  func replaceHead(by version: Version, _ hold: borrowing Turn.Hold) {
    versions.retire(editor.finishEdit(), newest: version.number, hold)
    head = version
    versions.enqueue(version, of: self, hold)
  }
}

extension Store: ForkObserver {
  func didFork() {
    life.isForked.store(true, ordering: .sequentiallyConsistent)
    log.isDead.store(true, ordering: .sequentiallyConsistent)
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
  }
}
