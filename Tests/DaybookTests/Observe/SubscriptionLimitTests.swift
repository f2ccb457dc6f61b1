import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Subscriptions that are too many, too large, unreadable, or of a zone that went, and listeners who cannot be told.

@Suite("limits of subscriptions", .timeLimit(.minutes(15)))
struct SubscriptionLimitTests {
  private func subscription(_ id: String, _ change: (inout Subscription.NotificationInfo) -> Void) -> Subscription {
    var info = Subscription.NotificationInfo()
    change(&info)
    return Subscription(.init(id), to: Query("Note"), info: info)
  }

  @Test("a subscription that repeats the keys of its text without end, or is a megabyte itself, is refused with the limit")
  func sizes() throws {
    let database = try Database.scratch()
    let many = Array(repeating: "title", count: 65)
    let long = [String(repeating: "k", count: 256)]
    let refused: [(Subscription, limit: Int)] = [
      (subscription("s") { $0.alertLocalizationArgs = many }, 64), (subscription("s") { $0.titleLocalizationArgs = many }, 64),
      (subscription("s") { $0.subtitleLocalizationArgs = many }, 64), (subscription("s") { $0.desiredKeys = many }, 64),
      (subscription("s") { $0.alertLocalizationArgs = long }, 255), (subscription("s") { $0.desiredKeys = long }, 255),
      (subscription("s") { $0.alertBody = String(repeating: "b", count: 1 << 20) }, 65_536),
      (Subscription("s", to: Query("Note", where: .field("n") == String(repeating: "b", count: 1 << 20))), 65_536),
    ]
    for (subscription, limit) in refused {
      let error = failure { try database.write { try $0.save(subscription) } }
      #expect(error?.code == .limitExceeded && error?.facts.limit == limit && error?.facts.name == "s")
    }
    #expect(try database.subscriptions().isEmpty)
    let largest = subscription("s") {
      $0.alertLocalizationArgs = Array(many.dropLast())
      $0.desiredKeys = [String(repeating: "k", count: 255)]
    }
    try database.write { try $0.save(largest) }
    #expect(try database.subscription("s") == largest)
  }

  @Test("there are a thousand subscriptions at most, each of them is written once, and another one can take a place")
  func count() throws {
    let database = try Database.scratch { $0.durability = .relaxed }
    var ends = [try database.statistics().logByteCount]
    for number in 0..<1000 {
      let subscription = subscription("s\(1000 + number)") { $0.alertBody = String(repeating: "b", count: 500) }
      try database.write { try $0.save(subscription) }
      if number % 100 == 99 { ends.append(try database.statistics().logByteCount) }
    }
    // The list as one value was half a megabyte for each of the last hundred.
    #expect(ends[10] - ends[9] < 2 * (ends[1] - ends[0]))
    let another = Subscription("another", to: Query("Note"))
    let error = failure { try database.write { try $0.save(another) } }
    #expect(error?.code == .limitExceeded && error?.facts.limit == 1000)
    try database.write { transaction in
      try transaction.save(Subscription("s1000", to: Query("Map")))
      try transaction.deleteSubscription("s1001")
      try transaction.save(another)
    }
    let all = try database.subscriptions()
    #expect(all.count == 1000 && all.first == another && all[1] == Subscription("s1000", to: Query("Map")))
    try database.expectClean()
  }

  @Test("two hundred subscriptions to a commit of sixty large records are told once each, not twelve thousand copies")
  func crowd() async throws {
    let database = try now { try Database.scratch() }
    try now {
      try database.write { transaction in
        for number in 0..<200 {
          try transaction.save(
            subscription("s\(1000 + number)") {
              $0.desiredKeys = ["text"]
              $0.alertLocalizationArgs = Array(repeating: "text", count: 64)
            })
        }
      }
    }
    var iterator = database.notifications().makeAsyncIterator()
    try now {
      try database.write { transaction in
        for number in 0..<60 {
          try transaction.save(.fresh("n\(number)", ["text": .string(String(repeating: "x", count: 100_000))]))
        }
      }
    }
    var ids: [String] = []
    for _ in 0..<200 {
      let notification = try #require(await iterator.next())
      #expect(notification.content == .missed)
      ids.append(notification.subscription.id.name)
    }
    #expect(ids == (0..<200).map { "s\(1000 + $0)" })
  }

