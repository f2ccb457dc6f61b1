import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The change journal keeps the records of each type together; a feed puts them into one order again.

@Suite("feeds of many types")
struct ManyTypesTests {
  /// Saves and deletes records of so many types, at random, and returns the names in the order in which the feed has them.
  private static func fill(
    _ database: Database, _ zone: Zone.ID, typeCount: Int, _ generator: inout SeededGenerator
  ) throws -> (names: [String], deleted: Set<String>) {
    var (names, deleted): ([String], Set<String>) = ([], [])
    for _ in 0..<12 {
      try database.write { transaction in
        for _ in 0..<60 {
          let number = Int.random(in: 0..<300, using: &generator)
          let name = "r\(number)"
          let id = try Record.ID(name, in: zone)
          if Int.random(in: 0..<5, using: &generator) == 0 {
            guard try transaction.record(id) != nil else { continue }
            try transaction.delete(id)
            deleted.insert(name)
          } else {
            var record = try transaction.record(id) ?? .fresh(name, in: zone, type: "T\(number % typeCount)")
            record["n"] = Int.random(in: 0..<1000, using: &generator)
            try transaction.save(record)
            deleted.remove(name)
          }
          names.removeAll { $0 == name }
          names.append(name)
        }
      }
    }
    return (names, deleted)
  }

  @Test("a feed has every change once and in order, on pages of any size", arguments: [1, 2, 20, 64, 65, 150])
  func feed(typeCount: Int) throws {
    for access in [Database.Options.Access.mapped, .buffered] {
      var generator = SeededGenerator(seed: UInt64(typeCount))
      let database = try Database.open(on: SimulatedDisk(seed: 1)) { $0.access = access }
      let zone = try database.zone("Library")
      let (names, deleted) = try Self.fill(database, zone, typeCount: typeCount, &generator)
      for isCompacted in [false, true] {
        if isCompacted { try database.compact() }
        for limit in [1, 3, 50, 1000] {
          var found: [String] = []
          var (saved, gone): ([String], [String]) = ([], [])
          var token: ChangeToken?
          var page: ZoneChanges
          repeat {
            page = try database.changes(in: zone, since: token, limit: limit)
            token = page.token
            found += page.savedNames + page.deleted.map(\.id.name)
            saved += page.savedNames
            gone += page.deleted.map(\.id.name)
            #expect(try database.changeCount(in: zone, since: token) == names.count - found.count)
          } while page.moreComing
          #expect(saved == names.filter { !deleted.contains($0) } && gone == names.filter { deleted.contains($0) })
          if limit == 1 { #expect(found == names) }
        }
      }
      let types = try database.recordTypes(in: zone)
      #expect(types.reduce(0) { $0 + $1.count } == names.count - deleted.count)
      for (type, count) in types { #expect(try database.records(in: zone, ofType: type).count == count) }
      try database.expectClean()
      try database.close()
    }
  }

  @Test("a record that comes back as another type is listed under that one only")
  func otherType() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    let zone = try database.zone("Library")
    try database.put("a", in: zone)
    try database.write { transaction in
      try transaction.delete(Record.ID("a", in: zone))
      try transaction.save(.fresh("a", in: zone, type: "Map"))
    }
    for turn in 0..<3 {
      #expect(try database.recordTypes(in: zone).map(\.type) == ["Map"])
      #expect(try database.records(in: zone, ofType: "Map").map(\.id.name) == ["a"])
      #expect(try database.changes(in: zone, since: nil).savedNames == ["a"])
      try database.expectClean()
      if turn == 0 { try database.compact() }
      try database.close()
      database = try Database.open(on: disk) { $0.rebuildsTrees = turn == 1 }
    }
    try database.close()
  }

  @Test("types whose names begin alike fill their pages", arguments: [1, 4])
  func fill(typeCount: Int) throws {
    let database = try Database.open(on: SimulatedDisk(seed: 1))
    let types = ["Film", "Films", "FilmStar", "Song"].prefix(typeCount)
    for start in stride(from: 0, to: 6000, by: 500) {
      try database.write { transaction in
        for number in start..<start + 500 {
          try transaction.save(.fresh("r\(number &* 7919 % 6007)", type: types[number % typeCount]))
        }
      }
    }
    let journal = try #require(try database.trees().first { $0.name == "change journal" })
    let pages = try #require(journal.levels.last).pageCount
    // A cell is a slot, two lengths, some bytes of the key and a place: less than 32 bytes, however many types there are.
    #expect(pages <= 6000 * 32 / 4096 + typeCount, "\(pages) pages")
    try database.expectClean()
    try database.close()
  }
}
