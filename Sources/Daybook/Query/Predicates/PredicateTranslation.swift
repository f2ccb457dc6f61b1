#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Foundation's predicate over one value, as `#Predicate<Movie> { $0.year > 2000 }` makes it: the name is free outside of ``Query``.
public typealias FoundationPredicate<Input> = Predicate<Input>

extension Query.Predicate {
  /// Foundation's predicate as one on records.
  ///
  /// ```swift
  /// let recent = try Query.Predicate(#Predicate<Movie> { $0.year > 2000 && $0.title.starts(with: "D") })
  /// ```
  /// A property's key is what its type says as ``RecordKeyPaths``, and else its name, which Swift knows of stored properties of
  /// structs and of classes without a superclass. A property of no size, such as an enum with a single case, hides the name of the
  /// next one: a type with such a property has to declare its keys. Values are taken to be stored as Daybook stores their
  /// types: Booleans as 0 and 1, UUIDs as text, enums as raw values, nil as an absent field.
  ///
  /// Translated are `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, `!` and `? :`; ranges and lists of constants with `contains`;
  /// `starts(with:)`, `contains` and `isEmpty` of texts, `contains` of lists, also with a closure of one condition; comparisons with nil,
  /// optional chaining, `if let`, `!` and `??` with a constant; and calculations with constants alone.
  ///
  /// The predicate finds the records whose values Foundation's accepts, with these differences:
  /// - Texts are compared by their bytes, in Swift by characters: an accent that is a scalar of its own is not the letter with the
  ///   accent, and is found by itself, as is the end of line within CR LF.
  /// - Where Swift has no answer, because `!` unwraps nil, the field passes no condition, and passes `!` in front of one. The same
  ///   is true of records without the field of a property that is no optional.
  /// - References are equal when they point to the same record, URLs when their absolute texts are the same bytes.
  /// - ``Dialect/cloudKit`` compares texts for equality without regard to case, and refuses what CloudKit does not have.
  ///
  /// - Throws: `invalidArguments` for what has no counterpart, with the expression among the facts: comparisons of two properties,
  ///   calculations with properties, `count`, `localizedStandardContains` and whatever depends on the locale, an order of values
  ///   that records do not have (enums), a `Decimal` (one number has several texts), sets in whole, and properties whose key is not
  ///   known. Fetch by the rest of the predicate then, and filter the result in Swift.
  public init<Input>(_ predicate: FoundationPredicate<Input>) throws(DatabaseError) {
    try self.init(predicate) { (property, _) throws(DatabaseError) in .init(key: property.text) }
  }

  /// The same for a coder that knows where it puts the properties of the type.
  package init<Input>(
    _ predicate: FoundationPredicate<Input>, place: @escaping PredicateTranslation.Places
  ) throws(DatabaseError) {
    var translation = PredicateTranslation(place: place)
    translation.bindings[predicate.variable.key] = .field(PredicateTranslation.Property())
    let result = try translation.predicate(of: predicate.expression)
    if let fault = result.fault { throw fault }
    self = result
  }
}

