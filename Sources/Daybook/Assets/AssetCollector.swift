#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine
import Dispatch

/// Removing contents that no record names any more.
///
///     in a turn       from here on, what transactions name is remembered
///     sync            so that no crash goes back to before this moment
///     pin             R = what the newest version names, and every older one that a snapshot holds
///     list            what is in the directory and not in R; first seen when?
///     in a turn       unlink what has waited for the grace time and was not named meanwhile; a few files a turn
///
/// What somebody holds, in this process or in another one, is recognised by its holder (`AssetHolder`) and stays.
///
/// A content that an ingest holds may be unlinked here: the commit that names it links it again (`AssetStore+Ingest`).
/// A crash at any place leaves a file too many, never a name without its file.
extension Database {
  /// What a collection found.
  public struct AssetCollection: Sendable, Hashable, Codable {
    /// Contents that records name, or that a snapshot still sees.
    public var keptCount = 0
    /// Contents that nobody names and that stay until the grace time is over.
    public var waitingCount = 0
    /// Contents that were removed, and their bytes.
    public var removedCount = 0
    /// Bytes of the contents that were removed.
    public var removedByteCount = 0
    /// Unfinished ingests and copies handed out by opens that have ended, which were removed.
    public var removedLeftoverCount = 0
    /// Their bytes.
    public var removedLeftoverByteCount = 0
    /// Names in the directory that no database gives, links, and files of other users; they are left alone.
    public var strangerCount = 0
  }

  /// Removes contents of assets that no record names any more, and what crashes have left.
  ///
  /// A content goes when the commit that dropped its last name is durable, no snapshot of this process sees it, and the grace
  /// time has passed since a collection first saw it so. Older versions of records (`history(of:)`) do not keep it. Happens
  /// by itself now and then while the database is being written to; writers wait only for the removal of a few files at
  /// a time.
  /// - Parameter grace: instead of `Options.assetGrace`; zero removes at once, and then a reader in another process may miss
  ///   a file that it was about to read.
  /// - Throws: `readOnly`, `operationCancelled` when another collection is at work, or the database is suspended meanwhile;
  ///   `locked` while it is; `ioFailed`; `badDatabase` when the folder beside the file is not known for this database's: see
  ///   ``takeOverAssets()``.
  @discardableResult
  public func collectAssets(grace: Duration? = nil) throws(DatabaseError) -> AssetCollection {
    let store = library.store
    // Neither a compaction nor another process that shares the file may commit elsewhere meanwhile.
    let held = try engine(stores.beginHolding())
    defer { stores.endHolding(held) }
    let hasBegun: Bool
    do { hasBegun = try held.withTurn { () throws(DiskFailure) in store.beginCollection() } } catch {
      throw DatabaseError(error, path: path)
    }
    guard hasBegun else {
      throw DatabaseError(.operationCancelled, "Assets are being collected already.", facts: .init(path: path))
    }
    defer { store.endCollection() }
    // Before the look: what was written when the collection began is seen by it, and what comes later is remembered.
    if !isMutant("unlink-asset-early") { try sync() }
    let named = try namedAssets()
    // And behind it: at `.relaxed` the version that it saw may be ahead of what is durable, and a crash would bring back a record
    // whose content is gone.
    if !isMutant("unlink-asset-early") { try sync() }
    let report: AssetCollection
    do {
      let inventory = try store.inventory()
      if let reason = inventory.notOurs { throw DatabaseError(notCollected: reason, inventory.root?.path) }
      try store.renewMark(of: inventory)
      if let root = inventory.root { store.narrowRights(of: root) }
      report = try collect(inventory, keeping: named, grace: grace ?? options.assetGrace, held)
      if try store.nameLeadsElsewhere() { throw DatabaseError(notCollected: .nameLeadsElsewhere, inventory.root?.path) }
    } catch { throw DatabaseError(untyped: error) }
    guard library.mayCollect else {
      // Before the suspension goes on, which waits for this: `resume` looks whether one is due.
      if options.hasBackgroundThread { library.collectionIsDue(inSeconds: 0) }
      throw DatabaseError(.operationCancelled, "The database is being suspended.", facts: .init(path: path))
    }
    held.options.failures[.collection] = nil
    return report
  }

