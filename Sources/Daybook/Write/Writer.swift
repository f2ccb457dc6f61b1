#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine
import Dispatch
import Synchronization

/// What a database remembers between write transactions. Belongs to the holder of the turn.
///
/// Always true: `lineage` is set once this open has committed; a transaction that goes back leaves nothing here.
final class Writer: @unchecked Sendable {
  /// The lineage of this open and the commit that wrote it down. A commit that failed left its sequence to the next
  /// one, which draws again.
  @safe @exclusivity(unchecked) var lineage: (value: UInt64, sequence: UInt64) = (0, .max)
  /// Change tags that this open gives.
  @safe @exclusivity(unchecked) var tags: ChangeTagSource
  /// The last commit when the database was opened. Set once, before anybody uses it.
  @safe @exclusivity(unchecked) var openSequence: UInt64 = 0
  /// What others have done since the last transaction here.
  @safe @exclusivity(unchecked) private var others = Others.nothing
  /// What the schema is known to have.
  @safe @exclusivity(unchecked) var shapes = KnownShapes()
  let userID: [UInt8]?
  let deviceID: [UInt8]?
  let scratch = ByteBuffer(capacity: 512)

  init(options: Database.Options) {
    tags = ChangeTagSource(random: options.random)
    userID = options.userID.map { Array($0.utf8) }
    deviceID = options.deviceID.map { Array($0.utf8) }
  }

  private enum Others {
    case nothing, committed
    /// The file was opened again behind them.
    case reopened
  }

  /// Others' commits are visible. Called within the turn.
  func follow(_ commits: OthersCommits) {
    if commits.isReopened { others = .reopened } else if others == .nothing { others = .committed }
  }

  /// Whether others have written since the last transaction here.
  @inline(__always)
  var mustAdopt: Bool { others != .nothing }

  /// Decides about the lineage after others have written, before the next transaction:
  ///
  ///     others committed in a lineage that began after this open     it is adopted
  ///     others committed in one that began before                    this open's own stays
  ///     the file was opened again                                    a new one is drawn
  ///
  /// Opened again means that a recovery discarded or rewrote frames, or that another file has the name. That one may be an
  /// older copy, whose next commit would have the number and the lineage of a commit that was lost.
  func adopt(_ transaction: StoreTransaction) throws(LogFault) {
    // What stood in the schema may have gone with a commit that a recovery threw away.
    shapes.removeAll()
    if others == .reopened {
      lineage = (0, .max)
    } else {
      do throws(PageFault) {
        var cursor = transaction.reader.cursor(in: transaction.roots[Roots.lineages])
        if try cursor.last(), cursor.value.count == 8 {
          cursor.key(into: scratch)
          let first = scratch.view.bigEndianUInt64(at: 0)
          if first > openSequence { lineage = (cursor.value.uint64(at: 0), first) }
        }
      } catch { throw .page(error) }
    }
    others = .nothing
  }
}

/// One write transaction: what `Transaction` hands its calls to.
///
/// Always true: the first operation of a commit is its commit info, and the first commit of an open draws a lineage; both
/// are written just before the first operation that changes anything.
final class WriteContext {
  let database: Database
  let store: StoreTransaction
  let origin: Origin?
  /// The database as this transaction has it.
  let view: ReadView
  let date: Date
  @safe @exclusivity(unchecked) private(set) var hasStarted = false
  /// How many operations `start` wrote.
  private var preambleCount: UInt32 = 0
  private(set) var lineage: UInt64
  /// Where this transaction's change tags begin.
  @safe @exclusivity(unchecked) var tagBase: UInt64?
  /// The transaction's closure has returned: nothing may be done through it any more.
  @safe @exclusivity(unchecked) var isEnded = false
  /// What it has changed, for those who watch; nil where nobody does.
  @safe @exclusivity(unchecked) var recorder: ChangeRecorder?
  /// What has to be asked of references before the commit.
  @safe @exclusivity(unchecked) var pending = PendingReferences()
  /// The schema has grown: shapes that are remembered may go back with the transaction.
  @safe @exclusivity(unchecked) var hasDeclared = false
  /// Zones may be made and deleted where the application may not.
  @safe @exclusivity(unchecked) var mayShapeZones = false
  /// Off where records arrive in any order and many commits, and somebody looks at all of them afterwards.
  @safe @exclusivity(unchecked) var checksReferences = true
  let drawsLineage: Bool
  /// What keeps the contents that this transaction names from going before it has ended.
  @safe @exclusivity(unchecked) var holds: [AssetHold] = []
  @safe @exclusivity(unchecked) var securedAssets: Set<AssetDigest> = []
  /// Contents of other databases that were taken over before the turn, with the records that name them.
  @safe @exclusivity(unchecked) var preparedHolds: [AssetDigest: AssetHold] = [:]
  /// Records were replaced or deleted, or may yet go back, whose assets nobody may name any more after it.
  @safe @exclusivity(unchecked) var mayDropAssets = false