/// Foundation's expressions as conditions: what each one is, seen from a query.
package struct PredicateTranslation {
  /// What an expression is.
  package enum Side {
    /// A value that does not depend on the record.
    case constant(Any)
    case field(Property)
    case truth(Truth)
    case range(Ends)
  }

  /// A property of the value, or the whole value.
  package struct Property {
    /// The property; nil for the whole value.
    var path: AnyKeyPath?
    /// The property without its optional, to go on from.
    var inside: AnyKeyPath?
    /// Whether the property takes room in the value.
    var hasSize = true
    /// Whether Swift may see nil here.
    var isOptional = false
    /// What is there instead of nil.
    var fallback: Any?
    /// Whether this is an element of the list.
    var isElement = false
    /// The names of unwrapped values that this one lies in.
    var through: [PredicateExpressions.VariableID] = []
  }

  /// A Boolean that may be nil.
  package struct Truth {
    var predicate: Query.Predicate
    /// Passed when Swift sees nil, and then the other one does not matter; nil when that cannot be.
    var absent: Query.Predicate?
  }

  package struct Ends {
    var lower: Any?
    var upper: Any?
    var isClosed: Bool
  }

  /// Where a property is in a record.
  package struct Place: Sendable {
    let key: String
    /// What the property is where the record has no such field; nil of one that every record has, and of an optional.
    let fallback: Record.Value?
    /// Why the field's values are not compared with those of the property, where they have another form.
    let otherForm: DatabaseError?
    /// The property is a whole number, and the field has its digits: the name of a record.
    let isNumberAsText: Bool
    /// What stored values are that the property's type does not know.
    package var unknown: UnknownValues?

    package init(
      key: String, fallback: Record.Value? = nil, otherForm: DatabaseError? = nil, isNumberAsText: Bool = false
    ) {
      self.key = key
      self.fallback = fallback
      self.otherForm = otherForm
      self.isNumberAsText = isNumberAsText
    }
  }

  /// Stored values that a type does not know are another one to Swift: raw values of cases that a newer version has.
  package struct UnknownValues: Sendable {
    /// What they are to Swift.
    let standIn: Record.Value
    /// All values that the type knows; nil when it does not tell.
    let known: [Record.Value]?

    package init(standIn: Record.Value, known: [Record.Value]?) {
      self.standIn = standIn
      self.known = known.map { $0.contains(standIn) ? $0 : $0 + [standIn] }
    }

    /// Whether it is known what the type knows.
    package var tellsAll: Bool { known != nil }

    func seen(_ value: Record.Value) -> Record.Value {
      // Of a list each element is known or not.
      switch value {
      case .strings(let texts): .strings(texts.map { if case .string(let text) = seen(.string($0)) { text } else { $0 } })
      case .ints(let numbers): .ints(numbers.map { if case .int(let number) = seen(.int($0)) { number } else { $0 } })
      default: known.map { $0.contains(value) } ?? true ? value : standIn
      }
    }
  }

  /// What is known of where a property is.
  package enum PropertyName {
    /// Its name in Swift.
    case stored(String)
    /// The field that the type declares for it, in ``RecordKeyPaths``.
    case declared(String)

    var text: String {
      switch self {
      case .stored(let name), .declared(let name): name
      }
    }
  }

  /// The place of a property by its name and type.
  package typealias Places = (_ property: PropertyName, _ type: Any.Type) throws(DatabaseError) -> Place

  let place: Places
  var bindings: [PredicateExpressions.VariableID: Side] = [:]

  func binding(_ key: PredicateExpressions.VariableID, to side: Side) -> PredicateTranslation {
    var other = self
    other.bindings[key] = side
    return other
  }

  func side<E: PredicateExpression>(of expression: E) throws(DatabaseError) -> Side {
    guard let known = expression as? any TranslatedExpression else { throw refusal(expression) }
    return try known.translated(by: self)
  }

  func predicate<E: PredicateExpression>(of expression: E) throws(DatabaseError) -> Query.Predicate {
    let truth = try truth(of: try side(of: expression), expression)
    guard truth.absent == nil else { throw refusal(expression) }
    return truth.predicate
  }

  /// A side as a Boolean; a field is one by its value 1.
  func truth<E: PredicateExpression>(of side: Side, _ expression: E) throws(DatabaseError) -> Truth {
    switch side {
    case .truth(let truth): return truth
    case .constant(let value):
      guard let value = ConstantValue.unwrapped(value) else { return Truth(predicate: .false, absent: .true) }
      guard let isTrue = value as? Bool else { throw refusal(expression) }
      return Truth(predicate: isTrue ? .true : .false)
    case .field(let property):
      guard E.Output.self == Bool.self || E.Output.self == Bool?.self else { throw refusal(expression) }
      return Truth(
        predicate: try condition(property, .compare(.equal, .value(.int(1))), expression),
        absent: property.isOptional ? try absence(of: property, expression) : nil)
    case .range: throw refusal(expression)
    }
  }

  /// The error for an expression that has no counterpart.
  func refusal<E: PredicateExpression>(_ expression: E, _ reason: String? = nil) -> DatabaseError {
    let name = String(String(describing: E.self).prefix { $0 != "<" })
    return refusal(
      of: PredicateOperation.spelling(of: name).map { "\($0) (\(name))" } ?? name, reason)
  }

  /// The same with the name of what was asked for.
  func refusal(of operation: String, _ reason: String? = nil) -> DatabaseError {
    DatabaseError(
      .invalidArguments,
      reason
        ?? "A query has no counterpart for an expression of the predicate; fetch by the rest of it, and filter in Swift.",
      facts: .init(found: operation))
  }
}

