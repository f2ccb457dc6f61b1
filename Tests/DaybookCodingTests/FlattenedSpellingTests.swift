import Daybook
import DaybookCoding
import Foundation
import Testing

// Flattened values where keys are spelled otherwise in records: everything that is saved comes back, or is refused.

private struct Links: Codable, Equatable {
  var home: String
  var shop: String?
}

private struct Page: RecordCodable, Equatable {
  static let fieldRules: [String: FieldRule] = ["mailingID": .flattened]
  var recordName = "p"
  var mailingID: Links?
}

private struct Tagged: RecordCodable, Equatable {
  static let fieldRules: [String: FieldRule] = ["tags": .flattened]
  var recordName = "p"
  var tags: [String: Int]?
}

private enum Event: RecordCodable, Equatable {
  case openURL(String)
  case user(name: String)
  case userName
  var recordName: String { "e" }
}

private struct Planned: RecordCodable, Equatable {
  enum Step: Codable, Equatable {
    case openURL(String)
    case user(name: String)
    case userName
    case a(b: Int)
    case a_b
  }
  var recordName = "h"
  var step: Step
}

private struct Listed: RecordCodable, Equatable {
  enum Step: Codable, Equatable {
    enum CodingKeys: CodingKey, CaseIterable { case openURL, close }
    case openURL(String)
    case close
  }
  static let fieldRules: [String: FieldRule] = ["step": .flattened]
  var recordName = "l"
  var step: Step
}

private struct Labelled: RecordCodable, Equatable {
  static let fieldRules: [String: FieldRule] = ["label": .flattened]
  var recordName = "l"
  var label: [String: String]
  var note: String
}

private struct Deep: RecordCodable, Equatable {
  struct Inner: Codable, Equatable {
    var homeURL: Links?
    var allTags: [String: Int] = [:]
    var homeURLText: String?
  }
  var recordName = "d"
  var innerID: Inner?
  var innerIDText: String?
}

@Suite("spellings of flattened keys")
struct FlattenedSpellingTests {
  private let database: Database
  private static let upper = RecordCodingOptions.KeyStrategy.custom { $0.uppercased() }
  private static let prefixed = RecordCodingOptions.KeyStrategy.custom { "x_" + $0 }
  private static let strategies: [String: RecordCodingOptions.KeyStrategy] = [
    "asIs": .asIs, "snakeCase": .snakeCase, "upper": upper, "prefixed": prefixed,
  ]

  init() throws { database = try Database.inMemory() }

  private func options(_ keys: RecordCodingOptions.KeyStrategy, flat: Bool = false) -> RecordCodingOptions {
    var options = RecordCodingOptions()
    options.keys = keys
    if flat { options.nested = .flattened }
    return options
  }

  /// A value saved over whatever is there, and fetched.
  private func saved<T: RecordCodable>(_ value: T, _ options: RecordCodingOptions) throws -> T? {
    try database.save(value, options: options)
    return try database.fetch(T.self, value.recordName, options: options)
  }

  @Test(
    "a flattened property whose key ends in capitals is there after a save, and gone once it is nil",
    arguments: strategies.keys)
  func optional(strategy: String) throws {
    let options = options(Self.strategies[strategy]!)
    for links in [Links(home: "h", shop: "s"), nil, Links(home: "h", shop: "s"), Links(home: "i")] {
      #expect(try saved(Page(mailingID: links), options) == Page(mailingID: links))
    }
    try database.update(Page.self, "p", options: options) { $0.mailingID?.shop = "t" }
    #expect(try database.fetch(Page.self, "p", options: options)?.mailingID == Links(home: "i", shop: "t"))
    try database.update(Page.self, "p", options: options) { $0.mailingID = nil }
    #expect(try database.record(Record.ID("p"))?.keys == [])
  }

  @Test(
    "the keys of a flattened dictionary come back as they were, and those that it lost are gone",
    arguments: strategies.keys)
  func dictionary(strategy: String) throws {
    let options = options(Self.strategies[strategy]!)
    let all = ["homeURL": 1, "first_name": 2, "ABC": 3, "abc": 4, "firstName": 5, "_": 6]
    for tags in [all, ["ABC": 3], [:], ["first_name": 2], nil] {
      #expect(try saved(Tagged(tags: tags), options) == Tagged(tags: tags))
    }
    #expect(try database.record(Record.ID("p"))?.keys == [])
  }

