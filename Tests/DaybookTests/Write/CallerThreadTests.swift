import DaybookTesting
import Dispatch
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Asynchronous calls keep no thread of their caller waiting: neither for the turn, nor for the disk.
@Suite("the caller's thread", .timeLimit(.minutes(15)))
struct CallerThreadTests {
  /// One thread for everything that a task does outside of actors: what blocks it is noticed.
  private final class OneThread: TaskExecutor {
    private let queue = DispatchQueue(label: "caller")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// Has the turn from its making until `end`.
  private final class TurnHolder: Sendable {
    private let monitor = Monitor()
    private let state = Locked((hasTurn: false, isDone: false))
    private let thread: BackgroundThread?

    init(_ database: Database) {
      thread = BackgroundThread(name: "holder") { [monitor, state] in
        _ = try? database.write { _ in
          monitor.withLock {
            state.withLock { $0.hasTurn = true }
            monitor.broadcast()
            while !state.withLock({ $0.isDone }) { monitor.wait() }
          }
        }
      }
      monitor.withLock { while !state.withLock({ $0.hasTurn }) { monitor.wait() } }
    }

    func end() {
      monitor.withLock {
        state.withLock { $0.isDone = true }
        monitor.broadcast()
      }
      thread?.join()
    }
  }

  struct Call: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: @Sendable (Database, Record) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (Database, Record) async throws -> Void) {
      testDescription = name
      self.body = body
    }
  }

  /// Everything that is asynchronous, with all arguments and with as few as there can be.
  static let calls: [Call] = [
    Call("write") { database, record in
      _ = try await database.write { try $0.save(record, policy: .changedKeys) }
    },
    Call("write, of an origin") { database, _ in try await database.write(origin: "here") { _ in } },
    Call("read") { database, record in _ = try await database.read { try $0.record(record.id) } },
    Call("save") { database, record in try await database.save(record, policy: .changedKeys) },
    Call("save several") { database, record in try await database.save([record], policy: .changedKeys, origin: "here") },
    Call("save a zone") { database, _ in try await database.save(Zone(Zone.ID("New"))) },
    Call("update") { database, record in try await database.update(record.id, creating: "Note") { $0["n"] = 1 } },
    Call("delete") { database, record in try await database.delete(record.id) },
    Call("delete several") { database, record in try await database.delete([record.id], origin: "here") },
    Call("write, unordered") { database, _ in try await database.writeUnordered { _ in } },
    Call("references without target") { database, _ in _ = try await database.referencesWithoutTarget(in: .default) },
    Call("record with a tag") { database, record in _ = try await database.record(record.id, withChangeTag: "x") },
    Call("modify, saving") { database, record in try await database.modify(saving: [record]) },
    Call("modify, deleting") { database, record in try await database.modify(deleting: [record.id]) },
    Call("modify, with a policy") { database, record in try await database.modify(saving: [record], policy: .allKeys) },
    Call("modify, not atomically") { database, record in try await database.modify(saving: [record], atomically: false) },
    Call("modify, of an origin") { database, record in try await database.modify(saving: [record], origin: "here") },
    Call("modify, without an origin") { database, record in
      try await database.modify(saving: [record], deleting: [], policy: .changedKeys, atomically: true)
    },
    Call("modify, all") { database, record in
      try await database.modify(saving: [record], deleting: [], policy: .changedKeys, atomically: true, origin: "here")
    },
    Call("modifyZones, saving") { database, _ in try await database.modifyZones(saving: [Zone(Zone.ID("New"))]) },
    Call("modifyZones, deleting") { database, _ in try await database.modifyZones(deleting: [Zone.ID("New")]) },
    Call("modifyZones") { database, _ in try await database.modifyZones(saving: [], deleting: []) },
    Call("modifyZones, of an origin") { database, _ in
      try await database.modifyZones(saving: [Zone(Zone.ID("New"))], origin: "here")
    },
    Call("prepare an asset") { database, _ in _ = try await database.prepare(Asset(data: Data([1]))) },
    Call("prepare a record") { database, record in _ = try await database.prepare(record) },
    Call("record") { database, record in _ = try await database.record(record.id) },
    Call("records by ID") { database, record in _ = try await database.records([record.id]) },
    Call("records by ID, desired keys") { database, record in _ = try await database.records([record.id], desiredKeys: []) },
    Call("records, each with a result") { database, record in _ = try await database.records(for: [record.id]) },
    Call("records of a zone") { database, _ in _ = try await database.records(in: .default) },
    Call("records of a zone, a page") { database, _ in
      _ = try await database.recordPage(in: .default, ofType: "Note", limit: 1)
    },
    Call("referencing") { database, record in _ = try await database.referencing(record.id) },
    Call("referencing, a page") { database, record in _ = try await database.referencing(record.id, after: "a", limit: 1) },
    Call("recordCount") { database, _ in _ = try await database.recordCount(in: .default) },
    Call("recordCount of a type") { database, _ in _ = try await database.recordCount(in: .default, ofType: "Note") },
    Call("recordTypes") { database, _ in _ = try await database.recordTypes(in: .default) },
    Call("zones") { database, _ in _ = try await database.zones() },
    Call("changes") { database, _ in _ = try await database.changes(in: .default, since: nil) },
    Call("changes, a page") { database, _ in
      _ = try await database.changes(in: .default, since: nil, limit: 1, desiredKeys: [])
    },
    Call("changePages") { database, _ in for try await _ in database.changePages(in: .default, since: nil) {} },
    Call("changeCount") { database, _ in _ = try await database.changeCount(in: .default, since: nil) },
    Call("databaseChanges") { database, _ in _ = try await database.databaseChanges(since: nil) },
    Call("databaseChanges, a page") { database, _ in _ = try await database.databaseChanges(since: nil, limit: 1) },
    Call("metadata") { database, _ in _ = try await database.metadata(forKey: "k") },
    Call("history") { database, record in _ = try await database.history(of: record.id) },
    Call("asset") { database, record in _ = try await database.asset("file", of: record.id) },
    Call("asset of a list") { database, record in _ = try await database.asset("file", of: record.id, at: 0) },
    Call("backup") { database, _ in try await database.backup(to: database.path + ".copy-\(UUID())") },
    Call("backup, all") { database, _ in
      try await database.backup(to: database.path + ".copy-\(UUID())", linksAssets: false) { _, _ in true }
    },
    Call("backup, to a URL") { database, _ in
      try await database.backup(to: URL(fileURLWithPath: database.path + ".copy-\(UUID())"))
    },
    Call("check") { database, _ in _ = try await database.check() },
    Call("check, deep") { database, _ in _ = try await database.check(.deep) { _, _ in true } },
    Call("compact") { database, _ in try await database.compact() },
    Call("compact, with progress") { database, _ in try await database.compact { _, _ in true } },
    Call("setIndex") { database, _ in try await database.setIndex(.queryable, on: "n", ofType: "Note") },
    Call("setIndex, with progress") { database, _ in
      try await database.setIndex(.searchable, on: "t", ofType: "Note") { _, _ in true }
    },
    Call("buildIndexes") { database, _ in try await database.buildIndexes() },
    Call("buildIndexes, with progress") { database, _ in try await database.buildIndexes { _, _ in true } },
    Call("indexes") { database, _ in _ = try await database.indexes() },
    Call("collectAssets") { database, _ in try await database.collectAssets() },
    Call("collectAssets, at once") { database, _ in try await database.collectAssets(grace: .zero) },
    Call("takeOverAssets") { database, _ in try await database.takeOverAssets() },
    Call("storedAssets") { database, _ in _ = try await database.storedAssets() },
    Call("statistics") { database, _ in _ = try await database.statistics() },
    Call("refresh") { database, _ in try await database.refresh() },
    Call("refresh, to a target") { database, _ in try await database.refresh(to: .visible) },
    Call("sync") { database, _ in try await database.sync() },
    Call("the protocol: modify") { database, record in
      let any: any RecordDatabase = database
      _ = try await any.modify(saving: [record], deleting: [], policy: .changedKeys, atomically: true)
    },
    Call("the protocol: modifyZones") { database, _ in
      let any: any RecordDatabase = database
      _ = try await any.modifyZones(saving: [Zone(Zone.ID("New"))], deleting: [])
    },
    Call("the protocol: records") { database, record in
      let any: any RecordDatabase = database
      _ = try await any.records(for: [record.id], desiredKeys: nil)
    },
    Call("the protocol: zones") { database, _ in
      let any: any RecordDatabase = database
      _ = try await any.zones()
    },
    Call("the protocol: changes") { database, _ in
      let any: any RecordDatabase = database
      _ = try await any.changes(in: .default, since: nil, limit: nil, desiredKeys: nil)
    },
    Call("the protocol: databaseChanges") { database, _ in
      let any: any RecordDatabase = database
      _ = try await any.databaseChanges(since: nil, limit: nil)
    },
    Call("the protocol: asset") { database, record in
      let any: any RecordDatabase = database
      _ = try await any.asset("file", of: record.id)
    },
    Call("a list of identities") { _, _ in
      _ = try? await FileIdentityDiscovery(fileURL: URL(filePath: "/nowhere/list.json")).allIdentities()
    },
  ]

  @Test("stays free during every asynchronous call, while another thread has the turn", arguments: calls)
  func staysFree(_ call: Call) async throws {
    // A call that is carried out elsewhere may be over before its caller has gone to sleep, and then the caller never
    // releases its thread, rightly. A call that keeps the thread keeps it each time.
    for _ in 0..<20 where try await letGo(call) { return }
    Issue.record("the caller's thread was kept for the whole call")
  }

  /// Whether the thread of its caller was free before the call was over; gives up on a call that waits for the turn.
  private func letGo(_ call: Call) async throws -> Bool {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.open(at: folder.file("a.daybook"))
    let record = try await database.write { transaction in
      try transaction.save(.fresh("a", ["file": .asset(Asset(data: Data([1, 2, 3])))]))
    }
    let holder = TurnHolder(database)
    let executor = OneThread()
    // What the next job on the thread saw of the call: it comes to run as soon as the call releases the thread.
    let state = Locked((hasEnded: false, sawTheEnd: nil as Bool?))
    let task = Task(executorPreference: executor) {
      let next = Task(executorPreference: executor) { state.withLock { $0.sawTheEnd = $0.hasEnded } }
      let result: Result<Void, any Error>
      do { result = .success(try await call.body(database, record)) } catch { result = .failure(error) }
      state.withLock { $0.hasEnded = true }
      await next.value
      try result.get()
    }
    // A call that keeps its thread waits for the turn; then this thread gives up on it.
    let clock = ContinuousClock()
    let giveUp = clock.now + .seconds(300)
    while state.withLock({ $0.sawTheEnd == nil }), clock.now < giveUp { try await Task.sleep(for: .milliseconds(1)) }
    let sawTheEnd = state.withLock { $0.sawTheEnd }
    holder.end()
    try await task.value
    let close = { try database.close() }
    try close()
    try #require(sawTheEnd != nil, "the caller's thread was kept while another thread had the turn")
    return sawTheEnd == false
  }
}
