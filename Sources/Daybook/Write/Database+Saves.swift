import DaybookEngine

/// Saving, changing and deleting in one line: each call is a transaction of its own, and returns what was stored.
///
/// Several changes that belong together go into one ``Database/write(origin:_:)``: each of these calls waits for the disk.
extension Database {
  /// Saves a record in a transaction of its own; returns it with its new change tag and dates.
  ///
  /// Assets that were set are copied and hashed before the transaction, so that no other writer waits for them.
  /// - Throws: as ``Transaction/save(_:policy:)``; `diskFull`, `outcomeUnknown`, `readOnly`, `locked`.
  @discardableResult
  public func save(
    _ record: Record, policy: SavePolicy = .ifServerRecordUnchanged, origin: Origin? = nil
  ) throws(DatabaseError) -> Record {
    let ready = try ReadyRecords([record], for: self)
    return try single(origin, ready) { (transaction) throws(DatabaseError) in
      try transaction.save(ready.records[0], policy: policy)
    }
  }

  /// Saves records in one transaction, all of them or none, in whatever order they refer to each other; returns them with
  /// their new change tags and dates, in the order of the argument.
  ///
  /// There may be as many as one transaction takes; ``modify(saving:deleting:policy:atomically:origin:)-(_,_,_,_,_)`` has a
  /// result for each record instead.
  /// - Throws: as ``Transaction/save(_:policy:)``, with the zone and name of the record that was refused.
  @discardableResult
  public func save(
    _ records: [Record], policy: SavePolicy = .ifServerRecordUnchanged, origin: Origin? = nil
  ) throws(DatabaseError) -> [Record] {
    let ready = try ReadyRecords(records, for: self)
    return try single(origin, ready) { (transaction) throws(DatabaseError) in
      try transaction.save(ready.records, policy: policy)
    }
  }

  /// Creates a zone, in a transaction of its own; saving one that exists changes its capabilities only.
  public func save(_ zone: Zone, origin: Origin? = nil) throws(DatabaseError) {
    try single(origin) { (transaction) throws(DatabaseError) in try transaction.save(zone) }
  }

  /// Reads a record, changes it and saves it, in one transaction: nobody else's change comes between, so there is no conflict
  /// to resolve, however many do this at the same time.
  ///
  /// ```swift
  /// try database.update(dune) { movie in movie["year"] = 2021 }
  /// ```
  /// When `change` changes nothing, nothing is written, and the record is returned as it is stored.
  /// - Parameters:
  ///   - type: makes a new record of this type when there is none; without it that is an error.
  ///   - change: runs while all other writers wait. Nothing is saved when it throws.
  /// - Throws: what `change` throws; `unknownItem` when there is no such record and no type; else as
  ///   ``Transaction/save(_:policy:)``.
  @discardableResult
  public func update(
    _ id: Record.ID, creating type: String? = nil, origin: Origin? = nil, _ change: (inout Record) throws -> Void
  ) throws -> Record {
    try write(origin: origin) { transaction in try transaction.update(id, creating: type, change) }
  }

  /// Deletes a record, and those that it owns, in a transaction of its own; deleting one that is not there is no error.
  /// - Throws: as ``Transaction/delete(_:)-(Record.ID)``; `referenceViolation` when others need it.
  public func delete(_ id: Record.ID, origin: Origin? = nil) throws(DatabaseError) {
    try single(origin) { (transaction) throws(DatabaseError) in try transaction.delete(id) }
  }

  /// Deletes records, and those that they own, in one transaction: all of them or none.
  /// - Throws: as ``Transaction/delete(_:)-(Record.ID)``; `referenceViolation` when others need one of them.
  public func delete(_ ids: [Record.ID], origin: Origin? = nil) throws(DatabaseError) {
    try single(origin) { (transaction) throws(DatabaseError) in try transaction.delete(ids) }
  }

  /// Deletes a zone with everything in it, in a transaction of its own.
  /// - Throws: `zoneNotFound`; `invalidArguments` for the default zone.
  public func deleteZone(_ id: Zone.ID, origin: Origin? = nil) throws(DatabaseError) {
    try single(origin) { (transaction) throws(DatabaseError) in try transaction.deleteZone(id) }
  }

  /// A transaction whose errors are all of this library.
  private func single<R>(
    _ origin: Origin?, _ ready: ReadyRecords? = nil, _ body: (borrowing Transaction) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    do {
      return try write(origin: origin) { transaction in
        if let ready { transaction.context.preparedHolds = ready.holds }
        return try body(transaction)
      }
    } catch let error as DatabaseError { throw error } catch { throw DatabaseError(.internalError, cause: error) }
  }
}

