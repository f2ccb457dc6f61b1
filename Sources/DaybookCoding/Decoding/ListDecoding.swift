import Daybook

/// The container of the elements of a list, be it one of the record or of JSON.
struct ListDecoding: UnkeyedDecodingContainer {
  enum Source {
    /// A value that is a list.
    case list(Record.Value)
    case json([JSON])
  }

  private let source: Source
  let count: Int?
  private let length: Int
  private let decoder: FieldDecoder
  private let step: PathStep
  private(set) var currentIndex = 0

  init(source: Source, count: Int, decoder: FieldDecoder, step: PathStep) {
    self.source = source
    self.count = count
    length = count
    self.decoder = decoder
    self.step = step
  }

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(step) }
  var isAtEnd: Bool { currentIndex >= length }

  /// The decoder of the next element. It counts as read only when it was, so that another type may be tried on it.
  private func next(_ type: Any.Type) throws -> FieldDecoder {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(
          codingPath: DaybookCoding.codingPath(step, PlainKey(intValue: currentIndex)),
          debugDescription: "The list has no more elements."))
    }
    let element: DecodingSource =
      switch source {
      case .list(let value): .value(ListValue.element(currentIndex, of: value))
      case .json(let elements): .json(elements[currentIndex])
      }
    let target = FieldTarget(
      field: decoder.target.field, key: PlainKey(intValue: currentIndex), above: step, rule: decoder.target.rule)
    return FieldDecoder(decoder.scope, element, target, isElement: true)
  }

  private mutating func take<T>(_ body: (FieldDecoder) throws -> T) throws -> T {
    let value = try body(next(T.self))
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard try next(Never?.self).decodeNil() else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode(_ type: Bool.Type) throws -> Bool { try take { try $0.decode(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try take { try $0.decode(type) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try take { try $0.decode(type) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int.Type) throws -> Int { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try take { try $0.decode(type) } }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try $0.decode(type) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try take { try $0.decode(type) } }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try take { try $0.decode(type) } }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    try take { try $0.container(keyedBy: type) }
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try take { try $0.unkeyedContainer() }
  }
  mutating func superDecoder() throws -> any Decoder { try take { $0 } }
}

/// The container of the members of a JSON object.
struct JSONObjectDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [ByteText: JSON]
  let scope: DecodingScope
  let step: PathStep

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(step) }
  var allKeys: [Key] {
    members.keys.map(\.text).sorted { UTF8Order.compare($0, $1) < 0 }.compactMap { Key(stringValue: $0) }
  }

  func contains(_ key: Key) -> Bool { members[ByteText(key.stringValue)] != nil }

  private func member(_ key: any CodingKey) -> FieldDecoder {
    let source = members[ByteText(key.stringValue)].map { DecodingSource.json($0) } ?? .absent
    return FieldDecoder(
      scope, source, FieldTarget(field: key.stringValue, key: key, above: step, rule: nil),
      absence: RecordCodingError.noMember)
  }

  func decodeNil(forKey key: Key) throws -> Bool { member(key).decodeNil() }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).decode(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).decode(type) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(key).decode(type) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(key).decode(type) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(key).decode(type) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(key).decode(type) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(key).decode(type) }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try member(key).decode(type) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(key).decode(type) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(key).decode(type) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(key).decode(type) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(key).decode(type) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(key).decode(type) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try member(key).decode(type) }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try member(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try member(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try member(key).unkeyedContainer() }
  func superDecoder() throws -> any Decoder { member(PlainKey.superKey) }
  func superDecoder(forKey key: Key) throws -> any Decoder { member(key) }
}
