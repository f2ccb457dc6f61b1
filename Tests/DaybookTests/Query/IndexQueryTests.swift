import DaybookTesting
import Foundation
import Synchronization
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Queries with indexes: every plan finds what a scan finds, in its order, in pages of any size.

@Suite("queries with indexes")
struct IndexQueryTests {
  private static let indexed = ["n", "d", "t", "u", "a", "b"]
  private static let places = ["p", "a"]
  /// What the database knows of a record and an index, too.
  private static let dates = ["creationDate", "modificationDate"]
  /// All keys that have texts.
  private static let texts = ["t", "a", "b", "w"]

  private static func name(_ number: Int, _ random: inout RandomQueries) -> String {
    switch random.number(3) {
    case 0: "r\(number)"
    case 1: "0000\(1000 + number)-0000-4000-8000-0000000000AB"
    default: "0000\(1000 + number)-0000-4000-8000-0000000000ab"
    }
  }

  private static func values(_ random: inout RandomQueries, _ zone: Zone.ID) -> [String: Record.Value] {
    var values: [String: Record.Value] = [:]
    let number = Int64(random.number(60)) - 30
    values["n"] = random.chance(3) ? .double(Double(number) / 2) : .int(number)
    if !random.chance(6) { values["d"] = .date(Date(timeIntervalSinceReferenceDate: Double(random.number(90)))) }
    if !random.chance(8) { values["t"] = .string(text(&random)) }
    if random.chance(9) { values["u"] = .int(Int64(random.number(3))) }
    if !random.chance(5) { values["p"] = .location(random.chance(9) ? random.strangePlace() : random.hardPlace()) }
    if !random.chance(3) { values["w"] = .string(random.text() + " " + random.text()) }
    for key in ["a", "b"] where !random.chance(4) { values[key] = random.value(zone: zone) }
    return values
  }

  private static func text(_ random: inout RandomQueries) -> String {
    if random.chance(20) { return String(repeating: "long ", count: 60) + "\(random.number(3))" }
    // With two bytes for each in a key, about as long as it takes.
    if random.chance(20) { return String(repeating: "\0", count: 126 + random.number(4)) }
    let letters = ["a", "b", "é", "Z", "\0", "東"]
    return (0..<random.number(4)).map { _ in random.pick(letters) }.joined()
  }

