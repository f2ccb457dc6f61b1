import Daybook
import DaybookCoding
import Foundation
import Testing

/// One value, one record: the rows C of the capabilities.
@Suite("values as records")
struct RecordCodecTests {
  @Test("C1: a value becomes exactly one record, and nothing is saved by that")
  func oneRecord() throws {
    let database = try Database.inMemory()
    let record = try RecordEncoder().encode(Person.developer)
    #expect(record.type == "Person")
    #expect(record.metadata == nil)
    #expect(try database.recordCount(in: .default) == 0)
    struct Unencodable: RecordEncodable { var big = UInt64.max }
    #expect(refusal { try RecordEncoder().encode(Unencodable()) }?.path == ["big"])
  }

  @Test("C2: a record becomes the value, or an error says where it does not")
  func oneValue() throws {
    var record = try Record(type: "Person")
    record["name"] = "Guilherme"
    record["age"] = 26
    record["website"] = "https://guilhermerambo.me"
    record["isDeveloper"] = 1
    let person = try RecordDecoder().decode(Person.self, from: record)
    #expect(person.name == "Guilherme" && person.age == 26 && person.isDeveloper && person.avatar == nil)
    record["age"] = "old"
    let error = refusal { try RecordDecoder().decode(Person.self, from: record) }
    #expect(error?.code == .typeMismatch && error?.path == ["age"])
    #expect(error?.facts.expected == "Int" && error?.facts.found == "string")
    record["age"] = nil
    let missing = refusal { try RecordDecoder().decode(Person.self, from: record) }
    #expect(missing?.code == .keyNotFound && missing?.path == ["age"])
  }

  @Test("C3: a type may be only encodable, only decodable, or both")
  func threeProtocols() throws {
    struct Note: RecordEncodable {
      var text: String
      var recordName: String { "n1" }
    }
    struct Text: RecordDecodable {
      static var recordType: String { "Note" }
      var text: String
    }
    struct Both: RecordCodable { var text: String }
    let record = try RecordEncoder().encode(Note(text: "hello"))
    #expect(try RecordDecoder().decode(Text.self, from: record).text == "hello")
    let both = try RecordEncoder().encode(Both(text: "b"))
    #expect(try RecordDecoder().decode(Both.self, from: both).text == "b")
  }

  @Test("C4: system fields arrive with a decoded value, and its record keeps name, zone, tag and dates")
  func systemFields() throws {
    let database = try Database.inMemory()
    let zone = try Zone.ID("People")
    try database.write { transaction in try transaction.save(Zone(zone)) }
    let first = try saved(RecordEncoder(zone: zone).encode(Person.developer), in: database)
    var person = try RecordDecoder().decode(Person.self, from: first)
    #expect(person.systemFields != nil)
    person.age = 27
    let second = try RecordEncoder().encode(person)
    #expect(second.id == first.id)
    #expect(second.metadata == first.metadata)
    #expect(try saved(second, in: database)["age"] == 27)
    #expect(Person.developer.systemFields == nil)
  }

  @Test("C5: the property for system fields is no field")
  func noField() throws {
    var person = Person.developer
    #expect(try RecordEncoder().encode(person).keys == ["age", "isDeveloper", "name", "website"])
    person.systemFields = try RecordEncoder().encode(person).systemFields
    #expect(try RecordEncoder().encode(person).keys == ["age", "isDeveloper", "name", "website"])
    person.systemFields = Data("no archive".utf8)
    #expect(refusal { try RecordEncoder().encode(person) }?.code == .invalidSystemFields)
    person.systemFields = try Record(type: "Dog").systemFields
    #expect(refusal { try RecordEncoder().encode(person) }?.code == .invalidSystemFields)
  }

