#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The types that have a value of a record without their own code, and what the options make of them.
///
/// Types are compared before anything is cast: a comparison is that of two words, a cast to a protocol looks into a table.
extension EncodingScope {
  /// The value of a type that is known; nil for another.
  func leaf<T: Encodable>(_ value: T, _ target: FieldTarget) throws -> Record.Value? {
    if T.self == String.self { return .string(same(value, as: String.self)) }
    if T.self == Date.self { return try date(same(value, as: Date.self), target) }
    if T.self == URL.self { return try url(same(value, as: URL.self), target) }
    if T.self == UUID.self { return .string(same(value, as: UUID.self).uuidString) }
    if T.self == Data.self { return data(same(value, as: Data.self), target) }
    if T.self == Double.self { return try number(same(value, as: Double.self), target) }
    if T.self == Float.self { return try number(Double(same(value, as: Float.self)), target) }
    if T.self == Decimal.self { return try decimal(same(value, as: Decimal.self), target) }
    if T.self == Location.self { return try location(same(value, as: Location.self), target) }
    if T.self == Record.Reference.self { return try reference(same(value, as: Record.Reference.self), target) }
    if T.self == Record.ID.self {
      return try reference(Record.Reference(same(value, as: Record.ID.self), action: action(target)), target)
    }
    if let list = try list(value, target) { return list }
    // What is in it is treated as what it is, in its place.
    if T.self is any OptionalValue.Type { return nil }
    guard let convertible = value as? any RecordValueConvertible else { return nil }
    let converted: Record.Value
    do throws(DatabaseError) { converted = try convertible.checkedRecordValue() } catch {
      throw target.error(.unsupportedValue, "No field can hold the value.", facts: error.facts, cause: error)
    }
    // An optional that holds one of the types above is opened by the cast: it is treated as what it holds.
    switch converted {
    case .date, .dates, .bytes, .bytesList, .double, .doubles, .location, .locations, .reference, .references:
      return T.self is any OptionalValue.Type ? nil : converted
    case .asset, .assets:
      hasAssets = true
      return converted
    default: return converted
    }
  }

  /// Lists whose elements the options may change, or whose element type has no list of its own.
  private func list<T>(_ value: T, _ target: FieldTarget) throws -> Record.Value? {
    if T.self == [String].self { return .strings(same(value, as: [String].self)) }
    if T.self == [Int].self { return .ints(same(value, as: [Int].self).map { Int64($0) }) }
    if T.self == [Date].self {
      guard !isNative(target) else { return .dates(same(value, as: [Date].self)) }
      return try typed(same(value, as: [Date].self).map { try date($0, target) }, target)
    }
    if T.self == [Data].self {
      if case .bytes = dataStrategy(target) { return .bytesList(same(value, as: [Data].self)) }
      return try typed(same(value, as: [Data].self).map { data($0, target) }, target)
    }
    if T.self == [URL].self { return try typed(same(value, as: [URL].self).map { try url($0, target) }, target) }
    if T.self == [UUID].self { return .strings(same(value, as: [UUID].self).map(\.uuidString)) }
    if T.self == [Double].self { return try doubles(same(value, as: [Double].self), target) }
    if T.self == [Float].self { return try doubles(same(value, as: [Float].self).map { Double($0) }, target) }
    if T.self == [Decimal].self { return try typed(same(value, as: [Decimal].self).map { try decimal($0, target) }, target) }
    if T.self == [Location].self {
      if case .native = options.locations { return .locations(same(value, as: [Location].self)) }
      return try typed(same(value, as: [Location].self).map { try location($0, target) }, target)
    }
    if T.self == Set<Date>.self { return try sorted(same(value, as: Set<Date>.self), target) }
    if T.self == Set<Double>.self { return try sorted(same(value, as: Set<Double>.self), target) }
    if T.self == Set<Float>.self { return try sorted(same(value, as: Set<Float>.self), target) }
    if T.self == Set<Location>.self { return try sorted(same(value, as: Set<Location>.self), target) }
    if T.self == Set<Record.Reference>.self { return try sorted(same(value, as: Set<Record.Reference>.self), target) }
    if T.self == Set<Data>.self {
      // Assets have no order of their own.
      let contents = same(value, as: Set<Data>.self).sorted { $0.lexicographicallyPrecedes($1) }
      return try list(contents, target)?.sortedList
    }
    if T.self == [Record.ID].self {
      let action = action(target)
      return .references(
        try same(value, as: [Record.ID].self).map { try checked(Record.Reference($0, action: action), target) })
    }
    if T.self == [Record.Reference].self {
      return .references(try same(value, as: [Record.Reference].self).map { try checked($0, target) })
    }
    return nil
  }

  private func sorted<Element>(_ elements: Set<Element>, _ target: FieldTarget) throws -> Record.Value? {
    try list(Array(elements), target)?.sortedList
  }

