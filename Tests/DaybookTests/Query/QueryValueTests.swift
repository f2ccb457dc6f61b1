import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// The least and the greatest value, all values with their counts, and counts: with an index and without they are those of a loop.

@Suite("values of queries")
struct QueryValueTests {
  private static let keys = ["n", "d", "t", "a", "b", "long"]

  private func filled(_ random: inout RandomQueries, _ database: Database) throws {
    let zones = [Zone.ID.default, try database.zone("Library")]
    try database.write { transaction in
      for number in 0..<400 {
        let zone = random.chance(4) ? zones[1] : zones[0]
        var values: [String: Record.Value] = [:]
        let one = Int64(random.number(30)) - 15
        values["n"] =
          random.chance(3) ? .double(Double(one) / 2) : random.chance(30) ? .int(.max - Int64(random.number(3))) : .int(one)
        if !random.chance(5) { values["d"] = .date(Date(timeIntervalSinceReferenceDate: Double(random.number(20)) / 4)) }
        if !random.chance(5) {
          values["t"] = random.chance(5) ? .bytes(Data([0, UInt8(random.number(3))])) : .string(random.text())
        }
        if !random.chance(3) { values["x"] = .double(Double(random.number(4))) }
        for key in ["a", "b"] where !random.chance(4) { values[key] = random.value(zone: zone) }
        if random.chance(2) { values["long"] = .string(String(repeating: "l", count: 250 + random.number(10))) }
        var record = try Record.fresh("r\(number)", in: zone, type: "Movie", values)
        if random.chance(9) { record["t"] = .asset(Asset(data: Data("content".utf8))) }
        if random.chance(9) { record.encryptedValues["secret"] = "x" }
        try transaction.save(record)
      }
    }
  }

  private func condition(_ random: inout RandomQueries, _ records: [Record]) -> Query.Predicate {
    let key = random.pick(["n", "d", "t", "x", "long", "a"])
    let value = random.pick(records).values[key] ?? .int(3)
    let other = random.pick(records).values[key] ?? .int(3)
    if value.kind.isAsset || other.kind.isAsset { return .true }
    let field = random.chance(4) ? Query.Field(key: key).any : Query.Field(key: key)
    switch random.number(7) {
    case 0: return field.isAbsent
    case 1: return Query.Predicate(Query.Condition(field, .isIn([value, other])))
    case 2: return Query.Predicate(Query.Condition(field, .between(.value(value), .value(other))))
    case 3: return field.hasPrefix(random.pick(["", "a", "É", "l", "S"]))
    case 4: return Query.Predicate(Query.Condition(field, .contains(value)))
    default:
      return Query.Predicate(Query.Condition(field, .compare(random.pick(Query.Comparison.allCases), .value(value))))
    }
  }

  private static func same(_ first: Record.Value?, _ second: Record.Value?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return ValueOrder.compare(first, second) == 0
  }

  private static func counts(_ list: [Query.ValueCount]) -> [Record.Value: Int] {
    Dictionary(list.map { ($0.value, $0.count) }) { $0 + $1 }
  }

  @Test(
    "least, greatest and distinct values and counts are those of a loop, with indexes and without",
    arguments: [nil, false, true])
  func loops(prefersIndexes: Bool?) throws {
    var random = RandomQueries(seed: 91)
    let database = try Database.scratch { $0.prefersIndexes = prefersIndexes ?? false }
    try filled(&random, database)
    if prefersIndexes != nil {
      for key in Self.keys + ["x"] { try database.createIndex(on: key, ofType: "Movie") }
    }
    let all = try database.records(Query("Movie"))
    for round in 0..<250 {
      var query = Query("Movie")
      switch random.number(5) {
      case 0: break
      case 1: query.predicate = condition(&random, all) && condition(&random, all)
      case 2: query.predicate = !condition(&random, all)
      case 3: query.predicate = condition(&random, all) || condition(&random, all)
      default: query.predicate = condition(&random, all)
      }
      if query.predicate.fault != nil { continue }
      if random.chance(2) { query.zone = random.pick([.default, try Zone.ID("Library")]) }
      let records = all.filter { (query.zone == nil || $0.id.zone == query.zone) && query.predicate.matches($0) }
      #expect(try database.count(query) == records.count, "\(query)")
      query.limit = 7
      query.sort = [.descending("n")]
      #expect(try database.count(query) == min(7, records.count), "\(query)")
      let key = Self.keys[round % Self.keys.count]
      let values = records.compactMap { $0.values[key] }.filter { !$0.kind.isAsset }
      let least = values.min { ValueOrder.compare($0, $1) < 0 }
      let greatest = values.max { ValueOrder.compare($0, $1) < 0 }
      let foundLeast = try database.minimum(of: key, for: query)
      let foundGreatest = try database.maximum(of: key, for: query)
      #expect(Self.same(foundLeast, least) && Self.same(foundGreatest, greatest), "\(key) \(query)")
      var expected: [Record.Value: Int] = [:]
      for value in values {
        func plain(_ value: Record.Value) -> Record.Value {
          if case .reference(let reference) = value { .reference(Record.Reference(reference.id)) } else { value }
        }
        for one in Set((value.elements ?? [value]).map(plain)) { expected[one, default: 0] += 1 }
      }
      let distinct = try database.distinctValues(of: key, for: query)
      #expect(Self.counts(distinct) == expected, "\(key) \(query)")
      #expect(zip(distinct, distinct.dropFirst()).allSatisfy { ValueOrder.compare($0.value, $1.value) <= 0 })
    }
  }

