import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Queries of databases, snapshots and transactions: what they find, in which order, in pages, beside plain loops.

@Suite("queries")
struct QueryTests {
  /// Random records in three zones, and the same as a list.
  private func filled(
    seed: UInt64, count: Int = 120, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> (Database, [Record]) {
    var random = RandomQueries(seed: seed)
    let database = try Database.scratch(seed: seed, change)
    let zones = try [Zone.ID.default, database.zone("Library"), database.zone("Été")]
    for batch in 0..<max(1, count / 20) {
      try database.write { transaction in
        for number in 0..<20 {
          var values: [String: Record.Value] = [:]
          let zone = random.pick(zones)
          for key in RandomQueries.keys where !random.chance(3) { values[key] = random.value(zone: zone) }
          var record = try Record.fresh("n\(batch)-\(number)", in: zone, type: random.pick(["Movie", "Song"]), values)
          if random.chance(3) { record.encryptedValues["secret"] = .string("x") }
          try transaction.save(record)
        }
      }
    }
    // Some are saved again, so that the order of saves is not that of names.
    let all = try zones.flatMap { try database.records(in: $0) }
    for record in all where random.chance(4) {
      let value = random.value(zone: record.id.zone)
      _ = try database.save(record.changed { $0["b"] = value })
    }
    for record in all where random.chance(20) { try database.delete(record.id) }
    return (
      database,
      try zones.sorted().flatMap { zone in
        try ["Movie", "Song"].flatMap { try database.records(in: zone, ofType: $0) }
      }
    )
  }

  /// What a query finds, by a loop.
  private func expected(_ query: Query, among records: [Record]) -> [Record] {
    let meaning = records.filter { record in
      (query.recordType == nil || query.recordType == record.type) && (query.zone == nil || query.zone == record.id.zone)
        && query.predicate.matches(record)
    }
    guard !query.sort.isEmpty else { return meaning }
    return meaning.sorted { first, second in
      for step in query.sort {
        func value(_ record: Record) -> Record.Value? {
          guard let value = PredicateMeaning.value(of: step.field, in: record), !value.kind.isAsset else { return nil }
          guard let place = step.place else { return value }
          guard case .location(let own) = value else { return nil }
          return .double(own.distance(to: place))
        }
        let (a, b) = (value(first), value(second))
        guard let a else { if b == nil { continue } else { return false } }
        guard let b else { return true }
        let order = ValueOrder.compare(a, b) * (step.isAscending ? 1 : -1)
        if order != 0 { return order < 0 }
      }
      return first.id < second.id
    }
  }

  private func randomQuery(_ random: inout RandomQueries) throws -> Query {
    let sort = (0..<random.number(3)).map { _ in
      var step = Query.Sort(Query.Field(key: random.pick(RandomQueries.keys)), ascending: random.chance(2))
      if random.chance(6) { step.place = random.place() }
      if random.chance(6) { step.field = random.pick([.recordName, .modificationDate, .recordID]) }
      return step
    }
    var query = Query(random.pick(["Movie", "Song", "None"]), where: random.predicate(), sort: sort)
    if random.chance(4) { query.recordType = nil }
    if random.chance(2) { query.zone = random.pick([.default, try Zone.ID("Library")]) }
    return query
  }

  @Test("a query finds what a loop finds, in its order", arguments: 0..<3 as Range<UInt64>)
  func model(seed: UInt64) throws {
    let (database, records) = try filled(seed: seed)
    var random = RandomQueries(seed: seed ^ 77)
    var found = 0
    for _ in 0..<150 {
      let query = try randomQuery(&random)
      let hasSecret = query.predicate.description.contains("secret")
      if hasSecret, query.recordType != nil { continue }
      let expected = expected(query, among: records)
      let answer = try database.records(query)
      found += answer.count
      if query.sort.isEmpty, query.recordType == nil {
        #expect(Set(answer.map(\.id)) == Set(expected.map(\.id)), "\(query)")
      } else {
        #expect(answer.map(\.id) == expected.map(\.id), "\(query)")
      }
      #expect(try database.count(query) == expected.count)
      // In pages of any size, and by a limit.
      var paged = query
      paged.limit = random.number(9) + 1
      var ids: [Record.ID] = []
      var cursor: Query.Cursor?
      var pages = 0
      repeat {
        let page = try database.query(paged, after: cursor.map { try Query.Cursor(data: $0.data) })
        ids += page.records.map(\.id)
        cursor = page.next
        pages += 1
        #expect(page.records.count <= paged.limit ?? 0 && pages < 200)
      } while cursor != nil && pages < 200
      #expect(ids == answer.map(\.id), "\(query)")
      #expect(try database.records(paged).map(\.id) == Array(answer.map(\.id).prefix(paged.limit ?? 0)))
      #expect(try database.count(paged) == min(paged.limit ?? 0, expected.count))
    }
    #expect(found > 100)
    try database.expectClean()
  }

  @Test("snapshots, transactions and asynchronous calls answer as the database does, transactions with their own changes")
  func doors() async throws {
    let database = try Database.scratch()
    for number in 0..<5 { try database.put("n\(number)", ["n": .int(Int64(number))]) }
    let query = Query("Note", where: .field("n") >= 2, sort: [.descending("n")])
    let names = ["n4", "n3", "n2"]
    #expect(try now { try database.records(query).map(\.id.name) } == names)
    let snapshot = try database.snapshot()
    try now {
      try database.write { transaction in
        try transaction.delete(Record.ID("n3"))
        try transaction.save(.fresh("n9", ["n": 9]))
        #expect(try transaction.records(query).map(\.id.name) == ["n9", "n4", "n2"])
        #expect(try transaction.count(query) == 3)
        #expect(try transaction.query(query).next == nil)
      }
    }
    #expect(try snapshot.records(query).map(\.id.name) == names)
    #expect(try snapshot.count(query) == 3)
    #expect(try await database.records(query).map(\.id.name) == ["n9", "n4", "n2"])
    #expect(try await database.count(query) == 3)
    #expect(try await database.query(query).records.count == 3)
    #expect(try await database.explain(query).access == .scan)
    var limited = query
    limited.limit = 2
    var pages: [[String]] = []
    for try await page in database.queryPages(limited) { pages.append(page.records.map(\.id.name)) }
    #expect(pages == [["n9", "n4"], ["n2"]])
  }

  @Test("records of a result have the keys that are asked for")
  func desiredKeys() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1, "title": "x"])
    for sort in [[], [Query.Sort.ascending("n")]] {
      let query = Query("Note", where: .field("n") == 1, sort: sort)
      #expect(try database.records(query, desiredKeys: ["title"]).first?.keys == ["title"])
      #expect(try database.query(query, desiredKeys: []).records.first?.keys == [])
    }
  }

  @Test("pages of a database that changes have every record that was not saved meanwhile exactly once")
  func pagesUnderWrites() throws {
    for sort in [[], [Query.Sort.ascending("n")], [.descending("n")]] {
      let database = try Database.scratch()
      for number in 0..<40 { try database.put("n\(number)", ["n": .int(Int64(number % 7))]) }
      var random = SeededGenerator(seed: 3)
      var touched = Set<String>()
      var seen: [String] = []
      var cursor: Query.Cursor?
      let query = Query("Note", where: .field("n") >= 0, sort: sort, limit: 6)
      repeat {
        let page = try database.query(query, after: cursor)
        seen += page.records.map(\.id.name)
        cursor = page.next
        for _ in 0..<3 where cursor != nil && seen.count < 60 {
          let name = "n\(random.next() % 40)"
          touched.insert(name)
          if random.next() % 3 == 0 {
            try database.delete(Record.ID(name))
          } else {
            try database.put(name, ["n": .int(Int64(random.next() % 7))])
          }
        }
      } while cursor != nil
      for number in 0..<40 where !touched.contains("n\(number)") {
        #expect(seen.filter { $0 == "n\(number)" }.count == 1, "\(sort) n\(number)")
      }
    }
  }

  @Test("pages of a snapshot have every record once, whatever is saved meanwhile")
  func pagesOfSnapshot() throws {
    let database = try Database.scratch()
    for number in 0..<20 { try database.put("n\(number)", ["n": .int(Int64(number))]) }
    let snapshot = try database.snapshot()
    for sort in [[], [Query.Sort.descending("n")]] {
      var names: [String] = []
      var cursor: Query.Cursor?
      repeat {
        let page = try snapshot.query(Query("Note", where: .field("n") >= 0, sort: sort, limit: 3), after: cursor)
        names += page.records.map(\.id.name)
        cursor = page.next
        try database.put("n\(names.count % 20)", ["n": 100])
      } while cursor != nil
      #expect(names.count == 20 && Set(names).count == 20)
    }
  }

  @Test("a cursor goes on after its zone is gone, and after a compaction")
  func cursorsSurvive() throws {
    let database = try Database.scratch()
    let (a, b, c) = (try database.zone("A"), try database.zone("B"), try database.zone("C"))
    for zone in [a, b, c] { for number in 0..<4 { try database.put("n\(number)", in: zone, ["n": .int(Int64(number))]) } }
    for sort in [[], [Query.Sort.ascending(.recordType)]] {
      let query = Query("Note", sort: sort, limit: 6)
      let first = try database.query(query)
      #expect(first.records.last?.id.zone == b)
      if sort.isEmpty { try database.compact() } else { try database.deleteZone(b) }
      let rest = try database.query(query, after: first.next)
      let names = rest.records.map { "\($0.id.zone.name)\($0.id.name)" }
      #expect(names == (sort.isEmpty ? ["Bn2", "Bn3", "Cn0", "Cn1", "Cn2", "Cn3"] : ["Cn0", "Cn1", "Cn2", "Cn3"]))
    }
  }

  @Test("a cursor of a transaction that was rolled back passes for none of the next one, which has its number")
  func cursorOfRollback() throws {
    struct Stop: Error {}
    let database = try Database.scratch()
    for number in 0..<3 { try database.put("old\(number)") }
    var query = Query("Note")
    query.limit = 9
    var kept: (cursor: Query.Cursor?, record: RecordCursor?) = (nil, nil)
    #expect(throws: Stop.self) {
      try database.write { transaction in
        for number in 0..<10 { try transaction.save(.fresh("gone\(number)")) }
        let page = try transaction.query(query)
        // Within it all of them go on.
        #expect(try transaction.query(query, after: page.next).records.count == 4)
        let records = try transaction.recordPage(in: .default, ofType: "Note", limit: 9)
        kept = (page.next, records.next)
        throw Stop()
      }
    }
    try database.write { transaction in
      for number in 0..<10 { try transaction.save(.fresh("new\(number)")) }
    }
    let (cursor, record) = (try #require(kept.cursor), try #require(kept.record))
    #expect(failure { try database.query(query, after: cursor) }?.code == .changeTokenForked)
    #expect(
      failure { try database.recordPage(in: .default, ofType: "Note", after: record, limit: 9) }?.code == .changeTokenForked)
  }

  @Test(
    "a cursor into what a savepoint has rolled back passes for none of what follows in its transaction, or in the next one",
    arguments: [true, false])
  func cursorOfSavepoint(goesOn: Bool) throws {
    struct Stop: Error {}
    let database = try Database.scratch()
    for number in 0..<3 { try database.put("old\(number)") }
    var query = Query("Note")
    query.limit = 9
    var kept: (cursor: Query.Cursor?, record: RecordCursor?) = (nil, nil)
    func save(_ name: String, _ transaction: borrowing Transaction) throws {
      for number in 0..<10 { try transaction.save(.fresh("\(name)\(number)")) }
    }
    try database.write { (transaction: borrowing Transaction) in
      #expect(throws: Stop.self) {
        try transaction.savepoint {
          try save("gone", transaction)
          kept = (try transaction.query(query).next, try transaction.recordPage(in: .default, ofType: "Note", limit: 9).next)
          throw Stop()
        }
      }
      if goesOn { try save("new", transaction) }
    }
    if !goesOn { try database.write { (transaction: borrowing Transaction) in try save("new", transaction) } }
    let (cursor, record) = (try #require(kept.cursor), try #require(kept.record))
    #expect(failure { try database.query(query, after: cursor) }?.code == .changeTokenForked)
    #expect(
      failure { try database.recordPage(in: .default, ofType: "Note", after: record, limit: 9) }?.code == .changeTokenForked)
    #expect(try database.recordCount(in: .default) == 13)
    try database.expectClean()
    try database.compact()
    try database.expectClean()
  }

  @Test("a cursor into a savepoint counts no more when the savepoint around it is rolled back, too")
  func cursorOfInnerSavepoint() throws {
    struct Stop: Error {}
    let database = try Database.scratch()
    for number in 0..<3 { try database.put("old\(number)") }
    let query = Query("Note", limit: 9)
    var kept: Query.Cursor?
    try database.write { (transaction: borrowing Transaction) in
      try transaction.save(.fresh("before"))
      do {
        try transaction.savepoint {
          try transaction.save(.fresh("outer"))
          do {
            try transaction.savepoint {
              for number in 0..<10 { try transaction.save(.fresh("gone\(number)")) }
              kept = try transaction.query(query).next
              throw Stop()
            }
          } catch is Stop {}
          throw Stop()
        }
      } catch is Stop {}
      for number in 0..<10 { try transaction.save(.fresh("new\(number)")) }
    }
    let cursor = try #require(kept)
    #expect(failure { try database.query(query, after: cursor) }?.code == .changeTokenForked)
    #expect(try database.recordCount(in: .default) == 14)
    try database.expectClean()
  }

  @Test("a cursor of a page of a type is refused after a backup was restored, and waits for a snapshot that is older")
  func recordCursorOfAnotherHistory() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for number in 0..<10 { try database.put("a\(number)") }
    let old = try database.snapshot()
    try database.backup(to: "copy.daybook", disk: disk)
    for number in 0..<20 { try database.put("b\(number)") }
    let page = try database.recordPage(in: .default, ofType: "Note", limit: 25)
    let next = try #require(page.next)
    #expect(try database.recordPage(in: .default, ofType: "Note", after: next, limit: 25).records.count == 5)
    let waiting = try old.recordPage(in: .default, ofType: "Note", after: next, limit: 25)
    #expect(waiting.records.isEmpty && waiting.next == next)
    try database.close()
    let copy = try Database.open(at: "copy.daybook", options: .simulated(seed: 3), disk: disk)
    func refusal() -> DatabaseError.Code? {
      failure { try copy.recordPage(in: .default, ofType: "Note", after: next, limit: 9) }?.code
    }
    #expect(refusal() == .changeTokenForked)
    for number in 0..<30 { try copy.put("c\(number)") }
    #expect(refusal() == .changeTokenForked)
    try copy.close()
  }

  @Test("a cursor is refused after a backup was restored, and does not pass over what was saved there")
  func cursorOfAnotherHistory() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for number in 0..<10 { try database.put("a\(number)") }
    let query = Query("Note", limit: 5)
    let early = try #require(try database.query(query).next)
    try database.backup(to: "copy.daybook", disk: disk)
    for number in 0..<20 { try database.put("b\(number)") }
    var long = query
    long.limit = 25
    let late = try #require(try database.query(long).next)
    #expect(try database.query(long, after: late).records.count == 5)
    try database.close()
    let copy = try Database.open(at: "copy.daybook", options: .simulated(seed: 3), disk: disk)
    // Before and after the copy has a commit of that number.
    #expect(failure { try copy.query(long, after: late) }?.code == .changeTokenForked)
    for number in 0..<30 { try copy.put("c\(number)") }
    #expect(failure { try copy.query(long, after: late) }?.code == .changeTokenForked)
    #expect(failure { try copy.query(long, after: Query.Cursor(data: late.data)) }?.code == .changeTokenForked)
    // What both have in common goes on.
    #expect(try copy.query(query, after: early).records.map(\.id.name) == (5..<10).map { "a\($0)" })
    try copy.close()
  }

  @Test("a cursor that is ahead of a database gives an empty page with itself, and goes on after a refresh")
  func cursorAhead() throws {
    let disk = SimulatedDisk(seed: 1)
    func open(_ seed: UInt64) throws -> Database {
      var options = Database.Options.simulated(seed: seed)
      options.lock = .perTransaction
      return try Database.open(at: "test.daybook", options: options, disk: disk)
    }
    let (a, b) = (try open(1), try open(2))
    for number in 0..<10 { try a.put("n\(number)") }
    try b.refresh()
    let old = try b.snapshot()
    for number in 10..<30 { try a.put("n\(number)") }
    let query = Query("Note", limit: 12)
    let page = try a.query(query)
    #expect(page.records.count == 12)
    for _ in 0..<2 {
      let waiting = try b.query(query, after: page.next)
      #expect(waiting.records.isEmpty && waiting.next == page.next)
    }
    try b.refresh()
    #expect(try b.query(query, after: page.next).records.map(\.id.name) == (12..<24).map { "n\($0)" })
    let waiting = try old.query(query, after: page.next)
    #expect(waiting.records.isEmpty && waiting.next == page.next)
    // In a transaction with its own records, too.
    try a.write { transaction in
      for number in 30..<40 { try transaction.save(.fresh("n\(number)")) }
      var cursor: Query.Cursor?
      var names: [String] = []
      repeat {
        let page = try transaction.query(query, after: cursor)
        names += page.records.map(\.id.name)
        cursor = page.next
      } while cursor != nil
      #expect(names == (0..<40).map { "n\($0)" })
    }
    try a.close()
    try b.close()
  }

  @Test("a cursor belongs to its query and its database, and strange bytes are none")
  func cursorRefusals() throws {
    let database = try Database.scratch()
    for number in 0..<4 { try database.put("n\(number)", ["n": .int(Int64(number))]) }
    for sort in [[], [Query.Sort.ascending("n")]] {
      let query = Query("Note", sort: sort, limit: 2)
      let cursor = try #require(try database.query(query).next)
      var other = query
      other.limit = 1
      #expect(try database.query(other, after: cursor).records.map(\.id.name) == ["n2"])
      other.predicate = .field("n") > 0
      #expect(failure { try database.query(other, after: cursor) }?.code == .invalidArguments)
      let elsewhere = try Database.scratch(seed: 9)
      try elsewhere.put("n")
      #expect(failure { try elsewhere.query(query, after: cursor) }?.code == .invalidArguments)
      #expect(try JSONDecoder().decode(Query.Cursor.self, from: JSONEncoder().encode(cursor)) == cursor)
      let bytes = [UInt8](cursor.data)
      for index in bytes.indices {
        var changed = bytes
        changed[index] ^= 0x41
        #expect(failure { try Query.Cursor(data: Data(changed)) } != nil)
        #expect(failure { try Query.Cursor(data: Data(bytes[..<index])) } != nil)
        // With the checksum put right: an answer or a refusal.
        var forged = Array(changed.dropLast(4))
        let sum = UTF8Order.withView(of: forged) { ShortChecksum.of($0) }
        forged += (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * UInt32($0))) }
        if let cursor = try? Query.Cursor(data: Data(forged)) { _ = try? database.query(query, after: cursor) }
      }
    }
  }

  @Test("a sort keeps its memory bounded: many passes give what one gives")
  func passes() throws {
    let database = try Database.scratch()
    let zones = [try database.zone("A"), Zone.ID.default]
    for number in 0..<60 { try database.put("n\(number)", in: zones[number % 2], ["n": .int(Int64(number * 37 % 11))]) }
    let order = SortOrder([.ascending("n")])
    let query = Query("Note", sort: [.ascending("n")])
    let whole = try database.records(query)
    let names: [String] = try database.reading { (view) throws(DatabaseError) in
      var rows = SortedRows(order, zones: [.default, zones[0]].sorted(), capacity: 7)
      var scan = QueryScan(view, try view.prepare(Query("Note")), stop: nil)
      while let found = try scan.next() {
        rows.offer(found)
        scan.drop(found)
      }
      #expect(rows.isCut && rows.rows.count == 7)
      return rows.sorted().map { String(decoding: $0.name, as: UTF8.self) }
    }
    #expect(names == whole.prefix(7).map(\.id.name))
  }

  @Test("numbers, dates, texts, bytes, places, references, lists: the kinds follow one another, and what is absent comes last")
  func mixedKinds() throws {
    let database = try Database.scratch()
    let values: [(String, Record.Value?)] = [
      ("absent", nil), ("list", .strings(["a"])), ("reference", .reference(.init(try Record.ID("x")))), ("text", "a"),
      ("place", .location(.init(latitude: 1, longitude: 1))), ("bytes", .bytes(Data([1]))), ("date", .date(Date())),
      ("number", 5),
      ("half", 4.5), ("asset", .asset(Asset(data: Data([1])))),
    ]
    for (name, value) in values { try database.put(name, value.map { ["k": $0] } ?? [:]) }
    let up = ["half", "number", "date", "text", "bytes", "place", "reference", "list", "absent", "asset"]
    #expect(try database.records(Query("Note", sort: [.ascending("k")])).map(\.id.name) == up)
    let down = Array(up.dropLast(2).reversed()) + ["absent", "asset"]
    #expect(try database.records(Query("Note", sort: [.descending("k")])).map(\.id.name) == down)
  }

  @Test(
    "pages over zones of one name end, whoever the other owner is, and zones come in the order that they are listed in",
    arguments: ["_1234", "Zed", "_abc", "0", "__defaultOwner", "zoe"])
  func zonesOfOneName(owner: String) throws {
    for sort in [[], [Query.Sort.ascending("n")], [.descending("n")]] {
      let database = try Database.scratch()
      let zones = [try Zone.ID("Library"), try Zone.ID("Library", owner: owner), try Zone.ID("_defaultZone", owner: owner)]
      try database.write { transaction in
        for zone in zones {
          try transaction.save(Zone(zone))
          for number in 0..<4 { try transaction.save(.fresh("r\(number)", in: zone, type: "Note", ["n": 7])) }
        }
      }
      let listed = try database.zones().map(\.id)
      #expect(listed == listed.sorted() && Set(listed) == Set(zones + [.default]))
      var found: [Record.ID] = []
      var cursor: Query.Cursor?
      repeat {
        let page = try database.query(Query("Note", sort: sort, limit: 3), after: cursor)
        found += page.records.map(\.id)
        cursor = page.next
      } while cursor != nil && found.count < 40
      #expect(found.count == 12 && Set(found).count == 12)
      if sort != [.descending("n")] { #expect(found == found.sorted()) }
    }
  }

  @Test("what no database takes is refused with the reason")
  func refusals() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      var record = try Record.fresh("a", ["n": 1])
      record.encryptedValues["secret"] = 1
      try transaction.save(record)
    }
    let queries = [
      Query("no type"), Query("Note", where: .field("no key") == 1), Query("Note", where: .field("n") == Double.nan),
      Query("Note", where: .field("secret") == 1), Query("Note", sort: [.ascending("secret")]), Query("Note", limit: 0),
      Query("Note", where: .field("n") == Asset(data: Data())), Query("Note", sort: [.ascending("no key")]),
    ]
    for query in queries {
      #expect(failure { try database.records(query) }?.code == .invalidArguments, "\(query)")
      #expect(failure { try database.explain(query) }?.code == .invalidArguments)
      #expect(failure { try database.count(query) }?.code == .invalidArguments)
      #expect(failure { try database.query(query) }?.code == .invalidArguments)
    }
    #expect(failure { try database.records(Query("Note", in: Zone.ID("Nowhere"))) }?.code == .zoneNotFound)
    // An encrypted value is absent where the type is not said.
    #expect(try database.count(Query(where: .field("secret") == 1)) == 0)
    #expect(try database.count(Query(where: .field("secret").isAbsent)) == 1)
  }

  @Test("the dialect of CloudKit refuses what the service refuses, and looks at one zone")
  func cloudKit() throws {
    let database = try Database.scratch { $0.dialect = .cloudKit }
    let zone = try database.zone("Library")
    try database.put(
      "a",
      [
        "n": 1, "title": "Dune", "tags": .strings(["x"]), "data": .bytes(Data([1])),
        "place": .location(.init(latitude: 1, longitude: 1)),
      ])
    try database.put("b", in: zone, ["n": 1])
    let (n, title): (Query.Field, Query.Field) = (.field("n"), .field("title"))
    let here = Location(latitude: 1, longitude: 1)
    let refused: [Query.Predicate] = [
      n == 1 || n == 2, !(n == 1 && title == "x"), !n.between(1, 2), !Query.Predicate.tokens("x"),
      !Query.Field("place").near(here, within: 5), title.hasSuffix("e"), title.isLike("D*"), title.contains("un"), n.isAbsent,
      title.hasPrefix("d", options: .ignoringCase), .field("data") == Data([1]), .field("data") == 1, .field("place") == here,
      .recordName == "a", try Query.Predicate(format: "distanceToLocation:fromLocation:(place, location(1, 1)) > 5"),
    ]
    for predicate in refused {
      #expect(failure { try database.records(Query("Note", where: predicate)) }?.code == .invalidArguments, "\(predicate)")
    }
    #expect(failure { try database.records(Query(where: n == 1)) }?.code == .invalidArguments)
    #expect(failure { try database.records(Query("Note", sort: [.ascending("tags")])) }?.code == .invalidArguments)
    let taken: [Query.Predicate] = [
      .true, n == 1 && title == "dune", !(title == "x"), title.hasPrefix("D"), .field("tags").contains("X"), .tokens("dune"),
      .field("place").near(here, within: 5), n.isIn([1, 2]), .field("tags").any.hasPrefix("x"),
      .creationDate > Date.distantPast,
      n.between(0, 2),
    ]
    for predicate in taken {
      #expect(try database.records(Query("Note", where: predicate)).map(\.id.name) == ["a"], "\(predicate)")
    }
    #expect(try database.records(Query("Note", in: zone)).map(\.id.name) == ["b"])
    #expect(try database.records(Query("Note", sort: [.distance(of: "place", from: here)])).count == 1)
  }

  @Test("a query of a task that is cancelled ends")
  func cancellation() async throws {
    let database = try Database.scratch()
    try now {
      try database.write { transaction in
        for number in 0..<2000 { try transaction.save(.fresh("n\(number)", ["n": .int(Int64(number))])) }
      }
    }
    let query = Query("Note", where: .field("n") < 0)
    let asynchronous = Task {
      while true { _ = try await database.records(query) }
    }
    asynchronous.cancel()
    await #expect(throws: CancellationError.self) { try await asynchronous.value }
    let synchronous = Task { () -> DatabaseError? in
      while !Task.isCancelled { await Task.yield() }
      return failure { try now { try database.count(query) } }
    }
    synchronous.cancel()
    #expect(await synchronous.value?.code == .operationCancelled)
    let stop = QueryStop()
    stop.set()
    let stopped = failure {
      try database.reading { (view) throws(DatabaseError) in try view.records(query, desiredKeys: nil, stop) }
    }
    #expect(stopped?.code == .operationCancelled)
  }

  @Test("a lookup of many names, and explain, end with their task")
  func cancellationBeforeTheFirstRecord() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.put("n1", ["n": 1])
    try database.setIndex(.queryable, on: "n", ofType: "Note")
    let (going, stopped) = (QueryStop(), QueryStop())
    stopped.set()
    let names = Query.Predicate(Query.Condition(.recordName, .isIn((0..<1000).map { .string("n\($0)") })))
    for query in [Query("Note", where: names), Query("Note", where: .field("n") == 1)] {
      func explained(_ stop: QueryStop) throws(DatabaseError) -> Query.Plan {
        try database.reading { (view) throws(DatabaseError) in try view.explain(query, stop) }
      }
      #expect(try explained(going).recordCount == 1)
      #expect(failure { try explained(stopped) }?.code == .operationCancelled)
    }
  }

  @Test("a query over a few long records ends soon, too")
  func cancellationAmongLongRecords() throws {
    let database = try Database.scratch()
    let text = String(repeating: "x", count: 700_000)
    for name in ["a", "b", "c"] { try database.put(name, ["title": .string(text)]) }
    let stop = QueryStop()
    stop.set()
    for sort in [[], [Query.Sort.ascending("title")]] {
      let stopped = failure {
        try database.reading { (view) throws(DatabaseError) in
          try view.records(Query("Note", sort: sort), desiredKeys: nil, stop)
        }
      }
      #expect(stopped?.code == .operationCancelled)
    }
  }

  @Test("a damaged record is told, and never answered")
  func damage() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.open(at: path)
    for number in 0..<3 { try database.put("n\(number)", ["title": .string("find me \(number)")]) }
    try database.close()
    var bytes = try Data(contentsOf: URL(filePath: path))
    let place = try #require(bytes.range(of: Data("find me 1".utf8)))
    bytes[place.upperBound - 1] ^= 1
    try bytes.write(to: URL(filePath: path))
    var options = Database.Options()
    options.isReadOnly = true
    let damaged = try Database.open(at: path, options: options)
    // Told by the query, or by the open, which then shows what was there before.
    let error = failure { try damaged.records(Query("Note", where: .field("title").hasPrefix("find"))) }
    #expect(error?.code == .corrupted || damaged.lastRecovery.lostSequences != nil)
    #expect(failure { try damaged.count(Query("Note", where: .field("title") == "find me 0")) }?.code == error?.code)
  }

  @Test(
    "pages of a query and of a feed end, and nothing traps, where the options ask for pages of none",
    arguments: [0, -1, Int.min])
  func emptyPages(changesPerPage: Int) throws {
    let database = try Database.scratch { $0.limits.changesPerPage = changesPerPage }
    let zone = try database.zone("Library")
    for number in 0..<3 { _ = try database.save(.fresh("r\(number)", in: zone, type: "Movie", ["a": .int(Int64(number))])) }
    for query in [Query("Movie", in: zone), Query("Movie", sort: [.descending("a")], in: zone)] {
      var names: [String] = []
      var cursor: Query.Cursor?
      var pageCount = 0
      repeat {
        let page = try database.query(query, after: cursor)
        names += page.records.map(\.id.name)
        cursor = page.next
        pageCount += 1
      } while cursor != nil && pageCount < 10
      #expect(Set(names) == ["r0", "r1", "r2"] && pageCount <= 4)
    }
    var token: ChangeToken?
    var names: [String] = []
    for _ in 0..<10 {
      let page = try database.changes(in: zone, since: token)
      names += page.saved.map(\.id.name)
      token = page.token
      if !page.moreComing { break }
    }
    #expect(names == ["r0", "r1", "r2"])
    #expect(try database.databaseChanges(since: nil).changed == [zone])
  }
}

extension Record {
  /// The record with a change.
  fileprivate func changed(_ change: (inout Record) -> Void) -> Record {
    var copy = self
    change(&copy)
    return copy
  }
}
