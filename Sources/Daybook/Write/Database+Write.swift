import DaybookEngine

/// Write transactions: one at a time, atomic over all records and zones they touch.
extension Database {
  /// Runs a transaction. What `body` saves and deletes is committed together when it returns, and not at all when it throws.
  ///
  /// Returns when everything that the transaction wrote *or could read* is durable, as `Options.durability` says. One
  /// writer runs at a time; others wait. Within the body nothing may be called on this database that would wait for its end:
  /// another write, `compact`, `collectAssets`, `suspend`, `resume` and `close` throw `invalidArguments` there.
  ///
  /// Parents and validated targets must exist when the body returns, in whatever order they were saved; `referenceViolation`
  /// names both ends.
  /// - Parameter origin: says who writes, for ``commits(excluding:)``.
  /// - Throws: what `body` throws; `diskFull` leaves the database usable, `outcomeUnknown` means that a sync failed and
  ///   only opening the file again tells what survived.
  @discardableResult
  public func write<R>(origin: Origin? = nil, _ body: (borrowing Transaction) throws -> R) throws -> R {
    try write(origin, checksReferences: true, body)
  }

  /// Runs a transaction whose closure gives nothing back; as ``write(origin:_:)``, for closures that are to give nothing themselves.
  public func write(origin: Origin? = nil, _ body: (borrowing Transaction) throws -> Void) throws {
    try write(origin, checksReferences: true, body)
  }

  /// Runs a transaction off the caller's thread: what `body` saves and deletes is committed together when it returns, and not
  /// at all when it throws. In an asynchronous function the compiler takes this one, and `await` is needed.
  ///
  /// `body` runs on another thread and never suspends. It captures values, not variables: a variable that was changed before is
  /// listed, as in `{ [movie] transaction in try transaction.save(movie) }`.
  ///
  /// A task that is cancelled before its turn writes nothing and throws `CancellationError` at once. Once `body` runs, it is
  /// committed or throws by itself, and what is returned or thrown is what happened: cancellation takes nothing back.
  /// - Throws: what `body` throws; `CancellationError`; `diskFull`, `outcomeUnknown`, as the synchronous call.
  @discardableResult
  public func write<R: Sendable>(
    origin: Origin? = nil, _ body: @escaping @Sendable (borrowing Transaction) throws -> R
  ) async throws -> R {
    try await write(origin, checksReferences: true, body)
  }

  /// Runs a transaction off the caller's thread whose closure gives nothing back.
  public func write(
    origin: Origin? = nil, _ body: @escaping @Sendable (borrowing Transaction) throws -> Void
  ) async throws {
    try await write(origin, checksReferences: true, body)
  }

  /// A transaction on the caller's thread.
  func write<R>(
    _ origin: Origin?, checksReferences: Bool, _ body: (borrowing Transaction) throws -> R
  ) throws -> R {
    let (result, ticket) = try perform(origin, checksReferences: checksReferences, body)
    try wait(ticket)
    return try result.get()
  }

  /// A transaction off the caller's thread.
  func write<R: Sendable>(
    _ origin: Origin?, checksReferences: Bool, _ body: @escaping @Sendable (borrowing Transaction) throws -> R
  ) async throws -> R {
    try await queues.write { [self] place in
      let transaction = try begin()
      guard place.leave() else {
        transaction.store.abandon(transaction)
        throw CancellationError()
      }
      return try perform(transaction, origin, checksReferences: checksReferences, body)
    } wait: { [self] ticket in
      try wait(ticket)
    }
  }

  func wait(_ ticket: WriteTicket) throws(DatabaseError) {
    try ticket.wait(path)
    if library.mayBeDue { collectAssetsIfDue() }
  }

  /// The part of a transaction that needs the turn. Its result, also an error, may be returned only when the ticket is durable:
  /// the body may have read what another transaction wrote just before.
  func perform<R>(
    _ origin: Origin?, checksReferences: Bool = true, _ body: (borrowing Transaction) throws -> R
  ) throws(DatabaseError) -> (result: Result<R, any Error>, ticket: WriteTicket) {
    try perform(begin(), origin, checksReferences: checksReferences, body)
  }

  /// Waits for the turn, if there is an account to write with: before the wait, so that none is in vain, and with the turn,
  /// because the account may have gone meanwhile.
  private func begin() throws(DatabaseError) -> StoreTransaction {
    try options.role?.requireAccount()
    let transaction = try engine(stores.beginTransaction())
    do throws(DatabaseError) { try options.role?.requireAccount() } catch {
      transaction.store.abandon(transaction)
      throw error
    }
    return transaction
  }

  private func perform<R>(
    _ transaction: StoreTransaction, _ origin: Origin?, checksReferences: Bool, _ body: (borrowing Transaction) throws -> R
  ) throws(DatabaseError) -> (result: Result<R, any Error>, ticket: WriteTicket) {
    // The store of this transaction: a compaction may make another one current before its sync returns.
    let store = transaction.store
    do throws(LogFault) {
      if writerState.lineages.mustChoose { try writerState.followOthers(transaction) }
    } catch {
      try WriteTicket(store: store, ticket: store.abort(transaction)).wait(path)
      throw DatabaseError(.log(error), path: path)
    }
    let context = WriteContext(self, transaction, origin: origin)
    context.checksReferences = checksReferences
    let value: R
    do {
      let lent = Transaction(context)
      writerState.context = context
      defer {
        writerState.context = nil
        context.isEnded = true
      }
      value = try body(lent)
      if let fault = try context.firstReferenceFault() { throw fault }
    } catch {
      return (.failure(error), WriteTicket(store: store, ticket: abort(context, store)))
    }
    return (.success(value), WriteTicket(store: store, ticket: try commit(context, store)))
  }

  private func commit(_ context: WriteContext, _ store: Store) throws(DatabaseError) -> Store.Ticket {
    // What it had may be rolled back.
    guard context.hasChanges else { return abort(context, store) }
    if context.mayDropAssets { scheduleAssetCollection() }
    let repeated: CopiedDeclarations?
    do throws(DatabaseError) {
      try context.endWaits()
      repeated = try context.repeatDeclarations()
    } catch {
      context.forgetAll()
      store.abandon(context.changes)
      throw error
    }
    // A commit that fails has released the turn, and another writer may have it. So all is as after a rollback until it is written;
    // what it has declared is learned again.
    context.forgetAll()
    do {
      return try store.commit(context.changes) {
        if let repeated { store.records.copiedDeclarations = repeated }
        // Before the turn is released, so that notices are in the order of commits. Not for a commit that failed: the next one
        // has its sequence.
        hub.enqueue(context.changes.sequence, of: store.number, context.origin, context.recorder)
        writerState.lineages.didCommit()
      }
    } catch {
      throw DatabaseError(error, path: path)
    }
  }

  /// Ends a transaction without a commit.
  private func abort(_ context: WriteContext, _ store: Store) -> Store.Ticket {
    context.forgetAll()
    if context.mayDropAssets { scheduleAssetCollection() }
    return store.abort(context.changes)
  }
}

/// What a write waits for, and where.
struct WriteTicket: Sendable {
  let store: Store
  let ticket: Store.Ticket

  func wait(_ path: String) throws(DatabaseError) {
    do { try store.wait(ticket) } catch { throw DatabaseError(error, path: path) }
  }
}