  @Test("of more than is kept each subscription hears, those that went with their zone too, and none that fires once is spent")
  func crowdedZone() async throws {
    let database = try now { try Database.scratch() }
    let zone = try now { try database.zone("Library") }
    let once = Subscription("once", to: Query("Map"), firesOnce: true)
    try now {
      try database.modifySubscriptions(saving: [
        Subscription("a", to: Query("Note", in: zone), firesOn: .creation), Subscription("b", to: zone), once,
      ])
    }
    var iterator = database.notifications().makeAsyncIterator()
    try now {
      try database.write { transaction in
        for number in 0..<1100 { try transaction.save(.fresh("n\(number)", in: zone)) }
        try transaction.save(Record(type: "Map", id: Record.ID("map")))
      }
      try database.deleteZone(zone)
    }
    var told: [String] = []
    for _ in 0..<3 {
      let notification = try #require(await iterator.next())
      #expect(notification.content == .missed)
      told.append(notification.subscription.id.name)
    }
    #expect(told == ["a", "b", "once"])
    #expect(try now { try database.subscriptions() } == [once])
    try now { try database.write { _ = try $0.save(Record(type: "Map", id: Record.ID("another"))) } }
    let fired = try #require(await iterator.next())
    #expect(fired.subscription == once && fired.content != .missed)
    #expect(try now { try database.subscriptions() }.isEmpty)
  }

  @Test(
    "a trigger of bits that mean nothing, negative ones too, is refused when it is saved",
    arguments: [-1, 8, 9, .min, .max])
  func triggers(bits: Int) throws {
    let database = try Database.scratch()
    let subscription = Subscription("s", to: Query("Note"), firesOn: .init(rawValue: bits))
    let error = failure { try database.write { try $0.save(subscription) } }
    #expect(error?.code == .invalidArguments && error?.facts.found == "\(bits)")
  }

