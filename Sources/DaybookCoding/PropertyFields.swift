import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Which field a property of a type is in, for predicates that name properties.
///
/// Swift knows the names of properties, and a coder those of coding keys. `CodingKeys` may say `case title = "titel"`, and nothing tells
/// that this key is of that property; but the type of the keys, which decoding asks for first, tells whether it has a key of the
/// property's name. A property without is refused: it would be looked for where nothing is.
struct PropertyFields {
  private let type: any RecordDecodable.Type
  private let options: RecordCodingOptions
  private let rules: [String: FieldRule]
  private let keys: (any CodingKey.Type)?

  init<T: RecordDecodable>(of type: T.Type, _ options: RecordCodingOptions) {
    self.type = type
    self.options = options
    rules = T.fieldRules.merging(options.rules) { _, own in own }
    let probe = KeyProbe(userInfo: options.userInfo)
    // It ends with an error as soon as the keys are known.
    _ = try? T(from: probe)
    keys = probe.keys
  }

  func place(
    of property: PredicateTranslation.PropertyName, _ valueType: Any.Type
  ) throws(DatabaseError) -> PredicateTranslation.Place {
    var place =
      switch property {
      case .stored(let name): try self.place(of: name, valueType)
      case .declared(let field): try self.place(declared: field, valueType)
      }
    let element = (valueType as? any ListOfElements.Type)?.elementType ?? valueType
    place.unknown = (element as? any RecordEnum.Type).flatMap { Self.unknownValues(of: $0) }
    return place
  }

  /// What raw values are that no case of an enum has; nil where decoding refuses them.
  private static func unknownValues<E: RecordEnum>(of type: E.Type) -> PredicateTranslation.UnknownValues? {
    func value(_ raw: Any) -> Record.Value? { (raw as? any RecordValueConvertible)?.recordValue }
    guard let standIn = E.fallback.flatMap({ value($0.rawValue) }) else { return nil }
    let cases = (E.self as? any CaseIterable.Type).map { allCases(of: $0) }
    return .init(standIn: standIn, known: cases?.compactMap { ($0 as? E).flatMap { value($0.rawValue) } })
  }

  private static func allCases<C: CaseIterable>(of type: C.Type) -> [Any] { type.allCases.map { $0 } }

  /// The place of a property whose field the type declares. Rules are for coding keys, which this is none of: it has the rule of the key
  /// that becomes this field.
  private func place(declared field: String, _ valueType: Any.Type) throws(DatabaseError) -> PredicateTranslation.Place {
    if field == type.recordNameKey {
      let valueType = (valueType as? any ListOfElements.Type)?.elementType ?? valueType
      let isNumber = Self.isWholeNumber(valueType)
      return .init(
        key: "recordName", otherForm: isNumber || Self.isText(valueType) ? nil : isNoText(field), isNumberAsText: isNumber)
    }
    switch rule(ofField: field) {
    case .default(let value)?:
      return .init(key: field, fallback: value, otherForm: isStoredAsItIs(valueType) ? nil : coded(field))
    case .parent?: return .init(key: "parent")
    case .ignored?: throw hasNoField(field)
    case .encrypted?: throw isEncrypted(field)
    case .date(.native)?, .data(.bytes)?, .reference?: return .init(key: field)
    case nil: return .init(key: field, otherForm: isStoredAsItIs(valueType) ? nil : coded(field))
    case .json?, .flattened?, .asset?, .locationText?, .date?, .data?: return .init(key: field, otherForm: coded(field))
    }
  }

  /// The field of a rule's key, which has those of the flattened values around it in front: `address.street`.
  private func field(ofPath path: String) -> String {
    path.split(separator: ".", omittingEmptySubsequences: false).map { options.field(of: String($0)) }.joined(separator: "_")
  }

