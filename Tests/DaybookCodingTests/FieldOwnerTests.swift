import Daybook
import DaybookCoding
import Foundation
import Testing

// Which fields belong to a flattened value, of those that it does not name any more.

private enum Shape: Codable, Equatable {
  case circle(radius: Double)
  case square(side: Double)
  case nothing
}

private struct Figure: RecordCodable, Identifiable, Equatable {
  var id: String
  var shape: Shape
  static let fieldRules: [String: FieldRule] = [
    "shape": .flattened, "shape.circle": .flattened, "shape.square": .flattened, "shape.nothing": .flattened,
  ]
}

private enum Event: RecordCodable, Equatable {
  case started(at: Int)
  case stopped(reason: String)
  var recordName: String { "event" }
}

private struct Tagged: RecordCodable, Identifiable, Equatable {
  var id: String
  var labels: [String: Int]
  static let fieldRules: [String: FieldRule] = ["labels": .flattened]
}

private struct Versioned: RecordCodable, Identifiable, Equatable {
  var id: String
  var labels: [String: Int]
  var systemFields: Data?
  static let fieldRules: [String: FieldRule] = ["labels": .flattened]
}

private struct Sealed: RecordCodable, Identifiable, Equatable {
  struct Address: Codable, Equatable { var pin: String }
  var id: String
  var address: Address?
  var labels: [String: String] = [:]
  static let fieldRules: [String: FieldRule] = [
    "address": .flattened, "address.pin": .encrypted, "labels": .flattened, "labels.key": .encrypted,
  ]
}

private struct Coloured: RecordCodable, Identifiable, Equatable {
  var id: String
  var label: [String: String]
  var labelColor: String
}

private struct Street: Codable, Equatable { var street: String }

private struct OlderResident: RecordCodable, Identifiable, Equatable {
  static let recordType = "NewerResident"
  var id: String
  var address: Street?
}

private struct NewerResident: RecordCodable, Identifiable, Equatable {
  var id: String
  var address: Street?
  var addressBook: String?
}

private struct Pair: Codable, Equatable {
  var first: Int?
  var second: Int
  enum CodingKeys: String, CodingKey { case first, second }
  init(first: Int?, second: Int) { (self.first, self.second) = (first, second) }
  /// Leaves a key out, as code written by hand does.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if let first { try container.encode(first, forKey: .first) }
    try container.encode(second, forKey: .second)
  }
}

private struct Holder: RecordCodable, Identifiable, Equatable {
  var id: String
  var pair: Pair
  static let fieldRules: [String: FieldRule] = ["pair": .flattened]
}

@Suite("fields of flattened values beside others")
struct FieldOwnerTests {
  private let database: Database
  private var snake: RecordCodingOptions {
    var options = RecordCodingOptions()
    options.keys = .snakeCase
    options.nested = .flattened
    return options
  }

  init() throws { database = try Database.inMemory() }

  @Test("a flattened enum of another case than before is read as that")
  func enums() throws {
    for shape in [Shape.circle(radius: 1), .square(side: 2), .nothing, .circle(radius: 3)] {
      try database.save(Figure(id: "f", shape: shape))
      #expect(try database.fetch(Figure.self, "f")?.shape == shape)
    }
    try database.update(Figure.self, "f") { $0.shape = .square(side: 4) }
    #expect(try database.fetch(Figure.self, "f")?.shape == .square(side: 4))
    #expect(try database.record(Record.ID("f"))?.keys == ["id", "shape_square_side"])
  }

  @Test("an enum that is a record itself is read as its last case, and leaves what it does not know")
  func enumRecord() throws {
    for options in [RecordCodingOptions(), snake] {
      try database.write { try $0.delete(Record.ID("event")) }
      try database.save(Event.started(at: 1), options: options)
      try database.update(Record.ID("event")) { $0["newer"] = 1 }
      try database.save(Event.stopped(reason: "rain"), options: options)
      #expect(try database.fetch(Event.self, "event", options: options) == .stopped(reason: "rain"))
      #expect(try database.record(Record.ID("event"))?["newer"] as Int? == 1)
    }
  }

  @Test("a key that a type leaves out by hand is gone from its flattened value, and a newer version's key stays")
  func leftOut() throws {
    try database.save(Holder(id: "h", pair: Pair(first: 1, second: 1)))
    try database.update(Record.ID("h")) { $0["pair_third"] = 3 }
    try database.save(Holder(id: "h", pair: Pair(first: nil, second: 2)))
    #expect(try database.fetch(Holder.self, "h")?.pair == Pair(first: nil, second: 2))
    #expect(try database.record(Record.ID("h"))?["pair_third"] as Int? == 3)
  }

  @Test("of a record that is twice in one save, the second value is stored")
  func twice() throws {
    try database.save([Tagged(id: "a", labels: ["x": 1]), Tagged(id: "b", labels: [:]), Tagged(id: "a", labels: ["y": 2])])
    #expect(try database.fetch(Tagged.self, "a")?.labels == ["y": 2])
  }

  @Test("an encrypted key within a flattened value is read, and goes with it")
  func encrypted() throws {
    let full = Sealed(id: "s", address: .init(pin: "1234"), labels: ["key": "k", "other": "o"])
    try database.save(full)
    #expect(try database.fetch(Sealed.self, "s") == full)
    try database.update(Sealed.self, "s") { $0.labels["key"] = nil }
    #expect(try database.fetch(Sealed.self, "s")?.labels == ["other": "o"])
    try database.save(full)
    try database.save(Sealed(id: "s", address: nil, labels: ["other": "o"]))
    #expect(try database.fetch(Sealed.self, "s") == Sealed(id: "s", address: nil, labels: ["other": "o"]))
    #expect(try database.record(Record.ID("s"))?.encryptedValues.keys == [])
  }

  @Test("a property whose key begins like a flattened dictionary is not in the dictionary, and stays")
  func siblings() throws {
    let value = Coloured(id: "c", label: ["x": "y"], labelColor: "red")
    try database.save(value, options: snake)
    #expect(try database.fetch(Coloured.self, "c", options: snake) == value)
    try database.update(Coloured.self, "c", options: snake) { $0.label = ["z": "w"] }
    #expect(try database.fetch(Coloured.self, "c", options: snake) == Coloured(id: "c", label: ["z": "w"], labelColor: "red"))
  }

  @Test("what an older version stores as nil takes nothing of a newer version's property with a longer key")
  func newerSiblings() throws {
    let newer = NewerResident(id: "r", address: Street(street: "s"), addressBook: "red")
    try database.save(newer, options: snake)
    try database.save(OlderResident(id: "r", address: nil), options: snake)
    #expect(
      try database.fetch(NewerResident.self, "r", options: snake)
        == NewerResident(id: "r", address: nil, addressBook: "red"))
  }

  @Test("a refused save says of its own removals alone, so that a rebase keeps what another device added")
  func rebased() throws {
    var first = Versioned(id: "v", labels: ["x": 1, "w": 1])
    try database.save(&first)
    var other = first
    other.labels["y"] = 5
    try database.save(&other)
    first.labels = ["x": 2]
    let error = #expect(throws: DatabaseError.self) { try database.save(first) }
    let conflict = try #require(error?.conflict)
    var mine = conflict.client
    mine.rebase(onto: try #require(conflict.server))
    try database.save(mine)
    #expect(try database.fetch(Versioned.self, "v")?.labels == ["x": 2, "y": 5])
  }
}
