/// Queries.
extension RecordReader where Self: ~Copyable {
  /// All records that a query finds, in its order, at most as many as its limit.
  ///
  /// In a transaction with the changes that it has made. Without an order records come in that of their last saves, zone by zone.
  /// - Parameters:
  ///   - query: what to look for.
  ///   - desiredKeys: the only fields that the records have; nil for all, empty for metadata only.
  /// - Throws: `invalidArguments` for what the database does not take, with the reason; `zoneNotFound`; `operationCancelled` when
  ///   the task that calls is cancelled meanwhile. A thread without a task asks for pages (``query(_:after:desiredKeys:)``), and
  ///   for the next one as long as it wants.
  /// - Complexity: O(records of the type in the zones), each of which is looked at; in an order also O(n log n) of those that
  ///   pass, of which 65,536 or 32 MB are kept at a time: for more, the records are looked at once more. ``explain(_:)`` tells.
  public func records(_ query: Query, desiredKeys: [String]? = nil) throws(DatabaseError) -> [Record] {
    try reading { (view) throws(DatabaseError) in try view.records(query, desiredKeys: desiredKeys, nil) }
  }

  /// A page of what a query finds, and where the next one begins.
  ///
  /// A page has as many records as the query's limit, or `Options.limits.changesPerPage` where it has none.
  /// ``Query/Cursor`` says what pages have while records are saved between them.
  /// - Parameters:
  ///   - query: what to look for.
  ///   - cursor: ``Query/Page/next`` of the page before; nil begins at the first.
  ///   - desiredKeys: the only fields that the records have; nil for all, empty for metadata only.
  /// - Throws: as ``records(_:desiredKeys:)-(Query,_)``; `invalidArguments` also for a cursor of another query or database,
  ///   `changeTokenForked` for one of a copy with a history of its own.
  /// - Complexity: that of the records from the cursor to the end of the page; with an order that of all records of the type.
  public func query(
    _ query: Query, after cursor: Query.Cursor? = nil, desiredKeys: [String]? = nil
  ) throws(DatabaseError) -> Query.Page {
    try reading { (view) throws(DatabaseError) in
      try view.page(query, after: cursor, desiredKeys: desiredKeys, nil)
    }
  }

  /// How many records a query finds, at most its limit. No record is made; where all of a type pass, or an index of values alone tells
  /// which do, none is read.
  /// - Throws: as ``records(_:desiredKeys:)-(Query,_)``.
  public func count(_ query: Query) throws(DatabaseError) -> Int {
    try reading { (view) throws(DatabaseError) in try view.count(query, nil) }
  }

  /// How a query would be answered. Reads no record.
  /// - Throws: as ``records(_:desiredKeys:)-(Query,_)``.
  public func explain(_ query: Query) throws(DatabaseError) -> Query.Plan {
    try reading { (view) throws(DatabaseError) in try view.explain(query, nil) }
  }
}
