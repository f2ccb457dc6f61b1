import Daybook
import DaybookCoding
import Testing

// Keys that a type lists and does not encode: their fields go from an older record, and no others do.

@Suite("keys that are left out")
struct LeftOutKeyTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private struct Note: RecordCodable, Equatable {
    enum CodingKeys: CodingKey, CaseIterable { case recordName, title, dueDate, pin, cache, owner }
    static let fieldRules: [String: FieldRule] = ["pin": .encrypted, "cache": .ignored, "owner": .parent]
    var recordName = "n"
    var title: String? = "t"
    var dueDate: Int? = 1
    var pin: String? = "p"
    var cache: Int?
    var owner: Record.ID?

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      if let title { try container.encode(title, forKey: .title) }
      if let dueDate { try container.encode(dueDate, forKey: .dueDate) }
      if let pin { try container.encode(pin, forKey: .pin) }
      if let owner { try container.encode(owner, forKey: .owner) }
    }
  }

  private static let strategies: [RecordCodingOptions.KeyStrategy] = [
    .asIs, .snakeCase, .custom { "x" + $0 },
  ]

  @Test("a property that its type does not encode while it is nil came back", arguments: 0..<3, [false, true])
  func nilComesBack(strategy: Int, isUpdate: Bool) throws {
    var options = RecordCodingOptions()
    options.keys = Self.strategies[strategy]
    let dueDate = ["dueDate", "due_date", "xdueDate"][strategy]
    try database.save(Record(type: "Owner", id: Record.ID("o")))
    try database.save(Note(owner: Record.ID("o")), options: options)
    // Fields of a newer version, one of which begins as a key does.
    try database.update(Record.ID("n")) {
      $0["\(dueDate)_zone"] = "z"
      $0["other"] = 1
      $0["cache"] = 2
    }
    let left = Note(title: nil, dueDate: nil, pin: nil)
    if isUpdate {
      try database.update(Note.self, "n", options: options) { $0 = left }
    } else {
      try database.save(left, options: options)
    }
    #expect(try database.fetch(Note.self, "n", options: options) == left)
    let record = try #require(try database.record(Record.ID("n")))
    #expect(record.keys.sorted() == ["cache", "\(dueDate)_zone", "other"].sorted())
    #expect(record.encryptedValues.keys.isEmpty && record.parent == nil)
  }

  @Test("what is not left out stays, and an update that changes nothing writes nothing")
  func unchanged() throws {
    try database.save(Note())
    let tag = try database.record(Record.ID("n"))?.changeTag
    try database.update(Note.self, "n") { _ in }
    #expect(try database.record(Record.ID("n"))?.changeTag == tag)
    try database.update(Note.self, "n") { $0.title = nil }
    #expect(try database.fetch(Note.self, "n") == Note(title: nil))
  }

  private class Base: RecordCodable {
    enum BaseKeys: CodingKey, CaseIterable { case name, age }
    class var recordType: String { "Base" }
    var recordName: String { "b" }
    var name: String? = "x"
    var age: Int? = 1

    init() {}
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: BaseKeys.self)
      name = try container.decodeIfPresent(String.self, forKey: .name)
      age = try container.decodeIfPresent(Int.self, forKey: .age)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: BaseKeys.self)
      if let name { try container.encode(name, forKey: .name) }
      if let age { try container.encode(age, forKey: .age) }
    }
  }

  private final class Derived: Base {
    /// `age` is a key of both: either encodes it.
    enum DerivedKeys: CodingKey { case chip, age }
    var chip: Int? = 2

    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      chip = try decoder.container(keyedBy: DerivedKeys.self).decodeIfPresent(Int.self, forKey: .chip)
      try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: DerivedKeys.self)
      if let chip { try container.encode(chip, forKey: .chip) }
      try container.encode(7, forKey: .age)
      try super.encode(to: encoder)
    }
  }

  @Test("a property of the superclass came back; keys that are not listed keep what they had", arguments: [false, true])
  func superclass(isUpdate: Bool) throws {
    try database.save(Derived())
    let left: (Derived) -> Void = { ($0.name, $0.age, $0.chip) = (nil, nil, nil) }
    if isUpdate {
      try database.update(Derived.self, "b") { left($0) }
    } else {
      let value = Derived()
      left(value)
      try database.save(value)
    }
    let record = try #require(try database.record(Record.ID("b")))
    #expect(record.keys == ["age", "chip"] && record["age"] == 7 && record["chip"] == 2)
  }

  private struct Home: Codable, Equatable {
    enum CodingKeys: CodingKey, CaseIterable { case street, zipCode }
    var street = "s"
    var zipCode: Int?

    init(zipCode: Int?) { self.zipCode = zipCode }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(street, forKey: .street)
      if let zipCode { try container.encode(zipCode, forKey: .zipCode) }
    }
  }

  private struct Person: RecordCodable, Equatable {
    enum CodingKeys: CodingKey, CaseIterable { case home, work, den }
    static let fieldRules: [String: FieldRule] = ["home": .flattened, "work": .flattened]
    var recordName: String { "p" }
    var home: Home? = Home(zipCode: 1)
    var work: Home? = Home(zipCode: 2)
    var den: Home? = Home(zipCode: 3)

    init(_ home: Home?, _ work: Home?, _ den: Home?) { (self.home, self.work, self.den) = (home, work, den) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      if let home { try container.encode(home, forKey: .home) }
      if let work { try container.encode(work, forKey: .work) }
      if let den { try container.encode(den, forKey: .den) }
    }
  }

  @Test("a flattened value that its type does not encode while it is nil came back", arguments: [false, true])
  func flattened(isUpdate: Bool) throws {
    let whole = Person(Home(zipCode: 1), Home(zipCode: 2), Home(zipCode: 3))
    let left = Person(Home(zipCode: nil), nil, Home(zipCode: nil))
    try database.save(whole)
    try database.update(Record.ID("p")) {
      $0["home_color"] = "red"
      $0["homeland"] = "of a newer version"
    }
    if isUpdate { try database.update(Person.self, "p") { $0 = left } } else { try database.save(left) }
    #expect(try database.fetch(Person.self, "p") == left)
    let record = try #require(try database.record(Record.ID("p")))
    #expect(record.keys == ["den", "home_color", "home_street", "homeland"])
  }
}
