import Daybook
import DaybookCoding
import Foundation
import Testing

// Values that encode a dictionary or an enum in their place: the fields of the record are not those of properties.

private struct Wrapped: RecordCodable, Equatable {
  enum Choice: Codable, Equatable { case first(Int), second(Int) }
  var recordName: String { "w" }
  var choice: Choice
  init(_ choice: Choice) { self.choice = choice }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(choice)
  }
  init(from decoder: any Decoder) throws { choice = try decoder.singleValueContainer().decode(Choice.self) }
}

private struct Bag: RecordCodable, Equatable {
  var recordName: String { "bag" }
  var values: [String: Int]
  init(_ values: [String: Int]) { self.values = values }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(values)
  }
  init(from decoder: any Decoder) throws { values = try decoder.singleValueContainer().decode([String: Int].self) }
}

/// Known keys, and others beside them.
private struct Extended: RecordCodable, Equatable {
  var recordName: String { "x" }
  var title: String
  var more: [String: String]
  enum CodingKeys: CodingKey { case title }
  init(_ title: String, _ more: [String: String]) { (self.title, self.more) = (title, more) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(title, forKey: .title)
    try more.encode(to: encoder)
  }
  init(from decoder: any Decoder) throws {
    title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
    more = try [String: String](from: decoder)
    more["title"] = nil
  }
}

@Suite("values that encode another in their place")
struct RecordInPlaceTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  /// A value saved over whatever is there, and fetched.
  private func saved<T: RecordCodable>(_ value: T) throws -> T? {
    try database.save(value)
    return try database.fetch(T.self, value.recordName)
  }

  @Test("a dictionary that is the record itself loses its keys with a save and an update")
  func bag() throws {
    for values in [["a": 1, "b": 2], ["a": 1], [:], ["c": 3]] {
      #expect(try saved(Bag(values)) == Bag(values))
    }
    try database.update(Bag.self, "bag") { $0.values = ["d": 4] }
    #expect(try database.fetch(Bag.self, "bag") == Bag(["d": 4]))
  }

  @Test("a dictionary beside the known keys of a record loses its keys, and nothing else goes")
  func extended() throws {
    for more in [["a": "1", "b": "2"], ["a": "1"], [:]] {
      #expect(try saved(Extended("t", more)) == Extended("t", more))
    }
    for more in [["c": "3", "d": "4"], ["c": "3"], [:]] {
      try database.update(Extended.self, "x") { $0.more = more }
      #expect(try database.fetch(Extended.self, "x") == Extended("t", more))
    }
    try database.update(Extended.self, "x") { $0.title = "u" }
    #expect(try database.fetch(Extended.self, "x") == Extended("u", [:]))
  }

  @Test("a value that encodes an enum in its place is read as the case that it was saved as last")
  func wrapped() throws {
    for choice in [Wrapped.Choice.first(1), .second(2), .first(3)] {
      #expect(try saved(Wrapped(choice)) == Wrapped(choice))
    }
    try database.update(Wrapped.self, "w") { $0.choice = .second(4) }
    #expect(try database.fetch(Wrapped.self, "w") == Wrapped(.second(4)))
  }
}
