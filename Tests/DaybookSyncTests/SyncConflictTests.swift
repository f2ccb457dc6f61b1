import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// What becomes of records that both sides changed.
@Suite("conflicts")
struct SyncConflictTests {
  let server: Database
  let clock = TestClock()

  init() throws {
    var options = Database.Options()
    options.now = { [clock] in clock.now() }
    server = try Database.inMemory(options: options)
  }

  private func device(_ policy: SyncPolicy, _ change: (inout SyncEngine.Configuration) -> Void = { _ in }) async throws
    -> Device
  {
    var options = Database.Options()
    options.now = { [clock] in clock.now() }
    return try await Device(server, .of(policy, change), database: try Database.inMemory(options: options))
  }

  enum Side: String, CaseIterable, Sendable { case client, server, equal }
  enum Policy: String, CaseIterable, Sendable {
    case latest, server, client

    var policy: SyncPolicy {
      switch self {
      case .latest: .greaterModifiedDateWins
      case .server: .serverRecordWins
      case .client: .clientRecordWins
      }
    }
  }

  /// A film that both have, changed on the server at 100 and here before, after or at the same moment.
  private func changed(_ policy: SyncPolicy, newer: Side, same: Bool, mergesFields: Bool = true) async throws -> Device {
    clock.set(1)
    let device = try await device(policy) { $0.mergesFields = mergesFields }
    try device.database.put("dune", ["title": "Dune", "year": 1, "stars": 1])
    try await device.sync()
    clock.set(100)
    try server.put("dune", ["title": "of the server", "stars": 5])
    clock.set(newer == .client ? 200 : newer == .server ? 50 : 100)
    try device.database.put("dune", same ? ["title": "of the client", "stars": 5] : ["year": 2])
    clock.set(300)
    return device
  }

  @Test(
    "K9, K11, K12: fields that one side changed stay; of those that both changed the policy's side wins",
    arguments: Policy.allCases, Side.allCases)
  func matrix(_ policy: Policy, _ newer: Side) async throws {
    for same in [false, true] {
      let device = try await changed(policy.policy, newer: newer, same: same)
      let other = try await self.device(policy.policy)
      let report = try await device.sync()
      #expect(report.conflicts == 1)
      let winner: Side = policy == .client || policy == .latest && newer == .client ? .client : .server
      let film = try #require(try server.film("dune"))
      #expect(film["title"] == (same && winner == .client ? "of the client" : "of the server"))
      #expect(film["year"] == (same ? 1 : 2) && film["stars"] == 5)
      try await other.sync()
      #expect(try contents(device.database) == contents(server) && contents(other.database) == contents(server))
      #expect(try await device.sync() == SyncReport())
      #expect(try await device.engine.outbox().isEmpty)
      try await server.deleteZone(library)
    }
  }

  @Test("without merging fields the winner's record is taken as a whole", arguments: Side.allCases)
  func wholeRecords(_ newer: Side) async throws {
    let device = try await changed(.greaterModifiedDateWins, newer: newer, same: false, mergesFields: false)
    try await device.sync()
    let film = try #require(try server.film("dune"))
    #expect(film["title"] == (newer == .client ? "Dune" : "of the server") && film["year"] == (newer == .client ? 2 : 1))
    #expect(try contents(device.database) == contents(server))
  }

  /// A remote that changes a record between a fetch and a send.
  private func meddle(_ device: Device, _ change: @escaping @Sendable () throws -> Void) async throws {
    device.network.delay(.modify, by: .milliseconds(200))
    async let report = device.sync()
    try await Task.sleep(for: .milliseconds(60))
    try change()
    _ = try await report
  }

  @Test("a conflict that comes up when a change is sent is merged like one that is fetched", arguments: Policy.allCases)
  func whenSent(_ policy: Policy) async throws {
    clock.set(1)
    let device = try await device(policy.policy)
    try device.database.put("dune", ["title": "Dune", "year": 1])
    try await device.sync()
    clock.set(200)
    try device.database.put("dune", ["title": "of the client", "here": 1])
    let server = server
    try await meddle(device) { try server.put("dune", ["title": "of the server", "there": 1]) }
    clock.set(300)
    try await device.sync()
    let film = try #require(try server.film("dune"))
    #expect(film["title"] == (policy == .client ? "of the client" : "of the server"))
    #expect(film["here"] == 1 && film["there"] == 1)
    #expect(try contents(device.database) == contents(server))
  }

