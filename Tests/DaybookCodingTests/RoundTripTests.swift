import Daybook
import DaybookCoding
import Foundation
import Testing

/// Values of random shapes there and back, and random records into fixed types.
@Suite("random values and records")
struct RoundTripTests {
  /// A value that is itself the description of what it asks an encoder for.
  indirect enum Shape: Equatable, Sendable {
    case bool(Bool)
    case int(Int64)
    case small(Int8)
    case unsigned(UInt32)
    case double(Double)
    case float(Float)
    case text(String)
    case date(Date)
    case data(Data)
    case link(URL)
    case uuid(UUID)
    case decimal(Decimal)
    case place(Location)
    case reference(Record.Reference)
    case maybe(Shape?)
    case list([Shape])
    case object([Field])
    case texts([String])
    case numbers([Int])
    case doubles([Double])
    case dates([Date])
    case table([String: Int])
  }

  struct Field: Equatable, Sendable {
    var name: String
    var shape: Shape
  }

  struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Encodes a shape, and decodes one like the pattern.
  struct Shaped: Codable, Equatable {
    var shape: Shape
    @TaskLocal static var pattern: Shape?

    init(_ shape: Shape) { self.shape = shape }

    func encode(to encoder: any Encoder) throws {
      if case .object(let fields) = shape {
        var container = encoder.container(keyedBy: Name.self)
        for field in fields {
          let key = Name(stringValue: field.name)
          // What the compiler writes for an optional property.
          if case .maybe(let inner) = field.shape {
            try container.encodeIfPresent(inner.map { Shaped($0) }, forKey: key)
          } else {
            try container.encode(Shaped(field.shape), forKey: key)
          }
        }
        return
      }
      if case .list(let shapes) = shape {
        var container = encoder.unkeyedContainer()
        for shape in shapes { try container.encode(Shaped(shape)) }
        return
      }
      var container = encoder.singleValueContainer()
      switch shape {
      case .bool(let value): try container.encode(value)
      case .int(let value): try container.encode(value)
      case .small(let value): try container.encode(value)
      case .unsigned(let value): try container.encode(value)
      case .double(let value): try container.encode(value)
      case .float(let value): try container.encode(value)
      case .text(let value): try container.encode(value)
      case .date(let value): try container.encode(value)
      case .data(let value): try container.encode(value)
      case .link(let value): try container.encode(value)
      case .uuid(let value): try container.encode(value)
      case .decimal(let value): try container.encode(value)
      case .place(let value): try container.encode(value)
      case .reference(let value): try container.encode(value)
      case .maybe(let value): if let value { try container.encode(Shaped(value)) } else { try container.encodeNil() }
      case .texts(let value): try container.encode(value)
      case .numbers(let value): try container.encode(value)
      case .doubles(let value): try container.encode(value)
      case .dates(let value): try container.encode(value)
      case .table(let value): try container.encode(value)
      case .list, .object: break
      }
    }

    init(from decoder: any Decoder) throws {
      guard let pattern = Self.pattern else { throw CancellationError() }
      shape = try Self.decode(like: pattern, decoder)
    }

    private static func decode(like pattern: Shape, _ decoder: any Decoder) throws -> Shape {
      switch pattern {
      case .object(let fields):
        let container = try decoder.container(keyedBy: Name.self)
        return .object(
          try fields.map { field in
            let key = Name(stringValue: field.name)
            if case .maybe(let inner) = field.shape {
              return Field(
                name: field.name,
                shape: .maybe(
                  try $pattern.withValue(inner ?? .int(0)) { try container.decodeIfPresent(Shaped.self, forKey: key)?.shape }))
            }
            return Field(
              name: field.name,
              shape: try $pattern.withValue(field.shape) { try container.decode(Shaped.self, forKey: key).shape })
          })
      case .list(let shapes):
        var container = try decoder.unkeyedContainer()
        return .list(try shapes.map { shape in try $pattern.withValue(shape) { try container.decode(Shaped.self).shape } })
      default: break
      }
      let container = try decoder.singleValueContainer()
      switch pattern {
      case .bool: return .bool(try container.decode(Bool.self))
      case .int: return .int(try container.decode(Int64.self))
      case .small: return .small(try container.decode(Int8.self))
      case .unsigned: return .unsigned(try container.decode(UInt32.self))
      case .double: return .double(try container.decode(Double.self))
      case .float: return .float(try container.decode(Float.self))
      case .text: return .text(try container.decode(String.self))
      case .date: return .date(try container.decode(Date.self))
      case .data: return .data(try container.decode(Data.self))
      case .link: return .link(try container.decode(URL.self))
      case .uuid: return .uuid(try container.decode(UUID.self))
      case .decimal: return .decimal(try container.decode(Decimal.self))
      case .place: return .place(try container.decode(Location.self))
      case .reference: return .reference(try container.decode(Record.Reference.self))
      case .maybe(let inner):
        if container.decodeNil() { return .maybe(nil) }
        return .maybe(try $pattern.withValue(inner ?? .int(0)) { try container.decode(Shaped.self).shape })
      case .texts: return .texts(try container.decode([String].self))
      case .numbers: return .numbers(try container.decode([Int].self))
      case .doubles: return .doubles(try container.decode([Double].self))
      case .dates: return .dates(try container.decode([Date].self))
      case .table: return .table(try container.decode([String: Int].self))
      case .list, .object: return pattern
      }
    }
  }

