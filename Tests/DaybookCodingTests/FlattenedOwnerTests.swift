import Daybook
import DaybookCoding
import Foundation
import Testing

// Which fields are a flattened value's: what is gone does not come back, what is there is read as what it was, or is refused.

private let flat = {
  var options = RecordCodingOptions()
  options.nested = .flattened
  return options
}()

private func flat(_ keys: RecordCodingOptions.KeyStrategy) -> RecordCodingOptions {
  var options = flat
  options.keys = keys
  return options
}

/// Encodes what it has in its own place.
@propertyWrapper private struct Kept<Value: Codable & Equatable>: Codable, Equatable {
  var wrappedValue: Value
  init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(Value.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

@Suite("owners of flattened fields")
struct FlattenedOwnerTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func read<T: RecordCodable>(_ value: T, _ options: RecordCodingOptions = .init()) throws -> T {
    try RecordDecoder(options: options).decode(T.self, from: RecordEncoder(options: options).encode(value))
  }

  private func code(_ value: some RecordEncodable, _ options: RecordCodingOptions = .init()) -> RecordCodingError.Code? {
    do {
      _ = try RecordEncoder(options: options).encode(value)
      return nil
    } catch { return error.code }
  }

  /// Encodes its only key with an encoder of its own.
  private struct Noted: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["inner": .flattened]
    struct Inner: Codable, Equatable {
      var note: String?
      init(note: String?) { self.note = note }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        var single = container.superEncoder(forKey: .note).singleValueContainer()
        if let note { try single.encode(note) } else { try single.encodeNil() }
      }
    }
    var recordName = "i"
    var inner: Inner?
  }

  // MARK: nil

  private struct ByHand: RecordCodable, Equatable {
    struct Home: Codable, Equatable {
      var street = "s"
      var zip: Int? = 1
    }
    var recordName = "h"
    var home: Home?
    var age: Int?

    init(home: Home?) { self.home = home }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(recordName, forKey: .recordName)
      if let home { try container.encode(home, forKey: .home) } else { try container.encodeNil(forKey: .home) }
      try container.encodeIfPresent(age, forKey: .age)
    }
  }

  @Test("a flattened value came back after its type encoded nil by hand")
  func nilByHand() throws {
    for isUpdate in [false, true] {
      try database.save(ByHand(home: .init()), options: flat)
      try database.update(Record.ID("h")) { $0["age_group"] = "of a newer version" }
      if isUpdate {
        try database.update(ByHand.self, "h", options: flat) { $0.home = nil }
      } else {
        try database.save(ByHand(home: nil), options: flat)
      }
      #expect(try database.fetch(ByHand.self, "h", options: flat) == ByHand(home: nil))
      #expect(try database.record(Record.ID("h"))?.keys.filter { $0.hasPrefix("home") } == [])
      #expect(try database.record(Record.ID("h"))?["age_group"] as String? == "of a newer version")
    }
  }

  private class Pet: Codable {
    var name = "rex"
    init() {}
    private enum CodingKeys: CodingKey { case name }
  }

  private final class Cat: Pet {
    var chip: Int?
    override init() { super.init() }
    private enum CodingKeys: CodingKey { case chip }
    required init(from decoder: any Decoder) throws {
      chip = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Int.self, forKey: .chip)
      try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encodeIfPresent(chip, forKey: .chip)
    }
  }

  private struct Owner: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["cat": .flattened]
    var recordName = "o"
    var cat: Cat? = Cat()
  }

  @Test("a flattened object of a subclass came back after it became nil", arguments: [false, true])
  func subclass(isUpdate: Bool) throws {
    try database.save(Owner())
    #expect(try database.fetch(Owner.self, "o")?.cat?.name == "rex")
    if isUpdate { try database.update(Owner.self, "o") { $0.cat = nil } } else { try database.save(Owner(cat: nil)) }
    #expect(try database.fetch(Owner.self, "o")?.cat == nil)
    #expect(try database.record(Record.ID("o"))?.keys == [])
  }

  @Test("a flattened value whose only key became nil in an encoder of its own was read as nil")
  func nilLater() throws {
    for note in ["n", nil, "m", nil] {
      let value = Noted(inner: .init(note: note))
      try database.save(value)
      #expect(try database.fetch(Noted.self, "i") == value)
    }
    #expect(try database.record(Record.ID("i"))?.keys == ["inner"])
  }

  // MARK: dictionaries

  private struct InPlace<Value: Codable & Equatable>: Codable, Equatable {
    var all: [String: Value]
    init(_ all: [String: Value]) { self.all = all }
    init(from decoder: any Decoder) throws { all = try .init(from: decoder) }
    func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
  }

  private struct Bag<Value: Codable & Equatable>: RecordCodable, Equatable {
    static var recordType: String { "Bag" }
    var recordName = "b"
    var bag: InPlace<Value>
  }

  private struct Named: RecordEncodable {
    var all: [String: Noted.Inner]
    var recordName: String { "n" }
    func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
  }

  @Test("a dictionary that a type encodes in its place was flattened with values that have keys, and read as another one")
  func dictionaryInPlace() throws {
    #expect(code(Bag(bag: InPlace(["b": ["x": 1]])), flat) == .unsupportedValue)
    #expect(code(Bag(bag: InPlace(["b": Noted.Inner(note: "n")])), flat) == .unsupportedValue)
    #expect(code(Named(all: ["b": Noted.Inner(note: "n")]), flat) == .unsupportedValue)
    #expect(try read(Bag(bag: InPlace(["b": 1, "b_c": 2])), flat) == Bag(bag: InPlace(["b": 1, "b_c": 2])))
  }

  private struct Scores: RecordCodable, Equatable {
    var recordName = "s"
    var scores: [String: Int?]
  }

  @Test("a key with nil was lost from a flattened dictionary")
  func nilInDictionary() throws {
    #expect(code(Scores(scores: ["a": 1, "b": nil]), flat) == .unsupportedValue)
    #expect(try read(Scores(scores: ["a": 1, "b": 2]), flat) == Scores(scores: ["a": 1, "b": 2]))
    #expect(try read(Scores(scores: ["a": 1, "b": nil])) == Scores(scores: ["a": 1, "b": nil]))
  }

  // MARK: rules

  private struct Label: Codable, Equatable { var color: String? }

  private struct Ignoring: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["label": .ignored]
    var recordName = "i"
    var label: Label?
    var labelColor = "red"
  }

  private struct Needing: RecordCodable {
    static let recordType = "Ignoring"
    static let fieldRules: [String: FieldRule] = ["label": .ignored]
    var recordName = "i"
    var label = Label()
    var labelColor = "red"
  }

  @Test("an ignored key was read from the fields of another key")
  func ignored() throws {
    let options = flat(.snakeCase)
    let record = try RecordEncoder(options: options).encode(Ignoring(label: Label(color: "blue")))
    let back = try RecordDecoder(options: options).decode(Ignoring.self, from: record)
    #expect(back.label == nil && back.labelColor == "red")
    let error = #expect(throws: RecordCodingError.self) {
      try RecordDecoder(options: options).decode(Needing.self, from: record)
    }
    #expect(error?.code == .keyNotFound && error?.path == ["label"])
  }

  private struct Cached: RecordEncodable {
    static let fieldRules: [String: FieldRule] = ["cache": .ignored]
    enum Keys: CodingKey { case label, cache }
    enum CacheKeys: CodingKey { case size }
    var recordName: String { "c" }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode("l", forKey: .label)
      var cache = container.nestedContainer(keyedBy: CacheKeys.self, forKey: .cache)
      try cache.encode(3, forKey: .size)
    }
  }

  @Test("an ignored key with a container of its own was refused where values are flattened")
  func ignoredContainer() throws {
    #expect(try RecordEncoder(options: flat).encode(Cached()).keys == ["label"])
    #expect(try RecordEncoder().encode(Cached()).keys == ["label"])
  }

  private struct Rated: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["rating": .default(3), "tags": .default(#"{"a": 1}"#)]
    var recordName = "r"
    var rating = 0
    var tags: [String: Int] = [:]
    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      rating = container.contains(.rating) ? try container.decode(Int.self, forKey: .rating) : -1
      tags = try container.decodeNil(forKey: .tags) ? [:] : container.decode([String: Int].self, forKey: .tags)
    }
  }

  @Test("a default was not there for a type that asks for its key, where values are flattened", arguments: [false, true])
  func defaults(isFlattened: Bool) throws {
    let options = isFlattened ? flat : .init()
    let old = try RecordDecoder(options: options).decode(Rated.self, from: Record(type: "Rated"))
    #expect(old.rating == 3 && old.tags == ["a": 1])
    var value = Rated()
    value.tags = ["b": 2]
    #expect(try read(value, options).tags == ["b": 2])
  }

  // MARK: enums

  private enum Shape: Codable, Equatable {
    case user(name: String), userName(Int)
  }

  private struct Plain: RecordCodable { var recordName = "s", shape = Shape.user(name: "x") }

  private struct Wrapped: RecordCodable {
    var recordName = "s"
    @Kept var shape = Shape.user(name: "x")
  }

  private struct Explicit: RecordEncodable {
    enum Keys: CodingKey { case shape }
    var recordName: String { "s" }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(Shape?.some(.user(name: "x")), forKey: .shape)
    }
  }

  private enum Mirrored: Codable, CustomReflectable {
    case user(name: String)
    var customMirror: Mirror { Mirror(self, children: ["x": 1]) }
  }

  private struct Reflecting: RecordCodable { var recordName = "s", shape = Mirrored.user(name: "x") }

  @Test("a case that cannot be told by its key was stored from a wrapper or an optional, or with a mirror of its own")
  func cases() {
    let reversed = flat(.custom { "x" + String($0.reversed()) })
    let codes = [code(Plain(), reversed), code(Wrapped(), reversed), code(Explicit(), reversed), code(Reflecting(), reversed)]
    #expect(codes == [.invalidKey, .invalidKey, .invalidKey, .invalidKey])
    let snake = flat(.snakeCase)
    let spelled = [code(Plain(), snake), code(Wrapped(), snake), code(Explicit(), snake)]
    #expect(spelled == [.keyCollision, .keyCollision, .keyCollision])
    #expect(code(Reflecting(), snake) == nil)
  }

  private enum Figure: RecordCodable, Equatable, CustomReflectable {
    case circle(radius: Double), square(side: Double)
    var recordName: String { "f" }
    var customMirror: Mirror { Mirror(self, children: ["x": 1]) }
  }

  @Test("an enum with a mirror of its own could not be read after another case was saved")
  func mirror() throws {
    for figure in [Figure.circle(radius: 1), .square(side: 2), .circle(radius: 3)] {
      try database.save(figure)
      #expect(try database.fetch(Figure.self, "f") == figure)
    }
  }

  // MARK: keys

  private struct Words: Codable, Equatable {
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init?(intValue: Int) { nil }
      init?(stringValue: String) {
        guard stringValue.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (0x41...0x7A).contains($0) }) else { return nil }
        self.stringValue = stringValue
      }
    }
    var values: [String: Int]
    init(_ values: [String: Int]) { self.values = values }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      values = [:]
      for key in container.allKeys { values[key.stringValue] = try container.decode(Int.self, forKey: key) }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      for (key, value) in values { try container.encode(value, forKey: Key(stringValue: key)!) }
    }
  }

  private struct Counted: RecordCodable, Equatable {
    var recordName = "w"
    var words: Words
  }

  @Test("keys of a type that takes nearly any text were read as others in snake case")
  func nearlyAnyText() throws {
    for (key, isFound) in [("home_url", false), ("homeURL", false), ("homeUrl", true), ("a", true)] {
      let value = Counted(words: Words([key: 1]))
      if isFound {
        #expect(try read(value, flat(.snakeCase)) == value)
      } else {
        #expect(code(value, flat(.snakeCase)) == .keyCollision)
      }
      #expect(try read(value, flat) == value)
    }
  }

  // MARK: one field or several

  private struct Two: Codable, Equatable {
    var text: String?
    var code: String?
    enum CodingKeys: CodingKey { case code }
    init(text: String) { self.text = text }
    init(code: String) { self.code = code }
    init(from decoder: any Decoder) throws {
      if let text = try? decoder.singleValueContainer().decode(String.self) {
        self.text = text
      } else {
        code = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .code)
      }
    }
    func encode(to encoder: any Encoder) throws {
      if let text {
        var container = encoder.singleValueContainer()
        try container.encode(text)
      } else {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
      }
    }
  }

  private struct Ruled: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["two": .flattened]
    var recordName = "t"
    var two: Two
  }

  private struct Unruled: RecordCodable, Equatable {
    var recordName = "u"
    var two: Two
  }

  @Test("the fields of a value that was flattened stayed when it became a text")
  func becomesText() throws {
    for (two, fields) in [
      (Two(code: "c"), ["two_code"]), (Two(text: "t"), ["two"]), (Two(code: "d"), ["two_code"]), (Two(text: "u"), ["two"]),
    ] {
      try database.save(Ruled(two: two))
      #expect(try database.fetch(Ruled.self, "t") == Ruled(two: two))
      #expect(try database.record(Record.ID("t"))?.keys == fields)
      try database.save(Unruled(two: two), options: flat)
      #expect(try database.fetch(Unruled.self, "u", options: flat) == Unruled(two: two))
      #expect(try database.record(Record.ID("u"))?.keys == fields)
    }
  }

  private struct Twice: RecordEncodable {
    enum Keys: CodingKey { case tags, part }
    var recordName: String { "t" }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(["x": 1, "z": 2], forKey: .tags)
      try container.encode(["y": 1, "z": 3], forKey: .tags)
      var first = container.nestedContainer(keyedBy: Keys.self, forKey: .part)
      try first.encode(1, forKey: .tags)
      var second = container.nestedContainer(keyedBy: Keys.self, forKey: .part)
      try second.encode(2, forKey: .part)
    }
  }

  @Test("a key that was encoded twice had the keys of both dictionaries where they are flattened")
  func twice() throws {
    let record = try RecordEncoder(options: flat).encode(Twice())
    #expect(record.keys == ["part_part", "part_tags", "tags_y", "tags_z"])
    #expect(record["tags_z"] as Int? == 3)
  }
}
