import Daybook
import DaybookCoding
import Foundation
import Testing

// Defaults of fields that are missing, as predicates see them: as Swift would, on the values that were fetched.

@Suite("predicates and defaults")
struct DefaultPredicateTests {
  struct Hall: Codable, Equatable { var seats: Int }

  struct Film: RecordCodable, Identifiable, Equatable, RecordKeyPaths {
    enum CodingKeys: String, CodingKey {
      case id, title, rating, isSeen, isLent, tags, labels, note, hall, genre = "kind", points = "score", marks = "stars"
    }
    var id: String
    var title: String
    var rating: Int?
    var isSeen: Bool
    var isLent: Bool?
    var tags: [String]
    var labels: [Int]?
    var note: String?
    var hall: Hall
    var genre: String
    var points: Double?
    var marks: [Int]

    static let fieldRules: [String: FieldRule] = [
      "title": .default("b"), "rating": .default(3), "isSeen": .default(1), "isLent": .default(0),
      "tags": .default(["none", "a"]),
      "labels": .default([2]), "kind": .default("drama"), "score": .default(2.5), "stars": .default([Int]()),
      "hall": .flattened,
      "hall.seats": .default(2),
    ]
    static var recordKeyPaths: [String: PartialKeyPath<Film>] {
      ["kind": \.genre, "score": \.points, "stars": \.marks, "hall_seats": \.hall.seats]
    }
  }

  private static func record<G: RandomNumberGenerator>(_ number: Int, _ random: inout G) throws -> Record {
    var record = try Record(type: "Film", id: Record.ID("film\(number)"))
    func maybe(_ value: Record.Value, _ key: String) throws {
      if Bool.random(using: &random) { try record.set(value, forKey: key) }
    }
    record["id"] = "film\(number)"
    record["hall"] = 1
    let texts = ["a", "b", "crime", "drama", "none"]
    try maybe(.string(texts.randomElement(using: &random)!), "title")
    try maybe(.int(.random(in: 0...5, using: &random)), "rating")
    try maybe(.int(.random(in: 0...1, using: &random)), "isSeen")
    try maybe(.int(.random(in: 0...1, using: &random)), "isLent")
    try maybe(.strings((0..<Int.random(in: 0...2, using: &random)).map { _ in texts.randomElement(using: &random)! }), "tags")
    try maybe(.ints((0..<Int.random(in: 0...2, using: &random)).map { _ in .random(in: 0...3, using: &random) }), "labels")
    try maybe(.string(texts.randomElement(using: &random)!), "note")
    try maybe(.string(texts.randomElement(using: &random)!), "kind")
    try maybe(.double(.random(in: 0...5, using: &random).rounded()), "score")
    try maybe(.ints((0..<Int.random(in: 0...2, using: &random)).map { _ in .random(in: 0...3, using: &random) }), "stars")
    try maybe(.int(.random(in: 0...4, using: &random)), "hall_seats")
    return record
  }

