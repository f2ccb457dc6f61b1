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
  func leaf<T: Encodable>(_ value: T, _ place: FieldPlace) throws -> Record.Value? {
    if T.self == String.self { return .string(same(value, as: String.self)) }
    if T.self == Date.self { return try date(same(value, as: Date.self), place) }
    if T.self == URL.self { return try url(same(value, as: URL.self), place) }
    if T.self == UUID.self { return .string(same(value, as: UUID.self).uuidString) }
    if T.self == Data.self { return data(same(value, as: Data.self), place) }
    if T.self == Double.self { return try number(same(value, as: Double.self), place) }
    if T.self == Float.self { return try number(Double(same(value, as: Float.self)), place) }
    if T.self == Decimal.self { return try decimal(same(value, as: Decimal.self), place) }
    if T.self == Location.self { return try location(same(value, as: Location.self), place) }
    if T.self == Record.Reference.self { return try reference(same(value, as: Record.Reference.self), place) }
    if T.self == Record.ID.self {
      return try reference(Record.Reference(same(value, as: Record.ID.self), action: action(place)), place)
    }
    if let list = try list(value, place) { return list }
    guard let convertible = value as? any RecordValueConvertible else { return nil }
    let converted: Record.Value
    do throws(DatabaseError) { converted = try convertible.checkedRecordValue() } catch {
      throw place.error(.unsupportedValue, "No field can hold the value.", facts: error.facts, cause: error)
    }
    // An optional that holds one of the types above is opened by the cast: it is treated as what it holds.
    switch converted {
    case .date, .dates, .bytes, .bytesList, .double, .doubles, .location, .locations, .reference, .references:
      return T.self is any OptionalValue.Type ? nil : converted
    default: return converted
    }
  }

  /// Lists whose elements the options may change, or whose element type has no list of its own.
  private func list<T>(_ value: T, _ place: FieldPlace) throws -> Record.Value? {
    if T.self == [String].self { return .strings(same(value, as: [String].self)) }
    if T.self == [Int].self { return .ints(same(value, as: [Int].self).map { Int64($0) }) }
    if T.self == [Date].self {
      guard !isNative(place) else { return .dates(same(value, as: [Date].self)) }
      return try typed(same(value, as: [Date].self).map { try date($0, place) }, place)
    }
    if T.self == [Data].self {
      if case .bytes = dataStrategy(place) { return .bytesList(same(value, as: [Data].self)) }
      return try typed(same(value, as: [Data].self).map { data($0, place) }, place)
    }
    if T.self == [URL].self { return try typed(same(value, as: [URL].self).map { try url($0, place) }, place) }
    if T.self == [UUID].self { return .strings(same(value, as: [UUID].self).map(\.uuidString)) }
    if T.self == [Double].self { return try doubles(same(value, as: [Double].self), place) }
    if T.self == [Float].self { return try doubles(same(value, as: [Float].self).map { Double($0) }, place) }
    if T.self == [Decimal].self { return try typed(same(value, as: [Decimal].self).map { try decimal($0, place) }, place) }
    if T.self == [Location].self {
      if case .native = options.locations { return .locations(same(value, as: [Location].self)) }
      return try typed(same(value, as: [Location].self).map { try location($0, place) }, place)
    }
    if T.self == [Record.ID].self {
      let action = action(place)
      return .references(
        try same(value, as: [Record.ID].self).map { try checked(Record.Reference($0, action: action), place) })
    }
    if T.self == [Record.Reference].self {
      return .references(try same(value, as: [Record.Reference].self).map { try checked($0, place) })
    }
    return nil
  }

  /// A list of values that are all of one kind.
  private func typed(_ values: [Record.Value], _ place: FieldPlace) throws -> Record.Value {
    if values.isEmpty { return emptyOfStrategy(place) }
    if let list = ListValue.list(of: values) { return list }
    throw place.error(
      .unsupportedValue, "The elements of a list are all of one kind: files and addresses, or bytes and assets, do not mix.")
  }

  /// The kind of a list that has no element to tell it.
  private func emptyOfStrategy(_ place: FieldPlace) -> Record.Value {
    switch dataStrategy(place) {
    case .asset: if case .data? = place.rule { return .assets([]) }
    default: break
    }
    return .strings([])
  }

  private func isNative(_ place: FieldPlace) -> Bool {
    if case .native = dateStrategy(place) { true } else { false }
  }

  private func dateStrategy(_ place: FieldPlace) -> RecordCodingOptions.DateStrategy {
    if case .date(let strategy)? = place.rule { strategy } else { options.dates }
  }

  private func dataStrategy(_ place: FieldPlace) -> RecordCodingOptions.DataStrategy {
    switch place.rule {
    case .data(let strategy)?: strategy
    case .asset?: .asset
    default: options.data
    }
  }

  func date(_ date: Date, _ place: FieldPlace) throws -> Record.Value {
    switch dateStrategy(place) {
    case .native: return .date(date)
    case .secondsSince1970: return try number(date.timeIntervalSince1970, place)
    case .millisecondsSince1970: return try number(date.timeIntervalSince1970 * 1000, place)
    case .iso8601:
      guard let text = ISODate.text(of: date) else {
        throw place.error(.unsupportedValue, "The date is not within the years that have four digits.")
      }
      return .string(text)
    case .custom(let encode, _):
      do { return try encode(date) } catch { throw RecordCodingError(error, in: place.path) }
    }
  }

  func data(_ data: Data, _ place: FieldPlace) -> Record.Value {
    switch dataStrategy(place) {
    case .bytes: .bytes(data)
    case .base64: .string(data.base64EncodedString())
    case .asset: .asset(Asset(data: data))
    case .assetAbove(let limit): data.count > limit ? .asset(Asset(data: data)) : .bytes(data)
    }
  }

  func number(_ number: Double, _ place: FieldPlace) throws -> Record.Value {
    guard number.isNaN else { return .double(number) }
    if case .text(let text) = options.notANumber { return .string(text) }
    throw place.error(.unsupportedValue, "A value that is not a number (NaN) cannot be stored.")
  }

  private func doubles(_ numbers: [Double], _ place: FieldPlace) throws -> Record.Value {
    guard numbers.contains(where: \.isNaN) else { return .doubles(numbers) }
    guard case .text(let text) = options.notANumber else { return try number(.nan, place) }
    // Texts, because a list has one kind; they read back as numbers.
    return .strings(numbers.map { $0.isNaN ? text : $0.description })
  }

  private func decimal(_ decimal: Decimal, _ place: FieldPlace) throws -> Record.Value {
    if decimal.isNaN { return try number(.nan, place) }
    return .string(DecimalText.text(of: decimal))
  }

  /// A file is an asset, everything else its text.
  func url(_ url: URL, _ place: FieldPlace) throws -> Record.Value {
    guard url.isFileURL else { return .string(url.absoluteString) }
    do throws(DatabaseError) { return .asset(try Asset(fileURL: url.absoluteURL)) } catch {
      throw place.error(
        .unsupportedValue, "The file of the URL cannot become an asset.", facts: error.facts, cause: error)
    }
  }

  func location(_ location: Location, _ place: FieldPlace) throws -> Record.Value {
    if case .native = options.locations { return .location(location) }
    guard let text = LocationText.text(of: location) else {
      throw place.error(.unsupportedValue, "A place with more than latitude and longitude does not fit into a text.")
    }
    return .string(text)
  }

  // MARK: whole numbers

  func integer<I: FixedWidthInteger>(_ number: I, _ place: @autoclosure () -> FieldPlace) throws -> Record.Value {
    if let exact = Int64(exactly: number) { return .int(exact) }
    throw place().error(
      .unsupportedValue, "A whole number must lie in the range of Int64.", facts: .init(expected: "Int64", found: "\(I.self)"))
  }

  // MARK: references

  private func action(_ place: FieldPlace) -> Record.Reference.Action {
    if case .reference(let action)? = place.rule { action } else { .none }
  }

  private func reference(_ reference: Record.Reference, _ place: FieldPlace) throws -> Record.Value {
    .reference(try checked(reference, place))
  }

  /// Source and target are in one zone.
  private func checked(_ reference: Record.Reference, _ place: FieldPlace) throws -> Record.Reference {
    let own = fields.id.zone
    guard reference.id.zone == own else {
      throw place.error(
        .unsupportedValue, "A record and those that it refers to are in one zone.",
        facts: .init(zone: own, key: place.field, target: reference.id))
    }
    return reference
  }

  /// The reference to a value that is a record of its own; nil when it is to be part of this one.
  func reference<T: Encodable>(to value: T, _ place: FieldPlace) throws -> Record.Reference? {
    var action = Record.Reference.Action.deleteSelf
    switch place.rule {
    case .reference(let own)?: action = own
    case .parent?: action = .none
    case nil: if graph == nil { return nil }
    default: return nil
    }
    guard let target = value as? any RecordEncodable else { return nil }
    do {
      // What is new belongs to the zone of what refers to it.
      let zone = fields.id.zone
      let id = try graph?.refer(to: target, in: zone) ?? RecordIdentity.id(of: target, in: zone)
      return try checked(Record.Reference(id, action: action), place)
    } catch let error as RecordCodingError where error.path.isEmpty {
      throw place.error(error.code, error.message, facts: error.facts, cause: error.cause)
    }
  }

  /// The list that stands for no elements of a type; nil when the type does not tell.
  func emptyList(_ type: Any.Type, _ place: FieldPlace) throws -> Record.Value? {
    guard let elements = (type as? any ListOfElements.Type)?.elementType else { return nil }
    if elements is any RecordEncodable.Type, graph != nil || place.rule.map(isReference) == true { return .references([]) }
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
protocol OptionalValue {}
extension Optional: OptionalValue {}

/// Lists, so that an empty one can tell what it is a list of.
protocol ListOfElements { static var elementType: Any.Type { get } }
extension Array: ListOfElements { static var elementType: Any.Type { Element.self } }
extension ArraySlice: ListOfElements { static var elementType: Any.Type { Element.self } }
extension ContiguousArray: ListOfElements { static var elementType: Any.Type { Element.self } }
extension Set: ListOfElements { static var elementType: Any.Type { Element.self } }
extension Optional: ListOfElements {
  static var elementType: Any.Type { (Wrapped.self as? any ListOfElements.Type)?.elementType ?? Wrapped.self }
}

/// Sets, whose order is another one each time the program runs: their lists are sorted, so that equal sets are equal fields.
protocol UnorderedElements {}
extension Set: UnorderedElements {}
