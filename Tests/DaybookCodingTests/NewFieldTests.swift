import Daybook
import DaybookCoding
import Foundation
import Testing

// What a second version of an app meets: properties that are new, and values that are to be secret.

@Suite("properties that are new, and secret ones")
struct NewFieldTests {
  struct First: RecordCodable, Identifiable {
    static var recordType: String { "Note" }
    var id: String
    var text: String
  }

  enum Mood: String, Codable { case calm, loud }

  struct Second: RecordCodable, Identifiable, Equatable {
    static var recordType: String { "Note" }
    static let fieldRules: [String: FieldRule] = [
      "rating": .default(3), "mood": .default("calm"), "tags": .default(.strings([])), "since": .default(.date(.distantPast)),
    ]
    var id: String
    var text: String
    var rating = 3
    var mood = Mood.calm
    var tags: [String] = []
    var since = Date.distantPast
  }

  struct Bare: RecordCodable, Identifiable {
    static var recordType: String { "Note" }
    var id: String
    var text: String
    var rating = 3
  }

  @Test("a record from before a property was there is read with the default of its rule, and keeps what is saved")
  func defaults() async throws {
    let database = try Database.inMemory()
    try await database.save(First(id: "a", text: "A"))
    #expect(try await database.fetch(Second.self, "a") == Second(id: "a", text: "A"))
    let changed = try await database.update(Second.self, "a") { note in
      note.rating = 5
      note.mood = .loud
    }
    #expect(changed.rating == 5)
    #expect(try await database.fetchAll(Second.self) == [changed])
    // Nothing but what was changed, and what was not there, has been stored.
    #expect(try await database.record(Record.ID("a"))?["mood"] == "loud")
  }

  @Test("without a default the error names the key, and says how a property can be new")
  func missing() throws {
    let record = try RecordEncoder().encode(First(id: "a", text: "A"))
    let error = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Bare.self, from: record) }
    #expect(error?.code == .keyNotFound && error?.facts.key == "rating" && error?.facts.name == "a")
    let text = error?.localizedDescription ?? ""
    for hint in ["rating", "optional", "default", "fieldRules"] { #expect(text.contains(hint), "\(text)") }
  }

  struct Person: RecordCodable, Identifiable, Equatable {
    struct Address: Codable, Equatable { var street: String }
    static let fieldRules: [String: FieldRule] = [
      "pin": .encrypted, "address": .encrypted, "born": .encrypted, "photo": .encrypted,
    ]
    var id: String
    var name: String
    var pin: String?
    var address: Address?
    var born: Date?
    var photo: URL?
  }

  /// Turns every bit around.
  struct Turning: FieldCipher {
    func seal(_ plaintext: Data, context: Data) throws -> Data { Data(plaintext.map { ~$0 }) }
    func open(_ sealed: Data, context: Data) throws -> Data { Data(sealed.map { ~$0 }) }
  }

  private let ann = Person(
    id: "ann", name: "Ann", pin: "1234", address: .init(street: "Main Street"), born: Date(timeIntervalSinceReferenceDate: 5))

  @Test("a rule encrypts a property: it is no plain field, comes back, and can be changed and removed")
  func encrypted() async throws {
    let database = try Database.inMemory()
    let stored = try await database.save(ann)
    #expect(stored.keys == ["id", "name"] && stored.encryptedValues.keys == ["address", "born", "pin"])
    #expect(stored.encryptedValues["pin"] == "1234")
    #expect(try await database.fetch(Person.self, "ann") == ann)
    let changed = try await database.update(Person.self, "ann") { person in
      person.pin = nil
      person.address?.street = "Side Street"
    }
    #expect(changed.pin == nil && changed.address?.street == "Side Street" && changed.born == ann.born)
    let record = try #require(try await database.record(Record.ID("ann")))
    #expect(record.encryptedValues.keys == ["address", "born"])
    // Equal values are no changes.
    #expect(try !RecordEncoder().encode(changed, onto: record).encryptedValues.changedKeys.contains("born"))
    // No query sees them.
    let error = await #expect(throws: DatabaseError.self) {
      try await database.count(Person.self, where: .field("pin") == "1234")
    }
    #expect(error?.code == .invalidArguments)
  }

  @Test("with a cipher what the file has is sealed, and without it the error says so")
  func sealed() async throws {
    let folder = try Folder()
    let path = folder.url.appendingPathComponent("a.daybook").path
    var options = Database.Options()
    options.cipher = Turning()
    func inline() throws {
      let database = try Database.open(at: path, options: options)
      try database.save(ann)
      #expect(try database.fetch(Person.self, "ann") == ann)
      try database.close()
      let other = try Database.open(at: path)
      let error = #expect(throws: RecordCodingError.self) { try other.fetch(Person.self, "ann") }
      #expect((error?.cause as? DatabaseError)?.code == .permissionFailure)
      try other.close()
    }
    try inline()
  }

  @Test("what cannot be encrypted is refused, with its key")
  func refused() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("photo-\(UUID().uuidString)")
    try Data([1]).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    var person = ann
    person.photo = url
    let error = #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(person) }
    #expect(error?.code == .unsupportedValue && error?.facts.key == "photo")
  }
}
