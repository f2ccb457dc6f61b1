import Daybook

/// What the values of a type have in one property: the first and the last, and all with their counts. The property's field is asked for, so
/// no value of the type is decoded. Where a record has no such field the rule `.default` counts, and of a `RecordEnum` what no case has
/// is its fallback. Each function is there for a property that is an optional, too, and counts are also of the elements of lists.

extension RecordReader where Self: ~Copyable {
  /// The value of a property that comes first in the order of sorts, of all values of the type that a predicate accepts; nil where none of
  /// them has one.
  ///
  /// ```swift
  /// let oldest = try database.minimum(of: \Movie.year, where: .field("genres").contains("drama"))
  /// ```
  /// - Parameters:
  ///   - property: one that has a field of its own.
  ///   - predicate: of which values; of all when left out. `try Query.Predicate(#Predicate<Movie> { … })` is one of Foundation's.
  ///   - zone: the zone to look in; nil for all.
  /// - Throws: what a query throws; `invalidArguments` as `Query.Sort.ascending(_:options:)` of the property; ``RecordCodingError`` where the
  ///   value that is found is none of the property's type.
  /// - Complexity: that of `minimum(of:for:)` of the field.
  @_disfavoredOverload
  public func minimum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> Value? {
    try extreme(of: property, predicate, zone, options, isFirst: true)
  }

  /// The same of a property that is an optional.
  public func minimum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> Value? {
    try extreme(of: property, predicate, zone, options, isFirst: true)
  }

  /// The value of a property that comes last in the order of sorts; see `minimum`.
  @_disfavoredOverload
  public func maximum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> Value? {
    try extreme(of: property, predicate, zone, options, isFirst: false)
  }

  /// The same of a property that is an optional.
  public func maximum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> Value? {
    try extreme(of: property, predicate, zone, options, isFirst: false)
  }

  /// The values that a property has in all values of the type that a predicate accepts, in the order of sorts, each once, with the number
  /// of records that have it.
  ///
  /// ```swift
  /// for (year, count) in try database.distinctValues(of: \Movie.year) { print("\(year): \(count)") }
  /// ```
  /// A list counts with each of its elements; nil is not counted.
  /// - Parameters:
  ///   - property: one that has a field of its own.
  ///   - predicate: of which values; of all when left out.
  ///   - zone: the zone to look in; nil for all.
  /// - Throws: as `minimum`.
  /// - Complexity: that of `distinctValues(of:for:)` of the field.
  @_disfavoredOverload
  public func distinctValues<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> [(value: Value, count: Int)] {
    try seenValues(of: property, predicate, zone, options)
  }

