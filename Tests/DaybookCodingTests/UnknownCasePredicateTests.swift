import Daybook
import DaybookCoding
import Foundation
import Testing

// Enums of which a newer version has stored cases that this one does not know.

@Suite("predicates and unknown cases")
struct UnknownCasePredicateTests {
  enum Kind: String, RecordEnum, CaseIterable {
    case unknown, film, serial
    static var fallback: Kind? { .unknown }
  }
  enum Level: Int, RecordEnum, CaseIterable {
    case low = 1, middle, high
    static var fallback: Level? { .middle }
  }
  enum Open: String, RecordEnum {
    case other, yes, no
    static var fallback: Open? { .other }
  }

  struct Show: RecordCodable, Identifiable, RecordKeyPaths {
    enum CodingKeys: String, CodingKey { case id, kind, level, first, mood = "humour", kinds, open }
    var id: String
    var kind: Kind
    var level: Level?
    var first: Kind
    var mood: Kind?
    var kinds: [Kind] = []
    var open = Open.yes
    static let fieldRules: [String: FieldRule] = ["first": .default("unknown")]
    static var recordKeyPaths: [String: PartialKeyPath<Show>] { ["humour": \.mood] }
  }

  private static var predicates: [(name: String, predicate: Predicate<Show>)] {
    var all: [(name: String, predicate: Predicate<Show>)] = []
    func add(_ name: String, _ predicate: Predicate<Show>) { all.append((name, predicate)) }
    for kind in Kind.allCases {
      let some: [Kind] = [kind, .film]
      let maybe: [Kind?] = [kind, nil]
      add("kind \(kind)", #Predicate { $0.kind == kind })
      add("kind not \(kind)", #Predicate { $0.kind != kind })
      add("kind no \(kind)", #Predicate { !($0.kind == kind) })
      add("kind in \(kind)", #Predicate { some.contains($0.kind) })
      add("kind not in \(kind)", #Predicate { !some.contains($0.kind) })
      add("first \(kind)", #Predicate { $0.first == kind })
      add("first not \(kind)", #Predicate { $0.first != kind })
      add("mood \(kind)", #Predicate { $0.mood == kind })
      add("mood not \(kind)", #Predicate { $0.mood != kind })
      add("mood in \(kind)", #Predicate { maybe.contains($0.mood) })
      add("mood ?? \(kind)", #Predicate { ($0.mood ?? kind) == kind })
      add("mood not ?? \(kind)", #Predicate { ($0.mood ?? kind) != kind })
      add("mood let \(kind)", #Predicate { show in if let mood = show.mood { mood != kind } else { true } })
    }
    for level in Level.allCases {
      add("level \(level)", #Predicate { $0.level == level })
      add("level not \(level)", #Predicate { $0.level != level })
      add("level flatMap \(level)", #Predicate { $0.level.flatMap { $0 == level } ?? false })
    }
    let (film, yes) = (Kind.film, Open.yes)
    add("kinds film", #Predicate { $0.kinds.contains(film) })
    add("kinds where", #Predicate { $0.kinds.contains { $0 != film } })
    add("open", #Predicate { $0.open == yes })
    add("open not", #Predicate { $0.open != yes })
    add("nil", #Predicate { $0.mood == nil })
    return all
  }

  private static func database() throws -> Database {
    let database = try Database.inMemory()
    var random = Seeded(1)
    let texts = ["unknown", "film", "serial", "series", "podcast"]
    for number in 0..<60 {
      var record = try Record(type: "Show", id: Record.ID("show\(number)"))
      func text() -> String { texts.randomElement(using: &random)! }
      record["id"] = "show\(number)"
      record["kind"] = text()
      if Bool.random(using: &random) { record["level"] = Int.random(in: 0...5, using: &random) }
      if Bool.random(using: &random) { record["first"] = text() }
      if Bool.random(using: &random) { record["humour"] = text() }
      record["kinds"] = (0..<Int.random(in: 0...2, using: &random)).map { _ in text() }
      record["open"] = ["other", "yes", "no", "perhaps"].randomElement(using: &random)!
      try database.save(record)
    }
    return database
  }

  @Test("a raw value that no case has is found as the case that it decodes as, with indexes and without")
  func sameAsSwift() throws {
    let database = try Self.database()
    let shows = try database.fetchAll(Show.self)
    #expect(shows.count == 60 && shows.contains { $0.kind == .unknown })
    for hasIndexes in [false, true] {
      if hasIndexes {
        for field in ["kind", "level", "first", "humour", "kinds", "open"] {
          try database.setIndex([.queryable, .sortable], on: field, ofType: "Show")
        }
      }
      for (name, predicate) in Self.predicates {
        let expected = try shows.filter { try predicate.evaluate($0) }.map(\.id)
        let found = try database.fetchAll(Show.self, where: predicate).map(\.id)
        #expect(Set(found) == Set(expected) && found.count == expected.count, "\(name), indexes \(hasIndexes)")
      }
    }
  }

  @Test("where the cases are not known, or in lists, the fallback is refused, not missed")
  func refused() throws {
    let database = try Self.database()
    let (other, unknown) = (Open.other, Kind.unknown)
    let (some, list) = ([Open.other, .no], [Kind.unknown])
    let refused: [Predicate<Show>] = [
      #Predicate { $0.open == other }, #Predicate { $0.open != other }, #Predicate { some.contains($0.open) },
      #Predicate { $0.kinds.contains(unknown) }, #Predicate { $0.kinds == list },
      #Predicate { $0.kinds.contains { $0 == unknown } },
    ]
    for predicate in refused {
      let error = #expect(throws: DatabaseError.self) { try database.fetchAll(Show.self, where: predicate) }
      #expect(error?.code == .invalidArguments)
    }
  }

  struct Listed: RecordCodable {
    static let fieldRules: [String: FieldRule] = [
      "none": .default(.strings([])), "kinds": .default(["film"]), "levels": .default(.ints([3, 7])),
    ]
    var recordName: String
    var none: [Kind] = []
    var kinds: [Kind] = []
    var levels: [Level] = []
  }

  @Test("predicates on a list of enums did not find its default")
  func listDefaults() throws {
    let database = try Database.inMemory()
    try database.save(Record(type: "Listed", id: Record.ID("a")))
    try database.save(Listed(recordName: "b", none: [.film], kinds: [.serial], levels: [.low]))
    let values = try database.fetchAll(Listed.self)
    let (film, serial, high) = (Kind.film, Kind.serial, Level.high)
    for (number, predicate) in [
      #Predicate<Listed> { !$0.none.contains(film) }, #Predicate { $0.kinds.contains(film) },
      #Predicate { !$0.kinds.contains(film) }, #Predicate { $0.kinds.contains { $0 != serial } },
      #Predicate { $0.levels.contains(high) }, #Predicate { !$0.levels.contains(high) },
    ].enumerated() {
      let expected = Set(try values.filter { try predicate.evaluate($0) }.map(\.recordName))
      #expect(Set(try database.fetchAll(Listed.self, where: predicate).map(\.recordName)) == expected, "\(number)")
    }
  }
}
