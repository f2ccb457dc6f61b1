#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The decoder of a value whose keys are fields: the value itself, or one that was flattened into it.
struct FieldsDecoder: Decoder {
  let scope: DecodingScope
  /// Nil for the value itself.
  let above: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(above) }
  var userInfo: [CodingUserInfoKey: Any] { scope.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(FieldsDecodingContainer<Key>(scope: scope, above: above))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw isKeyed([Any].self) }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { FieldsSingleValueDecoding(decoder: self) }

  fileprivate func isKeyed(_ type: Any.Type) -> DecodingError {
    DecodingError.typeMismatch(type, .init(codingPath: codingPath, debugDescription: "record"))
  }
}

/// A type that stands for another one and decodes that in its place.
private struct FieldsSingleValueDecoding: SingleValueDecodingContainer {
  let decoder: FieldsDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { false }
  func decode(_ type: Bool.Type) throws -> Bool { throw decoder.isKeyed(type) }
  func decode(_ type: String.Type) throws -> String { throw decoder.isKeyed(type) }
  func decode(_ type: Double.Type) throws -> Double { throw decoder.isKeyed(type) }
  func decode(_ type: Float.Type) throws -> Float { throw decoder.isKeyed(type) }
  func decode(_ type: Int.Type) throws -> Int { throw decoder.isKeyed(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { throw decoder.isKeyed(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { throw decoder.isKeyed(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { throw decoder.isKeyed(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { throw decoder.isKeyed(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { throw decoder.isKeyed(type) }
  func decode(_ type: UInt.Type) throws -> UInt { throw decoder.isKeyed(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { throw decoder.isKeyed(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { throw decoder.isKeyed(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { throw decoder.isKeyed(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { throw decoder.isKeyed(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { throw decoder.isKeyed(type) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try decoder.scope.nesting(decoder.above) { try T(from: decoder) }
  }
}

/// The container whose keys are fields: one look at the record for a key that is there, also with `decodeIfPresent`.
struct FieldsDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let scope: DecodingScope
  let above: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(above) }
  var allKeys: [Key] { scope.keys(above) }

  func contains(_ key: Key) -> Bool { scope.contains(key, above) }
  func decodeNil(forKey key: Key) throws -> Bool { !scope.contains(key, above) }

  private func absent(_ key: Key) -> DecodingError {
    let isEncrypted = scope.isEncrypted(key, above)
    return DecodingError.keyNotFound(
      key,
      .init(
        codingPath: codingPath, debugDescription: isEncrypted ? RecordCodingError.isEncrypted : RecordCodingError.noField))
  }

  @inline(__always)
  private func present(_ key: Key) throws -> Record.Value {
    guard let value = try scope.value(key, above) else { throw absent(key) }
    return value
  }

  private func mismatch(_ key: Key, _ value: Record.Value, _ type: Any.Type) -> DecodingError {
    DecodingError.typeMismatch(
      type, .init(codingPath: DaybookCoding.codingPath(above, key), debugDescription: value.kind.name))
  }

  @inline(__always)
  private func bool(_ value: Record.Value, _ key: Key) throws -> Bool {
    switch value {
    case .int(0): return false
    case .int(1): return true
    default: throw mismatch(key, value, Bool.self)
    }
  }

  @inline(__always)
  private func string(_ value: Record.Value, _ key: Key) throws -> String {
    if case .string(let text) = value { return text }
    guard let text = scope.options.layer?.text(of: value) else { throw mismatch(key, value, String.self) }
    return text
  }

  @inline(__always)
  private func double(_ value: Record.Value, _ key: Key) throws -> Double {
    switch value {
    case .double(let number): return number
    case .int(let number): return Double(number)
    default:
      if case .text(let text) = scope.options.notANumber, case .string(text) = value { return .nan }
      throw mismatch(key, value, Double.self)
    }
  }

  @inline(__always)
  private func float(_ number: Double, _ key: Key) throws -> Float {
    guard let float = Float(finite: number) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: DaybookCoding.codingPath(above, key), debugDescription: "The number does not fit into Float."))
    }
    return float
  }

  @inline(__always)
  private func integer<I: FixedWidthInteger>(_ value: Record.Value, _ key: Key) throws -> I {
    guard case .int(let number) = value else { return try integerName(value, key) }
    guard let exact = I(exactly: number) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: DaybookCoding.codingPath(above, key), debugDescription: "The number does not fit into \(I.self)."))
    }
    return exact
  }

  /// A number that is the name of the record: the digits of a text.
  private func integerName<I: FixedWidthInteger>(_ value: Record.Value, _ key: Key) throws -> I {
    guard case .recordName = scope.meaning(key, above), case .string(let text) = value, let number = I(text),
      String(number) == text
    else { throw mismatch(key, value, I.self) }
    return number
  }

  /// The name of a key's field, where the stored fields can be looked at without ado.
  @inline(__always)
  private func plainName(_ key: Key) -> String? {
    guard above == nil, scope.plain != nil else { return nil }
    let name = key.stringValue
    return scope.isOfSystem(name) ? nil : name
  }

  /// A whole number that is one and fits.
  @inline(__always)
  private func plainInteger<I: FixedWidthInteger>(_ key: Key, _ type: I.Type) -> I? {
    guard let name = plainName(key), let number = scope.plain?.plainInt(name) else { return nil }
    return I(exactly: number)
  }

  @inline(__always)
  private func plainString(_ key: Key) -> String? {
    guard above == nil, scope.plain != nil else { return nil }
    let name = key.stringValue
    if !scope.isOfSystem(name) { return scope.plain?.plainString(name) }
    // The system fields have twelve bytes; a name may have as many, and is found the careful way.
    return name.utf8.count == 12 ? nil : scope.plain?.name
  }

  @inline(__always)
  private func plainDouble(_ key: Key) -> Double? { plainName(key).flatMap { scope.plain?.plainDouble($0) } }

  @inline(__always)
  private func plainBool(_ key: Key) -> Bool? {
    guard let name = plainName(key), let number = scope.plain?.plainInt(name), number == 0 || number == 1 else { return nil }
    return number == 1
  }

  /// Whether an optional is nil because its key has no field of any kind.
  @inline(__always)
  private func isPlainlyAbsent(_ key: Key) -> Bool { plainName(key).flatMap { scope.plain?.lacks($0) } ?? false }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try plainBool(key) ?? bool(present(key), key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try plainString(key) ?? string(present(key), key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try plainDouble(key) ?? double(present(key), key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try float(try plainDouble(key) ?? double(present(key), key), key)
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try plainInteger(key, type) ?? integer(present(key), key)
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try plainInteger(key, type) ?? integer(present(key), key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try plainInteger(key, type) ?? integer(present(key), key)
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try plainInteger(key, type) ?? integer(present(key), key)
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try plainInteger(key, type) ?? integer(present(key), key)
  }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try plainInteger(key, type) ?? integer(present(key), key)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    // The same lines as in the other of the two: a function of its own would return an optional of a type that only the caller knows,
    // which the runtime looks up each time (row: coding-decode).
    if let usual = UsualType(type), let name = plainName(key) {
      switch usual {
      case .date: if let value = scope.plain?.plainDate(name) { return same(value, as: T.self) }
      case .data: if let value = scope.plain?.plainData(name) { return same(value, as: T.self) }
      case .string: if let value = scope.plain?.plainString(name) { return same(value, as: T.self) }
      case .uuid:
        if let text = scope.plain?.plainString(name), let value = UUID(uuidString: text) { return same(value, as: T.self) }
      case .strings: if let value = scope.plain?.plainStrings(name) { return same(value, as: T.self) }
      case .ints: if let value = scope.plain?.plainInts(name) { return same(value.map { Int($0) }, as: T.self) }
      case .int64s: if let value = scope.plain?.plainInts(name) { return same(value, as: T.self) }
      case .doubles: if let value = scope.plain?.plainDoubles(name) { return same(value, as: T.self) }
      }
    }
    switch scope.meaning(key, above) {
    case .field(let target): return try FieldDecoder(scope, try source(target, of: type), target).decode(type)
    case .systemFields, .recordName, .nothing: return try decoderWithoutField(key).decode(type)
    }
  }

  private func source(_ target: FieldTarget) throws -> DecodingSource {
    if scope.hasOnlyFieldsBelow(target) { return .absent }
    return try scope.value(target).map { .value($0) } ?? .absent
  }

  /// The same for a type; fields that begin like a single value's are those of others.
  private func source<T>(_ target: FieldTarget, of type: T.Type) throws -> DecodingSource {
    let isSingle =
      target.fallback != nil
      && (FieldDecoder.isLeaf(type) || T.self is any RawRepresentable.Type || T.self is any RecordValueConvertible.Type
        || T.self is any ListOfElements.Type && !(T.self is any OptionalValue.Type))
    return isSingle ? try scope.value(target).map { .value($0) } ?? .absent : try source(target)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    if let value = plainBool(key) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try bool($0, key) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    if let value = plainString(key) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try string($0, key) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    if let value = plainDouble(key) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try double($0, key) }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    if let value = plainDouble(key) { return try float(value, key) }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try float(double($0, key), key) }
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    if let value = plainInteger(key, type) { return value }
    if isPlainlyAbsent(key) { return nil }
    return try scope.value(key, above).map { try integer($0, key) }
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    if let usual = UsualType(type), let name = plainName(key) {
      switch usual {
      case .date: if let value = scope.plain?.plainDate(name) { return same(value, as: T.self) }
      case .data: if let value = scope.plain?.plainData(name) { return same(value, as: T.self) }
      case .string: if let value = scope.plain?.plainString(name) { return same(value, as: T.self) }
      case .uuid:
        if let text = scope.plain?.plainString(name), let value = UUID(uuidString: text) { return same(value, as: T.self) }
      case .strings: if let value = scope.plain?.plainStrings(name) { return same(value, as: T.self) }
      case .ints: if let value = scope.plain?.plainInts(name) { return same(value.map { Int($0) }, as: T.self) }
      case .int64s: if let value = scope.plain?.plainInts(name) { return same(value, as: T.self) }
      case .doubles: if let value = scope.plain?.plainDoubles(name) { return same(value, as: T.self) }
      }
    }
    if isPlainlyAbsent(key) { return nil }
    guard case .field(let target) = scope.meaning(key, above) else {
      return try scope.contains(key, above) ? decode(type, forKey: key) : nil
    }
    if scope.isFlattened(target) { return try flattenedIfPresent(type, target) }
    guard let value = try scope.value(target) else { return nil }
    // What already lies on the way here ends the circle where nothing has to be.
    if scope.graph?.wouldRepeat(value, type) == true { return nil }
    return try FieldDecoder(scope, .value(value), target).decode(type)
  }

  /// Fields that begin with the key may be those of a value under it, or of another key: a value of which there is neither a
  /// field nor the mark is not there.
  private func flattenedIfPresent<T: Decodable>(_ type: T.Type, _ target: FieldTarget) throws -> T? {
    let source = try source(target, of: type)
    if case .value(let value) = source {
      if scope.graph?.wouldRepeat(value, type) == true { return nil }
      return try FieldDecoder(scope, source, target).decode(type)
    }
    guard scope.hasFields(target) else { return nil }
    let step = PathStep(target.key, after: target.above, prefix: target.field + "_")
    do {
      let value = try FieldDecoder(scope, .absent, target, flattened: step).decode(type)
      return step.hasFields ? value : nil
    } catch DecodingError.keyNotFound where !step.hasFields {
      return nil
    }
  }

  /// The decoder of a key's value.
  private func decoder(_ key: some CodingKey) throws -> any Decoder {
    if case .field(let target) = scope.meaning(key, above) { return FieldDecoder(scope, try source(target), target) }
    return try decoderWithoutField(key)
  }

  /// The decoder of a key that is the system's or is ignored: fields that begin as the key does are those of others.
  private func decoderWithoutField(_ key: some CodingKey) throws -> FieldDecoder {
    let target = FieldTarget(field: key.stringValue, key: key, above: above, rule: .ignored)
    return FieldDecoder(scope, try scope.value(key, above).map { .value($0) } ?? .absent, target)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { try decoder(PlainKey.superKey) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}
