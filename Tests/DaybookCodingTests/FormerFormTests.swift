import Daybook
import DaybookCoding
import Foundation
import Testing

/// Records that were saved when a type had other fields: an update stores the new ones, all or none, because some of both are another value.
@Suite("updates of records in a former form")
struct FormerFormTests {
  enum Kind: String, RecordEnum {
    case film, unknown
    static var fallback: Kind? { .unknown }
  }
  struct Address: Codable, Equatable {
    var street: String
    var city: String
  }
  struct Whole: RecordCodable, Equatable {
    static let recordType = "Home"
    var recordName = "h"
    var address: Address
    var kind = Kind.film
  }
  struct Flat: RecordCodable, Equatable {
    static let recordType = "Home"
    static let fieldRules: [String: FieldRule] = ["address": .flattened]
    var recordName = "h"
    var address: Address
    var kind = Kind.film
  }

  @Test("a change of a value that is flattened now, and was stored whole, was lost without an error")
  func flattened() throws {
    let database = try Database.inMemory()
    try database.save(Whole(address: Address(street: "A", city: "Vienna")))
    var record = try #require(try database.record(Record.ID("h")))
    record["kind"] = "newer"
    let before = try database.save(record).changeTag
    try database.update(Flat.self, "h") { _ in }
    #expect(try database.record(Record.ID("h"))?.changeTag == before)
    let changed = try database.update(Flat.self, "h") { $0.address.street = "B" }
    #expect(changed.address == Address(street: "B", city: "Vienna"))
    #expect(try database.fetch(Flat.self, "h") == changed)
    // A field that only has another value than encoding gives it stays nevertheless.
    #expect(try database.record(Record.ID("h"))?["kind"] == "newer")
  }

  @Test("the same where an option flattens it")
  func option() throws {
    let database = try Database.inMemory()
    try database.save(Whole(address: Address(street: "A", city: "Vienna")))
    var options = RecordCodingOptions()
    options.nested = .flattened
    let changed = try database.update(Whole.self, "h", options: options) { $0.address.street = "B" }
    #expect(changed.address == Address(street: "B", city: "Vienna"))
  }

  struct Place: Codable, Equatable {
    var street: String
    var city: String

    init(street: String, city: String) { (self.street, self.city) = (street, city) }
    init(from decoder: any Decoder) throws {
      if let text = try? decoder.singleValueContainer().decode(String.self) {
        let parts = text.split(separator: ",")
        (street, city) = (String(parts[0]), String(parts[1]))
      } else {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        street = try container.decode(String.self, forKey: .street)
        city = try container.decode(String.self, forKey: .city)
      }
    }
    enum CodingKeys: String, CodingKey { case street, city }
  }
  struct Shop: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["place": .flattened]
    var recordName = "s"
    var place: Place
  }

  @Test("a change of a value that was a text, and reads both, was lost")
  func text() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Shop", id: Record.ID("s"))
    record["place"] = "A,Vienna"
    try database.save(record)
    let changed = try database.update(Shop.self, "s") { $0.place.street = "B" }
    #expect(changed.place == Place(street: "B", city: "Vienna"))
  }

  struct Person: RecordCodable, Equatable {
    var recordName = "p"
    var first: String
    var last: String?

    init(first: String, last: String?) { (self.first, self.last) = (first, last) }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      if let first = try container.decodeIfPresent(String.self, forKey: .first) {
        (self.first, last) = (first, try container.decodeIfPresent(String.self, forKey: .last))
      } else {
        let parts = try container.decode(String.self, forKey: .name).split(separator: " ")
        (first, last) = (String(parts[0]), parts.dropFirst().first.map { String($0) })
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(first, forKey: .first)
      try container.encodeIfPresent(last, forKey: .last)
      try container.encodeNil(forKey: .name)
    }
    enum CodingKeys: String, CodingKey { case first, last, name }
  }

  @Test("of two properties that were one field, a change of the one took the other one away")
  func divided() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Person", id: Record.ID("p"))
    record["name"] = "Ada Lovelace"
    try database.save(record)
    #expect(try database.update(Person.self, "p") { $0.first = "Grace" } == Person(first: "Grace", last: "Lovelace"))
  }

  struct Card: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["secret": .encrypted]
    var recordName = "c"
    var pin: String
    var note: String?

    init(pin: String, note: String? = nil) { (self.pin, self.note) = (pin, note) }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      pin = try container.decodeIfPresent(String.self, forKey: .secret) ?? container.decode(String.self, forKey: .pin)
      note = try container.decodeIfPresent(String.self, forKey: .note)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(pin, forKey: .secret)
      try container.encodeNil(forKey: .pin)
      try container.encodeIfPresent(note, forKey: .note)
    }
    enum CodingKeys: String, CodingKey { case pin, secret, note }
  }

  @Test("beside the new field of a property that was changed the former one stayed, in plain")
  func formerField() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Card", id: Record.ID("c"))
    record["pin"] = "1234"
    try database.save(record)
    // What has not changed is left alone, its form, too.
    try database.update(Card.self, "c") { $0.note = "n" }
    #expect(try database.record(Record.ID("c"))?["pin"] == "1234")
    #expect(try database.update(Card.self, "c") { $0.pin = "5678" } == Card(pin: "5678", note: "n"))
    record = try #require(try database.record(Record.ID("c")))
    #expect(record["pin"] as String? == nil && record.encryptedValues["secret"] == "5678")
  }

  struct Price: RecordCodable, Equatable {
    var recordName = "p"
    var cents: Int

    init(cents: Int) { self.cents = cents }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      let amount = try container.decode(Int.self, forKey: .amount)
      cents = try container.decode(Int.self, forKey: .version) == 1 ? amount * 100 : amount
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(2, forKey: .version)
      try container.encode(cents, forKey: .amount)
    }
    enum CodingKeys: String, CodingKey { case version, amount }
  }

  @Test("an amount that was changed was stored beside the version of the former form, and was a hundred times as much")
  func version() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Price", id: Record.ID("p"))
    record["version"] = 1
    record["amount"] = 5
    try database.save(record)
    #expect(try database.update(Price.self, "p") { $0.cents += 200 } == Price(cents: 700))
  }
}
