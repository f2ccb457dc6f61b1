import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A query that names what there is not, or compares what is never equal, finds nothing without an error: its plan tells.

@Suite("warnings of queries")
struct QueryWarningTests {
  private let database: Database
  private let library: Zone.ID
  private let empty: Zone.ID

  init() throws {
    database = try Database.scratch()
    library = try database.zone("Library")
    empty = try database.zone("Empty")
    try database.put(
      "dune", in: library, type: "Film",
      [
        "titel": "Dune", "year": 2021, "genres": .strings(["drama"]), "at": .location(Location(latitude: 1, longitude: 2)),
        "seen": .date(Date(timeIntervalSinceReferenceDate: 0)), "score": 8.5,
      ])
    try database.put("odeon", in: library, type: "Theater", [:])
  }

  private func warnings(_ query: Query) throws -> [String] { try database.explain(query).warnings.map(\.description) }

  @Test("a misspelt key found nothing without a word, in a condition and in an order; the plan tells what was meant")
  func misspelt() throws {
    let query = Query("Film", where: .field("yaer") > 2000, sort: [.ascending("Titel")])
    #expect(try database.records(query).isEmpty)
    let plan = try database.explain(query)
    #expect(plan.warnings.map(\.reason) == [.unknownKey, .unknownKey] && plan.warnings.map(\.name) == ["yaer", "Titel"])
    #expect(plan.warnings[0].closeNames == ["year"] && plan.warnings[1].closeNames == ["titel"])
    #expect(plan.warnings[0].recordType == "Film")
    #expect(plan.description.contains("\nwarning: no record of type Film has the key yaer. Did you mean year?\n"))
  }

