import Synchronization

/// Every store of a database that may be read, the current one last. Keeps them.
///
///     a reader's slot is released ──► was its store the current one? ──► nothing more
///                                                   └──► no: was it the last reader of a replaced store? ──► release that one
///
/// A reader has no reference of its own to the store that it reads: the slot keeps it. So from the moment in which its slot is
/// released, a store that was replaced may be gone, and what is still asked is asked of `ReaderSlots` and of this list.
final class KeptStores: Sendable {
  private let madeCount = Atomic<Int>(0)
  private let stores = Locked<[Store]>([])
  let releases = Releases()
  private let generation = ForkedProcess.watchedGeneration

  /// Stores of one database are numbered in the order in which they were made.
  func nextNumber() -> Int { madeCount.add(1, ordering: .relaxed).oldValue }

  /// All of them.
  var all: [Store] { stores.withLock { $0 } }
  /// Those that another has replaced, and that may still be read.
  var replaced: [Store] { stores.withLock { $0.dropLast() } }

  /// The current store. The lock is what makes this a reference that keeps it: one that was counted under a slot might as well
  /// be counted after the slot is released, if the optimizer sees no reason against it.
  var newest: Store? { stores.withLock { $0.last } }

  func add(_ store: Store) { stores.withLock { $0.append(store) } }

  func remove(_ store: Store) { stores.withLock { $0.removeAll { $0 === store } } }

  /// Ends what keeps them. They are released by the caller, outside the lock: what goes with a store may ask for the list.
  func removeAll() -> [Store] {
    // Exchanged, so that no reference is released under the lock, whatever becomes of the result: the end of a store that was not
    // closed makes a checkpoint, which asks for the list.
    var removed: [Store] = []
    stores.withLock { swap(&$0, &removed) }
    return removed
  }

  /// Ends snapshots of replaced stores without reads, those of the oldest store first, until all that such stores keep in
  /// memory is no more than this. Nothing writes their pages into their files any more: the last snapshot of one keeps all that
  /// its newest version had there.
  func limitMemory(to byteCount: Int) {
    if generation != ForkedProcess.generation.load(ordering: .relaxed) { return }
    // Mostly there are none, and no list is made (row: kv-update-in-100).
    if stores.withLock({ $0.count }) < 2 { return }
    let stores = replaced
    var heldByteCount = stores.reduce(0) { $0 + $1.replacedByteCount }
    guard heldByteCount > byteCount else { return }
    for store in stores {
      if heldByteCount <= byteCount { break }
      let before = store.replacedByteCount
      if before == 0 { continue }
      store.versions.revokeAll()
      store.releaseElsewhereIfUnused()
      // One that is being read keeps everything until that read ends. Ending younger ones would not make up for it.
      heldByteCount -= before
    }
  }

  /// Looks at replaced stores: the last reader of one may have gone.
  @inline(never)
  func releaseUnused() {
    // A child after `fork` has a copy of the lock, and releases nothing of its parent's.
    if generation != ForkedProcess.generation.load(ordering: .relaxed) { return }
    for store in replaced { store.releaseElsewhereIfUnused() }
  }
}

/// How many stores are being released on threads of their own.
final class Releases: Sendable {
  private let monitor = Monitor()
  private let count = Atomic<Int>(0)
  private let isHurried = Atomic<Bool>(false)

  /// A close, a suspension or a compaction on a full disk waits for the end.
  var areHurried: Bool { isHurried.load(ordering: .relaxed) }

  func begin() { count.add(1, ordering: .sequentiallyConsistent) }

  func end() {
    monitor.lock()
    count.subtract(1, ordering: .sequentiallyConsistent)
    monitor.broadcast()
    monitor.unlock()
  }

  /// Waits until all are done, which do not take their time meanwhile. False where there are none.
  @discardableResult
  func hurry() -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    if count.load(ordering: .sequentiallyConsistent) == 0 { return false }
    isHurried.store(true, ordering: .relaxed)
    while count.load(ordering: .sequentiallyConsistent) > 0 { monitor.wait() }
    isHurried.store(false, ordering: .relaxed)
    return true
  }
}
