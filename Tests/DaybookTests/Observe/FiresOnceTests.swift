import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("subscriptions that fire once, and what else happens")
struct FiresOnceTests {
  private func subscriptions(_ count: Int) -> [Subscription] {
    (0..<count).map { Subscription(.init("s\($0)"), to: Query("Note"), firesOn: .creation, firesOnce: true) }
  }

  @Test("what waits to be told when another history comes deletes nothing there")
  func otherHistory() async throws {
    let disk = SimulatedDisk(seed: 4)
    let database = try now { try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction } }
    let stream = database.notifications()
    try now {
      try database.modifySubscriptions(saving: subscriptions(2))
      try database.backup(to: "old.daybook", disk: disk)
      try database.put("a")
    }
    var iterator = stream.makeAsyncIterator()
    // Both are found; the first is told, and could not be deleted.
    try now { try database.suspend() }
    #expect(await iterator.next()?.subscription.id == "s0")
    try now {
      try disk.rename("old.daybook", to: "test.daybook")
      try database.resume()
      try database.refresh()
    }
    #expect(await iterator.next()?.subscription.id == "s1")
    #expect(try await database.subscriptions().map(\.id) == ["s0", "s1"])
    // What happened in that history is not known. Then they fire.
    for id in ["s0", "s1"] as [Subscription.ID] {
      let notification = await iterator.next()
      #expect(notification?.subscription.id == id && notification?.content == .missed)
    }
    try now { try database.put("b") }
    var told: [Subscription.ID] = []
    while told.count < 2, let notification = await iterator.next() {
      #expect(notification.content != .missed)
      told.append(notification.subscription.id)
    }
    #expect(told == ["s0", "s1"])
    #expect(try await database.subscriptions().isEmpty)
    try now { try database.close() }
  }

  @Test("one that went with its zone and one of the same ID are told one after the other, and the second is deleted")
  func reborn() async throws {
    let zone = try Zone.ID("Z")
    let once = Subscription("s", to: Query("Note", in: zone), firesOn: .creation, firesOnce: true)
    let database = try now {
      let database = try Database.scratch()
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(once)
        try transaction.save(Subscription("zzz", to: Query("End")))
      }
      return database
    }
    let stream = database.notifications()
    try now {
      try database.put("old", in: zone)
      try database.deleteZone(zone)
      try database.write { try $0.save(Zone(zone)) }
      try database.write { try $0.save(once) }
      try database.put("new", in: zone)
      try database.put("end", type: "End")
    }
    var told: [String] = []
    for await notification in stream {
      if notification.subscription.id == "zzz" { break }
      guard case .record(_, let id, _) = notification.content else { continue }
      told.append(id?.name ?? "–")
    }
    #expect(told == ["old", "new"])
    #expect(try await database.subscriptions().map(\.id) == ["zzz"])
    try now { try database.close() }
  }

  @Test("hundreds that are told displace nothing that comes meanwhile")
  func hundreds() async throws {
    let database = try now { try Database.scratch() }
    try now {
      try database.modifySubscriptions(saving: subscriptions(995) + [Subscription("zzz", to: Query("End"))])
    }
    let stream = database.notifications()
    try now { try database.put("n") }
    var (toldCount, endCount) = (0, 0)
    for await notification in stream {
      #expect(notification.content != .missed)
      if notification.subscription.id == "zzz" {
        endCount += 1
        if endCount == 40 { break }
        continue
      }
      toldCount += 1
      // The application works in between.
      if toldCount == 10 { try now { for number in 0..<40 { try database.put("e\(number)", type: "End") } } }
    }
    #expect(toldCount == 995)
    try now { try database.close() }
  }
}