  @Test("C5: a type whose keys leave the system fields out has them all the same")
  func outsideKeys() throws {
    struct Track: RecordCodable {
      var systemFields: Data?
      var title: String
      private enum CodingKeys: String, CodingKey { case title }
    }
    let record = try RecordEncoder().encode(Track(title: "One"))
    #expect(try RecordDecoder().decode(Track.self, from: record).systemFields == record.systemFields)
    struct Fixed: RecordCodable {
      let systemFields: Data?
      let title: String
    }
    let fixed = try RecordEncoder().encode(Fixed(systemFields: nil, title: "t"))
    #expect(try RecordDecoder().decode(Fixed.self, from: fixed).systemFields == fixed.systemFields)
  }

  @Test("C6: the record type is the bare name of the Swift type, or what the type says")
  func recordType() throws {
    enum Outer {
      struct Film: RecordCodable { var title: String }
      struct Named: RecordCodable {
        static var recordType: String { "Movie" }
        var title: String
      }
      struct Box<T: Codable>: RecordCodable { var content: T }
    }
    #expect(try RecordEncoder().encode(Outer.Film(title: "a")).type == "Film")
    #expect(try RecordEncoder().encode(Outer.Named(title: "a")).type == "Movie")
    // The name of a generic type is no name of a record type.
    #expect(refusal { try RecordEncoder().encode(Outer.Box(content: 1)) }?.code == .invalidIdentity)
  }

  @Test("C7: an address of the network is a text")
  func address() throws {
    let record = try RecordEncoder().encode(Person.developer)
    #expect(record["website"] == Record.Value.string("https://guilhermerambo.me"))
    #expect(try RecordDecoder().decode(Person.self, from: record).website == Person.developer.website)
  }

  @Test("C8: a file is an asset, and decodes as where its content is")
  func file() throws {
    let folder = try Folder()
    var person = Person.developer
    person.avatar = try folder.file("avatar.png", "small")
    for inline in [0, 1000] {
      var options = Database.Options()
      options.inlineAssetByteCount = inline
      let database = try Database.open(at: folder.url.appending(path: "people-\(inline).daybook"), options: options)
      let record = try RecordEncoder().encode(person)
      guard case .asset? = record["avatar"] as Record.Value? else {
        Issue.record("no asset")
        return
      }
      let stored = try saved(record, in: database)
      let read = try #require(try database.record(stored.id))
      let decoded = try RecordDecoder().decode(Person.self, from: read)
      #expect(decoded.avatar?.isFileURL == true)
      let url = try #require(decoded.avatar)
      #expect(try Data(contentsOf: url) == Data("small".utf8))
    }
    person.avatar = folder.url.appending(path: "missing.png")
    let error = refusal { try RecordEncoder().encode(person) }
    #expect(error?.path == ["avatar"])
    #expect((error?.cause as? DatabaseError)?.code == .assetFileNotFound)
  }

  @Test("C9: the person of the README has the fields of the README, and comes back equal")
  func person() throws {
    let folder = try Folder()
    var person = Person.developer
    person.avatar = try folder.file("avatar.png", "png")
    let record = try RecordEncoder().encode(person)
    #expect(record["name"] == Record.Value.string("Guilherme Rambo"))
    #expect(record["age"] == Record.Value.int(26))
    #expect(record["website"] == Record.Value.string("https://guilhermerambo.me"))
    #expect(record["isDeveloper"] == Record.Value.int(1))
    var decoded = try RecordDecoder().decode(Person.self, from: record)
    decoded.systemFields = nil
    #expect(decoded.avatar?.path == person.avatar?.path)
    decoded.avatar = person.avatar
    #expect(decoded == person)
  }

