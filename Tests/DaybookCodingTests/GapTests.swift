import Daybook
import DaybookCoding
import Foundation
import Testing

/// What earlier codecs could not do: the rows G of the capabilities.
@Suite("gaps of earlier codecs")
struct GapTests {
  struct Movie: RecordCodable, Equatable {
    var systemFields: Data?
    var title: String
    var subtitle: String?
    var tags: [String]?
  }

  @Test("G1: nil takes the field away from a record that had it")
  func nilRemoves() throws {
    let database = try Database.inMemory()
    var movie = Movie(title: "Dune", subtitle: "Part One", tags: ["sand"])
    let first = try saved(RecordEncoder().encode(movie), in: database)
    // A newer version of the application knows one more.
    var newer = first
    newer["rating"] = 5
    let second = try saved(newer, in: database)
    movie = try RecordDecoder().decode(Movie.self, from: second)
    movie.subtitle = nil
    movie.tags = nil
    let record = try RecordEncoder().encode(movie)
    #expect(record.removedKeys == ["subtitle", "tags"])
    let third = try saved(record, in: database)
    #expect(third.keys == ["rating", "title"])
    #expect(third["rating"] == 5)
  }

  struct Manual: RecordCodable, Equatable {
    struct Inner: Equatable { var a = 1, b = "x" }
    var inner = Inner()
    var list: [Int] = [1, 2]
    var above = "super"
    var named = 7.5

    enum Keys: String, CodingKey { case inner, list, named }
    enum InnerKeys: String, CodingKey { case a, b }

