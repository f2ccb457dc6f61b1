import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Copies of a file that have histories of their own: each knows the other's tokens from before the parting, and refuses those from
// after it, permanently. The same goes for a file that lost commits in a crash.

@Suite("forked copies")
struct ForkTests: TokenSuite {
  let zone: Zone.ID
  init() throws { zone = try Zone.ID("Library") }

  @Test("two copies refuse each other's newer tokens, whichever has gone further", arguments: [false, true])
  func copies(_ copiesWhileOpen: Bool) throws {
    let disk = SimulatedDisk(seed: 9)
    var original = try Database.open(on: disk)
    try original.write { try $0.save(Zone(zone)) }
    try original.put("a", in: zone)
    let common = try tokens(original)
    if !copiesWhileOpen {
      try original.close()
      original = try .open(on: disk, seed: 2)
    }
    let copy = try Database.open(on: disk.killed(), seed: 3)
    #expect(original.id == copy.id)
    #expect(codes(common, in: original) == [nil, nil] && codes(common, in: copy) == [nil, nil])
    var ofOriginal: [[ChangeToken]] = []
    var ofCopy: [[ChangeToken]] = []
    for number in 0..<5 {
      try original.put("o\(number)", in: zone)
      ofOriginal.append(try tokens(original))
      // The original's newest is beyond the copy's end half of the time.
      if number % 2 == 1 {
        try copy.put("c\(number)", in: zone)
        try copy.put("c\(number)", in: zone)
        try copy.put("c\(number)", in: zone)
        ofCopy.append(try tokens(copy))
      }
      for token in ofOriginal {
        #expect(codes(token, in: copy) == [.changeTokenForked, .changeTokenForked])
        #expect(codes(token, in: original) == [nil, nil])
      }
      for token in ofCopy {
        #expect(codes(token, in: original) == [.changeTokenForked, .changeTokenForked])
        #expect(codes(token, in: copy) == [nil, nil])
      }
    }
    #expect(try original.changes(in: zone, since: common[0]).savedNames == (0..<5).map { "o\($0)" })
    #expect(try copy.changes(in: zone, since: common[0]).savedNames == ["c1", "c3"])
    try original.expectClean()
    try copy.expectClean()
  }

  @Test("tokens of pages that were read after the parting are refused, whatever their place; those from before it are not")
  func pageTokens() throws {
    let disk = SimulatedDisk(seed: 9)
    let original = try Database.open(on: disk)
    try original.write { try $0.save(Zone(zone)) }
    try original.write { transaction in for number in 0..<6 { try transaction.save(.fresh("r\(number)", in: zone)) } }
    let copy = try Database.open(on: disk.killed(), seed: 3)
    let before = try original.changes(in: zone, since: nil, limit: 3).token
    try original.write { transaction in for number in 0..<6 { try transaction.save(.fresh("o\(number)", in: zone)) } }
    try copy.write { transaction in for number in 0..<6 { try transaction.save(.fresh("c\(number)", in: zone)) } }
    #expect(try copy.changes(in: zone, since: before).saved.count == 9)
    for limit in [3, 8] {
      let token = try original.changes(in: zone, since: nil, limit: limit).token
      let error = failure { try copy.changes(in: zone, since: token) }
      #expect(error?.code == .changeTokenForked)
    }
  }

  @Test("a feed whose next page is asked of a database that lost a commit misses no record that the commit had moved")
  func movedByLostCommit() throws {
    let disk = SimulatedDisk(seed: 12)
    let database = try Database.open(on: disk) { $0.durability = .relaxed }
    let zones = try (1...4).map { try Zone.ID("z\($0)") }
    try database.write { transaction in for id in zones + [zone] { try transaction.save(Zone(id)) } }
    for number in 1...4 { try database.put("n\(number)", in: zone) }
    try database.sync()
    // Moves n1 and the first zone to the ends of their feeds.
    try database.put("n1", in: zone, ["k": "again"])
    try database.put("x", in: zones[0])
    let page = try database.changes(in: zone, since: nil, limit: 2)
    #expect(page.savedNames == ["n2", "n3"] && page.moreComing)
    let zonePage = try database.databaseChanges(since: nil, limit: 2)
    #expect(zonePage.moreComing && !zonePage.changed.contains(zones[0]))
    let after = try Database.open(on: disk.crashed(seed: 1, policy: .none), seed: 2)
    #expect(try after.recordCount(in: zone) == 4)
    #expect(codes([page.token, zonePage.token], in: after) == [.changeTokenForked, .changeTokenForked])
    // Where nothing was lost both go on.
    #expect(try database.changes(in: zone, since: page.token).savedNames == ["n4", "n1"])
    #expect(try database.databaseChanges(since: zonePage.token).changed.contains(zones[0]))
  }