  @Test("C10: nested values work: as JSON, flattened, as an asset, as a reference")
  func nesting() throws {
    struct Address: Codable, Equatable {
      var street: String
      var number: Int?
    }
    struct City: RecordCodable, Identifiable, Equatable { var id: String }
    struct House: RecordCodable, Equatable {
      static let fieldRules: [String: FieldRule] = [
        "flat": .flattened, "file": .asset(), "city": .reference(.none),
      ]
      var plain: Address
      var flat: Address
      var file: Address
      var city: City
    }
    let address = Address(street: "Main", number: 3)
    let house = House(plain: address, flat: address, file: address, city: City(id: "vienna"))
    let records = try RecordEncoder().encodeGraph(house)
    let record = try #require(records.last)
    #expect(record["plain"] == Record.Value.bytes(Data(#"{"number":3,"street":"Main"}"#.utf8)))
    #expect(record["flat_street"] == "Main" && record["flat_number"] == 3)
    #expect(record["flat"] as Record.Value? == nil)
    #expect(record["city"] == Record.Reference(try Record.ID("vienna")))
    #expect(try RecordDecoder().decodeGraph(House.self, from: records) == house)
  }

  @Test("C11: the name of a value is the name of its record, and comes back from there")
  func name() throws {
    struct Movie: RecordCodable, Equatable {
      var recordName: String
      var title: String
    }
    let movie = Movie(recordName: "dune", title: "Dune")
    let record = try RecordEncoder().encode(movie)
    #expect(record.id.name == "dune" && record.keys == ["title"])
    #expect(try RecordDecoder().decode(Movie.self, from: record) == movie)
    struct ByID: RecordCodable, Identifiable, Equatable {
      static var recordNameKey: String { "id" }
      var id: UUID
    }
    let value = ByID(id: UUID())
    let other = try RecordEncoder().encode(value)
    #expect(other.id.name == value.id.uuidString && other.keys.isEmpty)
    #expect(try RecordDecoder().decode(ByID.self, from: other) == value)
    // Nobody gave it a name: a UUID, another one for each record.
    let names = try [0, 1].map { _ in try RecordEncoder().encode(Person.developer).id.name }
    #expect(names[0] != names[1] && UUID(uuidString: names[0]) != nil)
    #expect(refusal { try RecordEncoder().encode(Movie(recordName: "_x", title: "")) }?.code == .invalidIdentity)
  }

  @Test("C12: the encoder's zone is that of new records; system fields go before it")
  func zone() throws {
    let library = try Zone.ID("Library")
    let record = try RecordEncoder(zone: library).encode(Person.developer)
    #expect(record.id.zone == library)
    let person = try RecordDecoder().decode(Person.self, from: record)
    #expect(try RecordEncoder(zone: try Zone.ID("Other")).encode(person).id == record.id)
  }

  enum Mood: String, RecordEnum, CaseIterable {
    case calm, happy
    static var fallback: Mood? { .calm }
  }
  enum Level: Int, RecordEnum {
    case low = 1
    case high
    static var fallback: Level? { .high }
  }
  enum Strict: String, RecordEnum {
    case one
    static var fallback: Strict? { nil }
  }
  enum Plain: String, Codable { case one }

  @Test("C13: an enum is its raw value; one of a newer version is the fallback, and refused where there is none")
  func enums() throws {
    struct Day: RecordCodable, Equatable {
      var mood: Mood
      var moods: [Mood]
      var level: Level
      var strict: Strict?
      var plain: Plain?
    }
    let day = Day(mood: .happy, moods: [.calm, .happy], level: .low, strict: .one, plain: .one)
    var record = try RecordEncoder().encode(day)
    #expect(record["mood"] == "happy" && record["moods"] == ["calm", "happy"] && record["level"] == 1)
    #expect(try RecordDecoder().decode(Day.self, from: record) == day)
    record["mood"] = "ecstatic"
    record["moods"] = ["happy", "ecstatic"]
    record["level"] = 9
    let decoded = try RecordDecoder().decode(Day.self, from: record)
    #expect(decoded.mood == .calm && decoded.moods == [.happy, .calm] && decoded.level == .high)
    for key in ["strict", "plain"] {
      var broken = record
      broken[key] = "two"
      let error = refusal { try RecordDecoder().decode(Day.self, from: broken) }
      #expect(error?.code == .dataCorrupted && error?.path == [key])
    }
    record["mood"] = 3
    #expect(refusal { try RecordDecoder().decode(Day.self, from: record) }?.code == .typeMismatch)
  }

