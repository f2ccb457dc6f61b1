import Daybook
import DaybookCoding
import Dispatch
import Foundation
import Testing

/// Types whose own code does what no synthesised code does: it works or throws, and nothing traps.
@Suite("types with code of their own")
struct HostileTypeTests {
  class Base: RecordCodable {
    var name = "base"
    class var recordType: String { "Base" }
    enum Keys: String, CodingKey { case name }
    init() {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(name, forKey: .name)
    }
    required init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .name)
    }
  }

  final class SameLevel: Base {
    var extra = 1
    enum ExtraKeys: String, CodingKey { case extra }
    override init() { super.init() }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: ExtraKeys.self)
      try container.encode(extra, forKey: .extra)
    }
    required init(from decoder: any Decoder) throws {
      extra = try decoder.container(keyedBy: ExtraKeys.self).decode(Int.self, forKey: .extra)
      try super.init(from: decoder)
    }
  }

  final class Below: Base {
    var extra = 1
    enum ExtraKeys: String, CodingKey { case extra }
    override init() { super.init() }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: ExtraKeys.self)
      try container.encode(extra, forKey: .extra)
      try super.encode(to: container.superEncoder())
    }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: ExtraKeys.self)
      extra = try container.decode(Int.self, forKey: .extra)
      try super.init(from: container.superDecoder())
    }
  }

  @Test("a class and its superclass, on one level and below it")
  func inheritance() throws {
    let same = SameLevel()
    (same.name, same.extra) = ("n", 5)
    let record = try RecordEncoder().encode(same)
    #expect(record.keys == ["extra", "name"])
    let decoded = try RecordDecoder().decode(SameLevel.self, from: record)
    #expect(decoded.name == "n" && decoded.extra == 5)
    let below = Below()
    (below.name, below.extra) = ("m", 6)
    let other = try RecordEncoder().encode(below)
    #expect(other["super"] == Record.Value.bytes(Data(#"{"name":"m"}"#.utf8)))
    let second = try RecordDecoder().decode(Below.self, from: other)
    #expect(second.name == "m" && second.extra == 6)
  }

  /// Runs its code as the encode of a record's value, or of a nested one.
  struct Doing: RecordEncodable, @unchecked Sendable {
    static var recordType: String { "Doing" }
    let body: (any Encoder) throws -> Void
    init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }
    func encode(to encoder: any Encoder) throws { try body(encoder) }
  }

  struct Holding: RecordEncodable {
    static var recordType: String { "Doing" }
    let inner: Doing
    enum CodingKeys: CodingKey { case inner }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(inner, forKey: .inner)
    }
  }

  enum Key: String, CodingKey { case a, b }

  @Test("a value that asks for an array, a single value or nothing at all in the place of a record")
  func noKeys() throws {
    for body: (any Encoder) throws -> Void in [
      { try list($0, 1) }, { try single($0, "a") },
      { encoder in
        var container = encoder.singleValueContainer()
        try container.encodeNil()
      },
    ] {
      #expect(refusal { try RecordEncoder().encode(Doing(body)) }?.code == .unsupportedValue)
    }
    #expect(try RecordEncoder().encode(Doing { _ in }).keys == [])
    let wrapped = Doing { encoder in
      var container = encoder.singleValueContainer()
      try container.encode(["k": 1])
    }
    #expect(try RecordEncoder().encode(wrapped)["k"] == 1)
  }

  @Test("two kinds of containers for one value, two values in one place, or no value", arguments: [false, true])
  func contradictions(isInList: Bool) throws {
    // Two things for one encoder, in the order in which they are asked of it.
    let bodies: [(any Encoder) throws -> Void] = [
      { try single($0, 1).then($0) { _ = $0.unkeyedContainer() } },
      { try single($0, 1).then($0) { try keyed($0, 1) } },
      { try single($0, 1).then($0) { try single($0, 2) } },
      { try list($0, 1).then($0) { try keyed($0, 1) } },
      { try keyed($0, 1).then($0) { _ = $0.unkeyedContainer() } },
      { try keyed($0, 1).then($0) { try single($0, 1) } },
      { _ in },
    ]
    for (index, body) in bodies.enumerated() {
      let error = refusal {
        try RecordEncoder().encode(
          isInList
            ? Holding(inner: Doing { try list($0, Doing(body)) })
            : Holding(inner: Doing(body)))
      }
      #expect(error?.code == .unsupportedValue, "\(index)")
      #expect(error?.path.first == "inner", "\(index)")
    }
  }

  @Test("within JSON the same contradictions throw, and containers filled late or never work")
  func contradictionsInJSON() throws {
    func inJSON(_ body: @escaping (any Encoder) throws -> Void) throws -> Record {
      try RecordEncoder().encode(
        Holding(
          inner: Doing { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(Doing(body), forKey: .a)
          }))
    }
    for body: (any Encoder) throws -> Void in [
      { try single($0, 1).then($0) { _ = $0.unkeyedContainer() } },
      { try single($0, 1).then($0) { try single($0, 2) } },
      { try list($0, 1).then($0) { try keyed($0, 1) } },
    ] {
      #expect(refusal { try inJSON(body) }?.code == .unsupportedValue)
    }
    #expect(try inJSON { _ in }["inner"] == Record.Value.bytes(Data(#"{"a":{}}"#.utf8)))
    let late = try inJSON { encoder in
      var container = encoder.container(keyedBy: Key.self)
      var first = container.nestedUnkeyedContainer(forKey: .a)
      var second = container.nestedContainer(keyedBy: Key.self, forKey: .b)
      try second.encode(true, forKey: .a)
      try first.encode(1)
      var again = container.nestedContainer(keyedBy: Key.self, forKey: .b)
      try again.encodeNil(forKey: .b)
      try first.encode(contentsOf: ["x"])
    }
    #expect(late["inner"] == Record.Value.bytes(Data(#"{"a":{"a":[1,"x"],"b":{"a":true,"b":null}}}"#.utf8)))
  }

  @Test("a container that is kept and used after everything is over")
  func escapedContainer() throws {
    final class Kept {
      var container: KeyedEncodingContainer<Key>?
      var encoder: (any Encoder)?
    }
    let kept = Kept()
    let record = try RecordEncoder().encode(
      Doing { encoder in
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(1, forKey: .a)
        let other = container.superEncoder(forKey: .b)
        try "b".encode(to: other)
        kept.encoder = other
        kept.container = container
      })
    try? kept.container?.encode(2, forKey: .a)
    if let encoder = kept.encoder { try? "c".encode(to: encoder) }
    #expect(record["a"] == 1 && record["b"] == "b")
  }

  final class Endless: RecordCodable {
    var own: Endless?
    init() {}
  }

  indirect enum Tree: Codable {
    case leaf
    case branch(Tree)
  }

  struct Self1: Codable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(self)
    }
    init() {}
    init(from decoder: any Decoder) throws { self = try decoder.singleValueContainer().decode(Self1.self) }
  }

  @Test(
    "a value that contains itself, or is nested thousands deep, is refused",
    arguments: ["json", "flattened", "xml", "asset"])
  func endless(form: String) throws {
    var options = RecordCodingOptions()
    options.nested =
      switch form {
      case "flattened": .flattened
      case "xml": .asset(.xmlPropertyList)
      case "asset": .asset(.json)
      default: .json
      }
    let endless = Endless()
    endless.own = endless
    defer { endless.own = nil }
    let error = refusal { try RecordEncoder(options: options).encode(endless) }
    #expect(error?.code == .tooDeep || (form == "flattened" && error?.code == .invalidKey))
    struct Forest: RecordCodable { var tree: Tree }
    var tree = Tree.leaf
    for _ in 0..<3000 { tree = .branch(tree) }
    let deep = refusal { try RecordEncoder(options: options).encode(Forest(tree: tree)) }
    #expect(deep?.code == .tooDeep || (form == "flattened" && deep?.code == .invalidKey))
    struct Circle: RecordCodable { var own: Self1 }
    #expect(refusal { try RecordEncoder(options: options).encode(Circle(own: Self1())) }?.code == .tooDeep)
    var record = try Record(type: "Circle")
    record["own"] = Data("1".utf8)
    #expect(refusal { try RecordDecoder(options: options).decode(Circle.self, from: record) } != nil)
  }

  @Test("everything that is deep fits into the small stack of a thread in the background")
  func smallStack() {
    final class Outcome: @unchecked Sendable { var failures: [String] = [] }
    let outcome = Outcome()
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      defer { done.signal() }
      struct Forest: RecordCodable { var tree: Tree }
      func check(_ holds: Bool, _ what: String) { if !holds { outcome.failures.append(what) } }
      do {
        var tree = Tree.leaf
        for _ in 0..<60 { tree = .branch(tree) }
        let record = try RecordEncoder().encode(Forest(tree: tree))
        _ = try RecordDecoder().decode(Forest.self, from: record)
        for _ in 0..<60 { tree = .branch(tree) }
        let deep = Forest(tree: tree)
        check(refusal { try RecordEncoder().encode(deep) }?.code == .tooDeep, "a deep value")
        let endless = Endless()
        endless.own = endless
        check(refusal { try RecordEncoder().encode(endless) }?.code == .tooDeep, "an endless value")
        endless.own = nil
        var chain = GraphTests.Link("0")
        for number in 1..<500 { chain = GraphTests.Link("\(number)", chain) }
        let records = try RecordEncoder().encodeGraph(chain)
        _ = try RecordDecoder().decodeGraph(GraphTests.Link.self, from: records)
      } catch { outcome.failures.append("\(error)") }
    }
    // What threads in the background have on Apple's systems.
    thread.stackSize = 512 * 1024
    thread.start()
    done.wait()
    #expect(outcome.failures == [])
  }

  @Test("JSON that is nested thousands deep is refused when it is read")
  func deepJSON() throws {
    struct Forest: RecordCodable { var tree: Tree }
    for text in [String(repeating: "[", count: 100_000), String(repeating: #"{"a":"#, count: 100_000)] {
      var record = try Record(type: "Forest")
      record["tree"] = Data(text.utf8)
      #expect(refusal { try RecordDecoder().decode(Forest.self, from: record) }?.code == .dataCorrupted)
    }
  }

  @Test("keys that become one field are refused, in every way that leads there")
  func collisions() throws {
    struct Snake: RecordEncodable {
      var firstName = 1
      var first_name = 2
    }
    var options = RecordCodingOptions()
    options.keys = .snakeCase
    #expect(refusal { try RecordEncoder(options: options).encode(Snake()) }?.code == .keyCollision)
    options.keys = .custom { _ in "same" }
    #expect(refusal { try RecordEncoder(options: options).encode(Snake()) }?.code == .keyCollision)
    #expect(try RecordEncoder().encode(Snake()).keys == ["firstName", "first_name"])
    struct Inner: Codable { var b = 1 }
    struct Flat: RecordEncodable {
      static let fieldRules: [String: FieldRule] = ["a": .flattened]
      var a = Inner()
      var a_b = 2
    }
    #expect(refusal { try RecordEncoder().encode(Flat()) }?.code == .keyCollision)
    struct Other: RecordEncodable {
      static let fieldRules: [String: FieldRule] = ["a": .flattened]
      var a_b = 2
      var a = Inner()
    }
    #expect(refusal { try RecordEncoder().encode(Other()) }?.code == .keyCollision)
    // One key twice is the type's own business.
    let twice = Doing { encoder in
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: .a)
      try container.encode(2, forKey: .a)
    }
    #expect(try RecordEncoder().encode(twice)["a"] == 2)
  }

  struct Twice: RecordDecodable {
    static var recordType: String { "Doing" }
    var first: [Int]
    var second: [Int]
    var tried: String
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      first = try container.decode([Int].self, forKey: .a)
      second = try decoder.container(keyedBy: Key.self).decode([Int].self, forKey: .a)
      var list = try container.nestedUnkeyedContainer(forKey: .a)
      // The wrong type first: the element is still there for the right one.
      #expect((try? list.decode(String.self)) == nil)
      #expect(try list.decode(Int.self) == first[0])
      while !list.isAtEnd { _ = try list.decode(Int.self) }
      #expect(throws: DecodingError.self) { try list.decode(Int.self) }
      #expect(throws: DecodingError.self) { try list.decodeNil() }
      if let text = try? container.decode(String.self, forKey: .b) {
        tried = text
      } else {
        tried = String(try container.decode(Int.self, forKey: .b))
      }
    }
  }

  @Test("a type that reads everything twice, tries types, and reads past the end of a list")
  func readsTwice() throws {
    var record = try Record(type: "Doing")
    record["a"] = [1, 2, 3]
    record["b"] = 4
    let value = try RecordDecoder().decode(Twice.self, from: record)
    #expect(value.first == [1, 2, 3] && value.second == value.first && value.tried == "4")
  }

  @Test("keys that a type asks for although it has others, and all keys that there are")
  func allKeys() throws {
    struct AnyKey: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    struct Everything: RecordDecodable {
      static var recordType: String { "Doing" }
      var found: [String: Int] = [:]
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for key in container.allKeys where key.stringValue != "recordName" && key.stringValue != "systemFields" {
          found[key.stringValue] = try container.decode(Int.self, forKey: key)
        }
        #expect(!container.contains(AnyKey(stringValue: "")))
        #expect(!container.contains(AnyKey(stringValue: "no such key at all")))
      }
    }
    var record = try Record(type: "Doing")
    record["one"] = 1
    record["two_words"] = 2
    #expect(try RecordDecoder().decode(Everything.self, from: record).found == ["one": 1, "two_words": 2])
    var options = RecordCodingOptions()
    options.keys = .snakeCase
    // Keys that may be any text are data: of two that are spelled alike one would be lost.
    #expect(try RecordDecoder(options: options).decode(Everything.self, from: record).found == ["one": 1, "two_words": 2])
  }

  @Test("errors of a type's own code keep their cause, and swallowed ones do no harm")
  func ownErrors() throws {
    struct Own: Error {}
    let error = refusal { try RecordEncoder().encode(Doing { _ in throw Own() }) }
    #expect(error?.code == .other && error?.cause is Own)
    let inner = refusal { try RecordEncoder().encode(Holding(inner: Doing { _ in throw Own() })) }
    #expect(inner?.code == .other && inner?.path == ["inner"])
    let swallowed = try RecordEncoder().encode(
      Doing { encoder in
        var container = encoder.container(keyedBy: Key.self)
        try? container.encode(UInt64.max, forKey: .a)
        try container.encode(1, forKey: .b)
      })
    #expect(swallowed.keys == ["b"])
  }

  struct Box<Content: Codable & Equatable>: Codable, Equatable { var content: Content }

  @Test("generic types, optionals of optionals, and property wrappers")
  func generics() throws {
    struct Generic: RecordCodable, Equatable {
      var boxed: Box<Box<[String: [Int]]>>
      var double: Int??
      var none: Int??
      var list: [Box<Int>]
      @Wrapped var wrapped: Int
    }
    let generic = Generic(
      boxed: Box(content: Box(content: ["a": [1]])), double: .some(.some(1)), none: nil, list: [Box(content: 1)],
      wrapped: 7)
    let record = try RecordEncoder().encode(generic)
    #expect(record["wrapped"] == 7 && record["double"] == 1)
    #expect(try RecordDecoder().decode(Generic.self, from: record) == generic)
  }

  @propertyWrapper struct Wrapped: Codable, Equatable {
    var wrappedValue: Int
    init(wrappedValue: Int) { self.wrappedValue = wrappedValue }
    init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(Int.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(wrappedValue)
    }
  }
}

/// What follows something that was encoded.
private struct Step {
  func then(_ encoder: any Encoder, _ body: (any Encoder) throws -> Void) throws { try body(encoder) }
}

@discardableResult
private func single(_ encoder: any Encoder, _ value: some Encodable) throws -> Step {
  var container = encoder.singleValueContainer()
  try container.encode(value)
  return Step()
}

@discardableResult
private func list(_ encoder: any Encoder, _ value: some Encodable) throws -> Step {
  var container = encoder.unkeyedContainer()
  try container.encode(value)
  return Step()
}

@discardableResult
private func keyed(_ encoder: any Encoder, _ value: some Encodable) throws -> Step {
  var container = encoder.container(keyedBy: HostileTypeTests.Key.self)
  try container.encode(value, forKey: .a)
  return Step()
}
