import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Which records a query looks at: zones, names, very many keys, long texts; and what explain says of it.

@Suite("plans of queries")
struct QueryPlanTests {
  @Test("a zone without records of the type costs a query nothing: an order comes from the index all the same")
  func emptyZones() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    let full = try database.zone("Full")
    try database.zone("Empty")
    for number in 0..<20 { try database.put("r\(number)", in: full, ["n": .int(Int64(number))]) }
    try database.put("other", in: try database.zone("Other"), type: "Other", ["n": 1])
    try database.setIndex([.sortable], on: "n", ofType: "Note")
    let query = Query("Note", sort: [.descending("n")], limit: 3)
    #expect(try database.explain(query).ordering == .index && database.explain(query).zones == [full])
    var page = try database.query(query)
    #expect(page.records.map(\.id.name) == ["r19", "r18", "r17"])
    // A zone that gets its first record between two pages, within a transaction, too.
    let early = try database.zone("Early")
    try database.write { transaction in
      try transaction.save(.fresh("last", in: early, type: "Note", ["n": -1]))
      #expect(try transaction.records(Query("Note")).count == 21)
      #expect(try transaction.records(Query("Note", in: early)).count == 1)
    }
    var names = page.records.map(\.id.name)
    while let next = page.next {
      page = try database.query(query, after: next)
      names += page.records.map(\.id.name)
    }
    #expect(names.count == 21 && Set(names).count == 21 && names.last == "last")
    #expect(try database.explain(Query("Nothing")).zones.count == 5)
  }

  @Test("records that are asked for by name are looked up, and what is found is what a scan finds", arguments: [false, true])
  func names(isIndexed: Bool) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let uuid = "8F8C2C0E-5D4B-4B5A-9C1E-0A1B2C3D4E5F"
    for number in 0..<300 {
      try database.put("r\(number)", in: number % 2 == 0 ? zone : .default, ["n": .int(Int64(number % 7)), "t": "r1"])
    }
    try database.put(uuid, ["n": 1])
    try database.put(uuid.lowercased(), in: zone, ["n": 1])
    try database.put("r5", in: zone, type: "Other", ["n": 1])
    if isIndexed { try database.setIndex([.queryable, .sortable], on: "n", ofType: "Note") }
    let name = Query.Field.recordName
    let inZone = Record.Value.reference(Record.Reference(try Record.ID("r4", in: zone)))
    let elsewhere = Record.Value.reference(Record.Reference(try Record.ID("r4")))
    let named: [Query.Predicate] = [
      name == "r5", name == "R5", name == uuid, name == uuid.lowercased(), name == "nobody",
      name.isIn(["r1", "r2", "r2", "x"]), name == "r1" && .field("n") == 1, name == "r1" && .field("n") == 2,
      name == "r8" || name == "r9", name == "r8" && name == "r9",
      (name == "r8" || name == "r9") && .field("n") == 1, .any([]) || name == "r3",
      Query.Predicate(Query.Condition(.recordID, .compare(.equal, .value(inZone)))),
      Query.Predicate(Query.Condition(.recordID, .compare(.equal, .value(elsewhere)))),
      Query.Predicate(Query.Condition(.recordID, .isIn([inZone, elsewhere, "r4"]))),
    ]
    let others: [Query.Predicate] = [
      !(name == "r5"), name == "r5" || .field("n") == 1, name > "r29", name.hasPrefix("r2"), .true,
    ]
    func query(_ type: String?, _ predicate: Query.Predicate, _ sort: [Query.Sort] = []) -> Query {
      var query = Query("Note", where: predicate, sort: sort)
      query.recordType = type
      return query
    }
    for type in ["Note", nil] as [String?] {
      let all = try database.records(query(type, .true))
      for (predicate, isNamed) in named.map({ ($0, true) }) + others.map({ ($0, false) }) {
        for sort in [[], [Query.Sort.descending("n"), .ascending("recordName")]] {
          let expected = all.filter { predicate.matches($0) }
          let query = query(type, predicate, sort)
          let found = try database.records(query)
          #expect(Set(found.map(\.id)) == Set(expected.map(\.id)) && found.count == expected.count, "\(predicate)")
          if sort.isEmpty { #expect(found.map(\.id) == expected.map(\.id), "\(predicate)") }
          #expect(try database.count(query) == expected.count)
          let plan = try database.explain(query)
          #expect((plan.index == "recordName") == isNamed, "\(predicate): \(plan)")
          #expect(!isNamed || plan.recordCount <= 8)
          var paged: [Record.ID] = []
          var cursor: Query.Cursor?
          var first = query
          first.limit = 1
          repeat {
            let page = try database.query(first, after: cursor)
            paged += page.records.map(\.id)
            cursor = page.next
          } while cursor != nil && paged.count < 400
          #expect(paged == found.map(\.id), "\(predicate)")
        }
      }
    }
    let many = Query("Note", where: name.isIn((0..<5000).map { "r\($0)" }))
    #expect(try database.explain(many).access == .scan && database.count(many) == 300)
    let service = try Database.scratch { $0.dialect = .cloudKit }
    try service.put("r5", ["n": 1])
    #expect(try service.explain(Query("Note", where: .field("n") == 1)).index != "recordName")
    try database.write { transaction in
      try transaction.save(.fresh("new", type: "Note", ["n": 1]))
      #expect(try transaction.records(Query("Note", where: name == "new")).count == 1)
      try transaction.delete(Record.ID("new"))
      #expect(try transaction.records(Query("Note", where: name == "new")).isEmpty)
    }
  }

  @Test("a predicate of very many keys and terms asks for each once, and its query ends with its task")
  func manyKeys() throws {
    let database = try Database.scratch()
    try database.put("a", ["k7": 1])
    let terms = (0..<2000).map { Query.Predicate.field("k\($0)") == 1 }
    #expect(try database.records(Query("Note", where: .any(terms + terms))).count == 1)
    #expect(try database.count(Query("Note", where: .all(terms))) == 0)
    #expect(Query.Predicate.any(terms) == terms.dropFirst().reduce(terms[0]) { $0 || $1 })
  }

  @Test("long texts match a predicate as a query finds them")
  func longTexts() throws {
    let database = try Database.scratch()
    let text = String(repeating: "ab", count: 3000) + " Straße café"
    let record = try database.put("a", ["t": .string(text)])
    let part = String(repeating: "ab", count: 1500)
    let words = (0..<400).map { "w\($0)" }.joined(separator: " ")
    let field = Query.Field(key: "t")
    var count = 0
    let predicates: [Query.Predicate] = [
      field.contains(part), field.contains("b" + part + "a"), field.contains(part + "c"),
      field.isLike("*" + part + "*cafe", options: .ignoringAccents), field.isLike("a?" + part + "*f?"),
      field.isLike("*" + String(repeating: "a?", count: 1400) + "c*"),
      field.tokens(words + " strasse"), field.tokens(words + " STRAßE"), field.tokens(words),
    ]
    for predicate in predicates {
      let isFound = try database.count(Query("Note", where: predicate)) == 1
      #expect(predicate.matches(record) == isFound, "\(predicate.description.prefix(40))")
      if isFound { count += 1 }
    }
    #expect(count > 3)
  }

  @Test("a list of very many constants took minutes where its field has an index, and an instant where it has none")
  func manyConstants() throws {
    let database = try Database.scratch()
    for number in 0..<400 { try database.put("r\(number)", ["n": .int(Int64(number)), "m": .int(Int64(number))]) }
    try database.setIndex([.queryable], on: "n", ofType: "Note")
    func predicates(_ key: String, _ count: Int) -> [Query.Predicate] {
      let field = Query.Field(key)
      let list = (0..<count).map { ($0 * 7919) % 100_003 }
      let either = Query.Predicate.any(list.prefix(300).map { field == $0 })
      let one = field.isIn(list)
      return [one, !one, one && field > 20, either, !either, one || field == 3]
    }
    for count in [1, 63, 64, 65, 100, 101, 500, 100_000] {
      for (indexed, plain) in zip(predicates("n", count), predicates("m", count)) {
        let query = Query("Note", where: indexed)
        let expected = try database.records(Query("Note", where: plain)).map(\.id)
        #expect(try database.records(query).map(\.id) == expected && database.count(query) == expected.count)
        #expect(try database.distinctValues(of: "n", for: query).count == expected.count)
      }
    }
    let clock = ContinuousClock()
    let indexed = Query("Note", where: predicates("n", 200_000)[0])
    let plain = Query("Note", where: predicates("m", 200_000)[0])
    func time(_ query: Query) throws -> Duration {
      let start = clock.now
      #expect(try database.count(query) > 0)
      return start.duration(to: clock.now)
    }
    let usual = try time(plain)
    // It was twenty times as long.
    #expect(try time(indexed) < usual * 5)
    // They are as many as may be looked up, so the index is used.
    #expect(try database.explain(Query("Note", where: .field("n").isIn(Array(0..<40)))).access == .index)
  }

  @Test("a plan says what is read, tested and sorted")
  func plans() throws {
    let database = try Database.scratch()
    for number in 0..<5 { try database.put("n\(number)", ["n": .int(Int64(number))]) }
    let plan = try database.explain(Query("Note", where: .field("n") > 2, sort: [.ascending("n")], limit: 2))
    #expect(plan.access == .scan && plan.recordCount == 5 && plan.ordering == .top)
    let lines = [
      "scan 5 records of type Note in zone _defaultZone, in the order of their last saves", "filter n > 2",
      "keep the first 2 by n",
    ]
    #expect(plan.description == lines.joined(separator: "\n"))
    #expect(try database.explain(Query("Note")).filter == nil)
    #expect(try database.explain(Query("Note", where: .false)).access == .none)
    #expect(try JSONDecoder().decode(Query.Plan.self, from: JSONEncoder().encode(plan)) == plan)
  }
}
