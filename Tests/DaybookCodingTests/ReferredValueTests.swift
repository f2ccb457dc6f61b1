import Daybook
import DaybookCoding
import Foundation
import Testing

@Suite("values that a rule makes references of")
struct ReferredValueTests {
  struct Person: RecordCodable, Equatable {
    var id: String
    var name: String
    static var recordNameKey: String { "id" }
  }
  struct Film: RecordCodable, Equatable {
    var id: String
    var director: Person?
    var actors: [Person] = []
    static var recordNameKey: String { "id" }
    static let fieldRules: [String: FieldRule] = ["director": .reference(.none), "actors": .reference(.none)]
  }

  private let villeneuve = Person(id: "v", name: "Denis Villeneuve")

  private func refusal<R>(_ body: () async throws -> R) async -> DatabaseError? {
    do { _ = try await body() } catch { return error as? DatabaseError }
    return nil
  }

  @Test("a value that is in no record is not saved as a mere reference to one")
  func lost() async throws {
    let database = try Database.inMemory()
    let film = Film(id: "dune", director: villeneuve)
    let error = await refusal { try await database.save(film) }
    #expect(error?.code == .referenceViolation && error?.facts.key == "director" && error?.facts.target?.name == "v")
    #expect(await refusal { try await database.save([film, film]) }?.code == .referenceViolation)
    #expect(await refusal { try await database.write { try $0.save(film) } }?.code == .referenceViolation)
    #expect(await refusal { try await database.save(Film(id: "x", actors: [villeneuve])) }?.facts.key == "actors")
    // What a save throws can be caught, and nothing of it is committed.
    #expect(await refusal { try await database.write { transaction in _ = try? transaction.save(film) } } != nil)
    #expect(try await database.recordCount(in: .default) == 0)
    // Another record of the name is not the value.
    try await database.save(Film(id: "v"))
    #expect(await refusal { try await database.save(film) }?.facts.recordType == "Person")
    // Nor does an update lose it.
    try await database.save(Film(id: "second"))
    await #expect(throws: (any Error).self) {
      try await database.update(Film.self, "second") { $0.director = Person(id: "new", name: "N") }
    }
    try await database.write { transaction in
      _ = try? transaction.update(Film.self, "second") { $0.director = Person(id: "new", name: "N") }
    }
    #expect(try await database.fetch(Film.self, "second")?.director == nil)
  }

  @Test("one whose record is there, or comes with it, is, in whatever order")
  func there() async throws {
    let database = try Database.inMemory()
    let film = Film(id: "dune", director: villeneuve, actors: [villeneuve])
    try await database.save(villeneuve)
    try await database.save(film)
    let record = try #require(try await database.record(Record.ID("dune")))
    #expect(try await RecordDecoder().decode(Film.self, from: record, resolvingIn: database) == film)
    let mismatch = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Film.self, from: record) }
    #expect(mismatch?.code == .typeMismatch && mismatch?.facts.found == "reference, which decode(_:from:resolvingIn:) follows")
    let other = Person(id: "o", name: "Other")
    try await database.write { transaction in
      try transaction.save(Film(id: "second", director: other))
      try transaction.save(other)
    }
    // What is given up in the same transaction is asked for no more.
    try await database.write { transaction in
      try transaction.save(Film(id: "third", director: Person(id: "none", name: "None")))
      try transaction.save(Film(id: "third", director: other))
      try transaction.save(Film(id: "fourth", director: Person(id: "none", name: "None")))
      try transaction.delete(Record.ID("fourth"))
    }
    struct Undone: Error {}
    try await database.write { transaction in
      try? transaction.savepoint {
        try transaction.save(Film(id: "fifth", director: Person(id: "none", name: "None")))
        throw Undone()
      }
    }
    try await database.writeUnordered { try $0.save(Film(id: "sixth", director: Person(id: "later", name: "Later"))) }
    let crowd = (0..<3000).map { Person(id: "c\($0)", name: "C") }
    try await database.write { transaction in
      try transaction.save(Film(id: "crowd", actors: crowd))
      try transaction.save(crowd)
      for number in 0..<3001 { try transaction.delete(Record.ID(number < 3000 ? "c\(number)" : "crowd")) }
    }
    for record in try RecordEncoder().encodeGraph(Film(id: "seventh", director: Person(id: "p", name: "P"))) {
      try await database.save(record)
    }
    #expect(try await database.recordCount(in: .default) == 8)
  }

  /// Read from a reference that is not followed, it has the name alone.
  struct Studio: RecordCodable, Equatable {
    var id: String
    var country: String?
    static var recordNameKey: String { "id" }

    private enum CodingKeys: String, CodingKey { case id, country }

    init(id: String, country: String?) { (self.id, self.country) = (id, country) }

    init(from decoder: any Decoder) throws {
      if let reference = try? decoder.singleValueContainer().decode(Record.Reference.self) {
        self.init(id: reference.id.name, country: nil)
      } else {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
          id: try container.decode(String.self, forKey: .id),
          country: try container.decodeIfPresent(String.self, forKey: .country))
      }
    }
  }
  struct Cinema: RecordCodable, Equatable {
    var id: String
    var seats: Int
    var studio: Studio?
    var partners: [Studio] = []
    static var recordNameKey: String { "id" }
    static let fieldRules: [String: FieldRule] = ["studio": .reference(.none), "partners": .reference(.none)]
  }

  @Test("an update of another property was refused because a record was gone to which a reference may dangle")
  func dangling() async throws {
    let database = try Database.inMemory()
    let (first, second) = (Studio(id: "first", country: "CA"), Studio(id: "second", country: "FR"))
    try await database.write { transaction in
      try transaction.save([first, second])
      try transaction.save(Cinema(id: "rex", seats: 100, studio: first, partners: [first, second]))
    }
    try await database.delete(Studio.self, "first")
    let updated = try await database.update(Cinema.self, "rex") { $0.seats = 200 }
    #expect(updated.seats == 200 && updated.studio?.id == "first" && updated.partners.map(\.id) == ["first", "second"])
    let record = try #require(try await database.record(Record.ID("rex")))
    #expect((record["studio"] as Record.Reference?)?.id.name == "first")
    // What is new in it would be lost.
    for change: @Sendable (inout Cinema) -> Void in [
      { $0.studio?.country = "US" }, { $0.studio = Studio(id: "third", country: nil) }, { $0.partners[0].country = "US" },
      { $0.partners.append(Studio(id: "third", country: nil)) },
    ] {
      let error = await refusal { try await database.update(Cinema.self, "rex", change) }
      #expect(error?.code == .referenceViolation)
    }
    try await database.update(Cinema.self, "rex") { cinema in
      cinema.studio = nil
      cinema.partners.removeFirst()
    }
    #expect(try await database.fetch(Cinema.self, "rex")?.partners.map(\.id) == ["second"])
  }
}

@Suite("errors that say what would help")
struct HelpfulErrorTests {
  struct Card: RecordCodable {
    var pin: String
    static let recordName = "c"
  }

  @Test("a value that is encrypted is not said to be missing")
  func encrypted() throws {
    var record = try Record(type: "Card", id: Record.ID("c"))
    record.encryptedValues["pin"] = "1234"
    let error = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Card.self, from: record) }
    #expect(error?.code == .keyNotFound && error?.message.contains("encrypted value") == true)
  }
}