  private func place(of property: String, _ valueType: Any.Type) throws(DatabaseError) -> PredicateTranslation.Place {
    if let keys, keys.init(stringValue: property) == nil {
      throw refusal(
        "The coding key of a property is spelled otherwise; the type can declare its field in recordKeyPaths.",
        property)
    }
    if property == type.recordNameKey {
      let isNumber = Self.isWholeNumber(valueType)
      guard isNumber || Self.isText(valueType) else { throw isNoText(property) }
      return .init(key: "recordName", isNumberAsText: isNumber)
    }
    var fallback: Record.Value?
    switch rules[property] {
    case .default(let value)?:
      guard isStoredAsItIs(valueType) else { throw coded(property) }
      fallback = value
    case .parent?: return .init(key: "parent")
    case .ignored?: throw hasNoField(property)
    case .encrypted?: throw isEncrypted(property)
    case .date(.native)?, .data(.bytes)?, .reference?: break
    case nil:
      guard isStoredAsItIs(valueType) else { throw coded(property) }
    case .json?, .flattened?, .asset?, .locationText?, .date?, .data?: throw coded(property)
    }
    if property == "systemFields" { throw hasNoField(property) }
    let isData = keys.map { RecordCodingOptions.isData($0) } ?? false
    return .init(key: isData ? property : options.field(of: property), fallback: fallback)
  }

  /// The field of a property, for an order or an index.
  func field(of property: AnyKeyPath) throws(DatabaseError) -> Query.Field {
    try PredicateTranslation.field(of: property) { (name, type) throws(DatabaseError) in try place(of: name, type) }
  }

  /// The same, with what the property is where the field has nothing, or what its type does not know, and the rule of its key.
  func fieldAndPlace(
    of property: AnyKeyPath
  ) throws(DatabaseError) -> (field: Query.Field, place: PredicateTranslation.Place, rule: FieldRule?) {
    var rule: FieldRule?
    let (field, place) = try PredicateTranslation.fieldAndPlace(of: property) { (name, type) throws(DatabaseError) in
      switch name {
      case .stored(let key): rule = rules[key]
      case .declared(let field): rule = self.rule(ofField: field)
      }
      return try self.place(of: name, type)
    }
    return (field, place, rule)
  }

  /// The rule of the key that becomes a field.
  private func rule(ofField field: String) -> FieldRule? {
    rules.keys.sorted().first { self.field(ofPath: $0) == field }.flatMap { rules[$0] }
  }

  private func isNoText(_ property: String) -> DatabaseError {
    refusal("The name of a record is a text or the digits of a whole number, and the property that has it is none.", property)
  }

  private func hasNoField(_ property: String) -> DatabaseError {
    refusal("The property has no field, so that no query finds it.", property)
  }

  private func isEncrypted(_ property: String) -> DatabaseError {
    refusal("A query does not see encrypted values.", property)
  }

  private func coded(_ property: String) -> DatabaseError {
    refusal(
      "The field has the property's value in another form; a predicate of fields, such as .field(…) > …, can name that.",
      property)
  }

  private func refusal(_ sentence: String, _ property: String) -> DatabaseError {
    DatabaseError(
      .invalidArguments, sentence, facts: .init(recordType: type.recordType, key: property))
  }

  /// Whether no option gives values of the type another form: of its elements, and of what is in an optional.
  private func isStoredAsItIs(_ type: Any.Type) -> Bool {
    if isPropertyList(type) { return false }
    var element = type
    while let list = element as? any ListOfElements.Type { element = list.elementType }
    if !RawForm.isUsual((element as? any OptionalValue.Type)?.wrappedType ?? element) { return false }
    if element == Date.self { return if case .native = options.dates { true } else { false } }
    if element == Data.self { return if case .bytes = options.data { true } else { false } }
    if element == Location.self { return if case .native = options.locations { true } else { false } }
    // A list with a value that is no number may be one of texts.
    if element == Double.self || element == Float.self, type != Double.self, type != Float.self {
      if type == Double?.self || type == Float?.self { return true }
      return if case .text = options.notANumber { false } else { true }
    }
    return true
  }

  /// Whether the option makes a property list of a list: one whose elements a record has no list for, as those of an enum. As JSON such a
  /// list is one of what the elements become.
  private func isPropertyList(_ type: Any.Type) -> Bool {
    guard case .asset(let format) = options.nested, format != .json else { return false }
    let list = (type as? any OptionalValue.Type)?.wrappedType ?? type
    return list is any ListOfElements.Type && !(list is any RecordValueConvertible.Type) && list != [Record.ID].self
  }

  private static func isText(_ type: Any.Type) -> Bool {
    if type == String.self || type == UUID.self { return true }
    guard let raw = type as? any RawRepresentable.Type else { return false }
    return rawType(of: raw) == String.self
  }

