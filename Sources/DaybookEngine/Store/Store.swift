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
  /// Commits are written and synced through this description, so that no other's error report is taken for theirs.
  let file: any DiskFile
  /// Pages, zeros and checkpoints.
  let backgroundFile: any DiskFile
  package let applier: any Applier
  let slots: ReaderSlots
  package internal(set) var recovery = RecoveryReport()
  let openingProcess = processID()

  // The turn: held by one writer at a time; guards everything down to `head`.
  let turn = Monitor()
  /// Written with `turn` locked; writers look at it without.
  private let turnWord = Atomic<Bool>(false)
  var isTurnTaken: Bool {
    get { turnWord.load(ordering: .relaxed) }
    set { turnWord.store(newValue, ordering: .relaxed) }
  }
  private var hoveringWriterCount = 0
  /// Turns in a row after which nobody in line was woken.
  private var turnsWithoutLine = 0
  private static let maximumTurnsWithoutLine = 15
  var waitingWriterCount = 0
  var tail: LogTail
  var head: StateRecord
  let editor: TreeEditor
  let transactionBuffer = ByteBuffer(capacity: 64 << 10)
  /// Pages that are replaced, but that a pinned version may still need.
  var waitingPages: [TreeEditor.Retired] = []
  /// What they take of memory; of trees that were dropped as a whole only their roots.
  var waitingByteCount = 0
  /// With so many waiting bytes it is worth looking who still needs them.
  var reclaimThreshold = Store.minimumReclaimByteCount
  static let minimumReclaimByteCount = 1 << 20
  /// Where replay would start after a crash now.
  var freeze: LogPosition
  /// The end of the zeros that are prepared behind the tail, and the stretch where more are being written right now.
  let zerosEnd = Atomic<UInt64>(0)
  var claimedZeros: Range<UInt64>?
  /// There was no room for a frame: `close` leaves the reserve where it is.
  var hasMetFullDisk = false
  /// Every open for writing syncs the directory once: whoever renamed the file may have died before doing so.
  var hasSyncedDirectory = false
  var isCheckpointing = false
  /// A compaction is making this file: a crash throws it away, so nothing of its log need be short for replay.
  var isUnfinished = false
  /// Writers wait while the log, without its frames of pages, is longer than this: a compaction is catching up with them.
  var commitLimit = UInt64.max
  /// Frames of pages have been written since the last sync of `backgroundFile`: no checkpoint may name them yet.
  var hasUnsyncedPages = false
  var hasToldOfDamagedPage = false
  var mayCheckpoint = true
  var hasWritten = false

  /// False between transactions, or while suspended: another process may write then.
  var holdsFileLock = true
  /// Work that keeps the file lock from being given back; guarded by `turn`.
  var fileLockKeeperCount = 0
  /// What the last hold of the file lock found that others had done.
  package internal(set) var takeover = Takeover()

  // Sync and visibility; guarded by `syncMonitor`.
  let syncMonitor = Monitor()
  var groupCommit = GroupCommit()
  var durableNumber: UInt64 = 0
  var isSyncing = false
  var pendingStates: [StateReference] = []
  /// Address → version of every state that is not freed.
  var liveStates: [UInt: UInt64] = [:]
  /// The newest state that was shown, and its sequence for those who have pinned none.
  let newestWord = Atomic<UInt>(0)
  let shownSequence = Atomic<UInt64>(0)
  /// Where the readers of a database come in, while this is its current store.
  var entrance: Entrance?
  /// Work that looks at versions without having pinned them.
  var visitorCount = 0
  /// Who keeps this object as long as anybody may read it.
  var keptBy: StoreSwitch.Kept?
  /// How often commits that somebody waits for have been synced, here and in the file that this one will replace. Set
  /// with the turn, before the first commit.
  var commitSyncs = CommitSyncs.Count()
  let durableThrough = Atomic<UInt64>(0)
  let writtenNumber = Atomic<UInt64>(0)
  /// Commits of this object; written with the turn.
  let commitCount = Atomic<UInt64>(0)
  let writtenOffset = Atomic<UInt64>(0)
  let syncedOffset = Atomic<UInt64>(0)
  let deathCause = Locked<DiskFailure?>(nil)
  let isDead = Atomic<Bool>(false)
  let isSuspended = Atomic<Bool>(false)
  /// Nobody begins to read or write any more.
  let isClosed = Atomic<Bool>(false)
  /// This is a child's copy of a parent's store: it is closed and dead, too.
  let isForked = Atomic<Bool>(false)
  /// A compaction has put another file in this one's place; snapshots of this one go on until `isFinished`.
  let isSuperseded = Atomic<Bool>(false)
  let isFinished = Atomic<Bool>(false)
  /// Its background work has ended: the last reader may give the file back.
  let isRetired = Atomic<Bool>(false)
  /// What snapshots show may have been written over.
  let isOverwritten = Atomic<Bool>(false)
  let hasReleasedFiles = Atomic<Bool>(false)
  /// Held while the store closes, so that a second `close` returns after the first.
  let closing = Monitor()
  /// Set when the file must not be written, whatever the options say.
  let lost: ClosedRange<UInt64>?

  /// Set while the store opens and not changed after that.
  var keeper: Keeper?
  var writerClaim: WriterClaim?
  /// Open had something to recover, so `close` writes a `closed` frame even if nothing was committed.
  var isDirtySinceOpen = false
  /// The one transaction object, lent to the holder of the turn.
  private(set) lazy var reusableTransaction = StoreTransaction(store: self)

  init(
    path: String, header: FileHeader, options: StoreOptions, disk: any Disk, file: any DiskFile,
    backgroundFile: any DiskFile, applier: any Applier, plan: RecoveryPlan
  ) throws(StoreError) {
    self.path = path
    self.header = header
    self.disk = disk
    self.file = file
    self.backgroundFile = backgroundFile
    self.applier = applier
    var options = options
    do {
      options.pageCache = try Store.makeCache(options)
      source = try Store.makeSource(file, header, options.pageCache)
      if let known = options.readerSlots { slots = known } else { slots = try ReaderSlots() }
    } catch { throw .disk(error) }
    options.readerSlots = slots
    self.options = options
    editor = TreeEditor(source: source, poisonsFreedMemory: options.poisonsFreedMemory)
    if case .rotten(let lost) = plan.ending { self.lost = lost } else { lost = nil }
    tail = LogTail(plan)
    freeze = plan.start
    head = StateRecord(
      version: 1, position: plan.start, end: plan.readableEnd, frameNumber: 0, pageCount: plan.checkpoint?.pageCount ?? 0,
      liveByteCount: plan.checkpoint?.liveByteCount ?? 0, roots: RootSet(plan.checkpoint?.roots ?? []))
    ForkedProcess.tell(self)
  }

  deinit {
    ForkedProcess.forget(self)
    try? close()
    for (word, _) in liveStates { StateReference(word: word).free() }
  }

  // MARK: the turn

  /// Waits for the turn. A writer that waits goes before background work.
  func takeTurn() {
    turn.lock()
    var hasHovered = false
    while true {
      if isTurnTaken, !hasHovered {
        hasHovered = true
        hover()
      } else if isTurnTaken || mustWaitForCheckpoint {
        waitingWriterCount += 1
        turn.waitInLine()
        waitingWriterCount -= 1
        hasHovered = false
      } else if mustWaitForCompaction {
        // Not among those who wait: background work goes on meanwhile, and the compaction may be waiting for it. Nor may
        // anybody stay in line, whom nobody would wake: this writer was, and will not give the turn.
        turn.signalLine()
        turn.wait()
      } else {
        break
      }
    }
    isTurnTaken = true
    turn.unlock()
  }

  /// Waits for the turn awake: most turns are over in less time than falling asleep and waking up take (row:
  /// kv-commit-durable-32, 34 to 15 µs with what `GroupCommit` does). Called with `turn` locked, and lets go of it meanwhile.
  private func hover() {
    waitingWriterCount += 1
    hoveringWriterCount += 1
    turn.unlock()
    for _ in 0..<Store.yieldsBeforeSleep {
      var looks = Store.looksBeforeYield
      while looks > 0, turnWord.load(ordering: .relaxed) { looks -= 1 }
      if looks > 0 { break }
      yieldProcessor()
    }
    turn.lock()
    hoveringWriterCount -= 1
    waitingWriterCount -= 1
  }
  private static let yieldsBeforeSleep = 4
  private static let looksBeforeYield = 1000

  /// Takes the turn for background work; false while writers queue and `isUrgent` is not.
  func tryTurn(isUrgent: Bool) -> Bool {
    turn.lock()
    defer { turn.unlock() }
    if isUrgent {
      while isTurnTaken { turn.wait() }
    } else if isTurnTaken || waitingWriterCount > 0 {
      return false
    }
    isTurnTaken = true
    return true
  }

  func giveTurn() {
    turn.lock()
    isTurnTaken = false
    // Nobody in line is woken where somebody awake takes the turn, and gives it back, too; but not for ever.
    let wakesNobody = hoveringWriterCount > 0 && turnsWithoutLine < Store.maximumTurnsWithoutLine
    turnsWithoutLine = wakesNobody ? turnsWithoutLine + 1 : 0
    turn.unlock()
    // One writer: with 32 of them, waking all for one turn took more time than the commits (row: kv-commit-durable-32).
    if wakesNobody { turn.wakeOutsideLine() } else { turn.wakeNext() }
  }

  func checkUsable() throws(StoreError) {
    if isClosed.load(ordering: .acquiring) { throw closedError }
    if options.isReadOnly { throw .readOnly }
    if let lost { throw .rotten(lost: lost) }
    if openingProcess != processID() { throw .forked }
    try checkAlive()
  }

  var closedError: StoreError {
    isForked.load(ordering: .acquiring) ? .forked : isSuperseded.load(ordering: .acquiring) ? .superseded : .closed
  }

  /// Throws in a child process after `fork`. Doors that wait for a lock or a thread ask first: its holder is not there.
  func checkProcess() throws(StoreError) {
    if isForked.load(ordering: .acquiring) || openingProcess != processID() { throw .forked }
  }

  func checkAlive() throws(StoreError) {
    if isForked.load(ordering: .acquiring) { throw .forked }
    if isDead.load(ordering: .acquiring), let cause = deathCause.withLock({ $0 }) { throw .outcomeUnknown(cause) }
  }

  /// The writer is dead until the file is opened again.
  func die(_ failure: DiskFailure) {
    deathCause.withLock { cause in if cause == nil { cause = failure } }
    isDead.store(true, ordering: .releasing)
  }

  /// Log bytes that a crash now would replay. Frames of pages are passed over and do not count: a checkpoint's own lie
  /// behind its freeze position, and a large one would call for the next at once.
  var replayByteCount: Int { Int(tail.position.commitOffset) - Int(freeze.commitOffset) }
  var logBudgetByteCount: Int {
    if isUnfinished { return .max / 4 }
    let twiceIndex = 2 * Int(clamping: head.pageCount) * Page.byteCount
    return min(max(twiceIndex, options.minimumLogBudgetByteCount), options.maximumLogBudgetByteCount)
  }
  /// Called with `turn` locked and the turn free.
  var mustWaitForCompaction: Bool { tail.position.commitOffset > commitLimit }
  /// Writers wait at the full budget, so that replay and memory stay bounded. Called with `turn` locked and the turn free.
  private var mustWaitForCheckpoint: Bool { isCheckpointing && hasUsed(quarters: 4) }

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
  func releasePages() { turn.withLock { editor.pages.releaseAll() } }

  // MARK: publishing

  /// Makes a state that readers may see later, in the order of calls. Called with the turn.
  func enqueue(_ record: StateRecord) {
    var record = record
    record.owner = unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    let state = StateReference(record)
    syncMonitor.lock()
    liveStates[state.word] = record.version
    pendingStates.append(state)
    syncMonitor.unlock()
  }

  /// Shows the newest pending state whose frame is durable (or any, when `regardless`). Called with `syncMonitor` held.
  /// Returns the sequence that became visible.
  func publishPending(regardless: Bool) -> UInt64? {
    var shown = -1
    for (index, state) in pendingStates.enumerated() {
      if !regardless && state.record.frameNumber > durableNumber { break }
      shown = index
    }
    guard shown >= 0 else { return nil }
    let state = pendingStates[shown]
    show(state)
    pendingStates.removeSubrange(0...shown)
    return state.record.sequence
  }

  // MARK: freeing

  /// Frees pages and states that no pinned version needs. Called with the turn, now and then.
  ///
  /// What pinned versions hold back beyond `snapshotMemoryByteCount` costs the oldest resting snapshots their lives.
  func reclaim() {
    while true {
      let (pinned, published) = freeStates()
      expandWholeTrees(pinned: pinned, published: published)
      var heldByteCount = 0
      waitingPages.removeAll { page in
        if page.death > published { return false }
        if isPinned(pinned, page.birth, page.death), !isMutant("reuse-pinned-page") {
          heldByteCount += DirtyPages.byteCount(of: page.reference)
          return false
        }
        if page.isWholeTree { return false }
        editor.pages.deallocate(page.reference)
        return true
      }
      guard heldByteCount > options.snapshotMemoryByteCount,
        revokeOldestSnapshot(below: published)
      else { break }
    }
    waitingByteCount = waitingPages.reduce(0) { $0 + DirtyPages.byteCount(of: $1.reference) }
    let limit = options.snapshotMemoryByteCount
    let held = waitingByteCount
    reclaimThreshold = max(Store.minimumReclaimByteCount, held < limit ? min(held * 2, limit) : held + held / 8)
  }

  /// Frees the states that nobody pins. Returns the versions that are pinned, in order, and the newest that readers see.
  private func freeStates() -> (pinned: [UInt64], published: UInt64) {
    syncMonitor.lock()
    defer { syncMonitor.unlock() }
    // The newest first, then the slots, with nobody publishing in between: a reader that finds any other version still
    // the newest at its second look has its slot filled by now. The other way round, one that pins the newest after we
    // passed its slot would lose it to the next publication.
    let newest = StateReference(word: newestWord.load(ordering: .sequentiallyConsistent))
    let words = slots.pinnedWords()
    let pending = Set(pendingStates.map(\.word))
    var pinned: [UInt64] = []
    for (word, version) in liveStates {
      if words.contains(word) {
        pinned.append(version)
      } else if word != newest.word && !pending.contains(word) {
        StateReference(word: word).free()
        liveStates[word] = nil
      }
    }
    pinned.sort()
    return (pinned, newest.record.version)
  }

  private func revokeOldestSnapshot(below limit: UInt64) -> Bool {
    let versions = syncMonitor.withLock { liveStates }
    return slots.snapshots.revokeOldest(below: limit, of: versions)
  }

  /// Whether a pinned version lies in `birth ..< death`; `versions` ascend.
  private func isPinned(_ versions: [UInt64], _ birth: UInt64, _ death: UInt64) -> Bool {
    var lower = 0
    var upper = versions.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if versions[middle] < birth { lower = middle + 1 } else { upper = middle }
    }
    return lower < versions.count && versions[lower] < death
  }

  /// Turns dropped trees that nobody can reach any more into their single pages.
  func expandWholeTrees(pinned: [UInt64], published: UInt64, all: Bool = false) {
    var expanded: [TreeEditor.Retired] = []
    waitingPages.removeAll { tree in
      guard tree.isWholeTree else { return false }
      if !all && (tree.death > published || isPinned(pinned, 0, tree.death)) { return false }
      editor.collectPages(below: tree.reference, death: tree.death, into: &expanded)
      return true
    }
    waitingPages += expanded
    for page in expanded { waitingByteCount += DirtyPages.byteCount(of: page.reference) }
  }
}

