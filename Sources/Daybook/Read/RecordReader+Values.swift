/// Values of the records that a query finds.
extension RecordReader where Self: ~Copyable {
  /// The value of a field that comes first in the order of sorts (``Query/Sort``), of all records that a query finds; nil where none of
  /// them has one. Lists are values here, assets and encrypted values are not. The query's own order and limit are not looked at.
  /// - Throws: as ``records(_:desiredKeys:)-(Query,_)`` of that order.
  /// - Complexity: O(log entries) for each zone, where the field has an index of values and the query finds every record; else that of
  ///   the query in this order, with a limit of one.
  public func minimum(of key: String, for query: Query) throws(DatabaseError) -> Record.Value? {
    try reading { (view) throws(DatabaseError) in try view.extreme(of: key, for: query, isFirst: true, nil) }
  }

  /// The value of a field that comes last in the order of sorts; see ``minimum(of:for:)``.
  public func maximum(of key: String, for query: Query) throws(DatabaseError) -> Record.Value? {
    try reading { (view) throws(DatabaseError) in try view.extreme(of: key, for: query, isFirst: false, nil) }
  }

  /// The values that a field has in the records that a query finds, in the order of sorts (``Query/Sort``), each once, with the number
  /// of records that have it.
  ///
  /// A list counts with each of its elements. Numbers are told apart by their exact value: a field that has had integers has 1 and 1.0
  /// as the integer. Records without a value are not counted, nor are assets and encrypted values; the query's order and limit are not
  /// looked at. All values are kept in memory.
  /// - Throws: as ``records(_:desiredKeys:)-(Query,_)``.
  /// - Complexity: no record is read where the field has an index of values, its values are numbers, dates, texts or bytes below 255
  ///   bytes, and the query finds every record or asks for this field only; else that of the query.
  public func distinctValues(of key: String, for query: Query) throws(DatabaseError) -> [Query.ValueCount] {
    try reading { (view) throws(DatabaseError) in try view.distinctValues(of: key, for: query, nil) }
  }

  /// The first or last value of what a property of a type is.
  package func extreme(
    of key: String, as place: PredicateTranslation.Place, for query: Query, isFirst: Bool
  ) throws(DatabaseError) -> Record.Value? {
    try reading { (view) throws(DatabaseError) in try view.extreme(of: key, as: place, for: query, isFirst: isFirst, nil) }
  }

  /// The values of what a property of a type is.
  package func distinctValues(
    of key: String, as place: PredicateTranslation.Place, for query: Query
  ) throws(DatabaseError) -> [Query.ValueCount] {
    try reading { (view) throws(DatabaseError) in try view.distinctValues(of: key, as: place, for: query, nil) }
  }
}

/// The same off the caller's thread. A task that is cancelled meanwhile throws `CancellationError`.
extension Database {
  /// The value of a field that comes first in the order of sorts.
  public func minimum(of key: String, for query: Query) async throws -> Record.Value? {
    try await stoppable { (view, stop) throws(DatabaseError) in try view.extreme(of: key, for: query, isFirst: true, stop) }
  }

  /// The value of a field that comes last in the order of sorts.
  public func maximum(of key: String, for query: Query) async throws -> Record.Value? {
    try await stoppable { (view, stop) throws(DatabaseError) in try view.extreme(of: key, for: query, isFirst: false, stop) }
  }

  /// The values that a field has in the records that a query finds, each with the number of records that have it.
  public func distinctValues(of key: String, for query: Query) async throws -> [Query.ValueCount] {
    try await stoppable { (view, stop) throws(DatabaseError) in try view.distinctValues(of: key, for: query, stop) }
  }

  /// The first or last value of what a property of a type is.
  package func extreme(
    of key: String, as place: PredicateTranslation.Place, for query: Query, isFirst: Bool
  ) async throws -> Record.Value? {
    try await stoppable { (view, stop) throws(DatabaseError) in
      try view.extreme(of: key, as: place, for: query, isFirst: isFirst, stop)
    }
  }

  /// The values of what a property of a type is.
  package func distinctValues(
    of key: String, as place: PredicateTranslation.Place, for query: Query
  ) async throws -> [Query.ValueCount] {
    try await stoppable { (view, stop) throws(DatabaseError) in try view.distinctValues(of: key, as: place, for: query, stop) }
  }
}
