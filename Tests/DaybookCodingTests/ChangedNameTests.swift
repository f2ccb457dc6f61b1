import Daybook
import DaybookCoding
import Foundation
import Testing

// A value with system fields is a change of one record, whatever way its type says which one.

@Suite("values that have got another name")
struct ChangedNameTests {
  struct ByText: RecordCodable, Identifiable {
    var systemFields: Data?
    var id: String
    var text = ""
  }

  struct ByUUID: RecordCodable, Identifiable {
    var systemFields: Data?
    var id: UUID
    var text = ""
  }

  struct ByNumber: RecordCodable, Identifiable {
    var systemFields: Data?
    var id: Int
    var text = ""
  }

  struct Tag: RawRepresentable, Codable, Hashable { var rawValue: String }

  struct ByTag: RecordCodable, Identifiable {
    var systemFields: Data?
    var id: Tag
    var text = ""
  }

  struct ByProperty: RecordCodable {
    var systemFields: Data?
    var recordName: String
    var text = ""
  }

  struct ByKey: RecordCodable {
    static let recordNameKey = "number"
    var systemFields: Data?
    var number: Int
    var text = ""
  }

  struct Computed: RecordCodable {
    var systemFields: Data?
    var number: Int
    var text = ""
    var recordName: String { "book-\(number)" }
  }

  struct Nameless: RecordCodable, Equatable {
    var systemFields: Data?
    var text: String
  }

  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func refused<T: RecordCodable>(_ value: T, _ names: (String, String), _ rename: (inout T) -> Void) throws {
    var value = value
    try database.save(&value)
    // What keeps its name is saved again.
    try database.save(&value)
    var copy = value
    rename(&copy)
    let count = try database.count(T.self)
    let errors = [
      refusal { try RecordEncoder().encode(copy) }, refusal { try database.save(copy) as Record },
      refusal { try database.save([value, copy]) as [Record] }, refusal { try database.save(&copy) },
      refusal { try database.delete(copy) },
    ]
    for error in errors {
      #expect(error?.code == .invalidIdentity, "\(T.self)")
      #expect(error?.facts.name == names.0 && error?.facts.found == names.1, "\(String(describing: error))")
      for name in [names.0, names.1] { #expect(error?.localizedDescription.contains(name) == true, "\(T.self)") }
    }
    #expect(try database.count(T.self) == count)
    // Without system fields it is a new value.
    copy.systemFields = nil
  }

  @Test(
    "a value that was given another name was saved over the record it came from, unless recordNameKey said which property it is"
  )
  func renamed() throws {
    try refused(ByText(id: "a"), ("a", "b")) { $0.id = "b" }
    let (first, second) = (UUID(), UUID())
    try refused(ByUUID(id: first), (first.uuidString, second.uuidString)) { $0.id = second }
    try refused(ByNumber(id: 1), ("1", "2")) { $0.id = 2 }
    try refused(ByTag(id: Tag(rawValue: "t")), ("t", "u")) { $0.id = Tag(rawValue: "u") }
    try refused(ByProperty(recordName: "p"), ("p", "q")) { $0.recordName = "q" }
    try refused(ByKey(number: 7), ("7", "8")) { $0.number = 8 }
    try refused(Computed(number: 7), ("book-7", "book-8")) { $0.number = 8 }
  }

  @Test("a value that nothing names is saved again with its system fields alone, as often as one likes")
  func nameless() throws {
    var note = Nameless(text: "a")
    for text in ["b", "c", "d"] {
      note.text = text
      try database.save(&note)
    }
    #expect(try database.fetchAll(Nameless.self) == [note])
    #expect(try database.delete(note))
  }

  @Test("a record that another program has named is changed under the name that it has")
  func foreignName() throws {
    var record = try Record(type: "ByText", id: Record.ID("row-1"))
    record["id"] = "dune"
    record["text"] = "a"
    try database.save(record)
    let changed = try database.update(ByText.self, "row-1") { $0.text = "b" }
    #expect(changed.id == "dune" && changed.text == "b")
    let error = refusal { try database.save(changed) }
    #expect(error?.facts.name == "row-1" && error?.facts.found == "dune")
    #expect(try database.record(Record.ID("row-1"))?["text"] == "b" && database.record(Record.ID("dune")) == nil)
  }

  @Test("a value whose record another device has saved since is deleted all the same, in each form")
  func staleDelete() async throws {
    func inline() throws {
      for form in 0..<3 {
        var mine = ByText(id: "a")
        try database.save(&mine)
        var other = try #require(try database.fetch(ByText.self, "a"))
        other.text = "newer"
        try database.save(&other)
        // A save of the same value is refused.
        #expect(throws: DatabaseError.self) { try database.save(mine) as Record }
        switch form {
        case 0: #expect(try database.delete(mine))
        case 1: try database.delete([mine])
        default: try database.write { transaction in _ = try transaction.delete(mine) }
        }
        #expect(try database.record(Record.ID("a")) == nil)
        // One that is gone is no error.
        #expect(try !database.delete(mine))
      }
    }
    try inline()
    var mine = ByText(id: "a")
    try await database.save(&mine)
    try await database.update(ByText.self, "a") { $0.text = "newer" }
    #expect(try await database.delete(mine))
  }
}
