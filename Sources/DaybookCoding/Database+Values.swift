#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Values saved and fetched as records, one line each.

extension Transaction {
  /// Saves the record of a value; returns it with its new change tag and dates.
  ///
  /// - Parameters:
  ///   - zone: that of a new record; a value with system fields stays in its own.
  ///   - policy: nil suits the type. One that has a key for its system fields is saved if nobody else has changed the record since
  ///     it was read. One without is saved over whatever is there: its own fields, nil included, and no others.
  ///   - options: how the value becomes a record.
  /// - Throws: ``RecordCodingError``, or what saving a record throws. Where a rule makes a reference of a value, the transaction throws
  ///   `referenceViolation` in the end if no record has the value; one of `writeUnordered` does not ask.
  @discardableResult
  public func save<T: RecordEncodable>(
    _ value: T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init()
  ) throws -> Record {
    let encoded = try RecordEncoder(zone: zone, options: options).encoded(value)
    var record = encoded.record
    let policy = policy ?? .suiting(keepsSystemFields: encoded.keepsSystemFields)
    try encoded.flattened?.clear(&record, in: self, policy)
    let saved = try save(record, policy: policy)
    for value in encoded.referred { value.requireRecord(in: self) }
    return saved
  }

  /// Saves the records of values, in whatever order they refer to each other; returns them with their new change tags and dates,
  /// in the order of the argument.
  /// - Parameter policy: nil suits the type, as for one value.
  /// - Throws: ``RecordCodingError`` before anything is saved, or what saving a record throws, at the first that is refused; those
  ///   before it are saved in this transaction.
  @discardableResult
  public func save<T: RecordEncodable>(
    _ values: [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init()
  ) throws -> [Record] {
    let ready = try ReadyValues(values, in: zone, policy, options)
    return try ready.save(in: self)
  }
}

extension RecordReader where Self: ~Copyable {
  /// The value of the record with this name; nil when there is none.
  ///
  /// - Throws: ``RecordCodingError``, or what reading a record throws.
  public func fetch<T: RecordDecodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    options: RecordCodingOptions = .init()
  ) throws -> T? {
    let id = try Record.ID(existing: name.recordName, in: zone)
    return try record(id).map { try RecordDecoder(options: options).decode(type, from: $0) }
  }

  /// The values of a type in a zone, in the order in which their records were last saved.
  ///
  /// - Parameter limit: at least one; ``fetchPage(_:in:after:limit:options:)`` goes on after it.
  /// - Throws: ``RecordCodingError``, or what reading records throws.
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, in zone: Zone.ID = .default, limit: Int = .max, options: RecordCodingOptions = .init()
  ) throws -> [T] {
    try fetchPage(type, in: zone, limit: limit, options: options).values
  }

  /// A page of the values of a type in a zone, and where the next one begins; nil after the last.
  ///
  /// Pages of one snapshot have each record once; see `recordPage(in:ofType:after:limit:)`.
  /// - Parameters:
  ///   - cursor: the `next` of the page before; nil begins at the first.
  ///   - limit: at least one.
  /// - Throws: ``RecordCodingError``, or what reading records throws.
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, in zone: Zone.ID = .default, after cursor: RecordCursor? = nil, limit: Int,
    options: RecordCodingOptions = .init()
  ) throws -> (values: [T], next: RecordCursor?) {
    let decoder = RecordDecoder(options: options)
    let page = try recordPage(in: zone, ofType: T.recordType, after: cursor, limit: limit)
    return (try page.records.map { try decoder.decode(type, from: $0) }, page.next)
  }
}

extension Database {
  /// Saves the record of a value in a transaction of its own; see ``Daybook/Transaction/save(_:in:policy:options:)``.
  @discardableResult
  public func save<T: RecordEncodable>(
    _ value: T, in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) throws -> Record {
    let ready = try ReadyValues([value], in: zone, policy, options)
    return try ready.save(in: self, origin)[0]
  }

  /// The same off the caller's thread.
  @discardableResult
  public func save<T: RecordEncodable>(
    _ value: T, in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) async throws -> Record {
    let ready = try ReadyValues([value], in: zone, policy, options)
    return try await ready.save(in: self, origin)[0]
  }