  /// A list of values that are all of one kind.
  private func typed(_ values: [Record.Value], _ target: FieldTarget) throws -> Record.Value {
    if values.isEmpty { return emptyOfStrategy(target) }
    if let list = ListValue.list(of: values) { return list }
    throw target.error(
      .unsupportedValue, "The elements of a list are all of one kind: files and addresses, or bytes and assets, do not mix.")
  }

  /// The kind of a list that has no element to tell it.
  private func emptyOfStrategy(_ target: FieldTarget) -> Record.Value {
    switch dataStrategy(target) {
    case .asset: if case .data? = target.rule { return .assets([]) }
    default: break
    }
    return .strings([])
  }

  private func isNative(_ target: FieldTarget) -> Bool {
    if case .native = dateStrategy(target) { true } else { false }
  }

  private func dateStrategy(_ target: FieldTarget) -> RecordCodingOptions.DateStrategy {
    if case .date(let strategy)? = target.rule { strategy } else { options.dates }
  }

  private func dataStrategy(_ target: FieldTarget) -> RecordCodingOptions.DataStrategy {
    switch target.rule {
    case .data(let strategy)?: strategy
    case .asset?: .asset
    default: options.data
    }
  }

  func date(_ date: Date, _ target: FieldTarget) throws -> Record.Value {
    switch dateStrategy(target) {
    case .native: return .date(date)
    case .secondsSince1970: return try number(date.timeIntervalSince1970, target)
    case .millisecondsSince1970: return try number(date.timeIntervalSince1970 * 1000, target)
    case .iso8601:
      guard let text = ISODate.text(of: date) else {
        throw target.error(.unsupportedValue, "The date is not within the years that have four digits.")
      }
      return .string(text)
    case .custom(let encode, _):
      do { return try encode(date) } catch { throw RecordCodingError(error, in: target.path) }
    }
  }

  func data(_ data: Data, _ target: FieldTarget) -> Record.Value {
    switch dataStrategy(target) {
    case .bytes: .bytes(data)
    case .base64: .string(data.base64EncodedString())
    case .asset: .asset(Asset(data: data))
    case .assetAbove(let limit): data.count > limit ? .asset(Asset(data: data)) : .bytes(data)
    }
  }

  func number(_ number: Double, _ target: FieldTarget) throws -> Record.Value {
    guard number.isNaN else { return .double(number) }
    if case .text(let text) = options.notANumber { return .string(text) }
    throw target.error(.unsupportedValue, "A value that is not a number (NaN) cannot be stored.")
  }

  private func doubles(_ numbers: [Double], _ target: FieldTarget) throws -> Record.Value {
    guard numbers.contains(where: \.isNaN) else { return .doubles(numbers) }
    guard case .text(let text) = options.notANumber else { return try number(.nan, target) }
    // Texts, because a list has one kind; they read back as numbers.
    return .strings(numbers.map { $0.isNaN ? text : $0.description })
  }

  private func decimal(_ decimal: Decimal, _ target: FieldTarget) throws -> Record.Value {
    if decimal.isNaN { return try number(.nan, target) }
    return .string(DecimalText.text(of: decimal))
  }

  /// A file is an asset, everything else its text.
  func url(_ url: URL, _ target: FieldTarget) throws -> Record.Value {
    guard url.isFileURL else { return .string(url.absoluteString) }
    hasAssets = true
    do throws(DatabaseError) { return .asset(try Asset(fileURL: url.absoluteURL)) } catch {
      throw target.error(
        .unsupportedValue, "The file of the URL cannot become an asset.", facts: error.facts, cause: error)
    }
  }

  func location(_ location: Location, _ target: FieldTarget) throws -> Record.Value {
    if case .native = options.locations { return .location(location) }
    guard let text = LocationText.text(of: location) else {
      throw target.error(.unsupportedValue, "A place with more than latitude and longitude does not fit into a text.")
    }
    return .string(text)
  }

  // MARK: whole numbers

  func integer<I: FixedWidthInteger>(_ number: I, _ target: @autoclosure () -> FieldTarget) throws -> Record.Value {
    if let exact = Int64(exactly: number) { return .int(exact) }
    throw target().error(
      .unsupportedValue, "A whole number must lie in the range of Int64.", facts: .init(expected: "Int64", found: "\(I.self)"))
  }

  // MARK: references

  private func action(_ target: FieldTarget) -> Record.Reference.Action {
    if case .reference(let action)? = target.rule { action } else { .none }
  }

  private func reference(_ reference: Record.Reference, _ target: FieldTarget) throws -> Record.Value {
    .reference(try checked(reference, target))
  }

  /// Source and target are in one zone.
  private func checked(_ reference: Record.Reference, _ target: FieldTarget) throws -> Record.Reference {
    let own = fields.id.zone
    guard reference.id.zone == own else {
      throw target.error(
        .unsupportedValue, "A record and those that it refers to are in one zone.",
        facts: .init(zone: own, key: target.field, target: reference.id))
    }
    return reference
  }