  @Test(
    "flattened values within a flattened value come back, and go with a save and with an update",
    arguments: strategies.keys)
  func deep(strategy: String) throws {
    let options = options(Self.strategies[strategy]!, flat: true)
    let full = Deep.Inner(homeURL: Links(home: "h"), allTags: ["a_b": 1, "aB": 2], homeURLText: "t")
    let other = Deep.Inner(homeURL: Links(home: "h", shop: "s"), homeURLText: "t")
    let values = [full, Deep.Inner(allTags: ["aB": 1]), nil, full, other, Deep.Inner()]
    for inner in values {
      #expect(try saved(Deep(innerID: inner, innerIDText: "x"), options) == Deep(innerID: inner, innerIDText: "x"))
    }
    for inner in values {
      try database.update(Deep.self, "d", options: options) { $0.innerID = inner }
      #expect(try database.fetch(Deep.self, "d", options: options) == Deep(innerID: inner, innerIDText: "x"))
    }
  }

  @Test("an enum that is a record is read as the case that it was saved as, in snake case")
  func events() throws {
    for event in [Event.openURL("x"), .user(name: "n"), .userName, .openURL("y")] {
      #expect(try saved(event, options(.snakeCase)) == event)
    }
    for event in [Event.openURL("x"), .userName, .openURL("y")] {
      #expect(try saved(event, options(.snakeCase, flat: true)) == event)
    }
    #expect(refusal { try database.save(Event.openURL("x"), options: options(Self.upper)) }?.code == .invalidKey)
  }

  @Test("a flattened enum is read as the case that it was saved as, and a case that has another's field is refused")
  func steps() throws {
    for step in [Planned.Step.openURL("x"), .userName, .a_b, .openURL("y")] {
      #expect(try saved(Planned(step: step), options(.snakeCase, flat: true)) == Planned(step: step))
      #expect(try saved(Planned(step: step), options(.asIs, flat: true)) == Planned(step: step))
      try database.write { try $0.delete(Record.ID("h")) }
    }
    #expect(try saved(Planned(step: .user(name: "n")), options(.asIs, flat: true)) == Planned(step: .user(name: "n")))
    let refused = refusal { try database.save(Planned(step: .user(name: "n")), options: options(.snakeCase, flat: true)) }
    #expect(refused?.code == .keyCollision && refused?.path == ["step", "user", "name"])
    #expect(refusal { try database.save(Planned(step: .a(b: 1)), options: options(.asIs, flat: true)) }?.code == .keyCollision)
  }

  @Test("an enum whose keys are listed comes back with any spelling", arguments: strategies.keys)
  func listed(strategy: String) throws {
    let options = options(Self.strategies[strategy]!, flat: true)
    for step in [Listed.Step.openURL("x"), .close, .openURL("y")] {
      #expect(try saved(Listed(step: step), options) == Listed(step: step))
    }
  }

  @Test("a key that a flattened dictionary would be read with is refused")
  func taken() throws {
    let options = options(.custom { $0 == "note" ? "label_x" : $0 })
    #expect(refusal { try database.save(Labelled(label: ["a": "b"], note: "n"), options: options) }?.code == .keyCollision)
  }

  @Test("a flattened dictionary of four times the keys does not take sixteen times as long to read")
  func wide() throws {
    func seconds(_ count: Int) throws -> Double {
      let value = Tagged(tags: Dictionary(uniqueKeysWithValues: (0..<count).map { ("k\($0)", $0) }))
      let record = try RecordEncoder(options: options(.asIs, flat: true)).encode(value)
      var read: Tagged?
      let spent = try ContinuousClock().measure {
        read = try RecordDecoder(options: options(.asIs, flat: true)).decode(Tagged.self, from: record)
      }
      #expect(read == value)
      return spent / .seconds(1)
    }
    let (few, many) = (try seconds(1000), try seconds(4000))
    #expect(many < 10 * few || many < 0.5, "\(few) s, then \(many) s")
  }
}
