import Daybook
import DaybookCoding
import Foundation
import Testing

// Values by several names, by a predicate, in an order of properties, and as a save returns them.

@Suite("values that are chosen, and returned")
struct ChosenValueTests {
  struct Movie: RecordCodable, Identifiable, Equatable {
    var id: String
    var systemFields: Data?
    var title: String
    var year: Int?
    static func == (a: Movie, b: Movie) -> Bool { a.id == b.id && a.title == b.title && a.year == b.year }
  }

  struct Note: RecordCodable, Identifiable, Equatable {
    var id = UUID()
    var text: String
  }

  private let database: Database
  private let library: Zone.ID
  private let movies = [
    Movie(id: "dune", title: "Dune", year: 2021), Movie(id: "alien", title: "Alien", year: 1979), Movie(id: "x", title: "X"),
  ]

  init() throws {
    database = try Database.inMemory()
    library = try Zone.ID("Library")
    try { [database, library, movies] in
      try database.save(Zone(library))
      try database.save(movies, in: library)
    }()
  }

  // MARK: several names

  @Test("values are fetched by several names at once, each under its name; those that are not there are absent")
  func names() async throws {
    let names = ["dune", "none", "x", "dune"]
    let expected = ["dune": movies[0], "x": movies[2]]
    #expect(try await database.fetch(Movie.self, names, in: library) == expected)
    func inline() throws {
      #expect(try database.fetch(Movie.self, names, in: library) == expected)
      #expect(try database.fetch(Movie.self, names).isEmpty)
      #expect(try database.read { snapshot in try snapshot.fetch(Movie.self, names, in: library) } == expected)
      try database.write { transaction in
        let found = try transaction.fetch(Movie.self, names, in: library)
        #expect(found == expected)
      }
      let notes = [Note(text: "a"), Note(text: "b")]
      try database.save(notes)
      #expect(try database.fetch(Note.self, notes.map(\.id) + [UUID()]) == [notes[0].id: notes[0], notes[1].id: notes[1]])
      #expect(throws: DatabaseError.self) { try database.fetch(Movie.self, ["dune", ""]) }
    }
    try inline()
  }

  // MARK: predicates

