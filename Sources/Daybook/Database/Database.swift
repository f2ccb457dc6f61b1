#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine
import Synchronization

/// A database of records in one file.
///
/// One process writes at a time, many read. All methods may be called from any thread; reads never wait for writes, nor
/// writes for reads. A database closes itself with its last reference; `close()` throws what goes wrong then.
///
/// ```swift
/// let database = try Database.open(at: "movies.daybook")
/// try database.write { transaction in
///   var movie = try Record(type: "Movie", id: Record.ID("dune"))
///   movie["title"] = "Dune"
///   try transaction.save(movie)
/// }
/// let dune = try database.record(Record.ID("dune"))
/// ```
public final class Database: Sendable {
  /// Where the file is: an absolute path without symbolic links, whatever it was opened with; `:memory:` for a database in
  /// memory.
  public let path: String
  /// The options it was opened with.
  public let options: Options
  /// The store of the file: another one after a compaction.
  package let stores: StoreSwitch
  /// The store at this moment. Costs the claim and release of a reader's slot: not for the path of a read.
  package var store: Store {
    @inline(__always) get { stores.store }
  }
  let writerState: WriterState
  let hub: CommitHub
  let library: AssetLibrary
  let services: RecordServices
  let queues = WorkQueues()
  let observations: ObservationGroups
  let compactor: Compactor?

  /// Opens the database at a path, and creates it when there is none.
  ///
  /// A symbolic link is followed, also one that leads to nothing yet; files beside the database are beside its target.
  /// After a crash this recovers: a write that was not acknowledged is undone, everything acknowledged is there;
  /// ``statistics()`` says what was found. Opening takes about a millisecond after a clean close.
  /// An empty file is taken for a new database, as one that the system has made for a temporary name; not one of another user.
  /// - Throws: `locked` when another process writes and does not release the file in time, or this one has the file open already;
  ///   `ioFailed` when the directory is missing (``Options/createsDirectory`` makes it) or the path is a directory;
  ///   `notADatabase`, `formatTooNew`, `corrupted`, `diskFull`; `invalidArguments` for `:memory:`, and for a new file with a name of
  ///   more than 237 bytes, to which no compaction or copy could add its own ending.
  public static func open(at path: String, options: Options = .init()) throws(DatabaseError) -> Database {
    if path == ":memory:" {
      throw DatabaseError(
        .invalidArguments, "A database in memory has no path; Database.inMemory() makes one.", facts: .init(path: path))
    }
    if options.createsDirectory, !options.isReadOnly { try makeDirectory(for: path) }
    return try open(at: path, options: options, disk: SystemDisk())
  }

  /// Opens the database at a file URL.
  public static func open(at url: URL, options: Options = .init()) throws(DatabaseError) -> Database {
    try open(at: path(of: url), options: options)
  }

  static func path(of url: URL) throws(DatabaseError) -> String {
    if url.isFileURL { return url.path }
    throw DatabaseError(.invalidArguments, "The URL must be a file URL.", facts: .init(found: url.scheme ?? ""))
  }

  /// A database that lives in memory and is gone with the last reference. Everything else is the same. It grows while there is
  /// memory. What exceeds its first 8 to 64 GB (64 MB where the process has little address space) is read through a page cache.
  public static func inMemory(options: Options = .init()) throws(DatabaseError) -> Database {
    if options.isReadOnly {
      throw DatabaseError(.invalidArguments, "A new database in memory cannot be read-only.")
    }
    return try open(at: ":memory:", options: options, disk: MemoryDisk())
  }