  /// Makes the folder of assets beside the file this database's own, whosever it was: from now on collections remove what only
  /// others refer to.
  ///
  /// A folder is marked as that of the database that has made it, and of its file. A collection refuses any other, `badDatabase`:
  /// one that was found, that has lost its mark, or whose database is a copy of this one. Reading and saving assets
  /// needs no mark, so nothing has to be done before there is something to remove. A file that was copied or restored *with* its
  /// folder needs no call; one that was put beside a folder that another file has used does, once the other one is not needed.
  /// - Throws: `readOnly`, `locked`, `ioFailed`; `badDatabase` when another file has the database's name by now, or none has, and
  ///   when the file has no number to mark a folder with, as those of early builds: ``compact(progress:)`` gives it one.
  public func takeOverAssets() throws(DatabaseError) {
    let store = library.store
    let held = try engine(stores.beginHolding())
    defer { stores.endHolding(held) }
    if store.folderNumber == 0 {
      throw DatabaseError(
        .badDatabase,
        "The file of an early build has no number to mark a folder of assets with: compact it.",
        facts: .init(path: path))
    }
    do {
      if try store.nameLeadsElsewhere() { throw DatabaseError(notCollected: .nameLeadsElsewhere, store.directory) }
      if let root = try store.inventory().root { try store.takeOver(root) }
    } catch { throw DatabaseError(untyped: error) }
  }