  @Test("C14: nested values are JSON with sorted keys and plain slashes, an array of them one text, nil is absent")
  func json() throws {
    struct Part: Codable, Equatable {
      var zeta: String
      var alpha: Date
      var link: URL?
    }
    struct Whole: RecordCodable, Equatable {
      var one: Part?
      var many: [Part]
      var none: Part?
    }
    let part = Part(zeta: "a/b", alpha: Date(timeIntervalSinceReferenceDate: 0.1), link: URL(string: "https://a.b/c"))
    let whole = Whole(one: part, many: [part, part], none: nil)
    let record = try RecordEncoder().encode(whole)
    let text = #"{"alpha":0.1,"link":"https://a.b/c","zeta":"a/b"}"#
    #expect(record["one"] == Record.Value.bytes(Data(text.utf8)))
    #expect(record["many"] == Record.Value.bytes(Data("[\(text),\(text)]".utf8)))
    #expect(record.keys == ["many", "one"])
    #expect(try RecordDecoder().decode(Whole.self, from: record) == whole)
    // The system's own reader agrees.
    #expect(try JSONDecoder().decode(Part.self, from: Data(text.utf8)) == part)
  }

  @Test("C15: arrays of plain values are lists")
  func lists() throws {
    struct Lists: RecordCodable, Equatable {
      var texts = ["a", "b"]
      var numbers = [1, 2]
      var bytes: [UInt8] = [1, 255]
      var flags = [true, false]
      var doubles = [0.5, -1]
      var floats: [Float] = [0.25]
      var data = [Data([1]), Data()]
      var dates = [Date(timeIntervalSinceReferenceDate: 1.5)]
      var places = [Location(latitude: 1, longitude: 2, altitude: 3)]
      var ids = [UUID()]
      var decimals = [Decimal(string: "1.10")!]
      var links = [URL(string: "https://a.b")!]
    }
    let lists = Lists()
    let record = try RecordEncoder().encode(lists)
    #expect(record["texts"] == Record.Value.strings(["a", "b"]))
    #expect(record["numbers"] == Record.Value.ints([1, 2]))
    #expect(record["bytes"] == Record.Value.ints([1, 255]))
    #expect(record["flags"] == Record.Value.ints([1, 0]))
    #expect(record["doubles"] == Record.Value.doubles([0.5, -1]))
    #expect(record["data"] == Record.Value.bytesList([Data([1]), Data()]))
    #expect(record["places"] == Record.Value.locations(lists.places))
    #expect(record["links"] == Record.Value.strings(["https://a.b"]))
    #expect(try RecordDecoder().decode(Lists.self, from: record) == lists)
  }

  @Test("C16: a nested value as an asset, in each of three formats", arguments: RecordCodingOptions.AssetFormat.allCases)
  func assetValue(format: RecordCodingOptions.AssetFormat) throws {
    struct Drawing: Codable, Equatable {
      var title: String
      var points: [Double]
    }
    struct Page: RecordCodable, Equatable {
      var drawing: Drawing
      var other: Drawing?
    }
    var options = RecordCodingOptions()
    options.rules["drawing"] = .asset(format)
    let page = Page(drawing: Drawing(title: "a", points: [1.5, 2]), other: Drawing(title: "b", points: []))
    let record = try RecordEncoder(options: options).encode(page)
    guard case .asset(let asset)? = record["drawing"] as Record.Value? else {
      Issue.record("no asset")
      return
    }
    let start = String(decoding: try asset.content().prefix(6), as: UTF8.self)
    switch format {
    case .json: #expect(start.hasPrefix("{"))
    case .xmlPropertyList: #expect(start.hasPrefix("<?xml"))
    case .binaryPropertyList: #expect(start.hasPrefix("bplist"))
    }
    // Which it is the content tells: the decoder has no options for it.
    #expect(try RecordDecoder().decode(Page.self, from: record) == page)
  }

