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

  @Test("a value that is in no record is not saved as a mere reference to one")
  func lost() async throws {
    let database = try Database.inMemory()
    let film = Film(id: "dune", director: villeneuve)
    let error = await #expect(throws: RecordCodingError.self) { try await database.save(film) }
    #expect(error?.code == .recordNotFound && error?.path == ["director"] && error?.facts.target?.name == "v")
    await #expect(throws: RecordCodingError.self) { try await database.save([film, film]) }
    await #expect(throws: RecordCodingError.self) { try await database.write { try $0.save(film) } }
    await #expect(throws: RecordCodingError.self) { try await database.save(Film(id: "x", actors: [villeneuve])) }
    #expect(try await database.recordCount(in: .default) == 0)
  }

  @Test("one whose record is there, or comes with it, is")
  func there() async throws {
    let database = try Database.inMemory()
    let film = Film(id: "dune", director: villeneuve, actors: [villeneuve])
    try await database.save(villeneuve)
    try await database.save(film)
    let record = try #require(try await database.record(Record.ID("dune")))
    #expect(try await RecordDecoder().decode(Film.self, from: record, resolvingIn: database) == film)
    let error = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Film.self, from: record) }
    #expect(error?.code == .typeMismatch && error?.facts.found == "reference, which decode(_:from:resolvingIn:) follows")
    let other = Person(id: "o", name: "Other")
    try await database.write { transaction in
      try transaction.save(other)
      try transaction.save(Film(id: "second", director: other))
    }
    for record in try RecordEncoder().encodeGraph(Film(id: "third", director: Person(id: "p", name: "P"))) {
      try await database.save(record)
    }
    #expect(try await database.recordCount(in: .default) == 6)
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
