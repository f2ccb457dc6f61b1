import Daybook
import DaybookCoding
import Foundation
import Testing

/// Lists and dictionaries that become JSON, with options that change what is in the fields of a record.
@Suite("lists that are JSON, and options")
struct JSONListOptionTests {
  enum Kind: String, Codable { case morning, evening }

  struct Isbn: RecordValueConvertible, Codable, Equatable {
    var text: String
    init(_ text: String) { self.text = text }
    var recordValue: Record.Value { .string(text) }
    init?(recordValue: Record.Value) {
      guard let text = String(recordValue: recordValue) else { return nil }
      self.text = text
    }
  }

  struct Holder<Content: Codable & Equatable>: RecordCodable, Equatable {
    static var recordType: String { "Holder" }
    var recordName = "h"
    var content: Content
  }

  struct Ruled: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["byKind": .date(.secondsSince1970), "days": .json]
    var recordName = "r"
    var byKind: [Kind: Date]
    var days: [Date] = []
  }

  private static let day = Date(timeIntervalSince1970: 1_700_000_000)

  private static let strategies: [RecordCodingOptions.DateStrategy] = [
    .native, .secondsSince1970, .millisecondsSince1970, .iso8601,
    .custom(
      encode: { .int(Int64($0.timeIntervalSince1970)) },
      decode: { value in
        guard case .int(let number) = value else { throw CocoaError(.coderInvalidValue) }
        return Date(timeIntervalSince1970: Double(number))
      }),
  ]

  /// The content after it was saved and fetched.
  private func stored<Content: Codable & Equatable>(
    _ content: Content, _ options: RecordCodingOptions = .init()
  ) throws -> Content? {
    let database = try Database.inMemory()
    try database.save(Holder(content: content), options: options)
    return try database.fetch(Holder<Content>.self, "h", options: options)?.content
  }

  @Test("dates by key, with nil, in lists and in ranges are the same day after a fetch", arguments: 0..<5)
  func dates(_ number: Int) throws {
    var options = RecordCodingOptions()
    options.dates = Self.strategies[number]
    let day = Self.day
    let key = UUID()
    #expect(try stored([Kind.morning: day], options) == [.morning: day])
    #expect(try stored([key: day], options) == [key: day])
    #expect(try stored([day, nil], options) == [day, nil])
    #expect(try stored([Date?.some(day)], options) == [day])
    #expect(try stored([[day], []], options) == [[day], []])
    #expect(try stored([day..<day + 5], options) == [day..<day + 5])
    #expect(try stored(Set([day, day + 1]), options) == [day, day + 1])
  }

  @Test("a rule for dates does not move those that are JSON")
  func rule() throws {
    var options = RecordCodingOptions()
    options.dates = .iso8601
    let value = Ruled(byKind: [.evening: Self.day], days: [Self.day])
    let record = try RecordEncoder(options: options).encode(value)
    #expect(try RecordDecoder(options: options).decode(Ruled.self, from: record) == value)
  }

  @Test("IDs and values of several kinds are read as they were saved")
  func values() throws {
    let id = try Record.ID("x")
    let key = UUID()
    #expect(try stored([id, nil]) == [id, nil])
    #expect(try stored([key: id]) == [key: id])
    let values = [Record.Value.int(1), .string("a"), .dates([Self.day])]
    #expect(try stored(values) == values)
  }

  @Test("a type of one's own that is a value is read with nil, in lists and by key")
  func ownValues() throws {
    #expect(try stored([Isbn("1")]) == [Isbn("1")])
    #expect(try stored([Isbn("1"), nil]) == [Isbn("1"), nil])
    #expect(try stored([[Isbn("1")]]) == [[Isbn("1")]])
    #expect(try stored([Kind.morning: Isbn("1")]) == [.morning: Isbn("1")])
  }

  @Test("places that are texts elsewhere, and numbers that are none, are read from a list with nil")
  func placesAndNumbers() throws {
    var options = RecordCodingOptions()
    options.locations = .text
    options.notANumber = .text("none")
    let place = Location(latitude: 1, longitude: 2)
    #expect(try stored([place, nil], options) == [place, nil])
    for numbers: [Double?] in [[.nan, 1.5], [.nan, nil], [nil, .nan, 1.5]] {
      let read = try #require(try stored(numbers, options))
      #expect(read.map(\.?.isNaN) == numbers.map(\.?.isNaN))
    }
    let decimals: [Decimal?] = [.nan, nil, 1]
    #expect(try stored(decimals, options)?.map(\.?.isNaN) == [true, nil, false])
  }

  @Test("bytes by key are saved, also where bytes are assets")
  func bytes() throws {
    let key = UUID()
    for strategy in [RecordCodingOptions.DataStrategy.bytes, .base64, .asset, .assetAbove(2)] {
      var options = RecordCodingOptions()
      options.data = strategy
      #expect(try stored([key: Data("abc".utf8)], options) == [key: Data("abc".utf8)])
    }
  }

  @Test("what the usual options have always written is the same text")
  func texts() throws {
    func text<Content: Codable & Equatable>(_ content: Content) throws -> String? {
      let record = try RecordEncoder().encode(Holder(content: content))
      guard case .bytes(let data)? = record["content"] as Record.Value? else { return nil }
      return String(decoding: data, as: UTF8.self)
    }
    #expect(try text([Date(timeIntervalSinceReferenceDate: 5), nil]) == "[5.0,null]")
    #expect(try text([Data([1, 2, 3]), nil]) == #"["AQID",null]"#)
    #expect(try text([Kind.morning: 1]) == #"["morning",1]"#)
    #expect(try text([URL(string: "https://a.b"), nil]) == #"["https://a.b",null]"#)
    #expect(try text([1, nil, UInt64.max]) == "[1,null,18446744073709551615]")
    // Truth was 1 and 0 before, which is read, too.
    #expect(try text([true, nil]) == "[true,null]")
    var record = try RecordEncoder().encode(Holder<[Bool?]>(content: [nil]))
    record["content"] = Data("[1,null,0]".utf8)
    #expect(try RecordDecoder().decode(Holder<[Bool?]>.self, from: record).content == [true, nil, false])
  }

  struct Person: RecordCodable, Equatable {
    var recordName: String
    var age: Int
  }

  @Test("a graph comes back whose lists have nil, and whose people are values of a dictionary")
  func graphs() throws {
    func comesBack<Content: Codable & Equatable>(_ content: Content, _ count: Int) throws {
      let records = try RecordEncoder().encodeGraph(Holder(content: content))
      #expect(records.count == count)
      #expect(try RecordDecoder().decodeGraph(Holder<Content>.self, from: records).content == content)
    }
    let ann = Person(recordName: "ann", age: 1)
    try comesBack([Person?.some(ann)], 2)
    // A list with nil has no references: who is in it lies there, and is no record of its own.
    try comesBack([ann, nil], 1)
    try comesBack([Kind.morning: ann], 1)
  }

  @Test("a list with nil that a rule makes references is refused when it is encoded")
  func references() throws {
    struct Team: RecordEncodable, Identifiable {
      static let fieldRules: [String: FieldRule] = ["members": .reference(.none)]
      var id = "t"
      var members: [Person?]
    }
    let ann = Person(recordName: "ann", age: 1)
    let record = try RecordEncoder().encode(Team(members: [ann]))
    #expect(record["members"] == [Record.Reference(try Record.ID("ann"))])
    #expect(refusal { try RecordEncoder().encode(Team(members: [ann, nil])) }?.path == ["members"])
  }
}