  init(_ database: Database, _ store: StoreTransaction, origin: Origin?) {
    self.database = database
    self.store = store
    self.origin = origin
    view = ReadView(database: database, store: store.store, source: .transaction(store, store.store.records))
    let now = database.options.now()
    // A date that is no number could not be read back. Dates only decorate, so any other will do.
    date = now.timeIntervalSinceReferenceDate.isNaN ? Date(timeIntervalSinceReferenceDate: 0) : now
    let known = database.writer.lineage
    lineage = known.sequence < store.sequence ? known.value : 0
    drawsLineage = lineage == 0
    recorder = database.hub.recorder()
  }

  var applier: RecordApplier { store.store.records }

  /// Throws when the closure has returned: the store's transaction is somebody else's by then.
  @inline(__always)
  func requireOpen() throws(DatabaseError) {
    if isEnded { throw DatabaseError(.invalidArguments, "A transaction ends with its closure.") }
  }

  var limits: Limits { database.options.limits }

  func failure(_ error: StoreError) -> DatabaseError { DatabaseError(error, path: database.path) }

  /// Writes commit info and lineage before the first change.
  func start() throws(DatabaseError) {
    if hasStarted { return }
    hasStarted = true
    var operation = store.beginOperation()
    store.payload.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
    if let origin { store.payload.append(utf8: origin.rawValue) }
    try end(operation, OperationKind.commitInfo)
    preambleCount = store.ordinal
    guard drawsLineage, !isMutant("forget-lineage") else { return }
    // Zero stands for "no commit yet".
    lineage = database.options.random() | 1
    operation = store.beginOperation()
    store.payload.append(uint64: lineage)
    try end(operation, OperationKind.lineage)
    preambleCount = store.ordinal
  }

  /// Whether there is anything to commit: a save that was refused may have left the preamble alone. A transaction that
  /// failed has to say so.
  var hasChanges: Bool { hasStarted && (store.ordinal > preambleCount || store.failure != nil) }

  @discardableResult
  func end(_ operation: Int, _ kind: UInt8) throws(DatabaseError) -> Place {
    if OperationKind.addsData(kind) { store.declareAddition() }
    do { return try store.endOperation(operation, kind: kind) } catch { throw failure(error) }
  }

  // MARK: savepoints

  func savepoint<R>(_ body: () throws -> R) throws -> R {
    try requireOpen()
    let savepoint: StoreTransaction.Savepoint
    do { savepoint = try store.savepoint() } catch { throw failure(error) }
    let before = (recorded: recorder?.mark, hasStarted: hasStarted, pending: pending.mark, unfinished: pending.unfinished)
    do { return try body() } catch {
      do { try store.rollBack(to: savepoint) } catch { throw failure(error) }
      if let mark = before.recorded { recorder?.rollBack(to: mark) }
      hasStarted = before.hasStarted
      pending.rollBack(to: before.pending)
      resetShapes()
      pending.unfinished = before.unfinished
      throw error
    }
  }
}

extension WriteContext {
  /// A savepoint around work of the database's own: when it throws, nothing of it is left.
  func undoing<R>(_ body: () throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    do { return try savepoint { try body() } } catch let error as DatabaseError {
      throw error
    } catch { throw DatabaseError(.internalError, cause: error) }
  }

