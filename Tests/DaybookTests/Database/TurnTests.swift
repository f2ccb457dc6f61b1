import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// Several writers that share one file, and one that releases its lock while it is suspended.
@Suite("Sharing the file")
struct TurnTests {
  private static func open(
    _ disk: any Disk, seed: UInt64 = 1, at path: String = "a.daybook",
    _ change: (inout Database.Options) -> Void = { $0.lock = .perTransaction }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed, clock: TestClock())
    change(&options)
    return try Database.open(at: path, options: options, disk: disk)
  }

  private static let counter = try! Record.ID("counter")

  private static func increment(_ database: Database, by addend: Int = 1) throws {
    try database.write { transaction in
      var record = try transaction.record(counter) ?? Record(type: "Counter", id: counter)
      record["n"] = (record["n"] ?? 0) + addend
      try transaction.save(record)
    }
  }

  private static func expectSound(_ database: Database) throws {
    let report = try database.check(.deep)
    #expect(report.isClean, "\(report.findings)")
  }

  @Test(
    "a write that waited for another file to be opened finds the database closed or suspended, and brings it back from neither")
  func reloadAfterClose() throws {
    let disk = SimulatedDisk(seed: 2)
    for closes in [true, false] {
      let (first, second) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
      for database in [first, second] { try Self.increment(database) }
      try second.compact()
      // What the waiting write has seen.
      let store = first.stores.store
      if closes { try first.close() } else { try first.suspend() }
      let failure = #expect(throws: StoreError.self) {
        try first.stores.replacing.withLock { try first.stores.reload(store, .otherFile) }
      }
      if closes {
        guard case .closed = failure else {
          Issue.record("\(failure as Any)")
          return
        }
        #expect(throws: DatabaseError.self) { try first.record(Self.counter) }
      } else {
        guard case .suspended = failure else {
          Issue.record("\(failure as Any)")
          return
        }
        #expect(throws: DatabaseError.self) { try Self.increment(first) }
        try first.resume()
        try Self.increment(first)
        try first.close()
      }
      try second.close()
    }
  }

  @Test("a reader that opens the file again for its memory's sake never shows less than before")
  func outgrown() throws {
    let disk = SimulatedDisk(seed: 4)
    let writer = try Self.open(disk, seed: 1) { $0.lock = .whileOpen }
    try Self.increment(writer)
    try writer.sync()
    try writer.close()
    let early = try #require(disk.bytes(of: "a.daybook"))
    let again = try Self.open(disk, seed: 2) { $0.lock = .whileOpen }
    try Self.increment(again)
    try again.close()
    let reader = try Self.open(disk, seed: 3) { $0.isReadOnly = true }
    #expect(try reader.record(Self.counter)?["n"] == 2)
    // As if the last commit had been taken back.
    disk.install(early, at: "a.daybook")
    let store = reader.stores.store
    try reader.stores.replacing.withLock { try reader.stores.reload(store, .outgrown) }
    #expect(reader.stores.store === store)
    #expect(try reader.record(Self.counter)?["n"] == 2)
    try reader.close()
  }

  @Test("a sync of one who shares the file leaves alone what another writes in its turn")
  func syncOutOfTurn() throws {
    let disk = SimulatedDisk(seed: 3)
    let (first, second) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    for database in [first, second, first] { try Self.increment(database) }
    let before = disk.syncCount
    try first.sync()
    try second.sync()
    #expect(disk.syncCount == before)
    for database in [first, second] { try database.close() }
  }

  @Test("each writer builds on what the other has committed, and tokens of one are good for the other")
  func alternate() throws {
    let disk = SimulatedDisk(seed: 1)
    let databases = [try Self.open(disk, seed: 1), try Self.open(disk, seed: 2), try Self.open(disk, seed: 3)]
    var token: ChangeToken?
    for round in 0..<60 {
      let database = databases[round * 7 % 3]
      try Self.increment(database)
      #expect(try database.record(Self.counter)?["n"] == round + 1)
      let page = try database.databaseChanges(since: token)
      token = page.token
    }
    for database in databases {
      try database.refresh()
      #expect(try database.record(Self.counter)?["n"] == 60)
      // Each hand-over proved everything, so no process had to write another's frames again.
      #expect(database.store.recovery.rewrittenFrameCount == 0)
      try Self.expectSound(database)
      try database.close()
    }
    let last = try Self.open(disk, seed: 9) { _ in }
    #expect(try last.record(Self.counter)?["n"] == 60)
    try Self.expectSound(last)
    try last.close()
  }

  @Test("what a crash would replay is counted right after another writer's commits and checkpoints")
  func replayByteCount() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    for round in 0..<6 {
      let database = round % 2 == 0 ? a : b
      try Self.increment(database)
      let bytes = database.store.replayByteCount
      #expect((1...8192).contains(bytes), "\(bytes) bytes before the checkpoint of round \(round)")
      try database.store.retainFileLock()
      try database.store.checkpoint()
      database.store.releaseRetainedFileLock()
      // The checkpoint's own frame.
      let rest = database.store.replayByteCount
      #expect((0...1024).contains(rest), "\(rest) bytes behind the checkpoint of round \(round)")
    }
    try a.close()
    try b.close()
  }

  @Test("a transaction that sent out parts and then failed gives the lock back")
  func partsOfAFailedTransaction() throws {
    // Found by the record model, seed 10, step 942. Its smallest script: save 2 KB in parts of 1 KB, throw; another saves.
    let disk = SimulatedDisk(seed: 1)
    func open(_ seed: UInt64) throws -> Database {
      try Self.open(disk, seed: seed) {
        $0.lock = .perTransaction
        $0.partByteCount = 1 << 10
        $0.lockTimeout = .zero
      }
    }
    let (a, b) = (try open(1), try open(2))
    try Self.increment(a)
    struct ChangedMyMind: Error {}
    #expect(throws: ChangedMyMind.self) {
      try a.write { transaction in
        for name in ["x", "y"] {
          var record = try Record(type: "Note", id: Record.ID(name))
          record["text"] = String(repeating: "x", count: 1 << 10)
          try transaction.save(record)
        }
        throw ChangedMyMind()
      }
    }
    try Self.increment(b)
    try Self.increment(a)
    #expect(try a.record(Self.counter)?["n"] == 3)
    try b.refresh()
    for database in [a, b] {
      // What was written of the failed one is proven with the rest: nothing has to be written again.
      #expect(database.store.recovery.rewrittenFrameCount == 0)
      try Self.expectSound(database)
      try database.close()
    }
  }

  @Test("wherever a full disk ends a transaction, the other writer gets the lock")
  func fullDiskGivesTheLockBack() throws {
    // Found by the record model, seed 8821, step 992: its declarations were repeated, and there was no room for them.
    var refusedCount = 0
    for room in stride(from: 0, to: 6 << 10, by: 128) {
      let disk = SimulatedDisk(seed: 1)
      func open(_ seed: UInt64) throws -> Database {
        try Self.open(disk, seed: seed) {
          $0.lock = .perTransaction
          $0.partByteCount = 1 << 10
          $0.lockTimeout = .zero
        }
      }
      let (a, b) = (try open(1), try open(2))
      // The other one's declarations: `a` does not know where they are, and repeats them with its own.
      for type in 0..<4 {
        try b.write { transaction in
          var record = try Record(type: "Type\(type)", id: Record.ID("\(type)"))
          for key in 0..<20 { record["a_long_key_of_type_\(type)_with_number_\(key)"] = key }
          try transaction.save(record)
        }
      }
      try a.refresh()
      disk.limit(toByteCount: disk.paths.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) } + room)
      do {
        try a.write { transaction in
          var record = try Record(type: "Other", id: Record.ID("other"))
          for key in 0..<40 { record["key_\(key)"] = key }
          try transaction.save(record)
        }
      } catch let error as DatabaseError {
        #expect(error.code == .diskFull, "with room for \(room) bytes: \(error)")
        refusedCount += 1
      }
      disk.limit(toByteCount: nil)
      #expect(throws: Never.self, "after a full disk with room for \(room) bytes") { try Self.increment(b) }
      try a.close()
      try b.close()
    }
    #expect(refusedCount > 5)
  }

  @Test("readers of a process that does not write see the others' commits after a refresh")
  func refresh() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try Self.increment(a)
    #expect(try b.record(Self.counter) == nil)
    #expect(try b.refresh())
    #expect(try b.record(Self.counter)?["n"] == 1)
    let snapshot = try b.snapshot()
    try Self.increment(a)
    try Self.increment(b)
    #expect(try snapshot.record(Self.counter)?["n"] == 1)
    #expect(try b.record(Self.counter)?["n"] == 3)
    try a.close()
    try b.close()
  }

  @Test("readers of a writer that shares the file see the others' commits after its next transaction, an empty one too")
  func reads() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try Self.increment(a)
    try Self.increment(b)
    // A read takes no lock and asks no file: it shows what the last look has found.
    #expect(try a.record(Self.counter)?["n"] == 1)
    #expect(try a.write { try $0.record(Self.counter)?["n"] } == 2)
    #expect(try a.record(Self.counter)?["n"] == 2)
    try Self.increment(b)
    try a.write { _ in }
    #expect(try a.record(Self.counter)?["n"] == 3)
    try Self.increment(b)
    try? a.write { _ in throw Intended() }
    #expect(try a.record(Self.counter)?["n"] == 4)
    try a.close()
    try b.close()
  }

  @Test("who listens is told of the others' commits with the look that finds them, each once")
  func hears() async throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    var heard = a.commits().makeAsyncIterator()
    try Self.increment(b)
    try Self.increment(b)
    try await a.refresh()
    #expect(await heard.next() == .missed(from: 1, to: 2), "told by the refresh")
    try Self.increment(b)
    try Self.increment(a)
    #expect(await heard.next() == .missed(from: 3, to: 3), "told by the next transaction")
    #expect(await heard.next()?.sequence == 4, "its own")
    try a.close()
    try b.close()
  }

  @Test("who shares the file looks at the others' log only while nobody may cut it off")
  func refreshWhileTrimming() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1)
    let b = try Self.open(disk, seed: 2) {
      $0.lock = .perTransaction
      $0.lockTimeout = .zero
    }
    try Self.increment(a)
    let trimming = try disk.open("a.daybook", .readWrite)
    #expect(try trimming.tryLock(.writer, .exclusive) && trimming.tryLock(.readers, .exclusive))
    #expect(#expect(throws: DatabaseError.self) { try b.refresh() }?.code == .locked)
    trimming.close()
    #expect(try b.refresh())
    #expect(try b.record(Self.counter)?["n"] == 1)
    // Between its looks it is no reader.
    let other = try disk.open("a.daybook", .readWrite)
    #expect(try other.tryLock(.readers, .exclusive) && other.tryLock(.writer, .exclusive))
    other.close()
    try b.suspend()
    #expect(#expect(throws: DatabaseError.self) { try b.refresh() }?.code == .locked)
    try b.resume()
    try a.close()
    try b.close()
  }

  @Test("one compacts, the other goes on in the new file")
  func compaction() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    for round in 0..<12 {
      try Self.increment(a)
      try Self.increment(b)
      if round % 3 == 0 { try (round % 2 == 0 ? a : b).compact() }
    }
    #expect(try b.record(Self.counter)?["n"] == 24)
    try Self.increment(a)
    try b.refresh()
    #expect(try b.record(Self.counter)?["n"] == 25)
    try Self.expectSound(a)
    try a.close()
    try b.close()
  }

  @Test("writers that keep the lock keep those out that share the file")
  func locked() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk)
    let b = try Self.open(disk, seed: 2) {
      $0.lock = .perTransaction
      $0.lockTimeout = .zero
    }
    try Self.increment(a)
    try Self.increment(b)
    let c = try Self.open(disk, seed: 3) { $0.lock = .whileOpen }
    let error = #expect(throws: DatabaseError.self) { try Self.increment(b) }
    #expect(error?.code == .locked)
    try Self.increment(c)
    try c.close()
    try Self.increment(b)
    #expect(try b.record(Self.counter)?["n"] == 4)
    try a.close()
    try b.close()
  }

  @Test("threads of one process and two databases of one file lose no increment")
  func threads() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appending(path: "a.daybook").path
    var options = Database.Options()
    options.lock = .perTransaction
    options.lockTimeout = .seconds(30)
    let databases = [try Database.open(at: path, options: options), try Database.open(at: path, options: options)]
    let failures = Locked<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { index in
      do { for _ in 0..<40 { try Self.increment(databases[index % 2]) } } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    try databases[0].refresh()
    #expect(try databases[0].record(Self.counter)?["n"] == 160)
    try Self.expectSound(databases[0])
    for database in databases { try database.close() }
  }

  @Test("a writer that died with a commit under way costs the next one nothing but that commit")
  func death() throws {
    for syncs in [true, false] {
      let disk = SimulatedDisk(seed: 1)
      let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
      try Self.increment(a)
      try Self.increment(b)
      // A frame without the note that hands over, as a kill leaves it.
      let transaction = try b.stores.beginTransaction()
      let context = WriteContext(b, transaction, origin: nil)
      try context.setMetadata(Data([1]), forKey: "died")
      let ticket = try transaction.store.commit(transaction)
      if syncs { try transaction.store.syncThrough(ticket.frameNumber) }
      try? transaction.store.log.orDie { () throws(DiskFailure) in
        throw DiskFailure(.sync, path: "a.daybook", kind: .other, code: 5)
      }
      transaction.store.withTurnForBackground { hold in _ = transaction.store.releaseFileLock(hold) }
      try Self.increment(a)
      #expect(try a.record(Self.counter)?["n"] == 3)
      #expect(try a.metadata(forKey: "died") == Data([1]))
      #expect(throws: DatabaseError.self) { try Self.increment(b) }
      // What was rewritten is durable: it survives power loss together with what was built on it.
      let crashed = disk.crashed(seed: 4)
      let found = try Self.open(crashed, seed: 5)
      #expect(try found.record(Self.counter)?["n"] == 3)
      try Self.expectSound(found)
      try found.close()
      try a.close()
    }
  }

  @Test("a database closes that has seen the last commit of a writer that died, and written nothing since")
  func closesAfterRefresh() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) {
      $0.lock = .perTransaction
      $0.closeCheckpointByteCount = 0
    }
    let b = try Self.open(disk, seed: 2)
    try Self.increment(a)
    let transaction = try b.stores.beginTransaction()
    let context = WriteContext(b, transaction, origin: nil)
    try context.setMetadata(Data([1]), forKey: "died")
    let ticket = try transaction.store.commit(transaction)
    try transaction.store.syncThrough(ticket.frameNumber)
    try? transaction.store.log.orDie { () throws(DiskFailure) in
      throw DiskFailure(.sync, path: "a.daybook", kind: .other, code: 5)
    }
    transaction.store.withTurnForBackground { hold in _ = transaction.store.releaseFileLock(hold) }
    #expect(try a.refresh())
    #expect(try a.metadata(forKey: "died") == Data([1]))
    try a.close()
    let found = try Self.open(disk, seed: 3)
    #expect(found.lastRecovery.wasClosed)
    #expect(try found.metadata(forKey: "died") == Data([1]))
    try Self.expectSound(found)
    try found.close()
  }

  @Test("while a database is suspended others may write; resumed it has what they wrote")
  func suspends() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) { $0.lockTimeout = .zero }
    try Self.increment(a)
    try a.suspend()
    let error = #expect(throws: DatabaseError.self) { try Self.increment(a) }
    #expect(error?.code == .locked)
    #expect(try a.record(Self.counter)?["n"] == 1)
    let b = try Self.open(disk, seed: 2) { _ in }
    try Self.increment(b)
    #expect(throws: DatabaseError.self) { try a.resume() }
    try Self.increment(b)
    try b.close()
    try a.resume()
    #expect(try a.record(Self.counter)?["n"] == 3)
    try Self.increment(a)
    try a.suspend()
    let c = try Self.open(disk, seed: 3) { _ in }
    try c.compact()
    try Self.increment(c)
    try c.close()
    try a.resume()
    try Self.increment(a)
    #expect(try a.record(Self.counter)?["n"] == 6)
    try Self.expectSound(a)
    try a.close()
  }

  @Test("suspending ends a compaction and the background thread, and a reader's lock")
  func suspendsBackground() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appending(path: "a.daybook").path
    let database = try Database.open(at: path)
    try Self.increment(database)
    var readOnly = Database.Options()
    readOnly.isReadOnly = true
    let reader = try Database.open(at: path, options: readOnly)
    for _ in 0..<3 {
      try database.suspend()
      try reader.suspend()
      let file = try SystemDisk().open(path, .readWrite)
      #expect(try file.tryLock(.writer, .exclusive))
      #expect(try file.tryLock(.readers, .exclusive))
      file.close()
      try reader.resume()
      try database.resume()
      try Self.increment(database)
    }
    #expect(try database.record(Self.counter)?["n"] == 4)
    try reader.close()
    try database.close()
  }
}
