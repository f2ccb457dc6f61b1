import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// Engines, zones and servers at their ends.
@Suite("syncs at their ends")
struct SyncEndTests {
  let server: Database
  init() throws { server = try Database.inMemory() }

  @Test("a new record that was in quarantine is sent when the server's is gone")
  func unsentAgain() async throws {
    struct NotNow: Error {}
    let device = try await Device(server, .of(.userTellsWhichWins { _ in throw NotNow() }))
    try device.database.put("x", ["title": "here"])
    try server.put("x", ["title": "there"])
    #expect(try await device.sync().quarantined == 1)
    try await server.delete(.film("x"))
    try await device.engine.retry()
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("what could not be saved here stays in quarantine when the agreed version is saved once more")
  func savedAgain() async throws {
    let device = try await Device(server, database: try Database.inMemory(options: small()))
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    try server.put("x", ["title": big()])
    #expect(try await device.sync().quarantined == 1)
    try device.database.put("x", ["title": "A"])
    #expect(try await device.sync().quarantined == 1)
  }

  @Test("contents of assets that change on both sides, beside collections")
  func assetContents() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    let sizes = [0, 1, 4095, 4096, 16_384, 65_536, 1_000_000]
    try await first.database.write { t in
      try t.save(Zone(library))
      for size in sizes {
        var r = try Record(type: "Film", id: .film("a\(size)"))
        r["asset"] = Asset(data: Data(repeating: UInt8(size & 255), count: size))
        r["list"] = .assets(sizes.map { Asset(data: Data(repeating: UInt8($0 & 255), count: $0)) })
        try t.save(r)
      }
    }
    try await first.sync()
    try await second.sync()
    #expect(try contents(first.database) == contents(second.database) && contents(first.database) == contents(server))
    // Other content of the same size, on both sides.
    try first.database.put("a1000000", ["asset": .asset(Asset(data: Data(repeating: 9, count: 1_000_000)))])
    try second.database.put("a1000000", ["asset": .asset(Asset(data: Data(repeating: 8, count: 1_000_000))), "o": 1])
    try await first.sync()
    try await first.database.collectAssets()
    try await second.sync()
    try await server.collectAssets()
    try await first.sync()
    try await second.database.collectAssets()
    #expect(try contents(first.database) == contents(second.database) && contents(first.database) == contents(server))
    for d in [first.database, second.database, server] { #expect(try await d.check(.deep).findings.isEmpty) }
  }

  @Test("a field of another kind there")
  func kinds() async throws {
    let device = try await Device(server)
    try device.database.put("x", ["v": "text"])
    try await device.sync()
    try server.put("x", ["v": 1])
    try device.database.put("x", ["w": 1.5])
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("zones with records in quarantine go on either side")
  func quarantinedZones() async throws {
    let server = try Database.inMemory(options: small())
    let device = try await Device(server)
    try device.database.put("x", ["title": big()])
    try device.database.put("y", ["title": "y"])
    #expect(try await device.sync().quarantined == 1)
    try await server.deleteZone(library)
    #expect(try await device.sync().quarantined == 0)
    #expect(try contents(device.database) == contents(server))
    try device.database.put("x", ["title": big()])
    #expect(try await device.sync().quarantined == 1)
    try await device.database.deleteZone(library)
    #expect(try await device.sync().quarantined == 0)
    #expect(try contents(device.database) == contents(server))
  }

  /// Waits until nothing is committed or asked for a second.
  private func rest(_ first: Device, _ second: Device) async throws {
    try await until {
      func now() async throws -> [UInt64] {
        [
          try await first.database.statistics().lastSequence,
          UInt64(first.network.calls.count + second.network.calls.count),
        ]
      }
      let before = try await now()
      try await Task.sleep(for: .seconds(1))
      return try await now() == before
    }
  }

  @Test("two engines that run by themselves on one database come to rest")
  func twoByThemselves() async throws {
    let first = try await Device(server)
    let second = try await Device(server, database: first.database)
    try await server.modifySubscriptions(saving: [Subscription(toDatabase: "all")], deleting: [])
    await first.engine.start()
    await second.engine.start()
    for n in 0..<50 { try first.database.put("x\(n)", ["n": 1]) }
    try await rest(first, second)
    #expect(try contents(first.database) == contents(server))
    await first.engine.stop()
    await second.engine.stop()
  }

  @Test("two openers of a file, an engine in each")
  func twoOpeners() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = Database.Options()
    options.lock = .perTransaction
    let path = folder.appendingPathComponent("a.daybook").path
    let one = try Database.open(at: path, options: options)
    let two = try Database.open(at: path, options: options)
    let first = try await Device(server, database: one)
    let second = try await Device(server, database: two)
    await first.engine.start()
    await second.engine.start()
    for n in 0..<20 { try (n % 2 == 0 ? one : two).put("x\(n)", ["n": 1]) }
    try await rest(first, second)
    #expect(try contents(one) == contents(server))
    await first.engine.stop()
    await second.engine.stop()
  }

  @Test("a shared server file is an older copy of itself")
  func sharedOlderCopy() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("s.daybook").path
    let backup = folder.appendingPathComponent("b.daybook").path
    var options = Database.Options()
    options.lock = .perTransaction
    var server = try Database.open(at: path, options: options)
    let local = try Database.inMemory()
    var engine = try await SyncEngine(local: local, remote: server, configuration: .quick)
    try local.put("x", ["title": "one"])
    try await engine.sync()
    try await server.backup(to: backup)
    try local.put("late", ["title": "late"])
    try await engine.sync()
    try server.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: backup, toPath: path)
    server = try Database.open(at: path, options: options)
    engine = try await SyncEngine(local: local, remote: server, configuration: .quick)
    try await engine.sync()
    #expect(try contents(local) == contents(server))
    try local.put("x", ["title": "two"])
    try await engine.sync()
    try await engine.sync()
    #expect(try contents(local) == contents(server), "also after a write")
  }

  @Test("names of shared zones, and odd ones")
  func oddNames() async throws {
    let device = try await Device(server)
    for zone in [
      try Zone.ID("Shared", owner: "somebody"), try Zone.ID("Ünïcode/.. \u{1F600}"),
      try Zone.ID(String(repeating: "z", count: 255)),
    ] {
      try device.database.put("x", in: zone, ["title": "one"])
    }
    try await device.sync()
    let second = try await Device(server)
    try await second.sync()
    #expect(try contents(device.database) == contents(server) && contents(second.database) == contents(server))
  }

  @Test("storms of triggers, starts and stops")
  func storms() async throws {
    let device = try await Device(server)
    await withTaskGroup(of: Void.self) { group in
      for n in 0..<40 {
        group.addTask {
          for k in 0..<20 {
            switch (n + k) % 5 {
            case 0: await device.engine.start()
            case 1: await device.engine.stop()
            case 2: await device.engine.trigger()
            case 3: try? device.database.put("x\(n)", ["k": .int(Int64(k))])
            default: _ = try? await device.sync()
            }
          }
        }
      }
    }
    await device.engine.stop()
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("thousands of zones that arrive")
  func manyZones() async throws {
    try await server.write { t in for n in 0..<3000 { try t.save(Zone(try Zone.ID("Z\(n)"))) } }
    let device = try await Device(server)
    try await device.sync()
    #expect(try await device.database.zones().count == 3001)
  }

  @Test("a database that is suspended in the middle")
  func suspended() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try Database.open(at: folder.appendingPathComponent("a.daybook").path)
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 2 }, database: database)
    for n in 0..<200 { try database.put("x\(n)", ["n": 1]) }
    let task = Task { try await device.sync() }
    for _ in 0..<10 {
      try await Task.sleep(for: .milliseconds(20))
      try database.suspend()
      try await Task.sleep(for: .milliseconds(20))
      try database.resume()
    }
    _ = try? await task.value
    try await device.sync()
    #expect(try contents(database) == contents(server))
  }

  @Test("a value that another device sets is not taken for one's own")
  func othersValue() async throws {
    // Another device sets a value that was here once, and the state is new (another name).
    let device = try await Device(server, .of(.serverRecordWins))
    try device.database.put("x", ["state": 0])
    try await device.sync()
    try device.database.put("x", ["state": 1])
    try await device.sync()
    try server.put("x", ["state": 0])
    let again = try await Device(server, .of(.serverRecordWins) { $0.name = "again" }, database: device.database)
    try await again.sync()
    #expect(try server.film("x")?["state"] == 0)
  }

  @Test("a server that gives a record saved and deleted, in wrong order, twice")
  func disorder() async throws {
    let liar = ChangingRemote(
      server,
      changes: { page in
        var page = page
        page.saved = page.saved.reversed() + page.saved
        page.deleted = page.deleted + page.deleted
        return page
      })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: liar, configuration: .quick)
    for n in 0..<20 { try server.put("x\(n)", ["n": 1]) }
    try await engine.sync()
    for n in 0..<10 { try await server.delete(.film("x\(n)")) }
    for n in 5..<15 { try local.put("x\(n)", ["n": 2]) }
    try await engine.sync()
    try await engine.sync()
    #expect(try contents(local) == contents(server))
  }

  @Test("an answer that is another record's")
  func swapped() async throws {
    let server = server
    let liar = ChangingRemote(
      server,
      modify: { records, ids, _ in
        let result = try await server.modify(
          saving: records, deleting: ids, policy: .ifServerRecordUnchanged, atomically: false)
        guard records.count == 2 else { return result }
        let all = result.saves.compactMap { try? $0.result.get() }
        return ModifyResult(
          saves: zip(result.saves, all.reversed()).map { .init(id: $0.id, result: .success($1)) }, deletes: result.deletes)
      })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: liar, configuration: .quick)
    for n in 0..<2 { try local.put("x\(n)", ["n": .int(Int64(n))]) }
    _ = try? await engine.sync()
    try local.put("x0", ["n": 100])
    _ = try? await engine.sync()
    _ = try? await engine.sync()
    #expect(try contents(local) == contents(server))
    #expect(try server.film("x1")?["n"] == 1 && server.film("x0")?["n"] == 100)
  }

  @Test("an engine that was let go of while it waits ends")
  func letGo() async throws {
    weak var gone: SyncEngine?
    let network = FaultInjectingDatabase(server)
    network.fail(count: .max, with: DatabaseError(.networkUnavailable))
    do {
      let engine = try await SyncEngine(
        local: try Database.inMemory(), remote: network,
        configuration: .of(.serverRecordWins) { $0.retryDelays = .seconds(600)...(.seconds(600)) })
      gone = engine
      await engine.start()
      try await until { await engine.status.lastError != nil }
    }
    try await until { gone == nil }
  }

  @Test("delays at their ends")
  func delays() async throws {
    let device = try await Device(
      server,
      .of(.serverRecordWins) {
        $0.attempts = .max
        $0.retryDelays = .zero...(.seconds(Int64.max))
      })
    device.network.fail(count: 200, with: DatabaseError(.networkUnavailable))
    try device.database.put("x", ["n": 1])
    #expect(try await ends { try await device.sync() })
  }
  @Test("a server whose tokens expire at once is not read forever")
  func forgetful() async throws {
    let server = try Database.inMemory()
    for n in 0..<20 { try server.put("x\(n)", ["n": 1]) }
    let forgetful = ChangingRemote(
      server, tokens: { token in if token != nil { throw DatabaseError(.changeTokenExpired) } })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(
      local: local, remote: forgetful, configuration: .of(.greaterModifiedDateWins) { $0.pageRecordCount = 5 })
    let ended = try await ends { _ = try? await engine.sync() }

    #expect(ended)
  }

  @Test("a clock that steps back")
  func clockBack() async throws {
    let clock = TestClock()
    clock.set(100_000)
    var options = Database.Options()
    options.now = { clock.now() }
    let server = try Database.inMemory()
    let device = try await Device(server, database: try Database.inMemory(options: options))
    try device.database.put("x", ["a": 1, "b": 1])
    try await device.sync()
    clock.set(10)
    try device.database.put("x", ["a": 2])
    try server.put("x", ["b": 2])
    try await device.sync()
    #expect(try server.film("x")?["a"] == 2 && server.film("x")?["b"] == 2)
    clock.set(-1e300)
    try device.database.put("x", ["a": 3])
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("a compaction after a lost answer costs no newer change")
  func compactedAfter() async throws {
    let device = try await Device(server, .of(.serverRecordWins))
    try device.database.put("x", ["title": "zero"])
    try await device.sync()
    try device.database.put("x", ["title": "first"])
    device.network.fail(.modify, losing: .answer)
    await #expect(throws: DatabaseError.self) { try await device.sync() }
    try device.database.put("x", ["title": "second"])
    try await device.database.compact()
    try await device.sync()
    #expect(try server.film("x")?["title"] == "second")
  }

  @Test("a value that was here once is another device's when that sets it")
  func onceHere() async throws {
    let device = try await Device(server, .of(.serverRecordWins))
    try device.database.put("x", ["title": "one"])
    try await device.sync()
    try device.database.put("x", ["state": 0])
    try device.database.put("x", ["state": 1])
    try server.put("x", ["state": 0])
    try await device.sync()
    #expect(try server.film("x")?["state"] == 0)
  }
  @Test("a deletion that meets a change between fetch and send")
  func changedBeforeDeletion() async throws {
    let device = try await Device(server)
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    try await device.database.delete(.film("x"))
    device.network.delay(.records, by: .milliseconds(200))
    async let report = device.sync()
    try await Task.sleep(for: .milliseconds(60))
    try server.put("x", ["title": "changed"])
    #expect(try await report.conflicts == 1)
    try await device.sync()
    #expect(try server.film("x")?["title"] == "changed")
    #expect(try contents(device.database) == contents(server))
  }
}
