import DaybookTesting
import Foundation
import Testing

@testable import Daybook

/// Deleting a record deletes those that own themselves to it, and so on, in one commit.
@Suite("cascades")
struct CascadeTests {
  private func owned(_ name: String, by owners: [String], in zone: Zone.ID) throws -> Record {
    try ReferenceTests.pointing(name, in: zone, owners.enumerated().map { ("o\($0.offset)", $0.element, .deleteSelf) })
  }

  @Test("deleting a record deletes what belongs to it, through circles, and nothing else")
  func transitive() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.write { transaction in
      try transaction.save(.fresh("root", in: zone))
      try transaction.save(owned("a", by: ["root", "c"], in: zone))
      try transaction.save(owned("b", by: ["a"], in: zone))
      // One of several owners suffices; c and a own each other.
      try transaction.save(owned("c", by: ["b", "elsewhere"], in: zone))
      try transaction.save(owned("self", by: ["self", "c"], in: zone))
      try transaction.save(.fresh("elsewhere", in: zone))
      try transaction.save(ReferenceTests.pointing("weak", in: zone, [("to", "root", .none)]))
      try transaction.save(owned("free", by: ["elsewhere"], in: zone))
    }
    let before = try database.snapshot()
    let token = try database.changes(in: zone, since: nil).token
    let result = try database.modify(deleting: [Record.ID("root", in: zone)])
    #expect(result.deletes.map(\.id.name) == ["root"] && result.saves.isEmpty && result.errors.isEmpty)
    #expect(try database.records(in: zone).map(\.id.name) == ["elsewhere", "free", "weak"])
    #expect(try database.snapshot().sequence == before.sequence + 1, "one commit")
    #expect(try before.recordCount(in: zone) == 8)
    let page = try database.changes(in: zone, since: token)
    #expect(Set(page.deletedNames) == ["root", "a", "b", "c", "self"] && page.deletedNames.count == 5 && page.saved.isEmpty)
    #expect(page.deleted.allSatisfy { $0.type == "Note" })
    let history = try database.history(of: Record.ID("c", in: zone))
    #expect(history.count == 2)
    try database.expectClean()
    // Back from the dead, linked to the former life; and its pointers count again.
    try database.write { try $0.save(owned("a", by: ["elsewhere"], in: zone)) }
    #expect(try database.history(of: Record.ID("a", in: zone)).count == 3)
    try database.write { try $0.delete(Record.ID("elsewhere", in: zone)) }
    #expect(try database.records(in: zone).map(\.id.name) == ["weak"])
    try database.expectClean()
  }

  private func goBackAndDelete(_ database: Database) throws -> AsyncStream<CommitNotice> {
    let zone = try database.zone("Library")
    try database.write { transaction in
      try transaction.save(.fresh("root", in: zone))
      for number in 0..<5 { try transaction.save(owned("r\(number)", by: ["root"], in: zone)) }
    }
    let notices = database.commits()
    try? database.write { transaction in
      try transaction.delete(Record.ID("root", in: zone))
      #expect(try transaction.recordCount(in: zone) == 0)
      throw Intended()
    }
    #expect(try database.recordCount(in: zone) == 6)
    try database.write { transaction in
      try? transaction.savepoint {
        try transaction.delete(Record.ID("root", in: zone))
        throw Intended()
      }
      #expect(try transaction.recordCount(in: zone) == 6)
      try transaction.delete(Record.ID("root", in: zone))
    }
    return notices
  }

  @Test("the commit notice tells of all victims, and a transaction that goes back of none")
  func notice() async throws {
    let database = try Database.scratch()
    let commits = try goBackAndDelete(database)
    var notices = commits.makeAsyncIterator()
    guard case .commit(let notice) = await notices.next() else {
      Issue.record("no notice")
      return
    }
    #expect(Set(notice.deleted.map(\.name)) == ["root", "r0", "r1", "r2", "r3", "r4"])
    try database.expectClean()
  }

  @Test("a victim that others need holds up the whole deletion, unless they go too")
  func neededVictim() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.write { transaction in
      try transaction.save(.fresh("root", in: zone))
      try transaction.save(owned("victim", by: ["root"], in: zone))
      try transaction.save(ReferenceTests.pointing("child", in: zone, [], parent: "victim"))
    }
    let error = failure { try database.write { try $0.delete(Record.ID("root", in: zone)) } }
    #expect(error?.code == .referenceViolation)
    #expect(error?.facts.source?.name == "child" && error?.facts.target?.name == "victim")
    let result = try database.modify(deleting: [Record.ID("root", in: zone)], atomically: false)
    #expect(result.errors.values.map(\.code) == [.referenceViolation], "the fault of the item that deleted it")
    #expect(try database.recordCount(in: zone) == 3)
    try database.write { transaction in
      try transaction.delete(Record.ID("root", in: zone))
      try transaction.delete(Record.ID("child", in: zone))
    }
    #expect(try database.recordCount(in: zone) == 0)
    try database.expectClean()
  }

  @Test("a record that was saved in the same request as its owner's deletion goes with it")
  func savedAndDeleted() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("root", in: zone)
    let result = try database.modify(
      saving: [owned("a", by: ["root"], in: zone)], deleting: [Record.ID("root", in: zone)])
    #expect(result.errors.isEmpty)
    #expect(try database.recordCount(in: zone) == 0)
    try database.expectClean()
  }

  @Test(
    "a line, a star and a tree of owners: every record goes, in one commit, and none is visited by recursion",
    arguments: [1, 3000])
  func shapes(branching: Int) throws {
    let database = try Database.scratch { $0.limits = .unlimited }
    let zone = try database.zone("Library")
    try database.write { transaction in
      try transaction.save(.fresh("r0", in: zone))
      for number in 1..<3000 { try transaction.save(owned("r\(number)", by: ["r\((number - 1) / branching)"], in: zone)) }
      try transaction.save(.fresh("stays", in: zone))
    }
    let sequence = try database.snapshot().sequence
    try database.write { try $0.delete(Record.ID("r0", in: zone)) }
    #expect(try database.snapshot().sequence == sequence + 1)
    #expect(try database.records(in: zone).map(\.id.name) == ["stays"])
    #expect(try database.changes(in: zone, since: nil, limit: .max).deleted.count == 3000)
    try database.expectClean()
  }

  /// DAYBOOK_CASCADE_RECORDS sets how many; of 20,000 the pages of each tree have two levels above them, too.
  @Test("a cascade of very many records is one commit", arguments: ["a star", "a tree"])
  func veryMany(shape: String) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a.daybook")
    let database = try Database.open(at: path)
    let zone = try database.zone("Library")
    let count = Int(ProcessInfo.processInfo.environment["DAYBOOK_CASCADE_RECORDS"] ?? "") ?? 20_000
    for start in stride(from: 0, to: count, by: 10_000) {
      try database.write { transaction in
        for number in start..<min(start + 10_000, count) {
          let owner = shape == "a star" ? 0 : (number - 1) / 3
          try transaction.save(number == 0 ? .fresh("r0", in: zone) : owned("r\(number)", by: ["r\(owner)"], in: zone))
        }
      }
    }
    let sequence = try database.snapshot().sequence
    let start = ContinuousClock.now
    try database.write { try $0.delete(Record.ID("r0", in: zone)) }
    let time = ContinuousClock.now - start
    if ProcessInfo.processInfo.environment["DAYBOOK_TIMES"] != nil { print("cascade of \(count), \(shape): \(time)") }
    #expect(try database.snapshot().sequence == sequence + 1)
    #expect(try database.recordCount(in: zone) == 0)
    #expect(try database.changeCount(in: zone, since: nil) == count)
    try database.expectClean(.structure)
    // All of it comes back from the log alone.
    try database.close()
    let rebuilt = try Database.rebuild(at: path)
    #expect(rebuilt.isClean, "\(rebuilt.findings)")
  }

  @Test("a cascade that needs more memory than a transaction may have leaves nothing behind, caught or not")
  func tooLarge() throws {
    let database = try Database.scratch {
      $0.limits = .unlimited
      $0.checkpoint.memoryByteCount = 1 << 20
    }
    let zone = try database.zone("Library")
    for start in stride(from: 0, to: 20_000, by: 500) {
      try database.write { transaction in
        for number in start..<start + 500 {
          try transaction.save(number == 0 ? .fresh("r0", in: zone) : owned("r\(number)", by: ["r0"], in: zone))
        }
      }
    }
    let id = try Record.ID("r0", in: zone)
    let error = failure { try database.write { try $0.delete(id) } }
    #expect(error?.code == .limitExceeded)
    let caught = failure {
      try database.write { transaction in
        do { try transaction.delete(id) } catch {}
        try transaction.setMetadata(Data([1]), forKey: "state")
      }
    }
    #expect(caught?.code == .limitExceeded, "half a cascade is never committed")
    try database.write { transaction in
      do { try transaction.savepoint { try transaction.delete(id) } } catch {}
      try transaction.setMetadata(Data([2]), forKey: "state")
    }
    #expect(try database.recordCount(in: zone) == 20_000)
    try database.expectClean(.structure)
  }
}
