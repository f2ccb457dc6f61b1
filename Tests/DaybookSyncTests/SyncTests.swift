import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// What a sync does where nothing goes wrong.
@Suite("two databases kept equal")
struct SyncTests {
  let server: Database

  init() throws { server = try Database.inMemory() }

  @Test("K1: what one device saves is on the other one, and can be read there without a network")
  func both() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    try first.database.put("dune", ["title": "Dune", "year": 2021, "tags": .strings(["sand"])])
    try first.database.put("note", in: .default, ["text": "in the default zone"])
    #expect(try await first.sync().sent == 2)
    let report = try await second.sync()
    #expect(report.fetched == 2 && report.sent == 0 && report.conflicts == 0 && report.quarantined == 0)
    second.network.fail(count: .max, with: DatabaseError(.networkUnavailable))
    #expect(try second.database.film("dune")?["title"] == "Dune")
    #expect(try contents(first.database) == contents(second.database))
    #expect(try contents(first.database) == contents(server))
    #expect(try await first.sync() == SyncReport(), "nothing comes back")
  }

  @Test("changes and deletions go both ways, and only what changed is sent")
  func changes() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    for number in 0..<10 { try first.database.put("film\(number)", ["title": "Film", "number": .int(Int64(number))]) }
    try await first.sync()
    try await second.sync()
    try second.database.put("film3", ["title": nil, "seen": 1])
    try await second.database.delete(.film("film4"))
    try first.database.put("film5", ["title": "New"])
    #expect(try await second.sync().sent == 2)
    let report = try await first.sync()
    #expect(report.sent == 1 && report.fetched == 2)
    try await second.sync()
    #expect(try contents(first.database) == contents(second.database))
    #expect(try contents(first.database) == contents(server))
    let film = try #require(try first.database.film("film3"))
    #expect(film["title"] as Record.Value? == nil && film["seen"] == 1 && film["number"] == 3)
    #expect(try first.database.film("film4") == nil)
  }

  @Test("all kinds of values, encrypted ones, parents, references and assets of any size arrive as they were")
  func kinds() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try await first.database.write { transaction in
      try transaction.save(Zone(library))
      var child = try Record(type: "Film", id: .film("a child"))
      child.parent = Record.Reference(.film("parent"))
      child["double"] = 1.5
      child["bytes"] = Data([1, 2, 3])
      child["date"] = Date(timeIntervalSinceReferenceDate: 0.123456789)
      child["place"] = Location(latitude: 1, longitude: 2, altitude: 3)
      child["reference"] = Record.Reference(.film("parent"), action: .deleteSelf)
      child["references"] = [Record.Reference(.film("nobody"))]
      child["empty"] = .strings([])
      child["small"] = Asset(data: Data([7]))
      child["large"] = Asset(data: large)
      child["list"] = .assets([Asset(data: large), Asset(data: Data([8]))])
      child.encryptedValues["secret"] = "hidden"
      try transaction.save(child)
      var parent = try Record(type: "Director", id: .film("parent"))
      parent["name"] = "Villeneuve"
      try transaction.save(parent)
    }
    try await first.sync()
    try await second.sync()
    #expect(try contents(first.database) == contents(second.database))
    let child = try #require(try second.database.film("a child"))
    #expect(child["date"] == Date(timeIntervalSinceReferenceDate: 0.123456789))
    #expect(child.encryptedValues["secret"] == "hidden" && child["secret"] as String? == nil)
    #expect((child["large"] as Asset?).map { try? $0.content() } == large)
    #expect(try await second.database.check(.deep).findings.isEmpty)
    // Taken back, they go there, too.
    try await second.database.update(.film("a child")) { record in
      record.encryptedValues["secret"] = nil as Record.Value?
      record.parent = nil
      record["large"] = nil as Record.Value?
    }
    try await second.sync()
    try await first.sync()
    #expect(try contents(first.database) == contents(second.database))
    #expect(try first.database.film("a child")?.parent == nil)
  }

  @Test("a child may be pages before its parent, in both directions")
  func order() async throws {
    let first = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 2 })
    let second = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 2 })
    try await first.database.writeUnordered { transaction in
      try transaction.save(Zone(library))
      for number in 0..<9 {
        var child = try Record(type: "Film", id: .film("child\(number)"))
        child.parent = Record.Reference(.film("parent"))
        try transaction.save(child)
      }
      try transaction.save(try Record(type: "Director", id: .film("parent")))
    }
    #expect(try await first.sync().quarantined == 0)
    #expect(try contents(first.database) == contents(server))
    try await second.sync()
    #expect(try contents(second.database) == contents(server))
    #expect(try await second.database.referencesWithoutTarget(in: library).isEmpty)
  }

  @Test("a cascade here is a cascade there")
  func cascade() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    try first.database.put("owner", ["title": "x"])
    for number in 0..<5 {
      try first.database.put("owned\(number)", ["owner": .reference(.init(.film("owner"), action: .deleteSelf))])
    }
    try await first.sync()
    try await second.sync()
    try await second.database.delete(.film("owner"))
    try await second.sync()
    try await first.sync()
    #expect(try contents(first.database) == ["Library/": [:]])
    #expect(try contents(first.database) == contents(second.database))
  }

  @Test("zones are made and deleted on the other side; a purged one goes here")
  func zones() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    let empty = try Zone.ID("Empty")
    try await first.database.save(Zone(empty))
    try first.database.put("dune", ["title": "Dune"])
    try await first.sync()
    try await second.sync()
    #expect(Set(try await second.database.zones().map(\.id)).isSuperset(of: [empty, library]))
    try await second.database.deleteZone(empty)
    try await second.sync()
    #expect(try await !server.zones().contains { $0.id == empty })
    try await first.sync()
    #expect(try await !first.database.zones().contains { $0.id == empty })
    try await server.write { try $0.deleteZone(library, reason: .purged) }
    try first.database.put("late", ["title": "unsent"])
    try await first.sync()
    try await second.sync()
    #expect(try await !first.database.zones().contains { $0.id == library })
    #expect(try await !server.zones().contains { $0.id == library } && contents(first.database) == contents(second.database))
    // It may be made again, and is another zone.
    try first.database.put("again", ["title": "Again"])
    try await first.sync()
    try await second.sync()
    #expect(try contents(second.database).keys.sorted() == ["Library/", "Library/again"])
  }

  @Test("a zone that is deleted and made again between two syncs has what was put into it since, everywhere")
  func zoneAgain() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    for name in ["a", "b", "c"] { try first.database.put(name, ["title": "old"]) }
    try await first.sync()
    try await second.sync()
    try await first.database.deleteZone(library)
    try first.database.put("b", ["title": "new"])
    try await first.sync()
    try await second.sync()
    #expect(try contents(first.database) == ["Library/": [:], "Library/b": ["type": "Film", ".title": words("new")]])
    #expect(try contents(first.database) == contents(second.database))
    // The same on the server, by another device.
    try await server.deleteZone(library)
    try server.put("z", ["title": "of the server"])
    try await first.sync()
    #expect(try contents(first.database) == contents(server))
  }

  @Test("encrypted data that was reset on the server is sent again")
  func encryptedReset() async throws {
    let device = try await Device(server)
    try device.database.put("dune", ["title": "Dune"])
    try await device.sync()
    try await server.write { try $0.deleteZone(library, reason: .encryptedDataReset) }
    try await device.sync()
    #expect(try server.film("dune")?["title"] == "Dune" && device.database.film("dune") != nil)
  }

  @Test("only the zones that are asked for")
  func chosenZones() async throws {
    let other = try Zone.ID("Other")
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.zones = [library] })
    try device.database.put("dune", ["title": "Dune"])
    try device.database.put("here", in: other, ["title": "stays"])
    try device.database.put("here", in: .default, ["title": "stays"])
    try server.put("there", in: try Zone.ID("Third"), ["title": "stays"])
    try await device.sync()
    #expect(try contents(server).keys.sorted() == ["Library/", "Library/dune", "Third/", "Third/there"])
    #expect(try contents(device.database).count == 5)
  }

  @Test("A34: what the engine saves is told to nobody who excludes its origin, and is not sent back")
  func origin() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    let commits = second.database.commits(excluding: SyncEngine.origin)
    for number in 0..<20 { try first.database.put("film\(number)", ["title": "Film"]) }
    try await first.sync()
    try await second.sync()
    #expect(try SyncEngine.outbox(of: second.database).isEmpty)
    #expect(try await second.sync().sent == 0)
    try second.database.put("own", ["title": "Own"])
    var iterator = commits.makeAsyncIterator()
    #expect(await iterator.next()?.saved == [.film("own")])
  }

  @Test("data from before the first sync is sent, and equal records on both sides are no conflict")
  func before() async throws {
    let first = try await Device(server)
    for database in [first.database, server] {
      for number in 0..<5 { try database.put("film\(number)", ["title": "Film", "year": .int(Int64(number))]) }
    }
    try first.database.put("here", ["title": "here"])
    try server.put("there", ["title": "there"])
    let report = try await first.sync()
    #expect(report.sent == 1 && report.fetched == 1 && report.conflicts == 0)
    #expect(try contents(first.database) == contents(server))
  }

  @Test("one database with two servers has what it needs to know of each")
  func twoServers() async throws {
    let other = try Database.inMemory()
    let first = try await Device(server)
    let second = try await Device(other, database: first.database)
    try first.database.put("a", ["title": "A"])
    try await first.sync()
    try await second.sync()
    try await first.database.delete(.film("a"))
    try server.put("b", ["title": "B"])
    for _ in 0..<2 {
      try await first.sync()
      try await second.sync()
    }
    #expect(try contents(server) == contents(other) && contents(server).keys.sorted() == ["Library/", "Library/b"])
  }

  @Test("K15: a public database is refused, and so are a database with itself and one that cannot be written")
  func refused() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let container = try Container.open("org.example.sync", in: folder)
    let publicDatabase = container.publicDatabase
    await #expect(throws: DatabaseError.self) {
      _ = try await SyncEngine(local: try Database.inMemory(), remote: publicDatabase)
    }
    let local = try Database.inMemory()
    await #expect(throws: DatabaseError.self) { _ = try await SyncEngine(local: local, remote: local) }
  }

  @Test("K2, K13: an engine is opened with its policy, or says why it cannot be")
  func opening() async throws {
    var configuration = SyncEngine.Configuration(policy: .clientRecordWins)
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: server, configuration: configuration)
    try server.put("dune", ["title": "A"])
    try local.put("dune", ["title": "B"])
    try await engine.sync()
    #expect(try server.film("dune")?["title"] == "B")
    configuration.name = String(repeating: "x", count: 101)
    let tooLong = configuration
    await #expect(throws: DatabaseError.self) {
      _ = try await SyncEngine(local: local, remote: server, configuration: tooLong)
    }
  }

  @Test("pages of no records, no attempts and no intervals are refused")
  func numbers() async throws {
    let local = try Database.inMemory()
    for change in [
      { $0.pageRecordCount = 0 }, { $0.attempts = 0 }, { $0.pollInterval = .zero }, { $0.pageRecordCount = .min },
    ] as [@Sendable (inout SyncEngine.Configuration) -> Void] {
      await #expect(throws: DatabaseError.self) {
        _ = try await SyncEngine(local: local, remote: server, configuration: .of(.serverRecordWins, change))
      }
    }
  }

  @Test("a server without a feed of the default zone is told where something is in it, and the other zones are equal")
  func defaultZone() async throws {
    var options = Database.Options()
    options.dialect = .cloudKit
    let server = try Database.inMemory(options: options)
    let device = try await Device(server)
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    #expect(try server.film("x") != nil)
    try device.database.put("n", in: .default, ["title": "A"])
    try device.database.put("y", ["title": "B"])
    let error = await #expect(throws: DatabaseError.self) { try await device.sync() }
    #expect(error?.partialZoneErrors.keys.first == .default && error?.partialZoneErrors.count == 1)
    #expect(try server.film("y") != nil)
  }

  @Test("a server file that takes turns with other processes shows what they wrote")
  func sharedServer() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = Database.Options()
    options.lock = .perTransaction
    let path = folder.appendingPathComponent("server.daybook").path
    let (first, second) = (try Database.open(at: path, options: options), try Database.open(at: path, options: options))
    let engine = try await SyncEngine(local: try Database.inMemory(), remote: first, configuration: .quick)
    try await engine.sync()
    try second.put("dune", ["title": "Dune"])
    #expect(try await engine.sync().fetched == 1)
  }

  @Test("what is to be sent is listed before a first sync, and of zones that were made since")
  func outboxOfAll() async throws {
    let device = try await Device(server)
    try device.database.put("dune", ["title": "Dune"])
    #expect(try await device.engine.outbox().map(\.id) == [.film("dune")])
    try await device.sync()
    try device.database.put("note", in: try Zone.ID("New"), ["title": "x"])
    #expect(try await device.engine.outbox().map(\.id.name) == ["note"])
  }

  @Test("K8: readers and writers go on while a sync waits for the network")
  func background() async throws {
    let device = try await Device(server)
    try device.database.put("first", ["title": "first"])
    for call in FaultInjectingDatabase.Call.allCases { device.network.delay(call, by: .milliseconds(100), count: .max) }
    let ended = Lock(false)
    async let report = { [device] in
      let report = try await device.sync()
      ended.set(true)
      return report
    }()
    var written = 0
    while !ended.get() {
      try device.database.put("film\(written)", ["title": "Film"])
      #expect(try device.database.film("film\(written)") != nil)
      written += 1
      try await Task.sleep(for: .milliseconds(2))
    }
    _ = try await report
    #expect(written > 10)
    for call in FaultInjectingDatabase.Call.allCases { #expect(device.network.calls.contains(call) || call != .modify) }
    device.network.stopFailing()
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("K14: the private database of a container, with a zone that the sync makes")
  func container() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try Container.open("org.example.sync", in: folder)
    let remote = container.privateDatabase
    let local = try Database.inMemory()
    try local.put("dune", ["title": "Dune"])
    let engine = try await SyncEngine(local: local, remote: remote, configuration: .quick)
    try await engine.sync()
    #expect(try contents(remote)["Library/dune"]?[".title"] == words("Dune"))
    try container.close()
  }

  @Test("large databases go in pages and requests, within what the server takes")
  func large() async throws {
    var options = Database.Options()
    options.limits.itemsPerRequest = 7
    options.limits.requestByteCount = 20_000
    let server = try Database.inMemory(options: options)
    let (first, second) = (try await Device(server), try await Device(server))
    try await first.database.write { transaction in
      try transaction.save(Zone(library))
      for number in 0..<1000 {
        var record = try Record(type: "Film", id: .film("film\(number)"))
        record["text"] = String(repeating: "x", count: number * 5)
        try transaction.save(record)
      }
    }
    #expect(try await first.sync().sent == 1000)
    #expect(try await second.sync().fetched == 1000)
    #expect(try contents(first.database) == contents(second.database))
    #expect(first.network.calls.filter { $0 == .modify }.count >= 1000 / 7)
  }
}