  private func condition(_ random: inout RandomQueries) -> Query.Predicate {
    func value(_ random: inout RandomQueries, _ key: String) -> Record.Value {
      Self.values(&random, .default)[key] ?? random.value()
    }
    let key = random.pick(Self.indexed)
    let field = random.chance(4) ? Query.Field(key: key).any : Query.Field(key: key)
    let first = value(&random, key)
    switch random.number(13) {
    case 12:
      let field = Query.Field(random.pick(Self.dates))
      let first = Self.clockDate(random.number(60))
      let comparison = random.pick([Query.Comparison.less, .lessOrEqual, .equal, .notEqual, .greater, .greaterOrEqual])
      switch random.number(4) {
      case 0: return Query.Predicate(Query.Condition(field, .between(first, Self.clockDate(random.number(60)))))
      case 1: return random.chance(2) ? field.isAbsent : Query.Predicate(Query.Condition(field, .compare(comparison, .now)))
      default: return Query.Predicate(Query.Condition(field, .compare(comparison, first)))
      }
    case 0...2: return Query.Predicate(Query.Condition(field, .compare(.equal, .value(first))))
    case 3:
      return Query.Predicate(
        Query.Condition(field, .compare(random.pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), .value(first))))
    case 4: return Query.Predicate(Query.Condition(field, .between(.value(first), .value(value(&random, key)))))
    case 5: return Query.Predicate(Query.Condition(field, .isIn((0..<random.number(4)).map { _ in value(&random, key) })))
    case 6: return Query.Predicate(Query.Condition(Query.Field(key: "t"), .text(.prefix, ByteText(Self.text(&random)))))
    case 7:
      if case .string(let text) = first {
        return Query.Predicate(Query.Condition(field, .contains(.string(String(text.dropFirst())))))
      }
      return Query.Predicate(Query.Condition(field, .contains(first)))
    case 8:
      var field = Query.Field(key: random.pick(Self.places))
      if random.chance(2) { field = field.any }
      let comparison = random.pick([Query.Comparison.less, .lessOrEqual, .lessOrEqual, .greater])
      return Query.Predicate(
        Query.Condition(field, .distance(comparison, from: random.hardPlace(), kilometres: random.kilometres())))
    case 9: return Query.Field(key: random.pick(Self.texts)).tokens(random.text() + " " + random.text())
    case 10: return random.chance(2) ? .allTokens(random.text()) : .tokens(random.text())
    default: return random.chance(2) ? Query.Field(key: random.pick(["u", "d"])).isAbsent : random.condition()
    }
  }

  private static func clockDate(_ day: Int) -> Query.Operand {
    .value(.date(Date(timeIntervalSinceReferenceDate: Double(day) * 86_400)))
  }

  private func predicate(_ random: inout RandomQueries) -> Query.Predicate {
    switch random.number(6) {
    case 0: .true
    case 1, 2: condition(&random)
    case 3: .any([condition(&random), condition(&random)])
    case 4: !condition(&random)
    default: .all([condition(&random), condition(&random)])
    }
  }

  private func query(_ random: inout RandomQueries) -> Query {
    var query = Query("Movie", where: predicate(&random))
    if random.chance(2) {
      let field = random.chance(4) ? Query.Field(random.pick(Self.dates)) : Query.Field(key: random.pick(Self.indexed))
      query.sort = [Query.Sort(field, ascending: random.chance(2))]
    }
    if random.chance(8) { query.sort.append(Query.Sort(Query.Field(key: "n"))) }
    if !random.chance(4) { query.zone = .default }
    if !random.chance(3) { query.limit = random.number(7) + 1 }
    return query
  }

  /// DAYBOOK_QUERIES sets how many a round.
  @Test("every plan finds what a scan finds, in its order and in pages", arguments: 0..<2 as Range<UInt64>, [false, true])
  func plans(seed: UInt64, prefersIndexes: Bool) throws {
    var random = RandomQueries(seed: seed &+ 500)
    // Days, so that many records share one; both databases have the same, and it is set back, too.
    let day = Mutex(0)
    let now: @Sendable () -> Date = { Date(timeIntervalSinceReferenceDate: Double(day.withLock { $0 }) * 86_400) }
    let plain = try Database.scratch(seed: 1) { $0.now = now }
    let indexed = try Database.scratch(seed: 1) {
      $0.prefersIndexes = prefersIndexes
      $0.now = now
    }
    let zones = [Zone.ID.default, try Zone.ID("Library")]
    for database in [plain, indexed] { try database.zone("Library") }
    // Some indexes are there before the records, some are built.
    for key in Self.indexed.prefix(3) { try indexed.createIndex(on: key, ofType: "Movie") }
    try indexed.createIndex(on: "modificationDate", ofType: "Movie")
    try indexed.createIndex(on: "p", ofType: "Movie", kind: .location)
    try indexed.createIndex(on: "w", ofType: "Movie", kind: .text)
    let queryCount = Int(ProcessInfo.processInfo.environment["DAYBOOK_QUERIES"] ?? "") ?? 90
    var uses: [Query.Plan.Access: Int] = [:]
    var ofDates = 0
    var orders: [Query.Plan.Ordering: Int] = [:]
    var kinds: [IndexKind: Int] = [:]
    for round in 0..<3 {
      for number in 0..<200 {
        let zone = random.chance(4) ? zones[1] : zones[0]
        let name = Self.name(number + round * 40, &random)
        let values = Self.values(&random, zone)
        let isGoing = random.chance(9)
        if random.chance(5) { day.withLock { $0 = random.number(60) - 3 } }
        for database in [plain, indexed] {
          if isGoing {
            try database.write { try $0.delete(Record.ID(name, in: zone)) }
          } else {
            try database.write { try $0.save(.fresh(name, in: zone, type: "Movie", values), policy: .replace) }
          }
        }
      }
      if round == 0 {
        for key in Self.indexed + Self.dates { try indexed.createIndex(on: key, ofType: "Movie") }
        for key in Self.places { try indexed.createIndex(on: key, ofType: "Movie", kind: .location) }
        for key in Self.texts { try indexed.createIndex(on: key, ofType: "Movie", kind: .text) }
      }
      for _ in 0..<queryCount {
        let query = query(&random)
        if query.predicate.description.contains("secret") { continue }
        let plan = try indexed.explain(query)
        uses[plan.access, default: 0] += 1
        if let kind = plan.indexKind { kinds[kind, default: 0] += 1 }
        if let index = plan.index, Self.dates.contains(index) { ofDates += 1 }
        orders[plan.ordering, default: 0] += 1
        let expected = try plain.records(query).map(\.id)
        #expect(try indexed.records(query).map(\.id) == expected, "\(query)\n\(plan)")
        #expect(try indexed.count(query) == expected.count, "\(query)\n\(plan)")
        var paged = query
        paged.limit = random.number(9) + 1
        var (ids, all): ([Record.ID], [Record.ID]) = ([], [])
        var (cursor, other): (Query.Cursor?, Query.Cursor?)
        repeat {
          let page = try indexed.query(paged, after: cursor)
          let same = try plain.query(paged, after: other)
          ids += page.records.map(\.id)
          all += same.records.map(\.id)
          (cursor, other) = (page.next, same.next)
        } while cursor != nil && ids.count < 60
        // A scan's last page may be followed by an empty one.
        while other != nil, ids.count < 60 || all.count < ids.count {
          let same = try plain.query(paged, after: other)
          all += same.records.map(\.id)
          other = same.next
        }
        let pagedPlan = try indexed.explain(paged)
        #expect(ids == (ids.count < 60 ? all : Array(all.prefix(ids.count))), "\(paged)\n\(pagedPlan)")
      }
      try indexed.expectClean()
    }
    #expect(IndexKind.allCases.allSatisfy { kinds[$0] ?? 0 > 2 }, "\(kinds)")
    #expect(uses[.index] ?? 0 > queryCount / 2 && uses[.scan] ?? 0 > queryCount / 8, "\(uses)")
    #expect(orders[.index] ?? 0 > queryCount / 15, "\(orders)")
    #expect(ofDates > queryCount / 15)
  }

  @Test("the dates that the database keeps have indexes: conditions, orders, counts and values find records by them")
  func systemDates() throws {
    let seconds = Mutex(0.0)
    let disk = SimulatedDisk(seed: 1)
    var options = Database.Options.simulated(seed: 1)
    options.now = { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }
    var database = try Database.open(at: "test.daybook", options: options, disk: disk)
    func save(_ name: String, at time: Double) throws {
      seconds.withLock { $0 = time }
      try database.write { try $0.save(.fresh(name, type: "Note", ["x": 1]), policy: .replace) }
    }
    for number in 0..<300 { try save("r\(number)", at: Double(number % 100)) }
    try database.setIndex([.queryable, .sortable], on: "creationDate", ofType: "Note")
    try database.setIndex(.sortable, on: "modificationDate", ofType: "Note")
    for number in 0..<30 { try save("r\(number * 3)", at: Double(1000 + number)) }
    try database.write { try $0.delete(Record.ID("r3")) }
    func date(_ time: Double) -> Date { Date(timeIntervalSinceReferenceDate: time) }
    func check() throws {
      let early = Query("Note", where: .creationDate < date(2))
      #expect(try database.explain(early).index == "creationDate")
      #expect(try database.count(early) == 6)
      #expect(try Set(database.records(early).map(\.id.name)) == ["r0", "r1", "r100", "r101", "r200", "r201"])
      var newest = Query("Note", sort: [.descending(.modificationDate)], limit: 3)
      #expect(try database.explain(newest).ordering == .index)
      #expect(try database.records(newest).map(\.id.name) == ["r87", "r84", "r81"])
      newest.predicate = try Query.Predicate(format: "___modTime > %@", date(1026.5))
      #expect(try database.records(newest).map(\.id.name) == ["r87", "r84", "r81"])
      let all = Query("Note")
      #expect(try database.maximum(of: "modificationDate", for: all) == .date(date(1029)))
      #expect(try database.minimum(of: "creationDate", for: all) == .date(date(0)))
      let days = try database.distinctValues(of: "creationDate", for: all)
      #expect(days.count == 100 && days.map(\.count).reduce(0, +) == 299)
      #expect(try database.explain(Query("Note", where: .creationDate == date(5), sort: [.ascending("x")])).unused.isEmpty)
      #expect(try database.indexes().map(\.entryCount) == [299, 299])
      try database.expectClean()
    }
    try check()
    database = try Database.open(at: "test.daybook", options: options, disk: disk.killed())
    try check()
    try database.compact()
    try check()
    let schema = try database.schema()
    #expect(schema["Note"]?.indexes == [.init(key: "creationDate"), .init(key: "modificationDate")])
    let other = try Database.scratch()
    try other.write { try $0.declare(schema) }
    #expect(try other.indexes().map(\.key) == ["creationDate", "modificationDate"])
    for (key, kinds) in [("creationDate", IndexKinds.location), ("modificationDate", .searchable), ("___modTime", .queryable)] {
      #expect(failure { try database.setIndex(kinds, on: key, ofType: "Note") }?.code == .invalidArguments, "\(key)")
    }
    #expect(failure { try database.setIndex(.queryable, on: "recordChangeTag", ofType: "Note") }?.code == .invalidArguments)
    try database.setIndex([], on: "creationDate", ofType: "Note")
    #expect(try database.indexes().map(\.key) == ["modificationDate"])
    try database.expectClean()
  }

  @Test("a plan names its index, and says so when records come in its order")
  func explain() throws {
    let database = try Database.scratch()
    try database.createIndex(on: "year", ofType: "Movie")
    try database.write { transaction in
      for number in 0..<200 {
        try transaction.save(.fresh("m\(number)", type: "Movie", ["year": .int(Int64(number % 100)), "x": 1]))
      }
    }
    var query = Query("Movie", where: .field("year") == 7)
    var plan = try database.explain(query)
    #expect(plan.access == .index && plan.index == "year" && plan.recordCount == 2 && plan.ordering == .asRead)
    #expect(plan.description.hasPrefix("index of Movie.year, 2 entries in zone"))
    query = Query("Movie", where: .field("year") >= 90, sort: [.descending("year")])
    query.limit = 5
    plan = try database.explain(query)
    #expect(plan.ordering == .index && plan.description.contains("in the order"))
    #expect(
      try database.records(query).map { $0["year"] as Record.Value? } == [.int(99), .int(99), .int(98), .int(98), .int(97)])
    #expect(try JSONDecoder().decode(Query.Plan.self, from: JSONEncoder().encode(plan)) == plan)
    // A transaction sees its own entries; an index that is not complete is not used.
    try database.write { transaction in
      try transaction.save(.fresh("new", type: "Movie", ["year": 7]))
      #expect(try transaction.records(Query("Movie", where: .field("year") == 7)).map(\.id.name) == ["m7", "m107", "new"])
    }
    #expect(failure { try database.createIndex(on: "x", ofType: "Movie") { _, _ in false } }?.code == .operationCancelled)
    #expect(try database.explain(Query("Movie", where: .field("x") == 7)).access == .scan)
    try database.buildIndexes()
    #expect(try database.explain(Query("Movie", where: .field("x") == 7)).access == .index)
    try database.dropIndex(on: "x", ofType: "Movie")
    #expect(try database.explain(Query("Movie", where: .field("x") == 7)).access == .scan)
  }

  @Test("two conditions on a list may be true of different elements, with an index, too")
  func elements() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.createIndex(on: "n", ofType: "Movie")
    for number in 0..<50 as Range<Int64> {
      try database.put("m\(number)", type: "Movie", ["n": .ints([number % 10, number % 7])])
    }
    let any = Query.Field(key: "n").any
    let both = Query(
      "Movie",
      where: .all([
        Query.Predicate(Query.Condition(any, .compare(.greater, .value(.int(5))))),
        Query.Predicate(Query.Condition(any, .compare(.less, .value(.int(3))))),
      ]))
    #expect(try database.explain(both).access == .index)
    let expected = (0..<50).filter { ($0 % 10 > 5 || $0 % 7 > 5) && ($0 % 10 < 3 || $0 % 7 < 3) }
    #expect(try Set(database.records(both).map(\.id.name)) == Set(expected.map { "m\($0)" }))
    #expect(!expected.isEmpty)
  }

  @Test("a part of any text of a list is found, with an index of the list, too")
  func anyContains() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    for number in 0..<8 {
      try database.put("m\(number)", type: "Movie", ["tags": .strings(number == 0 ? ["blue", "green"] : ["red"])])
    }
    let query = Query("Movie", where: Query.Field("tags").any.contains("lu"))
    #expect(try database.records(query).map(\.id.name) == ["m0"])
    try database.createIndex(on: "tags", ofType: "Movie")
    #expect(try database.records(query).map(\.id.name) == ["m0"])
    #expect(try database.count(query) == 1)
    // An element is found by the index.
    let element = Query("Movie", where: Query.Field("tags").contains("blue"))
    #expect(try database.records(element).map(\.id.name) == ["m0"])
  }

  @Test("in cloudKit's dialect texts are equal whatever their case, which no index knows")
  func cloudKit() throws {
    let database = try Database.scratch { $0.dialect = .cloudKit }
    try database.createIndex(on: "t", ofType: "Movie")
    for number in 0..<60 { try database.put("m\(number)", type: "Movie", ["t": .string("t\(number)")]) }
    let query = Query("Movie", where: .field("t") == "T7")
    #expect(try database.records(query).map(\.id.name) == ["m7"])
    #expect(try database.explain(query).access == .scan)
    #expect(try database.explain(Query("Movie", where: Query.Predicate(format: "t BEGINSWITH 't7'"))).access == .index)
  }

  @Test("two long lists of values of one field are no more work with an index than without one", .timeLimit(.minutes(15)))
  func longLists() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      for number in 0..<20 {
        var record = try Record.fresh("n\(number)")
        record["x"] = number < 10 ? number * 4 : 980 + number
        try transaction.save(record)
      }
    }
    let query = Query("Note", where: .field("x").isIn(Array(0..<20_000)) && .field("x").isIn(Array(990..<21_000)))
    let expected = try database.records(query).map(\.id)
    #expect(expected.count == 10)
    try database.setIndex(.queryable, on: "x", ofType: "Note")
    // Pairs of them would be 400 million: many minutes.
    #expect(try database.records(query).map(\.id) == expected)
    #expect(try database.count(query) == 10)
    #expect(try database.distinctValues(of: "x", for: query).count == 10)
    // In many zones: counting in each would take longer than looking at their few records.
    let zones = try (0..<60).map { try database.zone("Z\($0)") }
    try database.write { transaction in
      for zone in zones {
        var record = try Record(type: "Note", id: Record.ID("n", in: zone))
        record["x"] = 3
        try transaction.save(record)
      }
    }
    let everywhere = Query("Note", where: .field("x").isIn(Array(0..<400)))
    #expect(try database.count(everywhere) == 70 && database.explain(everywhere).access == .scan)
  }

  @Test(
    "a count by an index is that of a scan for texts and bytes with zeros, which are longer in the index",
    arguments: [100, 127, 128, 130, 254, 255])
  func zeros(count: Int) throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    for (number, more) in [-1, 0, 1].enumerated() {
      let (text, data) = (String(repeating: "\0", count: count + more), Data(count: count + more))
      try database.put("n\(number)", ["t": .string(text), "b": .bytes(data)])
    }
    let values: [(String, Record.Value)] = [
      ("t", .string(String(repeating: "\0", count: count))), ("b", .bytes(Data(count: count))),
    ]
    for key in ["t", "b"] { try database.setIndex(.queryable, on: key, ofType: "Note") }
    for (key, value) in values {
      for comparison in [Query.Comparison.less, .lessOrEqual, .greater, .greaterOrEqual, .equal, .notEqual] {
        let query = Query(
          "Note", where: Query.Predicate(Query.Condition(Query.Field(key: key), .compare(comparison, .value(value)))))
        #expect(try database.count(query) == database.records(query).count, "\(key) \(comparison)")
        #expect(try database.distinctValues(of: key, for: query).count == database.records(query).count)
      }
    }
  }

  @Test("a count of what many conditions exclude is no work of their square", .timeLimit(.minutes(15)))
  func manyExclusions() throws {
    let database = try Database.scratch()
    try database.setIndex(.queryable, on: "x", ofType: "Note")
    for number in 0..<10 { try database.put("n\(number)", ["x": .int(Int64(number))]) }
    // The square of their number is 2,500 million.
    let terms = (0..<50_000).map { Query.Field("x") != $0 + 4 }
    let query = Query("Note", where: .all(terms))
    #expect(try database.count(query) == 4)
  }

  @Test("values that are in a short list and in another are looked up in the index")
  func shortLists() throws {
    let database = try Database.scratch()
    try database.setIndex(.queryable, on: "x", ofType: "Note")
    for number in 0..<1000 { try database.put("n\(number)", ["x": .int(Int64(number))]) }
    let few = Query("Note", where: .field("x").isIn(Array(0..<20)) && .field("x").isIn(Array(10..<2000)))
    #expect(try database.explain(few).access == .index && database.count(few) == 10)
  }

  @Test("ranges that two conditions leave are what each pair of them shares", arguments: 0..<4 as Range<UInt64>)
  func intersections(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func ranges() -> [IndexRange] {
      IndexRange.union(
        (0..<Int.random(in: 0..<9, using: &random)).map { _ in
          let lower = UInt8.random(in: 0..<60, using: &random)
          return IndexRange(lower: [0, lower], upper: [0, lower + UInt8.random(in: 0..<9, using: &random)])
        })
    }
    for _ in 0..<500 {
      let (a, b) = (ranges(), ranges())
      let both = IndexRange.intersection(a, b)
      func has(_ list: [IndexRange], _ value: UInt8) -> Bool {
        list.contains { !([0, value].lexicographicallyPrecedes($0.lower)) && [0, value].lexicographicallyPrecedes($0.upper) }
      }
      for value in 0..<70 as Range<UInt8> { #expect(has(both, value) == (has(a, value) && has(b, value))) }
      for (one, next) in zip(both, both.dropFirst()) { #expect(one.upper.lexicographicallyPrecedes(next.lower)) }
    }
  }

  @Test("a long list of record IDs was compared with each record", .timeLimit(.minutes(15)), arguments: [false, true])
  func longIDLists(isCloudKit: Bool) throws {
    let database = try Database.scratch { if isCloudKit { $0.dialect = .cloudKit } }
    try database.write { transaction in
      for number in 0..<4000 { try transaction.save(.fresh("r\(number)", type: "Movie", ["n": .int(Int64(number))])) }
    }
    let ids = try (0..<100_000).map { try Record.ID("r\($0 + 3990)") }
    // Compared one by one these are four hundred million.
    #expect(try database.count(Query("Movie", where: .recordID.isIn(ids))) == 10)
    if !isCloudKit { #expect(try database.count(Query("Movie", where: !.recordID.isIn(ids))) == 3990) }
    let filter = BodyFilter(Query.Predicate.recordID.isIn(ids), dialect: isCloudKit ? .cloudKit : .extended, now: Date())
    #expect(filter.comparisonCount == 1)
  }

  @Test("a task that is cancelled while a query is planned ends")
  func cancelledPlan() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.write { transaction in
      for number in 0..<2000 {
        var record = try Record.fresh("n\(number)")
        record["x"] = number
        try transaction.save(record)
      }
    }
    try database.write { try $0.declare(Schema(types: [.init(name: "Note", indexes: [.init(key: "x")])])) }
    try database.buildIndexes()
    let query = Query("Note", where: .field("x").isIn((0..<1000).map { $0 * 2 }))
    let stop = QueryStop()
    stop.set()
    let error = failure { try database.reading { (view) throws(DatabaseError) in _ = try view.prepare(query, stop) } }
    #expect(error?.code == .operationCancelled)
  }
}
