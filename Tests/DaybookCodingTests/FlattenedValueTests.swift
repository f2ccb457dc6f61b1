import Daybook
import DaybookCoding
import Foundation
import Testing

// What becomes of the fields of flattened properties when the value loses some of them.

private struct PostalAddress: Codable, Equatable {
  var street: String?
  var city: String?
}

private struct Resident: RecordCodable, Identifiable, Equatable {
  var id: String
  var address: PostalAddress?
  var tags: [String: Int]?
  /// Begins as the fields of a flattened property do.
  var address_note: String?
  var systemFields: Data?
  static let fieldRules: [String: FieldRule] = ["address": .flattened, "tags": .flattened]
}

private struct Tenant: RecordCodable, Identifiable, Equatable {
  var id: String
  var address: PostalAddress?
  var tags: [String: Int]?
  static let fieldRules: [String: FieldRule] = ["address": .flattened, "tags": .flattened]
}

private struct Houses: RecordCodable, Identifiable, Equatable {
  var id: String
  var homes: [String: PostalAddress]
}

@Suite("flattened values")
struct FlattenedValueTests {
  private let full = PostalAddress(street: "s", city: "c")

  @Test("a flattened property that became nil, and keys that a flattened dictionary lost, are gone after a save")
  func lost() throws {
    let database = try Database.inMemory()
    var person = Resident(id: "p", address: full, tags: ["a": 1, "b": 2], address_note: "note")
    try database.save(&person)
    person.address = nil
    person.tags = ["a": 1]
    try database.save(&person)
    var read = try #require(try database.fetch(Resident.self, "p"))
    #expect(read.address == nil && read.tags == ["a": 1] && read.address_note == "note")

    // Fetched, changed and saved; then in a transaction, and as one of many.
    read.address = full
    try database.save(&read)
    read.tags = [:]
    try database.save(&read)
    #expect(try database.fetch(Resident.self, "p")?.tags == [:])
    read.address = nil
    read.tags = ["z": 26]
    let changed = read
    try database.write { transaction in
      var value = changed
      try transaction.save(&value)
    }
    #expect(try database.fetch(Resident.self, "p")?.address == nil)
    #expect(try database.fetch(Resident.self, "p")?.tags == ["z": 26])

    try database.save([Tenant(id: "q", address: full, tags: ["a": 1, "b": 2]), Tenant(id: "r", address: full)])
    try database.save([Tenant(id: "q", tags: ["b": 3]), Tenant(id: "r", address: PostalAddress(city: "d"))])
    #expect(try database.fetch(Tenant.self, "q") == Tenant(id: "q", tags: ["b": 3]))
    #expect(try database.fetch(Tenant.self, "r") == Tenant(id: "r", address: PostalAddress(city: "d")))
    try database.write { try $0.save(Tenant(id: "r")) }
    #expect(try database.fetch(Tenant.self, "r") == Tenant(id: "r"))
    try database.close()
  }

  @Test("the same goes for a save off the caller's thread")
  func lostAsynchronously() async throws {
    let database = try Database.inMemory()
    try await database.save([Tenant(id: "q", address: full, tags: ["a": 1, "b": 2])])
    try await database.save(Tenant(id: "q", tags: ["b": 3]))
    #expect(try await database.fetch(Tenant.self, "q") == Tenant(id: "q", tags: ["b": 3]))
    try database.close()
  }

  @Test("an update takes away the keys that a flattened dictionary lost, and leaves what the type does not know")
  func updated() throws {
    let database = try Database.inMemory()
    try database.save(Tenant(id: "q", address: full, tags: ["a": 1, "b": 2]))
    try database.update(Record.ID("q")) { $0["address_zip"] = "of a newer version" }
    let stored = try database.update(Tenant.self, "q") { value in
      value.tags = ["a": 1]
      value.address?.street = nil
    }
    #expect(stored == Tenant(id: "q", address: PostalAddress(city: "c"), tags: ["a": 1]))
    #expect(try database.record(Record.ID("q"))?["address_zip"] == "of a newer version")
    try database.update(Tenant.self, "q") { $0.address = nil }
    #expect(try database.fetch(Tenant.self, "q") == Tenant(id: "q", tags: ["a": 1]))
    try database.close()
  }

  @Test("a dictionary of values with keys is refused where it would be flattened")
  func structs() throws {
    var options = RecordCodingOptions()
    options.nested = .flattened
    let encoder = RecordEncoder(options: options)
    let error = #expect(throws: RecordCodingError.self) {
      try encoder.encode(Houses(id: "h", homes: ["first": full]))
    }
    #expect(error?.code == .unsupportedValue && error?.path == ["homes", "first"])
    #expect(try encoder.encode(Tenant(id: "q", tags: ["a": 1]))["tags_a"] == 1)
  }
}
