import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A token may be newer than what is looked at: an older snapshot, a reader that has not followed yet. Then nothing that
// it asks for is there yet, and that is no reason to start over.

@Suite("tokens newer than what is shown")
struct NewerTokenTests: TokenSuite {
  let zone: Zone.ID
  init() throws { zone = try Zone.ID("Library") }

  private func expectNotYet(_ tokens: [ChangeToken], in database: Database) throws {
    let page = try database.changes(in: zone, since: tokens[0])
    #expect(page.saved.isEmpty && page.deleted.isEmpty && !page.moreComing && page.token == tokens[0])
    let databasePage = try database.databaseChanges(since: tokens[1])
    #expect(databasePage.changed.isEmpty && databasePage.deleted.isEmpty && !databasePage.moreComing)
    #expect(databasePage.token == tokens[1])
    #expect(try database.changeCount(in: zone, since: tokens[0]) == 0)
  }

  private func reader(_ disk: SimulatedDisk) throws -> Database {
    try Database.open(on: disk, seed: 99) { $0.isReadOnly = true }
  }

  @Test("a snapshot answers a token that is newer than itself with an empty page and the same token")
  func snapshot() throws {
    let database = try Database.scratch()
    let empty = try database.snapshot()
    try database.write { try $0.save(Zone(zone)) }
    try database.put("a", in: zone)
    let older = try database.snapshot()
    try database.put("b", in: zone)
    let tokens = try tokens(database)
    func expectNothing(_ snapshot: borrowing Snapshot) throws {
      let page = try snapshot.changes(in: zone, since: tokens[0])
      #expect(page.saved.isEmpty && page.deleted.isEmpty && !page.moreComing && page.token == tokens[0])
      #expect(try snapshot.databaseChanges(since: tokens[1]).token == tokens[1])
      #expect(try snapshot.changeCount(in: zone, since: tokens[0]) == 0)
    }
    try expectNothing(older)
    // Also where the zone itself is not there yet: an application would drop what it has of it.
    try expectNothing(empty)
    #expect(failure { try empty.changes(in: zone, since: nil) }?.code == .zoneNotFound)
    // A zone that was made again since is another life, and the token is still no reason to start over.
    try database.write {
      try $0.deleteZone(zone)
      try $0.save(Zone(zone))
    }
    let next = try self.tokens(database)
    #expect(try older.changes(in: zone, since: next[0]).token == next[0])
    #expect(failure { try database.changes(in: zone, since: tokens[0]) }?.code == .changeTokenExpired)
  }

  @Test("a reader that lags answers the writer's token with nothing, and goes on from it once it has followed")
  func reader() throws {
    let disk = SimulatedDisk(seed: 1)
    let writer = try Database.open(on: disk)
    try writer.write { try $0.save(Zone(zone)) }
    try writer.put("a", in: zone)
    try writer.close()
    let again = try Database.open(on: disk, seed: 2)
    let reader = try reader(disk)
    try again.put("b", in: zone)
    let tokens = try tokens(again)
    try expectNotYet(tokens, in: reader)
    try again.put("c", in: zone)
    try again.put("d", in: zone)
    try reader.refresh()
    #expect(try reader.changes(in: zone, since: tokens[0]).savedNames == ["c"])
    try again.close()
    try reader.refresh()
    #expect(try reader.changes(in: zone, since: tokens[0]).savedNames == ["c", "d"])
  }

  @Test("a writer that shares the file, or is suspended, may not have seen the token's commit yet")
  func turns() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Database.open(on: disk) { $0.lock = .perTransaction }
    let b = try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
    try a.write { try $0.save(Zone(zone)) }
    try b.put("b", in: zone)
    var tokens = try tokens(b)
    try expectNotYet(tokens, in: a)
    try a.put("a", in: zone)
    #expect(try a.changes(in: zone, since: tokens[0]).savedNames == ["a"])
    try a.close()
    try b.close()

    let c = try Database.open(on: disk, seed: 3)
    try c.suspend()
    let d = try Database.open(on: disk, seed: 4)
    try d.put("d", in: zone)
    tokens = try self.tokens(d)
    try d.close()
    try expectNotYet(tokens, in: c)
    try c.resume()
    #expect(try c.changes(in: zone, since: tokens[0]).saved.isEmpty)
    try c.put("c", in: zone)
    #expect(try c.changes(in: zone, since: tokens[0]).savedNames == ["c"])
    try c.close()
  }

  @Test("the token of a commit that a crash took is refused by a reader, too, which looks into the file")
  func lostCommit() throws {
    for commitCount in 1...3 {
      let disk = SimulatedDisk(seed: 10)
      let first = try Database.open(on: disk) { $0.durability = .relaxed }
      try first.write { try $0.save(Zone(zone)) }
      try first.put("a", in: zone)
      try first.sync()
      let good = try tokens(first)
      for number in 0..<commitCount { try first.put("b\(number)", in: zone) }
      let lost = try tokens(first)
      let after = disk.crashed(seed: 1, policy: .none)
      let reader = try reader(after)
      #expect(codes(lost, in: reader) == [.changeTokenForked, .changeTokenForked])
      let second = try Database.open(on: after, seed: 5)
      // The writer knows that there is no such commit.
      #expect(codes(lost, in: second) == [.changeTokenForked, .changeTokenForked])
      try second.put("c", in: zone)
      try second.close()
      try reader.refresh()
      // However far the lost history had gone: its lineage has ended before.
      #expect(codes(lost, in: reader) == [.changeTokenForked, .changeTokenForked])
      #expect(codes(good, in: reader) == [nil, nil])
    }
  }
}
