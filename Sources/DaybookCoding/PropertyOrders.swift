import Daybook

/// Orders and indexes of properties: a key path for the key of its field, which options and rules may spell otherwise.
///
/// ```swift
/// let recent = try database.fetchAll(Movie.self, sort: [.descending(\Movie.year), .ascending(\Movie.title)])
/// ```
extension Query.Sort {
  /// The smallest first, by a property of a type. Records without its field come last, also where a rule gives it a default.
  /// - Throws: `invalidArguments` for a property whose coding key is spelled otherwise (the type declares its field as
  ///   ``Daybook/RecordKeyPaths``), that has no field, is encrypted or stored in another form, or whose values have no order.
  public static func ascending<T: RecordDecodable>(
    _ property: PartialKeyPath<T>, options: RecordCodingOptions = .init()
  ) throws(DatabaseError) -> Query.Sort {
    .ascending(try PropertyFields(of: T.self, options).field(of: property))
  }

  /// The largest first, by a property of a type. Records without its field come last.
  /// - Throws: as ``ascending(_:options:)``.
  public static func descending<T: RecordDecodable>(
    _ property: PartialKeyPath<T>, options: RecordCodingOptions = .init()
  ) throws(DatabaseError) -> Query.Sort {
    .descending(try PropertyFields(of: T.self, options).field(of: property))
  }
}

extension Database {
  /// Gives the field of a property indexes, or takes them away; see ``Daybook/Database/setIndex(_:on:ofType:progress:)``.
  ///
  /// ```swift
  /// try database.setIndex([.queryable, .sortable], on: \Movie.year)
  /// ```
  /// - Throws: as that does; `invalidArguments` for a property without a field of its own.
  public func setIndex<T: RecordDecodable>(
    _ kinds: IndexKinds, on property: PartialKeyPath<T>, options: RecordCodingOptions = .init(),
    progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    let field = try PropertyFields(of: T.self, options).field(of: property)
    try setIndex(kinds, on: field.name, ofType: T.recordType, progress: progress)
  }

  /// Gives the field of a property indexes, or takes them away, off the caller's thread.
  public func setIndex<T: RecordDecodable>(
    _ kinds: IndexKinds, on property: PartialKeyPath<T>, options: RecordCodingOptions = .init(),
    progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws {
    let field = try PropertyFields(of: T.self, options).field(of: property)
    try await setIndex(kinds, on: field.name, ofType: T.recordType, progress: progress)
  }
}
