#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// One write transaction: what `Transaction` hands its calls to.
///
/// Always true: the first operation of a commit is its commit info, and where `LineageSource` says so a lineage is the second; both are
/// written just before the first operation that changes anything. A lineage may be drawn later, too: where the transaction shows a
/// cursor, or a savepoint is rolled back.
final class WriteContext {
  let database: Database
  /// The transaction of the engine.
  let changes: StoreTransaction
  // Not by way of their owners: each use would count references (row: use-insert-1-fields).
  let applier: RecordApplier
  let state: WriterState
  let services: RecordServices
  /// Where the payload of an operation goes.
  let payload: ByteBuffer
  let origin: Origin?
  /// The database as this transaction has it.
  let view: ReadView
  let date: Date
  @safe @exclusivity(unchecked) private(set) var hasStarted = false
  /// How many operations `start` wrote.
  private var preambleCount: UInt32 = 0
  /// Where this transaction's change tags begin.
  @safe @exclusivity(unchecked) var tagBase: UInt64?
  /// The transaction's closure has returned: nothing may be done through it any more.
  @safe @exclusivity(unchecked) var isEnded = false
  /// What it has changed, for watchers; nil without any.
  @safe @exclusivity(unchecked) var recorder: ChangeRecorder?
  /// References to check before the commit.
  @safe @exclusivity(unchecked) var pending = PendingReferences()
  /// The schema has grown: shapes that are remembered may be rolled back with the transaction.
  @safe @exclusivity(unchecked) var hasDeclared = false
  /// The first of the declarations that this transaction brought, and where the newest one ends; some may have been rolled back.
  @safe @exclusivity(unchecked) var ownDeclarations: (first: Int, end: UInt64)?
  /// Zones may be made and deleted where the application may not.
  @safe @exclusivity(unchecked) var mayShapeZones = false
  /// Off where records arrive in any order and many commits, and the caller checks all of them afterwards.
  @safe @exclusivity(unchecked) var checksReferences = true
  /// Keep the asset files that this transaction refers to until it has ended.
  @safe @exclusivity(unchecked) var holds: [AssetHold] = []
  @safe @exclusivity(unchecked) var securedAssets: Set<AssetDigest> = []
  /// Asset files of other databases that were copied before the turn.
  @safe @exclusivity(unchecked) var preparedHolds: [AssetDigest: AssetHold] = [:]
  /// Records with assets were replaced or deleted, or may be rolled back: a collection may find files to remove afterwards.
  @safe @exclusivity(unchecked) var mayDropAssets = false
  /// What the last read of a record by its ID has found.
  @safe @exclusivity(unchecked) var lastRead: StoredVersion?

  init(_ database: Database, _ changes: StoreTransaction, origin: Origin?) {
    self.database = database
    self.changes = changes
    applier = changes.store.records
    state = database.writerState
    services = database.services
    payload = changes.payload
    self.origin = origin
    view = ReadView(database: database, store: changes.store, source: .transaction(changes, applier))
    let now = database.options.now()
    // A date that is no number could not be read back. Dates only decorate, so any other will do.
    date = now.timeIntervalSinceReferenceDate.isNaN ? Date(timeIntervalSinceReferenceDate: 0) : now
    state.lineages.beginTransaction()
    recorder = database.hub.recorder()
  }

  /// Throws when the closure has returned: the engine's transaction is another one by then.
  @inline(__always)
  func requireOpen() throws(DatabaseError) {
    if isEnded { throw DatabaseError(.invalidArguments, "A transaction ends with its closure.") }
  }

  var limits: Limits { database.options.limits }

  /// What most saves ask of a zone; its trees are not copied for them (row: use-insert-1-fields).
  struct ZoneGlimpse {
    let epoch: UInt64
    let hasTombstones: Bool
  }

  /// Opens a zone: until another one is asked for, it is the applier's. False when there is none.
  @inline(__always)
  func opens(_ key: ByteView) throws(DatabaseError) -> Bool {
    do throws(LogFault) { try applier.open(key, changes) } catch { throw failure(error) }
    return applier.openZone?.isDeleted == false
  }

  /// The same; throws when there is none.
  @inline(__always)
  func openZone(key: ByteView) throws(DatabaseError) -> ZoneGlimpse {
    if try opens(key), let glimpse = applier.glimpse { return glimpse }
    // Says why it is not there.
    let zone = try view.existingZone(key: key)
    return ZoneGlimpse(epoch: zone.epoch, hasTombstones: zone.tombstones.count > 0)
  }

