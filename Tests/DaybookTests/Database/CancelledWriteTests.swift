import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Writes that wait for a turn which another thread has: what becomes of them when they are cancelled, or may not write any
/// more.
@Suite("writes that wait for their turn", .timeLimit(.minutes(15)))
struct CancelledWriteTests {
  /// Returns when a writer waits for the turn.
  private static func waitForWriter(of database: Database) async {
    let turn = database.store.turn
    while turn.monitor.withLock({ turn.waitingWriterCount }) == 0 { await Task.yield() }
  }

  /// A task whose write is at the head of the line and waits for another thread's transaction.
  private static func writeAtHead(_ database: Database) async -> Task<Record, any Error> {
    let task = Task { try await database.write { try $0.save(.fresh("cancelled")) } }
    await waitForWriter(of: database)
    return task
  }

  @Test("a write that is cancelled at the head of the line writes nothing, and its task is told so")
  func cancelledAtHead() async throws {
    let database = try Database.scratch()
    let held = HeldTransaction(database)
    while !held.hasTurn { await Task.yield() }
    let task = await Self.writeAtHead(database)
    task.cancel()
    held.end()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await database.write { try $0.save(.fresh("after")) }
    let names = try { try database.records(in: .default).map(\.id.name) }()
    #expect(names == ["after", "slow"])
  }

  @Test("a write that is cancelled at the head of the line does not wait for who has the turn")
  func cancelledAtOnce() async throws {
    let database = try Database.scratch()
    let held = HeldTransaction(database)
    while !held.hasTurn { await Task.yield() }
    let task = await Self.writeAtHead(database)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!held.isDone, "the task waited for the transaction")
    held.end()
    try await database.write { try $0.save(.fresh("after")) }
    let count = try await database.recordCount(in: .default)
    #expect(count == 2)
  }

  @Test("a write that is cancelled gives back what it had taken: another opener of the file has its turn at once")
  func cancelledGivesBack() async throws {
    let disk = SimulatedDisk(seed: 1)
    func open(_ seed: UInt64) throws -> Database {
      var options = Database.Options.simulated(seed: seed)
      options.lock = .perTransaction
      options.lockTimeout = .zero
      return try Database.open(at: "a.daybook", options: options, disk: disk)
    }
    let (a, b) = try { (try open(1), try open(2)) }()
    let held = HeldTransaction(a)
    while !held.hasTurn { await Task.yield() }
    let task = await Self.writeAtHead(a)
    task.cancel()
    held.end()
    await #expect(throws: CancellationError.self) { try await task.value }
    // Another write of the queue comes next.
    try await a.write { try $0.save(.fresh("after")) }
    _ = try { try b.put("other") }()
    _ = try { try (a.close(), b.close()) }()
  }

  @Test("a write that waits for its turn is not committed after the account is gone")
  func accountGone() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let container = try { try Container.open("com.example.Notes", in: folder.path) }()
    let database = container.privateDatabase
    let held = HeldTransaction(database)
    while !held.hasTurn { await Task.yield() }
    let task = Task { try await database.write { try $0.save(.fresh("late")) } }
    await Self.waitForWriter(of: database)
    try container.setAccountStatus(.noAccount)
    held.end()
    let error = await #expect(throws: DatabaseError.self) { try await task.value }
    #expect(error?.code == .notAuthenticated)
    let names = try { try database.records(in: .default).map(\.id.name) }()
    // The transaction before it may still wait for its sync.
    #expect(!names.contains("late"))
    try { try container.close() }()
  }
}