  /// The same as the value of a record.
  struct Root: RecordCodable, Equatable {
    static var recordType: String { "Root" }
    var shaped: Shaped
    func encode(to encoder: any Encoder) throws { try shaped.encode(to: encoder) }
    init(_ shape: Shape) { shaped = Shaped(shape) }
    init(from decoder: any Decoder) throws { shaped = try Shaped(from: decoder) }
  }

  struct Maker {
    var random: Seeded

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func text() -> String {
      let letters: [Character] = ["a", "é", "\u{65}\u{301}", "😀", "\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "z", " ", "ß"]
      return String((0..<number(0...8)).map { _ in letters[number(0...letters.count - 1)] })
    }

    mutating func double() -> Double {
      switch number(0...5) {
      case 0: .infinity
      case 1: 0
      case 2: Double(number(-1000...1000))
      case 3: -.leastNonzeroMagnitude
      case 4: .greatestFiniteMagnitude
      default: Double.random(in: -1e9...1e9, using: &random)
      }
    }

    mutating func date() -> Date { Date(timeIntervalSinceReferenceDate: Double.random(in: -1e10...1e10, using: &random)) }

    mutating func shape(depth: Int) throws -> Shape {
      switch number(0...(depth > 0 ? 24 : 18)) {
      case 0: return .bool(number(0...1) == 1)
      case 1: return .int(Int64.random(in: .min ... .max, using: &random))
      case 2: return .small(Int8.random(in: .min ... .max, using: &random))
      case 3: return .unsigned(UInt32.random(in: .min ... .max, using: &random))
      case 4: return .double(double())
      case 5: return .float(Float.random(in: -1e9...1e9, using: &random))
      case 6: return .text(text())
      case 7: return .date(date())
      case 8: return .data(Data((0..<number(0...20)).map { _ in UInt8.random(in: .min ... .max, using: &random) }))
      case 9: return .link(URL(string: "https://example.org/\(number(0...99))?q=\(number(0...9))")!)
      case 10: return .uuid(UUID())
      case 11: return .decimal(Decimal(number(-99999...99999)) / 1000)
      case 12:
        return .place(Location(latitude: double(), longitude: double(), speed: number(0...1) == 0 ? nil : double()))
      case 13: return .reference(Record.Reference(try Record.ID("r\(number(0...99))"), action: .validate))
      case 14: return .texts((0..<number(0...4)).map { _ in text() })
      case 15: return .numbers((0..<number(0...4)).map { _ in number(-9...9) })
      case 16: return .doubles((0..<number(0...4)).map { _ in double() })
      case 17: return .dates((0..<number(0...4)).map { _ in date() })
      case 18: return .table(Dictionary(uniqueKeysWithValues: (0..<number(0...3)).map { ("k\($0)", $0) }))
      case 19: return .maybe(number(0...2) == 0 ? nil : try flat(shape(depth: depth - 1)))
      case 20, 21: return .list(try (0..<number(0...4)).map { _ in try shape(depth: depth - 1) })
      default: return try object(depth: depth - 1)
      }
    }

    /// An optional of an optional that is nil is nil, here as everywhere.
    private func flat(_ shape: Shape) -> Shape {
      if case .maybe = shape { .int(1) } else { shape }
    }

    mutating func object(depth: Int) throws -> Shape {
      .object(try (0..<number(0...6)).map { Field(name: "f\($0)", shape: try shape(depth: depth)) })
    }
  }