extension PredicateTranslation {
  /// The field that a property is in.
  private func field(
    of property: Property
  ) throws(DatabaseError) -> (field: Query.Field, isDeclared: Bool, place: Place) {
    guard let path = property.path else {
      throw DatabaseError(.invalidArguments, "A predicate names properties of the value, not the value itself.")
    }
    let valueType = type(of: path).valueType
    let declared = (type(of: path).rootType as? any RecordKeyPaths.Type)?.anyKeyPaths ?? [:]
    let keys = declared.filter { $0.value == path }.keys
    // Of two keys of a property the first one, whatever the order of the dictionary is.
    if let key = keys.min() {
      let place = try place(.declared(key), valueType)
      // Without the value around it there is no property, and so no default of it.
      if place.fallback != nil, path.debugDescription.contains(where: { $0 == "!" || $0 == "?" }) {
        throw DatabaseError(
          .invalidArguments, "A query does not tell the default of a property from nil of the value that it lies in.",
          facts: .init(key: key))
      }
      return (queryField(place.key, property), true, place)
    }
    // Of one without a size Swift says another's name.
    guard property.hasSize, let name = PredicateTranslation.name(of: path), declared[name] == nil else {
      throw DatabaseError(
        .invalidArguments,
        "The key of a property is not known: Swift does not name one that is computed, inherited or in a property wrapper. "
          + "The type can declare it in recordKeyPaths, of a value within it where that is flattened.",
        facts: .init(found: path.debugDescription))
    }
    let place = try place(.stored(name), valueType)
    return (queryField(place.key, property), false, place)
  }

  private func queryField(_ key: String, _ property: Property) -> Query.Field {
    // The field of all texts is no property.
    let named = Query.Field(key)
    let field = named.system == .text ? Query.Field(key: key) : named
    return property.isElement ? field.any : field
  }

  /// The field that a property is in, for what names properties without a predicate: orders, indexes.
  /// - Throws: `invalidArguments` for a property whose field is not known, and for one that is in several fields or has no order.
  package static func field(of path: AnyKeyPath, place: @escaping Places) throws(DatabaseError) -> Query.Field {
    try fieldAndPlace(of: path, place: place).field
  }

  /// The same, with what the property is where the field has nothing, or what its type does not know.
  package static func fieldAndPlace(
    of path: AnyKeyPath, place: @escaping Places
  ) throws(DatabaseError) -> (field: Query.Field, place: Place) {
    let valueType = type(of: path).valueType
    let property = Property(path: path, hasSize: hasSize(valueType))
    let (field, isDeclared, place) = try PredicateTranslation(place: place).field(of: property)
    if place.isNumberAsText {
      throw DatabaseError(
        .invalidArguments,
        "The number is the record's name, and names have the order of texts, in which 10 comes before 9; a field of its own has that of numbers.",
        facts: .init(key: field.name, found: "\(valueType)"))
    }
    guard isDeclared || ConstantValue.isOneValue(valueType), !ConstantValue.isDecimal(valueType) else {
      throw DatabaseError(
        .invalidArguments,
        "Values of the property have no order in a record: they are in several fields, or in a form of their own.",
        facts: .init(key: field.name, found: "\(valueType)"))
    }
    return (field, place)
  }

  private static func hasSize<T>(_ type: T.Type) -> Bool { MemoryLayout<T>.size > 0 }

  /// The name of a stored property; nil of a computed one, and of one of another property's.
  private static func name(of path: AnyKeyPath) -> String? {
    let text = path.debugDescription
    guard let last = text.lastIndex(of: ".") else { return nil }
    let name = text[text.index(after: last)...]
    let root = text[..<last].dropFirst()
    guard root == String(describing: type(of: path).rootType) else { return nil }
    let isName = name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
    return isName && !name.isEmpty ? String(name) : nil
  }