  @Test("what the user changes while his last change is on its way is sent after it")
  func whileSending() async throws {
    let device = try await device(.serverRecordWins)
    try device.database.put("dune", ["title": "Dune"])
    try await device.sync()
    try device.database.put("dune", ["title": "second"])
    let database = device.database
    try await meddle(device) { try database.put("dune", ["title": "third", "year": 3]) }
    try await device.sync()
    #expect(try server.film("dune")?["title"] == "third" && server.film("dune")?["year"] == 3)
    #expect(try contents(device.database) == contents(server))
    // Deleted, and made again, while on its way.
    try device.database.put("dune", ["title": "fourth"])
    try await meddle(device) { try database.delete(.film("dune")) }
    try await device.sync()
    #expect(try server.film("dune") == nil)
    try device.database.put("dune", ["title": "fifth"])
    try await device.sync()
    try await device.database.delete(.film("dune"))
    try await meddle(device) { try database.put("dune", ["year": 6]) }
    try await device.sync()
    #expect(try contents(device.database) == contents(server))
    #expect(try server.film("dune")?["title"] as String? == nil && server.film("dune")?["year"] == 6)
  }

  @Test("a change meets a deletion", arguments: Policy.allCases, [true, false])
  func deletions(_ policy: Policy, _ deletedHere: Bool) async throws {
    let device = try await device(policy.policy)
    try device.database.put("dune", ["title": "Dune", "year": 1])
    try await device.sync()
    let (deleting, changing) = deletedHere ? (device.database, server) : (server, device.database)
    try await deleting.delete(.film("dune"))
    try changing.put("dune", ["year": 2])
    #expect(try await device.sync().conflicts == 1)
    let keeps = policy == .latest || deletedHere == (policy == .server)
    #expect(try server.film("dune")?["year"] == (keeps ? 2 : nil as Int?))
    #expect(try server.film("dune")?["title"] == (keeps ? "Dune" : nil as String?))
    #expect(try contents(device.database) == contents(server))
    #expect(try await device.sync() == SyncReport())
    #expect(try await device.engine.outbox().isEmpty)
  }

  @Test("deleted on both sides is no conflict; deleted and made again is a change")
  func deletedTwice() async throws {
    let device = try await device(.greaterModifiedDateWins)
    for name in ["a", "b"] { try device.database.put(name, ["title": "x", "year": 1]) }
    try await device.sync()
    for database in [device.database, server] { try await database.delete(.film("a")) }
    try await device.database.delete(.film("b"))
    try device.database.put("b", ["title": "again"])
    let report = try await device.sync()
    #expect(report.conflicts == 0)
    #expect(try contents(server) == ["Library/": [:], "Library/b": ["type": "Film", ".title": words("again")]])
    #expect(try contents(device.database) == contents(server))
  }

  @Test("K10, A35: the application decides, with the ancestor, and what it returns is on both sides")
  func asked() async throws {
    let asked = Lock<[SyncConflict]>([])
    let device = try await device(
      .userTellsWhichWins { conflict in
        asked.change { $0.append(conflict) }
        guard var record = conflict.server ?? conflict.client else { return nil }
        let titles = [conflict.client, conflict.server].map { ($0?["title"] as String?) ?? "gone" }
        record["title"] = titles.joined(separator: " and ")
        return record
      })
    try device.database.put("dune", ["title": "Dune", "year": 1])
    try await device.sync()
    try server.put("dune", ["title": "B", "there": 1])
    try device.database.put("dune", ["title": "A", "here": 1])
    let report = try await device.sync()
    #expect(report.conflicts == 1)
    let conflict = try #require(asked.get().first)
    #expect(conflict.ancestor?["title"] == "Dune" && conflict.client?["title"] == "A" && conflict.server?["title"] == "B")
    #expect(try server.film("dune")?["title"] == "A and B" && server.film("dune")?["here"] as Int? == nil)
    #expect(try contents(device.database) == contents(server))
    // Deleted there: nil deletes here, too; a record brings it back.
    try await server.delete(.film("dune"))
    try device.database.put("dune", ["title": "C"])
    try await device.sync()
    #expect(try server.film("dune")?["title"] == "C and gone")
    try await device.database.delete(.film("dune"))
    try server.put("dune", ["title": "D"])
    try await device.sync()
    #expect(try contents(device.database) == contents(server) && server.film("dune")?["title"] == "gone and D")
  }

