import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Subscriptions: saved with the data, of whatever is asked for told once and to those who listen, and silent about the rest.

@Suite("subscriptions", .timeLimit(.minutes(15)))
struct SubscriptionTests {
  private typealias Notifications = AsyncStream<SubscriptionNotification>

  /// The subscriptions that the waiting notifications are of, and one that is made to fire after them.
  private func firedUntilEnd(_ stream: Notifications, _ database: Database) async throws -> [Subscription.ID] {
    try now {
      try database.modifySubscriptions(saving: [Subscription(.init("end"), to: Query("End"), firesOn: .creation)])
      try database.put("end", type: "End")
    }
    var fired: [Subscription.ID] = []
    for await notification in stream {
      fired.append(notification.subscription.id)
      if fired.last == .init("end") { break }
    }
    return fired
  }

  /// The notifications that wait, with a word for each; the last of them is of a subscription to the type `End`.
  private func texts(_ stream: Notifications, _ database: Database) async throws -> [String] {
    try now { try database.put("end \(UUID().uuidString)", type: "End") }
    return await untilEnd(stream)
  }

  private func untilEnd(_ stream: Notifications) async -> [String] {
    var texts: [String] = []
    for await notification in stream {
      if notification.subscription.id == "zzz" { break }
      texts.append(notification.text)
    }
    return texts
  }

  private func subscribed(_ subscriptions: Subscription...) throws -> Database {
    let database = try Database.scratch()
    try database.write { transaction in
      // Subscriptions are evaluated in the order of their IDs, and this one comes last among those of a batch.
      for subscription in subscriptions + [Subscription("zzz", to: Query("End"))] { try transaction.save(subscription) }
    }
    return database
  }

  private func put(
    _ database: Database, _ name: String, _ number: Int, in zone: Zone.ID = .default, origin: Origin? = nil
  ) throws {
    try database.write(origin: origin) {
      try $0.save(.fresh(name, in: zone, ["n": .int(Int64(number))]), policy: .changedKeys)
    }
  }

  @Test("records that are made, changed and deleted are told as far as the predicate accepts them and it is asked for")
  func queries() async throws {
    let query = Query("Note", where: .field("n") > 5)
    let database = try now {
      try subscribed(
        Subscription("all", to: query), Subscription("born", to: query, firesOn: .creation),
        Subscription("came", to: query, firesOn: .update), Subscription("died", to: query, firesOn: .deletion))
    }
    let stream = database.notifications()
    try now {
      try put(database, "small", 1)
      try put(database, "a", 6)
      try put(database, "small", 7)
      try put(database, "a", 2)
      try database.delete(Record.ID("small"))
      try database.delete(Record.ID("a"))
      try database.put("map", type: "Map", ["n": 9])
      try database.write { transaction in
        try transaction.save(.fresh("passing", ["n": 8]))
        try transaction.delete(Record.ID("passing"))
      }
    }
    let texts = try await texts(stream, database)
    // Between subscriptions the order is that of batches, which nothing promises.
    #expect(texts.filter { $0.hasPrefix("all") } == ["all created a", "all updated small", "all deleted small"])
    #expect(texts.filter { $0.hasPrefix("born") } == ["born created a"])
    #expect(texts.filter { $0.hasPrefix("came") } == ["came updated small"])
    #expect(texts.filter { $0.hasPrefix("died") } == ["died deleted small"])
  }

