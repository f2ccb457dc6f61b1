import DaybookTesting
import Foundation
import Testing

@testable @_spi(Daybook) import Daybook
@testable import DaybookEngine

@Suite("orders that an index has")
struct IndexOrderTests {
  /// Records in groups of one value, short and long; names are UUIDs in both forms, others, or some of each.
  private func fill(_ database: Database, _ random: inout SeededGenerator) throws {
    try database.write { transaction in
      for (value, count) in [1, 2, 63, 64, 65, 1, 0, 200, 7].enumerated() {
        let form = Int.random(in: 0..<4, using: &random)
        for number in 0..<count {
          var bytes = [UInt8](repeating: 0, count: 16)
          for index in bytes.indices { bytes[index] = .random(in: 0...255, using: &random) }
          let uuid = UUID(bytes)
          let which = form == 3 ? Int.random(in: 0..<3, using: &random) : form
          let name = which == 0 ? uuid : which == 1 ? uuid.lowercased() : "n\(number) of \(value)"
          try transaction.save(.fresh(name, type: "Movie", ["year": .int(Int64(value)), "half": .int(Int64(number % 2))]))
        }
      }
      for number in 0..<5 { try transaction.save(.fresh("none \(number)", type: "Movie", ["half": 1])) }
    }
  }

  private func UUID(_ bytes: [UInt8]) -> String {
    let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    var result = ""
    for (index, character) in hex.enumerated() {
      if [8, 12, 16, 20].contains(index) { result.append("-") }
      result.append(character)
    }
    return result
  }

  @Test("up and down, whole and page by page, they are those that sorting finds", arguments: 0..<12 as Range<UInt64>)
  func groups(seed: UInt64) throws {
    let (indexed, plain) = (try Database.scratch { $0.prefersIndexes = true }, try Database.scratch())
    try indexed.setIndex([.queryable, .sortable], on: "year", ofType: "Movie")
    for database in [indexed, plain] {
      var random = SeededGenerator(seed: seed)
      try fill(database, &random)
    }
    var random = SeededGenerator(seed: seed &+ 1000)
    for sort in [Query.Sort.ascending("year"), .descending("year")] {
      for predicate: Query.Predicate in [.true, .field("year") >= 2, .field("year") < 8, .field("half") == 1] {
        var query = Query("Movie", where: predicate, sort: [sort])
        query.limit = Int.random(in: 1...150, using: &random)
        let plan = try indexed.explain(query)
        #expect(plan.ordering == .index)
        var pages = (try indexed.query(query), try plain.query(query))
        while true {
          let names = pages.0.records.map(\.id.name)
          #expect(names == pages.1.records.map(\.id.name), "\(sort) \(plan)")
          #expect((pages.0.next == nil) == (pages.1.next == nil))
          guard let next = pages.0.next, let other = pages.1.next else { break }
          pages = (try indexed.query(query, after: next), try plain.query(query, after: other))
        }
        #expect(try indexed.records(query).map(\.id.name) == plain.records(query).map(\.id.name))
      }
    }
  }

  @Test("an entry whose name sorts after all names is told, and no walk goes round in it", arguments: ["date", "none", "rest"])
  func nameAfterNames(kind: String) throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.setIndex([.queryable, .sortable], on: "v", ofType: "Movie")
    let exact = 9_007_199_254_740_993
    try database.write { transaction in
      for number in 0..<5 {
        var record = try Record(type: "Movie", id: Record.ID("m\(number)"))
        if kind == "date" { record["v"] = Date(timeIntervalSinceReferenceDate: Double(number)) }
        if kind == "rest" { record["v"] = exact + 2 * number }
        try transaction.save(record)
      }
    }
    let index = try database.read { snapshot in
      try snapshot.reading { (view) throws(DatabaseError) in try view.indexes()[0].number }
    }
    try database.forge(.default) { trees, changes in
      let buffer = ByteBuffer(capacity: 64)
      IndexKey.appendNumber(index, to: buffer)
      switch kind {
      case "date": IndexKey.append(Record.Value.date(Date(timeIntervalSinceReferenceDate: 2.5)), to: buffer)
      case "rest": IndexKey.append(Record.Value.int(Int64(exact + 2)), to: buffer)
      default: IndexKey.append(nil as ValueView?, to: buffer)
      }
      buffer.append(IndexKey.afterNames)
      buffer.append(120)
      try buffer.view.array.withView { (key) throws(LogFault) in
        try [UInt8]().withView { (value) throws(LogFault) in _ = try changes.put(key, value, in: &trees.indexes) }
      }
    }
    for sort in [Query.Sort.ascending("v"), .descending("v")] {
      #expect(failure { try database.records(Query("Movie", sort: [sort], limit: 10)) }?.code == .corrupted, "\(sort)")
    }
    if kind != "none" { #expect(failure { try database.distinctValues(of: "v", for: Query("Movie")) }?.code == .corrupted) }
  }

  @Test("a limit without end has the whole order, and no page after it")
  func endless() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.setIndex([.queryable, .sortable], on: "year", ofType: "Movie")
    try database.write { transaction in
      for number in 0..<100 { try transaction.save(.fresh("m\(number)", type: "Movie", ["year": .int(Int64(number))])) }
    }
    for sort in [Query.Sort.ascending("year"), .descending("year")] {
      let page = try database.query(Query("Movie", sort: [sort], limit: .max))
      #expect(page.records.count == 100 && page.next == nil)
    }
  }
}