  /// - Parameter made: the file that the caller has just made under this path, which is resolved: no other is opened, or made.
  package static func open(
    at given: String, made: (any DiskFile)? = nil, options: Options, disk givenDisk: any Disk
  ) throws(DatabaseError) -> Database {
    try options.validate()
    // All other names derive from this one. A compaction renames: it must not replace a link by a file.
    let path: String
    // From here on the database is where it is now, whatever its directory is called: see `SystemDisk`.
    let disk: any Disk
    do throws(DiskFailure) {
      path = made == nil ? try givenDisk.resolve(given) : given
      disk = made == nil ? try givenDisk.keepingFolder(holding: path) : givenDisk
    } catch { throw DatabaseError(opening: given, .disk(error), on: givenDisk) }
    let hub = CommitHub(limits: options.watchLimits)
    var storeOptions = options.storeOptions
    let writerState = WriterState(options: options)
    storeOptions.onPublish = { sequence, store in hub.publish(through: sequence, of: store) }
    storeOptions.onOthers = { commits, store in hub.pass(writerState.lineages.follow(commits, in: store)) }
    let due = CompactionSignal()
    if options.compaction.isAutomatic, !options.isReadOnly, options.hasBackgroundThread {
      storeOptions.onCompactionDue = { due.send() }
    }
    do throws(StoreError) {
      // Open until it is opened by its name: no other file has its identity meanwhile.
      var born = !options.isReadOnly && made == nil ? try createIfMissing(path, disk: disk, options: storeOptions) : nil
      defer { born?.close() }
      let store: Store
      do throws(StoreError) {
        store =
          if let made {
            try Store.open(
              path, made: made, disk: disk, options: storeOptions,
              applier: RecordApplier(shapeMask: options.declarationMask))
          } else {
            try Store.openProven(path, born: born, disk: disk, options: storeOptions) {
              RecordApplier(shapeMask: options.declarationMask)
            }
          }
      } catch {
        guard case .header(.tooShort(byteCount: 0)) = error, !options.isReadOnly, made == nil else { throw error }
        born = try createOverEmpty(path, disk: disk, options: storeOptions)
        store = try Store.openProven(path, born: born, disk: disk, options: storeOptions) {
          RecordApplier(shapeMask: options.declarationMask)
        }
      }
      writerState.lineages.begin(with: store)
      return Database(
        path: path, options: options, store: store, due: due, hub: hub, writerState: writerState, disk: disk,
        isCopy: made != nil)
    } catch { throw DatabaseError(opening: path, error, on: disk) }
  }

  /// The file that was made; nil when there was one.
  private static func createIfMissing(
    _ path: String, disk: any Disk, options: StoreOptions
  ) throws(StoreError) -> (any DiskFile)? {
    do throws(DiskFailure) { if try disk.exists(path) { return nil } } catch { throw .disk(error) }
    do { return try Store.make(path, disk: disk, options: options) } catch {
      // Another process created it between the two lines: then that one is opened.
      if case .disk(let failure) = error, failure.kind == .exists, failure.operation != .remove { return nil }
      throw error
    }
  }

  /// The file that was made in the place of one without a byte; nil when somebody else was faster.
  private static func createOverEmpty(
    _ path: String, disk: any Disk, options: StoreOptions
  ) throws(StoreError) -> (any DiskFile)? {
    do { return try Store.make(path, disk: disk, options: options, replacesEmpty: true) } catch {
      if case .disk(let failure) = error, failure.kind == .exists { return nil }
      throw error
    }
  }

  private init(
    path: String, options: Options, store: Store, due: CompactionSignal, hub: CommitHub, writerState: WriterState,
    disk: any Disk, isCopy: Bool
  ) {
    self.path = path
    self.options = options
    self.hub = hub
    observations = ObservationGroups(hub, queues)
    library = AssetLibrary(
      store: AssetStore(
        path: path, disk: disk, sharesFile: store.options.locksPerTransaction,
        folderNumber: store.header.folderNumber, isCopy: isCopy, random: options.random),
      stagesBeside: !options.isReadOnly && disk is SystemDisk, endRequests: store.endRequests)
    services = RecordServices(
      assets: library, cipher: options.cipher, acceptsUnsealedValues: options.acceptsUnsealedValues)
    stores = StoreSwitch(store) { [mask = options.declarationMask] in RecordApplier(shapeMask: mask) }
    self.writerState = writerState
    // Released by `AssetStore.close`. A weak reference would make each count of the others slow (row: snapshot-empty).
    library.store.follow { [stores] () throws(DiskFailure) in
      try stores.fileAttributes()
    } file: { [stores] in
      stores.store.identity
    } header: { [stores] in
      stores.store.header
    }
    let assets = library.store
    // Rights may have been taken from the file since the folder was made.
    if !options.isReadOnly, !isCopy, disk is SystemDisk { assets.narrowRights() }
    compactor =
      options.isReadOnly
      ? nil
      : Compactor(stores, bytesPerSecond: options.compaction.bytesPerSecond, signal: due) {
        RecordRewriter(options: options, assets: assets, progress: nil)
      }
    // The store asks when writers rest; an application that opens, writes and closes never does.
    if options.compaction.isAutomatic, options.lock == .whileOpen, !options.isReadOnly, options.hasBackgroundThread, !isCopy,
      store.isCompactionDue
    {
      due.send()
    }
    // Asset files that an earlier open has left are looked at once this one has lasted a while.
    if !options.isReadOnly, options.hasBackgroundThread, (try? disk.exists(library.store.directory)) == true {
      scheduleAssetCollection()
    }
  }

