import Daybook
import DaybookCoding
import Foundation
import Testing

// Encrypted properties of a type that another one encodes in its own place, or has under a key of JSON.

@Suite("encrypted properties in the place of another value")
struct HiddenInPlaceTests {
  struct Person: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["pin": .encrypted]
    var recordName = "p"
    var pin = "1234"
    var name = "n"
  }

  /// Encodes another value in its place.
  struct Versioned<T: RecordCodable & Equatable>: RecordCodable, Equatable {
    static var recordType: String { T.recordType }
    var value: T
    var recordName: String { value.recordName }
    init(_ value: T) { self.value = value }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(T.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  /// The same, with the rules of the other value; as an optional, which is opened on the way.
  struct Faithful<T: RecordCodable & Equatable>: RecordCodable, Equatable {
    static var recordType: String { T.recordType }
    static var fieldRules: [String: FieldRule] { T.fieldRules }
    var value: T
    var recordName: String { value.recordName }
    init(_ value: T) { self.value = value }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(T.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(T?.some(value))
    }
  }

  @Test("an encrypted property was stored in plain by a type that encodes its value in its own place")
  func inPlace() throws {
    let error = refusal { try RecordEncoder().encode(Versioned(Person())) }
    #expect(error?.code == .unsupportedValue && error?.path == ["pin"])
    #expect(error?.message.contains("fieldRules") == true)
    let record = try RecordEncoder().encode(Faithful(Person()))
    #expect(record["pin"] as Record.Value? == nil && record["name"] == "n")
    #expect(record.encryptedValues["pin"] as Record.Value? == "1234")
    #expect(try RecordDecoder().decode(Faithful<Person>.self, from: record) == Faithful(Person()))
    // A rule of the encoder does the same.
    var options = RecordCodingOptions()
    options.rules = ["pin": .encrypted]
    #expect(try RecordEncoder(options: options).encode(Versioned(Person()))["pin"] as Record.Value? == nil)
  }

  struct Outer: RecordCodable, Equatable {
    var recordName = "o"
    var owner = Person()
  }
  struct Crowd: RecordCodable {
    var recordName = "c"
    var people = [Person()]
  }

  @Test("a rule for a key within JSON encrypted nothing, and let an encrypted property pass in plain")
  func withinJSON() throws {
    var options = RecordCodingOptions()
    options.rules = ["owner.pin": .encrypted, "people.0.pin": .encrypted, "people.0": .encrypted]
    for nested in [RecordCodingOptions.NestedStrategy.json, .asset(.json), .asset(.xmlPropertyList)] {
      options.nested = nested
      #expect(refusal { try RecordEncoder(options: options).encode(Outer()) }?.path == ["owner", "pin"])
      #expect(refusal { try RecordEncoder(options: options).encode(Crowd()) }?.path == ["people", "0", "pin"])
    }
    options.nested = .flattened
    #expect(refusal { try RecordEncoder(options: options).encode(Crowd()) }?.path == ["people", "0", "pin"])
    let byOption = try RecordEncoder(options: options).encode(Outer())
    #expect(byOption["owner_pin"] as Record.Value? == nil)
    #expect(byOption.encryptedValues["owner_pin"] as Record.Value? == "1234")
    options.nested = .json
    options.rules = ["owner.pin": .encrypted, "owner": .flattened]
    let byRule = try RecordEncoder(options: options).encode(Outer())
    #expect(byRule["owner_pin"] as Record.Value? == nil)
    #expect(try RecordDecoder(options: options).decode(Outer.self, from: byRule) == Outer())
    options.rules = ["owner": .encrypted]
    #expect(try RecordEncoder(options: options).encode(Outer())["owner"] as Record.Value? == nil)
  }

  struct Resident: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["address": .flattened, "address.street": .encrypted]
    var recordName = "r"
    var address = Address()
    struct Address: Codable, Equatable { var street = "secret street" }
  }

  /// Encrypts the whole of what the other value encrypts in part.
  struct Closed: RecordCodable, Equatable {
    static var recordType: String { "Resident" }
    static let fieldRules: [String: FieldRule] = ["address": .encrypted]
    var value = Resident()
    var recordName: String { value.recordName }
    init() {}
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Resident.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  struct House: RecordCodable, Equatable {
    var recordName = "h"
    var owner = Resident()
  }

  @Test("an encrypted part of a value was stored in plain, where a rule of the options names it and the value is JSON")
  func part() throws {
    var options = RecordCodingOptions()
    options.rules = ["address.street": .encrypted]
    #expect(refusal { try RecordEncoder(options: options).encode(Versioned(Resident())) }?.code == .unsupportedValue)
    options.rules = ["owner": .flattened, "owner.address.street": .encrypted]
    #expect(refusal { try RecordEncoder(options: options).encode(House()) }?.code == .unsupportedValue)
    // Encrypted as a whole, it is hidden, too.
    let record = try RecordEncoder().encode(Closed())
    #expect(record.keys == [] && record.encryptedValues.keys == ["address"])
  }
}
