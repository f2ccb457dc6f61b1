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
  @Test("values are found by a predicate with typed keys, in an order, cut, in one zone or in all")
  func queries() async throws {
    let database = try Database.inMemory()
    let library = try Zone.ID("Library")
    try await database.write { transaction in
      try transaction.save(Zone(library))
      for (id, title, year) in [("dune", "Dune", 2021), ("alien", "Alien", 1979), ("arrival", "Arrival", 2016)] {
        try transaction.save(Movie(id: id, title: title, year: year), in: library)
      }
      try transaction.save(Movie(id: "solaris", title: "Solaris", year: 1972))
      try transaction.save(Movie(id: "none", title: "Untitled"))
    }
    let found = try await database.fetchAll(
      Movie.self, where: .field(.codedYear) > 2000, sort: [.descending(.field(.codedYear))], in: library)
    #expect(found.map(\.id) == ["dune", "arrival"])
    let first = try await database.fetchAll(Movie.self, sort: [.ascending("title")], in: nil, limit: 2)
    #expect(first.map(\.title) == ["Alien", "Arrival"])
    func inline() throws -> [[String]] {
      [
        try database.fetchAll(Movie.self, where: .field(.codedTitle).hasPrefix("S")).map(\.id),
        try database.read { try $0.fetchAll(Movie.self, where: .field("year") == nil, in: nil).map(\.id) },
        try database.write { transaction in
          try transaction.save(Movie(id: "new", title: "New", year: 2030), in: library)
          return try transaction.fetchAll(Movie.self, where: .field(.codedYear) > 2025, in: library).map(\.id)
        },
      ]
    }
    #expect(try inline() == [["solaris"], ["none"], ["new"]])
    #expect { try { try database.fetchAll(Movie.self, where: .true, limit: 0) }() } throws: {
      ($0 as? DatabaseError)?.code == .invalidArguments
    }
  }

  @Test("observed values are those of each moment; a record that is no value of the type ends them with its error")
  func observation() async throws {
    let database = try Database.inMemory()
    try await database.save(Movie(id: "dune", title: "Dune", year: 2021))
    let movies = database.observe(Movie.self, where: .field(.codedYear) > 2000, sort: [.ascending(.field(.codedTitle))])
    var results = movies.makeAsyncIterator()
    #expect(try await results.next()?.map(\.id) == ["dune"])
    try await database.save(Movie(id: "arrival", title: "Arrival", year: 2016))
    #expect(try await results.next()?.map(\.id) == ["arrival", "dune"])
    var dune = try database.observe(Movie.self, "dune").makeAsyncIterator()
    #expect(try await dune.next()??.title == "Dune")
    try await database.save(Movie(id: "dune", title: "Dune: Part One", year: 2021))
    #expect(try await dune.next()??.title == "Dune: Part One")
    #expect(try await results.next()?.last?.title == "Dune: Part One")
    try await database.delete(Record.ID("dune"))
    #expect(try await dune.next() == .some(nil))
    #expect(try await results.next()?.map(\.id) == ["arrival"])
    var broken = try Record(type: "Movie", id: Record.ID("broken"))
    broken["year"] = 2020
    try await database.save(broken)
    await #expect(throws: RecordCodingError.self) { try await results.next() }
    var all = database.observe(Tracked.self, where: .field("title") == "Arrival").makeAsyncIterator()
    #expect(try await all.next()?.map(\.id) == ["arrival"])
  }

  @Test("what people see of an error says which field the record lacks, and what a database says that refused")
  func localized() throws {
    let record = try Record(type: "Movie", id: Record.ID("dune"))
    let lacking = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Movie.self, from: record) }
    #expect(
      lacking?.localizedDescription
        == "The record has no field for the key; a property that older records lack is optional, or has a default in fieldRules. "
        + "(path: id, zone: _defaultZone, name: dune, key: id)")
    let refused = RecordCodingError(.database, "The database refused.", cause: DatabaseError(.diskFull, "No room."))
    #expect(refused.localizedDescription == "The database refused. No room.")
    #expect(refused.recoverySuggestion == "Free some room on the disk, and try again.")
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

  @Test("a value that cannot be decoded names its record, in a fetch of many, too")
  func namesTheRecord() throws {
    let database = try Database.inMemory()
    let library = try Zone.ID("Library")
    try database.save(Zone(library))
    try database.save(Movie(id: "dune", title: "Dune"), in: library)
    var bad = try Record(type: "Movie", id: Record.ID("bad", in: library))
    bad["id"] = "bad"
    bad["title"] = 7
    try database.save(bad)
    let error = #expect(throws: RecordCodingError.self) { try database.fetchAll(Movie.self, in: library) }
    #expect(error?.facts.name == "bad" && error?.facts.zone == library && error?.path == ["title"])
    bad["title"] = nil as String?
    let missing = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Movie.self, from: bad) }
    #expect(missing?.code == .keyNotFound && missing?.facts.name == "bad" && missing?.facts.key == "title")
    let texts = [error, missing].compactMap { $0?.localizedDescription }
    #expect(texts.count == 2 && texts.allSatisfy { $0.contains("bad") })
  }

  struct Count: RecordCodable, Identifiable, Equatable {
    var id: Int64
    var number: Int
  }

  struct Tag: RecordCodable, Identifiable, Equatable {
    struct ID: RawRepresentable, Hashable, Codable { var rawValue: String }
    var id: ID
    var text: String
  }

  @Test("a value whose identity is a number, or a type around a text, is one record however often it is saved")
  func identities() throws {
    let database = try Database.inMemory()
    for number in 0..<3 { try database.save(Count(id: -12, number: number)) }
    #expect(try database.fetchAll(Count.self) == [Count(id: -12, number: 2)])
    #expect(try database.fetch(Count.self, "-12")?.number == 2)
    for text in ["a", "b"] { try database.save(Tag(id: .init(rawValue: "tag"), text: text)) }
    #expect(try database.fetchAll(Tag.self) == [Tag(id: .init(rawValue: "tag"), text: "b")])
  }

  @Test("a value that is saved in place can be changed and saved again, and another's change is a conflict")
  func savesInPlace() async throws {
    let database = try Database.inMemory()
    var mine = Tracked(id: "dune", title: "Dune")
    func save() throws { try database.save(&mine) }
    try save()
    mine.title = "Dune 1"
    try save()
    var theirs = try #require(try await database.fetch(Tracked.self, "dune"))
    #expect(theirs == mine)
    theirs.title = "Dune 2"
    try await database.save(&theirs)
    mine.title = "Dune 3"
    let error = #expect(throws: DatabaseError.self, performing: save)
    #expect(error?.code == .serverRecordChanged)
    // A type that keeps no system fields stays as it is.
    var movie = Movie(id: "arrival", title: "Arrival")
    try await database.save(&movie)
    #expect(try await database.fetch(Movie.self, "arrival") == movie)
  }

  @Test("an update reads a value, changes it and saves it, and keeps the fields that the type does not know")
  func updates() async throws {
    let database = try Database.inMemory()
    var record = try RecordEncoder().encode(Movie(id: "dune", title: "Dune", year: 2021))
    record["rating"] = 8.0
    try await database.save(record)
    func inPlace() throws {
      let stored = try database.update(Movie.self, "dune") { movie in movie.year = nil }
      #expect(stored == Movie(id: "dune", title: "Dune"))
      try database.update(Tracked.self, "dune") { movie in movie.title = "Dune 2" }
    }
    try inPlace()
    let stored = try #require(try await database.record(try Record.ID("dune")))
    #expect(stored["rating"] == 8.0 && stored["title"] == "Dune 2")
    let error = await #expect(throws: DatabaseError.self) { try await database.update(Movie.self, "no") { $0.year = 1 } }
    #expect(error?.code == .unknownItem && error?.facts.name == "no")
    // Where nothing changes nothing is written, and nothing is saved of a change that throws.
    let tag = try #require(try await database.record(try Record.ID("dune"))).changeTag
    try await database.update(Movie.self, "dune") { _ in }
    await #expect(throws: CancellationError.self) {
      try await database.update(Movie.self, "dune") { movie in
        movie.title = "lost"
        throw CancellationError()
      }
    }
    #expect(try await database.record(try Record.ID("dune"))?.changeTag == tag)
  }
}

extension Record.Key where T == String { fileprivate static var codedTitle: Self { .init("title") } }
extension Record.Key where T == Int { fileprivate static var codedYear: Self { .init("year") } }
