import Synchronization

/// The store of an open database, which a compaction or a reload replaces by another while reads and writes go on.
///
///     reader ── entrance: the newest version ──► claim a slot ──► its store ──► not closed? ──► read     closed: again
///
/// A store that was replaced refuses new readers and writers with `.superseded`; whoever gets that asks for the store again.
/// Its snapshots go on, and with the last of them everything that it had is given back, the object too: a reader never looks
/// at a store before it has pinned a version of it, and the slots and the entrance are not the store's.
@safe package final class StoreSwitch: @unchecked Sendable {
  /// The right to put another store in the current one's place, or to keep that from happening. It knows who has it: a call
  /// from a closure that a compaction asks for its progress would wait for itself.
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

  /// Keeps every store that somebody may read, the current one last.
  final class Kept: Sendable {
    fileprivate let stores = Locked<[Store]>([])
    fileprivate func remove(_ store: Store) { stores.withLock { $0.removeAll { $0 === store } } }

    /// Looks again at stores whose place is taken: their last reader may have been about to begin when it was counted.
    fileprivate func releaseUnused() {
      for store in stores.withLock({ $0.dropLast() }) { store.releaseIfUnused() }
    }
  }

  private let kept = Kept()
  private let slots: ReaderSlots
  private let entrance = Entrance()
  /// One replacement at a time.
  package let replacing = Replacing()

  let makeApplier: @Sendable () -> any Applier

  package init(_ store: Store, makeApplier: @escaping @Sendable () -> any Applier) {
    self.makeApplier = makeApplier
    slots = store.slots
    keep(store)
    store.versions.take(entrance, from: nil)
  }

  deinit {
    // What goes with the last reference may ask for the list: not within its lock.
    let stores = storesInUse
    kept.stores.withLock { $0 = [] }
    for store in stores { store.syncMonitor.withLock { store.keptBy = nil } }
  }

  private func keep(_ store: Store) {
    precondition(store.slots === slots, "stores that succeed each other share their readers")
    store.syncMonitor.withLock { store.keptBy = kept }
    kept.stores.withLock { $0.append(store) }
  }

  /// The store that is current. For work that takes its time: it costs a read of nothing.
  package var store: Store {
    guard let (slot, state) = slots.claim(entrance.word) else {
      return kept.stores.withLock { $0[$0.count - 1] }
    }
    defer { slots.release(slot) }
    return state.store
  }

  /// Makes another store current. The caller then marks the old one as superseded.
  package func replace(by store: Store) {
    let older = kept.stores.withLock { $0[$0.count - 1] }
    keep(store)
    store.versions.take(entrance, from: older.versions)
  }

  /// Pins the newest version of the current store.
  @inline(__always)
  package func beginRead() throws(StoreError) -> (store: Store, pin: Store.Pin) {
    guard let (slot, state) = slots.claim(entrance.word) else { throw .tooManySnapshots(limit: slots.limit) }
    let store = state.store
    // In this order: `close` says that it closes, then looks whether a slot is taken.
    if store.life.isClosed.load(ordering: .sequentiallyConsistent) {
      store.releaseRefused(slot)
      guard case .superseded = store.closedError else { throw store.closedError }
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
    while true {
      let store = self.store
      do { return try store.beginTransaction() } catch {
        switch error {
        case .superseded: continue
        case .moved(let cause): try replacing.withLock { () throws(StoreError) in try reload(store, cause) }
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
  package var storesInUse: [Store] { kept.stores.withLock { $0 } }

  /// Keeps the current store current and its file lock held, for work that must not miss a commit. Ends with `endHolding`.
  package func beginHolding() throws(StoreError) -> Store {
    try checkCaller()
    replacing.lock()
    do throws(StoreError) {
      while true {
        let store = self.store
        do throws(StoreError) {
          try store.keepFileLock()
          return store
        } catch {
          guard case .moved(let cause) = error else { throw error }
          try reload(store, cause)
        }
      }
    } catch {
      replacing.unlock()
      throw error
    }
  }

  package func endHolding(_ store: Store) {
    store.letFileLockGo()
    replacing.unlock()
  }

  /// Throws in a child process after `fork`.
  package func checkProcess() throws(StoreError) { try store.checkProcess() }

  /// The same, and where a transaction of the caller's own would be waited for. Asked before anything else is: who waits for
  /// the turn may have what the transaction would wait for then.
  package func checkCaller() throws(StoreError) {
    let store = self.store
    try store.checkProcess()
    try store.checkMayWait()
    if replacing.isHeldByCaller { throw .withinTransaction }
  }

  /// Throws what a transaction would that began now, without waiting for one.
  package func checkWritable() throws(StoreError) {
    while true {
      do { return try store.checkUsable() } catch { guard case .superseded = error else { throw error } }
    }
  }

  /// Closes the current store and ends what still reads older ones.
  package func close(lastly: (_ isSound: Bool) throws(StoreError) -> Void = { _ in }) throws(StoreError) {
    try checkCaller()
    replacing.lock()
    defer { replacing.unlock() }
    let all = storesInUse
    for store in all.dropLast() { store.finish() }
    try all.last?.close(lastly: lastly)
  }
}

extension Store {
  /// Another store has taken this one's place: from here on nobody begins here.
  func supersede(_: borrowing Turn.Hold) {
    life.isSuperseded.store(true, ordering: .sequentiallyConsistent)
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
  }

  /// Ends the background work of a store that was superseded, and gives its file back as soon as nobody reads it.
  /// - Parameter goesOn: whether to take time for it, asked again and again.
  func retire(_ goesOn: () -> Bool = { true }) {
    keeper?.stop()
    keeper = nil
    // Nothing is written through it any more, and what its snapshots read nobody cuts off: a file that has lost its name.
    file.unlock(.writer)
    file.unlock(.readers)
    fileLock.releaseClaim()
    life.isRetired.store(true, ordering: .releasing)
    releaseIfUnused(goesOn)
    syncMonitor.withLock { keptBy }?.releaseUnused()
  }

  /// The log under older versions has changed: their snapshots stop reading.
  func revokeSnapshots() { life.isOverwritten.store(true, ordering: .sequentiallyConsistent) }

  /// Files, mapping and pages have been given back.
  var isReleased: Bool { versions.wereReleased }

  /// Snapshots of a store that was superseded stop reading.
  func finish() {
    life.isFinished.store(true, ordering: .sequentiallyConsistent)
    releaseIfUnused()
  }

  /// This store's place is taken, and the last reader may have gone.
  @inline(never)
  func releaseIfUnused(_ goesOn: () -> Bool = { true }) {
    // A child would cut off what its parent reads.
    guard !life.isForked.load(ordering: .acquiring), life.isRetired.load(ordering: .acquiring), mayRelease() else { return }
    releasePages()
    source.buffered?.evict()
    backgroundFile.close()
    file.closeRemoved(goesOn)
    syncMonitor.withLock { keptBy }?.remove(self)
  }

  /// Whether nobody looks at any version and nobody will; true once.
  private func mayRelease() -> Bool {
    // Before the flag: a snapshot that is about to read says so and then looks at it.
    versions.mayRelease(endsSnapshots: life.isFinished.load(ordering: .sequentiallyConsistent))
  }

  /// Somebody has looked at versions without having pinned them.
  func endVisit() {
    versions.endVisit()
    if life.isSuperseded.load(ordering: .acquiring) { releaseIfUnused() }
  }
}
