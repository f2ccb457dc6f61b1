import Daybook
import DaybookCoding
import Foundation
import Testing

/// Values of records of another type, where the options allow it.
@Suite("values of records of another type")
struct AnotherTypeTests {
  struct Titled: RecordCodable, Equatable {
    var systemFields: Data?
    var title: String
  }

  struct Named: RecordCodable, Equatable {
    var recordName = "a"
    var title: String
  }

  private var options: RecordCodingOptions {
    var options = RecordCodingOptions()
    options.checksRecordType = false
    return options
  }

  private func song() throws -> Record {
    var record = try Record(type: "Song", id: Record.ID("a"))
    record["title"] = "Old"
    record["length"] = 3
    return record
  }

  @Test("a value that was read from a record of another type is written onto it as a change, and the type stays")
  func onto() throws {
    let record = try song()
    var value = try RecordDecoder(options: options).decode(Named.self, from: record)
    value.title = "New"
    let changed = try RecordEncoder(options: options).encode(value, onto: record)
    #expect(changed.type == "Song" && changed.id == record.id && changed["title"] == "New" && changed["length"] == 3)
    let error = refusal { try RecordEncoder().encode(value, onto: record) }
    #expect(error?.code == .recordTypeMismatch && error?.facts.expected == "Named" && error?.facts.found == "Song")
  }

  @Test("update changes a record of another type where types are not checked, and refuses it where they are")
  func update() throws {
    let database = try Database.inMemory()
    _ = try saved(song(), in: database)
    try database.update(Named.self, "a", options: options) { $0.title = "New" }
    let record = try #require(try database.record(Record.ID("a")))
    #expect(record.type == "Song" && record["title"] == "New" && record["length"] == 3)
    #expect(refusal { try database.update(Named.self, "a") { $0.title = "Newer" } }?.code == .recordTypeMismatch)
    #expect(try database.record(Record.ID("a")) == record)
  }

  @Test("a value with the system fields of a record of another type is saved as a change of that record")
  func systemFields() throws {
    let database = try Database.inMemory()
    var value = try RecordDecoder(options: options).decode(Titled.self, from: saved(song(), in: database))
    value.title = "New"
    #expect(refusal { try database.save(value) }?.code == .invalidSystemFields)
    #expect(refusal { try RecordEncoder().encodeGraph(value) }?.code == .invalidSystemFields)
    #expect(try RecordEncoder(options: options).encodeGraph(value).map(\.type) == ["Song"])
    let record = try database.save(&value, options: options)
    #expect(record.type == "Song" && record["title"] == "New" && record["length"] == 3)
    value.title = "Newer"
    #expect(try database.save(value, options: options).type == "Song")
    #expect(try RecordEncoder(options: options).encode(Titled(title: "x")).type == "Titled")
  }
}