  /// A value that is a record of its own; nil when it is to be part of this one.
  func referred<T: Encodable>(_ value: T, _ target: FieldTarget) throws -> (any RecordEncodable)? {
    switch target.rule {
    case .reference?, .parent?: break
    case nil: if graph == nil { return nil }
    default: return nil
    }
    guard let record = value as? any RecordEncodable else { return nil }
    // The graph makes its record, which is read as the property's type.
    let known = T.self is any OptionalValue.Type ? (T.self as? any ListOfElements.Type)?.elementType ?? T.self : T.self
    if graph != nil, let type = known as? any RecordEncodable.Type, Swift.type(of: record) != type {
      do { try SuperclassCheck.check(record, as: type, options) } catch {
        throw RecordCodingError(error.code, error.message, path: target.path + error.path, facts: error.facts)
      }
    }
    return record
  }

  /// The reference to a value that is a record of its own.
  func reference(of referred: any RecordEncodable, _ target: FieldTarget) throws -> Record.Reference {
    let action: Record.Reference.Action =
      switch target.rule {
      case .reference(let own)?: own
      case .parent?: .none
      default: .deleteSelf
      }
    do {
      // What is new belongs to the zone of what refers to it.
      let zone = fields.id.zone
      let id = try graph?.refer(to: referred, in: zone) ?? RecordIdentity.id(of: referred, in: zone)
      if graph == nil {
        let isParent = if case .parent? = target.rule { true } else { false }
        referredValues.append(
          ReferredValue(
            source: fields.id, field: isParent ? nil : target.field, target: id,
            type: options.checksRecordType ? type(of: referred).recordType : nil,
            contents: comparesReferred ? contents(of: referred) : nil))
      }
      return try checked(Record.Reference(id, action: action), target)
    } catch let error as RecordCodingError where error.path.isEmpty {
      throw target.error(error.code, error.message, facts: error.facts, cause: error.cause)
    }
  }

  /// The record of a value by itself.
  private func contents(of value: some RecordEncodable) -> Record? {
    var own = options
    own.rules = [:]
    return try? RecordEncoder(zone: fields.id.zone, options: own).encode(value)
  }

  /// The list that stands for no elements of a type; nil when the type does not tell.
  func emptyList(_ type: Any.Type, _ target: FieldTarget) throws -> Record.Value? {
    guard let elements = (type as? any ListOfElements.Type)?.elementType else { return nil }
    if elements is any RecordEncodable.Type, graph != nil || target.rule.map(isReference) == true { return .references([]) }
    if [ObjectIdentifier(UUID.self), .init(URL.self), .init(Decimal.self)].contains(.init(elements)) { return .strings([]) }
    if let element = elements as? any RecordListElement.Type { return element.emptyList }
    if let raw = (elements as? any RawRepresentable.Type).flatMap({ rawType(of: $0) }) {
      return (raw as? any RecordListElement.Type)?.emptyList
    }
    return elements == Bool.self ? .ints([]) : nil
  }

  private func isReference(_ rule: FieldRule) -> Bool {
    if case .reference = rule { true } else { false }
  }

  private func rawType<R: RawRepresentable>(of type: R.Type) -> Any.Type { R.RawValue.self }
}

extension RecordListElement {
  fileprivate static var emptyList: Record.Value { recordListValue([]) }
}

/// Optionals, which a cast would open unseen.
protocol OptionalValue {
  static var absent: Self { get }
  /// Of the value in it, also where that is in several optionals.
  static var wrappedType: Any.Type { get }
}
extension Optional: OptionalValue {
  static var absent: Self { nil }
  static var wrappedType: Any.Type { (Wrapped.self as? any OptionalValue.Type)?.wrappedType ?? Wrapped.self }
}

/// Lists, so that an empty one can tell what it is a list of.
protocol ListOfElements { static var elementType: Any.Type { get } }
extension Array: ListOfElements { static var elementType: Any.Type { Element.self } }
extension ArraySlice: ListOfElements { static var elementType: Any.Type { Element.self } }
extension ContiguousArray: ListOfElements { static var elementType: Any.Type { Element.self } }
extension Set: ListOfElements { static var elementType: Any.Type { Element.self } }
extension Optional: ListOfElements {
  static var elementType: Any.Type { (Wrapped.self as? any ListOfElements.Type)?.elementType ?? Wrapped.self }
}

/// Values whose elements are in another order each time the program runs: their lists are sorted, so that equal values are equal
/// fields.
protocol UnorderedElements {
  /// How many of them belong together.
  static var groupCount: Int { get }
}
extension Set: UnorderedElements { static var groupCount: Int { 1 } }
/// A dictionary whose keys are no texts is a list of keys, each with its value after it.
extension Dictionary: UnorderedElements { static var groupCount: Int { 2 } }

/// How many elements of a list belong together where these groups have no order; 0 where the elements have one.
func unorderedGroupCount<T>(_ type: T.Type) -> Int { (T.self as? any UnorderedElements.Type)?.groupCount ?? 0 }
