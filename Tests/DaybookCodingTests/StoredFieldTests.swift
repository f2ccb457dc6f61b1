import Daybook
import DaybookCoding
import Foundation
import Testing

/// Records as a database hands them out are decoded straight from their bytes. A rule for a key that no type has leads to the careful
/// way, so that the two can be compared.
@Suite("values of stored records")
struct StoredFieldTests {
  struct Usual: RecordCodable, Identifiable, Equatable {
    var id: String
    var title: String
    var subtitle: String?
    var year: Int
    var pages: UInt16?
    var price: Double
    var rating: Float?
    var isRead: Bool
    var isLent: Bool?
    var published: Date
    var returned: Date?
    var digest: Data
    var cover: Data?
    var tags: [String]
    var notes: [String]?
    var counts: [Int]
    var large: [Int64]?
    var weights: [Double]
    var shelf: UUID
    var owner: UUID?
  }

  private static let whole = Usual(
    id: "whole", title: "Größe", subtitle: "", year: -5, pages: .max, price: 1.5, rating: 2.25, isRead: true, isLent: false,
    published: Date(timeIntervalSinceReferenceDate: 0.1), returned: .distantFuture, digest: Data([1, 2]), cover: Data(),
    tags: ["a", ""], notes: [], counts: [.min, 0, .max], large: [1], weights: [.infinity, 0.1], shelf: UUID(), owner: UUID())

  private static let bare = Usual(
    id: "bare", title: "", year: .max, price: -.infinity, isRead: false, published: .distantPast, digest: Data(), tags: [],
    counts: [], weights: [], shelf: UUID())

  private func careful() -> RecordDecoder {
    var options = RecordCodingOptions()
    options.rules = ["ofNoType": .ignored]
    return RecordDecoder(options: options)
  }

  @Test("every usual kind, there and absent, comes back from a database as it was saved", arguments: [whole, bare])
  private func everyKind(value: Usual) throws {
    let database = try Database.inMemory()
    let record = try database.save(value)
    #expect(try database.fetch(Usual.self, value.id) == value)
    #expect(try RecordDecoder().decode(Usual.self, from: record) == value)
    #expect(try careful().decode(Usual.self, from: record) == value)
  }

  @Test("an edited record is decoded with its edits")
  func edited() throws {
    let database = try Database.inMemory()
    var record = try database.save(Self.whole)
    record["title"] = "Other"
    record["subtitle"] = nil as String?
    let value = try RecordDecoder().decode(Usual.self, from: record)
    #expect(value.title == "Other" && value.subtitle == nil && value.year == Self.whole.year)
  }

  @Test(
    "what does not fit is refused with the same code and path on both ways",
    arguments: [
      ("title", Record.Value.int(1)), ("pages", .int(70_000)), ("pages", .int(-1)), ("isRead", .int(2)),
      ("price", .string("x")),
      ("published", .double(1)), ("digest", .string("§")), ("shelf", .string("none")), ("tags", .ints([1])),
      ("year", .double(1)),
      ("title", nil), ("published", nil), ("tags", nil),
    ] as [(String, Record.Value?)])
  func misfits(key: String, value: Record.Value?) throws {
    let database = try Database.inMemory()
    var record = try RecordEncoder().encode(Self.whole)
    try record.set(value, forKey: key)
    let stored = try saved(record, in: database)
    let direct = try #require(refusal { try RecordDecoder().decode(Usual.self, from: stored) })
    let other = try #require(refusal { try careful().decode(Usual.self, from: stored) })
    #expect(direct.code == other.code && direct.path == other.path && direct.path.first == key)
  }

  @Test("a field that has the key of the record's name is not taken for it")
  func nameKey() throws {
    struct Named: RecordCodable, Equatable {
      static let recordNameKey = "title"
      var title: String
      var recordName: String { title }
    }
    let database = try Database.inMemory()
    var record = try Record(type: "Named", id: Record.ID("name"))
    record["title"] = "field"
    #expect(try RecordDecoder().decode(Named.self, from: saved(record, in: database)).title == "name")
  }

  @Test("system fields reach each value of a type that keeps them outside its keys, and values of others before and after")
  func systemFields() throws {
    struct Keeping: RecordCodable {
      enum CodingKeys: CodingKey { case title }
      var systemFields: Data?
      var title: String
    }
    struct Dropping: RecordCodable {
      static let recordType = "Keeping"
      var title: String
    }
    let database = try Database.inMemory()
    let record = try database.save(Keeping(title: "Dune"))
    for _ in 0..<3 {
      #expect(try RecordDecoder().decode(Dropping.self, from: record).systemFields == nil)
      #expect(try RecordDecoder().decode(Keeping.self, from: record).systemFields == record.systemFields)
    }
  }

  @Test("an optional value that was flattened is there although its key has no field")
  func flattened() throws {
    struct Place: Codable, Equatable { var street: String }
    struct Home: RecordCodable, Identifiable, Equatable {
      var id: String
      var place: Place?
    }
    var options = RecordCodingOptions()
    options.nested = .flattened
    let database = try Database.inMemory()
    let home = Home(id: "home", place: Place(street: "Ring"))
    try database.save(home, options: options)
    #expect(try database.fetch(Home.self, "home", options: options) == home)
  }

  @Test("options that are changed after an encoder was made are those it uses")
  func changedOptions() throws {
    var encoder = RecordEncoder()
    let before = encoder
    encoder.options.keys = .snakeCase
    struct Two: RecordCodable { var firstName: String }
    #expect(try encoder.encode(Two(firstName: "A")).keys == ["first_name"])
    #expect(try before.encode(Two(firstName: "A")).keys == ["firstName"])
  }

  private struct Accented: RecordCodable {
    static var recordNameKey: String { "\u{e9}" }
    var name: String?
    var text: String?
    private struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      name = try container.decodeIfPresent(String.self, forKey: Key(stringValue: "\u{e9}"))
      text = try container.decodeIfPresent(String.self, forKey: Key(stringValue: "e\u{301}"))
    }
    func encode(to encoder: any Encoder) throws {}
  }

  @Test("a key that only looks like that of the record's name is a field of its own, with and without rules")
  func canonicallyEqualKey() throws {
    var careful = RecordCodingOptions()
    careful.rules = ["ofNoType": .ignored]
    for options in [RecordCodingOptions(), careful] {
      let record = try Record(type: "Accented", id: Record.ID("the-name"))
      let value = try RecordDecoder(options: options).decode(Accented.self, from: record)
      #expect(value.name == "the-name" && value.text == nil)
    }
  }
}