  private static var predicates: [(name: String, predicate: Predicate<Film>)] {
    var all: [(name: String, predicate: Predicate<Film>)] = []
    func add(_ name: String, _ predicate: Predicate<Film>) { all.append((name, predicate)) }
    let (two, three) = (2, 3)
    let (ratings, genres, seats) = ([1, 3], ["drama", "a"], [2, 4])
    let optionals: [Int?] = [1, nil]
    add("nil", #Predicate { $0.rating == nil })
    add("not nil", #Predicate { $0.rating != nil })
    add("3", #Predicate { $0.rating == 3 })
    add("not 3", #Predicate { $0.rating != 3 })
    add("not 4", #Predicate { $0.rating != 4 })
    add("not equal", #Predicate { !($0.rating == 3) })
    add("not not", #Predicate { !($0.rating != 3) })
    add("?? over", #Predicate { ($0.rating ?? 0) > 2 })
    add("?? under", #Predicate { ($0.rating ?? 5) > 4 })
    add("?? equal", #Predicate { ($0.rating ?? 5) == 3 })
    add("?? not equal", #Predicate { ($0.rating ?? 5) != 3 })
    add("flatMap", #Predicate { $0.rating.flatMap { $0 > 2 } ?? false })
    add("flatMap or", #Predicate { $0.rating.flatMap { $0 > 3 } ?? true })
    add("flatMap is", #Predicate { $0.rating.flatMap { $0 > 2 } == true })
    add("flatMap is not", #Predicate { $0.rating.flatMap { $0 > 2 } != true })
    add("flatMap is false", #Predicate { $0.rating.flatMap { $0 > 2 } == false })
    add("flatMap nil", #Predicate { $0.rating.flatMap { $0 > 2 } == nil })
    add("if let", #Predicate { film in if let rating = film.rating { rating > two } else { false } })
    add("if let or", #Predicate { film in if let rating = film.rating { rating > three } else { true } })
    add("forced", #Predicate { $0.rating! > 2 })
    add("forced after nil", #Predicate { $0.rating != nil && $0.rating! >= 3 })
    add("in list", #Predicate { ratings.contains($0.rating ?? 0) })
    add("in optionals", #Predicate { optionals.contains($0.rating) })
    add("in range", #Predicate { (2...4).contains($0.rating ?? 0) })
    add("in half range", #Predicate { (0..<3).contains($0.rating ?? 9) })
    add("title", #Predicate { $0.title == "b" })
    add("not title", #Predicate { $0.title != "b" })
    add("other title", #Predicate { $0.title != "a" })
    add("title starts", #Predicate { $0.title.starts(with: "b") })
    add("title contains", #Predicate { $0.title.contains("r") })
    add("title empty", #Predicate { $0.title.isEmpty })
    add("title under", #Predicate { $0.title < "c" })
    add("title over", #Predicate { !($0.title < "c") })
    add("seen", #Predicate { $0.isSeen })
    add("not seen", #Predicate { !$0.isSeen })
    add("seen false", #Predicate { $0.isSeen == false })
    add("lent", #Predicate { $0.isLent ?? true })
    add("lent is false", #Predicate { $0.isLent == false })
    add("lent is not true", #Predicate { $0.isLent != true })
    add("lent is nil", #Predicate { $0.isLent == nil })
    add("? :", #Predicate { $0.isSeen ? $0.rating == nil : $0.rating == 3 })
    add("tags", #Predicate { $0.tags.contains("none") })
    add("not tags", #Predicate { !$0.tags.contains("a") })
    add("tags where", #Predicate { $0.tags.contains { $0 == "none" } })
    add("tags where not", #Predicate { $0.tags.contains { $0 != "a" } })
    add("not tags where", #Predicate { !$0.tags.contains { $0 == "none" } })
    add("tags where starts", #Predicate { $0.tags.contains { $0.starts(with: "no") } })
    add("tags where either", #Predicate { $0.tags.contains { $0 == "b" || $0 == "none" } })
    add("tags where in", #Predicate { $0.tags.contains { genres.contains($0) } })
    add("tags are", #Predicate { $0.tags == ["none", "a"] })
    add("tags are none", #Predicate { $0.tags == [] })
    add("labels nil", #Predicate { $0.labels == nil })
    add("labels", #Predicate { $0.labels.flatMap { $0.contains(2) } ?? false })
    add("labels where", #Predicate { film in if let labels = film.labels { labels.contains { $0 > 1 } } else { true } })
    add("note nil", #Predicate { $0.note == nil })
    add("note", #Predicate { $0.note != "a" })
    add("note flatMap", #Predicate { $0.note.flatMap { $0 < "c" } ?? true })
    add("genre", #Predicate { $0.genre == "drama" })
    add("not genre", #Predicate { $0.genre != "crime" })
    add("genre in", #Predicate { genres.contains($0.genre) })
    add("genre starts", #Predicate { $0.genre.starts(with: "d") })
    add("points nil", #Predicate { $0.points == nil })
    add("points", #Predicate { ($0.points ?? 0) > 2 })
    add("points flatMap", #Predicate { $0.points.flatMap { $0 > 3 } ?? true })
    add("points not", #Predicate { $0.points != 3 })
    add("marks", #Predicate { $0.marks.contains(2) })
    add("marks where", #Predicate { $0.marks.contains { $0 != 2 } })
    add("marks none", #Predicate { $0.marks == [] })
    add("seats", #Predicate { $0.hall.seats == 2 })
    add("seats not", #Predicate { $0.hall.seats != 3 })
    add("seats in", #Predicate { seats.contains($0.hall.seats) })
    add("all", #Predicate { $0.rating == 3 && $0.tags.contains { $0 == "a" } && $0.note == nil })
    add("either", #Predicate { $0.rating == nil || $0.genre == "drama" })
    return all
  }

  @Test(
    "a predicate finds the values that Swift accepts, with fields and without, with indexes and without",
    arguments: 0..<4 as Range<UInt64>)
  func sameAsSwift(seed: UInt64) throws {
    var random = Seeded(seed)
    let database = try Database.inMemory()
    try database.save((0..<60).map { try Self.record($0, &random) })
    let films = try database.fetchAll(Film.self)
    #expect(films.count == 60)
    for hasIndexes in [false, true] {
      if hasIndexes {
        for field in ["title", "rating", "isSeen", "tags", "labels", "note", "kind", "score", "stars", "hall_seats"] {
          try database.setIndex([.queryable, .sortable], on: field, ofType: "Film")
        }
      }
      for (name, predicate) in Self.predicates {
        let expected = try films.filter { try predicate.evaluate($0) }.map(\.id)
        let found = try database.fetchAll(Film.self, where: predicate).map(\.id)
        #expect(Set(found) == Set(expected) && found.count == expected.count, "\(name), seed \(seed), indexes \(hasIndexes)")
      }
    }
  }

  struct Declared: RecordCodable, Identifiable, RecordKeyPaths {
    enum CodingKeys: String, CodingKey { case id, secret = "pin", place, since, seen, inner, owner }
    var id: String
    var secret: String?
    var place: Hall?
    var since: Date
    var seen: String?
    var inner: Hall?
    var owner: Record.Reference?
    static let fieldRules: [String: FieldRule] = [
      "pin": .encrypted, "since": .date(.iso8601), "seen": .ignored, "inner": .flattened, "inner.seats": .default(1),
      "owner": .parent,
    ]
    static var recordKeyPaths: [String: PartialKeyPath<Declared>] {
      [
        "pin": \.secret, "place": \.place, "since": \.since, "seen": \.seen, "inner_seats": \.inner!.seats, "owner": \.owner,
      ]
    }
  }

  struct Named: RecordCodable, Identifiable, RecordKeyPaths {
    static let recordNameKey = "id"
    var id: String
    var note: String
    static var recordKeyPaths: [String: PartialKeyPath<Named>] { ["id": \.id] }
  }

  struct Numbered: RecordCodable, Identifiable, RecordKeyPaths {
    static let recordNameKey = "id"
    var id: Int
    static var recordKeyPaths: [String: PartialKeyPath<Numbered>] { ["id": \.id] }
  }

  @Test("a declared property that is the name alone is looked for as the name")
  func declaredName() throws {
    let database = try Database.inMemory()
    try database.save([Named(id: "a", note: "1"), Named(id: "b", note: "2")])
    #expect(try database.fetchAll(Named.self, where: #Predicate { $0.id == "b" }).map(\.note) == ["2"])
    try database.save([Numbered(id: 1), Numbered(id: 2)])
    #expect(try database.fetchAll(Numbered.self, where: #Predicate { $0.id == 1 }).map(\.id) == [1])
    let error = #expect(throws: DatabaseError.self) { try database.count(Numbered.self, where: #Predicate { $0.id < 2 }) }
    #expect(error?.code == .invalidArguments)
  }

  @Test(
    "a property with a declared field keeps its rule: what is encrypted, or has another form, is refused, not looked for in vain"
  )
  func declared() throws {
    let database = try Database.inMemory()
    let day = Date(timeIntervalSince1970: 0)
    var value = Declared(id: "a", secret: "s", place: nil, since: day, seen: nil, inner: nil, owner: nil)
    try database.save(value)
    value.id = "b"
    value.owner = Record.Reference(try Record.ID("a"))
    try database.save(value)
    let refused: [Predicate<Declared>] = [
      #Predicate { $0.secret == "s" }, #Predicate { $0.secret == nil }, #Predicate { $0.since == day },
      #Predicate { $0.seen == nil },
      #Predicate { $0.inner?.seats == 1 },
    ]
    for predicate in refused {
      let error = #expect(throws: DatabaseError.self) { try database.fetchAll(Declared.self, where: predicate) }
      #expect(error?.code == .invalidArguments)
    }
    #expect(try database.count(Declared.self, where: #Predicate { $0.place == nil }) == 2)
    #expect(try database.fetchAll(Declared.self, where: #Predicate { $0.owner != nil }).map(\.id) == ["b"])
  }
}