  private static func isWholeNumber(_ type: Any.Type) -> Bool {
    type is any FixedWidthInteger.Type && type is any RecordValueConvertible.Type
  }

  private static func rawType<R: RawRepresentable>(of type: R.Type) -> Any.Type { R.RawValue.self }
}

extension Query.Predicate {
  /// Foundation's predicate on values of a type as one on their records, where the type's coding keys, rules and options put the
  /// properties.
  ///
  /// ```swift
  /// let recent = try Query.Predicate(#Predicate<Movie> { $0.year > 2000 })
  /// ```
  /// A property is taken to be under the coding key of its name: where that is the key of another one (`case title = "name", name =
  /// "label"`), the type has to declare both as ``Daybook/RecordKeyPaths``.
  ///
  /// The property that is the record's name is asked for as that. A property with a default in ``RecordDecodable/fieldRules`` has it in
  /// records without the field. What is translated is said there, where the type is any: `Query.Predicate.init(_:)`.
  /// - Throws: `invalidArguments` for what has no counterpart, and for a property whose coding key is spelled otherwise (the type declares
  ///   its field as ``Daybook/RecordKeyPaths``), that has no field, that is encrypted, or that is stored in another form.
  public init<T: RecordDecodable>(_ predicate: FoundationPredicate<T>) throws(DatabaseError) {
    try self.init(predicate, options: .init())
  }

  /// The same for values that are coded with other options than the usual ones.
  public init<T: RecordDecodable>(
    _ predicate: FoundationPredicate<T>, options: RecordCodingOptions
  ) throws(DatabaseError) {
    let fields = PropertyFields(of: T.self, options)
    try self.init(predicate) { (property, type) throws(DatabaseError) in
      try fields.place(of: property, type)
    }
  }
}

/// Values that Foundation's predicate finds: `#Predicate<Movie> { $0.year > 2000 }`.
///
/// The compiler takes `.true` and `.field(…)` for predicates of records, which the other forms have.
extension RecordReader where Self: ~Copyable {
  /// The values of a type that a predicate on its properties accepts, in an order.
  ///
  /// ```swift
  /// let recent = try database.fetchAll(Movie.self, where: #Predicate { $0.year > 2000 && $0.title.starts(with: "D") })
  /// ```
  /// - Throws: ``RecordCodingError``; what a query throws; `invalidArguments` for a predicate that has no counterpart, see
  ///   ``Daybook/Query/Predicate/init(_:options:)``.
  @_disfavoredOverload
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [],
    in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> [T] {
    try fetchAll(
      type, where: Query.Predicate(predicate, options: options), sort: sort, in: zone, limit: limit,
      options: options)
  }

  /// How many records of a type a predicate on its properties accepts.
  /// - Throws: as ``fetchAll(_:where:sort:in:limit:options:)``.
  @_disfavoredOverload
  public func count<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) throws -> Int {
    try count(type, where: Query.Predicate(predicate, options: options), in: zone)
  }
}

extension Database {
  /// The values of a type that a predicate on its properties accepts, in an order, read off the caller's thread.
  @_disfavoredOverload
  public func fetchAll<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [],
    in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) async throws -> [T] {
    let predicate = try Query.Predicate(predicate, options: options)
    return try await fetchAll(
      type, where: predicate, sort: sort, in: zone, limit: limit, options: options)
  }

  /// How many records of a type a predicate on its properties accepts, found out off the caller's thread.
  @_disfavoredOverload
  public func count<T: RecordDecodable>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, in zone: Zone.ID? = .default,
    options: RecordCodingOptions = .init()
  ) async throws -> Int {
    let predicate = try Query.Predicate(predicate, options: options)
    return try await count(type, where: predicate, in: zone)
  }

  /// The values of a type that a predicate on its properties accepts, now and after each commit that changes them.
  /// - Throws: `invalidArguments` for a predicate that has no counterpart.
  @_disfavoredOverload
  public func observe<T: RecordDecodable & SendableMetatype>(
    _ type: T.Type, where predicate: FoundationPredicate<T>, sort: [Query.Sort] = [],
    in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws -> AsyncThrowingMapSequence<AsyncThrowingStream<[Record], any Error>, [T]> {
    observe(
      type, where: try Query.Predicate(predicate, options: options), sort: sort, in: zone,
      limit: limit, options: options)
  }
}
