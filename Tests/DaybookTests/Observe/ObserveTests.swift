import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Values that follow the database: what is observed is what would be read, whatever is saved, deleted and done elsewhere; no
// more is read than has to be; and who does not ask any more costs nothing.

@Suite("observation", .timeLimit(.minutes(15)))
struct ObserveTests {
  /// An observer of a query, and its consumer.
  private struct Observed {
    let query: Query
    let registration: Observer<ObservedQuery>.Registration
    var differences: AsyncThrowingStream<Query.Difference, any Error>.Iterator
    var last: [Record] = []
    var applied: [Record] = []
    var counts: AsyncThrowingStream<Int, any Error>.Iterator
    var lastCount: Int?
    var count = 0

    init(_ query: Query, _ database: Database) {
      self.query = query
      registration = .init(ObservedQuery(query, desiredKeys: nil, in: database), of: database)
      differences = database.observeDifferences(query).makeAsyncIterator()
      counts = database.observeCount(query).makeAsyncIterator()
    }

    /// Takes values until they are what the query finds. One that never comes is an endless loop, which the time limit ends.
    mutating func follow(_ database: Database) async throws {
      let expected = try now { try database.records(query) }
      while count == 0 || last != expected {
        last = try #require(try await registration.next())
        count += 1
      }
      while lastCount != expected.count {
        let next: Int = try #require(try await counts.next())
        lastCount = next
      }
      while applied != expected {
        let difference = try #require(try await differences.next())
        applied = try #require(difference.applied(to: applied))
        #expect(applied.count == difference.count)
      }
    }
  }

  private func queries(_ random: inout RandomQueries, _ zones: [Zone.ID]) -> [Query] {
    var queries: [Query] = []
    while queries.count < 14 {
      let sort = (0..<random.number(3)).map { _ in
        var step = Query.Sort(Query.Field(key: random.pick(RandomQueries.keys)), ascending: random.chance(2))
        if random.chance(5) { step.place = random.place() }
        if random.chance(5) { step.field = random.pick([.recordName, .modificationDate, .recordID]) }
        return step
      }
      var predicate = random.chance(3) ? .true : random.predicate()
      // Those that are found by the value that they ask for.
      if random.chance(3) {
        let field = Query.Field(key: random.pick(RandomQueries.keys))
        let equality = Query.Condition(field, .compare(.equal, .value(random.value(zone: random.pick(zones)))))
        predicate = random.chance(2) ? Query.Predicate(equality) : Query.Predicate(equality) && predicate
      }
      var query = Query(random.pick(["Movie", "Song"]), where: predicate, sort: sort)
      if random.chance(4) { query.recordType = nil }
      if random.chance(3) { query.zone = random.pick([zones[0], zones[1]]) }
      if random.chance(2) { query.limit = random.number(12) + 1 }
      let text = query.predicate.description
      if !text.contains("secret"), !text.contains("now()") { queries.append(query) }
    }
    return queries
  }

