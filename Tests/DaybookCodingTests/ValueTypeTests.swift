import Daybook
import DaybookCoding
import Foundation
import Testing

/// What becomes of which Swift type.
@Suite("values of all types")
struct ValueTypeTests {
  struct Widths: RecordCodable, Equatable {
    var a: Int8 = .min
    var b: Int16 = .max
    var c: Int32 = .min
    var d: Int64 = .min
    var e: UInt8 = .max
    var f: UInt16 = .max
    var g: UInt32 = .max
    var h: UInt64 = UInt64(Int64.max)
    var i: UInt = 7
    var j: Int = .max
    var k: Int128 = Int128(Int64.min)
    var l: UInt128 = 3
    var m: Int8?
    var n: [UInt64] = [0, UInt64(Int64.max)]
  }

  @Test("whole numbers of every width, and what does not fit is refused with the path")
  func widths() throws {
    let record = try RecordEncoder().encode(Widths())
    #expect(try RecordDecoder().decode(Widths.self, from: record) == Widths())
    var wide = Widths()
    wide.h = UInt64(Int64.max) + 1
    #expect(refusal { try RecordEncoder().encode(wide) }?.path == ["h"])
    wide = Widths()
    wide.n = [.max]
    #expect(refusal { try RecordEncoder().encode(wide) }?.path == ["n"])
    wide = Widths()
    wide.k = .max
    #expect(refusal { try RecordEncoder().encode(wide) }?.path == ["k"])
    for (key, value) in [("a", 128), ("e", -1), ("g", Int(UInt32.max) + 1), ("h", -1), ("l", -1)] {
      var broken = record
      broken[key] = value
      let error = refusal { try RecordDecoder().decode(Widths.self, from: broken) }
      #expect(error?.code == .dataCorrupted && error?.path == [key])
    }
    var broken = record
    broken["n"] = [1, -1]
    #expect(refusal { try RecordDecoder().decode(Widths.self, from: broken) }?.path == ["n", "1"])
  }

  @Test("numbers with fractions: infinities, minus zero, floats, and decimals digit for digit")
  func fractions() throws {
    struct Numbers: RecordCodable, Equatable {
      var huge = Double.infinity
      var tiny = -Double.leastNonzeroMagnitude
      var zero = -0.0
      var float: Float = 0.1
      var price = Decimal(string: "12345678901234567890.123456789")!
      var small = Decimal(string: "-0.00000000000000000000000001")!
      var most = Decimal.greatestFiniteMagnitude
      var whole: Double = 3
    }
    var record = try RecordEncoder().encode(Numbers())
    #expect(record["price"] == "12345678901234567890.123456789")
    #expect(try RecordDecoder().decode(Numbers.self, from: record) == Numbers())
    record["whole"] = 3
    #expect(try RecordDecoder().decode(Numbers.self, from: record) == Numbers())
    for text in ["12x", "", ".", "1e", "1 2", "0x10", "NaN", "1e99999"] {
      record["price"] = text
      #expect(refusal { try RecordDecoder().decode(Numbers.self, from: record) }?.path == ["price"], "\(text)")
    }
  }

  @Test("the last half of a millisecond before the year 10000 became a text of that year, which could not be saved again")
  func lastMoment() throws {
    struct Day: RecordCodable { var at: Date }
    var options = RecordCodingOptions()
    options.dates = .iso8601
    let end = 252_423_993_600.0
    let last = try RecordEncoder(options: options).encode(Day(at: Date(timeIntervalSinceReferenceDate: end - 0.001)))
    #expect(last["at"] == "9999-12-31T23:59:59.999Z")
    let error = refusal {
      try RecordEncoder(options: options).encode(Day(at: Date(timeIntervalSinceReferenceDate: end - 0.000_4)))
    }
    #expect(error?.code == .unsupportedValue && error?.path == ["at"])
  }

  @Test("dates in every form come back as they were")
  func dates() throws {
    struct When: RecordCodable, Equatable {
      var one: Date
      var many: [Date]
      var none: Date?
    }
    // Of each form what it can hold.
    let when = When(
      one: Date(timeIntervalSince1970: 1_234_567_890.125), many: [Date(timeIntervalSince1970: -62_000_000_000.5)])
    for strategy: RecordCodingOptions.DateStrategy in [
      .native, .secondsSince1970, .millisecondsSince1970, .iso8601,
      .custom(
        encode: { .strings(["\($0.timeIntervalSince1970)"]) },
        decode: { value in
          guard case .strings(let list) = value, let number = Double(list[0]) else { throw CancellationError() }
          return Date(timeIntervalSince1970: number)
        }),
    ] {
      var options = RecordCodingOptions()
      options.dates = strategy
      if case .custom = strategy {
        struct One: RecordCodable, Equatable { var one: Date }
        let record = try RecordEncoder(options: options).encode(One(one: when.one))
        #expect(try RecordDecoder(options: options).decode(One.self, from: record).one == when.one)
        var broken = record
        broken["one"] = 1
        let error = refusal { try RecordDecoder(options: options).decode(One.self, from: broken) }
        #expect(error?.code == .other && error?.path == ["one"])
        continue
      }
      let record = try RecordEncoder(options: options).encode(when)
      #expect(try RecordDecoder(options: options).decode(When.self, from: record) == when)
    }
    struct Ruled: RecordCodable, Equatable {
      static let fieldRules: [String: FieldRule] = ["day": .date(.iso8601)]
      var day = Date(timeIntervalSince1970: 0)
      var other = Date(timeIntervalSince1970: 0)
    }
    let record = try RecordEncoder().encode(Ruled())
    #expect(record["day"] == "1970-01-01T00:00:00.000Z")
    #expect(try RecordDecoder().decode(Ruled.self, from: record) == Ruled())
    var far = RecordCodingOptions()
    far.dates = .iso8601
    struct Far: RecordEncodable { var date = Date.distantFuture.addingTimeInterval(1e12) }
    #expect(refusal { try RecordEncoder(options: far).encode(Far()) }?.path == ["date"])
  }

