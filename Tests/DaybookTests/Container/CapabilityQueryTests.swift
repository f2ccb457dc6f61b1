import Foundation
import Testing

@testable import Daybook

// One test for each row of the source documents that queries answer; the row's id is in the name.

@Suite("capabilities of queries")
struct CapabilityQueryTests {
  private let library: Zone.ID
  private let database: Database

  init() throws {
    library = try Zone.ID("Library")
    database = try Database.inMemory()
    let films: [(String, String, Int, String, Double, Double)] = [
      ("dune", "Dune", 2021, "Paul leads the Fremen of Arrakis", 29.6, 35.4),
      ("arrival", "Arrival", 2016, "Aliens come to Montana", 45.5, -73.6),
      ("lawrence", "Lawrence of Arabia", 1962, "An officer in the desert", 30.0, 35.3),
      ("solaris", "Solaris", 1972, "An ocean that thinks; été à Zvenigorod", 55.7, 36.8),
    ]
    try database.write { [library] transaction in
      try transaction.save(Zone(library))
      for (name, title, year, plot, latitude, longitude) in films {
        var film = try Record(type: "Movie", id: Record.ID(name, in: library))
        film["title"] = title
        film["year"] = year
        film["plot"] = plot
        film["location"] = Location(latitude: latitude, longitude: longitude)
        try transaction.save(film)
      }
      try transaction.save(Record(type: "Theater", id: Record.ID("odeon", in: library)))
    }
  }

  private func names(_ query: Query) throws -> [String] { try database.records(query).map(\.id.name) }

  @Test("A22: all records of a type are found by the predicate that is true")
  func a22() throws {
    let all = ["dune", "arrival", "lawrence", "solaris"]
    #expect(try names(Query("Movie", in: library)) == all)
    #expect(try names(Query("Movie", where: Query.Predicate(format: "TRUEPREDICATE"))) == all)
    #expect(try database.count(Query("Movie")) == 4)
  }

  @Test("A23: self contains finds words in all texts, without regard to case and accents")
  func a23() throws {
    func find(_ words: String) throws -> [String] {
      try names(Query("Movie", where: Query.Predicate(format: "self contains %@", words)))
    }
    #expect(try find("arrakis") == ["dune"])
    #expect(try find("ARRIVAL ocean") == ["arrival", "solaris"])
    #expect(try find("ete") == ["solaris"])
    #expect(try find("arrak") == [] && find("of the") == [])
  }

  @Test("A24: places within a radius of kilometres are found")
  func a24() throws {
    let here = Location(latitude: 29.5, longitude: 35.0)
    func find(_ kilometres: Double) throws -> [String] {
      try names(
        Query(
          "Movie",
          where: Query.Predicate(format: "distanceToLocation:fromLocation:(location, %@) < %f", here, kilometres),
          sort: [.distance(of: "location", from: here)]))
    }
    #expect(try find(500) == ["dune", "lawrence"])
    #expect(try find(50) == ["dune"])
    #expect(try find(30_000) == ["dune", "lawrence", "solaris", "arrival"])
  }

  @Test("A25: a result comes in pages; the cursor of one begins the next, and errors are told")
  func a25() async throws {
    var names: [String] = []
    for try await page in database.queryPages(Query("Movie", in: library, limit: 3)) {
      #expect(page.records.count <= 3)
      names += page.records.map(\.id.name)
    }
    #expect(names == ["dune", "arrival", "lawrence", "solaris"])
    let first = try await database.query(Query("Movie", limit: 3))
    let second = try await database.query(Query("Movie", limit: 3), after: first.next)
    #expect(second.records.map(\.id.name) == ["solaris"] && second.next == nil)
    await #expect(throws: DatabaseError.self) {
      for try await _ in database.queryPages(Query("Movie", where: .field("no key") == 1)) {}
    }
  }

  @Test("A26: results are sorted by fields, upwards and downwards")
  func a26() throws {
    #expect(try names(Query("Movie", sort: [.descending("year")])) == ["dune", "arrival", "solaris", "lawrence"])
    #expect(try names(Query("Movie", sort: [.ascending("title")], limit: 2)) == ["arrival", "dune"])
  }

  @Test("A27: the same query runs on any database, and can be cancelled")
  func a27() async throws {
    let query = Query("Movie", where: .field("year") > 2000)
    let other = try Database.inMemory()
    #expect(try await other.records(query).isEmpty)
    #expect(try await database.records(query).count == 2)
    let task = Task { [database] in
      while true { _ = try await database.records(query) }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