  @Test("a property's name found nothing where the coding key is another, and so did id where it is the record's name")
  func otherNames() throws {
    #expect(
      try warnings(Query("Film", where: .field("title") == "Dune")) == [
        "no record of type Film has the key title. Did you mean titel?"
      ])
    #expect(
      try warnings(Query("Film", where: .field("id") == "dune")) == [
        "no record of type Film has the key id. Did you mean recordName?"
      ])
    let date = try warnings(Query("Film", where: .field("modificationdate") > Date()))
    #expect(date == ["no record of type Film has the key modificationdate. Did you mean modificationDate?"])
  }

  @Test("thousands of unknown keys beside a wide schema were guessed at for minutes")
  func hostileNames() throws {
    let wide = try Database.scratch()
    try wide.write { transaction in
      for type in 0..<20 {
        var record = try Record(type: "T\(type)", id: Record.ID("r\(type)"))
        for key in 0..<200 { record["k\(type)x\(key)" + String(repeating: "y", count: 200)] = 1 }
        try transaction.save(record)
      }
    }
    let long = (0..<40).map { Query.Predicate.field("u\($0)" + String(repeating: "y", count: 200)) == 1 }
    let short = (0..<5000).map { Query.Predicate.field("q\($0)") == 1 }
    #expect(try wide.explain(Query(where: .any(long))).warnings.count == 40)
    let plan = try wide.explain(Query(where: .any(short)))
    #expect(plan.warnings.count == 5000 && plan.warnings.last?.closeNames == [])
  }

  @Test("explain threw where the query did not: the pages that only names are looked up in may be damaged")
  func damage() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "daybook-warnings-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/a.daybook"
    let file = try Database.open(at: path)
    try file.write { transaction in
      for type in 0..<30 {
        var record = try Record(type: "T\(type)", id: Record.ID("r\(type)"))
        for key in 0..<40 { record["k\(key)"] = 1 }
        try transaction.save(record)
      }
    }
    try file.close()
    let sound = try Data(contentsOf: URL(fileURLWithPath: path))
    var options = Database.Options()
    options.isReadOnly = true
    let nothing = Query.Predicate.field("nothing") == 1
    let queries = [Query("T3", where: nothing), Query("Unknown", in: .default), Query(where: nothing)]
    var refusedCount = 0
    for block in stride(from: 4096, to: sound.count - 4096, by: 4096) {
      var bytes = sound
      bytes[(block + 100)..<(block + 140)] = Data(repeating: 0xA5, count: 40)
      try bytes.write(to: URL(fileURLWithPath: path))
      guard let damaged = try? Database.open(at: path, options: options) else { continue }
      for query in queries {
        if (try? damaged.records(query)) != nil {
          #expect(throws: Never.self) { try damaged.explain(query) }
        } else {
          refusedCount += 1
        }
      }
      try damaged.close()
    }
    #expect(refusedCount < 3 * sound.count / 4096)
  }

  @Test("an encrypted field of any type found nothing without a word, and so did CloudKit's one zone")
  func unseen() throws {
    let dialect = try Database.scratch { $0.dialect = .cloudKit }
    let zone = try dialect.zone("Z")
    try dialect.put("a", in: zone, type: "Film", ["year": 1])
    #expect(try dialect.explain(Query("Film", in: nil)).warnings.map(\.reason) == [.noRecords])
    var record = try Record(type: "Safe", id: Record.ID("s"))
    record.encryptedValues["pin"] = "1234"
    try database.save(record)
    let query = Query(where: .field("pin") == "1234")
    #expect(try database.records(query).isEmpty)
    #expect(try warnings(query) == ["the values of pin are encrypted, and no query sees them."])
  }

  @Test("a misspelt type found nothing without a word, and so did a zone that has none of it")
  func types() throws {
    #expect(try warnings(Query("Flim", where: .field("x") == 1)) == ["there is no record of type Flim. Did you mean Film?"])
    #expect(try warnings(Query("Theatre")) == ["there is no record of type Theatre. Did you mean Theater?"])
    #expect(try warnings(Query("Film", in: empty)) == ["there is no record of type Film in zone Empty."])
    #expect(try warnings(Query("Film")).isEmpty && warnings(Query("Theater", in: library)).isEmpty)
    // Deleted ones leave the type known.
    try database.write { try $0.delete(Record.ID("dune", in: library)) }
    #expect(try warnings(Query("Film")).isEmpty)
  }

  @Test("a constant of another kind found nothing without a word")
  func kinds() throws {
    let plan = try database.explain(Query("Film", where: .field("year") == "2021"))
    #expect(plan.warnings.map(\.reason) == [.otherKind] && plan.warnings[0].kinds == [.int])
    #expect(plan.warnings[0].constant == .string)
    for (predicate, sentence) in [
      (.field("seen") > 2000, "seen is of the kind date, and finds nothing where it is compared with one of the kind int."),
      (.field("genres").contains(7), "genres is of the kind strings"),
      (.field("year").hasPrefix("2"), "year is of the kind int"),
      (.field("titel").near(Location(latitude: 1, longitude: 1), within: 5), "titel is of the kind string"),
      (.field("year").tokens("a"), "year is of the kind int"), (.field("year").between(1, 2), ""),
      (.field("year") != "2021", "year is of the kind int, and every value is another than one of the kind string."),
      (.creationDate > 5, "creationDate is of the kind date"), (.parent == "dune", "parent is of the kind reference"),
    ] as [(Query.Predicate, String)] {
      let told = try warnings(Query("Film", where: predicate)).joined()
      #expect(sentence.isEmpty ? told.isEmpty : told.contains(sentence), "\(predicate): \(told)")
    }
  }

  @Test("a list compared with one of its elements found nothing without a word; the plan says how an element is asked for")
  func lists() throws {
    for predicate in [.field("genres") == "drama", .field("genres") < "z", .field("genres").isIn(["drama", "x"])]
      as [Query.Predicate]
    {
      let query = Query("Film", where: predicate)
      #expect(try database.records(query).isEmpty && database.explain(query).warnings.map(\.reason) == [.listAsValue])
      #expect(try warnings(query)[0].contains("ANY genres, in Swift .field(\"genres\").any, asks for an element."))
    }
    for predicate in [.field("genres").any == "drama", .field("genres").contains("drama"), .field("genres") == ["drama"]]
      as [Query.Predicate]
    {
      #expect(try warnings(Query("Film", where: predicate)).isEmpty && database.count(Query("Film", where: predicate)) == 1)
    }
  }

  @Test("queries of all types, and what records have, are not warned of")
  func known() throws {
    let predicates: [Query.Predicate] = [
      .field("year") > 1.5, .field("score") > 8, .recordName == "dune", .recordID == "dune", .tokens("dune"), .true,
      .field("seen") < Date(), .field("titel").isAbsent, .field("at").near(Location(latitude: 1, longitude: 2), within: 1),
      .creatorUserRecordID == "x", !(.field("year") == 3), .modificationDate > Date(timeIntervalSince1970: 0),
    ]
    for predicate in predicates {
      #expect(try warnings(Query("Film", where: predicate)).isEmpty, "\(predicate)")
      #expect(try warnings(Query(where: predicate)).isEmpty, "\(predicate)")
    }
    #expect(try warnings(Query(where: .field("Year") == 1)) == ["no record has the key Year. Did you mean year?"])
    // An index that nothing is in makes no key known.
    try database.setIndex(.queryable, on: "tilte", ofType: "Film")
    #expect(try warnings(Query("Film", where: .field("tilte") == "x")).count == 1)
  }

  @Test("a transaction's own records are known, and a snapshot's are those of its moment")
  func readers() throws {
    let query = Query("Film", where: .field("rating") == 5)
    let snapshot = try database.snapshot()
    try database.write { transaction in
      #expect(try transaction.explain(query).warnings.count == 1)
      try transaction.save(.fresh("alien", in: library, type: "Film", ["rating": 5]))
      #expect(try transaction.explain(query).warnings.isEmpty)
    }
    #expect(try snapshot.explain(query).warnings.count == 1 && warnings(query).isEmpty)
  }

  @Test("a plan with warnings comes back from JSON, and one that an earlier build wrote has none")
  func json() throws {
    try database.setIndex(.queryable, on: "year", ofType: "Film")
    let plan = try database.explain(Query("Film", where: .field("yaer") == 1 || .field("year") == "x", in: empty))
    #expect(plan.warnings.count == 3 && plan.unused.count == 1)
    let data = try JSONEncoder().encode(plan)
    #expect(try JSONDecoder().decode(Query.Plan.self, from: data) == plan)
    var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    object["warnings"] = nil
    object["unused"] = nil
    let earlier = try JSONDecoder().decode(Query.Plan.self, from: JSONSerialization.data(withJSONObject: object))
    #expect(earlier.warnings.isEmpty && earlier.unused.isEmpty && earlier.recordType == "Film")
  }

  @Test("no condition that a value passes is told as one that none can pass, whatever the kinds")
  func everyKind() throws {
    let values: [Record.Value] = [
      "a b", 1, 1.0, .bytes(Data([1])), .date(Date(timeIntervalSinceReferenceDate: 1)),
      .location(Location(latitude: 1, longitude: 1)), .reference(Record.Reference(try Record.ID("r"))), .strings(["a b"]),
      .ints([1]), .doubles([1]), .dates([Date(timeIntervalSinceReferenceDate: 1)]), .bytesList([Data([1])]),
      .references([Record.Reference(try Record.ID("r"))]), .strings([]),
    ]
    var passed = 0
    var warned = 0
    for value in values {
      let record = try Record.fresh("r", type: "Note", ["k": value])
      for constant in values {
        let tests: [Query.Condition.Test] = [
          .compare(.equal, .value(constant)), .compare(.lessOrEqual, .value(constant)),
          .between(.value(constant), .value(constant)), .isIn([constant]), .contains(constant), .text(.prefix, ByteText("a")),
          .words(ByteText("b")),
          .distance(.less, from: Location(latitude: 1, longitude: 1), kilometres: 5),
        ]
        for test in tests {
          for field in [Query.Field("k"), Query.Field("k").any] {
            let condition = Query.Condition(field, test)
            let isPassed = Query.Predicate(condition).matches(record)
            let isWarned = !condition.mismatches(with: [value.kind]).isEmpty
            #expect(!isPassed || !isWarned, "\(value) \(condition)")
            // The values pass wherever their kinds let them.
            if !isPassed, value.elements?.isEmpty != true, constant.elements?.isEmpty != true {
              #expect(isWarned, "\(value) \(condition)")
            }
            passed += isPassed ? 1 : 0
            warned += isWarned ? 1 : 0
          }
        }
      }
    }
    #expect(passed > 100 && warned > 1000)
  }
}