  @Test("the values that a predicate accepts are deleted in one transaction, and counted, in each form")
  func deleting() async throws {
    let before = try await database.statistics().lastSequence
    #expect(try await database.delete(Movie.self, where: .field("year") > 1900, in: library) == 2)
    #expect(try await database.statistics().lastSequence == before + 1)
    #expect(try await database.fetchAll(Movie.self, in: library) == [movies[2]])
    func inline() throws {
      try database.save(movies, in: library, policy: .allKeys)
      #expect(try database.delete(Movie.self, where: #Predicate { $0.title == "Dune" }, in: library, origin: "editor") == 1)
      #expect(try database.delete(Movie.self, where: .field("title") == "Dune", in: library) == 0)
      try database.write { transaction in
        let first = try transaction.delete(Movie.self, where: .field("title") == "X", in: nil)
        let second = try transaction.delete(Movie.self, where: #Predicate { $0.year == 1979 }, in: library)
        #expect(first == 1 && second == 1)
      }
      #expect(try database.count(Movie.self, in: nil) == 0)
      #expect(throws: DatabaseError.self) { try database.delete(Movie.self, where: .true, in: Zone.ID("Nowhere")) }
    }
    try inline()
    try await database.save(movies)
    #expect(try await database.delete(Movie.self, where: #Predicate { $0.year == nil }) == 1)
    #expect(try await database.delete(Movie.self, where: .true) == 2)
  }

  @Test("the number of values that a predicate accepts is observed")
  func counting() async throws {
    var counts = database.observeCount(Movie.self, where: .field("year") > 2000, in: library).makeAsyncIterator()
    var others = try database.observeCount(Movie.self, where: #Predicate { $0.title == "X" }, in: library).makeAsyncIterator()
    var all = database.observeCount(Movie.self).makeAsyncIterator()
    #expect(try await counts.next() == 1)
    #expect(try await others.next() == 1)
    #expect(try await all.next() == 0)
    try await database.save(Movie(id: "new", title: "X", year: 2024), in: library)
    #expect(try await counts.next() == 2)
    #expect(try await others.next() == 2)
  }

  // MARK: properties

  struct Event: RecordCodable, Identifiable {
    static let fieldRules: [String: FieldRule] = ["secret": .encrypted, "day": .date(.iso8601), "hidden": .ignored]
    enum CodingKeys: String, CodingKey { case id, secret, day, hidden, price, place, when = "start", firstName }
    struct Place: Codable { var street = "" }
    var id: String
    var secret = ""
    var day = Date()
    var hidden: Int?
    var price: Decimal = 0
    var place = Place()
    var when = 0
    var firstName = ""
  }

  @Test("an order and an index name properties by key paths, also where options spell the field otherwise")
  func paths() throws {
    let byYear = try database.fetchAll(Movie.self, sort: [.ascending(\Movie.year)], in: library)
    #expect(byYear.map(\.id) == ["alien", "dune", "x"])
    let byTitle = try database.fetchAll(
      Movie.self, sort: [.descending(\Movie.year), .ascending(\Movie.title)], in: library, limit: 1)
    #expect(byTitle.map(\.id) == ["dune"])
    #expect(try Query.Sort.ascending(\Movie.id) == .ascending("id"))
    try database.setIndex([.queryable, .sortable], on: \Movie.year)
    #expect(try database.indexes().map(\.key) == ["year"])
    var options = RecordCodingOptions()
    options.keys = .snakeCase
    #expect(try Query.Sort.descending(\Event.firstName, options: options) == .descending("first_name"))
  }

  @Test("a property without an order of its own is refused, and the error says why")
  func refusedPaths() throws {
    let paths: [PartialKeyPath<Event>] = [\.secret, \.day, \.hidden, \.price, \.place, \.when, \.place.street, \.self]
    for path in paths {
      let error = #expect(throws: DatabaseError.self, "\(path)") { try Query.Sort.ascending(path) }
      #expect(error?.code == .invalidArguments)
      #expect(throws: DatabaseError.self, "\(path)") { try database.setIndex(.queryable, on: path) }
    }
  }

  // MARK: lists for user interfaces

  @Test("a list of values is asked of the database, with the words of its other methods")
  @MainActor func results() async throws {
    let results = database.valueResults(
      Movie.self, where: .field("year") > 1900, sort: [.ascending("year")], in: library, limit: 1)
    let others = try database.valueResults(Movie.self, where: #Predicate { $0.title == "X" }, in: library)
    while results.isLoading || others.isLoading { await Task.yield() }
    #expect(results.values.map(\.id) == ["alien"] && others.values.map(\.id) == ["x"])
  }

  // MARK: returned

  /// A value that may not be changed in place.
  actor Editor {
    let database: Database
    var movie: Movie
    var all: [Movie]

    init(_ database: Database, _ movie: Movie, _ all: [Movie]) {
      (self.database, self.movie, self.all) = (database, movie, all)
    }

    func rename(_ title: String) async throws {
      movie.title = title
      movie = try await database.save(movie)
    }

    func renameAll(_ title: String) async throws {
      for index in all.indices { all[index].title = title }
      all = try await database.save(all)
    }
  }

  @MainActor final class Screen {
    var movie: Movie
    init(_ movie: Movie) { self.movie = movie }
    func rename(_ title: String, in database: Database) async throws {
      movie.title = title
      movie = try await database.save(movie)
    }
  }

  @Test("a value that is a property of an actor is saved, and saved again, without a conflict")
  func actors() async throws {
    let editor = Editor(database, Movie(id: "a", title: ""), [Movie(id: "b", title: ""), Movie(id: "c", title: "")])
    let screen = await Screen(Movie(id: "d", title: ""))
    for title in ["one", "two", "three"] {
      try await editor.rename(title)
      try await editor.renameAll(title)
      try await screen.rename(title, in: database)
    }
    #expect(await editor.movie.systemFields != nil)
    #expect(Set(try await database.fetchAll(Movie.self).map(\.title)) == ["three"])
    func inline() throws {
      let stored: Movie = try database.save(Movie(id: "e", title: "E"))
      let again: [Movie] = try database.save([stored])
      #expect(again[0].systemFields != stored.systemFields)
      // Without a type that asks for the value it is the record.
      let record = try database.save(again[0])
      #expect(record.id.name == "e")
    }
    try inline()
  }
}
