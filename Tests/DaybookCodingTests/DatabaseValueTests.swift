import Daybook
import DaybookCoding
import Foundation
import Testing

/// Values saved and fetched by name, and keys with types.
@Suite("values in a database")
struct DatabaseValueTests {
  struct Movie: RecordCodable, Identifiable, Equatable {
    var id: String
    var title: String
    var year: Int?
  }

  struct Tracked: RecordCodable, Equatable {
    static var recordType: String { "Movie" }
    static var recordNameKey: String { "id" }
    var systemFields: Data?
    var id: String
    var title: String
    var recordName: String { id }
  }

  @Test("A12: keys with types read and write without annotations")
  func typedKeys() throws {
    var record = try RecordEncoder().encode(Movie(id: "dune", title: "Dune", year: 2021))
    #expect(record[.codedTitle] == "Dune")
    record[.codedTitle] = "Dune: Part Two"
    record[.codedYear] = nil
    #expect(try RecordDecoder().decode(Movie.self, from: record) == Movie(id: "dune", title: "Dune: Part Two"))
  }

  @Test("a value is saved, fetched, changed and saved again, in a transaction and outside")
  func saveAndFetch() throws {
    let database = try Database.inMemory()
    let library = try Zone.ID("Library")
    var dune = Movie(id: "dune", title: "Dune", year: 2021)
    try database.write { transaction in
      try transaction.save(Zone(library))
      try transaction.save(dune, in: library)
      #expect(try transaction.fetch(Movie.self, "dune", in: library) == dune)
    }
    #expect(try database.fetch(Movie.self, "dune", in: library) == dune)
    #expect(try database.fetch(Movie.self, "dune") == nil)
    dune.year = nil
    try database.save(dune, in: library)
    let read = try database.read { snapshot in try snapshot.fetch(Movie.self, "dune", in: library) }
    #expect(read == dune)
    try database.save(Movie(id: "arrival", title: "Arrival"), in: library)
    #expect(try database.fetchAll(Movie.self, in: library).map(\.id) == ["dune", "arrival"])
    let first = try database.fetchPage(Movie.self, in: library, limit: 1)
    #expect(first.values.map(\.id) == ["dune"])
    let second = try database.fetchPage(Movie.self, in: library, after: first.next, limit: 1)
    #expect(second.values.map(\.id) == ["arrival"] && second.next == nil)
  }

  @Test("the same in an asynchronous function, off its thread")
  func asynchronous() async throws {
    let database = try Database.inMemory()
    let movie = Movie(id: "arrival", title: "Arrival")
    #expect(try await database.save(movie).metadata != nil)
    #expect(try await database.fetch(Movie.self, "arrival") == movie)
    #expect(try await database.fetch(Movie.self, "other") == nil)
    #expect(try await database.fetchAll(Movie.self) == [movie])
  }

  @Test("fields of a newer version survive that an older one decodes, edits and saves")
  func unknownFields() throws {
    let database = try Database.inMemory()
    var newer = try RecordEncoder().encode(Movie(id: "dune", title: "Dune", year: 2021))
    newer["rating"] = 5
    _ = try saved(newer, in: database)
    var movie = try #require(try database.fetch(Movie.self, "dune"))
    movie.title = "Dune: Part One"
    movie.year = nil
    let record = try database.save(movie)
    #expect(record["rating"] == 5 && record["title"] == "Dune: Part One" && record["year"] as Record.Value? == nil)
  }

  @Test("a type that keeps system fields does not overwrite what somebody else has changed")
  func conflicts() throws {
    let database = try Database.inMemory()
    try database.save(Tracked(id: "dune", title: "Dune"))
    var mine = try #require(try database.fetch(Tracked.self, "dune"))
    var theirs = mine
    theirs.title = "Theirs"
    try database.save(theirs)
    mine.title = "Mine"
    #expect { try database.save(mine) } throws: { ($0 as? DatabaseError)?.code == .serverRecordChanged }
    // New to the application, known to the database.
    #expect { try database.save(Tracked(id: "dune", title: "New")) } throws: {
      ($0 as? DatabaseError)?.code == .serverRecordChanged
    }
    try database.save(mine, policy: .changedKeys)
    #expect(try database.fetch(Tracked.self, "dune")?.title == "Mine")
  }

  @Test("encoding onto a record changes the fields that differ, and no others")
  func onto() throws {
    let database = try Database.inMemory()
    let stored = try database.save(Movie(id: "dune", title: "Dune", year: 2021))
    var movie = try RecordDecoder().decode(Movie.self, from: stored)
    #expect(try RecordEncoder().encode(movie, onto: stored).changedKeys == [])
    movie.title = "Dune: Part One"
    #expect(try RecordEncoder().encode(movie, onto: stored).changedKeys == ["title"])
    movie.year = nil
    let record = try RecordEncoder().encode(movie, onto: stored)
    #expect(record.changedKeys == ["title", "year"] && record.removedKeys == ["year"])
  }
}

extension Record.Key where T == String { fileprivate static var codedTitle: Self { .init("title") } }
extension Record.Key where T == Int { fileprivate static var codedYear: Self { .init("year") } }