  @Test("a value of any shape comes back equal", arguments: ["json", "flattened", "asset"], 0..<8)
  func anyShape(form: String, part: Int) throws {
    var options = RecordCodingOptions()
    options.nested = form == "json" ? .json : form == "flattened" ? .flattened : .asset(.json)
    for round in 0..<250 {
      let seed = UInt64(part * 1000 + round)
      var maker = Maker(random: Seeded(seed))
      let shape = try maker.object(depth: 3)
      let record: Record
      do { record = try RecordEncoder(options: options).encode(Root(shape)) } catch {
        Issue.record("seed \(seed): \(error)")
        continue
      }
      do {
        let back = try Shaped.$pattern.withValue(shape) { try RecordDecoder(options: options).decode(Root.self, from: record) }
        #expect(back == Root(shape), "seed \(seed)")
      } catch { Issue.record("seed \(seed): \(error) of \(shape)") }
    }
  }

  // MARK: any record into fixed types

  struct Everything: RecordCodable {
    static var recordType: String { "Any" }
    enum Choice: String, Codable { case a, b }
    struct Inner: Codable {
      var f0: Int?
      var f1: [Inner]?
    }
    var f0: Int?
    var f1: [String]?
    var f2: Date?
    var f3: URL?
    var f4: Inner?
    var f5: [Inner]?
    var f6: Choice?
    var f7: Decimal?
    var f8: Location?
    var f9: UUID?
  }
  struct Lists: RecordCodable {
    static var recordType: String { "Any" }
    var f0: [Int8]?
    var f1: [Date]?
    var f2: [URL]?
    var f3: Set<String>?
    var f4: [[Int]]?
    var f5: [String: [Int]]?
    var f6: [Record.Reference]?
    var f7: [Double]?
    var f8: [Location]?
    var f9: Data?
  }
  struct Strict: RecordCodable {
    static var recordType: String { "Any" }
    var f0: Bool
    var f1: Everything.Inner
    var f2: UInt8
  }

  static func randomValue(_ maker: inout Maker) throws -> Record.Value {
    let json = [
      "{}", "[]", "null", #"{"f0":1,"f1":[{"f0":null}]}"#, #"[1,2.5,-0,1e3,"\u00e9"]"#, #"{"a":[1]}"#, "tru", "{\"", "[1,",
      "\u{0}",
      #"{"f1":[{"f1":[{}]}]}"#, "1e999", "-", "01", #""\ud800""#, "[[1],[2]]",
    ]
    return switch maker.number(0...16) {
    case 0: .string(maker.text())
    case 1: .int(Int64(maker.number(-300...300)))
    case 2: .double(maker.double())
    case 3, 4, 5: .bytes(Data(json[maker.number(0...json.count - 1)].utf8))
    case 6: .date(maker.date())
    case 7: .location(Location(latitude: 1, longitude: 2))
    case 8: .asset(Asset(data: Data(json[maker.number(0...json.count - 1)].utf8)))
    case 9: .reference(Record.Reference(try Record.ID("x")))
    case 10: .strings([maker.text(), "a"])
    case 11: .ints([1, 2, 300])
    case 12: .doubles([maker.double()])
    case 13: .dates([])
    case 14: .string("https://a.b")
    case 15: .references([Record.Reference(try Record.ID("x"))])
    default: .string("6.5")
    }
  }

  @Test("any record into a fixed type succeeds or throws, and what it throws has a path", arguments: ["json", "flattened"])
  func anyRecord(form: String) throws {
    var options = RecordCodingOptions()
    if form == "flattened" { options.nested = .flattened }
    var succeeded = 0
    for seed in 0..<4000 {
      var maker = Maker(random: Seeded(UInt64(seed)))
      var record = try Record(type: "Any")
      for _ in 0..<maker.number(0...5) {
        let key = "f\(maker.number(0...9))" + (maker.number(0...4) == 0 ? "_f\(maker.number(0...1))" : "")
        record[key] = try Self.randomValue(&maker)
      }
      let decoder = RecordDecoder(options: options)
      for attempt: (Record) throws -> Any in [
        { try decoder.decode(Everything.self, from: $0) }, { try decoder.decode(Lists.self, from: $0) },
        { try decoder.decode(Strict.self, from: $0) }, { try decoder.decodeGraph(Everything.self, from: [$0]) },
      ] {
        do {
          _ = try attempt(record)
          succeeded += 1
        } catch {
          let error = try #require(error as? RecordCodingError)
          #expect(!error.path.isEmpty, "seed \(seed): \(error)")
        }
      }
    }
    #expect(succeeded > 100)
  }
}