  /// What the newest version names, and all older ones that somebody still reads.
  private func namedAssets() throws(DatabaseError) -> Set<AssetDigest> {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      var named: Set<AssetDigest> = []
      try view.forEachAsset { _, digest, _ in named.insert(digest) }
      if isMutant("forget-snapshots-assets") { return named }
      // Also those of files that a compaction has replaced.
      for store in stores.storesInUse {
        try store.forEachPinnedVersion(before: store === view.store ? pin : nil) { (pin) throws(DatabaseError) in
          let view = ReadView(database: self, store: store, source: .pin(pin))
          try view.forEachAsset { _, digest, _ in named.insert(digest) }
        }
      }
      return named
    }
  }

  private func collect(
    _ inventory: AssetStore.Inventory, keeping named: Set<AssetDigest>, grace: Duration, _ held: Store
  ) throws(DiskFailure) -> AssetCollection {
    let store = library.store
    let now = options.now().timeIntervalSinceReferenceDate
    let graceSeconds = grace.seconds
    let uptime = options.uptime?()
    let former = store.readFirstSeen(of: inventory)
    let formerlySeen = former.seconds(at: now, uptime: uptime)
    var note = AssetStore.FirstSeen()
    note.clocks = uptime.map { (now, $0) }
    /// Whether a name has been without a reference long enough.
    func isOver(_ name: String, after graceSeconds: Double) -> Bool {
      var first = formerlySeen[name] ?? now
      // A clock that was set back would make it wait for ever.
      if !(first <= now) { first = now }
      if now - first >= graceSeconds { return true }
      note.seconds[name] = first
      return false
    }
    var report = AssetCollection()
    report.strangerCount = inventory.strangers.count
    var victims: [AssetDigest] = []
    for digest in inventory.digests {
      if named.contains(digest) {
        report.keptCount += 1
      } else if isOver(digest.name, after: graceSeconds) {
        victims.append(digest)
      } else {
        report.waitingCount += 1
      }
    }
    // A holder that nothing is known of lives until the grace time is over, whatever the caller asks for.
    let longest = max(graceSeconds, options.assetGrace.seconds)
    let overdue = inventory.unknownHolders.filter { isOver(AssetHolder.prefix + $0.key, after: longest) }
    let leftovers = inventory.leftovers.filter { isOver($0, after: graceSeconds) } + overdue.values.joined().sorted()
    for name in leftovers where library.mayCollect {
      let byteCount = store.byteCount(of: name, in: inventory.root) ?? 0
      switch try store.removeLeftover(name, of: inventory) {
      case .removed:
        report.removedLeftoverCount += 1
        report.removedLeftoverByteCount += byteCount
      case .stranger: report.strangerCount += 1
      case .kept: break
      }
    }
    for id in inventory.deadHolders { try store.removeDeadHolder(id, of: inventory) }
    for id in overdue.keys.sorted() { try store.removeDeadHolder(id, of: inventory, isOverdue: true) }
    store.removeUnfinishedNames(of: inventory)
    try remove(victims, of: inventory, &report, held)
    // Cut short, the grace of what is still there would begin anew.
    if note.seconds != former.seconds || former.hasOtherLines, library.mayCollect, try !store.nameLeadsElsewhere() {
      try store.writeFirstSeen(note, of: inventory)
    }
    return report
  }

  /// Few files a turn: removing a large one takes milliseconds.
  private func remove(
    _ victims: [AssetDigest], of inventory: AssetStore.Inventory, _ report: inout AssetCollection, _ held: Store
  ) throws(DiskFailure) {
    let store = library.store
    for start in stride(from: 0, to: victims.count, by: 16) {
      let batch = victims[start..<min(start + 16, victims.count)]
      let sizes = batch.map { store.byteCount(of: $0, in: inventory.root) ?? 0 }
      // Another file may have got the name since the look, and the folder with it.
      if try store.nameLeadsElsewhere() { return }
      do throws(StoreError) {
        try held.withTurn { () throws(DiskFailure) in
          for (digest, byteCount) in zip(batch, sizes) where library.mayCollect {
            switch try store.removeUnlessRescued(digest, of: inventory) {
            case .removed:
              report.removedCount += 1
              report.removedByteCount += byteCount
            case .stranger: report.strangerCount += 1
            case .kept: report.keptCount += 1
            }
          }
        }
      } catch {
        if case .disk(let failure) = error { throw failure }
        // Closed, or dead: nothing is removed any more.
        throw DiskFailure(.remove, path: store.directory, kind: .closed, code: 0)
      }
    }
  }

  // MARK: by itself

  /// Something may have become nobody's: a collection is due when the grace time is over.
  func scheduleAssetCollection() {
    guard options.hasBackgroundThread else { return }
    library.collectionIsDue(inSeconds: max(0, options.assetGrace.components.seconds))
  }

  /// Starts a collection in the background if its time has come. Called after a commit.
  func collectAssetsIfDue() {
    guard library.takeDueCollection() else { return }
    DispatchQueue.global(qos: .utility).async { [weak self] in
      // Nobody waits for it: what could not be removed now is there for the next one.
      guard let self else { return }
      do throws(DatabaseError) { if try collectAssets().waitingCount > 0 { scheduleAssetCollection() } } catch {
        collectionHasFailed(error)
      }
    }
  }

  /// What becomes of a collection that began by itself.
  func collectionHasFailed(_ error: DatabaseError) {
    if case .suspended? = error.cause as? StoreError {
      // A suspension came first: again when that is over. It may be by now, and `resume` has looked already.
      library.collectionIsDue(inSeconds: 0)
      if library.mayCollect, !isMutant("wait-for-the-next-commit") { collectAssetsIfDue() }
    } else if error.code != .operationCancelled && error.code != .closed {
      // Statistics tell.
      store.options.failures[.collection] = error
    }
  }
}

extension Duration {
  fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension DatabaseError {
  /// Why nothing is removed from a folder of assets, and what to do.
  init(notCollected reason: AssetStore.NotOurs, _ path: String?) {
    let takeOver =
      "Give that one its folder back, or, if no other needs it, take it over (takeOverAssets, assets FILE collect --take-over)."
    let (what, advice) =
      switch reason {
      case .unmarked: ("The folder of assets does not say whose it is", takeOver)
      case .ofAnother: ("The folder of assets belongs to another database", takeOver)
      case .ofAnotherFile: ("The folder of assets belongs to another file of this database, of which one is a copy", takeOver)
      case .nameLeadsElsewhere:
        (
          "Another file has the name of this database by now, or none has, and with it the folder of assets",
          "Close this database, and open what has its name, or give it its name back first."
        )
      }
    self.init(.badDatabase, "\(what): nothing of it is removed. \(advice)", facts: .init(path: path))
  }
}
