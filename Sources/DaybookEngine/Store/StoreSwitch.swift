import Synchronization

/// The store of an open database. A compaction or a reload replaces it by another while reads and writes go on.
///
///     reader ── entrance: the newest version ──► claim a slot ──► its store ──► not closed? ──► read     closed: again
///
/// A store that was replaced refuses new readers and writers with `.superseded`; they then ask for the store again. Its
/// snapshots go on. When the last one ends, everything is released, including the object. That is safe because a reader accesses
/// a store only while it has pinned a version of it; slots, entrance and the list of stores do not belong to the store.
@safe package final class StoreSwitch: @unchecked Sendable {
  /// The right to replace the current store, or to prevent that. It knows its holder: a call from the progress closure of a
  /// compaction would wait for itself.
  package final class Replacing: Sendable {
    private let monitor = Monitor()
    private let holder = Atomic<UInt>(0)

    package var isHeldByCaller: Bool { holder.load(ordering: .relaxed) == currentThreadNumber() }

    package func lock() {
      monitor.lock()
      holder.store(currentThreadNumber(), ordering: .relaxed)
    }

    package func unlock() {
      holder.store(0, ordering: .relaxed)
      monitor.unlock()
    }

    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
      lock()
      defer { unlock() }
      return try body()
    }
  }

  package let endRequests: EndRequests
  private let slots: ReaderSlots
  let kept: KeptStores
  private let entrance = Entrance()
  /// One replacement at a time.
  package let replacing = Replacing()

  let makeApplier: @Sendable () -> any Applier
  private let process = processID()
  private let generation = ForkedProcess.watchedGeneration

  package init(_ store: Store, makeApplier: @escaping @Sendable () -> any Applier) {
    self.makeApplier = makeApplier
    endRequests = store.endRequests
    slots = store.slots
    kept = store.slots.kept
    keep(store)
    store.versions.take(entrance, from: nil)
    slots.setCurrent(store)
  }

  deinit {
    // A child after `fork` has copies of its parent's locks, which no thread may ever release here.
    if process != processID() { return }
    _ = kept.removeAll()
  }

  private func keep(_ store: Store) {
    precondition(store.slots === slots, "stores that succeed each other share their readers")
    kept.add(store)
  }

  /// The current store. For longer work: it takes a lock for a moment.
  package var store: Store {
    // A child after `fork` has a copy of the lock, which no thread may ever release here. Nor is a store replaced or released here.
    if generation != ForkedProcess.generation.load(ordering: .relaxed) {
      return VersionReference(word: entrance.word.load(ordering: .acquiring)).store
    }
    guard let store = kept.newest else { preconditionFailure("a database has a store as long as it lives") }
    return store
  }

  /// Makes another store current. The caller then supersedes the old one.
  ///
  /// The caller has the new store's turn. Otherwise a writer could commit there while readers still find the old store, and a thread
  /// would not read its own commit.
  func replace(by store: Store, _: borrowing Turn.Hold) {
    let older = self.store
    keep(store)
    store.versions.take(entrance, from: older.versions)
    slots.setCurrent(store)
  }

  /// Pins the newest version of the current store.
  @inline(__always)
  package func beginRead() throws(StoreError) -> (store: Store, pin: Store.Pin) {
    guard let (slot, state) = slots.claim(entrance.word) else {
      try checkProcess()
      throw .tooManySnapshots(limit: slots.limit)
    }
    let store = state.store
    // In this order: `close` sets its flag first and then looks for slots in use.
    if store.life.isClosed.load(ordering: .sequentiallyConsistent) {
      let error = store.releaseRefused(slot)
      guard case .superseded = error else { throw error }
      return try beginReadAgain()
    }
    return (store, Store.Pin(slot: slot, state: state, source: store.source))
  }

  /// A snapshot of the newest version of the current store.
  package func beginSnapshot() throws(StoreError) -> (store: Store, pin: Store.SnapshotPin) {
    while true {
      guard let (index, state) = slots.snapshots.begin(entrance.word) else {
        throw .tooManySnapshots(limit: slots.snapshots.limit)
      }
      let store = state.store
      do { return (store, try store.begun(index, state)) } catch { guard case .superseded = error else { throw error } }
    }
  }

  @inline(never)
  private func beginReadAgain() throws(StoreError) -> (store: Store, pin: Store.Pin) {
    while true {
      let store = self.store
      do { return (store, try store.beginRead()) } catch { guard case .superseded = error else { throw error } }
    }
  }

  /// Takes the turn of the current store.
  package func beginTransaction() throws(StoreError) -> StoreTransaction {
    let shares = store.options.locksPerTransaction
    var start = shares ? SystemClock.monotonicNanoseconds() : 0
    while true {
      let store = self.store
      do { return try store.beginTransaction(since: start) } catch {
        switch error {
        case .superseded: continue
        case .moved(let cause):
          // An open goes on with the wait for others that the write has begun.
          try replacing.withLock { () throws(StoreError) in try reload(store, cause, since: shares ? start : nil) }
          if shares, self.store !== store { start = SystemClock.monotonicNanoseconds() }
        default: throw error
        }
      }
    }
  }

  /// Makes every commit so far durable.
  package func sync() throws(StoreError) {
    while true {
      do { return try store.sync() } catch { guard case .superseded = error else { throw error } }
    }
  }

  /// The current store, and those before it that snapshots still read.
  package var storesInUse: [Store] { kept.all }

  /// Keeps the current store current and its file lock held, for work that must not miss a commit. `endHolding` ends this.
  package func beginHolding() throws(StoreError) -> Store {
    try checkCaller()
    replacing.lock()
    do throws(StoreError) { return try retainFileLock() } catch {
      replacing.unlock()
      throw error
    }
  }

  /// Retains the file lock of the current store, which is opened again first where it has to be; all that waits once. Called with
  /// `replacing`.
  func retainFileLock() throws(StoreError) -> Store {
    var start = SystemClock.monotonicNanoseconds()
    while true {
      let store = self.store
      do throws(StoreError) {
        try store.retainFileLock(since: start)
        return store
      } catch {
        guard case .moved(let cause) = error else { throw error }
        try reload(store, cause, since: start)
        if self.store !== store { start = SystemClock.monotonicNanoseconds() }
      }
    }
  }

  package func endHolding(_ store: Store) {
    store.releaseRetainedFileLock()
    replacing.unlock()
  }

  /// Throws in a child process after `fork`.
  package func checkProcess() throws(StoreError) { if process != processID() { throw .forked } }

  /// The same, and also throws if the call would wait for a transaction of its own caller. Ask this before anything else: a
  /// thread that waits for the turn may already hold something that the transaction needs.
  package func checkCaller() throws(StoreError) {
    try checkProcess()
    try store.checkMayWait()
    if replacing.isHeldByCaller { throw .withinTransaction }
  }

  /// Throws what a transaction that began now would throw, without waiting for the turn.
  package func checkWritable() throws(StoreError) {
    while true {
      do { return try store.checkUsable() } catch { guard case .superseded = error else { throw error } }
    }
  }

  /// Closes the current store and ends all reads of older ones.
  package func close(lastly: ((_ isSound: Bool) throws(StoreError) -> Void)? = nil) throws(StoreError) {
    try checkCaller()
    endRequests.begin(.close)
    defer { endRequests.finish(.close) }
    replacing.lock()
    defer { replacing.unlock() }
    slots.endSnapshots()
    // A caller that closes a database may remove it next.
    kept.releases.hurry()
    try store.close(lastly: lastly)
  }
}