  @Test("C17: a field beyond the limit is refused with key and size, and is none as an asset")
  func tooLarge() throws {
    struct Photo: RecordCodable, Equatable { var pixels: Data }
    let photo = Photo(pixels: Data(count: 1_000_001))
    let error = refusal { try RecordEncoder().encode(photo) }
    #expect(error?.code == .tooLarge && error?.path == ["pixels"])
    #expect(error?.facts.key == "pixels" && error?.facts.size == 1_000_001 && error?.facts.limit == 1_000_000)
    var options = RecordCodingOptions()
    options.data = .assetAbove(1000)
    let record = try RecordEncoder(options: options).encode(photo)
    #expect(try RecordDecoder().decode(Photo.self, from: record) == photo)
    // Each field by itself is small enough, all of them are not.
    struct Album: RecordEncodable {
      var first = Data(count: 600_000)
      var second = Data(count: 600_000)
    }
    let whole = refusal { try RecordEncoder().encode(Album()) }
    #expect(whole?.code == .tooLarge && whole?.path == [])
  }

  @Test("C18: values that no field can hold and foreign system fields are refused by name")
  func unsupported() throws {
    struct Keys: RecordEncodable {
      var parent = "reserved"
    }
    let error = refusal { try RecordEncoder().encode(Keys()) }
    #expect(error?.code == .invalidKey && error?.path == ["parent"])
    struct NaN: RecordEncodable { var value = Double.nan }
    #expect(refusal { try RecordEncoder().encode(NaN()) }?.code == .unsupportedValue)
    struct Underscore: RecordEncodable { var _hidden = 1 }
    #expect(refusal { try RecordEncoder().encode(Underscore()) }?.code == .invalidKey)
  }

  @Test("an optional property of a name that no field can have is no obstacle while it is nil")
  func reservedOptional() throws {
    struct Node: RecordCodable, Equatable {
      var parent: String?
      var recordType: Int?
      var _hidden: [String]?
      var title: String?
    }
    let record = try RecordEncoder().encode(Node())
    #expect(record.changedKeys == ["title"] && record.removedKeys == ["title"])
    #expect(try RecordDecoder().decode(Node.self, from: record) == Node())
    let database = try Database.inMemory()
    try database.save(Node(title: "a"))
    #expect(try database.fetchAll(Node.self) == [Node(title: "a")])
    #expect(try RecordEncoder().encode(Node(title: "b"), onto: record).changedKeys == ["title"])
    #expect(refusal { try RecordEncoder().encode(Node(parent: "a")) }?.code == .invalidKey)
    #expect(refusal { try RecordEncoder().encode(Node(_hidden: ["a"])) }?.code == .invalidKey)
  }

  @Test("C19: a Boolean is 0 or 1, and nothing else is a Boolean")
  func booleans() throws {
    struct Flag: RecordCodable, Equatable { var isOn: Bool }
    var record = try RecordEncoder().encode(Flag(isOn: true))
    #expect(record["isOn"] == Record.Value.int(1))
    #expect(try RecordDecoder().decode(Flag.self, from: record).isOn)
    record["isOn"] = 2
    #expect(refusal { try RecordDecoder().decode(Flag.self, from: record) }?.code == .typeMismatch)
  }

  /// A value of any kind, as many libraries have one: it tries a Boolean first.
  private enum Anything: Codable, Equatable {
    case bool(Bool), int(Int), list([Anything])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Int.self) {
        self = .int(value)
      } else {
        self = .list(try container.decode([Anything].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .int(let value): try container.encode(value)
      case .list(let values): try container.encode(values)
      }
    }
  }

  @Test("within JSON the numbers 0 and 1 came back as Booleans, where a type tries these first")
  func numbersWithinJSON() throws {
    struct Settings: RecordCodable, Equatable { var values: [String: Anything] }
    let settings = Settings(
      values: ["count": .int(1), "none": .int(0), "isOn": .bool(true), "list": .list([.int(1), .bool(false)])])
    let record = try RecordEncoder().encode(settings)
    #expect(try RecordDecoder().decode(Settings.self, from: record) == settings)
  }
}
