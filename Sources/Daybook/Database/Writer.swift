#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine
import Dispatch

/// What a database remembers between write transactions. Belongs to the holder of the turn.
///
/// Always true: `lineage` is set once this open has committed; a transaction that goes back leaves nothing here.
final class Writer: @unchecked Sendable {
  /// The lineage of this open and the commit that wrote it down. A commit that failed left its sequence to the next
  /// one, which draws again.
  var lineage: (value: UInt64, sequence: UInt64) = (0, .max)
  let userID: [UInt8]?
  let deviceID: [UInt8]?
  let scratch = ByteBuffer(capacity: 512)

  init(options: Database.Options) {
    userID = options.userID.map { Array($0.utf8) }
    deviceID = options.deviceID.map { Array($0.utf8) }
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
  let date: Date
  private(set) var saved: [Record.ID] = []
  private(set) var deleted: [Record.ID] = []
  private(set) var zones: [Zone.ID] = []
  private(set) var hasStarted = false
  private(set) var lineage: UInt64
  /// The transaction's closure has returned: nothing may be done through it any more.
  var isEnded = false
  let collectsNotice: Bool
  let drawsLineage: Bool

  init(_ database: Database, _ store: StoreTransaction, origin: Origin?) {
    self.database = database
    self.store = store
    self.origin = origin
    date = database.options.now()
    let known = database.writer.lineage
    lineage = known.sequence < store.sequence ? known.value : 0
    drawsLineage = lineage == 0
    collectsNotice = database.hub.hasSubscribers
  }

  var applier: RecordApplier { database.applier }
  var limits: Limits { database.options.limits }

  var view: ReadView {
    ReadView(
      store: database.store, services: database.services, source: .transaction(store, applier), path: database.path)
  }

  func failure(_ error: StoreError) -> DatabaseError { DatabaseError(error, path: database.path) }

  /// Writes commit info and lineage before the first change.
  func start() throws(DatabaseError) {
    if hasStarted { return }
    hasStarted = true
    var operation = store.beginOperation()
    store.payload.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
    if let origin { store.payload.append(utf8: origin.rawValue) }
    try end(operation, OperationKind.commitInfo)
    guard drawsLineage else { return }
    // Zero stands for "no commit yet".
    lineage = database.options.random() | 1
    operation = store.beginOperation()
    store.payload.append(uint64: lineage)
    try end(operation, OperationKind.lineage)
  }

  @discardableResult
  func end(_ operation: Int, _ kind: UInt8) throws(DatabaseError) -> Place {
    do { return try store.endOperation(operation, kind: kind) } catch { throw failure(error) }
  }

  func noteSaved(_ id: Record.ID) {
    guard collectsNotice else { return }
    saved.append(id)
    noteZone(id.zone)
  }

  func noteDeleted(_ id: Record.ID) {
    guard collectsNotice else { return }
    deleted.append(id)
    noteZone(id.zone)
  }

  func noteZone(_ id: Zone.ID) {
    if collectsNotice, zones.last != id, !zones.contains(id) { zones.append(id) }
  }

  // MARK: savepoints

  func savepoint<R>(_ body: () throws -> R) throws -> R {
    let savepoint: StoreTransaction.Savepoint
    do { savepoint = try store.savepoint() } catch { throw failure(error) }
    let notes = (saved.count, deleted.count, zones.count, hasStarted, lineage)
    do { return try body() } catch {
      do { try store.rollBack(to: savepoint) } catch { throw failure(error) }
      saved.removeSubrange(notes.0...)
      deleted.removeSubrange(notes.1...)
      zones.removeSubrange(notes.2...)
      hasStarted = notes.3
      lineage = notes.4
      throw error
    }
  }
}

/// Where `async` transactions and reads wait, so that no caller's thread does.
final class WriteQueue: Sendable {
  private let queue = DispatchQueue(label: "daybook.work", attributes: .concurrent)

  func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }
}
