import DaybookEngine

/// Queries off the caller's thread. A task that is cancelled meanwhile throws `CancellationError`.
extension Database {
  /// All records that a query finds, in its order.
  public func records(_ query: Query, desiredKeys: [String]? = nil) async throws -> [Record] {
    try await stoppable { (view, stop) throws(DatabaseError) in
      try view.records(query, desiredKeys: desiredKeys, stop)
    }
  }

  /// A page of what a query finds, and where the next one begins.
  public func query(
    _ query: Query, after cursor: Query.Cursor? = nil, desiredKeys: [String]? = nil
  ) async throws -> Query.Page {
    try await stoppable { (view, stop) throws(DatabaseError) in
      try view.page(query, after: cursor, desiredKeys: desiredKeys, stop)
    }
  }

  /// How many records a query finds.
  public func count(_ query: Query) async throws -> Int {
    try await stoppable { (view, stop) throws(DatabaseError) in try view.count(query, stop) }
  }

  /// How a query would be answered.
  public func explain(_ query: Query) async throws -> Query.Plan {
    try await stoppable { (view, stop) throws(DatabaseError) in try view.explain(query, stop) }
  }

  /// All pages of a query's result, one after another, as long as the consumer asks; see ``Query/Cursor``.
  public func queryPages(_ query: Query, desiredKeys: [String]? = nil) -> AsyncThrowingStream<Query.Page, any Error> {
    let place = Locked<(cursor: Query.Cursor?, isAtEnd: Bool)>((nil, false))
    return AsyncThrowingStream { [self] in
      let (cursor, isAtEnd) = place.withLock { $0 }
      if isAtEnd { return nil }
      let page = try await self.query(query, after: cursor, desiredKeys: desiredKeys)
      place.withLock { $0 = (page.next, page.next == nil) }
      return page
    }
  }

  func stoppable<R: Sendable>(
    _ body: @escaping @Sendable (ReadView, QueryStop) throws(DatabaseError) -> R
  ) async throws -> R {
    let stop = QueryStop()
    return try await withTaskCancellationHandler {
      try await queues.read { [self] in
        if stop.isSet { throw CancellationError() }
        do throws(DatabaseError) {
          return try reading { (view) throws(DatabaseError) in try body(view, stop) }
        } catch {
          if stop.isSet, error.code == .operationCancelled { throw CancellationError() }
          throw error
        }
      }
    } onCancel: {
      stop.set()
    }
  }
}
