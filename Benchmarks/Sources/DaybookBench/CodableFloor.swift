import Foundation

/// What Swift's Codable costs where nothing is looked for: a decoder that hands out the next value at each call, whatever the key, and an
/// encoder that drops what it is given. Values are made from bytes, as any decoder has to make them. No decoder is faster than this one.
enum CodableFloor {
  /// The values of a book as bytes, in the order in which its properties are decoded.
  final class Source {
    fileprivate let texts: [[UInt8]]
    fileprivate let tags: [[UInt8]]
    fileprivate let digest: [UInt8]
    fileprivate let integers: [Int64]
    fileprivate let doubles: [Double]
    fileprivate let date: Double
    fileprivate let flag: Bool
    fileprivate var textIndex = 0
    fileprivate var integerIndex = 0
    fileprivate var doubleIndex = 0

    init(_ book: CodedBook) {
      texts = [book.id, book.title, book.author].map { Array($0.utf8) }
      tags = book.tags.map { Array($0.utf8) }
      digest = Array(book.digest)
      integers = [book.year, book.pageCount]
      doubles = [book.rating, book.price]
      date = book.published.timeIntervalSinceReferenceDate
      flag = book.isRead
    }

    func book() throws -> CodedBook {
      textIndex = 0
      integerIndex = 0
      doubleIndex = 0
      return try CodedBook(from: FloorDecoder(source: self))
    }
  }

  /// How many values were dropped.
  final class Sink {
    fileprivate(set) var count: UInt64 = 0

    func drop(_ book: CodedBook) throws { try book.encode(to: FloorEncoder(sink: self)) }
  }

  fileprivate static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

private struct FloorDecoder: Decoder {
  let source: CodableFloor.Source
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(FloorFields<Key>(source: source))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw BenchmarkFault("the floor has fields alone") }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw BenchmarkFault("the floor has fields alone") }
}

private struct FloorFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let source: CodableFloor.Source
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { false }
  func decode(_ type: Bool.Type, forKey key: Key) -> Bool { source.flag }

  func decode(_ type: String.Type, forKey key: Key) -> String {
    defer { source.textIndex += 1 }
    return CodableFloor.text(source.texts[source.textIndex])
  }

  func decode(_ type: Int64.Type, forKey key: Key) -> Int64 {
    defer { source.integerIndex += 1 }
    return source.integers[source.integerIndex]
  }

  func decode(_ type: Double.Type, forKey key: Key) -> Double {
    defer { source.doubleIndex += 1 }
    return source.doubles[source.doubleIndex]
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    // Safe: the types are the same.
    if type == Date.self {
      return unsafeBitCast(Date(timeIntervalSinceReferenceDate: source.date), to: type)
    }
    if type == Data.self { return unsafeBitCast(Data(source.digest), to: type) }
    if type == [String].self { return unsafeBitCast(source.tags.map(CodableFloor.text), to: type) }
    throw BenchmarkFault("the floor has no \(type)")
  }

  func nestedContainer<Other: CodingKey>(
    keyedBy type: Other.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Other> { throw BenchmarkFault("the floor has fields alone") }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw BenchmarkFault("the floor has fields alone")
  }
  func superDecoder() throws -> any Decoder { throw BenchmarkFault("the floor has fields alone") }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw BenchmarkFault("the floor has fields alone") }
}

private struct FloorEncoder: Encoder {
  let sink: CodableFloor.Sink
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FloorKeys<Key>(sink: sink))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { fatalError("the floor has fields alone") }
  func singleValueContainer() -> any SingleValueEncodingContainer { fatalError("the floor has fields alone") }
}

private struct FloorKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let sink: CodableFloor.Sink
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { sink.count &+= 1 }
  func encode(_ value: Bool, forKey key: Key) { sink.count &+= 1 }
  func encode(_ value: String, forKey key: Key) { sink.count &+= 1 }
  func encode(_ value: Int64, forKey key: Key) { sink.count &+= 1 }
  func encode(_ value: Double, forKey key: Key) { sink.count &+= 1 }
  func encode<T: Encodable>(_ value: T, forKey key: Key) { sink.count &+= 1 }

  func nestedContainer<Other: CodingKey>(
    keyedBy type: Other.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Other> { fatalError("the floor has fields alone") }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { fatalError("the floor has fields alone") }
  func superEncoder() -> any Encoder { fatalError("the floor has fields alone") }
  func superEncoder(forKey key: Key) -> any Encoder { fatalError("the floor has fields alone") }
}
