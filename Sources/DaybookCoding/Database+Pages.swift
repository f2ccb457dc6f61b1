import Daybook

/// Pages and plans of the values that a query finds.

extension RecordReader where Self: ~Copyable {
  /// A page of the values of a type that a predicate accepts, in an order, and where the next one begins; nil after the last.
  ///
  /// ```swift
  /// var page = try database.fetchPage(Movie.self, where: .field("year") > 2000, sort: [.ascending("title")], limit: 50)
  /// while let next = page.next {
  ///   page = try database.fetchPage(Movie.self, where: .field("year") > 2000, sort: [.ascending("title")], after: next, limit: 50)
  /// }
  /// ```
  /// `Query.Cursor` says what pages have while values are saved between them.
  /// - Parameters:
  ///   - predicate: which of them; `.true` for all.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - cursor: the `next` of the page before, of the same predicate, order and zone; nil begins at the first.
  ///   - limit: at least one; nil for as many as `Options.limits.changesPerPage`.
  /// - Throws: ``RecordCodingError``, or what a page of a query throws.
  /// - Complexity: that of a page of the query; each value is decoded.
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    after cursor: Query.Cursor? = nil, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> (values: [T], next: Query.Cursor?) {
    let query = Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)
    return try RecordDecoder(options: options).values(type, on: self.query(query, after: cursor))
  }

  /// A page of the values of a type that a predicate on its properties accepts; see
  /// ``fetchPage(_:where:sort:in:after:limit:options:)``.
  /// - Throws: as that does; `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    after cursor: Query.Cursor? = nil, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> (values: [T], next: Query.Cursor?) {
    let predicate = try Query.Predicate(predicate, options: options)
    return try fetchPage(type, where: predicate, sort: sort, in: zone, after: cursor, limit: limit, options: options)
  }

  /// How values of a type would be looked for; reads no record.
  ///
  /// ```swift
  /// print(try database.explain(Movie.self, where: .field("yaer") > 2000))     // … Did you mean year?
  /// ```
  /// The plan's warnings tell what the predicate names and no record has.
  /// - Throws: what a query throws.
  public func explain<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil
  ) throws -> Query.Plan {
    try explain(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)).naming(type)
  }

  /// How values of a type that a predicate on its properties accepts would be looked for.
  /// - Throws: what a query throws; `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload
  public func explain<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> Query.Plan {
    try explain(type, where: Query.Predicate(predicate, options: options), sort: sort, in: zone, limit: limit)
  }
}

/// The same off the caller's thread.
extension Database {
  /// A page of the values of a type that a predicate accepts, in an order, and where the next one begins; see
  /// ``Daybook/RecordReader/fetchPage(_:where:sort:in:after:limit:options:)``.
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    after cursor: Query.Cursor? = nil, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> (values: [T], next: Query.Cursor?) {
    let query = Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)
    return try RecordDecoder(options: options).values(type, on: await self.query(query, after: cursor))
  }

  /// A page of the values of a type that a predicate on its properties accepts.
  @_disfavoredOverload
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    after cursor: Query.Cursor? = nil, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> (values: [T], next: Query.Cursor?) {
    let predicate = try Query.Predicate(predicate, options: options)
    return try await fetchPage(type, where: predicate, sort: sort, in: zone, after: cursor, limit: limit, options: options)
  }

  /// All pages of the values of a type that a predicate accepts, one after another, as long as the consumer asks; see
  /// ``Daybook/Database/queryPages(_:desiredKeys:)``.
  ///
  /// ```swift
  /// for try await movies in database.fetchPages(Movie.self, sort: [.ascending("title")], limit: 100) { … }
  /// ```
  /// The stream fails with the error of a record that is no value of the type.
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - limit: how many on a page; nil for as many as `Options.limits.changesPerPage`.
  public func fetchPages<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) -> AsyncThrowingMapSequence<AsyncThrowingStream<Query.Page, any Error>, [T]> {
    let decoder = RecordDecoder(options: options)
    return queryPages(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)).map { page in
      try decoder.values(T.self, of: page.records)
    }
  }

  /// All pages of the values of a type that a predicate on its properties accepts.
  /// - Throws: `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload
  public func fetchPages<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> AsyncThrowingMapSequence<AsyncThrowingStream<Query.Page, any Error>, [T]> {
    let predicate = try Query.Predicate(predicate, options: options)
    return fetchPages(type, where: predicate, sort: sort, in: zone, limit: limit, options: options)
  }

  /// How values of a type would be looked for; see ``Daybook/RecordReader/explain(_:where:sort:in:limit:)``.
  public func explain<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil
  ) async throws -> Query.Plan {
    try await explain(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)).naming(type)
  }

  /// How values of a type that a predicate on its properties accepts would be looked for.
  @_disfavoredOverload
  public func explain<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> Query.Plan {
    let predicate = try Query.Predicate(predicate, options: options)
    return try await explain(type, where: predicate, sort: sort, in: zone, limit: limit)
  }
}

extension RecordDatabase {
  /// A page of the values of a type that a predicate accepts, of a database here or on a server; see
  /// ``Daybook/RecordReader/fetchPage(_:where:sort:in:after:limit:options:)``.
  /// - Throws: ``RecordCodingError``, or what the database throws.
  public func fetchPage<T: RecordDecodable>(
    _ type: T.Type, where predicate: Query.Predicate, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    after cursor: Query.Cursor? = nil, limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> (values: [T], next: Query.Cursor?) {
    let query = Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)
    return try RecordDecoder(options: options).values(type, on: await self.query(query, after: cursor))
  }
}

extension RecordDecoder {
  fileprivate func values<T: RecordDecodable>(
    _ type: T.Type, on page: Query.Page
  ) throws -> (values: [T], next: Query.Cursor?) {
    (try values(type, of: page.records), page.next)
  }
}

extension Query.Plan {
  /// With the name that predicates have for the record's name, where a key is that of the property that has it.
  fileprivate func naming<T: RecordDecodable>(_ type: T.Type) -> Query.Plan {
    var plan = self
    for index in plan.warnings.indices where plan.warnings[index].reason == .unknownKey {
      if plan.warnings[index].name == T.recordNameKey { plan.warnings[index].closeNames = [Query.Field.recordName.name] }
    }
    return plan
  }
}