  @Test("a database that shares its file refuses a token of a lost commit at once, and not only when its number is used again")
  func restoredAndShared() throws {
    let disk = SimulatedDisk(seed: 13)
    let first = try Database.open(on: disk) { $0.lock = .perTransaction }
    try first.write { try $0.save(Zone(zone)) }
    try first.put("a", in: zone)
    let good = try tokens(first)
    let backup = disk.killed()
    for number in 0..<5 { try first.put("lost\(number)", in: zone) }
    let lost = try tokens(first)
    let again = try Database.open(on: backup, seed: 3) { $0.lock = .perTransaction }
    let other = try Database.open(on: backup, seed: 4) { $0.lock = .perTransaction }
    for number in 0..<3 {
      #expect(codes(lost, in: again) == [.changeTokenForked, .changeTokenForked], "after \(number) commits")
      #expect(codes(good, in: again) == [nil, nil])
      // What the other has committed and this one has not seen is no fork.
      try other.put("new\(number)", in: zone)
      let newer = try tokens(other)
      #expect(codes(newer, in: again) == [nil, nil])
      #expect(try again.changes(in: zone, since: newer[0]).token == newer[0])
      try again.refresh()
      #expect(codes(newer, in: again) == [nil, nil])
    }
  }

  @Test("a backup that is put back refuses what it has not lived through")
  func restoredBackup() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let backup = folder.file("backup.daybook")
    var database = try Database.open(at: path)
    try database.write { try $0.save(Zone(zone)) }
    try database.put("a", in: zone)
    try database.close()
    try FileManager.default.copyItem(atPath: path, toPath: backup)
    database = try .open(at: path)
    let good = try tokens(database)
    try database.put("b", in: zone)
    let lost = try tokens(database)
    try database.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: backup, toPath: path)
    database = try .open(at: path)
    #expect(codes(lost, in: database) == [.changeTokenForked, .changeTokenForked])
    try database.put("another b", in: zone)
    #expect(codes(lost, in: database) == [.changeTokenForked, .changeTokenForked])
    #expect(codes(good, in: database) == [nil, nil])
    try database.expectClean()
  }

  @Test("a token of a commit that a crash took is refused, before and after its number is given again")
  func lostCommit() throws {
    let disk = SimulatedDisk(seed: 10)
    let first = try Database.open(on: disk) { $0.durability = .relaxed }
    try first.write { try $0.save(Zone(zone)) }
    try first.put("a", in: zone)
    try first.sync()
    let good = try tokens(first)
    try first.put("b", in: zone)
    let lost = try tokens(first)
    let after = disk.crashed(seed: 1, policy: .none)
    for seed in 5...7 as ClosedRange<UInt64> {
      let second = try Database.open(on: after, seed: seed)
      #expect(codes(good, in: second) == [nil, nil])
      #expect(codes(lost, in: second) == [.changeTokenForked, .changeTokenForked])
      try second.put("c\(seed)", in: zone)
      #expect(codes(lost, in: second) == [.changeTokenForked, .changeTokenForked])
      #expect(codes(good, in: second) == [nil, nil])
      try second.expectClean()
      try second.close()
    }
  }

  @Test("copies whose first commits failed are told apart all the same")
  func failedFirstCommit() throws {
    let disk = SimulatedDisk(seed: 11)
    let common = try Database.open(on: disk)
    try common.write { try $0.save(Zone(zone)) }
    try common.close()
    let copies = try [(disk.killed(), UInt64(2)), (disk.killed(), 3)].map { disk, seed in
      let database = try Database.open(on: disk, seed: seed)
      disk.inject(SimulatedFault([.write], call: 1, code: ErrorNumber.noSpace))
      let error = failure { try database.put("a", in: zone) }
      #expect(error?.code == .diskFull)
      disk.removeFaults()
      try database.put("b\(seed)", in: zone)
      return database
    }
    let first = try tokens(copies[0])
    let second = try tokens(copies[1])
    #expect(codes(first, in: copies[0]) == [nil, nil] && codes(second, in: copies[1]) == [nil, nil])
    #expect(codes(first, in: copies[1]) == [.changeTokenForked, .changeTokenForked])
    #expect(codes(second, in: copies[0]) == [.changeTokenForked, .changeTokenForked])
    for copy in copies { try copy.expectClean() }
  }
}
