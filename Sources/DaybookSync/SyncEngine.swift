import Daybook
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Keeps a database equal with a remote one, through conflicts, crashes and bad networks.
///
/// ```swift
/// let engine = try await SyncEngine(local: database, remote: server)
/// await engine.start()                             // from here on by itself: after commits here, when the server tells, and again
/// let report = try await engine.sync()             // or now, and what it did
/// for await event in engine.events { … }           // what happens, for a screen or a log
/// ```
/// The application goes on to use its database as if nothing was there: reads and writes never wait for the network. What the
/// engine knows is in the database, in the same transactions as the records that it describes, so an application that ends at any
/// moment goes on where it was; it need not keep the engine running, or tell it what it changed.
///
/// All zones are kept equal, the default zone too, or those of ``Configuration/zones``. Records keep names, types, fields (encrypted
/// ones in plain form on the way: the remote has a cipher of its own or none), parents and assets; change tags, dates and
/// users are each database's own. A transaction of many records may arrive on the other side in parts.
///
/// One engine at a time works on a database and a remote; several wait for each other, also in other processes. The engine and what
/// it returns may be used from any task.
public actor SyncEngine {
  /// How an engine decides and how hard it tries.
  public struct Configuration: Sendable {
    /// Which side wins where both changed the same.
    public var policy: SyncPolicy
    /// Whether fields are merged one by one: a title that was changed here and a year that was changed there both stay. Without
    /// it the winner's record is taken as a whole.
    public var mergesFields = true
    /// The zones to keep equal; nil for all.
    public var zones: Set<Zone.ID>?
    /// When the user made a version of a record, for ``SyncPolicy/greaterModifiedDateWins``. By default its modification date: here
    /// that is when the application saved it; there it is when the server got it, so of two devices that were offline the one
    /// that syncs first wins. Applications that keep the date in a field return that field.
    public var editDate: @Sendable (Record) -> Date? = { $0.modificationDate }
    /// What the engine's knowledge is stored under, at most 100 bytes of UTF-8; nil takes the remote's
    /// ``Daybook/RecordDatabase/identity()``, or `default` where it has none.
    public var name: String?
    /// How often a sync is tried that fails for a reason which may pass: bad network, a busy server.
    public var attempts = 3
    /// How long the first and the longest wait between attempts is, unless the server says how long.
    public var retryDelays: ClosedRange<Duration> = .seconds(1)...(.seconds(300))
    /// How often ``SyncEngine/start()`` looks for changes of a server that does not tell of them; nil for never.
    public var pollInterval: Duration?
    /// Records on a page of the feeds, on both sides; nil takes what each side takes.
    public var pageRecordCount: Int?

    /// A configuration; the policy is the one thing that applications think about.
    public init(policy: SyncPolicy = .greaterModifiedDateWins) { self.policy = policy }
  }

  /// The origin of all that the engine commits: what an application excludes to see its own changes only.
  public static let origin: Origin = "daybook.sync"

  /// The database here.
  public nonisolated let local: Database
  /// What it is kept equal with.
  public nonisolated let remote: any RecordDatabase
  nonisolated let configuration: Configuration
  nonisolated let store: SyncStore
  private nonisolated let listeners = EventListeners()

  var state: SyncState
  /// What the database has of it; nil before the first transaction. Where a zone had nothing new, its token is only in ``state``
  /// until the end of the round: a thousand zones are one transaction then.
  var stored: SyncState?
  var report = SyncReport()
  private var lastReport: SyncReport?
  private var lastError: DatabaseError?
  private var isSyncing = false
  private var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  private var waiterCount: UInt64 = 0
  private var automatic: AutomaticSync?
  /// Whether the task is the application's that decides a conflict.
  @TaskLocal static var isDeciding = false

  /// An engine for a database and a remote, which are both open. Nothing is sent or fetched before ``start()`` or ``sync()``.
  /// - Throws: `badDatabase` for a container's public database, which has neither feeds nor zones; `readOnly` for a local database that
  ///   cannot be written; `invalidArguments` for a name that is too long or numbers below one; what the remote throws when asked for its identity.
  public init(local: Database, remote: any RecordDatabase, configuration: Configuration = .init()) async throws {
    guard !local.isOfPublicScope, !((remote as? Database)?.isOfPublicScope ?? false) else {
      throw DatabaseError(.badDatabase, "A public database has neither change feeds nor zones, so it cannot be kept equal.")
    }
    guard remote !== local else {
      throw DatabaseError(.invalidArguments, "A database is not kept equal with itself.", facts: .init(path: local.path))
    }
    guard !local.options.isReadOnly else { throw DatabaseError(.readOnly, facts: .init(path: local.path)) }
    var name = configuration.name
    if name == nil { name = try await remote.identity() }
    store = SyncStore(name: name ?? "default")
    guard (1...100).contains(store.name.utf8.count), !store.name.utf8.contains(0) else {
      throw DatabaseError(.invalidArguments, "The name of a sync has 1 to 100 bytes of UTF-8 and no U+0000.")
    }
    guard configuration.pageRecordCount ?? 1 > 0, configuration.attempts > 0, configuration.pollInterval ?? .seconds(1) > .zero,
      configuration.retryDelays.lowerBound >= .zero
    else {
      throw DatabaseError(.invalidArguments, "Pages, attempts and intervals are more than zero.")
    }
    self.local = local
    self.remote = remote
    self.configuration = configuration
    state = SyncState(localIdentity: "", remoteIdentity: nil)
  }

  // MARK: syncing

  /// Makes both databases equal: fetches, merges, sends, until there is nothing more to do. While another sync of this engine
  /// runs, waits for it first, so all that was committed before the call is taken along.
  ///
  /// Records that one side refuses are in ``quarantine()`` and keep no others from being sent.
  /// - Throws: what kept it from coming to the end, after ``Configuration/attempts`` where that may pass: `networkFailure` and its
  ///   like, `notAuthenticated`, `quotaExceeded` (what others changed is here then); `partialFailure` with the errors of zones, when the
  ///   other zones are equal; what the database throws; `CancellationError`. Nothing is lost: the next sync goes on from there.
  @discardableResult
  public func sync() async throws -> SyncReport {
    try await begin()
    defer { end() }
    tell(.started)
    var attempt = 0
    var delay = configuration.retryDelays.lowerBound
    report = SyncReport()
    while true {
      do {
        try await run()
        lastReport = report
        lastError = nil
        tell(.finished(report))
        return report
      } catch {
        attempt += 1
        let failure = DatabaseError(wrapping: error)
        guard !(error is CancellationError), failure.mayPass, attempt < configuration.attempts else {
          lastError = failure
          tell(.failed(failure))
          throw error
        }
        let wait = max(delay, failure.retryAfter ?? .zero)
        tell(.waiting(wait, failure))
        delay = min(delay * 2, configuration.retryDelays.upperBound)
        do { try await Task.sleep(for: wait) } catch {
          lastError = failure
          tell(.failed(failure))
          throw error
        }
      }
    }
  }

  /// Work that no sync may run beside.
  func exclusively(_ body: () async throws -> Void) async throws {
    try await begin()
    defer { end() }
    for _ in 0..<100 {
      do {
        try await load()
        return try await body()
      } catch is StateMoved {
        continue
      }
    }
    throw DatabaseError(.zoneBusy, "Another engine works on the same state.")
  }

  /// Syncs run one after the other.
  private func begin() async throws {
    if Self.isDeciding {
      throw DatabaseError(.invalidArguments, "A conflict is decided within a sync: another one would wait for its end.")
    }
    while isSyncing {
      try Task.checkCancellation()
      waiterCount += 1
      let number = waiterCount
      await withTaskCancellationHandler {
        await withCheckedContinuation { waiters[number] = $0 }
      } onCancel: {
        Task { await self.wake(number) }
      }
    }
    try Task.checkCancellation()
    isSyncing = true
  }

  private func wake(_ number: UInt64) { waiters.removeValue(forKey: number)?.resume() }

  private func end() {
    isSyncing = false
    for number in Array(waiters.keys) { wake(number) }
  }

  // MARK: by itself

  /// Syncs from here on by itself: now, after commits of the application, when the remote tells of changes, and after failures
  /// that may pass, with growing pauses. Ends with ``stop()``, or with the engine's last reference.
  public func start() {
    if automatic == nil { automatic = AutomaticSync(of: self) }
  }

  /// Ends what ``start()`` began; a sync that runs is cancelled, and nothing is lost.
  public func stop() {
    automatic?.stop()
    automatic = nil
  }

  /// Asks for a sync soon, as a push notification does: many calls are one. Without ``start()`` it does nothing.
  public func trigger() { automatic?.trigger() }

  /// What the engine does, and what became of the last sync.
  public var status: SyncStatus {
    SyncStatus(isSyncing: isSyncing, isStarted: automatic != nil, lastReport: lastReport, lastError: lastError)
  }

  // MARK: events

  /// What happens from here on. Each access is a stream of its own, which ends with the engine. For a slow listener the newest
  /// 1,024 events are kept.
  public nonisolated var events: AsyncStream<SyncEvent> { listeners.stream() }

  nonisolated func tell(_ event: SyncEvent) { listeners.tell(event) }
}

