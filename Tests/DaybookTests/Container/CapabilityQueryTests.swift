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
    let databases: [any RecordDatabase] = [try Database.inMemory(), database]
    var counts: [Int] = []
    for database in databases { counts.append(try await database.query(query, after: nil).records.count) }
    #expect(counts == [0, 2])
    let task = Task { [database] in
      while true { _ = try await database.records(query) }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// A database of any kind, as codecs and the sync engine see it.
  private var any: any RecordDatabase { database }

  @Test("A29: a subscription is a lasting query, also by place, for records that are made, changed or deleted")
  func a29() async throws {
    let here = Location(latitude: 29.5, longitude: 35.0)
    let nearby = Query("Movie", where: .field("location").near(here, within: 100))
    let result = try await any.modifySubscriptions(
      saving: [Subscription("nearby", to: nearby, firesOn: [.creation, .deletion])], deleting: [])
    #expect(result.errors.isEmpty)
    var notifications = any.notifications().makeAsyncIterator()
    try await database.write { [library] transaction in
      for (name, latitude) in [("far", 60.0), ("near", 29.0)] {
        var film = try Record(type: "Movie", id: Record.ID(name, in: library))
        film["location"] = Location(latitude: latitude, longitude: 35)
        try transaction.save(film)
      }
    }
    #expect(await notifications.next()?.content == .record(.created, try Record.ID("near", in: library), fields: [:]))
    try await database.write { [library] transaction in
      if var film = try transaction.record(Record.ID("near", in: library)) {
        film["title"] = "Near"
        try transaction.save(film)
      }
      try transaction.delete(Record.ID("dune", in: library))
    }
    #expect(await notifications.next()?.content == .record(.deleted, try Record.ID("dune", in: library), fields: [:]))
  }

  @Test("A30: a notification is silent, or has an alert with values of fields, a badge, a sound, and fields that are asked for")
  func a30() async throws {
    var silent = Subscription.NotificationInfo()
    silent.shouldSendContentAvailable = true
    var alert = Subscription.NotificationInfo()
    alert.alertLocalizationKey = "%@ of %@ is here"
    alert.alertLocalizationArgs = ["title", "year", "none"]
    alert.shouldBadge = true
    alert.soundName = "default"
    alert.desiredKeys = ["year", "none"]
    _ = try await any.modifySubscriptions(
      saving: [Subscription("alert", to: Query("Movie"), info: alert), Subscription("silent", to: library, info: silent)],
      deleting: [])
    var notifications = any.notifications().makeAsyncIterator()
    try await database.write { [library] transaction in
      var film = try Record(type: "Movie", id: Record.ID("alien", in: library))
      film["title"] = "Alien"
      film["year"] = 1979
      try transaction.save(film)
    }
    let first = try #require(await notifications.next())
    #expect(first.subscription.info == alert && first.alertLocalizationArgs == ["Alien", "1979", ""])
    #expect(first.content == .record(.created, try Record.ID("alien", in: library), fields: ["year": 1979]))
    let second = try #require(await notifications.next())
    #expect(second.content == .zone(library) && second.subscription.info.shouldSendContentAvailable)
    #expect(second.subscription.info.alertBody == nil)
  }

  @Test("A31: a subscription is saved in its database as a record is, and is there when the file is opened again")
  func a31() async throws {
    let folder = try TemporaryFolder()
    let subscription = Subscription("dramas", to: Query("Movie", where: .field("genre") == "Drama"))
    let first = try Database.open(at: folder.file("a.daybook"))
    try await first.write { try $0.save(subscription) }
    try first.close()
    let again = try Database.open(at: folder.file("a.daybook"))
    #expect(try await (again as any RecordDatabase).subscriptions() == [subscription])
    #expect(try await any.subscriptions().isEmpty)
    try again.close()
  }
}