extension Store {
  /// Another store has replaced this one: from here on no read or write begins here.
  func supersede(_: borrowing Turn.Hold) {
    life.isSuperseded.store(true, ordering: .sequentiallyConsistent)
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
  }

  /// Ends the background work of a store that was superseded, and releases its file as soon as nobody reads it.
  /// - Parameter goesOn: asked repeatedly whether it may take its time.
  func retire(_ goesOn: () -> Bool = { true }) {
    maintenance?.stop()
    maintenance = nil
    // Nothing is written through it any more. Nobody cuts off what its snapshots read, because the file has lost its name.
    file.unlock(.writer)
    file.unlock(.readers)
    fileLock.releaseClaim()
    life.isRetired.store(true, ordering: .releasing)
    releaseIfUnused(goesOn)
    slots.kept.releaseUnused()
    slots.kept.limitMemory(to: options.snapshotMemoryByteCount)
  }

  /// The memory of its pages, once it was replaced and its background work has ended: from then on only its release changes
  /// that.
  var replacedByteCount: Int {
    guard life.isRetired.load(ordering: .acquiring), !isReleased else { return 0 }
    return turn.monitor.withLock { editor.pages.usedByteCount }
  }

  /// The log under older versions has changed: their snapshots stop reading.
  func revokeSnapshots() { life.isOverwritten.store(true, ordering: .sequentiallyConsistent) }

  /// Whether files, mapping and pages were released.
  var isReleased: Bool { versions.wereReleased }

  /// Ends the snapshots of a store that was superseded.
  func endSnapshots() {
    life.hasEndedSnapshots.store(true, ordering: .sequentiallyConsistent)
    releaseIfUnused()
  }

  /// Releases this store if it was replaced and the last reader is gone.
  @inline(never)
  func releaseIfUnused(_ goesOn: () -> Bool = { true }) {
    if isUnused() { release(goesOn) }
  }

  /// The same for a thread that has only ended a read, perhaps the one that draws an application's windows: a file of a
  /// gigabyte is freed in thousands of pieces. So that is done elsewhere, and as slowly as after a compaction, where the
  /// database may have threads.
  @inline(never)
  func releaseElsewhereIfUnused() {
    guard isUnused() else { return }
    guard options.hasBackgroundThread else { return release { true } }
    let releases = slots.kept.releases
    releases.begin()
    let thread = BackgroundThread(name: "daybook.release") { [self] in
      var others = CommitSyncs(self)
      release {
        if others.look() { SystemClock.sleep(nanoseconds: 1_000_000) }
        return !releases.areHurried
      }
      releases.end()
    }
    if thread == nil {
      release { true }
      releases.end()
    }
  }

  /// Whether this store was replaced and the last reader is gone; true once.
  private func isUnused() -> Bool {
    // A child after `fork` would cut off what its parent reads.
    !life.isForked.load(ordering: .acquiring) && life.isRetired.load(ordering: .acquiring) && mayRelease()
  }

  private func release(_ goesOn: () -> Bool) {
    endSyncs()
    releasePages()
    source.buffered?.evict()
    backgroundFile.close()
    file.closeRemoved(goesOn)
    slots.kept.remove(self)
  }

  /// Whether nobody reads any version and nobody will; true once.
  private func mayRelease() -> Bool {
    // Test the flag first: a snapshot that is about to read counts its read and then tests the flag.
    versions.mayRelease(endsSnapshots: life.hasEndedSnapshots.load(ordering: .sequentiallyConsistent))
  }

  /// Ends a visit to versions that were not pinned.
  func endVisit() {
    let (slots, number) = (slots, number)
    versions.endVisit()
    slots.releaseUnused(ifReplaced: number)
  }
}