  /// A condition on a property, and what it says where Swift sees the fallback.
  func condition<E: PredicateExpression>(
    _ property: Property, _ test: Query.Condition.Test, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate {
    let (field, _, place) = try field(of: property)
    if let otherForm = place.otherForm { throw otherForm }
    let test = place.isNumberAsText ? try ofDigits(test, expression) : test
    let condition = try self.condition(field, test, place.unknown, expression)
    // An element is none of a list's default: the list is asked, when all is known that one element has to pass.
    guard !property.isElement, let fallback = place.fallback ?? property.fallback else { return condition }
    guard var value = try ConstantValue.value(of: fallback, expression, self) else { throw refusal(expression) }
    if let unknown = place.unknown { value = unknown.seen(value) }
    let known = Query.Predicate(Query.Condition(Query.Field("value"), test))
    return try passes(known, value, in: "value") ? field.isAbsent.or(condition) : condition
  }

  /// The value of a constant that a property is compared with; the digits of one that only the name of a record has room for.
  private func value<E: PredicateExpression>(
    of constant: Any, for property: Property, _ expression: E
  ) throws(DatabaseError) -> Record.Value? {
    if let number = ConstantValue.unwrapped(constant) as? any FixedWidthInteger, let digits = Self.digits(ofLarge: number),
      try field(of: property).place.isNumberAsText
    {
      return .string(digits)
    }
    return try ConstantValue.value(of: constant, expression, self)
  }

  private static func digits(ofLarge number: some FixedWidthInteger) -> String? {
    Int64(exactly: number) == nil ? String(number) : nil
  }

  /// A test of a number as one of its digits.
  private func ofDigits<E: PredicateExpression>(
    _ test: Query.Condition.Test, _ expression: E
  ) throws(DatabaseError) -> Query.Condition.Test {
    func digits(_ value: Record.Value) -> Record.Value {
      if case .int(let number) = value { .string(String(number)) } else { value }
    }
    switch test {
    case .compare(.equal, .value(let value)): return .compare(.equal, .value(digits(value)))
    case .compare(.notEqual, .value(let value)): return .compare(.notEqual, .value(digits(value)))
    case .isIn(let values): return .isIn(values.map(digits))
    default:
      throw refusal(
        expression,
        "The number is the record's name, and names have the order of texts, in which 10 comes before 9; a field of its own has that of numbers."
      )
    }
  }

  /// A condition on a field whose values the type may not know.
  ///
  /// Constants are values that it knows: only the one that unknown values are makes a difference.
  private func condition<E: PredicateExpression>(
    _ field: Query.Field, _ test: Query.Condition.Test, _ unknown: UnknownValues?, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate {
    let condition = Query.Predicate(Query.Condition(field, test))
    guard let unknown else { return condition }
    var isOfUnknown = false
    test.forEachConstant { value in
      if value == unknown.standIn || value.elements?.contains(unknown.standIn) == true { isOfUnknown = true }
    }
    guard isOfUnknown else { return condition }
    if let known = unknown.known, !field.isAny {
      let isKnown = Query.Predicate(Query.Condition(field, .isIn(known)))
      switch test {
      case .compare(.equal, .value(unknown.standIn)), .isIn: return condition || (!field.isAbsent && !isKnown)
      case .compare(.notEqual, .value(unknown.standIn)): return condition && isKnown
      default: break
      }
    }
    throw refusal(
      expression,
      "The fallback of an enum is found where the enum is CaseIterable, and not in lists; filter in Swift otherwise.")
  }

  private func passes(_ predicate: Query.Predicate, _ value: Record.Value, in key: String) throws(DatabaseError) -> Bool {
    var record = try Record(type: "Fallback")
    try record.set(value, forKey: key)
    return predicate.matches(record)
  }

  /// What is asked of the elements of a list, where the records without the field have the list of the default.
  func elements(of property: Property, _ test: Query.Predicate) throws(DatabaseError) -> Query.Predicate {
    let (field, _, place) = try field(of: property)
    guard let fallback = place.fallback,
      try passes(test, place.unknown.map { $0.seen(fallback) } ?? fallback, in: field.name)
    else { return test }
    return field.isAbsent.or(test)
  }

  func absence<E: PredicateExpression>(of property: Property, _ expression: E) throws(DatabaseError) -> Query.Predicate {
    let (field, isDeclared, place) = try field(of: property)
    // With a default it is never nil.
    if place.fallback != nil { return .false }
    // Whatever is not one value is in several fields, or in one, as its coder says.
    guard isDeclared || ConstantValue.isOneValue(property.path.map { type(of: $0).valueType }) else {
      throw DatabaseError(
        .invalidArguments, "It is not known where a value of several parts is; the type can declare its key in recordKeyPaths.",
        facts: .init(key: field.name))
    }
    return field.isAbsent
  }

  /// Whether a side equals another.
  func equality<L: PredicateExpression, R: PredicateExpression, E: PredicateExpression>(
    _ left: L, _ right: R, isNegated: Bool, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate where L.Output: Equatable, L.Output == R.Output {
    switch (try side(of: left), try side(of: right)) {
    case (.constant(let a), .constant(let b)):
      guard let a = a as? L.Output, let b = b as? L.Output else { throw refusal(expression) }
      return (a == b) != isNegated ? .true : .false
    case (.field(let property), .constant(let value)), (.constant(let value), .field(let property)):
      return try equality(property, value, isNegated: isNegated, expression)
    case (.truth(let truth), .constant(let value)), (.constant(let value), .truth(let truth)):
      let result: Query.Predicate
      switch ConstantValue.unwrapped(value) as? Bool {
      case nil: result = truth.absent ?? .false
      case true?: result = truth.guarded(truth.predicate)
      case false?: result = truth.guarded(truth.predicate.negated)
      }
      return isNegated ? result.negated : result
    case (.field, .field):
      throw refusal(expression, "A query does not compare two properties with each other.")
    default: throw refusal(expression)
    }
  }

  func equality<E: PredicateExpression>(
    _ property: Property, _ constant: Any, isNegated: Bool, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate {
    guard let value = try value(of: constant, for: property, expression) else {
      let result = property.isOptional ? try absence(of: property, expression) : .false
      return isNegated ? result.negated : result
    }
    // Nothing equals NaN.
    if value.isNotANumber { return isNegated ? .true : .false }
    // In Swift nil is another value than this one.
    if isNegated, property.isOptional || property.fallback != nil {
      return try condition(property, .compare(.equal, .value(value)), expression).negated
    }
    return try condition(property, .compare(isNegated ? .notEqual : .equal, .value(value)), expression)
  }

  /// Whether a property lies on one side of a constant.
  func order<E: PredicateExpression>(
    _ property: Property, _ comparison: Query.Comparison, _ constant: Any, _ type: Any.Type, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate {
    guard ConstantValue.isOrdered(type) else {
      throw refusal(expression, "Values of this type have no order in a record; a Decimal is text there.")
    }
    guard let value = try ConstantValue.value(of: constant, expression, self) else { throw refusal(expression) }
    return value.isNotANumber ? .false : try condition(property, .compare(comparison, .value(value)), expression)
  }

  /// Whether a property lies in a range.
  func contains<E: PredicateExpression>(
    _ ends: Ends, _ property: Property, _ type: Any.Type, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate {
    if ends.isClosed, let lower = ends.lower, let upper = ends.upper {
      let isLower = try order(property, .greaterOrEqual, lower, type, expression)
      let isUpper = try order(property, .lessOrEqual, upper, type, expression)
      guard property.fallback == nil, case .condition(let first) = isLower.term, case .condition(let last) = isUpper.term,
        case .compare(_, let lower) = first.test, case .compare(_, let upper) = last.test
      else { return isLower.and(isUpper) }
      return try condition(property, .between(lower, upper), expression)
    }
    var result = Query.Predicate.true
    if let lower = ends.lower { result = try order(property, .greaterOrEqual, lower, type, expression) }
    if let upper = ends.upper {
      result = result.and(try order(property, ends.isClosed ? .lessOrEqual : .less, upper, type, expression))
    }
    return result
  }

  /// Whether a property is one of some constants.
  func contains<E: PredicateExpression>(
    _ constants: any Sequence, _ property: Property, _ expression: E
  ) throws(DatabaseError) -> Query.Predicate {
    var values: [Record.Value] = []
    var hasNil = false
    for constant in ConstantValue.elements(of: constants) {
      guard let value = try value(of: constant, for: property, expression) else {
        hasNil = true
        continue
      }
      if !value.isNotANumber { values.append(value) }
    }
    let result = values.isEmpty ? Query.Predicate.false : try condition(property, .isIn(values), expression)
    return hasNil && property.isOptional ? result.or(try absence(of: property, expression)) : result
  }

  /// A test of a property's text.
  func text<E: PredicateExpression>(
    _ side: Side, _ other: Side, _ type: Any.Type, _ expression: E, _ test: (String) -> Query.Condition.Test
  ) throws(DatabaseError) -> Query.Predicate {
    guard case .field(let property) = side, case .constant(let constant) = other, type == String.self else {
      throw refusal(expression)
    }
    let text: String
    switch constant {
    case let string as String: text = string
    case let part as Substring: text = String(part)
    case let character as Character: text = String(character)
    default: throw refusal(expression)
    }
    return try condition(property, test(text), expression)
  }
}

extension PredicateTranslation.Truth {
  /// The predicate where Swift does not see nil, false where it does.
  func guarded(_ predicate: Query.Predicate) -> Query.Predicate {
    guard let absent else { return predicate }
    // A condition is not passed by an absent field as it is.
    if case .condition(let condition) = predicate.term, case .condition(let absence) = absent.term,
      condition.test != .isAbsent, absence.test == .isAbsent, condition.field.whole == absence.field
    {
      return predicate
    }
    return absent.negated.and(predicate)
  }
}

extension Query.Predicate {
  /// Both, without constants among them.
  func and(_ other: Query.Predicate) -> Query.Predicate {
    if self == .false || other == .false { return .false }
    return self == .true ? other : other == .true ? self : self && other
  }

  /// One of both, without constants among them.
  func or(_ other: Query.Predicate) -> Query.Predicate {
    if self == .true || other == .true { return .true }
    return self == .false ? other : other == .false ? self : self || other
  }

  /// The others; constants are turned around.
  var negated: Query.Predicate { self == .true ? .false : self == .false ? .true : !self }
}

extension Record.Value {
  var isNotANumber: Bool { if case .double(let number) = self { number.isNaN } else { false } }
}