/// Who listens to an engine. Streams end when the engine does.
private final class EventListeners: Sendable {
  private let listeners = Mutex<[UInt64: AsyncStream<SyncEvent>.Continuation]>([:])
  private let next = Atomic<UInt64>(0)

  func stream() -> AsyncStream<SyncEvent> {
    let number = next.add(1, ordering: .relaxed).newValue
    let (stream, continuation) = AsyncStream.makeStream(of: SyncEvent.self, bufferingPolicy: .bufferingNewest(1024))
    continuation.onTermination = { [weak self] _ in _ = self?.listeners.withLock { $0.removeValue(forKey: number) } }
    listeners.withLock { $0[number] = continuation }
    return stream
  }

  func tell(_ event: SyncEvent) {
    for listener in listeners.withLock({ Array($0.values) }) { listener.yield(event) }
  }

  deinit { for listener in listeners.withLock({ Array($0.values) }) { listener.finish() } }
}

extension DatabaseError {
  /// Whether a sync that failed so may succeed a while later.
  var mayPass: Bool {
    switch code {
    case .serverResponseLost: true
    case .partialFailure: !partialZoneErrors.isEmpty && partialZoneErrors.values.allSatisfy(\.mayPass)
    default: code.isTransient
    }
  }

  /// An error of any type as one of ours.
  init(wrapping error: any Error) {
    if let error = error as? DatabaseError {
      self = error
    } else if error is CancellationError {
      self.init(.operationCancelled, cause: error)
    } else {
      self.init(.internalError, "The remote threw an error of its own.", cause: error)
    }
  }
}
