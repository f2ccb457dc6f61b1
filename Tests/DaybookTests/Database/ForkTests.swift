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

  @Test("page tokens from behind the parting are refused, those from before it are not")
  func pageTokens() throws {
    let disk = SimulatedDisk(seed: 9)
    let original = try Database.open(on: disk)
    try original.write { try $0.save(Zone(zone)) }
    try original.write { transaction in for number in 0..<6 { try transaction.save(.fresh("r\(number)", in: zone)) } }
    let copy = try Database.open(on: disk.killed(), seed: 3)
    try original.write { transaction in for number in 0..<6 { try transaction.save(.fresh("o\(number)", in: zone)) } }
    try copy.write { transaction in for number in 0..<6 { try transaction.save(.fresh("c\(number)", in: zone)) } }
    let before = try original.changes(in: zone, since: nil, limit: 3).token
    let behind = try original.changes(in: zone, since: nil, limit: 8).token
    #expect(try copy.changes(in: zone, since: before).saved.count == 9)
    let error = failure { try copy.changes(in: zone, since: behind) }
    #expect(error?.code == .changeTokenForked)
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