  @Test("a long list beside thousands of other conditions took the product of both to plan")
  func longPlan() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<10 { try transaction.save(Record.fresh("r\(number)", ["n": .int(Int64(number * 1000))])) }
    }
    let type = try #require(try database.record(Record.ID("r0"))).type
    try database.setIndex(.queryable, on: "n", ofType: type)
    let others = (0..<2000).map { Query.Field("n") >= -$0 }
    let predicate = others.reduce(Query.Field("n").isIn((0..<8000).map { Int64($0) })) { $0 && $1 }
    #expect(try database.count(Query(type, where: predicate)) == 8)
  }

  @Test("a limit below one is refused, as everywhere")
  func limits() throws {
    let database = try Database.inMemory()
    for limit in [0, -1, .min] {
      var query = Query("Film")
      query.limit = limit
      #expect(failure { _ = try database.distinctValues(of: "n", for: query) }?.code == .invalidArguments)
      #expect(failure { _ = try database.minimum(of: "n", for: query) }?.code == .invalidArguments)
      #expect(failure { _ = try database.count(query) }?.code == .invalidArguments)
    }
  }

  @Test("values come from an index alone: no record is read, as many as there are")
  func indexOnly() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    for number in 0..<300 as Range<Int64> {
      try database.put(
        "r\(number)", type: "Movie", ["year": .int(2000 + number % 20), "rating": .double(Double(number % 4) / 2)])
    }
    try database.setIndex(.queryable, on: "year", ofType: "Movie")
    try database.setIndex(.queryable, on: "rating", ofType: "Movie")
    let places = try database.reading { (view) throws(DatabaseError) in
      let zone = try view.existingZone(.default)
      var places: [Place] = []
      for number in 0..<300 {
        if let entry = try view.entry("r\(number)", in: zone) { places.append(entry.place) }
      }
      return places
    }
    try database.close()
    for place in places.dropFirst(20) {
      #expect(disk.corrupt("test.daybook", at: Int(place.offset) + Int(place.byteCount) - 1))
    }
    database = try Database.open(on: disk)
    #expect(failure { try database.records(Query("Movie")) }?.code == .corrupted)
    let years = try database.distinctValues(of: "year", for: Query("Movie"))
    #expect(years.map(\.value) == (2000..<2020).map { .int($0) } && years.allSatisfy { $0.count == 15 })
    let late = try database.distinctValues(of: "year", for: Query("Movie", where: .field("year") > 2017))
    #expect(late.map(\.value) == [2018, 2019])
    // A field of doubles has doubles.
    let ratings = try database.distinctValues(of: "rating", for: Query("Movie"))
    #expect(ratings.map(\.count) == [75, 75, 75, 75])
    guard case .double(1) = ratings[2].value else {
      Issue.record("\(ratings[2].value) is no double")
      return
    }
    #expect(try database.count(Query("Movie", where: .field("year") == 2019)) == 15)
    #expect(try database.count(Query("Movie", where: .field("year") != 2019)) == 285)
    #expect(try database.count(Query("Movie", where: .field("year").between(2001, 2002) || .field("year") == 2005)) == 45)
    #expect(try database.count(Query("Movie", where: !.field("year").isIn([2001, 2002]))) == 270)
    try? database.close()
  }

  @Test("in a snapshot and a transaction values are those that it sees")
  func readers() throws {
    let database = try Database.scratch()
    try database.setIndex(.queryable, on: "n", ofType: "Note")
    for number in 0..<50 as Range<Int64> { try database.put("r\(number)", ["n": .int(number)]) }
    let query = Query("Note")
    try database.write { transaction in
      try transaction.save(.fresh("new", ["n": 100]))
      #expect(try transaction.maximum(of: "n", for: query) == 100)
      #expect(try transaction.distinctValues(of: "n", for: query).count == 51)
    }
    let snapshot = try database.snapshot()
    try database.put("newer", ["n": -1])
    #expect(try snapshot.minimum(of: "n", for: query) == 0)
    #expect(try database.minimum(of: "n", for: query) == -1)
    // What a record has besides its fields.
    let names = try database.distinctValues(of: "recordName", for: query)
    #expect(names.count == 52 && names.first?.value == .string("new"))
    #expect(try database.minimum(of: "none", for: query) == nil)
    #expect(try database.distinctValues(of: "none", for: query).isEmpty)
    #expect(failure { try database.distinctValues(of: "no key", for: query) }?.code == .invalidArguments)
    let nowhere = Query("Note", in: try Zone.ID("Nowhere"))
    #expect(failure { try database.minimum(of: "n", for: nowhere) }?.code == .zoneNotFound)
  }

  @Test("values are found without the caller's thread, too")
  func waiting() async throws {
    let database = try Database.scratch()
    try await database.write { transaction in
      for number in 0..<50 as Range<Int64> { try transaction.save(.fresh("r\(number)", ["n": .int(number % 10)])) }
    }
    let query = Query("Note")
    let least = try await database.minimum(of: "n", for: query)
    let greatest = try await database.maximum(of: "n", for: query)
    let distinct = try await database.distinctValues(of: "n", for: query)
    #expect(least == 0 && greatest == 9 && distinct.map(\.count) == Array(repeating: 5, count: 10))
  }
}