  /// The transaction goes back, or a part of it.
  func resetShapes() { if hasDeclared { database.writer.shapes.removeAll() } }
}

/// Where `async` reads and transactions run, so that no caller's thread waits.
///
/// Transactions wait for their turn on one queue and for their sync on another. However many there are, they hold two
/// threads; the next one writes while the last one syncs; and reads never stand behind them. (On one concurrent queue
/// fifty waiting writers kept every read waiting for seconds, because the pool adds threads slowly.) Nor do reads stand behind
/// contents that are taken in, which may take minutes: a few of these at a time, on threads of another pool.
final class WorkQueues: Sendable {
  static let ingestWidth = 4
  private let reads = DispatchQueue(label: "daybook.reads", attributes: .concurrent)
  private let turns = DispatchQueue(label: "daybook.turns")
  private let syncs = DispatchQueue(label: "daybook.syncs")
  private let ingests = DispatchQueue(label: "daybook.ingests", qos: .utility, attributes: .concurrent)
  private let ingestLine = Locked(IngestLine())

  /// One content, or one record's, in the line.
  private final class Ingest: Sendable {
    let isCancelled = Atomic<Bool>(false)
    /// Called once, with whether it was cancelled before its time came.
    let work: @Sendable (_ isCancelled: Bool) -> Void

    init(_ work: @escaping @Sendable (_ isCancelled: Bool) -> Void) { self.work = work }
  }

  private struct IngestLine {
    var runningCount = 0
    /// What is taken leaves at once: it holds the database, and the contents that are to be taken in.
    var waiting: [Ingest] = []
  }

  func read<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      reads.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Takes contents in. A task that is cancelled while it stands in line leaves it, with `CancellationError`.
  func ingest<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    let own = Locked<Ingest?>(nil)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ingest = Ingest { isCancelled in
          continuation.resume(
            with: Result {
              if isCancelled { throw CancellationError() }
              return try body()
            })
        }
        own.withLock { $0 = ingest }
        if Task.isCancelled { ingest.isCancelled.store(true, ordering: .sequentiallyConsistent) }
        start(ingest)
      }
    } onCancel: {
      if let ingest = own.withLock({ $0 }) { cancel(ingest) }
    }
  }

  private func start(_ ingest: Ingest) {
    let (isCancelled, needsThread) = ingestLine.withLock { line in
      // Whoever cancels later finds it in the line.
      if ingest.isCancelled.load(ordering: .sequentiallyConsistent) { return (true, false) }
      line.waiting.append(ingest)
      guard line.runningCount < WorkQueues.ingestWidth else { return (false, false) }
      line.runningCount += 1
      return (false, true)
    }
    if isCancelled { return ingest.work(true) }
    guard needsThread else { return }
    ingests.async { [self] in
      while let ingest = nextIngest() { ingest.work(false) }
    }
  }

  private func nextIngest() -> Ingest? {
    ingestLine.withLock { line in
      if line.waiting.isEmpty {
        line.runningCount -= 1
        return nil
      }
      return line.waiting.removeFirst()
    }
  }

  private func cancel(_ ingest: Ingest) {
    ingest.isCancelled.store(true, ordering: .sequentiallyConsistent)
    let hasWaited = ingestLine.withLock { line in
      guard let index = line.waiting.firstIndex(where: { $0 === ingest }) else { return false }
      line.waiting.remove(at: index)
      return true
    }
    if hasWaited { ingest.work(true) }
  }

  /// `turn` does the transaction and says what to wait for; its result is told when `wait` has returned.
  func write<R: Sendable>(
    turn: @escaping @Sendable () throws -> (result: Result<R, any Error>, ticket: WriteTicket),
    wait: @escaping @Sendable (WriteTicket) throws -> Void
  ) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      turns.async { [syncs] in
        do {
          let (result, ticket) = try turn()
          syncs.async {
            continuation.resume(
              with: Result {
                try wait(ticket)
                return try result.get()
              })
          }
        } catch { continuation.resume(throwing: error) }
      }
    }
  }
}