    init() {}

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      var nested = container.nestedContainer(keyedBy: InnerKeys.self, forKey: .inner)
      try nested.encode(inner.a, forKey: .a)
      try nested.encode(inner.b, forKey: .b)
      var elements = container.nestedUnkeyedContainer(forKey: .list)
      for number in list { try elements.encode(number) }
      try above.encode(to: container.superEncoder())
      try named.encode(to: container.superEncoder(forKey: .named))
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      let nested = try container.nestedContainer(keyedBy: InnerKeys.self, forKey: .inner)
      inner = Inner(a: try nested.decode(Int.self, forKey: .a), b: try nested.decode(String.self, forKey: .b))
      var elements = try container.nestedUnkeyedContainer(forKey: .list)
      list = []
      while !elements.isAtEnd { list.append(try elements.decode(Int.self)) }
      above = try String(from: container.superDecoder())
      named = try Double(from: container.superDecoder(forKey: .named))
    }
  }

  @Test("G2: nested containers, unkeyed ones and super encoders work", arguments: [false, true])
  func containers(isFlattened: Bool) throws {
    var options = RecordCodingOptions()
    if isFlattened { options.nested = .flattened }
    let record = try RecordEncoder(options: options).encode(Manual())
    #expect(record["list"] == [1, 2] && record["super"] == "super" && record["named"] == 7.5)
    if isFlattened {
      #expect(record.keys == ["inner_a", "inner_b", "list", "named", "super"])
      #expect(record["inner_a"] == 1 && record["inner_b"] == "x")
    }
    #expect(try RecordDecoder(options: options).decode(Manual.self, from: record) == Manual())
  }

  @Test("G3: addresses, files, sets and dictionaries in numbers")
  func collections() throws {
    struct Collections: RecordCodable, Equatable {
      var links = [URL(string: "https://a.b")!, URL(string: "https://c.d")!]
      var files: [URL] = []
      var words: Set<String> = ["b", "a", "c"]
      var numbers: Set<Int> = [3, 1, 2]
      var scores = ["x": 1, "y": 2]
      var byNumber = [1: "one"]
      var nothing: Set<UUID> = []
    }
    let folder = try Folder()
    var value = Collections()
    value.files = [try folder.file("a", "first"), try folder.file("b", "second")]
    let record = try RecordEncoder().encode(value)
    #expect(record["words"] == Record.Value.strings(["a", "b", "c"]))
    #expect(record["numbers"] == Record.Value.ints([1, 2, 3]))
    #expect(record["scores"] == Record.Value.bytes(Data(#"{"x":1,"y":2}"#.utf8)))
    let decoded = try RecordDecoder().decode(Collections.self, from: record)
    #expect(try decoded.files.map { try Data(contentsOf: $0) } == [Data("first".utf8), Data("second".utf8)])
    var same = decoded
    same.files = value.files
    #expect(same == value)
    value.files.append(URL(string: "https://a.b")!)
    #expect(refusal { try RecordEncoder().encode(value) }?.path == ["files"])
  }

  @Test("G4: strategies for keys, dates, bytes and numbers, ignored keys, and userInfo")
  func strategies() throws {
    struct Event: RecordCodable, Equatable {
      static let fieldRules: [String: FieldRule] = ["secret": .ignored]
      var firstName = "a"
      var imageURL = "b"
      var startDate = Date(timeIntervalSince1970: 1_700_000_000.25)
      var payload = Data([1, 2, 3])
      var ratio = Double.nan
      var secret: String? = "s"

      static func == (a: Event, b: Event) -> Bool {
        a.firstName == b.firstName && a.imageURL == b.imageURL && a.startDate == b.startDate && a.payload == b.payload
          && a.ratio.isNaN == b.ratio.isNaN
      }
    }
    var options = RecordCodingOptions()
    options.keys = .snakeCase
    options.dates = .iso8601
    options.data = .base64
    options.notANumber = .text("NaN")
    let record = try RecordEncoder(options: options).encode(Event())
    #expect(record.keys == ["first_name", "image_url", "payload", "ratio", "start_date"])
    #expect(record["start_date"] == "2023-11-14T22:13:20.250Z" && record["payload"] == "AQID" && record["ratio"] == "NaN")
    let decoded = try RecordDecoder(options: options).decode(Event.self, from: record)
    #expect(decoded == Event() && decoded.secret == nil)

    let marker = try #require(CodingUserInfoKey(rawValue: "marker"))
    struct Asking: RecordCodable {
      var seen: String
      init(seen: String) { self.seen = seen }
      enum Keys: String, CodingKey { case seen }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        let key = CodingUserInfoKey(rawValue: "marker")!
        try container.encode(encoder.userInfo[key] as? String ?? "nothing", forKey: .seen)
      }
      init(from decoder: any Decoder) throws {
        let key = CodingUserInfoKey(rawValue: "marker")!
        seen = decoder.userInfo[key] as? String ?? "nothing"
      }
    }
    options.userInfo[marker] = "told"
    let asked = try RecordEncoder(options: options).encode(Asking(seen: ""))
    #expect(asked["seen"] == "told")
    #expect(try RecordDecoder(options: options).decode(Asking.self, from: asked).seen == "told")
  }

  @Test("G5: a record of another type is refused, not trapped on")
  func recordType() throws {
    let record = try Record(type: "Dog")
    let error = refusal { try RecordDecoder().decode(Movie.self, from: record) }
    #expect(error?.code == .recordTypeMismatch && error?.facts.expected == "Movie" && error?.facts.found == "Dog")
    var options = RecordCodingOptions()
    options.checksRecordType = false
    #expect(refusal { try RecordDecoder(options: options).decode(Movie.self, from: record) }?.code == .keyNotFound)
    #expect(refusal { try RecordEncoder().encode(Movie(title: "a"), onto: record) }?.code == .recordTypeMismatch)
  }

  @Test("G6: references, lists of them, and the parent")
  func references() throws {
    struct Chapter: RecordCodable, Identifiable, Equatable {
      static let fieldRules: [String: FieldRule] = ["book": .parent]
      var id: String
      var book: Record.ID?
      var next: Record.Reference?
      var others: [Record.Reference]
    }
    let book = try Record.ID("book")
    let link = Record.Reference(try Record.ID("c2"), action: .validate)
    var chapter = Chapter(id: "c1", book: book, next: link, others: [link, link])
    let record = try RecordEncoder().encode(chapter)
    #expect(record.parent == Record.Reference(book))
    #expect(record["next"] == link && record["others"] == [link, link])
    #expect(try RecordDecoder().decode(Chapter.self, from: record) == chapter)
    chapter.book = nil
    #expect(try RecordEncoder().encode(chapter, onto: record).parent == nil)
    chapter.next = Record.Reference(try Record.ID("c2", in: try Zone.ID("Elsewhere")))
    #expect(refusal { try RecordEncoder().encode(chapter) }?.path == ["next"])
  }

  @Test("G7: a UUID is a text")
  func uuid() throws {
    struct Item: RecordCodable, Equatable {
      var key: UUID
      var keys: [UUID]
      var other: UUID?
    }
    let item = Item(key: UUID(), keys: [UUID(), UUID()], other: UUID())
    var record = try RecordEncoder().encode(item)
    #expect(record["key"] == Record.Value.string(item.key.uuidString))
    #expect(try RecordDecoder().decode(Item.self, from: record) == item)
    record["key"] = "no"
    let error = refusal { try RecordDecoder().decode(Item.self, from: record) }
    #expect(error?.code == .dataCorrupted && error?.path == ["key"])
  }

  @Test("G8: places, native and as a text")
  func places() throws {
    struct Spot: RecordCodable, Equatable {
      var place: Location
      var places: [Location]
    }
    let spot = Spot(
      place: Location(latitude: 48.2, longitude: 16.37, altitude: 151), places: [Location(latitude: -1, longitude: 0.5)])
    let record = try RecordEncoder().encode(spot)
    #expect(record["place"] == Record.Value.location(spot.place))
    #expect(try RecordDecoder().decode(Spot.self, from: record) == spot)
    var options = RecordCodingOptions()
    options.locations = .text
    #expect(refusal { try RecordEncoder(options: options).encode(spot) }?.path == ["place"])
    var short = spot
    short.place.altitude = nil
    let text = try RecordEncoder(options: options).encode(short)
    #expect(text["place"] == "48.2;16.37" && text["places"] == ["-1.0;0.5"])
    #expect(try RecordDecoder(options: options).decode(Spot.self, from: text) == short)
  }
}
