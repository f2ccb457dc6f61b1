import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The change feed of a database: which zones changed, which are gone and why. The default zone is in none of it.

@Suite("changes of a database")
struct DatabaseFeedTests {
  @Test("zones appear once, in the order of their last change; the default zone never")
  func order() throws {
    let database = try Database.scratch()
    let a = try database.zone("A")
    let b = try database.zone("B")
    let c = try database.zone("C")
    try database.put("x")
    try database.put("x", in: b)
    try database.put("y")
    let all = try database.databaseChanges(since: nil)
    #expect(all.changed == [a, c, b] && all.deleted.isEmpty && !all.moreComing)
    try database.put("x", in: a)
    try database.write { try $0.delete(Record.ID("x", in: b)) }
    let changes = try database.databaseChanges(since: all.token)
    #expect(changes.changed == [a, b])
    let none = try database.databaseChanges(since: changes.token)
    #expect(none.changed.isEmpty && none.deleted.isEmpty && none.token == changes.token)
    try database.expectClean()
  }

  @Test(
    "a deleted zone is told with the reason, until it is made again", arguments: DatabaseChanges.DeletedZone.Reason.allCases)
  func reasons(_ reason: DatabaseChanges.DeletedZone.Reason) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let token = try database.databaseChanges(since: nil).token
    try database.write { try $0.deleteZone(zone, reason: reason) }
    let deleted = try database.databaseChanges(since: token)
    #expect(deleted.changed.isEmpty && deleted.deleted == [.init(id: zone, reason: reason)])
    try database.write { try $0.save(Zone(zone)) }
    let again = try database.databaseChanges(since: deleted.token)
    #expect(again.changed == [zone] && again.deleted.isEmpty)
    try database.expectClean()
  }

  @Test("metadata and saves that change nothing are in no feed")
  func metadata() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let token = try database.databaseChanges(since: nil).token
    try database.write { transaction in
      try transaction.setMetadata(Data([1]), forKey: "state")
      try transaction.save(Zone(zone))
    }
    let changes = try database.databaseChanges(since: token)
    #expect(changes.changed.isEmpty && changes.token != token)
  }

  @Test("pages together are the whole, and zones of one commit stay together", arguments: 1...6)
  func paging(_ limit: Int) throws {
    let database = try Database.scratch()
    var zones: [Zone.ID] = []
    for name in ["A", "B", "C"] { zones.append(try database.zone(name)) }
    try database.put("in the default zone")
    let together = try ["X", "Y", "Z"].map { try Zone.ID($0) }
    try database.write { transaction in for zone in together { try transaction.save(Zone(zone)) } }
    try database.write { try $0.deleteZone(zones[1]) }
    let whole = try database.databaseChanges(since: nil)
    #expect(whole.changed == [zones[0], zones[2]] + together && whole.deleted.map(\.id) == [zones[1]])
    var changed: [Zone.ID] = []
    var deleted: [DatabaseChanges.DeletedZone] = []
    var token: ChangeToken?
    while true {
      let page = try database.databaseChanges(since: token, limit: limit)
      let count = page.changed.count + page.deleted.count
      #expect(count <= max(limit + 2, 3))
      #expect(Set(page.changed).intersection(together).count % 3 == 0)
      changed += page.changed
      deleted += page.deleted
      token = page.token
      if !page.moreComing { break }
    }
    #expect(changed == whole.changed && deleted == whole.deleted && token == whole.token)
  }

  @Test("a horizon forgets zones that were deleted before it")
  func horizon() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let kept = try database.zone("Kept")
    let early = try database.databaseChanges(since: nil).token
    try database.write { try $0.deleteZone(zone) }
    let late = try database.databaseChanges(since: nil).token
    let sequence = try database.snapshot().sequence
    try database.put("a", in: kept)
    try database.write { try $0.forgetDeletions(through: sequence) }
    #expect(try database.databaseChanges(since: nil).deleted.isEmpty)
    #expect(try database.databaseChanges(since: late).changed == [kept])
    let error = failure { try database.databaseChanges(since: early) }
    #expect(error?.code == .changeTokenExpired)
    try database.write { try $0.save(Zone(zone)) }
    #expect(try database.databaseChanges(since: late).changed == [kept, zone])
    try database.expectClean()
  }
}