  /// Saves the records of values in one transaction, all of them or none, in whatever order they refer to each other; returns them
  /// with their new change tags and dates, in the order of the argument.
  ///
  /// ```swift
  /// try database.save([dune, alien], in: library)      // one transaction, one wait for the disk
  /// ```
  /// - Parameter policy: nil suits the type, see ``Daybook/Transaction/save(_:in:policy:options:)``.
  /// - Throws: ``RecordCodingError``, or what saving a record throws, with the zone and name of the record that was refused.
  @discardableResult
  public func save<T: RecordEncodable>(
    _ values: [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) throws -> [Record] {
    let ready = try ReadyValues(values, in: zone, policy, options)
    return try ready.save(in: self, origin)
  }

  /// The same off the caller's thread.
  @discardableResult
  public func save<T: RecordEncodable>(
    _ values: [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) async throws -> [Record] {
    let ready = try ReadyValues(values, in: zone, policy, options)
    return try await ready.save(in: self, origin)
  }

  /// The value of the record with this name, off the caller's thread; nil when there is none.
  public func fetch<T: RecordDecodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> T? {
    let id = try Record.ID(existing: name.recordName, in: zone)
    return try await record(id).map { try RecordDecoder(options: options).decode(type, from: $0) }
  }

  /// The values of a type in a zone, in the order in which their records were last saved, read off the caller's thread.
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, in zone: Zone.ID = .default, limit: Int = .max, options: RecordCodingOptions = .init()
  ) async throws -> [T] {
    try await fetchPage(type, in: zone, limit: limit, options: options).values
  }

  /// A page of the values of a type in a zone, read off the caller's thread, and where the next one begins; nil after the last.
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, in zone: Zone.ID = .default, after cursor: RecordCursor? = nil, limit: Int,
    options: RecordCodingOptions = .init()
  ) async throws -> (values: [T], next: RecordCursor?) {
    let decoder = RecordDecoder(options: options)
    let page = try await recordPage(in: zone, ofType: T.recordType, after: cursor, limit: limit)
    return (try page.records.map { try decoder.decode(type, from: $0) }, page.next)
  }
}

/// Values that a query finds.

extension RecordReader where Self: ~Copyable {
  /// The values of a type that a predicate accepts, in an order.
  ///
  /// ```swift
  /// let recent = try database.fetchAll(Movie.self, where: .field(.year) > 2000, sort: [.descending("year")], limit: 10)
  /// ```
  /// - Parameters:
  ///   - predicate: which of them; `.true` for all. It and the order name fields, which are the properties' names unless options or
  ///     rules map them.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - limit: how many at most; nil for all.
  /// - Throws: ``RecordCodingError``, or what a query throws.
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> [T] {
    try RecordDecoder(options: options).values(
      type, of: records(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)))
  }

  /// All values of a type, in an order; see ``fetchAll(_:where:sort:in:limit:options:)``.
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, sort: [Query.Sort], in zone: Zone.ID? = .default, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> [T] {
    try fetchAll(type, where: .true, sort: sort, in: zone, limit: limit, options: options)
  }

  /// How many records of a type a predicate accepts. None is decoded: a record that is no value of the type counts, too.
  ///
  /// ```swift
  /// let count = try database.count(Movie.self, where: .field("year") > 2000)
  /// ```
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - zone: the zone to look in; nil for all.
  /// - Throws: what a query throws.
  public func count<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default
  ) throws -> Int {
    try count(Query(T.recordType, where: predicate, in: zone))
  }
}

extension Database {
  /// How many records of a type a predicate accepts, found out off the caller's thread; see ``Daybook/RecordReader/count(_:where:in:)``.
  public func count<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default
  ) async throws -> Int {
    try await count(Query(T.recordType, where: predicate, in: zone))
  }

  /// The values of a type that a predicate accepts, in an order, read off the caller's thread; see
  /// ``Daybook/RecordReader/fetchAll(_:where:sort:in:limit:options:)``.
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> [T] {
    try RecordDecoder(options: options).values(
      type, of: await records(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)))
  }

  /// All values of a type, in an order, read off the caller's thread; see ``Daybook/RecordReader/fetchAll(_:where:sort:in:limit:options:)``.
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, sort: [Query.Sort], in zone: Zone.ID? = .default, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> [T] {
    try await fetchAll(type, where: .true, sort: sort, in: zone, limit: limit, options: options)
  }

  /// The values of a type that a predicate accepts, now and after each commit that changes them; see
  /// ``Daybook/Database/observe(_:desiredKeys:)``.
  ///
  /// ```swift
  /// for try await movies in database.observe(Movie.self, where: .field(.year) > 2000, sort: [.ascending("title")]) {
  ///   list.show(movies)
  /// }
  /// ```
  ///
  /// The stream fails with the error of a record that is no value of the type.
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - limit: how many at most; nil for all.
  public func observe<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) -> AsyncThrowingMapSequence<AsyncThrowingStream<[Record], any Error>, [T]> {
    let decoder = RecordDecoder(options: options)
    return observe(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)).map { records in
      try decoder.values(T.self, of: records)
    }
  }

  /// The value of the record with this name, now and after each commit that saves or deletes it; nil while there is none.
  /// - Throws: `invalidArguments` for a name that no record can have.
  public func observe<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    options: RecordCodingOptions = .init()
  ) throws -> AsyncThrowingMapSequence<AsyncThrowingStream<Record?, any Error>, T?> {
    let decoder = RecordDecoder(options: options)
    return observe(try Record.ID(existing: name.recordName, in: zone)).map { record in
      try record.map { try decoder.decode(T.self, from: $0) }
    }
  }
}

extension RecordDecoder {
  func values<T: RecordDecodable>(_ type: T.Type, of records: [Record]) throws -> [T] {
    try records.map { try decode(type, from: $0) }
  }
}
