import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The change feed of a zone: every record once in its present state, tombstones with their type, pages of any size that
// together are the whole, and tokens that stay valid or say why they are not.

@Suite("changes of a zone")
struct ChangeFeedTests {
  private func library(_ database: Database) throws -> Zone.ID { try database.zone("Library") }

  @Test("many saves of a record are one change, in its present state and at its latest place")
  func coalescing() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    for name in ["a", "b", "c"] { try database.put(name, in: zone, ["n": 0]) }
    for number in 1...5 { try database.put("a", in: zone, ["n": .int(Int64(number))]) }
    let changes = try database.changes(in: zone, since: nil)
    #expect(changes.savedNames == ["b", "c", "a"] && changes.saved.last?["n"] == 5 && !changes.moreComing)
    try database.put("b", in: zone, ["n": 1])
    #expect(try database.changes(in: zone, since: changes.token).savedNames == ["b"])
    try database.expectClean()
  }

  @Test("a record that came and went between two tokens is at most a deletion")
  func cameAndWent() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    let token = try database.changes(in: zone, since: nil).token
    try database.put("a", in: zone, type: "Movie")
    try database.write { try $0.delete(Record.ID("a", in: zone)) }
    let changes = try database.changes(in: zone, since: token)
    #expect(changes.saved.isEmpty && changes.deletedNames == ["a"] && changes.deleted.first?.type == "Movie")
  }

  @Test("a token of the present brings nothing, and a token again")
  func upToDate() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    for _ in 0..<2 {
      let all = try database.changes(in: zone, since: nil)
      let none = try database.changes(in: zone, since: all.token)
      #expect(none.saved.isEmpty && none.deleted.isEmpty && !none.moreComing)
      #expect(none.token == all.token)
      #expect(try database.changeCount(in: zone, since: all.token) == 0)
      try database.put("elsewhere")
      let later = try database.changes(in: zone, since: none.token)
      #expect(later.saved.isEmpty, "another zone's change is none here")
      try database.put("a", in: zone)
      #expect(try database.changes(in: zone, since: later.token).savedNames == ["a"])
      #expect(try database.changes(in: zone, since: none.token).savedNames == ["a"])
    }
  }

  @Test("pages of every size are the whole together, and each has what was asked for", arguments: 1...23)
  func paging(_ limit: Int) throws {
    let database = try Database.scratch()
    let zone = try library(database)
    try database.write { transaction in
      for number in 0..<9 { try transaction.save(.fresh("batch\(number)", in: zone)) }
    }
    for number in 0..<9 { try database.put("single\(number)", in: zone) }
    try database.write { transaction in
      for number in stride(from: 0, to: 9, by: 3) { try transaction.delete(Record.ID("batch\(number)", in: zone)) }
      try transaction.delete(Record.ID("single4", in: zone))
    }
    let whole = try database.changes(in: zone, since: nil)
    #expect(whole.saved.count == 14 && whole.deleted.count == 4 && !whole.moreComing)
    var saved: [Record] = []
    var deleted: [ZoneChanges.DeletedRecord] = []
    var token: ChangeToken?
    var pageCount = 0
    while true {
      let rest = try database.changeCount(in: zone, since: token)
      let page = try database.changes(in: zone, since: token, limit: limit)
      #expect(page.saved.count + page.deleted.count == min(limit, rest))
      #expect(page.moreComing == (rest > limit) && page.token != token)
      saved += page.saved
      deleted += page.deleted
      token = page.token
      pageCount += 1
      if !page.moreComing { break }
    }
    #expect(saved == whole.saved && deleted == whole.deleted && token == whole.token)
    #expect(pageCount == (18 + limit - 1) / limit)
  }

  @Test("a page token stays right while what it passed and what it did not changes")
  func changingBetweenPages() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    try database.write { transaction in
      for number in 0..<10 { try transaction.save(.fresh("r\(number)", in: zone)) }
    }
    let first = try database.changes(in: zone, since: nil, limit: 5)
    try database.put("r1", in: zone)
    try database.write { try $0.delete(Record.ID("r5", in: zone)) }
    try database.put("r6", in: zone)
    let rest = try database.changes(in: zone, since: first.token)
    #expect(rest.savedNames == ["r7", "r8", "r9", "r1", "r6"] && rest.deletedNames == ["r5"])
  }

  @Test("desired keys: all, none but metadata, or some")
  func desiredKeys() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    let stored = try database.put("a", in: zone, ["x": 1, "y": 2, "z": 3])
    let all = try database.changes(in: zone, since: nil, desiredKeys: nil).saved
    #expect(all == [stored])
    let none = try database.changes(in: zone, since: nil, desiredKeys: []).saved
    #expect(none.first?.keys == [] && none.first?.metadata == stored.metadata && none.first?.type == "Note")
    let some = try database.changes(in: zone, since: nil, desiredKeys: ["z", "y", "nope"]).saved
    #expect(some.first?.values == ["y": 2, "z": 3])
    var partial = try #require(some.first)
    partial["y"] = 20
    let saved = try database.write { [partial] in try $0.save(partial) }
    #expect(saved.values == ["x": 1, "y": 20, "z": 3], "what was not fetched is not lost by a save")
  }

  @Test("a limit below one is refused")
  func badLimit() throws {
    let database = try Database.scratch()
    for limit in [0, -1, .min] {
      let error = failure { try database.changes(in: .default, since: nil, limit: limit) }
      #expect(error?.code == .invalidArguments)
      let whole = failure { try database.databaseChanges(since: nil, limit: limit) }
      #expect(whole?.code == .invalidArguments)
    }
  }

  @Test("without a limit a page has as many changes as the options say")
  func defaultLimit() throws {
    let database = try Database.scratch { $0.limits.changesPerPage = 3 }
    let zone = try library(database)
    try database.write { transaction in for number in 0..<4 { try transaction.save(.fresh("r\(number)", in: zone)) } }
    let page = try database.changes(in: zone, since: nil)
    #expect(page.saved.count == 3 && page.moreComing)
    let snapshot = try database.snapshot()
    #expect(try snapshot.changes(in: zone, since: page.token).savedNames == ["r3"])
  }

  @Test("an empty zone has an empty feed, and a token that brings all that comes")
  func emptyZone() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    let empty = try database.changes(in: zone, since: nil)
    #expect(empty.saved.isEmpty && !empty.moreComing)
    try database.put("a", in: zone)
    #expect(try database.changes(in: zone, since: empty.token).savedNames == ["a"])
  }

  @Test("a token of the first moment, before any commit, stays good")
  func firstMoment() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    let token = try database.changes(in: .default, since: nil).token
    let whole = try database.databaseChanges(since: nil).token
    try database.close()
    for seed in 2...4 as ClosedRange<UInt64> {
      database = try .open(on: disk, seed: seed)
      try database.put("r\(seed)")
      #expect(try database.changes(in: .default, since: token).saved.count == Int(seed) - 1)
      _ = try database.databaseChanges(since: whole)
      try database.close()
    }
  }

  // MARK: tokens that are refused

  @Test("a token of another feed, another server, or of no feed at all is refused as an argument")
  func wrongFeed() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    let other = try database.zone("Other")
    let tokens = try [
      database.changes(in: other, since: nil).token, database.changes(in: .default, since: nil).token,
      database.databaseChanges(since: nil).token, ChangeToken(wrapping: Data("AQAAAWZ".utf8)),
    ]
    for token in tokens {
      let error = failure { try database.changes(in: zone, since: token) }
      #expect(error?.code == .invalidArguments && error?.facts.zone == zone)
      let count = failure { try database.changeCount(in: zone, since: token) }
      #expect(count?.code == .invalidArguments)
    }
    let zoneToken = try database.changes(in: zone, since: nil).token
    let whole = failure { try database.databaseChanges(since: zoneToken) }
    #expect(whole?.code == .invalidArguments)
    let garbage = failure { try ChangeToken(data: Data("garbage".utf8)) }
    #expect(garbage?.code == .invalidArguments)
  }

  @Test("a token of another database has expired: what it knew is not here")
  func otherDatabase() throws {
    let first = try Database.scratch(seed: 1)
    let second = try Database.scratch(seed: 2)
    let zone = try library(first)
    _ = try library(second)
    let token = try first.changes(in: zone, since: nil).token
    let whole = try first.databaseChanges(since: nil).token
    let error = failure { try second.changes(in: zone, since: token) }
    #expect(error?.code == .changeTokenExpired)
    let database = failure { try second.databaseChanges(since: whole) }
    #expect(database?.code == .changeTokenExpired)
  }

  // MARK: the horizon

  @Test("below the horizon tokens have expired, at it and above they are good")
  func horizon() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    var tokens: [(sequence: UInt64, token: ChangeToken, whole: ChangeToken)] = []
    for number in 0..<6 {
      try database.put("r\(number)", in: zone)
      try database.write { try $0.delete(Record.ID("r\(number)", in: zone)) }
      tokens.append(
        (
          try database.snapshot().sequence, try database.changes(in: zone, since: nil).token,
          try database.databaseChanges(since: nil).token
        ))
    }
    let horizon = tokens[3].sequence
    try database.write { try $0.forgetDeletions(through: horizon) }
    for (sequence, token, whole) in tokens {
      let error = failure { try database.changes(in: zone, since: token) }
      let wholeError = failure { try database.databaseChanges(since: whole) }
      let count = failure { try database.changeCount(in: zone, since: token) }
      let expected: DatabaseError.Code? = sequence < horizon ? .changeTokenExpired : nil
      #expect(error?.code == expected && wholeError?.code == expected && count?.code == expected, "\(sequence)")
    }
    #expect(try database.changes(in: zone, since: nil).deletedNames == ["r4", "r5"])
    #expect(try database.changes(in: zone, since: tokens[4].token).deletedNames == ["r5"])
    try database.expectClean()
  }

  @Test("a page that ended within the horizon's commit has expired: its deletions are gone")
  func horizonWithinACommit() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    try database.write { transaction in for number in 0..<6 { try transaction.save(.fresh("r\(number)", in: zone)) } }
    let start = try database.changes(in: zone, since: nil).token
    try database.write { transaction in
      for number in 0..<6 { try transaction.delete(Record.ID("r\(number)", in: zone)) }
    }
    let page = try database.changes(in: zone, since: start, limit: 2)
    #expect(page.deletedNames == ["r0", "r1"] && page.moreComing)
    let sequence = try database.snapshot().sequence
    try database.write { try $0.forgetDeletions(through: sequence) }
    let error = failure { try database.changes(in: zone, since: page.token) }
    #expect(error?.code == .changeTokenExpired, "four deletions would be missing")
  }

  @Test("behind a horizon a long feed can still be read from the beginning, page by page")
  func pagingBelowTheHorizon() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    for number in 0..<20 { try database.put("r\(number)", in: zone) }
    let sequence = try database.snapshot().sequence
    try database.put("last", in: zone)
    try database.write { try $0.forgetDeletions(through: sequence) }
    var names: [String] = []
    var token: ChangeToken?
    while true {
      let page = try database.changes(in: zone, since: token, limit: 3)
      names += page.savedNames
      token = page.token
      if !page.moreComing { break }
    }
    #expect(names == (0..<20).map { "r\($0)" } + ["last"])
    let page = try database.changes(in: zone, since: nil, limit: 3)
    try database.put("more", in: zone)
    let next = try database.snapshot().sequence
    try database.put("most", in: zone)
    try database.write { try $0.forgetDeletions(through: next) }
    let error = failure { try database.changes(in: zone, since: page.token) }
    #expect(error?.code == .changeTokenExpired, "but not across the next one")
  }

  @Test("the horizon never goes back, and never beyond what is committed")
  func horizonMovesForward() throws {
    let database = try Database.scratch()
    try database.put("a")
    try database.put("b")
    try database.write { try $0.forgetDeletions(through: 2) }
    let sequence = try database.snapshot().sequence
    try database.write { try $0.forgetDeletions(through: 1) }
    #expect(try database.snapshot().sequence == sequence)
    let error = failure { try database.write { try $0.forgetDeletions(through: sequence + 1) } }
    #expect(error?.code == .invalidArguments)
    try database.expectClean()
  }

  // MARK: tokens that stay good

  @Test("tokens stay good through close, kill, checkpoint and a crash that lost nothing")
  func reopening() throws {
    var disk = SimulatedDisk(seed: 4)
    var database = try Database.open(on: disk)
    let zone = try library(database)
    var tokens: [(Int, ChangeToken, ChangeToken)] = []
    for number in 0..<12 {
      tokens.append(
        (number, try database.changes(in: zone, since: nil, limit: 1000).token, try database.databaseChanges(since: nil).token))
      try database.put("r\(number)", in: zone, ["b": .bytes(Data(count: 1000))])
      switch number % 4 {
      case 0: try database.close()
      case 1: disk = disk.killed()
      case 2: disk = disk.crashed(seed: UInt64(number))
      default: continue
      }
      database = try .open(on: disk, seed: UInt64(100 + number))
      for (count, token, whole) in tokens {
        #expect(try database.changes(in: zone, since: token).savedNames == (count...number).map { "r\($0)" })
        #expect(try database.databaseChanges(since: whole).changed == [zone])
      }
    }
    try database.expectClean()
  }

  @Test("a token survives its bytes")
  func bytes() throws {
    let database = try Database.scratch()
    let zone = try library(database)
    try database.put("a", in: zone)
    let page = try database.changes(in: zone, since: nil, limit: 1)
    try database.put("b", in: zone)
    let again = try ChangeToken(data: page.token.data)
    #expect(again == page.token)
    #expect(try database.changes(in: zone, since: again).savedNames == ["b"])
  }
}
