import Daybook
import DaybookCoding
import Foundation
import Testing

// Values had neither pages nor plans, and no differences: an application had to go back to records for them.

@Suite("pages, plans and differences of values")
struct ValuePageTests {
  enum Mood: String, Codable { case dark, bright }

  struct Movie: RecordCodable, Equatable {
    static var recordNameKey: String { "id" }
    enum CodingKeys: String, CodingKey { case id, title = "titel", year, rating, tags, mood, added }
    var id: String
    var title: String
    var year: Int?
    var rating: Double = 1
    var tags: [String] = []
    var mood: Mood?
    var added = Date(timeIntervalSinceReferenceDate: 0)
  }

  private let database: Database
  private let library: Zone.ID

  init() throws {
    database = try Database.inMemory()
    library = try Zone.ID("Library")
    try { [database, library] in
      try database.save(
        (1...7).map { number in
          Movie(
            id: "m\(number)", title: "Movie \(number)", year: number == 7 ? nil : 2000 + number % 3, rating: Double(number),
            tags: number == 1 ? ["a", "b"] : ["b"], mood: number == 2 ? .dark : number == 3 ? .bright : nil,
            added: Date(timeIntervalSinceReferenceDate: Double(number)))
        })
      try database.save(Zone(library))
      try database.save(Movie(id: "far", title: "Far", year: 1950), in: library)
    }()
  }

