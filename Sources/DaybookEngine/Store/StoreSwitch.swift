import Synchronization

/// The store of an open database, which a compaction or a reload replaces by another while reads and writes go on.
///
///     reader ── load the address ──► claim a slot ──► not closed? ──► read          superseded: load again
///
/// A store that was replaced refuses new readers and writers with `.superseded`; whoever gets that asks for the store again.
/// Its snapshots go on, and with the last of them its file, its mapping and its pages are given back. The object itself
/// (a few kilobytes) stays as long as the switch, because a reader that was about to begin may still look at it.
@safe package final class StoreSwitch: @unchecked Sendable {
  private let word: Atomic<UInt>
  /// Every store that was ever current, the present one last.
  private let stores: Locked<[Store]>
  /// One replacement at a time.
  package let replacing = Monitor()

  let makeApplier: @Sendable () -> any Applier

  package init(_ store: Store, makeApplier: @escaping @Sendable () -> any Applier) {
    self.makeApplier = makeApplier
    stores = Locked([store])
    word = unsafe Atomic(UInt(bitPattern: Unmanaged.passUnretained(store).toOpaque()))
  }

  /// The store that is current.
  package var store: Store {
    @inline(__always) get {
      // Safe: the address of a store that `stores` keeps as long as this object lives.
      unsafe Unmanaged<Store>.fromOpaque(UnsafeRawPointer(bitPattern: word.load(ordering: .acquiring))!)
        .takeUnretainedValue()
    }
  }

  /// Makes another store current. The caller then marks the old one as superseded.
  package func replace(by store: Store) {
    stores.withLock { $0.append(store) }
    unsafe word.store(UInt(bitPattern: Unmanaged.passUnretained(store).toOpaque()), ordering: .sequentiallyConsistent)
  }

  /// Pins the newest version of the current store.
  @inline(__always)
  package func beginRead() throws(StoreError) -> (store: Store, pin: Store.Pin) {
    let store = self.store
    do { return (store, try store.beginRead()) } catch {
      guard case .superseded = error else { throw error }
      return try beginReadAgain()
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
        case .moved: try replacing.withLock { () throws(StoreError) in try reloadMoved(store) }
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
  package var storesInUse: [Store] { stores.withLock { $0.filter { !$0.isReleased } } }

  /// Keeps the current store current and its file lock held, for work that must not miss a commit. Ends with `endHolding`.
  package func beginHolding() throws(StoreError) -> Store {
    replacing.lock()
    do throws(StoreError) {
      while true {
        let store = self.store
        do throws(StoreError) {
          try store.keepFileLock()
          return store
        } catch {
          guard case .moved = error else { throw error }
          try reloadMoved(store)
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

  /// Closes the current store and ends what still reads older ones.
  package func close() throws(StoreError) {
    replacing.lock()
    defer { replacing.unlock() }
    let all = stores.withLock { $0 }
    for store in all.dropLast() { store.finish() }
    try all.last?.close()
  }
}

extension Store {
  /// Another store has taken this one's place: from here on nobody begins here. Called with the turn, or where nobody writes.
  func supersede() {
    isSuperseded.store(true, ordering: .sequentiallyConsistent)
    isClosed.store(true, ordering: .sequentiallyConsistent)
  }

  /// Ends the background work of a store that was superseded, and gives its file back as soon as nobody reads it.
  /// - Parameter goesOn: whether to take time for it, asked again and again.
  func retire(_ goesOn: () -> Bool = { true }) {
    keeper?.stop()
    keeper = nil
    writerClaim?.release()
    writerClaim = nil
    isRetired.store(true, ordering: .releasing)
    releaseIfUnused(goesOn)
  }

  /// The log under older versions has changed: their snapshots stop reading.
  func revokeSnapshots() { isOverwritten.store(true, ordering: .sequentiallyConsistent) }

  /// Files, mapping and pages have been given back.
  var isReleased: Bool { hasReleasedFiles.load(ordering: .acquiring) }

  /// Snapshots of a store that was superseded stop reading.
  func finish() {
    isFinished.store(true, ordering: .sequentiallyConsistent)
    releaseIfUnused()
  }

  /// The database is closed, or this store's place is taken, and the last reader may have gone.
  @inline(never)
  func releaseIfUnused(_ goesOn: () -> Bool = { true }) {
    guard isRetired.load(ordering: .acquiring), slots.isUnused || isFinished.load(ordering: .acquiring) && !slots.hasReaders,
      !hasReleasedFiles.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    releasePages()
    source.buffered?.forget()
    backgroundFile.close()
    file.closeRemoved(goesOn)
  }
}