/// The same off the caller's thread: in an asynchronous function the compiler takes these, and `await` is needed.
///
/// A task that is cancelled before its turn writes nothing and throws `CancellationError`; see ``Database/write(origin:_:)``.
extension Database {
  /// Saves a record in a transaction of its own, off the caller's thread; returns it with its new change tag and dates.
  @discardableResult
  public func save(
    _ record: Record, policy: SavePolicy = .ifServerRecordUnchanged, origin: Origin? = nil
  ) async throws -> Record {
    try await save([record], policy: policy, origin: origin)[0]
  }

  /// Saves records in one transaction, all of them or none, off the caller's thread; returns them as they were stored.
  @discardableResult
  public func save(
    _ records: [Record], policy: SavePolicy = .ifServerRecordUnchanged, origin: Origin? = nil
  ) async throws -> [Record] {
    let ready = try await readied(records)
    return try await write(origin: origin) { transaction in
      transaction.context.preparedHolds = ready.holds
      return try transaction.save(ready.records, policy: policy)
    }
  }

  /// Creates a zone in a transaction of its own, off the caller's thread.
  public func save(_ zone: Zone, origin: Origin? = nil) async throws {
    try await write(origin: origin) { transaction in try transaction.save(zone) }
  }

  /// Reads a record, changes it and saves it, in one transaction and off the caller's thread. `change` itself never suspends.
  ///
  /// Ten tasks that change one record this way all succeed, one after the other.
  @discardableResult
  public func update(
    _ id: Record.ID, creating type: String? = nil, origin: Origin? = nil,
    _ change: @escaping @Sendable (inout Record) throws -> Void
  ) async throws -> Record {
    try await write(origin: origin) { transaction in try transaction.update(id, creating: type, change) }
  }

  /// Deletes a record, and those that it owns, in a transaction of its own, off the caller's thread.
  public func delete(_ id: Record.ID, origin: Origin? = nil) async throws {
    try await write(origin: origin) { transaction in try transaction.delete(id) }
  }

  /// Deletes records, and those that they own, in one transaction, off the caller's thread.
  public func delete(_ ids: [Record.ID], origin: Origin? = nil) async throws {
    try await write(origin: origin) { transaction in try transaction.delete(ids) }
  }

  /// Deletes a zone with everything in it, in a transaction of its own, off the caller's thread.
  public func deleteZone(_ id: Zone.ID, origin: Origin? = nil) async throws {
    try await write(origin: origin) { transaction in try transaction.deleteZone(id) }
  }

  private func readied(_ records: [Record]) async throws -> ReadyRecords {
    let prepare: @Sendable () throws -> ReadyRecords = { [self] in try ReadyRecords(records, for: self) }
    if records.contains(where: takesContentsIn) { return try await queues.ingest(prepare) }
    // Small contents are read from their files.
    if records.contains(where: \.hasEditedAssets) { return try await queues.read(prepare) }
    return try prepare()
  }
}

extension Transaction {
  /// Saves records, in whatever order they refer to each other; returns them with their new change tags, in the same order.
  /// - Throws: as ``save(_:policy:)-(Record,_)``, at the first that is refused; those before it are saved in this transaction.
  @discardableResult
  public func save(
    _ records: [Record], policy: SavePolicy = .ifServerRecordUnchanged
  ) throws(DatabaseError) -> [Record] {
    var saved: [Record] = []
    saved.reserveCapacity(records.count)
    for record in records { saved.append(try save(record, policy: policy)) }
    return saved
  }

  /// Reads a record, changes it and saves it; returns what was stored. When `change` changes nothing, nothing is written.
  /// - Parameter type: makes a new record of this type when there is none; without it that is an error.
  /// - Throws: what `change` throws; `unknownItem` when there is no such record and no type.
  @discardableResult
  public func update(
    _ id: Record.ID, creating type: String? = nil, _ change: (inout Record) throws -> Void
  ) throws -> Record {
    let stored = try record(id)
    var changed: Record
    if let stored {
      changed = stored
    } else if let type {
      changed = try Record(type: type, id: id)
    } else {
      throw DatabaseError(
        .unknownItem, "There is no such record to update: save a new one, or say its type (`creating:`), and it is made.",
        facts: .init(zone: id.zone, name: id.name))
    }
    try change(&changed)
    guard changed.id == id else {
      throw DatabaseError(
        .invalidArguments, "A record keeps its identity when it is updated.",
        facts: .init(zone: id.zone, name: id.name, expected: id.description, found: changed.id.description))
    }
    // What a subscript could not set is told by the save.
    if stored != nil, !changed.hasChanges, changed.refusals.isEmpty { return changed }
    return try save(changed)
  }
}

/// Records whose assets were taken in before the turn of their transaction.
private struct ReadyRecords: Sendable {
  let records: [Record]
  /// Keeps what came from other databases until it is saved.
  let holds: [AssetDigest: AssetHold]

  init(_ records: [Record], for database: Database) throws(DatabaseError) {
    let (prepared, failures, holds) = database.prepared(records)
    if let first = failures.min(by: { $0.key < $1.key }) { throw first.value }
    self.records = prepared
    self.holds = holds
  }
}
