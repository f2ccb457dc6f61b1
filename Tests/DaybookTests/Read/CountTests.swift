import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Counts of zones and types, and records page by page: always what a list of them would say.

@Suite("counts and pages")
struct CountTests {
  @Test("counts follow saves and deletions, by zone and by type")
  func counts() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.write { transaction in
      for number in 0..<1000 {
        let type = number % 3 == 0 ? "Movie" : number % 3 == 1 ? "Mov" : "Movie_2"
        try transaction.save(.fresh("r\(number)", in: zone, type: type))
      }
      #expect(try transaction.recordCount(in: zone) == 1000)
      #expect(try transaction.recordCount(in: zone, ofType: "Movie") == 334)
    }
    try database.write { transaction in
      for number in stride(from: 0, to: 1000, by: 2) { try transaction.delete(Record.ID("r\(number)", in: zone)) }
    }
    #expect(try database.recordCount(in: zone) == 500)
    let types = try database.recordTypes(in: zone)
    #expect(types.map(\.type) == ["Mov", "Movie", "Movie_2"] && types.map(\.count) == [167, 167, 166])
    for (type, count) in types {
      #expect(try database.recordCount(in: zone, ofType: type) == count)
      #expect(try database.records(in: zone, ofType: type).count == count)
    }
    #expect(try database.recordCount(in: zone, ofType: "Movi") == 0)
    #expect(try database.recordCount(in: zone, ofType: "") == 0)
    #expect(try database.statistics().recordCount == 500)
    #expect(try database.changeCount(in: zone, since: nil) == 1000)
    try database.expectClean()
  }

  /// The names on all pages of a type.
  private func pages(
    of type: String, _ limit: Int, in reader: borrowing some RecordReader & ~Copyable
  ) throws -> [String] {
    var names: [String] = []
    var cursor: RecordCursor?
    repeat {
      let page = try reader.recordPage(in: .default, ofType: type, after: cursor, limit: limit)
      #expect(page.records.count <= limit && (page.next == nil || page.records.count == limit))
      names += page.records.map(\.id.name)
      cursor = page.next
    } while cursor != nil
    return names
  }

  @Test(
    "pages of a type are the whole list in the order of the last saves, before and after compactions", arguments: [1, 7, 100])
  func pagesOfType(_ limit: Int) throws {
    let database = try Database.scratch()
    var names: [String: [String]] = ["A": [], "B": []]
    var generator = SeededGenerator(seed: UInt64(limit))
    for round in 0..<12 {
      try database.write { transaction in
        for _ in 0..<20 {
          let number = Int.random(in: 0..<80, using: &generator)
          let (name, type) = ("r\(number)", number % 2 == 0 ? "A" : "B")
          names[type]?.removeAll { $0 == name }
          if Int.random(in: 0..<4, using: &generator) == 0 {
            try transaction.delete(Record.ID(name))
          } else {
            var record = try transaction.record(Record.ID(name)) ?? .fresh(name, type: type)
            record["round"] = round
            try transaction.save(record)
            names[type]?.append(name)
          }
        }
        for type in ["A", "B"] { #expect(try pages(of: type, limit, in: transaction) == names[type]) }
      }
      if round % 4 == 2 { try database.compact() }
      for type in ["A", "B"] {
        #expect(try pages(of: type, limit, in: database) == names[type])
        #expect(try database.records(in: .default, ofType: type).map(\.id.name) == names[type])
      }
    }
    #expect(try database.recordPage(in: .default, ofType: "C").records.isEmpty)
    #expect(try database.recordPage(in: .default, ofType: "").next == nil)
    try database.expectClean()
  }

  @Test("pages of a database that changes meanwhile leave nothing out; those of a snapshot have each record once")
  func changingPages() throws {
    let database = try Database.scratch()
    for number in 0..<30 { try database.write { try $0.save(.fresh("r\(number)", type: "A")) } }
    let snapshot = try database.snapshot()
    var (live, held): ([String], [String]) = ([], [])
    var (next, heldNext): (RecordCursor?, RecordCursor?)
    repeat {
      let page = try database.recordPage(in: .default, ofType: "A", after: next, limit: 7)
      live += page.records.map(\.id.name)
      next = page.next
      if live.count < 30 {
        try database.write { transaction in
          var record = try #require(try transaction.record(page.records[0].id))
          record["n"] = 1
          try transaction.save(record)
        }
      }
    } while next != nil
    repeat {
      let page = try snapshot.recordPage(in: .default, ofType: "A", after: heldNext, limit: 7)
      held += page.records.map(\.id.name)
      heldNext = page.next
    } while heldNext != nil
    #expect(Set(live).count == 30 && live.count > 30)
    #expect(held == (0..<30).map { "r\($0)" })
  }

  @Test("pages behind names are the whole list, whether the name is there or not", arguments: [1, 2, 7, 100])
  func pages(_ limit: Int) throws {
    let database = try Database.scratch()
    let names = (0..<60).map { "r\($0)" }.sorted()
    try database.write { transaction in
      for (index, name) in names.enumerated() { try transaction.save(.fresh(name, type: index % 2 == 0 ? "A" : "B")) }
    }
    var found: [String] = []
    while true {
      let page = try database.records(in: .default, after: found.last, limit: limit)
      found += page.map(\.id.name)
      if page.isEmpty { break }
    }
    #expect(found == names)
    let behind = try database.records(in: .default, after: "r29x", limit: 1000)
    #expect(behind.map(\.id.name) == names.filter { $0 > "r29x" })
    #expect(try database.records(in: .default, after: "z").isEmpty)
  }

  @Test("several records are fetched at once, the missing ones left out")
  func several() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let a = try database.put("a", in: zone, ["x": 1, "y": 2])
    let b = try database.put("b")
    let ids = try [a.id, b.id, Record.ID("never"), Record.ID("a", in: Zone.ID("Nowhere")), a.id]
    #expect(try database.records(ids) == [a.id: a, b.id: b])
    #expect(try database.records(ids, desiredKeys: ["y"])[a.id]?.values == ["y": 2])
    #expect(try database.records([]).isEmpty)
  }

  @Test("statistics say what is there")
  func statistics() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    try database.put("a")
    let zone = try database.zone("Library")
    try database.put("b", in: zone)
    let statistics = try database.statistics()
    #expect(statistics.recordCount == 2 && statistics.zoneCount == 2 && statistics.lastSequence == 3)
    #expect(statistics.fileByteCount == disk.bytes(of: "test.daybook")?.count)
    #expect(statistics.lastRecovery.wasClosed && statistics.lastRecovery.lostSequences == nil)
    let report = try database.check(.deep)
    #expect(report.recordCount == 2 && report.zoneCount == 2 && report.commitCount == 3 && report.isClean)
  }
}
