import Daybook
import DaybookCoding
import Foundation
import Testing

// Rules are for keys, and a rule whose key no property has would be for nothing.

@Suite("rules and the keys that they are for")
struct RuleKeyTests {
  struct Misspelt: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["pim": .encrypted]
    var recordName = "a"
    var pin = "1234"
  }

  struct Renamed: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["title": .ignored]
    enum CodingKeys: String, CodingKey { case title = "titel" }
    var title = "a"
  }

  @Test("a misspelt key of a rule left a secret in plain text, and now nothing is encoded")
  func misspelt() throws {
    let database = try Database.inMemory()
    for _ in 0..<2 {
      let error = refusal { try database.save(Misspelt()) as Record }
      #expect(error?.code == .ruleWithoutKey)
      #expect(error?.facts.key == "pim" && error?.facts.recordType == "Misspelt")
      for word in ["pim", "Misspelt", "fieldRules", "CodingKeys"] {
        #expect(error?.localizedDescription.contains(word) == true, "\(word)")
      }
    }
    #expect(try database.record(Record.ID("a")) == nil)
    #expect(refusal { try RecordEncoder().encode(Renamed()) }?.facts.key == "title")
    #expect(refusal { try RecordEncoder().encodeGraph(Misspelt()) }?.code == .ruleWithoutKey)
  }

  struct Address: Codable {
    var street = "s"
    var since: Date?
  }

  struct Whole: RecordCodable {
    static let fieldRules: [String: FieldRule] = [
      "systemFields": .ignored, "secret": .encrypted, "address": .flattened, "address.since": .date(.iso8601),
      "first_name": .default("x"),
      "other": .flattened, "other.street": .ignored,
    ]
    enum CodingKeys: String, CodingKey {
      case systemFields, secret, address, other
      case name = "first_name"
    }
    var systemFields: Data?
    var secret: String?
    var address = Address()
    var name = "n"
    var other: Address?
  }

  @Test("keys of optionals that are nil, of flattened values and of other spellings are the type's keys, with each strategy")
  func known() throws {
    for keys in [RecordCodingOptions.KeyStrategy.asIs, .snakeCase, .custom { "x_" + $0 }] {
      var options = RecordCodingOptions()
      options.keys = keys
      // A rule for whatever type is coded need not have a key in each.
      options.rules = ["nowhere": .ignored]
      var value = Whole()
      for other in [nil, Address(), nil] {
        value.other = other
        _ = try RecordEncoder(options: options).encode(value)
      }
    }
  }

  struct Below: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["address": .flattened, "address.stret": .encrypted]
    var address: Address?
  }

  struct NotFlattened: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["address.street": .encrypted]
    var address: Address?
  }

  @Test("a rule within a flattened value is checked when there is one, and within a value that is one field refused")
  func below() throws {
    _ = try RecordEncoder().encode(Below())
    #expect(refusal { try RecordEncoder().encode(Below(address: Address())) }?.facts.key == "address.stret")
    _ = try RecordEncoder().encode(NotFlattened())
    let error = refusal { try RecordEncoder().encode(NotFlattened(address: Address())) }
    #expect(error?.code == .ruleWithoutKey && error?.facts.key == "address.street")
    #expect(error?.message.contains("flattened") == true)
    var options = RecordCodingOptions()
    options.nested = .flattened
    let record = try RecordEncoder(options: options).encode(NotFlattened(address: Address()))
    #expect(record.encryptedValues["address_street"] == "s")
  }

  class Base: RecordEncodable {
    class var fieldRules: [String: FieldRule] { ["pin": .encrypted] }
    private enum CodingKeys: String, CodingKey { case pin }
    var recordName: String { "a" }
    var pin = "1"
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(pin, forKey: .pin)
    }
  }

  final class Derived: Base {
    override class var fieldRules: [String: FieldRule] { ["pin": .encrypted, "code": .encrypted] }
    private enum CodingKeys: String, CodingKey { case code }
    var code = "2"
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(code, forKey: .code)
    }
  }

  /// Whose keys may be any text.
  struct Open: RecordEncodable {
    static let fieldRules: [String: FieldRule] = ["anything": .ignored]
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    var recordName: String { "a" }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: Key(stringValue: "n")!)
    }
  }

  @Test("a class has the keys of its superclass, too, and keys that may be any text accept every rule")
  func containers() throws {
    let record = try RecordEncoder().encode(Derived())
    #expect(record.encryptedValues.keys == ["code", "pin"] && record.keys.isEmpty)
    _ = try RecordEncoder().encode(Open())
  }

  // MARK: defaults

  struct First: RecordCodable, Identifiable {
    static var recordType: String { "Note" }
    var id: String
  }

  struct Second: RecordCodable, Identifiable, Equatable {
    static var recordType: String { "Note" }
    static let fieldRules: [String: FieldRule] = [
      "words": .default([]), "scores": .default([]), "links": .default([]), "days": .default([]), "names": .default([]),
      "tags": .default(["a", "b"]), "numbers": .default([1, 2]), "rating": .default(3),
    ]
    var id: String
    var words: [String] = []
    var scores: [Int] = []
    var links: [URL] = []
    var days: Set<Date> = []
    var names: Set<UUID> = []
    var tags = ["a", "b"]
    var numbers = [1, 2]
    var rating = 3
  }

  @Test("an empty list is a default of every kind of list, and others are written as they are")
  func lists() throws {
    let database = try Database.inMemory()
    try database.save(First(id: "a"))
    #expect(try database.fetch(Second.self, "a") == Second(id: "a"))
  }

  @Test(
    "a default is in no index: a record without the field is last in a sort, passes no condition of the field, and all of it once it is saved"
  )
  func sorts() throws {
    let database = try Database.inMemory()
    try database.save(First(id: "old"))
    var (low, high) = (Second(id: "low"), Second(id: "high"))
    (low.rating, high.rating) = (1, 5)
    try database.save([low, high])
    func names(_ sort: Query.Sort) throws -> [String] { try database.fetchAll(Second.self, sort: [sort]).map(\.id) }
    for hasIndex in [false, true] {
      if hasIndex { try database.setIndex([.queryable, .sortable], on: \Second.rating) }
      #expect(try names(.ascending("rating")) == ["low", "high", "old"])
      #expect(try names(.descending(\Second.rating)) == ["high", "low", "old"])
      #expect(try database.count(Second.self, where: .field("rating") == 3) == 0)
      #expect(try database.count(Second.self, where: #Predicate { $0.rating == 3 }) == 1)
    }
    try database.save(database.fetchAll(Second.self))
    #expect(try names(.ascending("rating")) == ["low", "old", "high"])
    #expect(try database.count(Second.self, where: .field("rating") == 3) == 1)
  }
}
