import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A cursor is of a state of the database. Where that state has gone, or has not come yet, going on from the cursor's place would leave out
// what the state had moved after it.

@Suite("cursors of states that have gone or are to come")
struct CursorStateTests {
  private struct Stop: Error {}

  private static let query = Query("Note", limit: 3)

  enum Ending: CaseIterable { case rollback, savepoint, fullDisk }

  @Test(
    "a cursor of what was rolled back passes for none of the next commit, also when another process makes it",
    arguments: Ending.allCases, [true, false])
  func rolledBackBesideAnother(ending: Ending, commitsAgain: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let first = try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction }
    let second = try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
    try first.put("old")
    var kept: (cursor: Query.Cursor?, record: RecordCursor?) = (nil, nil)
    func show(_ transaction: borrowing Transaction) throws {
      let text = String(repeating: "x", count: ending == .fullDisk ? 30_000 : 1)
      for number in 0..<6 { try transaction.save(.fresh("gone\(number)", ["x": .string(text)])) }
      kept.cursor = try transaction.query(Self.query).next
      kept.record = try transaction.recordPage(in: .default, ofType: "Note", limit: 3).next
      if ending != .fullDisk { throw Stop() }
      disk.limit(toByteCount: 0)
    }
    _ = try? first.write { (transaction: borrowing Transaction) in
      if ending == .savepoint {
        do { try transaction.savepoint { try show(transaction) } } catch is Stop {}
      } else {
        try show(transaction)
      }
    }
    disk.limit(toByteCount: nil)
    try second.write { (transaction: borrowing Transaction) in
      for number in 0..<6 { try transaction.save(.fresh("new\(number)")) }
    }
    if commitsAgain { try first.put("later") } else { try first.refresh() }
    let (cursor, record) = (try #require(kept.cursor), try #require(kept.record))
    for database in [first, second] {
      #expect(failure { try database.query(Self.query, after: cursor) }?.code == .changeTokenForked)
      #expect(
        failure { try database.recordPage(in: .default, ofType: "Note", after: record, limit: 3) }?.code == .changeTokenForked)
      try database.expectClean()
    }
  }

  /// A database of a, b, c, d, and the cursors of the page before c when a has moved after d.
  private func moved(_ database: Database) throws -> (Query.Cursor, RecordCursor) {
    try database.put("a", ["n": 2])
    let page = try database.query(Query("Note", limit: 1))
    #expect(page.records.map(\.id.name) == ["b"])
    let record = try database.recordPage(in: .default, ofType: "Note", limit: 1).next
    return (try #require(page.next), try #require(record))
  }

  private func expectForked(_ cursors: (Query.Cursor, RecordCursor), in database: Database) {
    #expect(failure { try database.query(Query("Note", limit: 1), after: cursors.0) }?.code == .changeTokenForked)
    #expect(
      failure { try database.recordPage(in: .default, ofType: "Note", after: cursors.1, limit: 9) }?.code == .changeTokenForked)
  }

  @Test("a copy without the commit that had moved a record refuses a cursor of the state after it")
  func otherHistory() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    let copy = try Database.open(on: disk.killed(), seed: 2)
    let cursors = try moved(database)
    try copy.put("e")
    expectForked(cursors, in: copy)
    let rest = try database.recordPage(in: .default, ofType: "Note", after: cursors.1, limit: 9)
    #expect(rest.records.map(\.id.name) == ["c", "d", "a"])
  }

  @Test("a cursor of a commit that was lost with the power is refused, though its place was not lost")
  func lostState() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.durability = .relaxed }
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    try database.sync()
    let cursors = try moved(database)
    let again = try Database.open(on: disk.afterPowerLoss(keeping: .nothing), seed: 2)
    try again.put("e")
    expectForked(cursors, in: again)
  }

  @Test("a snapshot answers a cursor of a later state with an empty page and the same cursor")
  func olderSnapshot() throws {
    let database = try Database.scratch()
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    try database.read { (old: borrowing Snapshot) in
      let cursors = try moved(database)
      let page = try old.query(Query("Note", limit: 1), after: cursors.0)
      #expect(page.records.isEmpty && page.next == cursors.0)
      let records = try old.recordPage(in: .default, ofType: "Note", after: cursors.1, limit: 9)
      #expect(records.records.isEmpty && records.next == cursors.1)
    }
  }

  @Test("a page of a transaction that was rolled back has no next one, wherever that would begin")
  func rolledBackState() throws {
    let database = try Database.scratch()
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    var kept: Query.Cursor?
    #expect(throws: Stop.self) {
      try database.write { (transaction: borrowing Transaction) in
        try transaction.save(.fresh("a", ["n": 2]), policy: .changedKeys)
        kept = try transaction.query(Query("Note", limit: 1)).next
        throw Stop()
      }
    }
    let cursor = try #require(kept)
    #expect(failure { try database.query(Query("Note", limit: 1), after: cursor) }?.code == .changeTokenForked)
    try database.put("e")
    #expect(failure { try database.query(Query("Note", limit: 1), after: cursor) }?.code == .changeTokenForked)
  }

  @Test("a cursor goes on after its transaction, whether that has changed anything or not", arguments: [true, false])
  func afterTransaction(changes: Bool) throws {
    let database = try Database.scratch { $0.lock = .whileOpen }
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    let cursor = try database.write { (transaction: borrowing Transaction) in
      if changes { try transaction.save(.fresh("a", ["n": 2]), policy: .changedKeys) }
      let next = try #require(try transaction.query(Query("Note", limit: 1)).next)
      // Within it, too.
      #expect(try transaction.query(Query("Note", limit: 9), after: next).records.count == 3)
      return next
    }
    #expect(
      try database.query(Query("Note", limit: 9), after: cursor).records.map(\.id.name)
        == (changes ? ["c", "d", "a"] : ["b", "c", "d"]))
  }

  @Test("pages of a transaction go on after a savepoint in it was rolled back", arguments: [true, false])
  func besideSavepoint(isShared: Bool) throws {
    let database = try Database.open(on: SimulatedDisk(seed: 1)) { $0.lock = isShared ? .perTransaction : .whileOpen }
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    let cursor = try database.write { (transaction: borrowing Transaction) in
      try transaction.save(.fresh("a", ["n": 2]), policy: .changedKeys)
      let next = try #require(try transaction.query(Query("Note", limit: 1)).next)
      do {
        try transaction.savepoint {
          try transaction.save(.fresh("gone"))
          throw Stop()
        }
      } catch is Stop {}
      #expect(try transaction.query(Query("Note", limit: 9), after: next).records.map(\.id.name) == ["c", "d", "a"])
      return next
    }
    #expect(try database.query(Query("Note", limit: 9), after: cursor).records.map(\.id.name) == ["c", "d", "a"])
  }
}