  @Test("a typed query had no pages: it has them, with a cursor, on a database, a snapshot and a transaction")
  func pages() async throws {
    let sort = [Query.Sort.descending("rating")]
    func names(_ fetch: (Query.Cursor?) throws -> (values: [Movie], next: Query.Cursor?)) throws -> [[String]] {
      var pages: [[String]] = []
      var cursor: Query.Cursor?
      repeat {
        let page = try fetch(cursor)
        pages.append(page.values.map(\.id))
        cursor = page.next
      } while cursor != nil && pages.count < 9
      return pages
    }
    let expected = [["m7", "m6", "m5"], ["m4", "m3", "m2"], ["m1"]]
    func inline() throws {
      #expect(try names { try database.fetchPage(Movie.self, where: .true, sort: sort, after: $0, limit: 3) } == expected)
      let snapshot = try database.snapshot()
      var first = try snapshot.fetchPage(Movie.self, where: #Predicate { $0.rating > 2.0 }, sort: sort, limit: 4)
      #expect(first.values.map(\.id) == ["m7", "m6", "m5", "m4"])
      try database.write { transaction in
        first = try transaction.fetchPage(Movie.self, where: .field("rating") > 2, sort: sort, after: nil, limit: 4)
        #expect(first.values.count == 4 && first.next != nil)
      }
      #expect(try database.fetchPage(Movie.self, where: .true, in: nil).values.count == 8)
    }
    try inline()
    let page = try await database.fetchPage(Movie.self, where: .field("rating") >= 6, limit: 1)
    #expect(page.values.map(\.id) == ["m6"])
    let second = try await database.fetchPage(Movie.self, where: #Predicate { $0.rating >= 6 }, limit: 1)
    #expect(second.values.map(\.id) == ["m6"])
    var streamed: [[String]] = []
    for try await movies in database.fetchPages(Movie.self, sort: sort, limit: 3) { streamed.append(movies.map(\.id)) }
    #expect(streamed == expected)
    func remote(_ database: some RecordDatabase) async throws -> [String] {
      try await database.fetchPage(Movie.self, where: .true, sort: sort, limit: 2).values.map(\.id)
    }
    #expect(try await remote(database) == ["m7", "m6"])
  }

  @Test("a typed query found nothing by a property's name whose coding key is another, or by id; explain tells it")
  func plans() async throws {
    func inline() throws {
      let title = try database.explain(Movie.self, where: .field("title") == "Movie 1", sort: [.ascending("rating")], limit: 5)
      #expect(title.ordering == .top && title.limit == 5 && title.zones == [.default])
      #expect(title.warnings.map(\.description) == ["no record of type Movie has the key title. Did you mean titel?"])
      let id = try database.read { try $0.explain(Movie.self, where: .field("id") == "m1") }
      #expect(id.warnings[0].closeNames == ["recordName"])
      let named = try database.write { try $0.explain(Movie.self, where: #Predicate { $0.id == "m1" }) }
      #expect(named.warnings.isEmpty && named.index == "recordName")
      #expect(try database.explain(Movie.self).access == .scan)
    }
    try inline()
    #expect(try await database.explain(Movie.self, where: .field("yaer") == 1).warnings.count == 1)
    #expect(try await database.explain(Movie.self, where: #Predicate { $0.rating > 1 }).warnings.isEmpty)
  }

  @Test("what becomes of values had to be made of records: differences have values")
  func differences() async throws {
    var stream = database.observeDifferences(Movie.self, where: .field("rating") > 4, sort: [.ascending("rating")])
      .makeAsyncIterator()
    let first = try #require(try await stream.next())
    var values = try #require(first.applied(to: []))
    #expect(values.map(\.id) == ["m5", "m6", "m7"] && first.inserted.map(\.index) == [0, 1, 2])
    #expect(first.inserted[0].id.name == "m5" && first.count == 3 && !first.isEmpty)
    try await database.write { transaction in
      try transaction.save(Movie(id: "m1", title: "Movie 1", rating: 9))
      try transaction.save(Movie(id: "m6", title: "New", rating: 6))
      try transaction.delete(Record.ID("m5"))
    }
    let second = try #require(try await stream.next())
    #expect(second.removed.map(\.index) == [0] && second.moved.isEmpty && second.updated.map(\.value.title) == ["New"])
    #expect(second.applied(to: []) == nil)
    values = try #require(second.applied(to: values))
    #expect(values.map(\.id) == ["m6", "m7", "m1"] && values[0].title == "New")
    #expect(try await values == database.fetchAll(Movie.self, where: .field("rating") > 4, sort: [.ascending("rating")]))
    var found = try database.observeDifferences(Movie.self, where: #Predicate { $0.rating > 8 }).makeAsyncIterator()
    #expect(try await found.next()?.count == 1)
  }

  @Test("the first, the last and the distinct values of a property come with its type")
  func properties() async throws {
    func inline() throws {
      #expect(try database.minimum(of: \Movie.year) == 2000 && database.maximum(of: \Movie.year, in: nil) == 2002)
      #expect(try database.minimum(of: \Movie.year, in: library) == 1950)
      #expect(try database.maximum(of: \Movie.rating, where: .field("year") == 2001) == 4)
      #expect(try database.minimum(of: \Movie.rating, where: Query.Predicate(#Predicate<Movie> { $0.rating > 3.5 })) == 4)
      #expect(try database.maximum(of: \Movie.id) == "m7")
      #expect(try database.minimum(of: \Movie.year, where: .field("rating") == 7) == nil)
      #expect(try database.read { try $0.maximum(of: \Movie.added) } == Date(timeIntervalSinceReferenceDate: 7))
      #expect(try database.maximum(of: \Movie.mood) == .dark)
      let years = try database.write { try $0.distinctValues(of: \Movie.year) }
      #expect(years.map(\.value) == [2000, 2001, 2002] && years.map(\.count) == [2, 2, 2])
      let tags = try database.distinctValues(of: \Movie.tags)
      #expect(tags.map(\.value) == ["a", "b"] && tags.map(\.count) == [1, 7])
      let moods = try database.distinctValues(of: \Movie.mood, where: .field("rating") < 3)
      #expect(moods.map(\.value) == [.dark] && moods.map(\.count) == [1])
      // The coding key of this property is spelled otherwise.
      #expect(throws: DatabaseError.self) { try database.minimum(of: \Movie.title) }
      var broken = try Record(type: "Movie")
      broken["year"] = "unknown"
      try database.save(broken)
      #expect(throws: RecordCodingError.self) { try database.maximum(of: \Movie.year) }
    }
    #expect(try await database.minimum(of: \Movie.year) == 2000)
    #expect(try await database.maximum(of: \Movie.rating) == 7)
    #expect(try await database.distinctValues(of: \Movie.tags).count == 2)
    #expect(try await database.distinctValues(of: \Movie.rating, where: .field("rating") < 3).map(\.value) == [1, 2])
    try inline()
  }

  enum Shade: String, RecordEnum, CaseIterable {
    case bright, dark
    static var fallback: Shade? { .bright }
  }

  struct Play: RecordCodable, Equatable {
    static var recordNameKey: String { "id" }
    static let fieldRules: [String: FieldRule] = [
      "points": .default(.int(0)), "marks": .default(.strings(["none"])), "stars": .default(.int(0)),
    ]
    var id: String
    var points: Int
    var stars = 0.0
    var marks: [String] = ["x"]
    var shade = Shade.dark
    var shades: [Shade] = []
    var genres: Set<String> = []
    var places: Set<String>?
  }

  @Test("the least and the distinct values of a property left out its default, and had an enum's fallback several times")
  func seenValues() async throws {
    try await database.save([
      Play(id: "a", points: 5, shade: .bright, genres: ["x", "y"]), Play(id: "b", points: -3, genres: ["y"], places: ["z"]),
    ])
    func inline() throws {
      // As an earlier and a newer version of the application saved them.
      for (name, shade) in [("c", "zebra"), ("d", "yellow")] {
        var record = try Record(type: "Play", id: Record.ID(name))
        record["shade"] = shade
        record["shades"] = .strings(["dark", shade, "other"])
        record["genres"] = .strings([])
        try database.save(record)
      }
      #expect(try Set(database.fetchAll(Play.self).map(\.points)) == [5, -3, 0])
      #expect(try database.minimum(of: \Play.points) == -3 && database.maximum(of: \Play.points) == 5)
      #expect(try database.minimum(of: \Play.points, where: .field("shade") != "dark") == 0)
      #expect(try database.maximum(of: \Play.points, where: .field("shade") == "dark") == -3)
      let points = try database.read { try $0.distinctValues(of: \Play.points) }
      #expect(points.map(\.value) == [-3, 0, 5] && points.map(\.count) == [1, 2, 1])
      #expect(try database.distinctValues(of: \Play.stars).map(\.count) == [4])
      let marks = try database.distinctValues(of: \Play.marks)
      #expect(marks.map(\.value) == ["none", "x"] && marks.map(\.count) == [2, 2])
      #expect(try database.maximum(of: \Play.shade) == .dark && database.minimum(of: \Play.shade) == .bright)
      let shades = try database.distinctValues(of: \Play.shade)
      #expect(shades.map(\.value) == [.bright, .dark] && shades.map(\.count) == [3, 1])
      let lists = try database.distinctValues(of: \Play.shades)
      #expect(lists.map(\.value) == [.bright, .dark] && lists.map(\.count) == [2, 2])
      let genres = try database.distinctValues(of: \Play.genres)
      #expect(genres.map(\.value) == ["x", "y"] && genres.map(\.count) == [1, 2])
      #expect(try database.distinctValues(of: \Play.places).map(\.value) == ["z"])
    }
    try inline()
    #expect(try await database.distinctValues(of: \Play.genres).map(\.count) == [1, 2])
    #expect(try await database.distinctValues(of: \Play.places).map(\.count) == [1])
    #expect(try await database.minimum(of: \Play.points) == -3)
    #expect(try await database.distinctValues(of: \Play.points).map(\.count) == [1, 2, 1])
  }

  struct Score: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["points": .default(.int(0))]
    var recordName: String
    var points: Int
  }

  @Test("CloudKit's dialect refused the least value of a property with a default, because the library asked for more")
  func defaultsInDialect() throws {
    var options = Database.Options()
    options.dialect = .cloudKit
    let database = try Database.inMemory(options: options)
    try database.save(Score(recordName: "a", points: 5))
    var record = try Record(type: "Score", id: Record.ID("b"))
    record["other"] = 1
    try database.save(record)
    #expect(try database.minimum(of: \Score.points) == 0 && database.maximum(of: \Score.points) == 5)
    #expect(try database.distinctValues(of: \Score.points).map(\.count) == [1, 1])
    #expect(throws: DatabaseError.self) { try database.count(Query("Score", where: .field("points").isAbsent)) }
  }
}
