import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

// Asynchronous reads, writes and requests, also through the protocol that a server in the network would have.

@Suite("asynchronous calls", .timeLimit(.minutes(15)))
struct AsyncTests {
  @Test("write and read off the caller's thread, with results and errors")
  func writeAndRead() async throws {
    let database = try Database.scratch()
    let saved = try await database.write { try $0.save(.fresh("a", ["n": 1])) }
    let read = try await database.read { try $0.record(Record.ID("a")) }
    #expect(saved == read)
    await #expect(throws: Intended.self) {
      try await database.write { transaction in
        try transaction.save(.fresh("b"))
        throw Intended()
      }
    }
    let count = try await database.read { try $0.recordCount(in: .default) }
    #expect(count == 1)
  }

  @Test("a hundred tasks write, and each of their commits is there")
  func manyWriters() async throws {
    let database = try Database.scratch()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          try await database.write { transaction in
            let known = try transaction.record(Record.ID("counter"))
            var record = try known ?? .fresh("counter", ["n": 0])
            record["n"] = (record["n"] ?? 0) + 1
            try transaction.save(record)
            try transaction.save(.fresh("r\(number)"))
          }
        }
      }
      try await group.waitForAll()
    }
    let record = try await database.read { try $0.record(Record.ID("counter")) }
    #expect(record?["n"] == 100)
    let count = try await database.read { try $0.recordCount(in: .default) }
    #expect(count == 101)
    _ = try { try database.expectClean() }()
  }

  @Test("reads and writes do not stand behind contents that are taken in, however many there are and however long that takes")
  func readsBesideIngests() async throws {
    let disk = WatchedDisk(SimulatedDisk(seed: 1))
    var options = Database.Options.simulated(seed: 1)
    options.inlineAssetByteCount = 0
    let database = try Database.open(at: "test.daybook", options: options, disk: disk)
    try await database.write { try $0.save(.fresh("a")) }
    let mayEnd = Monitor()
    let state = Locked((blocked: 0, most: 0, isDone: false))
    disk.watch.beforeSync { file in
      // The mark of the folder is made once, and all wait for that.
      guard file.path.contains(".assets/"), !file.path.contains("/" + FolderMark.name) else { return }
      state.withLock { state in
        state.blocked += 1
        state.most = max(state.most, state.blocked)
      }
      mayEnd.lock()
      while !state.withLock({ $0.isDone }) { mayEnd.wait() }
      mayEnd.unlock()
      state.withLock { $0.blocked -= 1 }
    }
    let saves = (0..<300).map { number in
      Task {
        let asset = try await database.prepare(Asset(data: AssetBench.content(number)))
        try await database.write { transaction in
          var record = try Record.fresh("r\(number)")
          record["file"] = asset
          try transaction.save(record)
        }
      }
    }
    while state.withLock({ $0.blocked }) < WorkQueues.ingestWidth { await Task.yield() }
    for number in 0..<20 {
      let record = try await database.record(Record.ID("a"))
      #expect(record != nil)
      try await database.write { try $0.save(.fresh("b\(number)")) }
    }
    mayEnd.withLock {
      state.withLock { $0.isDone = true }
      mayEnd.broadcast()
    }
    for save in saves { try await save.value }
    #expect(state.withLock { $0.most } <= WorkQueues.ingestWidth)
    let count = try await database.recordCount(in: .default)
    #expect(count == 321)
    try await database.read { _ in }
    _ = try { try database.close() }()
  }

  @Test("maintenance stops when its progress says so, and when its task is cancelled")
  func maintenanceStops() async throws {
    let database = try Database.scratch()
    try await database.write { transaction in for number in 0..<10 { try transaction.save(.fresh("r\(number)")) } }
    let calls: [@Sendable (_ progress: @escaping @Sendable (Int, Int) -> Bool) async throws -> Void] = [
      { progress in _ = try await database.check(progress: progress) },
      { progress in try await database.compact(progress: progress) },
      { progress in try await database.setIndex(.queryable, on: "n", ofType: "Note", progress: progress) },
    ]
    for call in calls {
      let refused = await #expect(throws: DatabaseError.self) { try await call { _, _ in false } }
      #expect(refused?.code == .operationCancelled)
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await call { _, _ in true }
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await call { _, _ in true }
    }
    let report = try await database.check(.deep)
    #expect(report.isClean)
    _ = try { try database.close() }()
  }

  @Test("reads do not wait for writers, however many wait for their turn")
  func readsGoFirst() async throws {
    let database = try Database.scratch()
    try await database.write { try $0.save(.fresh("a")) }
    let held = HeldTransaction(database)
    while !held.hasTurn { await Task.yield() }
    let writers = (0..<50).map { number in Task { try await database.write { try $0.save(.fresh("r\(number)")) } } }
    // All of them return while the first writer has the turn, so none of them waited for it.
    for _ in 0..<20 {
      let count = try await database.read { try $0.recordCount(in: .default) }
      #expect(count == 1)
    }
    held.end()
    for writer in writers { _ = try await writer.value }
    let count = try await database.read { try $0.recordCount(in: .default) }
    #expect(count == 52)
  }

  @Test("small and unchanged contents do not stand behind long ones, and who is cancelled leaves the line")
  func shortWay() async throws {
    let database = try Database.scratch()
    let changed = try await database.write { transaction in
      var record = try Record.fresh("old")
      record["file"] = Asset(data: AssetBench.content(1))
      return try transaction.save(record)
    }
    // As many as may be taken in at a time, and none of them ends before it may.
    let mayEnd = Monitor()
    let state = Locked((startedCount: 0, isDone: false))
    let long = (0..<WorkQueues.ingestWidth).map { _ in
      Task {
        try await database.queues.ingest {
          state.withLock { $0.startedCount += 1 }
          mayEnd.withLock { while !state.withLock({ $0.isDone }) { mayEnd.wait() } }
        }
      }
    }
    while state.withLock({ $0.startedCount }) < WorkQueues.ingestWidth { await Task.yield() }
    var small = try Record.fresh("small")
    small["file"] = Asset(data: Data([1, 2, 3]))
    var unchanged = changed
    unchanged["n"] = 1
    _ = try await database.modify(saving: [small, unchanged])
    let cancelled = Task { try await database.prepare(Asset(data: Data(count: 1 << 20))) }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
    mayEnd.withLock {
      state.withLock { $0.isDone = true }
      mayEnd.broadcast()
    }
    for task in long { try await task.value }
    #expect(try await database.prepare(Asset(data: Data(count: 1 << 20))).sha256 != nil)
    try { try database.close() }()
  }

  @Test("a database is closed with its last reference, also after many contents were saved at once")
  func endsWithLastReference() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a.daybook")
    weak var left: Database?
    func saveMany() async throws {
      let database = try Database.open(at: path)
      left = database
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<24 {
          group.addTask {
            var record = try Record.fresh("r\(number)")
            record["file"] = Asset(data: AssetBench.content(number))
            _ = try await database.modify(saving: [record])
          }
        }
        try await group.waitForAll()
      }
    }
    try await saveMany()
    // The last block may still be on its way out of its queue.
    for _ in 0..<30_000 where left != nil { try await Task.sleep(for: .milliseconds(20)) }
    #expect(left == nil)
    let database = try { try Database.open(at: path) }()
    #expect(try { try database.recordCount(in: .default) }() == 24)
    try { try database.close() }()
  }

  @Test("contents are taken in, and reads go on, while a transaction is under way and many assets are prepared")
  func preparesBesideTransaction() async throws {
    let database = try Database.scratch { $0.inlineAssetByteCount = 0 }
    try await database.write { try $0.save(.fresh("a")) }
    let held = HeldTransaction(database)
    while !held.hasTurn { await Task.yield() }
    // All of them return while the transaction has the turn, so none of them waited for it.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          let content = Data(repeating: UInt8(number), count: 1000)
          let prepared = try await database.prepare(Asset(data: content))
          #expect(try prepared.content() == content)
        }
      }
      for _ in 0..<20 { group.addTask { _ = try await database.record(Record.ID("a")) } }
      try await group.waitForAll()
    }
    #expect(!held.isDone, "somebody waited for the transaction")
    held.end()
    let count = try await database.write { try $0.recordCount(in: .default) }
    #expect(count == 2)
  }

  /// What a codec or a sync engine does, which knows no more than the protocol.
  private func exercise(_ database: any RecordDatabase) async throws {
    let zone = Zone(try Zone.ID("Library"))
    try await database.modifyZones(saving: [zone], deleting: []).get()
    let zones = try await database.zones()
    #expect(zones == [zone, Zone(.default)])
    let records = try (0..<5).map { try Record.fresh("r\($0)", in: zone.id, ["n": .int(Int64($0))]) }
    let result = try await database.modify(
      saving: records, deleting: [], policy: .ifServerRecordUnchanged, atomically: true)
    #expect(result.saves.count == 5 && result.errors.isEmpty)
    let again = try await database.modify(
      saving: [records[0]], deleting: [records[1].id], policy: .ifServerRecordUnchanged, atomically: true)
    #expect(again.errors[records[0].id]?.code == .serverRecordChanged)
    #expect(again.errors[records[1].id]?.code == .batchRequestFailed)
    let found = try await database.records(for: records.map(\.id) + [Record.ID("never", in: zone.id)], desiredKeys: [])
    #expect(found.count == 6)
    let first = try #require(try found[records[0].id]?.get())
    #expect(first.keys.isEmpty && first.metadata != nil)
    let page = try await database.changes(in: zone.id, since: nil, limit: 3, desiredKeys: nil)
    #expect(page.saved.count == 3 && page.moreComing)
    let rest = try await database.changes(in: zone.id, since: page.token, limit: nil, desiredKeys: nil)
    #expect(rest.saved.count == 2 && !rest.moreComing)
    let whole = try await database.databaseChanges(since: nil, limit: nil)
    #expect(whole.changed == [zone.id])
    let itemCount = database.limits.itemsPerRequest
    #expect(itemCount == 400)
    try await database.modifyZones(saving: [], deleting: [zone.id]).get()
  }

  @Test("the protocol alone is enough")
  func throughProtocol() async throws {
    let database = try Database.scratch()
    try await exercise(database)
    _ = try { try database.expectClean() }()
  }

  @Test("pages of changes come one after another and end with the feed", arguments: [1, 3, 7, 100])
  func pages(_ limit: Int) async throws {
    let database = try Database.scratch()
    let zone = try { try database.zone("Library") }()
    _ = try {
      try database.write { transaction in for number in 0..<7 { try transaction.save(.fresh("r\(number)", in: zone)) } }
    }()
    var names: [String] = []
    var token: ChangeToken?
    var pageCount = 0
    for try await page in database.changePages(in: zone, since: nil, limit: limit) {
      names += page.savedNames
      token = page.token
      pageCount += 1
    }
    #expect(names == (0..<7).map { "r\($0)" } && pageCount == (7 + limit - 1) / limit)
    _ = try { try database.put("more", in: zone) }()
    for try await page in database.changePages(in: zone, since: token, desiredKeys: []) { names = page.savedNames }
    #expect(names == ["more"])
    let missing = try Zone.ID("Missing")
    await #expect(throws: DatabaseError.self) {
      for try await _ in database.changePages(in: missing, since: nil) {}
    }
  }
}
