import Daybook
import DaybookCoding
import Foundation
import Observation
import Testing

// A declaration has its effect whatever was encoded before, and however the property is declared.

@propertyWrapper struct Trimmed: Codable, Equatable {
  var wrappedValue: String
  init(wrappedValue: String) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(String.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

@Suite("promises of declarations")
struct HeldPromiseTests {
  struct Resident: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["address.pin": .encrypted]
    struct Address: Codable {
      var street = "s"
      var pin = "1234"
    }
    var recordName = "r"
    var address = Address()
  }

  @Test("a rule for a flattened key had no effect, without an error, after an encode that flattened it")
  func ruleOfOtherOptions() throws {
    var flat = RecordCodingOptions()
    flat.nested = .flattened
    for _ in 0..<2 {
      let record = try RecordEncoder(options: flat).encode(Resident())
      #expect(record.encryptedValues["address_pin"] as String? == "1234")
      #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Resident()) }
    }
  }

  struct Secret: RecordCodable {
    static let recordNameKey = "id"
    static let fieldRules: [String: FieldRule] = ["id": .encrypted]
    var id: String
  }

  @Test("a rule for the record's name was accepted, and encrypted nothing")
  func ruleOfName() {
    let error = #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Secret(id: "secret")) }
    #expect(error?.code == .ruleWithoutKey && error?.facts.key == "id")
  }

  struct Item: RecordCodable, Equatable {
    static let recordNameKey = "code"
    @Trimmed var code: String
    var title = "t"
  }

  class Thing: RecordCodable {
    static var recordNameKey: String { "code" }
    var code: String
    init(code: String) { self.code = code }
  }

  final class Special: Thing {}

  @Observable final class Watched: RecordCodable {
    static let recordNameKey = "code"
    var code: String
    init(code: String) { self.code = code }
    enum CodingKeys: String, CodingKey { case _code = "code" }
  }

  @Test("a name in a wrapped, inherited or observed property was replaced by a random one")
  func names() throws {
    let database = try Database.inMemory()
    for _ in 0..<2 {
      try database.save(Item(code: "a-1"))
      #expect(try database.fetchAll(Item.self) == [Item(code: "a-1")])
    }
    #expect(Special(code: "b").recordName == "b")
    #expect(Watched(code: "c").recordName == "c")
  }

  struct Parts: RecordCodable, Equatable {
    var recordName = "t"
    var x = 1
    var y = 2
    enum Keys: CodingKey { case info }
    enum Info: CodingKey { case x, y }

    init() {}
    init(from decoder: any Decoder) throws {
      let info = try decoder.container(keyedBy: Keys.self).nestedContainer(keyedBy: Info.self, forKey: .info)
      x = try info.decode(Int.self, forKey: .x)
      y = try info.decode(Int.self, forKey: .y)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      var first = container.nestedContainer(keyedBy: Info.self, forKey: .info)
      try first.encode(x, forKey: .x)
      var second = container.nestedContainer(keyedBy: Info.self, forKey: .info)
      try second.encode(y, forKey: .y)
    }
  }

  @Test("a nested container that was asked for twice lost what the first had", arguments: [false, true])
  func nestedTwice(isFlattened: Bool) throws {
    var options = RecordCodingOptions()
    if isFlattened { options.nested = .flattened }
    let record = try RecordEncoder(options: options).encode(Parts())
    #expect(try RecordDecoder(options: options).decode(Parts.self, from: record) == Parts())
  }

  struct Holder: RecordCodable {
    struct Value: Codable {
      var a: Double?
    }
    var recordName = "h"
    var value: Value?
  }

  @Test("a member's name of many marks in stored JSON took the square of their number", .timeLimit(.minutes(15)))
  func marks() throws {
    let marks = String(repeating: "\u{0301}\u{0316}", count: 100_000)
    var record = try Record(type: "Holder", id: Record.ID("h"))
    record["value"] = Data(#"{"a\#(marks)": 1}"#.utf8)
    #expect(try RecordDecoder().decode(Holder.self, from: record).value?.a == nil)
    record["value"] = Data(#"{"a": "x\#(marks)"}"#.utf8)
    #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Holder.self, from: record) }
  }

  private struct Ordered: Codable, Equatable {
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    var names: [[UInt8]]
    init(_ names: [String]) { self.names = names.map { Array($0.utf8) } }
    init(from decoder: any Decoder) throws {
      names = try decoder.container(keyedBy: Key.self).allKeys.map { Array($0.stringValue.utf8) }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      for name in names { try container.encode(1, forKey: Key(stringValue: String(decoding: name, as: UTF8.self))) }
    }
  }

  private struct Members: RecordCodable, Equatable {
    var recordName = "m"
    var members: Ordered
  }

  @Test("of two members of JSON whose names look alike one was lost")
  func membersByBytes() throws {
    let value = Members(members: Ordered(["e\u{301}", "\u{E9}"]))
    #expect(try RecordDecoder().decode(Members.self, from: RecordEncoder().encode(value)) == value)
  }
}