  @Test("an application that cannot decide has the record in quarantine, and decides later")
  func undecided() async throws {
    struct NotNow: Error {}
    let decides = Lock(false)
    let device = try await device(
      .userTellsWhichWins { conflict in
        if !decides.get() { throw NotNow() }
        return conflict.client
      })
    try device.database.put("dune", ["title": "Dune"])
    try await device.sync()
    try server.put("dune", ["title": "B"])
    try device.database.put("dune", ["title": "A"])
    try device.database.put("other", ["title": "other"])
    #expect(try await device.sync().quarantined == 1)
    #expect(
      try server.film("other") != nil && server.film("dune")?["title"] == "B" && device.database.film("dune")?["title"] == "A")
    #expect(try await device.engine.quarantine().map(\.id) == [.film("dune")])
    decides.set(true)
    #expect(try await device.engine.retry().quarantined == 0)
    #expect(try contents(device.database) == contents(server) && server.film("dune")?["title"] == "A")
  }

  @Test("both made a record of one name: fields of one side stay, equal ones are no conflict")
  func bothNew() async throws {
    let device = try await device(.serverRecordWins)
    try device.database.put("dune", ["title": "A", "same": 1, "here": 1])
    try server.put("dune", ["title": "B", "same": 1, "there": 1])
    #expect(try await device.sync().conflicts == 1)
    let film = try #require(try server.film("dune"))
    #expect(film["title"] == "B" && film["here"] == 1 && film["there"] == 1 && film["same"] == 1)
    #expect(try contents(device.database) == contents(server))
  }

  @Test("a later edit that comes first, and an earlier one that comes later: the date in a field decides")
  func editDates() async throws {
    let byField: @Sendable (Record) -> Date? = { $0["edited"] }
    let (first, second) = (
      try await device(.greaterModifiedDateWins) { $0.editDate = byField },
      try await device(.greaterModifiedDateWins) { $0.editDate = byField }
    )
    clock.set(1)
    try first.database.put("milk", ["title": "", "edited": .date(Date(timeIntervalSinceReferenceDate: 1))])
    try await first.sync()
    try await second.sync()
    try first.database.put("milk", ["title": "Buy milk", "edited": .date(Date(timeIntervalSinceReferenceDate: 60))])
    try second.database.put("milk", ["title": "Get milk", "edited": .date(Date(timeIntervalSinceReferenceDate: 30))])
    clock.set(100)
    try await first.sync()
    clock.set(200)
    try await second.sync()
    try await first.sync()
    #expect(try server.film("milk")?["title"] == "Buy milk")
    #expect(try contents(first.database) == contents(second.database))
  }

  @Test("a merged record keeps the date of the user's change, not of the merge")
  func mergedDate() async throws {
    let device = try await device(.greaterModifiedDateWins)
    clock.set(1)
    try device.database.put("dune", ["title": "Dune", "year": 1])
    try await device.sync()
    clock.set(50)
    try device.database.put("dune", ["year": 2])
    clock.set(60)
    try server.put("dune", ["title": "B"])
    clock.set(300)
    // The merge is saved here at 300, and not sent.
    device.network.fail(.modify, with: DatabaseError(.networkFailure))
    await #expect(throws: DatabaseError.self) { try await device.sync() }
    clock.set(100)
    try server.put("dune", ["year": 3])
    clock.set(400)
    try await device.sync()
    #expect(try server.film("dune")?["year"] == 3, "100 is later than 50")
  }
}