  @Test("zones and the database are told of, the default zone only as a zone, and records that went with a zone")
  func zones() async throws {
    let database = try now {
      let database = try subscribed(Subscription(toDatabase: "database"), Subscription(toDatabase: "maps", recordType: "Map"))
      let zone = try database.zone("Library")
      try database.write { transaction in
        try transaction.save(Subscription("default", to: Zone.ID.default))
        try transaction.save(Subscription("library", to: zone))
        try transaction.save(Subscription("queried", to: Query("Note", in: zone), firesOn: .deletion))
        try transaction.save(.fresh("kept", in: zone))
      }
      return database
    }
    let zone = try Zone.ID("Library")
    var stream = database.notifications()
    try now { try put(database, "a", 1) }
    #expect(Set(try await texts(stream, database)) == ["default zone _defaultZone"])
    stream = database.notifications()
    try now { try put(database, "a", 1, in: zone) }
    #expect(
      Set(try await texts(stream, database)) == ["database database", "library zone Library", "default zone _defaultZone"])
    stream = database.notifications()
    try now { try database.put("m", in: zone, type: "Map") }
    #expect(try await texts(stream, database).contains("maps database"))
    stream = database.notifications()
    try now { try database.deleteZone(zone) }
    let texts = try await texts(stream, database)
    #expect(texts.contains("library zone Library") && texts.contains("queried deleted –") && texts.contains("maps database"))
  }

  @Test("a zone's subscription to a type is not told of that type in another zone")
  func typeOfAnotherZone() async throws {
    let database = try now {
      let database = try subscribed()
      let (zone, other) = try (database.zone("Library"), database.zone("Other"))
      try database.put("m", in: other, type: "Map")
      try database.write { try $0.save(Subscription("maps", to: zone, recordType: "Map")) }
      return database
    }
    let stream = database.notifications()
    try now {
      let (zone, other) = (try Zone.ID("Library"), try Zone.ID("Other"))
      try database.write { transaction in
        try transaction.save(.fresh("note", in: zone))
        var map = try #require(try transaction.record(Record.ID("m", in: other)))
        map["k"] = 1
        try transaction.save(map)
      }
      try database.put("map", in: zone, type: "Map")
    }
    #expect(try await texts(stream, database) == ["maps zone Library"])
  }

  @Test("records that were deleted in the commit that took their zone are told of, and those that came and went are not")
  func deletedBeforeZone() async throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("Z")
    let id = try Record.ID("last", in: zone)
    let stream = database.notifications()
    try now {
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(Record(type: "Note", id: id))
      }
      try database.modifySubscriptions(
        saving: ["Note", "Task"].map { Subscription(.init($0), to: Query($0), firesOn: .deletion) })
      try database.write { transaction in
        try transaction.delete(id)
        try transaction.save(Record(type: "Task", id: id))
        try transaction.delete(id)
        try transaction.deleteZone(zone)
      }
    }
    let told = try await firedUntilEnd(stream, database)
    #expect(told == [.init("Note"), .init("end")])
  }

  @Test("a restored file is told of to subscriptions, also to one that its last commit had saved")
  func restoredFile() async throws {
    let disk = SimulatedDisk(seed: 3)
    let database = try now { try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction } }
    let stream = database.notifications()
    try now {
      try database.put("a")
      try database.modifySubscriptions(saving: [Subscription(.init("s"), to: Query("Note"), firesOn: .all)])
      try database.backup(to: "old.daybook", disk: disk)
      for name in ["b", "c"] { try database.put(name) }
    }
    var iterator = stream.makeAsyncIterator()
    for _ in 0..<2 { #expect(await iterator.next()?.content != .missed) }
    try now {
      try disk.rename("old.daybook", to: "test.daybook")
      try database.refresh()
      #expect(try database.recordCount(in: .default) == 1)
    }
    #expect(await iterator.next()?.content == .missed)
    try now { try database.close() }
  }

  @Test("a subscription that fires once, and has, fires again in a restored file that has it")
  func restoredOnce() async throws {
    let disk = SimulatedDisk(seed: 4)
    let database = try now { try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction } }
    let stream = database.notifications()
    try now {
      let once = Subscription("once", to: Query("Note"), firesOn: .creation, firesOnce: true)
      try database.modifySubscriptions(saving: [once])
      try database.backup(to: "old.daybook", disk: disk)
      try database.put("a")
    }
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next()?.content != .missed)
    #expect(try await database.subscriptions().isEmpty)
    try now {
      try disk.rename("old.daybook", to: "test.daybook")
      try database.refresh()
    }
    #expect(await iterator.next()?.content == .missed)
    try now { try database.put("b") }
    #expect(await iterator.next()?.content != .missed)
    #expect(try await database.subscriptions().isEmpty)
    try now { try database.close() }
  }

  @Test("a record whose name another type takes in the same commit is deleted for one subscription, and created for another")
  func otherType() async throws {
    let database = try Database.scratch()
    let id = try Record.ID("n")
    let stream = database.notifications()
    try now {
      try database.write { try $0.save(Record(type: "Note", id: id)) }
      let targets: [(String, Subscription.Trigger)] = [
        ("Note", .deletion), ("Task", .creation), ("Task", .update), ("Note", .update),
      ]
      try database.modifySubscriptions(
        saving: targets.enumerated().map { Subscription(.init("\($0)"), to: Query($1.0), firesOn: $1.1) })
      try database.write { transaction in
        try transaction.delete(id)
        try transaction.save(Record(type: "Task", id: id))
      }
    }
    let told = try await firedUntilEnd(stream, database)
    #expect(told == [.init("0"), .init("1"), .init("end")])
  }

  @Test("a subscription to a query without a zone is one to all zones, in each dialect")
  func allZones() async throws {
    for dialect in [Dialect.extended, .cloudKit] {
      let database = try now {
        let database = try Database.scratch { $0.dialect = dialect }
        try database.write { transaction in
          try transaction.save(Zone(Zone.ID("Library")))
          try transaction.save(Subscription("all", to: Query("Note"), firesOn: .creation))
          try transaction.save(Subscription("one", to: Query("Note", in: .default), firesOn: .creation))
          try transaction.save(Subscription("zzz", to: Query("End")))
        }
        return database
      }
      let stream = database.notifications()
      try now { try put(database, "a", 1, in: try Zone.ID("Library")) }
      #expect(try await texts(stream, database) == ["all created a"])
    }
  }

  @Test("a subscription tells of commits after its own, also when they were waiting before")
  func since() async throws {
    let database = try now { try subscribed() }
    let stream = database.notifications()
    try now {
      try put(database, "before", 1)
      try database.write { transaction in
        try transaction.save(.fresh("with"))
        try transaction.save(Subscription("late", to: Query("Note")))
      }
      try put(database, "after", 2)
    }
    #expect(try await texts(stream, database) == ["late created after"])
  }

  @Test("one that fires once tells of one change, to one listener, and is gone")
  func once() async throws {
    let database = try now { try subscribed(Subscription("a", to: Query("Note"), firesOn: .creation, firesOnce: true)) }
    let streams = (database.notifications(), database.notifications())
    try now { for number in 0..<5 { try put(database, "n\(number)", number) } }
    var all = try await texts(streams.0, database)
    all += try await texts(streams.1, database)
    #expect(all == ["a created n0"])
    #expect(try await database.subscriptions().map(\.id) == ["zzz"])
  }

  @Test("one that fires once and could not be deleted while the database was suspended does not fire for the next listener")
  func onceSuspended() async throws {
    let database = try now { try subscribed(Subscription("a", to: Query("Note"), firesOn: .creation, firesOnce: true)) }
    do {
      var iterator = database.notifications().makeAsyncIterator()
      try now {
        try put(database, "n", 1)
        try database.suspend()
      }
      #expect(await iterator.next()?.subscription.id == .init("a"))
      try now {
        try database.resume()
        #expect(try database.subscription(.init("a")) != nil)
        try database.put("end", type: "End")
      }
      #expect(await iterator.next()?.subscription.id == .init("zzz"))
    }
    let next = database.notifications()
    try now { try put(database, "m", 2) }
    #expect(try await texts(next, database) == [])
    #expect(try await database.subscriptions().map(\.id) == ["zzz"])
  }

  @Test("one that fires once and is still to be told when its listener goes is told to the next")
  func onceUnheard() async throws {
    let once = ["a", "b"].map { Subscription(.init($0), to: Query("Note"), firesOn: .creation, firesOnce: true) }
    let database = try now { try subscribed(once[0], once[1]) }
    let stream = database.notifications()
    try now { try put(database, "n", 1) }
    for await notification in stream {
      #expect(notification.subscription.id == .init("a"))
      break
    }
    #expect(try await database.subscriptions().map(\.id) == ["b", "zzz"])
    let next = database.notifications()
    try now { try put(database, "m", 2) }
    #expect(try await texts(next, database) == ["b created m"])
    // The first one is told that another one was.
    #expect(await untilEnd(stream) == [])
    #expect(try await database.subscriptions().map(\.id) == ["zzz"])
  }

  @Test("a listener that is cancelled while a transaction runs leaves a subscription that fires once to the others")
  func cancelledOnce() async throws {
    let database = try now { try subscribed(Subscription("a", to: Query("Note"), firesOn: .creation, firesOnce: true)) }
    let (cancelled, other) = (database.notifications(), database.notifications())
    try now { try put(database, "n", 1) }
    // The first listener asks for the subscription while this transaction has the turn.
    let (ended, holds) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let turn = Thread {
      try? database.write { _ in
        holds.signal()
        _ = ended.wait(timeout: .now() + 2)
      }
      holds.signal()
    }
    turn.start()
    now { holds.wait() }
    let listener = Task { for await _ in cancelled {} }
    try await Task.sleep(for: .milliseconds(100))
    listener.cancel()
    await listener.value
    ended.signal()
    now { holds.wait() }
    #expect(try await database.subscription("a") != nil)
    #expect(try await texts(other, database) == ["a created n"])
  }

  @Test(
    "a subscription that fires once is told, though its zone is deleted or it is saved again before the listener has its turn",
    arguments: [true, false])
  func overtakenOnce(isZoneDeleted: Bool) async throws {
    // On a busy machine the listener may come too late to be overtaken.
    for patience in [200, 1000, 5000] where try await isOvertaken(isZoneDeleted, patience: patience) { return }
    Issue.record("the listener tells nothing, however long it has before it is overtaken")
  }

  /// Whether a listener that has found what to tell, and waits for its turn, tells it.
  private func isOvertaken(_ isZoneDeleted: Bool, patience: Int) async throws -> Bool {
    let zone = try Zone.ID("Z")
    let once = Subscription("once", to: Query("Note", in: zone), firesOn: .creation, firesOnce: true)
    let database = try Database.scratch()
    try now {
      try database.write { transaction in
        try transaction.save(Zone(zone))
        for subscription in [once, Subscription("zzz", to: Query("End"))] { try transaction.save(subscription) }
      }
    }
    let stream = database.notifications()
    try now { try database.write { try $0.save(Record(type: "Note", id: Record.ID("n", in: zone))) } }
    // The listener asks for the subscription while this transaction has the turn.
    let (goesOn, holds) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let turn = Thread {
      try? database.write { transaction in
        holds.signal()
        goesOn.wait()
        if isZoneDeleted { try transaction.deleteZone(zone) } else { try transaction.save(once) }
      }
      holds.signal()
    }
    turn.start()
    now { holds.wait() }
    let listener = Task { await untilEnd(stream) }
    try await Task.sleep(for: .milliseconds(patience))
    goesOn.signal()
    now { holds.wait() }
    try now { try database.put("end", type: "End") }
    #expect(try await database.subscription("once")?.id == (isZoneDeleted ? nil : once.id))
    return await listener.value == ["once created n"]
  }

  @Test("commits of the listener's own origin are left out")
  func origins() async throws {
    let database = try now { try subscribed(Subscription("a", to: Query("Note"))) }
    let stream = database.notifications(excluding: "me")
    try now {
      try put(database, "mine", 1, origin: "me")
      try put(database, "theirs", 2, origin: "they")
    }
    #expect(try await texts(stream, database) == ["a created theirs"])
  }

  @Test("subscriptions are there again when the file is opened, one of each ID, and go with a transaction that is rolled back")
  func saved() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    var info = Subscription.NotificationInfo()
    info.alertBody = "New"
    info.desiredKeys = ["n"]
    let here = Location(latitude: 1, longitude: 2)
    let query = Query(
      "Note", where: .field("n").isIn([1, 2]) && .field("place").near(here, within: 5), sort: [.ascending("n")], limit: 3)
    let subscriptions = [
      Subscription("a", to: query, firesOn: [.creation, .deletion], firesOnce: true, info: info),
      Subscription("b", to: Zone.ID.default, recordType: "Map"), Subscription(toDatabase: "c", recordType: "Note"),
    ]
    try now {
      let database = try Database.open(at: path)
      let result = try database.modifySubscriptions(
        saving: [Subscription("a", to: Query("Old"))] + subscriptions, deleting: ["x"])
      #expect(result.errors.mapValues(\.code) == ["x": .unknownItem] && result.saved.count == 3)
      try? database.write { transaction in
        try transaction.deleteSubscription("a")
        try transaction.save(Subscription("d", to: Query("Note")))
        #expect(try transaction.subscriptions().map(\.id) == ["b", "c", "d"])
        throw Intended()
      }
      try database.compact()
      try database.close()
      let again = try Database.open(at: path)
      #expect(try again.subscriptions() == subscriptions)
      try again.modifySubscriptions(saving: [], deleting: ["a", "b", "c"])
      #expect(try again.subscriptions().isEmpty)
      try again.expectClean()
      try again.close()
    }
    for subscription in subscriptions {
      #expect(try JSONDecoder().decode(Subscription.self, from: JSONEncoder().encode(subscription)) == subscription)
    }
  }

  @Test("of two subscriptions whose IDs differ in composition one never fired, and was told as failed with the other")
  func spelling() async throws {
    let (composed, decomposed): (Subscription.ID, Subscription.ID) = ("\u{E9}", "e\u{301}")
    #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
    let database = try subscribed(
      Subscription(composed, to: Query("Note"), firesOn: .creation, firesOnce: true),
      Subscription(decomposed, to: Query("Note"), firesOn: .creation, firesOnce: true))
    let stream = database.notifications()
    try now { try database.put("a", type: "Note") }
    var fired: [Subscription.ID] = []
    for await notification in stream {
      fired.append(notification.subscription.id)
      if fired.count == 2 { break }
    }
    #expect(fired == [decomposed, composed].sorted())
    try now {
      #expect(try database.subscriptions().map(\.id) == ["zzz"])
      let result = try database.modifySubscriptions(
        saving: [Subscription(composed, to: .default), Subscription(decomposed, to: Zone.ID("None"))])
      #expect(result.saved.count == 2 && result.errors.keys.elementsEqual([decomposed]))
      #expect(try database.subscription(composed)?.id == composed && database.subscription(decomposed) == nil)
      #expect(try database.subscriptions().map(\.id) == ["zzz", composed].sorted())
      try database.expectClean()
    }
  }

  @Test("what no database takes is refused, and the library's entry is no metadata of an application")
  func refusals() throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("None")
    let refused: [(Subscription, DatabaseError.Code)] = [
      (Subscription("", to: Query("Note")), .invalidArguments),
      (Subscription(.init(String(repeating: "x", count: 256)), to: Query("Note")), .invalidArguments),
      (Subscription("a", to: Query("Note"), firesOn: []), .invalidArguments),
      (Subscription("a", to: Query("Note", limit: 0)), .invalidArguments),
      (Subscription("a", to: zone), .zoneNotFound), (Subscription("a", to: Query("Note", in: zone)), .zoneNotFound),
    ]
    for (subscription, code) in refused {
      #expect(failure { try database.write { try $0.save(subscription) } }?.code == code, "\(subscription)")
    }
    #expect(failure { try database.write { try $0.setMetadata(Data(), forKey: StoredSubscriptions.key(of: "a")) } } != nil)
    #expect(try database.subscriptions().isEmpty)
  }

  @Test("of two subscriptions of one ID one was saved and both were told as refused, and of two deletions both as missing")
  func namedTwice() throws {
    let database = try Database.inMemory()
    let (first, second) = (Subscription("a", to: Query("Note")), Subscription("a", to: Query("Note"), firesOn: []))
    #expect(try database.modifySubscriptions(saving: [first, second]).errors["a"]?.code == .invalidArguments)
    #expect(try database.subscriptions().isEmpty)
    #expect(try database.modifySubscriptions(saving: [second, first]).errors.isEmpty)
    #expect(try database.subscriptions() == [first])
    #expect(try database.modifySubscriptions(saving: [], deleting: ["a", "a"]).errors.isEmpty)
    #expect(try database.subscriptions().isEmpty)
    // One that is saved and deleted has a result of each, and is gone.
    let both = try database.modifySubscriptions(saving: [first], deleting: ["a"])
    #expect(both.errors.isEmpty && both.saved.count == 1 && both.deleted.count == 1)
    #expect(try database.subscriptions().isEmpty)
  }

  @Test("a public database has subscriptions to queries only, a shared one to all of it only, a private one all of them")
  func scopes() throws {
    let folder = try TemporaryFolder()
    let container = try Container.open("iCloud.com.example.Subscriptions", in: folder.path)
    func taken(_ scope: DatabaseScope) throws -> [String] {
      let subscriptions = [
        Subscription("query", to: Query("Note")), Subscription("zone", to: Zone.ID.default), Subscription(toDatabase: "all"),
      ]
      let result = try container.database(scope).modifySubscriptions(saving: subscriptions, deleting: ["none"])
      #expect(result.errors["none"]?.code == .unknownItem)
      #expect(result.errors.values.allSatisfy { $0.code == .invalidArguments || $0.code == .unknownItem })
      return try container.database(scope).subscriptions().map(\.id.name)
    }
    #expect(try taken(.private) == ["all", "query", "zone"])
    #expect(try taken(.public) == ["query"])
    #expect(try taken(.shared) == ["all"])
  }

  @Test("commits of another process and a slow consumer's are told as missed, and changes are found by the token")
  func missed() async throws {
    let disk = SimulatedDisk(seed: 5)
    let (a, b) = try now {
      (
        try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction },
        try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
      )
    }
    try now { try a.write { try $0.save(Subscription("notes", to: Query("Note"))) } }
    try now { try b.refresh() }
    let token = try now { try b.changes(in: .default, since: nil).token }
    var iterator = b.notifications().makeAsyncIterator()
    try now {
      try a.put("n", ["n": 1])
      try b.refresh()
    }
    let notification = await iterator.next()
    #expect(notification?.content == .missed && notification?.subscription.id == "notes")
    #expect(try now { try b.changes(in: .default, since: token).saved.map(\.id.name) } == ["n"])
    try now { for number in 0..<1500 { try b.put("n\(number % 3)", ["n": 2]) } }
    var contents: [SubscriptionNotification.Content] = []
    while contents.last != .missed { contents.append(try #require(await iterator.next()).content) }
    #expect(contents.count < 1500)
    try now {
      try a.close()
      try b.close()
    }
    while await iterator.next() != nil {}
  }

  @Test("a listener that is released or cancelled costs nothing more")
  func forgotten() async throws {
    let database = try now { try subscribed(Subscription("a", to: Query("Note"))) }
    do {
      var iterator = database.notifications().makeAsyncIterator()
      try now { try database.put("n") }
      _ = await iterator.next()
      #expect(database.hub.recorder() != nil)
    }
    #expect(database.hub.recorder() == nil)
    let stream = database.notifications()
    let task = Task { for await _ in stream {} }
    task.cancel()
    await task.value
  }
}

extension SubscriptionNotification {
  fileprivate var text: String {
    let what =
      switch content {
      case .record(let reason, let id, _): "\(reason) \(id?.name ?? "–")"
      case .zone(let zone): "zone \(zone.name)"
      case .database: "database"
      case .missed: "missed"
      }
    return "\(subscription.id) \(what)"
  }
}