  @Test("bytes in every form come back as they were, whichever form the decoder expects")
  func bytes() throws {
    struct Blobs: RecordCodable, Equatable {
      var one = Data([0, 255])
      var many = [Data([1]), Data(count: 2000)]
      var none: Data?
    }
    for (strategy, key) in [
      (RecordCodingOptions.DataStrategy.bytes, "bytes"), (.base64, "string"), (.asset, "asset"), (.assetAbove(1), "asset"),
    ] {
      var options = RecordCodingOptions()
      options.data = strategy
      var blobs = Blobs()
      if case .assetAbove = strategy { blobs.many = [Data([1, 2]), Data([3, 4])] }
      let record = try RecordEncoder(options: options).encode(blobs)
      let kind: String =
        switch record["one"] as Record.Value? {
        case .bytes: "bytes"
        case .string: "string"
        case .asset: "asset"
        default: "?"
        }
      #expect(kind == key)
      #expect(try RecordDecoder().decode(Blobs.self, from: record) == blobs)
    }
  }

  enum Shape: Codable, Equatable {
    case circle(radius: Double)
    case square(Double)
    case empty
    indirect case pair(Shape, Shape)
  }

  @Test(
    "enums with payloads, dictionaries and optionals of them, in each form of nesting",
    arguments: ["json", "flattened", "asset"])
  func nested(form: String) throws {
    struct Inner: Codable, Equatable {
      var text: String?
      var date: Date
      var data: Data
      var list: [Int]
      var place: Location
      var deeper: [String: Double]
    }
    struct Outer: RecordCodable, Equatable {
      var shape: Shape
      var inner: Inner
      var maybe: Inner?
      var table: [String: Int]
    }
    let inner = Inner(
      text: "a\"\\/\u{1}é😀", date: Date(timeIntervalSinceReferenceDate: 1e-9), data: Data([1, 2]), list: [],
      place: Location(latitude: 1, longitude: 2, course: 3), deeper: ["x": .infinity])
    var options = RecordCodingOptions()
    options.nested = form == "json" ? .json : form == "flattened" ? .flattened : .asset(.json)
    // What a flattened enum has at its cases are values that flatten on.
    let shape = Shape.pair(.circle(radius: 0.1), .pair(.square(2), .empty))
    for maybe in [nil, inner] {
      let outer = Outer(shape: shape, inner: inner, maybe: maybe, table: ["one": 1])
      let record = try RecordEncoder(options: options).encode(outer)
      #expect(try RecordDecoder(options: options).decode(Outer.self, from: record) == outer)
    }
  }

  @Test("a flattened value that becomes nil takes its fields away from the record it was in")
  func flattenedNil() throws {
    struct Address: Codable, Equatable { var street: String, city: String? }
    struct Home: RecordCodable, Equatable {
      static let fieldRules: [String: FieldRule] = ["address": .flattened, "address.city": .ignored]
      var address: Address?
    }
    let record = try RecordEncoder().encode(Home(address: Address(street: "a", city: "b")))
    #expect(record.keys == ["address_street"])
    #expect(try RecordEncoder().encode(Home(), onto: record).keys == [])
    #expect(try RecordDecoder().decode(Home.self, from: try Record(type: "Home")).address == nil)
  }

  @Test("a property that is nil leaves those alone whose names begin with its own")
  func commonBeginnings() throws {
    struct Address: Codable, Equatable { var street: String }
    struct Trip: RecordCodable, Equatable {
      var start_time: Int
      var start: Date?
      var start_list: [Int]
      var tags_count: Int?
      var tags: [String]?
      var home_number: Int
      var home: Address?
    }
    var options = RecordCodingOptions()
    options.nested = .flattened
    let trip = Trip(start_time: 1, start_list: [2], tags_count: 3, home_number: 4)
    let record = try RecordEncoder(options: options).encode(trip)
    #expect(record.keys == ["home_number", "start_list", "start_time", "tags_count"])
    #expect(try RecordDecoder(options: options).decode(Trip.self, from: record).start == nil)
    #expect(try RecordDecoder(options: options).decode(Trip.self, from: record).tags == nil)
    var full = trip
    full.home = Address(street: "a")
    let stored = try RecordEncoder(options: options).encode(full, onto: record)
    #expect(stored["home_street"] == "a")
    let emptied = try RecordEncoder(options: options).encode(trip, onto: stored)
    #expect(emptied.keys == record.keys)
  }