  @Test("what is observed is what the query finds, after any saves and deletes", arguments: 0..<4 as Range<UInt64>)
  func model(seed: UInt64) async throws {
    var random = RandomQueries(seed: seed)
    let database = try Database.scratch(seed: seed)
    let (library, other) = try now { (try database.zone("Library"), try database.zone("Other")) }
    let zones = [Zone.ID.default, library, other]
    func change(_ transaction: borrowing Transaction, _ random: inout RandomQueries) throws {
      var zone = random.pick(zones)
      let name = "n\(random.number(60))"
      if random.chance(4) {
        if try transaction.record(Record.ID(name, in: zone)) != nil { try transaction.delete(Record.ID(name, in: zone)) }
        return
      }
      if zone == other, random.chance(12) {
        try transaction.deleteZone(other)
        try transaction.save(Zone(other))
        zone = other
      }
      var values: [String: Record.Value] = [:]
      for key in RandomQueries.keys where !random.chance(3) { values[key] = random.value(zone: zone) }
      let type = try transaction.record(Record.ID(name, in: zone))?.type ?? random.pick(["Movie", "Song"])
      try transaction.save(.fresh(name, in: zone, type: type, values), policy: .replace)
    }
    // Every key is known of every type, so that all queries are taken.
    try now {
      try database.write { transaction in
        for type in ["Movie", "Song"] {
          let values = Dictionary(uniqueKeysWithValues: RandomQueries.keys.map { ($0, Record.Value.int(1)) })
          try transaction.save(.fresh("all \(type)", type: type, values))
        }
        for _ in 0..<80 { try change(transaction, &random) }
      }
    }
    var observed = queries(&random, zones).map { Observed($0, database) }
    for step in 0..<60 {
      for index in observed.indices where step == 0 || random.chance(2) { try await observed[index].follow(database) }
      try now {
        for _ in 0..<random.number(4) {
          try database.write { transaction in
            for _ in 0..<1 + random.number(4) { try change(transaction, &random) }
            try? transaction.savepoint {
              try change(transaction, &random)
              throw Intended()
            }
          }
        }
      }
    }
    for index in observed.indices {
      try await observed[index].follow(database)
      let (query, reads) = (observed[index].query, observed[index].registration.observer.readCount)
      if query.limit == nil, query.zone != nil { #expect(reads == 1, "\(query)") }
    }
  }

  @Test("an observer of one value of a field sees what gets it and what loses it, and of equal values each")
  func equalities() async throws {
    let database = try Database.scratch()
    let zone = Zone.ID.default
    let values: [Record.Value] = [
      .int(0), .double(0), .double(-0.0), .int(1), .double(1), .int(1 << 53), .int(1 << 53 + 1), .string("e\u{301}"),
      .string("é"),
      .string(""), .string("\0"), .bytes(Data()), .bytes(Data([0])), .date(Date(timeIntervalSinceReferenceDate: 1)),
      .reference(Record.Reference(try Record.ID("a", in: zone))),
      .reference(Record.Reference(try Record.ID("b", in: zone))), .string(String(repeating: "x", count: 300)),
      .string(String(repeating: "x", count: 301)),
    ]
    let kinds = Dictionary(grouping: values, by: \.kind)
    // A field has one kind at a time of a type; numbers are whole or not.
    for (kind, values) in kinds {
      let all = values + (kind == .int ? kinds[.double] ?? [] : kind == .double ? kinds[.int] ?? [] : [])
      let key = "k\(kind.rawValue)"
      try now { try database.put("first \(kind.rawValue)", [key: values[0]]) }
      var observed = all.map {
        Observed(
          Query("Note", where: Query.Predicate(Query.Condition(Query.Field(key: key), .compare(.equal, .value($0))))), database)
      }
      for index in observed.indices { try await observed[index].follow(database) }
      for value in values + values.reversed() {
        try now { try database.put("n", [key: value]) }
        for index in observed.indices { try await observed[index].follow(database) }
      }
      try now { try database.delete(Record.ID("n")) }
      for index in observed.indices { try await observed[index].follow(database) }
    }
  }

  @Test("a commit that cannot change the result gives nothing, and one that can is not read but applied")
  func onlyWhatMatters() async throws {
    let database = try Database.scratch()
    let query = Query("Note", where: .field("n") > 10, sort: [.ascending("n")], limit: 3)
    try now { for number in 1...20 { try database.put("n\(number)", ["n": .int(Int64(number))]) } }
    let observer = Observer.Registration(ObservedQuery(query, desiredKeys: nil, in: database), of: database)
    func next() async throws -> [String] { try await observer.next()?.map(\.id.name) ?? [] }
    #expect(try await next() == ["n11", "n12", "n13"])
    try now {
      try database.put("n5", ["n": 6])
      try database.put("n19", ["n": 99])
      try database.put("map", type: "Map", ["n": 12])
      try database.write { try $0.setMetadata(Data([1]), forKey: "state") }
      try database.put("n12", ["n": 2])
    }
    #expect(try await next() == ["n11", "n13", "n14"])
    try now { try database.delete(Record.ID("n11")) }
    #expect(try await next() == ["n13", "n14", "n15"])
    try now { try database.put("n13", ["title": "same place"]) }
    #expect(try await next() == ["n13", "n14", "n15"])
    #expect(observer.observer.readCount == 1)
  }

  @Test("a limit is filled up again when more is deleted than was kept in reserve")
  func refill() async throws {
    let database = try Database.scratch()
    try now { for number in 10..<90 { try database.put("n\(number)", ["n": .int(Int64(number))]) } }
    for sort in [[], [Query.Sort.ascending("n")]] {
      let query = Query("Note", where: .field("n") > 0, sort: sort, limit: 4)
      let observer = Observer.Registration(ObservedQuery(query, desiredKeys: nil, in: database), of: database)
      _ = try await observer.next()
      for _ in 0..<30 {
        let expected = try now {
          let first = try #require(try database.records(query).first)
          try database.delete(first.id)
          return try database.records(query).map(\.id)
        }
        #expect(try await observer.next()?.map(\.id) == expected)
      }
      #expect((2...3).contains(observer.observer.readCount))
    }
  }

  @Test("a list with a limit hears that all of its rows went at once, and when what is left looks like rows that it kept")
  func allRowsGone() async throws {
    let cases = [(100, 2, 0), (100, 2, 1), (18, 2, 0), (18, 2, 1), (18, 2, 2), (100, 50, 0), (70, 50, 3), (10, 2, 0)]
    for (count, limit, keptCount) in cases {
      for sort in [[], [Query.Sort.ascending("n")]] {
        let database = try Database.scratch()
        try now {
          try database.write {
            for number in 0..<count { try $0.save(.fresh("n\(number)", type: "Note", ["n": .int(Int64(number))])) }
          }
        }
        let query = Query("Note", sort: sort, limit: limit)
        var values = database.observe(query).makeAsyncIterator()
        var differences = database.observeDifferences(query).makeAsyncIterator()
        var applied = try #require(try await differences.next()?.applied(to: []))
        #expect(try await values.next()?.count == min(count, limit) && applied.count == min(count, limit))
        let expected = try now {
          try database.write { for number in 0..<count - keptCount { try $0.delete(Record.ID("n\(number)")) } }
          return try database.records(query)
        }
        #expect(try await values.next() == expected, "\(keptCount) of \(count) are left, \(limit) are shown")
        applied = try #require(try await differences.next()?.applied(to: applied))
        #expect(applied == expected)
      }
    }
  }

  @Test("a record after all that is kept in reserve does not come before those that are not kept")
  func beyondReserve() async throws {
    let database = try Database.scratch()
    try now { for number in 10..<90 { try database.put("n\(number)", ["n": .int(Int64(number))]) } }
    let query = Query("Note", where: .field("n") > 0, sort: [.ascending("n")], limit: 4)
    let observer = Observer.Registration(ObservedQuery(query, desiredKeys: nil, in: database), of: database)
    _ = try await observer.next()
    // Twenty are kept: ten go, one comes after the others, seven go. What is left of the reserve is three and that one.
    for number in 10..<27 {
      try now {
        if number == 20 { try database.put("n99", ["n": 99]) }
        try database.delete(Record.ID("n\(number)"))
      }
      let expected = try now { try database.records(query).map(\.id.name) }
      #expect(try await observer.next()?.map(\.id.name) == expected)
    }
  }

  @Test("a consumer that does not ask gets the newest value, and after very many changes it is read again")
  func slowConsumer() async throws {
    let database = try Database.scratch()
    let query = Query("Note", where: .field("n") >= 0, sort: [.descending("n")], limit: 1)
    let observer = Observer.Registration(ObservedQuery(query, desiredKeys: nil, in: database), of: database)
    try now { try database.put("n", ["n": 0]) }
    #expect(try await observer.next()?.first?["n"] == 0)
    var total = 0
    for count in [500, 5000] {
      try now {
        for _ in 0..<count / 50 {
          try database.write { transaction in
            for _ in 0..<50 {
              total += 1
              try transaction.save(.fresh("n\(total % 100)", ["n": .int(Int64(total))]), policy: .replace)
            }
          }
        }
      }
      var values: [Int] = []
      while values.last != total { values.append(try #require(try await observer.next()?.first?["n"])) }
      // Where the group's thread is slower than the consumer, what it has seen so far is a value, too.
      #expect(values == values.sorted() && values.count < count / 50)
    }
    #expect(observer.observer.readCount <= 3)
  }

  @Test("a record and a count are followed")
  func recordsAndCounts() async throws {
    let database = try Database.scratch()
    let id = try Record.ID("n")
    var record = database.observe(id).makeAsyncIterator()
    var count = database.observeCount(Query("Note", where: .field("n") > 5, limit: 2)).makeAsyncIterator()
    try now { try database.put("known", ["n": 0]) }
    #expect(try await record.next() == .some(nil))
    #expect(try await count.next() == 0)
    try now { try database.put("n", ["n": 6]) }
    #expect(try await record.next()??["n"] == 6)
    #expect(try await count.next() == 1)
    try now {
      try database.put("m", ["n": 7])
      try database.put("o", ["n": 8])
      try database.delete(id)
    }
    while try await record.next() != .some(nil) {}
    while try await count.next() != 2 {}
    try now { for name in ["m", "o"] { try database.delete(Record.ID(name)) } }
    while try await count.next() != 0 {}
  }

  private final class Target: ObservationTarget {
    let key: ObservationKey? = nil
    let hasEnded = Locked(false)
    func tell(_ commit: CommitChanges, _ records: [RecordChange]) {}
    func tellOfUnknown() {}
    func finish() { hasEnded.withLock { $0 = true } }
  }

  @Test("what begins to be observed while the database closes does not wait without end")
  func closing() async throws {
    let database = try Database.scratch()
    let interest = WatchInterest(types: ["Note"])
    let (early, late) = (Target(), Target())
    #expect(database.observations.add(early, interest))
    database.hub.finish()
    // The early one has been told, and is there still.
    #expect(early.hasEnded.withLock { $0 })
    #expect(!database.observations.add(late, interest))
    let registration = Observer.Registration(ObservedQuery(Query("Note"), desiredKeys: nil, in: database), of: database)
    #expect(try await registration.next() == nil, "still open for reads")
    try now { try database.close() }
    await #expect(throws: DatabaseError.self) { _ = try await registration.next() }
  }

  @Test("a stream that is released, cancelled or whose database is closed costs nothing more")
  func forgotten() async throws {
    let database = try Database.scratch()
    try now { try database.put("n", ["n": 1]) }
    #expect(database.observations.groupCount == 0 && database.hub.recorder() == nil)
    do {
      var iterator = database.observe(Query("Note")).makeAsyncIterator()
      _ = try await iterator.next()
      #expect(database.observations.groupCount == 1 && database.hub.recorder() != nil)
    }
    #expect(database.observations.groupCount == 0 && database.hub.recorder() == nil)
    let first = Locked(false)
    let stream = database.observe(Query("Note"))
    let task = Task {
      var count = 0
      for try await _ in stream {
        count += 1
        first.withLock { $0 = true }
      }
      return count
    }
    while !first.withLock({ $0 }) { await Task.yield() }
    task.cancel()
    #expect(try await task.value == 1)
    #expect(database.observations.groupCount == 0)
    var last = database.observe(Query("Note")).makeAsyncIterator()
    _ = try await last.next()
    try now { try database.close() }
    #expect(try await last.next() == nil)
    var late = database.observe(Query("Note")).makeAsyncIterator()
    await #expect(throws: DatabaseError.self) { _ = try await late.next() }
  }

  @Test("many observers of a type are one watcher for the writer")
  func manyObservers() async throws {
    let database = try Database.scratch()
    try now { try database.put("n", ["n": 0]) }
    var iterators = (0..<100).map { number in
      database.observe(Query("Note", where: .field("n") == number)).makeAsyncIterator()
    }
    for index in iterators.indices { #expect(try await iterators[index].next()?.count == (index == 0 ? 1 : 0)) }
    #expect(database.observations.groupCount == 1)
    try now { try database.put("n", ["n": 42]) }
    #expect(try await iterators[0].next()?.count == 0)
    #expect(try await iterators[42].next()?.count == 1)
  }

  @Test("a record that is deleted just before its zone is missed by its observers, also when it was the last of its type")
  func deletedBeforeZone() async throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("Z")
    let (last, other) = (try Record.ID("last", in: zone), try Record.ID("other", in: zone))
    try now {
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(Record(type: "Note", id: last))
        try transaction.save(Record(type: "Task", id: other))
      }
    }
    var rows = database.observe(Query("Note")).makeAsyncIterator()
    var counts = database.observeCount(Query("Note")).makeAsyncIterator()
    var tasks = database.observeCount(Query("Task")).makeAsyncIterator()
    let (found, number, taskNumber) = (try await rows.next(), try await counts.next(), try await tasks.next())
    #expect(found?.map(\.id) == [last] && number == 1 && taskNumber == 1)
    try now {
      try database.write { transaction in
        try transaction.delete(last)
        try transaction.deleteZone(zone)
      }
    }
    #expect(try await rows.next()?.isEmpty == true)
    #expect(try await counts.next() == 0)
    #expect(try await tasks.next() == 0)
  }

  @Test("a count whose limit is none gets the error of a read", arguments: [0, -1, Int.min])
  func countWithoutLimit(limit: Int) async throws {
    let database = try Database.scratch()
    var counts = database.observeCount(Query(Query("Note"), limit: limit)).makeAsyncIterator()
    let error = await #expect(throws: DatabaseError.self) { _ = try await counts.next() }
    #expect(error?.code == .invalidArguments)
  }

  @Test("an observer whose predicate has a NaN, or an asset, gets the error of a read, and the program goes on")
  func notANumber() async throws {
    let database = try Database.scratch()
    try now { try database.put("n", ["n": 5]) }
    let numbers: [Record.Value] = (0..<9).map { .int($0) } + [.double(.nan)]
    let asset = Record.Value.asset(Asset(data: Data()))
    let predicates: [Query.Predicate] = [
      .field("n").isIn(numbers), .field("n") > Double.nan, .init(.init(.init("n"), .compare(.equal, .value(asset)))),
    ]
    for predicate in predicates {
      let query = Query("Note", where: predicate)
      var observed = database.observe(query).makeAsyncIterator()
      var counts = database.observeCount(query).makeAsyncIterator()
      var differences = database.observeDifferences(query).makeAsyncIterator()
      try now { try database.put("n", ["n": 6]) }
      let errors = [
        await #expect(throws: DatabaseError.self) { _ = try await observed.next() },
        await #expect(throws: DatabaseError.self) { _ = try await counts.next() },
        await #expect(throws: DatabaseError.self) { _ = try await differences.next() },
      ]
      #expect(errors.allSatisfy { $0?.code == .invalidArguments }, "\(errors)")
    }
    #expect(database.observations.groupCount == 0)
  }

  @Test("a query that no database takes fails the stream, and so does a zone that is deleted")
  func failures() async throws {
    let database = try Database.scratch()
    try now { try database.put("n", ["n": 0]) }
    var refused = database.observe(Query("Note", limit: 0)).makeAsyncIterator()
    await #expect(throws: DatabaseError.self) { _ = try await refused.next() }
    let zone = try now { try database.zone("Library") }
    try now { try database.put("m", in: zone, ["n": 1]) }
    var inZone = database.observe(Query("Note", in: zone)).makeAsyncIterator()
    var everywhere = database.observe(Query("Note")).makeAsyncIterator()
    #expect(try await inZone.next()?.count == 1)
    #expect(try await everywhere.next()?.count == 2)
    try now { try database.deleteZone(zone) }
    #expect(try await everywhere.next()?.count == 1)
    let error = await #expect(throws: DatabaseError.self) { _ = try await inZone.next() }
    #expect(error?.code == .zoneNotFound)
    #expect(database.observations.groupCount == 1)
    // Also when nothing went with it that was observed.
    try now { try database.put("m", in: try database.zone("Empty"), type: "Other") }
    let empty = try Zone.ID("Empty")
    var inEmpty = database.observe(Query("Note", in: empty)).makeAsyncIterator()
    var count = database.observeCount(Query("Note", in: empty)).makeAsyncIterator()
    #expect(try await inEmpty.next()?.isEmpty == true)
    #expect(try await count.next() == 0)
    try now { try database.deleteZone(empty) }
    let gone = await #expect(throws: DatabaseError.self) { _ = try await inEmpty.next() }
    let goneCount = await #expect(throws: DatabaseError.self) { _ = try await count.next() }
    #expect(gone?.code == .zoneNotFound && goneCount?.code == .zoneNotFound)
  }

  @Test("a query with now() is read again with each commit to its type")
  func time() async throws {
    let clock = Locked(Date(timeIntervalSinceReferenceDate: 0))
    let database = try Database.scratch { $0.now = { clock.withLock { $0 } } }
    try now { try database.put("n", ["due": .date(Date(timeIntervalSinceReferenceDate: 100))]) }
    let query = Query("Note", where: try Query.Predicate(format: "due < now()"))
    var iterator = database.observe(query).makeAsyncIterator()
    #expect(try await iterator.next()?.count == 0)
    clock.withLock { $0 = Date(timeIntervalSinceReferenceDate: 200) }
    try now { try database.put("other", ["x": 1]) }
    #expect(try await iterator.next()?.map(\.id.name) == ["n"])
  }

  @Test("commits of other processes come with a refresh, a reopened file too")
  func others() async throws {
    let disk = SimulatedDisk(seed: 4)
    let writer = try now { try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction } }
    try now { try writer.put("a", ["n": 1]) }
    let other = try now { try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction } }
    var iterator = other.observe(Query("Note", sort: [.ascending("n")])).makeAsyncIterator()
    #expect(try await iterator.next()?.map(\.id.name) == ["a"])
    try now {
      try writer.put("b", ["n": 2])
      try other.refresh()
    }
    #expect(try await iterator.next()?.map(\.id.name) == ["a", "b"])
    try now {
      try writer.put("c", ["n": 3])
      try writer.compact()
      try other.put("d", ["n": 4])
    }
    while try await iterator.next()?.map(\.id.name) != ["a", "b", "c", "d"] {}
    try now {
      try writer.close()
      try other.close()
    }
  }

  @Test("records of a result have the keys that are asked for, and keep their order by others")
  func desiredKeys() async throws {
    let database = try Database.scratch()
    try now { for number in 1...3 { try database.put("n\(number)", ["n": .int(Int64(number)), "title": "x"]) } }
    var iterator = database.observe(Query("Note", sort: [.descending("n")]), desiredKeys: ["title"]).makeAsyncIterator()
    #expect(try await iterator.next()?.map(\.keys) == [["title"], ["title"], ["title"]])
    try now { try database.put("n1", ["n": 9]) }
    let records = try await iterator.next() ?? []
    #expect(records.map(\.id.name) == ["n1", "n3", "n2"] && records.allSatisfy { $0.keys == ["title"] })
  }
}