extension TreeEditor {
  /// The pages in memory below a reference, as retirements of their own.
  func collectPages(below reference: UInt64, death: UInt64, into result: inout [Retired]) {
    guard reference & PageSource.memoryTag != 0 else { return }
    let meta = DirtyPage(reference)
    guard !meta.isRetired else { return }
    meta.isRetired = true
    result.append(Retired(reference: reference, birth: meta.birth, death: death))
    if LeafDelta.isDelta(reference) { return }
    var children: [UInt64] = []
    meta.page.replaceReferences { child in
      children.append(child)
      return child
    }
    for child in children { collectPages(below: child, death: death, into: &result) }
  }
}

/// Turns operations into tree changes: the only code that does, for live commits and replay alike.
///
/// It reads the trees and the operation only: no clock, limit, policy or locale. The layer above implements it.
package protocol Applier: AnyObject, Sendable {
  /// Applies one operation of commit `sequence`; `ordinal` counts the operations of the commit from zero.
  func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault)
  /// The same for an operation that is in the log already, at once or with others later, in whatever order comes to the
  /// same trees; the caller ends with `flush`. What must not be, throws here or there.
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault)
  /// Puts what `apply` and `replay` have kept for themselves into the trees.
  func flush(_ changes: StoreTransaction) throws(LogFault)
  /// Puts a part of what `apply` has kept into the trees; true when there is more. Between parts pages may be written.
  func settlePart(_ changes: StoreTransaction) throws(LogFault) -> Bool
  /// Puts roots that `apply` keeps open into the trees and lets go of them: pages of this transaction are about to move
  /// into the file. What it has gathered besides, it keeps.
  func letGo(_ changes: StoreTransaction) throws(LogFault)
  /// Forgets what `apply` has kept for itself: the transaction went back.
  func forget()
}

extension Store: ForkObserver {
  func didFork() {
    isForked.store(true, ordering: .sequentiallyConsistent)
    isDead.store(true, ordering: .sequentiallyConsistent)
    isClosed.store(true, ordering: .sequentiallyConsistent)
  }
}
