import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Names that begin with an underscore are a server's: CloudKit gives them to the records of users. They come along in
/// references and identities, and an application may not give them.
@Suite("names that a server gave")
struct SystemNameTests {
  private static let name = "_a1b2c3d4e5"

  private func decoded() throws -> Record.ID {
    try JSONDecoder().decode(Record.ID.self, from: Data(#"{"name":"\#(Self.name)"}"#.utf8))
  }

  @Test("they can be decoded and made, and encode as they came; a name of one's own cannot be one")
  func identity() throws {
    let id = try decoded()
    #expect(id.name == Self.name)
    #expect(try id == Record.ID(existing: Self.name))
    #expect(try JSONDecoder().decode(Record.ID.self, from: JSONEncoder().encode(id)) == id)
    #expect(failure { try Record.ID(Self.name) }?.code == .invalidArguments)
    let value = Record.Value.references([.init(id, action: .validate), .init(id)])
    #expect(try JSONDecoder().decode(Record.Value.self, from: JSONEncoder().encode(value)) == value)
  }

  @Test("references to them are stored and read, also as a parent of what a server made")
  func references() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    let id = try decoded()
    var note = try Record.fresh("note")
    note["owner"] = Record.Reference(id)
    note["readers"] = Record.Value.references([.init(id), .init(id, action: .deleteSelf)])
    let saved = try database.write { [note] in try $0.save(note) }
    #expect(saved["owner"] == Record.Reference(id))
    #expect(try database.referencing(id).map(\.id.name) == ["note"])
    try database.close()
    let again = try Database.open(on: disk, seed: 2)
    #expect(try again.record(note.id) == saved)
    try again.expectClean()
  }

  @Test("a new record with such a name is refused, with zone and name, under every policy")
  func refused() throws {
    let database = try Database.scratch()
    let record = try Record(type: "Note", id: decoded())
    for policy in SavePolicy.allCases {
      let error = failure { try database.write { try $0.save(record, policy: policy) } }
      #expect(error?.code == .invalidArguments && error?.facts.name == Self.name && error?.facts.zone == .default)
    }
    let result = try database.modify(saving: [record, .fresh("a")], atomically: false)
    #expect(result.errors[record.id]?.code == .invalidArguments && result.errors.count == 1)
    #expect(try database.recordCount(in: .default) == 1 && database.schema().types.count == 1)
    try database.expectClean()
  }

  @Test("a record that a server made is stored under its name, changed and deleted")
  func stored() throws {
    let database = try Database.scratch()
    let metadata = Record.Metadata(changeTag: "k1", creationDate: Date(), creatorUserID: Self.name, modificationDate: Date())
    let user = try Record(type: "Users", id: decoded(), metadata: metadata, values: ["nick": "A"])
    #expect(try Record(systemFields: user.systemFields).id == user.id)
    var saved = try database.write { try $0.save(user, policy: .allKeys) }
    saved["nick"] = "B"
    saved = try database.write { [saved] in try $0.save(saved) }
    #expect(try database.record(user.id)?["nick"] == "B")
    let changes = try database.changes(in: .default, since: nil)
    #expect(changes.saved.map(\.id) == [user.id])
    try database.write { try $0.delete(user.id) }
    #expect(try database.changes(in: .default, since: changes.token).deleted.map(\.id) == [user.id])
    try database.expectClean()
  }

  @Test("the record of a container's user may have such a name")
  func containerUser() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let id = "com.example.Notes"
    try Container.open(id, in: folder.path).close()
    let file = URL(filePath: folder.file("\(id).account.json"))
    var account = try JSONDecoder().decode(ContainerAccount.self, from: Data(contentsOf: file))
    account.userRecordName = Self.name
    try JSONEncoder().encode(account).write(to: file)
    let container = try Container.open(id, in: folder.path)
    var user = try container.privateDatabase.userRecord()
    user["nick"] = "A"
    let saved = try container.privateDatabase.write { [user] in try $0.save(user) }
    #expect(saved.id.name == Self.name && saved.metadata?.creatorUserID == Self.name)
    #expect(try container.privateDatabase.userRecord()["nick"] == "A")
    let other = try Record(type: "Note", id: Record.ID(existing: "_other"))
    #expect(failure { try container.privateDatabase.write { try $0.save(other) } }?.code == .invalidArguments)
    try container.close()
  }
}