  @Test("one subscription that cannot be read leaves the others at work, is named by a check, and can be deleted or replaced")
  func unreadable() async throws {
    let disk = SimulatedDisk(seed: 7)
    let database = try now { try Database.open(on: disk) }
    let good = Subscription("zzz", to: Query("Note"))
    try now {
      try database.write { transaction in
        try transaction.save(good)
        for (id, text) in [
          ("future", #"{"since":1,"subscription":{"constellation":[]}}"#), ("junk", "{"),
          ("other", #"{"since":1,"subscription":{"firesOn":1,"firesOnce":false,"id":"another"}}"#),
        ] { try transaction.context.setMetadata(Data(text.utf8), forKey: StoredSubscriptions.key(of: .init(id))) }
      }
    }
    #expect(try now { try database.subscriptions() } == [good])
    #expect(try now { try database.subscription("zzz") } == good)
    #expect(try now { try database.subscription("none") } == nil)
    for id in ["future", "junk", "other"] {
      let error = failure { _ = try now { try database.subscription(.init(id)) } }
      #expect(error?.code == .formatTooNew && error?.facts.name == id)
    }
    let findings = try now { try database.check() }.findings
    #expect(findings.count == 3 && findings.allSatisfy { $0.offset != nil && $0.message.contains("cannot be read") })
    #expect(findings.contains { $0.message.contains("subscription future") })
    var iterator = database.notifications().makeAsyncIterator()
    try now { try database.put("n") }
    #expect(await iterator.next()?.subscription == good)
    try now {
      try database.write { transaction in
        try transaction.deleteSubscription("future")
        try transaction.deleteSubscription("junk")
        try transaction.save(Subscription("other", to: Query("Map")))
      }
      #expect(try database.subscriptions().map(\.id) == ["other", "zzz"])
      try database.expectClean()
      try database.close()
    }
  }

  @Test("a forged subscription of more keys than one may have, or one too many of them, is not read, and a check says so")
  func forged() throws {
    let database = try Database.scratch()
    let many = Array(repeating: "k", count: 65)
    let forged = [
      subscription("alert") { $0.alertLocalizationArgs = many }, subscription("desired") { $0.desiredKeys = many },
      subscription("long") { $0.titleLocalizationArgs = [String(repeating: "k", count: 256)] },
    ]
    let good = subscription("zzz") { $0.desiredKeys = Array(many.dropLast()) }
    func plant(_ subscription: Subscription, _ transaction: borrowing Transaction) throws {
      let data = try JSONEncoder().encode(StoredSubscriptions.Stored(since: 0, subscription: subscription))
      try transaction.context.setMetadata(data, forKey: StoredSubscriptions.key(of: subscription.id))
    }
    try database.write { transaction in
      for subscription in forged { try plant(subscription, transaction) }
      try transaction.save(good)
    }
    #expect(try database.subscriptions() == [good])
    for subscription in forged {
      let error = failure { _ = try database.subscription(subscription.id) }
      #expect(error?.code == .formatTooNew && error?.facts.name == subscription.id.name)
    }
    let findings = try database.check().findings
    #expect(findings.count == 3 && findings.allSatisfy { $0.message.contains("cannot be read") }, "\(findings)")
    try database.write { transaction in
      for subscription in forged { try transaction.deleteSubscription(subscription.id) }
      for number in 0..<1000 { try plant(subscription("s\(1000 + number)") { _ in }, transaction) }
    }
    #expect(try database.subscriptions().count == 1000)
    let more = try database.check().findings
    #expect(more.count == 1 && more[0].message.contains("more subscriptions than the 1000"), "\(more)")
  }

  @Test("several listeners of one stream whose subscriptions cannot be read wait for the next commit")
  func stalled() async throws {
    let made = SimulatedDisk(seed: 8)
    try now {
      let database = try Database.open(on: made)
      try database.write { try $0.save(Subscription("s", to: Query("Note"))) }
      try database.close()
    }
    let disk = made.killed()
    let database = try now {
      try Database.open(on: disk) {
        $0.access = .buffered
        $0.pageCacheByteCount = 64 << 10
      }
    }
    // What a commit of a new record reads is in memory from now on; the subscription is not.
    try now { for number in 0..<3 { try database.put("warm \(number)") } }
    let stream = database.notifications()
    let told = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask { for await _ in stream { told.withLock { $0 += 1 } } }
      }
      do {
        try await Task.sleep(for: .milliseconds(50))
        disk.startTrace()
        disk.inject(SimulatedFault([.read], call: 1, repeats: true))
        try now { _ = try database.write { try $0.save(.fresh("cold")) } }
        func readCount() -> Int { disk.trace.count { $0.operation == .read } }
        for _ in 0..<30_000 where readCount() == 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(readCount() > 0)
        // A listener that tries again and again reads thousands of times meanwhile.
        try await Task.sleep(for: .milliseconds(300))
        #expect(readCount() < 1000)
        #expect(told.withLock { $0 } == 0)
        disk.removeFaults()
        try now { _ = try database.write { try $0.save(.fresh("told")) } }
        for _ in 0..<30_000 where told.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(told.withLock { $0 } > 0)
      } catch { Issue.record(error) }
      disk.removeFaults()
      try? now { try database.close() }
    }
  }

  @Test("the subscriptions to a zone and to queries in it go with the zone, tell of that, and stay away")
  func deletedZone() async throws {
    let database = try now { try Database.scratch() }
    let (zone, other) = try now { (try database.zone("Library"), try database.zone("Archive")) }
    let ended: [Subscription] = [
      Subscription("a zone", to: zone), Subscription("b query", to: Query("Note", in: zone), firesOn: .deletion),
      Subscription("c once", to: Query("Note", in: zone), firesOnce: true),
    ]
    let kept: [Subscription] = [
      Subscription(toDatabase: "x database"), Subscription("y everywhere", to: Query("Map")),
      Subscription("z other", to: other),
    ]
    try now {
      try database.modifySubscriptions(saving: ended + kept)
      try database.put("n", in: zone)
    }
    let stream = database.notifications()
    try now { try database.deleteZone(zone) }
    #expect(try now { try database.subscriptions() } == kept)
    var told: [String] = []
    for await notification in stream {
      told.append(notification.subscription.id.name)
      if told.last == "x database" { break }
    }
    #expect(told == ["a zone", "b query", "c once", "x database"])
    try now {
      _ = try database.zone("Library")
      #expect(try database.subscriptions() == kept)
      // With a transaction that is rolled back they are there again.
      try? database.write { transaction in
        try transaction.deleteZone(other)
        #expect(try transaction.subscriptions().count == 2)
        throw Intended()
      }
      #expect(try database.subscriptions() == kept)
      try database.expectClean()
    }
  }
}
