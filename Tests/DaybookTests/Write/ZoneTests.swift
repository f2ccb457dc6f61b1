import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Zones come and go as a whole: what is always there, what saving one again does, what goes with a zone that is deleted,
// and which names make which zone.

@Suite("zones")
struct ZoneTests {
  @Test("the default zone is always there, has no capabilities, and cannot be deleted")
  func defaultZone() throws {
    let database = try Database.scratch()
    #expect(try database.zones() == [Zone(.default)])
    try database.write { try $0.save(Zone(.default)) }
    #expect(try database.snapshot().sequence == 0, "saving it is no change")
    let error = failure { try database.write { try $0.deleteZone(.default) } }
    #expect(error?.code == .invalidArguments)
    try database.put("a")
    #expect(try database.zones() == [Zone(.default)] && database.recordCount(in: .default) == 1)
    try database.expectClean()
  }

  @Test("a saved zone has all capabilities, and saving it again changes nothing")
  func saveTwice() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("dune", in: zone)
    let sequence = try database.snapshot().sequence
    try database.write { try $0.save(Zone(zone)) }
    #expect(try database.snapshot().sequence == sequence)
    let found = try database.zones().first { $0.id == zone }
    #expect(found?.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
    #expect(try database.recordCount(in: zone) == 1)
  }

  @Test("new capabilities leave records and tokens alone")
  func capabilities() throws {
    let database = try Database.scratch()
    let id = try database.zone("Library")
    try database.put("dune", in: id)
    let token = try database.changes(in: id, since: nil).token
    var zone = Zone(id)
    zone.capabilities = [.fetchChanges]
    try database.write { try $0.save(zone) }
    #expect(try database.zones().first == zone)
    let changes = try database.changes(in: id, since: token)
    #expect(changes.saved.isEmpty && changes.deleted.isEmpty)
    #expect(try database.recordCount(in: id) == 1)
    try database.expectClean()
  }

  @Test("a zone that is missing is named by every call that needs it")
  func missing() throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("Nowhere")
    let id = try Record.ID("a", in: zone)
    let calls: [(String, () throws -> Void)] = [
      ("save", { try database.put("a", in: zone) }),
      ("delete", { try database.write { try $0.delete(id) } }),
      ("delete zone", { try database.write { try $0.deleteZone(zone) } }),
      ("changes", { _ = try database.changes(in: zone, since: nil) }),
      ("count of changes", { _ = try database.changeCount(in: zone, since: nil) }),
      ("count", { _ = try database.recordCount(in: zone) }),
      ("types", { _ = try database.recordTypes(in: zone) }),
      ("records", { _ = try database.records(in: zone) }),
      ("history", { _ = try database.history(of: id) }),
    ]
    for (name, call) in calls {
      let error = failure(of: call)
      #expect(error?.code == .zoneNotFound && error?.facts.zone == zone, "\(name)")
    }
    #expect(try database.record(id) == nil)
    #expect(try database.records([id]).isEmpty)
    #expect(try database.snapshot().sequence == 0)
  }

  @Test("a deleted zone takes its records along, and no others")
  func deletion() throws {
    let database = try Database.scratch()
    let gone = try database.zone("Gone")
    let stays = try database.zone("Stays")
    try database.write { transaction in
      for number in 0..<300 {
        try transaction.save(.fresh("r\(number)", in: gone, ["n": .int(Int64(number))]))
        try transaction.save(.fresh("r\(number)", in: stays, ["n": .int(Int64(number))]))
      }
    }
    try database.write { try $0.deleteZone(gone) }
    #expect(try database.zones().map(\.id) == [stays, .default])
    #expect(try database.record(Record.ID("r1", in: gone)) == nil)
    #expect(try database.record(Record.ID("r1", in: stays))?["n"] == 1)
    #expect(try database.recordCount(in: stays) == 300)
    let error = failure { try database.put("r1", in: gone) }
    #expect(error?.code == .zoneNotFound)
    try database.expectClean()
  }

  @Test("a zone that was made again is empty, and its old tokens have expired")
  func recreation() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("dune", in: zone)
    let token = try database.changes(in: zone, since: nil).token
    try database.write { try $0.deleteZone(zone) }
    let gone = failure { _ = try database.changes(in: zone, since: token) }
    #expect(gone?.code == .zoneNotFound)
    try database.write { try $0.save(Zone(zone)) }
    #expect(try database.recordCount(in: zone) == 0)
    #expect(try database.history(of: Record.ID("dune", in: zone)).isEmpty)
    let expired = failure { _ = try database.changes(in: zone, since: token) }
    #expect(expired?.code == .changeTokenExpired)
    #expect(try database.changes(in: zone, since: nil).saved.isEmpty)
    try database.expectClean()
  }

  @Test("deleting and making a zone in one transaction is a new zone too")
  func recreationAtOnce() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("dune", in: zone)
    let token = try database.changes(in: zone, since: nil).token
    try database.write { transaction in
      try transaction.deleteZone(zone)
      try transaction.save(Zone(zone))
      try transaction.save(.fresh("solaris", in: zone))
    }
    #expect(try database.records(in: zone).map(\.id.name) == ["solaris"])
    let expired = failure { _ = try database.changes(in: zone, since: token) }
    #expect(expired?.code == .changeTokenExpired)
    try database.expectClean()
  }

  @Test("a zone that the user purged says so until it is made again")
  func purged() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.write { try $0.deleteZone(zone, reason: .purged) }
    let save = failure { try database.put("a", in: zone) }
    #expect(save?.code == .userDeletedZone && save?.facts.zone == zone)
    let changes = failure { _ = try database.changes(in: zone, since: nil) }
    #expect(changes?.code == .userDeletedZone)
    let id = try Record.ID("a", in: zone)
    let fetched = try database.records(for: [id])[id]
    guard case .failure(let error) = fetched else { return #expect(Bool(false), "there is no such record") }
    #expect(error.code == .userDeletedZone && error.facts.name == "a")
    try database.write { try $0.save(Zone(zone)) }
    try database.put("a", in: zone)
    #expect(try database.recordCount(in: zone) == 1)
  }

  @Test("zones are told apart by the bytes of name and owner")
  func names() throws {
    let database = try Database.scratch()
    let ids = try [
      Zone.ID("Zoë"), Zone.ID("Zoe\u{308}"), Zone.ID("zoë"), Zone.ID("Zoë", owner: "anna"), Zone.ID("Zoë", owner: "Anna"),
      Zone.ID(Zone.ID.defaultName, owner: "anna"), Zone.ID(String(repeating: "é", count: 255)),
      Zone.ID(String(repeating: "👩‍👩‍👧‍👦", count: 40)), Zone.ID("a"), Zone.ID("a\u{1}"), Zone.ID("a b"), Zone.ID("دفتر"),
    ]
    try database.write { transaction in
      for (index, id) in ids.enumerated() {
        try transaction.save(Zone(id))
        try transaction.save(.fresh("r", in: id, ["n": .int(Int64(index))]))
      }
    }
    for (index, id) in ids.enumerated() {
      #expect(try database.record(Record.ID("r", in: id))?["n"] == index, "\(id)")
      #expect(try database.recordCount(in: id) == 1)
      #expect(try database.changes(in: id, since: nil).saved.map(\.id.zone) == [id])
    }
    #expect(try database.zones().count == ids.count + 1)
    #expect(try database.record(Record.ID("r")) == nil, "another owner's default zone is not ours")
    try database.expectClean()
  }

  @Test("a name and an owner that are too long together are refused, and the transaction goes on")
  func tooLong() throws {
    let database = try Database.scratch()
    let owner = String(repeating: "o", count: 255)
    let longest = String(repeating: "👍", count: 255)
    let zone = try Zone.ID(longest, owner: owner)
    let near = try Zone.ID(String(longest.dropLast()), owner: owner)
    try database.write { transaction in
      let error = failure { try transaction.save(Zone(zone)) }
      #expect(error?.code == .invalidArguments)
      try transaction.save(Zone(near))
      try transaction.save(.fresh(String(repeating: "n", count: 255), in: near, type: String(repeating: "T", count: 255)))
    }
    #expect(try database.zones().contains { $0.id == near })
    #expect(try database.zones().contains { $0.id == zone } == false)
    #expect(try database.recordTypes(in: near).map(\.count) == [1])
    let missing = failure { _ = try database.recordCount(in: zone) }
    #expect(missing?.code == .zoneNotFound)
    try database.expectClean()
  }

  @Test("thousands of zones in one transaction, half of them deleted in the next")
  func many() throws {
    let disk = SimulatedDisk(seed: 3)
    var database = try Database.open(on: disk)
    let ids = try (0..<2000).map { try Zone.ID("zone-\($0)") }
    try database.write { transaction in
      for id in ids { try transaction.save(Zone(id)) }
      for id in ids { try transaction.save(.fresh("r", in: id)) }
    }
    try database.write { transaction in
      for (index, id) in ids.enumerated() where index % 2 == 0 { try transaction.deleteZone(id) }
    }
    let expected = ids.enumerated().filter { $0.offset % 2 == 1 }.map(\.element).sorted()
    for _ in 0..<2 {
      let zones = try database.zones().map(\.id).filter { $0 != .default }
      #expect(zones == expected)
      #expect(try database.statistics().recordCount == 1000)
      try database.expectClean()
      try database.close()
      database = try .open(on: disk, seed: 2)
    }
  }

  @Test("a zone that was deleted in a savepoint comes back with everything in it")
  func deletionGoesBack() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.write { transaction in
      for number in 0..<500 { try transaction.save(.fresh("r\(number)", in: zone)) }
    }
    let token = try database.changes(in: zone, since: nil, limit: 1000).token
    try database.write { transaction in
      try? transaction.savepoint {
        try transaction.deleteZone(zone)
        try transaction.save(Zone(zone))
        for number in 0..<100 { try transaction.save(.fresh("n\(number)", in: zone)) }
        throw Intended()
      }
      #expect(try transaction.recordCount(in: zone) == 500)
      try transaction.save(.fresh("one more", in: zone))
    }
    #expect(try database.changes(in: zone, since: token).savedNames == ["one more"])
    #expect(try database.recordCount(in: zone) == 501)
    try database.expectClean()
  }
}
