import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// Networks that fail, servers that refuse, applications that end.
@Suite("syncs on a bad day")
struct SyncFaultTests {
  let server: Database

  init() throws { server = try Database.inMemory() }

  @Test(
    "a sync that fails anywhere goes on the next time, and sends nothing twice",
    arguments: [FaultInjectingDatabase.Loss.request, .answer])
  func everyCall(_ loss: FaultInjectingDatabase.Loss) async throws {
    for skipped in 0..<60 {
      let server = try Database.inMemory()
      let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 3 })
      for number in 0..<5 { try device.database.put("here\(number)", ["title": "here"]) }
      for number in 0..<5 { try server.put("there\(number)", ["title": "there"]) }
      try await server.save(Zone(try Zone.ID("Other")))
      device.network.fail(skipping: skipped, with: DatabaseError(.networkFailure), losing: loss)
      do { try await device.sync() } catch { #expect((error as? DatabaseError)?.code == .networkFailure) }
      device.network.stopFailing()
      #expect(try await device.sync().conflicts == 0)
      #expect(try contents(device.database) == contents(server))
      // One version each: nothing was saved again.
      for number in 0..<5 {
        #expect(try await server.history(of: .film("here\(number)")).count == 1, "\(skipped)")
        #expect(try await device.database.history(of: .film("there\(number)")).count == 1, "\(skipped)")
      }
    }
  }

  @Test(
    "a change that was sent, and its answer lost, does not come back as somebody else's over what was typed since",
    arguments: [true, false])
  func ownWords(_ isNew: Bool) async throws {
    for policy in [SyncPolicy.serverRecordWins, .greaterModifiedDateWins, .clientRecordWins] {
      let device = try await Device(server, .of(policy))
      let name = "film\(UUID())"
      if !isNew {
        try device.database.put(name, ["title": "zero", "year": 1])
        try await device.sync()
      }
      try device.database.put(name, ["title": "first", "year": 1])
      device.network.fail(.modify, losing: .answer)
      await #expect(throws: DatabaseError.self) { try await device.sync() }
      #expect(try server.film(name)?["title"] == "first")
      try device.database.put(name, ["title": "second"])
      // And another device has changed another field since. Of a new record nothing was agreed on, so the policy decides.
      try server.put(name, ["year": 2])
      try await device.sync()
      #expect(try server.film(name)?["title"] == "second")
      if !isNew { #expect(try server.film(name)?["year"] == 2) }
      #expect(try contents(device.database) == contents(server))
    }
  }

  @Test(
    "a deletion whose answer was lost deletes nothing that was made since; a save whose answer was lost does not undo a deletion"
  )
  func ownDeletions() async throws {
    for policy in [SyncPolicy.serverRecordWins, .greaterModifiedDateWins, .clientRecordWins] {
      let device = try await Device(server, .of(policy))
      for name in ["again", "gone"] { try device.database.put(name, ["title": "old"]) }
      try await device.sync()
      try await device.database.delete(.film("again"))
      try device.database.put("gone", ["title": "changed"])
      device.network.fail(.modify, losing: .answer)
      await #expect(throws: DatabaseError.self) { try await device.sync() }
      try device.database.put("again", ["title": "new"])
      try await device.database.delete(.film("gone"))
      try await device.sync()
      #expect(try server.film("again")?["title"] == "new" && server.film("gone") == nil)
      #expect(try contents(device.database) == contents(server))
    }
  }

  @Test("A28: attempts wait as long as the server says, and end with their number")
  func retryAfter() async throws {
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.attempts = 3 })
    var events = device.engine.events.makeAsyncIterator()
    try device.database.put("dune", ["title": "Dune"])
    device.network.fail(.modify, count: 2, with: DatabaseError(.requestRateLimited, retryAfter: .milliseconds(80)))
    let start = ContinuousClock.now
    try await device.sync()
    #expect(start.duration(to: .now) >= .milliseconds(160))
    var waits = 0
    while let event = await events.next() {
      if case .waiting(let wait, let error) = event {
        waits += 1
        #expect(wait >= .milliseconds(80) && error.code == .requestRateLimited)
      }
      if case .finished = event { break }
    }
    #expect(waits == 2)
    try device.database.put("dune", ["title": "2"])
    device.network.fail(.modify, count: .max, with: DatabaseError(.networkFailure))
    await #expect(throws: DatabaseError.self) { try await device.sync() }
    #expect(await device.engine.status.lastError?.code == .networkFailure)
    #expect(try await device.engine.outbox().map(\.id) == [.film("dune")])
  }

  @Test("K3, K4: every start is followed by one finish, also when it fails")
  func events() async throws {
    let device = try await Device(server)
    var events = device.engine.events.makeAsyncIterator()
    device.network.status = .noAccount
    await #expect(throws: DatabaseError.self) { try await device.sync() }
    device.network.status = nil
    try await device.sync()
    var seen: [String] = []
    while seen.count < 4, let event = await events.next() {
      switch event {
      case .started: seen.append("started")
      case .finished: seen.append("finished")
      case .failed(let error): seen.append("failed \(error.code)")
      default: break
      }
    }
    #expect(seen == ["started", "failed notAuthenticated", "started", "finished"])
  }

  @Test("one record that the server refuses keeps no other from being sent, and is sent again once it is changed")
  func quarantine() async throws {
    var options = Database.Options()
    options.limits.recordByteCount = 5000
    let server = try Database.inMemory(options: options)
    let (first, second) = (try await Device(server), try await Device(server))
    for number in 0..<10 { try first.database.put("film\(number)", ["title": "Film"]) }
    try first.database.put("large", ["title": .string(String(repeating: "x", count: 10_000))])
    let report = try await first.sync()
    #expect(report.quarantined == 1 && report.sent == 10)
    let refused = try #require(try await first.engine.quarantine().first)
    #expect(refused.id == .film("large") && refused.direction == .sending && refused.code == .limitExceeded)
    #expect(try await first.sync().sent == 0, "not tried again")
    #expect(try await first.engine.outbox().isEmpty)
    try first.database.put("large", ["title": "small"])
    #expect(try await first.engine.outbox().map(\.id) == [.film("large")])
    #expect(
      try await first.sync()
        == {
          var report = SyncReport(); report.sent = 1; return report
        }())
    try await second.sync()
    #expect(try contents(second.database) == contents(first.database))
  }

  @Test("a record that cannot be saved here is in quarantine, and fetched again when asked")
  func unsaved() async throws {
    var options = Database.Options()
    options.limits.recordByteCount = 5000
    let device = try await Device(server, database: try Database.inMemory(options: options))
    try server.put("large", ["title": .string(String(repeating: "x", count: 10_000))])
    try server.put("small", ["title": "small"])
    #expect(try await device.sync().quarantined == 1)
    #expect(try device.database.film("small") != nil)
    #expect(try await device.engine.quarantine().map(\.direction) == [.fetching])
    try server.put("large", ["title": "small now"])
    #expect(try await device.engine.retry([.film("large")]).quarantined == 0)
    #expect(try contents(device.database) == contents(server))
  }

  @Test("what waits for its parent is sent as soon as the parent can be")
  func waiting() async throws {
    var options = Database.Options()
    options.limits.recordByteCount = 5000
    let server = try Database.inMemory(options: options)
    let device = try await Device(server)
    try device.database.put("parent", ["title": .string(String(repeating: "x", count: 10_000))])
    try await device.database.write { transaction in
      var child = try Record(type: "Film", id: .film("child"))
      child.parent = Record.Reference(.film("parent"))
      try transaction.save(child)
    }
    #expect(try await device.sync().quarantined == 2)
    #expect(Set(try await device.engine.quarantine().map(\.code)) == [.limitExceeded, .referenceViolation])
    try device.database.put("parent", ["title": "short"])
    #expect(try await device.sync().quarantined == 0)
    #expect(try contents(device.database) == contents(server))
  }

  @Test("a change is given up for the server's version")
  func revert() async throws {
    let device = try await Device(server)
    try device.database.put("dune", ["title": "Dune"])
    try await device.sync()
    try device.database.put("dune", ["title": "mine"])
    try device.database.put("new", ["title": "new"])
    try server.put("dune", ["title": "theirs"])
    try await device.engine.revert([.film("dune"), .film("new")])
    #expect(try device.database.film("dune")?["title"] == "theirs" && device.database.film("new") == nil)
    #expect(try await device.engine.outbox().isEmpty)
    #expect(try await device.sync().sent == 0)
    #expect(try contents(device.database) == contents(server))
  }

  @Test("a token that expired on the server costs a whole reading, and no unsent change; what was deleted there goes here")
  func expired() async throws {
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 4 })
    for number in 0..<20 { try device.database.put("film\(number)", ["title": "Film"]) }
    try await device.sync()
    for number in 0..<5 { try await server.delete(.film("film\(number)")) }
    try server.put("there", ["title": "there"])
    try await server.write { try $0.forgetDeletions(through: server.statistics().lastSequence - 1) }
    try device.database.put("film3", ["title": "changed here"])
    try device.database.put("film7", ["title": "changed here"])
    try device.database.put("here", ["title": "here"])
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
    #expect(try server.film("film3")?["title"] == "changed here" && server.film("film4") == nil && server.film("here") != nil)
    #expect(try contents(server).count == 1 + 15 + 2 + 1)
  }

  @Test("deletions that this database has forgotten reach the server all the same")
  func forgotten() async throws {
    let device = try await Device(server)
    for number in 0..<20 { try device.database.put("film\(number)", ["title": "Film"]) }
    try await device.sync()
    for number in 0..<5 { try await device.database.delete(.film("film\(number)")) }
    try device.database.put("last", ["title": "last"])
    let database = device.database
    try await database.write { try $0.forgetDeletions(through: database.statistics().lastSequence - 1) }
    try await device.sync()
    #expect(try contents(device.database) == contents(server) && contents(server).count == 17)
  }

  @Test("what was deleted before anything of a zone was fetched or sent completely is deleted everywhere")
  func deletedEarly() async throws {
    // The answer to the first send is there, and then the network fails.
    let device = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 2 })
    for number in 0..<6 { try device.database.put("film\(number)", ["title": "Film"]) }
    device.network.fail(.modify, skipping: 1, count: .max, with: DatabaseError(.networkFailure))
    await #expect(throws: DatabaseError.self) { try await device.sync() }
    device.network.stopFailing()
    let sent = try #require(try contents(server).keys.first { $0.hasSuffix("0") || $0.hasSuffix("1") })
    try await server.delete(.film(String(sent.dropFirst("Library/".count))))
    let last = try await server.statistics().lastSequence
    try server.put("other", ["title": "other"])
    try await server.write { try $0.forgetDeletions(through: last) }
    try await device.sync()
    #expect(try contents(device.database) == contents(server) && contents(server).count == 7)
    // A zone that is made again here before its first send has ended.
    let second = try await Device(server)
    second.network.fail(.modify, with: DatabaseError(.networkFailure))
    try second.database.put("film5", ["year": 1])
    await #expect(throws: DatabaseError.self) { try await second.sync() }
    try await second.database.deleteZone(library)
    try second.database.put("film4", ["title": "only this"])
    try await second.sync()
    #expect(try contents(second.database) == contents(server))
    #expect(try contents(server).keys.sorted() == ["Library/", "Library/film4"])
  }

  @Test("a server that says there is more and gives the same token is not asked forever")
  func sameToken() async throws {
    let stuck = ChangingRemote(
      server,
      changes: { page in
        var page = page
        page.moreComing = true
        return page
      })
    try server.put("dune", ["title": "Dune"])
    let local = try Database.inMemory()
    let engine = try await SyncEngine(local: local, remote: stuck, configuration: .quick)
    await #expect(throws: DatabaseError.self) { try await engine.sync() }
    #expect(try local.film("dune") != nil)
  }

  @Test("a sync that is cancelled ends soon, and the next one goes on")
  func cancelled() async throws {
    let device = try await Device(server)
    for number in 0..<500 { try device.database.put("film\(number)", ["title": "Film"]) }
    device.network.delay(.modify, by: .seconds(30))
    let task = Task { try await device.sync() }
    try await Task.sleep(for: .milliseconds(100))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    device.network.stopFailing()
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
  }

  @Test("two engines on one database and one server do not get into each other's way")
  func twoEngines() async throws {
    let first = try await Device(server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 10 })
    let second = try await Device(
      server, .of(.greaterModifiedDateWins) { $0.pageRecordCount = 10 }, database: first.database)
    for number in 0..<200 { try first.database.put("here\(number)", ["title": "here"]) }
    for number in 0..<200 { try server.put("there\(number)", ["title": "there"]) }
    async let one = first.sync()
    async let two = second.sync()
    _ = try await (one, two)
    try await first.sync()
    #expect(try contents(first.database) == contents(server))
    for number in 0..<200 { #expect(try await server.history(of: .film("here\(number)")).count == 1) }
  }

  @Test("K5, K6, K7, A32, A33: by itself after commits here and words of the server, and when it is asked")
  func automatic() async throws {
    let (first, second) = (try await Device(server), try await Device(server))
    try await server.modifySubscriptions(saving: [Subscription(toDatabase: "all")], deleting: [])
    await first.engine.start()
    await second.engine.start()
    try first.database.put("dune", ["title": "Dune"])
    try await until { try second.database.film("dune") != nil }
    try second.database.put("dune", ["year": 1])
    try await until { try first.database.film("dune")?["year"] == 1 }
    // A failure that passes is tried again without a word.
    first.network.fail(count: 3, with: DatabaseError(.networkUnavailable))
    try first.database.put("later", ["title": "later"])
    try await until { try second.database.film("later") != nil }
    await first.engine.stop()
    #expect(await !first.engine.status.isStarted)
    try first.database.put("stopped", ["title": "x"])
    await first.engine.trigger()
    try await Task.sleep(for: .milliseconds(50))
    #expect(try server.film("stopped") == nil)
    await first.engine.start()
    try await until { try second.database.film("stopped") != nil }
  }
}