  @Test("types that read and write values of records themselves do so here, too")
  func convertible() throws {
    struct Isbn: RecordValueConvertible, Codable, Equatable {
      var text: String
      var recordValue: Record.Value { .string("isbn:" + text) }
      init(text: String) { self.text = text }
      init?(recordValue: Record.Value) {
        guard let text = String(recordValue: recordValue), text.hasPrefix("isbn:") else { return nil }
        self.text = String(text.dropFirst(5))
      }
    }
    struct Book: RecordCodable, Equatable {
      var isbn: Isbn
      var other: Isbn?
      var any: Record.Value
      var file: Asset
    }
    let book = Book(
      isbn: Isbn(text: "1"), other: Isbn(text: "2"), any: .doubles([1.5]), file: Asset(data: Data([1])))
    let record = try RecordEncoder().encode(book)
    #expect(record["isbn"] == "isbn:1" && record["any"] == Record.Value.doubles([1.5]))
    #expect(try RecordDecoder().decode(Book.self, from: record) == book)
  }

  @Test("empty lists have the kind of their elements")
  func emptyLists() throws {
    enum Kind: Int, Codable { case a }
    struct Point: Codable, Equatable { var x: Int }
    struct Lists: RecordCodable, Equatable {
      var texts: [String] = []
      var numbers: [Int16] = []
      var doubles: [Double] = []
      var dates: [Date] = []
      var data: [Data] = []
      var places: [Location] = []
      var flags: [Bool] = []
      var kinds: [Kind] = []
      var set: Set<Int> = []
      var links: [URL] = []
      var points: [Point] = []
      var maybe: [String]? = []
    }
    let record = try RecordEncoder().encode(Lists())
    let expected: [(String, Record.Value)] = [
      ("texts", .strings([])), ("numbers", .ints([])), ("doubles", .doubles([])), ("dates", .dates([])),
      ("data", .bytesList([])), ("places", .locations([])), ("flags", .ints([])), ("kinds", .ints([])),
      ("set", .ints([])), ("links", .strings([])), ("points", .bytes(Data("[]".utf8))), ("maybe", .strings([])),
    ]
    for (key, value) in expected { #expect(record[key] == value, "\(key)") }
    #expect(try RecordDecoder().decode(Lists.self, from: record) == Lists())
    // An empty list of another kind is an empty list.
    var other = record
    other["numbers"] = Record.Value.strings([])
    #expect(try RecordDecoder().decode(Lists.self, from: other) == Lists())
  }

  @Test("lists whose elements are of several kinds, nil or lists themselves are JSON")
  func mixedLists() throws {
    enum Cell: Codable, Equatable {
      case text(String)
      case number(Int)
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
          self = .number(number)
        } else {
          self = .text(try container.decode(String.self))
        }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        }
      }
    }
    struct Sheet: RecordCodable, Equatable {
      var cells: [Cell]
      var same: [Cell]
      var holes: [Int?]
      var rows: [[Int]]
      var cell: Cell
      var big: [[UInt64]]
    }
    let sheet = Sheet(
      cells: [.text("a"), .number(1)], same: [.number(1), .number(2)], holes: [1, nil, 3], rows: [[1], [], [2, 3]],
      cell: .number(4), big: [[.max]])
    let record = try RecordEncoder().encode(sheet)
    #expect(record["cells"] == Record.Value.bytes(Data(#"["a",1]"#.utf8)))
    #expect(record["same"] == Record.Value.ints([1, 2]))
    #expect(record["holes"] == Record.Value.bytes(Data("[1,null,3]".utf8)))
    #expect(try RecordDecoder().decode(Sheet.self, from: record) == sheet)
  }

  @Test("a rule makes a list of plain values JSON, or one asset")
  func ruledLists() throws {
    struct Ruled: RecordCodable, Equatable {
      static let fieldRules: [String: FieldRule] = ["texts": .json, "numbers": .asset(), "files": .asset(), "none": .json]
      var texts = ["a", "b"]
      var numbers = [1, 2]
      var files = [Data([1]), Data([2])]
      var none: [Date]?
      var empty: [Int] = []
    }
    let record = try RecordEncoder().encode(Ruled())
    #expect(record["texts"] == Record.Value.bytes(Data(#"["a","b"]"#.utf8)))
    guard case .asset? = record["numbers"] as Record.Value?, case .assets? = record["files"] as Record.Value? else {
      Issue.record("no assets")
      return
    }
    #expect(record["none"] as Record.Value? == nil)
    #expect(try RecordDecoder().decode(Ruled.self, from: record) == Ruled())
  }
}
