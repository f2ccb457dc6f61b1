import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// Zones, types, quarantine and two engines where they meet.
@Suite("syncs where features meet")
struct SyncEdgeTests {
  let server: Database
  init() throws { server = try Database.inMemory() }

  @Test("a zone that was left out and is asked for again has what changed there meanwhile")
  func widened() async throws {
    let other = try Zone.ID("Other")
    try server.put("a", ["title": "A"])
    try server.put("o", in: other, ["title": "O"])
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.zones = [library] })
    try await device.sync()
    let wide = try await Device(server, database: device.database)
    try await wide.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("zones that are not asked for any more are left alone")
  func narrowed() async throws {
    let other = try Zone.ID("Other")
    let wide = try await Device(server)
    try wide.database.put("a", ["title": "A"])
    try wide.database.put("o", in: other, ["title": "O"])
    try await wide.sync()
    let narrow = try await Device(server, .of(.greaterModifiedDateWins) { $0.zones = [library] }, database: wide.database)
    try narrow.database.put("o2", in: other, ["title": "O"])
    try await narrow.sync()
    #expect(try await server.record(Record.ID("o2", in: other)) == nil)
  }

  @Test("a record that became another type there and is too large here is deleted nowhere")
  func typeTooLarge() async throws {
    let device = try await Device(server, database: try Database.inMemory(options: small()))
    try device.database.put("x", ["title": "x"])
    try await device.sync()
    try await server.write { t in
      try t.delete(.film("x"))
      var r = try Record(type: "Book", id: .film("x"))
      r["title"] = big()
      try t.save(r)
    }
    #expect(try await device.sync().quarantined == 1)
    #expect(try device.database.film("x") != nil, "local lost")
    #expect(try server.film("x") != nil, "server lost")
    try await device.sync()
    #expect(try server.film("x") != nil, "server lost")
  }

  @Test("a full quota keeps nobody from having what others changed")
  func quota() async throws {
    let other = try Zone.ID("Zzz")
    let device = try await Device(server)
    try device.database.put("a", ["title": "A"])
    try server.put("z", in: other, ["title": "Z"])
    device.network.fail(.modify, count: .max, with: DatabaseError(.quotaExceeded))
    await #expect(throws: DatabaseError.self) { try await device.sync() }
    #expect(try await device.database.record(Record.ID("z", in: other)) != nil)
  }

  @Test("a zone that cannot be made keeps no other from being equal")
  func refusedZone() async throws {
    let bad = try Zone.ID("Bad")
    let liar = ChangingRemote(
      server,
      zones: { zones, ids in
        guard zones.contains(where: { $0.id == bad }) else { return nil }
        var result = ModifyZonesResult()
        for zone in zones {
          if zone.id == bad {
            result.saves.append(.init(id: bad, result: .failure(DatabaseError(.permissionFailure))))
          } else {
            try await self.server.save(zone)
            result.saves.append(.init(id: zone.id, result: .success(zone)))
          }
        }
        return result
      })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: liar, configuration: .quick)
    try await local.save(Zone(bad))
    try local.put("a", ["title": "A"])
    try server.put("b", ["title": "B"])
    await #expect(throws: DatabaseError.self) { try await engine.sync() }
    #expect(try server.film("a") != nil && local.film("b") != nil)
  }

  @Test("what was refused and is deleted here is in quarantine no more")
  func refusedThenDeleted() async throws {
    let server = try Database.inMemory(options: small())
    let device = try await Device(server)
    try device.database.put("x", ["title": big()])
    #expect(try await device.sync().quarantined == 1)
    try await device.database.delete(.film("x"))
    #expect(try await device.sync().quarantined == 0)
  }

  @Test("what could not be saved here and is deleted there is in quarantine no more")
  func unsavedThenDeleted() async throws {
    let device = try await Device(server, database: try Database.inMemory(options: small()))
    try server.put("x", ["title": big()])
    #expect(try await device.sync().quarantined == 1)
    try await server.delete(.film("x"))
    #expect(try await device.sync().quarantined == 0)
  }

  @Test("an application that syncs while it decides a conflict is told so, and nothing hangs")
  func decidingSyncs() async throws {
    let box = Lock<SyncEngine?>(nil)
    let device = try await Device(
      server,
      .of(
        .userTellsWhichWins { conflict in
          do { try await box.get()?.sync() } catch {}
          return conflict.client
        }))
    box.set(device.engine)
    try device.database.put("a", ["title": "A"])
    try await device.sync()
    try device.database.put("a", ["title": "B"])
    try server.put("a", ["title": "C"])
    #expect(try await ends { try await device.sync() })
    box.set(nil)
  }

  @Test("a sync that waits for another one can be cancelled")
  func cancelledWait() async throws {
    let device = try await Device(server)
    try device.database.put("a", ["title": "A"])
    device.network.delay(.modify, by: .seconds(600))
    let first = Task { try await device.sync() }
    try await until { device.network.calls.contains(.modify) }
    let ended = Lock(false)
    let second = Task {
      defer { ended.set(true) }; try await device.sync()
    }
    try await Task.sleep(for: .milliseconds(50))
    second.cancel()
    try await until { ended.get() }
    first.cancel()
    _ = try? await first.value
  }

  @Test("an encrypted value that cannot be opened keeps no other record from being sent")
  func sealed() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("a.daybook").path
    var options = Database.Options()
    options.cipher = XorCipher(key: 1)
    do {
      let database = try Database.open(at: path, options: options)
      try await database.write { t in
        try t.save(Zone(library))
        var r = try Record(type: "Film", id: .film("secret"))
        r.encryptedValues["s"] = "hidden"
        try t.save(r)
      }
      try database.close()
    }
    let database = try Database.open(at: path)
    let device = try await Device(server, database: database)
    try database.put("a", ["title": "A"])
    do { let report = try await device.sync(); #expect(report.quarantined == 1) } catch { Issue.record("\(error)") }
    #expect(try server.film("a") != nil)
  }

  @Test("an answer that cannot be saved keeps no other record from being fetched")
  func badAnswer() async throws {
    let device = try await Device(
      server,
      .of(
        .userTellsWhichWins { conflict in
          if conflict.id != .film("x") { return conflict.client }
          var record = try Record(type: "Book", id: conflict.id)
          record["title"] = "b"
          return record
        }))
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    try await server.delete(.film("x"))
    try device.database.put("x", ["title": "B"])
    try server.put("y", ["title": "Y"])
    do { try await device.sync() } catch { Issue.record("\(error)") }
    #expect(try device.database.film("y") != nil)
  }

  @Test("a record that became another type here, and was changed there, ends as the policy says")
  func typeChanged() async throws {
    let device = try await Device(server, .of(.serverRecordWins))
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    try await device.database.write { t in
      try t.delete(.film("x"))
      try t.save(try Record(type: "Book", id: .film("x")))
    }
    try server.put("x", ["title": "of the server"])
    try await device.sync()
    #expect(try server.film("x")?["title"] == "of the server")
  }

  @Test("a version that could not be saved here is not deleted there under serverRecordWins because this one is deleted here")
  func unsavedDeleted() async throws {
    let device = try await Device(server, .of(.serverRecordWins), database: try Database.inMemory(options: small()))
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    try server.put("x", ["title": big()])
    #expect(try await device.sync().quarantined == 1)
    try await device.database.delete(.film("x"))
    try await device.sync()
    #expect(try server.film("x") != nil)
  }

  @Test("another server under the same name deletes nothing here")
  func otherServer() async throws {
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.name = "main" })
    try device.database.put("x", ["title": "A"])
    try await device.sync()
    let second = try await Device(
      try Database.inMemory(), .of(.greaterModifiedDateWins) { $0.name = "main" }, database: device.database)
    try await second.sync()
    #expect(try device.database.film("x") != nil)
  }

  @Test("a request that is refused as a whole for one record is divided")
  func wholeRequest() async throws {
    let liar = ChangingRemote(
      server,
      modify: { records, _, _ in
        if records.contains(where: { $0.id.name == "bad" }) { throw DatabaseError(.invalidArguments, "bad record") }
        return nil
      })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: liar, configuration: .quick)
    for name in ["a", "bad", "c"] { try local.put(name, ["title": "A"]) }
    do { let r = try await engine.sync(); #expect(r.quarantined == 1) } catch { Issue.record("\(error)") }
    #expect(try server.film("a") != nil && server.film("c") != nil)
  }

  @Test("a revert whose answer lacks a record changes nothing of it")
  func missingAnswer() async throws {
    let liar = ChangingRemote(server, records: { _ in [:] })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: liar, configuration: .quick)
    try local.put("x", ["title": "A"])
    try await engine.sync()
    try local.put("x", ["title": "B"])
    do { try await engine.revert([.film("x")]) } catch {}
    try await engine.sync()
    #expect(try contents(local) == contents(server))
  }

  @Test("of two engines each is done when it says so")
  func bothDone() async throws {
    let first = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 1 })
    let second = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 1 }, database: first.database)
    for number in 0..<300 { try first.database.put("here\(number)", ["title": "here"]) }
    let left = Lock<[Int]>([])
    async let one = {
      try await first.sync(); let n = try SyncEngine.outbox(of: first.database).count; left.change { $0.append(n) }
    }()
    async let two = {
      try await second.sync(); let n = try SyncEngine.outbox(of: first.database).count; left.change { $0.append(n) }
    }()
    _ = try await (one, two)
    #expect(left.get().allSatisfy { $0 == 0 }, "\(left.get())")
  }

  @Test("retry and revert beside another engine")
  func besideAnother() async throws {
    let first = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 1 })
    let second = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 1 }, database: first.database)
    for number in 0..<100 { try first.database.put("here\(number)", ["title": "here"]) }
    try await first.sync()
    for number in 0..<100 { try first.database.put("here\(number)", ["title": "here2"]) }
    async let one = first.sync()
    do {
      for n in 0..<100 { try await second.engine.revert([.film("here\(n)")]) }
    } catch { #expect(error is DatabaseError || error is CancellationError, "\(error)") }
    _ = try? await one
  }

  @Test("a sync of a thousand zones that has nothing to do writes nothing")
  func idle() async throws {
    let device = try await Device(server)
    try await device.database.write { t in for n in 0..<1000 { try t.save(Zone(try Zone.ID("Z\(n)"))) } }
    try await device.sync()
    let before = try await device.database.statistics().lastSequence
    try await device.sync()
    let after = try await device.database.statistics().lastSequence

    // One for all zones, whose own making came back in the feed of zones; then none.
    #expect(after <= before + 2)
    try await device.sync()
    #expect(try await device.database.statistics().lastSequence == after)
  }

  @Test("a server that was restored from a backup takes no unsent change away")
  func restoredServer() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("s.daybook").path
    let backup = folder.appendingPathComponent("b.daybook").path
    var server = try Database.open(at: path)
    let local = try Database.inMemory()
    var engine = try await SyncEngine(local: local, remote: server, configuration: .of(.serverRecordWins))
    for n in ["x", "y", "d"] { try local.put(n, ["title": "one", "year": 1]) }
    try await engine.sync()
    try await server.backup(to: backup)
    try local.put("late", ["title": "late"])
    try local.put("y", ["year": 2])
    try await engine.sync()
    try local.put("x", ["title": "unsent"])
    try await local.delete(.film("d"))
    try server.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: backup, toPath: path)
    server = try Database.open(at: path)
    engine = try await SyncEngine(local: local, remote: server, configuration: .of(.serverRecordWins))
    do { try await engine.sync() } catch {}

    #expect(try server.film("late") != nil, "after one sync")
    #expect(try local.film("x")?["title"] == "unsent", "unsent edit")
    #expect(try local.film("d") == nil, "unsent deletion")
    try await engine.sync()
    #expect(try contents(server) == contents(local))
  }

  @Test("a page with a record of another zone harms nobody")
  func foreignRecord() async throws {
    let other = try Zone.ID("Other")
    try server.put("x", ["title": "A"])
    try server.put("o", in: other, ["title": "O"])
    let foreign = try await server.record(Record.ID("o", in: other))!
    let liar = ChangingRemote(
      server,
      changes: { page in
        guard page.saved.contains(where: { $0.id.zone == library }) else { return page }
        var page = page
        page.saved.append(foreign)
        return page
      })
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: liar, configuration: .quick)
    do { try await engine.sync() } catch {}
    #expect(try contents(local) == contents(server))
  }

  @Test("thirty thousand fields in one record")
  func manyFields() async throws {
    let device = try await Device(server)
    try await device.database.write { t in
      try t.save(Zone(library))
      var r = try Record(type: "Film", id: .film("wide"))
      for n in 0..<30000 { try r.set(.int(Int64(n & 63)), forKey: "k\(n)") }
      try t.save(r)
    }
    do { try await device.sync() } catch { Issue.record("\(error)") }
    #expect(try contents(device.database) == contents(server))
  }

  @Test("a database that is closed during a sync")
  func closing() async throws {
    for wait in [0, 1, 3, 10, 30] {
      let device = try await Device(try Database.inMemory(), .of(.greaterModifiedDateWins) { $0.pageRecordCount = 2 })
      for n in 0..<100 { try device.database.put("f\(n)", ["title": "x"]) }
      let task = Task { try await device.sync() }
      try await Task.sleep(for: .milliseconds(wait))
      try device.database.close()
      do { _ = try await task.value } catch {}
    }
  }

  @Test("start, stop and release in any order")
  func anyOrder() async throws {
    for n in 0..<50 {
      let local = try Database.inMemory()
      try local.put("f\(n)", ["title": "x"])
      weak var gone: SyncEngine?
      do {
        let engine = try await SyncEngine(local: local, remote: server, configuration: .quick)
        gone = engine
        for k in 0..<(n % 7 + 1) {
          switch (n &* 31 + k &* 17) % 5 {
          case 0, 1: await engine.start()
          case 2: await engine.stop()
          case 3: await engine.trigger()
          default: _ = try? await engine.sync()
          }
        }
      }
      try await until { gone == nil }
      try local.close()
    }
  }

  @Test("a word of the application is heard while a failed sync waits")
  func triggered() async throws {
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.retryDelays = .seconds(600)...(.seconds(600)) })
    device.network.fail(count: 1, with: DatabaseError(.networkUnavailable))
    await device.engine.start()
    try await until { await device.engine.status.lastError != nil }
    try device.database.put("a", ["title": "A"])
    await device.engine.trigger()
    try await until { try server.film("a") != nil }
    await device.engine.stop()
  }
}

struct XorCipher: FieldCipher {
  let key: UInt8
  func seal(_ plain: Data, context: Data) throws -> Data { Data([key] + plain.map { $0 ^ key }) }
  func open(_ sealed: Data, context: Data) throws -> Data { Data(sealed.dropFirst().map { $0 ^ key }) }
}
