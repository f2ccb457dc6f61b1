import Daybook

/// Several values by their names, and what is done with all values that a predicate accepts.

extension RecordReader where Self: ~Copyable {
  /// The values of the records with these names, each under its name, all of one moment; names without a record are left out.
  ///
  /// ```swift
  /// let found = try database.fetch(Movie.self, ["dune", "alien"], in: library)
  /// let dune = found["dune"]
  /// ```
  /// - Parameter names: texts, UUIDs, integers, or a type of your own (``RecordNameConvertible``); one that is there twice counts once.
  /// - Throws: ``RecordCodingError``, or what reading records throws; `invalidArguments` for a name that no record can have.
  /// - Complexity: a read for each name.
  public func fetch<T: RecordDecodable, Name: RecordNameConvertible & Hashable>(
    _ type: T.Type, _ names: [Name], in zone: Zone.ID = .default, options: RecordCodingOptions = .init()
  ) throws -> [Name: T] {
    let wanted = try WantedNames(names, in: zone)
    return try wanted.values(type, of: records(wanted.ids), options)
  }
}

extension Database {
  /// The values of the records with these names, read off the caller's thread; names without a record are left out.
  public func fetch<T: RecordDecodable, Name: RecordNameConvertible & Hashable>(
    _ type: T.Type, _ names: [Name], in zone: Zone.ID = .default, options: RecordCodingOptions = .init()
  ) async throws -> [Name: T] {
    let wanted = try WantedNames(names, in: zone)
    return try wanted.values(type, of: await records(wanted.ids), options)
  }
}

/// Names with their IDs.
private struct WantedNames<Name: RecordNameConvertible & Hashable> {
  private let byName: [Name: Record.ID]

  init(_ names: [Name], in zone: Zone.ID) throws(DatabaseError) {
    var byName: [Name: Record.ID] = [:]
    for name in names { byName[name] = try Record.ID(existing: name.recordName, in: zone) }
    self.byName = byName
  }

  var ids: [Record.ID] { Array(byName.values) }

  func values<T: RecordDecodable>(
    _ type: T.Type, of records: [Record.ID: Record], _ options: RecordCodingOptions
  ) throws -> [Name: T] {
    let decoder = RecordDecoder(options: options)
    var values: [Name: T] = [:]
    for (name, id) in byName {
      if let record = records[id] { values[name] = try decoder.decode(type, from: record) }
    }
    return values
  }
}

extension Transaction {
  /// Deletes the values of a type that a predicate accepts, and the records that they own.
  /// - Parameter zone: the zone to look in; nil for all.
  /// - Returns: how many the predicate accepted; records that went with them do not count.
  /// - Throws: what a query throws; what deleting throws.
  /// - Complexity: that of the query, and a deletion of each; their metadata are kept in memory meanwhile. None is decoded: a record that
  ///   is no value of the type is deleted, too.
  @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, in zone: Zone.ID? = .default
  ) throws -> Int {
    try deleteAll(Query(T.recordType, where: predicate, in: zone))
  }

  /// Deletes the values of a type that a predicate on its properties accepts.
  /// - Throws: as ``delete(_:where:in:)``; `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> Int {
    try delete(type, where: Query.Predicate(predicate, options: options), in: zone)
  }

  fileprivate func deleteAll(_ query: Query) throws(DatabaseError) -> Int {
    let found = try records(query, desiredKeys: [])
    for record in found { try delete(record.id) }
    return found.count
  }
}

extension Database {
  /// Deletes the values of a type that a predicate accepts, and the records that they own, in one transaction: all of them or none.
  ///
  /// ```swift
  /// let count = try database.delete(Movie.self, where: .field("year") < 1950, in: library)
  /// ```
  /// - Parameter zone: the zone to look in; nil for all.
  /// - Returns: how many the predicate accepted; see ``Daybook/Transaction/delete(_:where:in:)``.
  /// - Throws: what a query throws; what deleting throws.
  @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, in zone: Zone.ID? = .default, origin: Origin? = nil
  ) throws -> Int {
    let query = Query(T.recordType, where: predicate, in: zone)
    return try write(origin: origin) { transaction in try transaction.deleteAll(query) }
  }

  /// The same off the caller's thread.
  @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, in zone: Zone.ID? = .default, origin: Origin? = nil
  ) async throws -> Int {
    let query = Query(T.recordType, where: predicate, in: zone)
    return try await write(origin: origin) { transaction in try transaction.deleteAll(query) }
  }

  /// Deletes the values of a type that a predicate on its properties accepts, in one transaction.
  /// - Throws: as ``delete(_:where:in:origin:)``; `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init(), origin: Origin? = nil
  ) throws -> Int {
    try delete(type, where: Query.Predicate(predicate, options: options), in: zone, origin: origin)
  }

  /// The same off the caller's thread.
  @_disfavoredOverload @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init(), origin: Origin? = nil
  ) async throws -> Int {
    let predicate = try Query.Predicate(predicate, options: options)
    return try await delete(type, where: predicate, in: zone, origin: origin)
  }

  /// How many records of a type a predicate accepts, now and whenever that changes; see ``Daybook/Database/observeCount(_:)``.
  ///
  /// ```swift
  /// for try await count in database.observeCount(Movie.self, where: .field("year") > 2000) { badge.show(count) }
  /// ```
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - zone: the zone to look in; nil for all.
  public func observeCount<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default
  ) -> AsyncThrowingStream<Int, any Error> {
    observeCount(Query(T.recordType, where: predicate, in: zone))
  }

  /// How many records of a type a predicate on its properties accepts, now and whenever that changes.
  /// - Throws: `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload
  public func observeCount<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> AsyncThrowingStream<Int, any Error> {
    observeCount(type, where: try Query.Predicate(predicate, options: options), in: zone)
  }
}