  /// The same of a property that is an optional.
  @_disfavoredOverload
  public func distinctValues<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> [(value: Value, count: Int)] {
    try seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a list.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, [Element]>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> [(value: Element, count: Int)] {
    try seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a list that is an optional.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, [Element]?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> [(value: Element, count: Int)] {
    try seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a set.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, Set<Element>>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> [(value: Element, count: Int)] {
    try seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a set that is an optional.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, Set<Element>?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> [(value: Element, count: Int)] {
    try seenValues(of: property, predicate, zone, options)
  }

  private func extreme<T: RecordDecodable, Value: Decodable>(
    of property: PartialKeyPath<T>, _ predicate: Query.Predicate, _ zone: Zone.ID?, _ options: RecordCodingOptions,
    isFirst: Bool
  ) throws -> Value? {
    let field = try PropertyField(property, options)
    let query = Query(T.recordType, where: predicate, in: zone)
    return try field.value(extreme(of: field.name, as: field.place, for: query, isFirst: isFirst))
  }

  private func seenValues<T: RecordDecodable, Value: Decodable>(
    of property: PartialKeyPath<T>, _ predicate: Query.Predicate, _ zone: Zone.ID?, _ options: RecordCodingOptions
  ) throws -> [(value: Value, count: Int)] {
    let field = try PropertyField(property, options)
    let query = Query(T.recordType, where: predicate, in: zone)
    return try field.values(distinctValues(of: field.name, as: field.place, for: query))
  }
}

/// The same off the caller's thread. A task that is cancelled meanwhile throws `CancellationError`.
extension Database {
  /// The value of a property that comes first in the order of sorts.
  @_disfavoredOverload
  public func minimum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> Value? {
    try await extreme(of: property, predicate, zone, options, isFirst: true)
  }

  /// The same of a property that is an optional.
  public func minimum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> Value? {
    try await extreme(of: property, predicate, zone, options, isFirst: true)
  }

  /// The value of a property that comes last in the order of sorts.
  @_disfavoredOverload
  public func maximum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> Value? {
    try await extreme(of: property, predicate, zone, options, isFirst: false)
  }

  /// The same of a property that is an optional.
  public func maximum<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> Value? {
    try await extreme(of: property, predicate, zone, options, isFirst: false)
  }

  /// The values that a property has, each with the number of records that have it.
  @_disfavoredOverload
  public func distinctValues<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> [(value: Value, count: Int)] {
    try await seenValues(of: property, predicate, zone, options)
  }

  /// The same of a property that is an optional.
  @_disfavoredOverload
  public func distinctValues<T: RecordDecodable, Value: Decodable>(
    of property: KeyPath<T, Value?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> [(value: Value, count: Int)] {
    try await seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a list.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, [Element]>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> [(value: Element, count: Int)] {
    try await seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a list that is an optional.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, [Element]?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> [(value: Element, count: Int)] {
    try await seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a set.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, Set<Element>>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> [(value: Element, count: Int)] {
    try await seenValues(of: property, predicate, zone, options)
  }

  /// The same of the elements of a set that is an optional.
  public func distinctValues<T: RecordDecodable, Element: Decodable>(
    of property: KeyPath<T, Set<Element>?>, where predicate: Query.Predicate = .true, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> [(value: Element, count: Int)] {
    try await seenValues(of: property, predicate, zone, options)
  }

  private func extreme<T: RecordDecodable, Value: Decodable>(
    of property: PartialKeyPath<T>, _ predicate: Query.Predicate, _ zone: Zone.ID?, _ options: RecordCodingOptions,
    isFirst: Bool
  ) async throws -> Value? {
    let field = try PropertyField(property, options)
    let query = Query(T.recordType, where: predicate, in: zone)
    return try field.value(await extreme(of: field.name, as: field.place, for: query, isFirst: isFirst))
  }

  private func seenValues<T: RecordDecodable, Value: Decodable>(
    of property: PartialKeyPath<T>, _ predicate: Query.Predicate, _ zone: Zone.ID?, _ options: RecordCodingOptions
  ) async throws -> [(value: Value, count: Int)] {
    let field = try PropertyField(property, options)
    let query = Query(T.recordType, where: predicate, in: zone)
    return try field.values(await distinctValues(of: field.name, as: field.place, for: query))
  }
}

/// The field of a property, and how its stored values are decoded: as in a record, whose rules leave these fields as they are.
private struct PropertyField {
  let name: String
  let place: PredicateTranslation.Place
  /// The form of dates or bytes, where the property has one of its own.
  private let rule: FieldRule?
  private let options: RecordCodingOptions

  init<T: RecordDecodable>(_ property: PartialKeyPath<T>, _ options: RecordCodingOptions) throws(DatabaseError) {
    let (field, place, rule) = try PropertyFields(of: T.self, options).fieldAndPlace(of: property)
    if let unknown = place.unknown, !unknown.tellsAll {
      throw DatabaseError(
        .invalidArguments,
        "The property's enum has a fallback and does not tell its cases; with CaseIterable it does.",
        facts: .init(key: field.name))
    }
    name = field.name
    self.place = place
    self.rule =
      switch rule {
      case .date?, .data?: rule
      default: nil
      }
    self.options = options
  }

  func value<Value: Decodable>(_ stored: Record.Value?) throws -> Value? {
    guard let stored else { return nil }
    let scope = DecodingScope(
      try Record(type: "Value"), options, rules: [:], recordNameKey: "recordName", graph: nil, base: [])
    let target = FieldTarget(field: name, key: PlainKey(stringValue: name), above: nil, rule: rule)
    do { return try FieldDecoder(scope, .value(stored), target).decode(Value.self) } catch {
      throw RecordCodingError(error, in: [name])
    }
  }

  func values<Value: Decodable>(_ counts: [Query.ValueCount]) throws -> [(value: Value, count: Int)] {
    try counts.compactMap { found in try value(found.value).map { ($0, found.count) } }
  }
}