  func failure(_ error: StoreError) -> DatabaseError { view.failure(error) }
  func failure(_ error: LogFault) -> DatabaseError { view.failure(error) }
  func failure(_ error: PageFault) -> DatabaseError { view.failure(error) }

  /// Writes commit info and lineage before the first change.
  func start() throws(DatabaseError) {
    if hasStarted { return }
    hasStarted = true
    let operationStart = changes.beginOperation()
    payload.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
    if let origin { payload.append(utf8: origin.rawValue) }
    try endOperation(operationStart, .commitInfo)
    preambleCount = changes.ordinal
    guard state.lineages.isDrawnAtStart, !isMutant("forget-lineage") else { return }
    try drawLineage()
  }

  /// A cursor of a state that this transaction has made is about to be shown.
  func willShowOwnState() throws(DatabaseError) {
    if state.lineages.willShow(isShared: database.options.lock == .perTransaction) { try drawLineage() }
  }

  private func drawLineage() throws(DatabaseError) {
    let isPreamble = changes.ordinal == preambleCount
    let lineage = state.lineages.draw(from: database.options.random)
    let operationStart = changes.beginOperation()
    payload.append(uint64: lineage.number)
    try endOperation(operationStart, .lineage)
    if isPreamble { preambleCount = changes.ordinal }
  }

  /// Called before the whole transaction is rolled back, while it has the turn: the next one reuses its number, and nothing of
  /// this one may count there. Also called before a commit, because one that fails has already released the turn.
  func forgetAll() {
    forgetDeclarations()
    state.lineages.rollBack()
  }

  /// A part was rolled back, and what follows has its numbers. Cursors into this transaction's commit count no more.
  private func forgetPart() throws(DatabaseError) {
    forgetDeclarations()
    // Before the first change there is nothing to write yet: `start` draws the lineage, or the next transaction does.
    if state.lineages.rollBackPart(), hasStarted { try drawLineage() }
  }

  /// Of what it has declared, some is rolled back, and what is known of the rest is learned again.
  private func forgetDeclarations() { if hasDeclared { state.forgetShapes() } }

  /// Whether there is anything to commit: a refused save may leave only the preamble, which is not worth a commit; but a failed
  /// transaction must still throw from `commit`.
  var hasChanges: Bool { hasStarted && (changes.ordinal > preambleCount || changes.failure != nil) }

  @discardableResult
  func endOperation(_ operationStart: Int, _ kind: OperationKind) throws(DatabaseError) -> Place {
    if kind.addsData { changes.declareAddition() }
    if kind.mayChangeLastRead { lastRead = nil }
    do { return try changes.endOperation(operationStart, kind: kind) } catch { throw failure(error) }
  }

  // MARK: savepoints

  func savepoint<R>(_ body: () throws -> R) throws -> R {
    try requireOpen()
    let savepoint: StoreTransaction.Savepoint
    do { savepoint = try changes.savepoint() } catch { throw failure(error) }
    let before = (recorded: recorder?.mark, hasStarted: hasStarted, pending: pending.mark, unfinished: pending.unfinished)
    let hasShown = state.lineages.beginPart()
    defer { state.lineages.endPart(after: hasShown) }
    do {
      let result = try body()
      changes.release(savepoint)
      return result
    } catch {
      if !isMutant("keep-read-of-rollback") { lastRead = nil }
      do { try changes.rollBack(to: savepoint) } catch { throw failure(error) }
      if let mark = before.recorded { recorder?.rollBack(to: mark) }
      hasStarted = before.hasStarted
      pending.rollBack(to: before.pending)
      pending.unfinished = before.unfinished
      try forgetPart()
      throw error
    }
  }
}

extension WriteContext {
  /// A savepoint around work of the database's own: when it throws, nothing of it is left.
  func undoing<R>(_ body: () throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    try DatabaseError.only { try savepoint { try body() } }
  }
}

extension RecordApplier {
  /// Of the zone that is open.
  @inline(__always)
  fileprivate var glimpse: WriteContext.ZoneGlimpse? {
    guard let epoch = openZone?.epoch, let tombstoneCount = openZone?.tombstones.count else { return nil }
    return WriteContext.ZoneGlimpse(epoch: epoch, hasTombstones: tombstoneCount > 0)
  }
}
