import Daybook

/// What became of the values that a query finds when they became others; `Query.Difference` with values in the place of records.
public struct ValueDifference<Value> {
  /// A value at a position of the new result.
  public struct Placed {
    /// Where it is in the new result.
    public let index: Int
    /// Whose value it is.
    public let id: Record.ID
    /// As it is now.
    public let value: Value
  }

  private let records: Query.Difference
  /// The values that came, by their positions in the new result.
  public let inserted: [Placed]
  /// The values that were in the old result and have been saved since, by their positions in the new result.
  public let updated: [Placed]

  /// The values that are gone, by their positions in the old result.
  public var removed: [Query.Difference.Removal] { records.removed }
  /// The values that have changed places, as few as possible, by their positions in the new result.
  public var moved: [Query.Difference.Move] { records.moved }
  /// How many values the new result has.
  public var count: Int { records.count }
  /// Whether the results are the same.
  public var isEmpty: Bool { records.isEmpty }

  init(_ records: Query.Difference, _ decode: (Record) throws -> Value) rethrows {
    func placed(_ placed: Query.Difference.Placed) throws -> Placed {
      Placed(index: placed.index, id: placed.record.id, value: try decode(placed.record))
    }
    self.records = records
    inserted = try records.inserted.map(placed)
    updated = try records.updated.map(placed)
  }

  /// The new result, made from the old one; nil where the number of `values` shows that they are not the result that this is a
  /// difference from.
  public func applied(to values: [Value]) -> [Value]? {
    records.applied(to: values, inserted: inserted.map(\.value), updated: updated.map(\.value)) { _, _ in true }
  }
}

extension ValueDifference: Sendable where Value: Sendable {}
extension ValueDifference.Placed: Sendable where Value: Sendable {}

extension Database {
  /// What becomes of the values of a type that a predicate accepts: each difference makes the values after it of those before, the first
  /// of none; see ``Daybook/Database/observeDifferences(_:desiredKeys:)``.
  ///
  /// ```swift
  /// var movies: [Movie] = []
  /// for try await difference in database.observeDifferences(Movie.self, sort: [.ascending("title")]) {
  ///   movies = difference.applied(to: movies) ?? []
  /// }
  /// ```
  /// The stream fails with the error of a record that is no value of the type. Only values that came or were saved are decoded.
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - limit: how many at most; nil for all.
  public func observeDifferences<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) -> AsyncThrowingMapSequence<AsyncThrowingStream<Query.Difference, any Error>, ValueDifference<T>> {
    let decoder = RecordDecoder(options: options)
    return observeDifferences(Query(T.recordType, where: predicate, sort: sort, in: zone, limit: limit)).map { difference in
      try ValueDifference(difference) { try decoder.decode(T.self, from: $0) }
    }
  }

  /// What becomes of the values of a type that a predicate on its properties accepts.
  /// - Throws: `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload
  public func observeDifferences<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> AsyncThrowingMapSequence<AsyncThrowingStream<Query.Difference, any Error>, ValueDifference<T>> {
    let predicate = try Query.Predicate(predicate, options: options)
    return observeDifferences(type, where: predicate, sort: sort, in: zone, limit: limit, options: options)
  }
}
