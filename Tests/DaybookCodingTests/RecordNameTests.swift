import Daybook
import DaybookCoding
import Foundation
import Testing

// Names of records that are numbers and UUIDs.

@Suite("names that are numbers and UUIDs")
struct RecordNameTests {
  struct Big: RecordCodable, Identifiable, Equatable {
    static let recordNameKey = "id"
    var id: UInt64
    var text: String
    var systemFields: Data?
  }

  struct Counted: RecordCodable, Identifiable, Equatable {
    static let recordNameKey = "id"
    static let fieldRules: [String: FieldRule] = ["text": .default("")]
    var id: UInt
    var text: String
    var count: UInt64
  }

  @Test("a number that is the name alone may be larger than a field's", arguments: [7, UInt64(Int64.max) + 1, .max])
  func largeNumbers(id: UInt64) throws {
    let database = try Database.inMemory()
    var value = Big(id: id, text: "a")
    try database.save(&value)
    #expect(try database.fetch(Big.self, id) == value)
    value.id -= 1
    let error = #expect(throws: RecordCodingError.self) { try database.save(value) }
    #expect(error?.code == .invalidIdentity && error?.facts.found == String(id - 1))
  }

  struct Held: RecordCodable, Equatable {
    static let recordNameKey = "key"
    var key: UUID
    var text: String
    var systemFields: Data?
  }

  @Test("a record whose name is a UUID in small letters is saved, updated and deleted as itself by a type with system fields")
  func smallLetters() throws {
    let database = try Database.inMemory()
    let key = UUID()
    var record = try Record(type: "Held", id: Record.ID(key.uuidString.lowercased()))
    record["text"] = "a"
    try database.save(record)
    var value = try #require(try database.fetchAll(Held.self).first)
    #expect(value.key == key)
    value.text = "b"
    try database.save(&value)
    try database.update(Held.self, key.uuidString.lowercased()) { $0.text += "c" }
    #expect(try database.fetchAll(Held.self).map(\.text) == ["bc"])
    // A new value, and no fetch, finds it by its capitals.
    #expect(try database.fetch(Held.self, key) == nil)
    #expect(try database.delete(value))
    #expect(try database.count(Held.self) == 0)
  }

  @Test("a field's number still has to fit")
  func largeField() throws {
    let value = Counted(id: .max, text: "", count: .max)
    let error = #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(value) }
    #expect(error?.code == .unsupportedValue && error?.path == ["count"])
  }

  struct Huge: RecordCodable, Identifiable, Equatable {
    static let recordNameKey = "id"
    var id: UInt64
    var count = UInt64(1)
  }

  @Test("a predicate on a name that is a number beyond Int64 was refused")
  func hugeNumber() throws {
    let database = try Database.inMemory()
    try database.save([Huge(id: .max), Huge(id: 5)])
    let (most, both) = (UInt64.max, [UInt64.max, 5, 1 << 63])
    #expect(try database.fetchAll(Huge.self, where: #Predicate { $0.id == most }).map(\.id) == [.max])
    #expect(try database.fetchAll(Huge.self, where: #Predicate { $0.id != most }).map(\.id) == [5])
    #expect(try database.count(Huge.self, where: #Predicate { both.contains($0.id) }) == 2)
    #expect(throws: DatabaseError.self) { try database.count(Huge.self, where: #Predicate { $0.count == most }) }
  }
}
