#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The decoder of one field, of an element of a list, or of a value within JSON.
struct FieldDecoder: Decoder {
  let scope: DecodingScope
  let source: DecodingSource
  let target: FieldTarget
  /// An element of a list is never flattened.
  private let isElement: Bool
  /// The step of a flattened value, for those who ask afterwards whether it had fields.
  private let flattened: PathStep?
  /// What an error says where there is nothing.
  private let absence: String
  /// A type asks for the value in its own place, maybe in one way after the other.
  private var isTried = false

  init(
    _ scope: DecodingScope, _ source: DecodingSource, _ target: FieldTarget, isElement: Bool = false,
    flattened: PathStep? = nil, absence: String = RecordCodingError.noField
  ) {
    self.flattened = flattened
    self.absence = absence
    self.scope = scope
    self.source = source
    self.target = target
    self.isElement = isElement
  }

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(target.above, target.key) }
  var userInfo: [CodingUserInfoKey: Any] { scope.userInfo }

  private func step() -> PathStep {
    flattened ?? PathStep(target.key, after: target.above, prefix: isFlattened ? target.field + "_" : "")
  }

  /// Whether a value with keys has its own fields. What is there whole, as it was encoded with other options, is read whole.
  private var isFlattened: Bool {
    guard !isElement, scope.isFlattened(target) else { return false }
    switch source {
    case .absent, .value(.int): return true
    default: return false
    }
  }

  // MARK: containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if isFlattened { return KeyedDecodingContainer(FieldsDecodingContainer<Key>(scope: scope, above: step())) }
    do {
      guard case .object(let members) = try json(expecting: [String: Any].self) else {
        throw mismatch([String: Any].self)
      }
      return KeyedDecodingContainer(JSONObjectDecoding<Key>(members: members, scope: scope, step: step()))
    } catch let error as DecodingError {
      guard let list = try propertyListDecoder(after: error) else { throw error }
      do { return try list.container(keyedBy: type) } catch is DecodingError { throw mismatch([String: Any].self) }
    }
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    if case .value(let value) = source, let count = value.elementCount {
      return ListDecoding(source: .list(value), count: count, decoder: self, step: step())
    }
    do {
      guard case .array(let elements) = try json(expecting: [Any].self) else { throw mismatch([Any].self) }
      return ListDecoding(source: .json(elements), count: elements.count, decoder: self, step: step())
    } catch let error as DecodingError {
      guard let list = try propertyListDecoder(after: error) else { throw error }
      do { return try list.unkeyedContainer() } catch is DecodingError { throw mismatch([Any].self) }
    }
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    var container = self
    container.isTried = true
    return container
  }

  /// The JSON that the field has, or the part of it that this is.
  private func json(expecting type: Any.Type) throws -> JSON {
    switch source {
    case .absent: throw absent
    case .json(.null):
      throw DecodingError.valueNotFound(type, .init(codingPath: codingPath, debugDescription: "null"))
    case .json(let json): return json
    case .value(.bytes(let data)): return try json(of: data)
    case .value(.asset(let asset)): return try json(of: content(of: asset))
    case .value: throw mismatch(type)
    }
  }

  /// The JSON that an import keeps as text, where a type asks for keys or a list and nothing else. One that tries several ways gets
  /// the text as it is.
  private func json(ofTextAfter error: DecodingError) -> JSON? {
    guard !isElement, !isTried, case .typeMismatch = error, case .value(.string(let text)) = source else { return nil }
    let first = text.utf8.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
    return try? JSONReader.read(Array(text.utf8))
  }

  private func json(of data: Data) throws -> JSON {
    do throws(JSONScanner.Fault) { return try JSONReader.read([UInt8](data)) } catch {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: codingPath, debugDescription: "At byte \(error.offset) of the JSON text: \(error.reason)",
          underlyingError: error))
    }
  }

  func content(of asset: Asset) throws -> Data {
    do throws(DatabaseError) { return try asset.content() } catch {
      throw RecordCodingError(
        .database, "The content of the asset cannot be read.", path: scope.base + target.path, facts: error.facts, cause: error)
    }
  }

  // MARK: errors

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let isFollowed = if case .value(.reference) = source, type == [String: Any].self { scope.graph != nil } else { true }
    let hint = isFollowed ? "" : ", which decode(_:from:resolvingIn:) follows"
    return DecodingError.typeMismatch(type, .init(codingPath: codingPath, debugDescription: source.name + hint))
  }

  private var absent: DecodingError {
    DecodingError.keyNotFound(
      target.key, .init(codingPath: DaybookCoding.codingPath(target.above), debugDescription: absence))
  }

  func corrupted(_ message: String) -> DecodingError {
    DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: message))
  }

  private func wrong(_ type: Any.Type) -> DecodingError {
    if case .absent = source { return absent }
    if source.isNil {
      return DecodingError.valueNotFound(type, .init(codingPath: codingPath, debugDescription: source.name))
    }
    return mismatch(type)
  }

  // MARK: values

  private func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
    let exact: I?
    switch source {
    case .value(.int(let number)): exact = I(exactly: number)
    case .json(.int(let number)): exact = I(exactly: number)
    case .json(.unsigned(let number)): exact = I(exactly: number)
    case .json(.double(let number)): exact = I(exactly: number)
    default: throw wrong(type)
    }
    guard let exact else { throw corrupted("The number does not fit into \(type).") }
    return exact
  }

  private func double(_ type: Any.Type) throws -> Double {
    switch source {
    case .value(.double(let number)): return number
    case .value(.int(let number)): return Double(number)
    case .json(.double(let number)): return number
    case .json(.int(let number)): return Double(number)
    case .json(.unsigned(let number)): return Double(number)
    case .json(.string(let text)): if let number = JSON.number(named: text) { return number }
    case .value(.string(let text)):
      // As a list of numbers is written when one of them is none.
      if case .text(let name) = scope.options.notANumber {
        if text == name { return .nan }
        if isElement, let number = Double(text) { return number }
      }
    default: break
    }
    throw wrong(type)
  }

  private func string(_ type: Any.Type) throws -> String {
    switch source {
    case .value(.string(let text)), .json(.string(let text)): return text
    case .value(let value):
      if let text = scope.options.layer?.text(of: value) { return text }
      throw wrong(type)
    default: throw wrong(type)
    }
  }

  // MARK: types that are known

  /// Whether a type is decoded without its own code.
  static func isLeaf<T>(_ type: T.Type) -> Bool {
    T.self == Date.self || T.self == URL.self || T.self == UUID.self || T.self == Data.self || T.self == Decimal.self
      || T.self == Location.self || T.self == Record.Reference.self || T.self == Record.ID.self || T.self == Asset.self
  }

  /// A value of any type.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    if let layer = scope.options.layer, case .value(let value) = source,
      let made = try layer.value(of: type, from: value, codingPath)
    {
      return made
    }
    if T.self == String.self { return same(try string(type), as: T.self) }
    if Self.isLeaf(type) { return try leaf(type) }
    // Lists with nil had numbers for Booleans once.
    if isElement, T.self == Bool?.self, case .json(.int(let number)) = source, number == 0 || number == 1 {
      return same(Optional(number == 1), as: T.self)
    }
    if case .value(let value) = source {
      // What already lies on the way here ends the circle where nothing has to be. A list has no room for nil.
      if !isElement, let graph = scope.graph, let optional = T.self as? any OptionalValue.Type,
        graph.wouldRepeat(value, optional.wrappedType)
      {
        return absentValue(of: optional)
      }
      if T.self == [String].self, case .strings(let list) = value { return same(list, as: T.self) }
      if let result = try native(value, type) { return result }
      if case .reference(let reference) = value, let result = try referred(reference, type) { return result }
      if case .asset(let asset) = value, let result = try propertyList(asset, type) { return result }
    }
    if isFlattened, case .absent = source, let optional = T.self as? any OptionalValue.Type {
      return try flattenedOptional(type) ?? absentValue(of: optional)
    }
    let isEmpty = if isFlattened, case .absent = source { !scope.hasFields(target) } else { false }
    // Of a flattened value there may be nothing; within one of which there is nothing, there is none of its own type: a type that tries
    // its keys would go down for each of them, as deep as values may be.
    if isEmpty, !scope.emptyTypes.insert(ObjectIdentifier(T.self)).inserted { throw absent }
    defer { if isEmpty { scope.emptyTypes.remove(ObjectIdentifier(T.self)) } }
    do { return try scope.nesting(step()) { try T(from: self) } } catch let error as DecodingError {
      if let json = json(ofTextAfter: error) { return try FieldDecoder(scope, .json(json), target).decode(type) }
      guard case .dataCorrupted = error, let fallback = (T.self as? any RecordEnum.Type)?.anyFallback as? T else {
        throw error
      }
      return fallback
    }
  }

  /// The value of an optional that has fields of its own. Fields that begin with the key may be those of another value: where none of them
  /// is asked for, and the mark is not there, it is nil.
  private func flattenedOptional<T: Decodable>(_ type: T.Type) throws -> T? {
    guard scope.hasFields(target) else { return nil }
    let step = step()
    let decoder = FieldDecoder(scope, source, target, flattened: step, absence: absence)
    do {
      let value = try scope.nesting(step) { try T(from: decoder) }
      return step.hasFields ? value : nil
    } catch DecodingError.keyNotFound where !step.hasFields {
      return nil
    }
  }

  private func absentValue<O: OptionalValue, T>(of type: O.Type) -> T { same(O.absent, as: T.self) }

  private func leaf<T>(_ type: T.Type) throws -> T {
    if source.isNil { throw wrong(type) }
    if T.self == Date.self { return same(try date(), as: T.self) }
    if T.self == URL.self { return same(try url(), as: T.self) }
    if T.self == UUID.self {
      guard let id = UUID(uuidString: try string(type)) else { throw corrupted("The text is not a UUID.") }
      return same(id, as: T.self)
    }
    if T.self == Data.self { return same(try data(), as: T.self) }
    if T.self == Decimal.self { return same(try decimal(), as: T.self) }
    if T.self == Location.self { return same(try location(), as: T.self) }
    if T.self == Asset.self {
      guard case .value(.asset(let asset)) = source else { throw mismatch(type) }
      return same(asset, as: T.self)
    }
    // A reference and an identity: within JSON as they write themselves, as everything there (JSONSlotEncoder).
    switch source {
    case .value(.reference(let reference)):
      return T.self == Record.ID.self ? reference.id as! T : reference as! T
    case .json:
      return T.self == Record.ID.self ? try Record.ID(from: self) as! T : try Record.Reference(from: self) as! T
    default: throw mismatch(type)
    }
  }

  private func date() throws -> Date {
    // Options and rules do not reach into JSON.
    if case .json = source { return Date(timeIntervalSinceReferenceDate: try double(Date.self)) }
    switch dateStrategy {
    case .native:
      guard case .value(.date(let date)) = source else { throw mismatch(Date.self) }
      return date
    case .secondsSince1970: return Date(timeIntervalSince1970: try double(Date.self))
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try double(Date.self) / 1000)
    case .iso8601:
      guard let date = ISODate.date(of: try string(Date.self)) else { throw corrupted("The text is not a date of ISO 8601.") }
      return date
    case .custom(_, let decode):
      guard case .value(let value) = source else { throw mismatch(Date.self) }
      do { return try decode(value) } catch { throw RecordCodingError(error, in: scope.base + target.path) }
    }
  }

  private var dateStrategy: RecordCodingOptions.DateStrategy {
    if case .date(let own)? = target.rule { own } else { scope.options.dates }
  }

  private func url() throws -> URL {
    switch source {
    case .value(.asset(let asset)): return try fileURL(of: asset)
    default:
      guard let url = URL(string: try string(URL.self)) else { throw corrupted("The text is not a URL.") }
      return url
    }
  }

  /// Where the content is on this machine; one that lies in its record is written into a file first.
  private func fileURL(of asset: Asset) throws -> URL {
    if let url = asset.fileURL { return url }
    let data = try content(of: asset)
    do throws(DatabaseError) {
      let directory = scope.options.assetDirectory
      // The content was compared with its SHA-256 above.
      guard let digest = asset.digest else { return try StagedFiles.newFile(data, in: directory) }
      return try StagedFiles.sharedFile(data, digest, in: directory)
    } catch {
      throw RecordCodingError(
        .database, "The content of the asset cannot be written into a file.", path: scope.base + target.path,
        facts: error.facts, cause: error)
    }
  }

  private func data() throws -> Data {
    switch source {
    case .value(.bytes(let data)): return data
    case .value(.asset(let asset)): return try content(of: asset)
    case .value(.string(let text)), .json(.string(let text)):
      guard let data = Data(base64Encoded: text) else { throw corrupted("The text is not Base64.") }
      return data
    default: throw mismatch(Data.self)
    }
  }

  private func decimal() throws -> Decimal {
    switch source {
    case .json(.int(let number)): return Decimal(number)
    case .json(.unsigned(let number)): return Decimal(number)
    case .json(.double(let number)), .value(.double(let number)):
      guard number.isFinite, let decimal = DecimalText.decimal(of: number.description) else { throw mismatch(Decimal.self) }
      return decimal
    case .value(.int(let number)): return Decimal(number)
    default:
      let text = try string(Decimal.self)
      if case .json = source, JSON.number(named: text)?.isNaN == true { return .nan }
      if case .text(text) = scope.options.notANumber { return .nan }
      guard let decimal = DecimalText.decimal(of: text) else { throw corrupted("The text is not a number.") }
      return decimal
    }
  }

  private func location() throws -> Location {
    switch source {
    case .value(.location(let location)): return location
    case .value(.string(let text)):
      guard let location = LocationText.location(of: text) else {
        throw corrupted("The text is not latitude and longitude with a semicolon between them.")
      }
      return location
    case .json: return try Location(from: self)
    default: throw mismatch(Location.self)
    }
  }

  // MARK: other types

  /// A type that reads values of records itself, and lists of such; nil when it cannot read this one.
  private func native<T: Decodable>(_ value: Record.Value, _ type: T.Type) throws -> T? {
    // Through an optional the cast would not see what the options say.
    guard let convertible = T.self as? any RecordValueConvertible.Type else { return nil }
    if T.self == [Date].self || T.self == Set<Date>.self {
      guard case .native = dateStrategy else { return nil }
    }
    // Their own code asks for each number, which may be too large.
    if T.self == Float.self || T.self == [Float].self || T.self == Set<Float>.self { return nil }
    return convertible.init(recordValue: value) as? T
  }

  /// A value that is a record of its own; nil when the type is none, or references are not followed.
  private func referred<T>(_ reference: Record.Reference, _ type: T.Type) throws -> T? {
    guard let graph = scope.graph, let decodable = T.self as? any RecordDecodable.Type else { return nil }
    return try graph.value(decodable, reference.id, scope.base + target.path) as? T
  }
}

extension RecordEnum {
  fileprivate static var anyFallback: Any? { fallback.map { $0 as Any } }
}

extension FieldDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool {
    source.isNil && !(isFlattened && scope.hasFields(target))
  }

  func decode(_ type: Bool.Type) throws -> Bool {
    switch source {
    // JSON tells Booleans from numbers: a type that tries a Boolean first must not take a number for one.
    case .json(.bool(let value)): return value
    case .value(.int(0)): return false
    case .value(.int(1)): return true
    default: throw wrong(type)
    }
  }
  func decode(_ type: String.Type) throws -> String { try string(type) }
  func decode(_ type: Double.Type) throws -> Double { try double(type) }
  func decode(_ type: Float.Type) throws -> Float {
    guard let number = Float(finite: try double(type)) else { throw corrupted("The number does not fit into Float.") }
    return number
  }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }
}