  deinit {
    // A child after `fork` leaves all of it to its parent.
    if (try? stores.checkProcess()) == nil { return }
    hub.finish()
    compactor?.stop()
    library.store.close()
    // There is no caller to throw to; what was acknowledged is safe either way.
    try? stores.close()
    library.store.disk.letGoOfFolder()
    options.role?.databaseIsClosed()
  }

  /// Makes everything durable, marks the file as closed, and gives it back. Further calls throw `closed`; closing twice is
  /// allowed. Open snapshots stop reading. A write that waits for its turn throws `closed`, and one whose commit is written already
  /// becomes durable and returns.
  /// - Throws: `outcomeUnknown`, each time, when commits that returned at ``Options/Durability/relaxed`` could not be made durable.
  public func close() throws(DatabaseError) { try close(lastly: nil) }

  /// - Parameter lastly: done while the file is still locked, see `Store.close`.
  func close(lastly: ((_ isSound: Bool) throws(StoreError) -> Void)?) throws(DatabaseError) {
    try checkCaller()
    hub.finish()
    compactor?.stop()
    library.store.close()
    // From here on the container reopens the file, even while this object is still referenced.
    defer { options.role?.databaseIsClosed() }
    defer { library.store.disk.letGoOfFolder() }
    try engine(stores.close(lastly: lastly))
  }

  /// Releases every lock that another process waits for, and on Apple's systems every lock, so that the system may freeze the
  /// process: an application that has locks in a shared container while it is suspended is killed there. What was prepared or handed
  /// out stays this process's.
  ///
  /// Returns when everything written is durable and nothing works in the background. Reads go on; writes throw `locked`
  /// until ``resume()``. A compaction under way is stopped.
  /// - Throws: `outcomeUnknown`, each time, when commits that returned at ``Options/Durability/relaxed`` could not be made durable. Locks are
  ///   released then, too.
  public func suspend() throws(DatabaseError) {
    try engine(stores.suspend { library.store.suspend() })
  }

  /// Takes the locks again. What other processes have committed meanwhile is there when it returns.
  /// - Throws: `locked` when another process keeps the file; the database stays suspended.
  public func resume() throws(DatabaseError) {
    try engine(stores.resume { library.store.resume() })
    if library.mayBeDue { collectAssetsIfDue() }
  }

  /// The newest commit; nil where another process may have committed since, and the file cannot be looked at without waiting.
  var lastKnownCommit: UInt64? {
    // A token of a commit is given out when the commit is in the file: a later one than the last of the file is of another history.
    if options.mayLag || stores.endRequests.isSuspending { return stores.lastWrittenCommit() }
    guard let (store, pin) = try? stores.beginRead() else { return nil }
    defer { store.endRead(pin) }
    // A transaction reads commits, and gives out tokens for them, that wait for their sync still.
    return max(pin.sequence, hub.lastWritten)
  }

  /// Calls the engine, and throws its errors as this library's.
  @inline(__always)
  func engine<R>(_ work: @autoclosure () throws(StoreError) -> R) throws(DatabaseError) -> R {
    do { return try work() } catch { throw DatabaseError(error, path: path) }
  }

  /// After `fork` a database belongs to the parent alone: in the child every call throws `closed`, and leaves the parent's
  /// locks and log as they are. A child opens the file for itself. Within a transaction no call may wait for its end.
  func checkCaller() throws(DatabaseError) {
    try engine(stores.checkCaller())
  }

  /// Makes every commit so far durable, also at ``Options/Durability/relaxed``.
  public func sync() throws(DatabaseError) {
    try engine(stores.sync())
  }

  /// The identity of this database: the same in every copy of the file.
  public var id: UUID {
    ReadView.uuid(of: store.header)
  }
}

extension Store {
  /// The applier of a database's store. Safe: `Database` and its rewriter open every store with one.
  var records: RecordApplier {
    @inline(__always) get { unsafe unsafeDowncast(applier, to: RecordApplier.self) }
  }
}
