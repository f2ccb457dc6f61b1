import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

// One save, change or deletion in a line, synchronous and not, and what becomes of a task that is cancelled.

@Suite("saving in a line", .timeLimit(.minutes(15)))
struct SaveLineTests {
  @Test("a record is saved, changed and deleted in a line each, and each line returns what was stored")
  func lines() throws {
    let database = try Database.scratch()
    let library = try Zone.ID("Library")
    try database.save(Zone(library))
    let saved = try database.save(.fresh("dune", in: library, ["title": "Dune"]))
    #expect(saved.changeTag != nil && saved.modificationDate == saved.creationDate)
    #expect(try database.record(saved.id) == saved)
    let updated = try database.update(saved.id) { $0["year"] = 2021 }
    #expect(updated["year"] == 2021 && updated["title"] == "Dune" && updated.changeTag != saved.changeTag)
    try database.delete(saved.id)
    #expect(try database.record(saved.id) == nil)
    try database.delete(saved.id)
    try database.deleteZone(library)
    #expect(failure { try database.save(saved, policy: .allKeys) }?.code == .zoneNotFound)
    try database.expectClean()
  }

  @Test("several records are saved or deleted together, children before their parents, or not at all")
  func several() throws {
    let database = try Database.scratch()
    var child = try Record.fresh("child")
    child.parent = Record.Reference(try Record.ID("parent"))
    let saved = try database.save([child, .fresh("parent")])
    #expect(saved.map(\.id.name) == ["child", "parent"] && saved.allSatisfy { $0.changeTag != nil })
    #expect(try database.snapshot().sequence == 1)
    let error = failure { try database.save([.fresh("new"), .fresh("parent")]) }
    #expect(error?.code == .serverRecordChanged && error?.facts.name == "parent")
    #expect(try database.record(Record.ID("new")) == nil)
    #expect(failure { try database.delete(Record.ID("parent")) }?.code == .referenceViolation)
    try database.delete([Record.ID("parent"), Record.ID("child")])
    #expect(try database.recordCount(in: .default) == 0)
    #expect(try database.save([Record]()).isEmpty)
  }

  @Test("an update makes a record where there is none, writes nothing without a change, and keeps nothing of an error")
  func updates() throws {
    let database = try Database.scratch()
    let id = try Record.ID("counter")
    #expect(failure { try database.update(id) { $0["n"] = 1 } }?.code == .unknownItem)
    for _ in 0..<3 { try database.update(id, creating: "Counter") { $0["n"] = ($0["n"] ?? 0) + 1 } }
    #expect(try database.record(id)?["n"] == 3 && database.record(id)?.type == "Counter")
    let sequence = try database.snapshot().sequence
    let same = try database.update(id) { _ in }
    #expect(try same["n"] == 3 && database.snapshot().sequence == sequence)
    #expect(throws: Intended.self) {
      try database.update(id) { record in
        record["n"] = 9
        throw Intended()
      }
    }
    #expect(failure { try database.update(id) { $0["x"] = Double.nan } }?.facts.key == "x")
    #expect(failure { try database.update(id) { $0 = try .fresh("other", type: "Counter") } }?.code == .invalidArguments)
    #expect(try database.record(id)?["n"] == 3 && database.snapshot().sequence == sequence)
    let inside = try database.write { transaction in
      try transaction.save(.fresh("a"))
      return try transaction.update(id) { $0["n"] = 4 }
    }
    #expect(inside["n"] == 4)
  }

  @Test("ten tasks that change one record at the same time all succeed")
  func concurrentUpdates() async throws {
    let database = try Database.scratch()
    let id = try Record.ID("counter")
    try await database.save(Record(type: "Counter", id: id))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<10 {
        group.addTask { try await database.update(id) { record in record["n"] = (record["n"] ?? 0) + 1 } }
      }
      try await group.waitForAll()
    }
    let record = try await database.record(id)
    #expect(record?["n"] == 10)
    try await database.delete(id)
    let count = try await database.recordCount(in: .default)
    #expect(count == 0)
  }

  @Test("assets of a line are taken in before the transaction, and those of a record of another database come along")
  func assets() async throws {
    let folder = try TemporaryFolder()
    func open(_ name: String) throws -> Database { try Database.open(at: folder.file(name)) }
    let (first, second) = (try open("a.daybook"), try open("b.daybook"))
    let content = AssetBench.content(7)
    var record = try Record.fresh("a")
    record["file"] = Asset(data: content + Data(count: 100_000))
    let saved = try await first.save(record)
    let copy = try await second.save(saved, policy: .allKeys)
    #expect(try (copy["file"] as Asset?)?.content().prefix(content.count) == content)
    // Prepared, it does not need the first one any more.
    let third = try open("c.daybook")
    let prepared = try await third.prepare(saved)
    _ = try { try first.close() }()
    let late = try await third.save(prepared, policy: .allKeys)
    #expect(try (late["file"] as Asset?)?.content() == content + Data(count: 100_000))
  }

  // MARK: cancellation

  /// Has the turn until `end` is called.
  private final class Holder: Sendable {
    private let monitor = Monitor()
    private let state = Locked((hasTurn: false, isDone: false))

    func hold() {
      monitor.withLock {
        state.withLock { $0.hasTurn = true }
        monitor.broadcast()
        while !state.withLock({ $0.isDone }) { monitor.wait() }
      }
    }
    var hasTurn: Bool { state.withLock { $0.hasTurn } }
    func end() {
      monitor.withLock {
        state.withLock { $0.isDone = true }
        monitor.broadcast()
      }
    }
  }

  @Test("a task that is cancelled before its turn writes nothing and throws CancellationError at once")
  func cancelledWhileWaiting() async throws {
    let database = try Database.scratch()
    let holder = Holder()
    let first = Task { try await database.write { _ in holder.hold() } }
    while !holder.hasTurn { await Task.yield() }
    let waiting = (0..<10).map { number in Task { try await database.save(.fresh("r\(number)")) } }
    for task in waiting { task.cancel() }
    // While the first one still has the turn.
    for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
    let before = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await database.save(.fresh("never"))
    }
    before.cancel()
    await #expect(throws: CancellationError.self) { try await before.value }
    holder.end()
    try await first.value
    try await database.save(.fresh("after"))
    let names = try await database.records(in: .default).map(\.id.name)
    #expect(names == ["after"])
  }

  @Test("once the closure runs, a transaction commits, whatever becomes of its task")
  func cancelledWhileRunning() async throws {
    let database = try Database.scratch()
    let holder = Holder()
    let task = Task {
      try await database.write { transaction in
        try transaction.save(.fresh("a"))
        holder.hold()
      }
    }
    while !holder.hasTurn { await Task.yield() }
    task.cancel()
    holder.end()
    try await task.value
    let record = try await database.record(Record.ID("a"))
    #expect(record != nil)
  }
}
