import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// A writer has the file lock, and an opener that does not write does not: openers of one process, which are as
/// strange to each other as those of several.
@Suite("The file lock", .serialized)
struct FileLockTests {
  private static let path = "a.daybook"

  private static func open(
    _ disk: any Disk, seed: UInt64, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed, clock: TestClock())
    options.lock = .perTransaction
    change(&options)
    return try Database.open(at: path, options: options, disk: disk)
  }

  private static func set(_ database: Database, _ key: String, byteCount: Int = 10) throws {
    try database.write { transaction in try transaction.setMetadata(Data(repeating: 1, count: byteCount), forKey: key) }
  }

  private static func expectAll(_ keys: [String], on disk: SimulatedDisk) throws {
    let found = try open(disk, seed: 9) { $0.lock = .whileOpen }
    for key in keys { #expect(try found.metadata(forKey: key) != nil, "\(key) was acknowledged") }
    #expect(try found.check(.deep).isClean)
    try found.close()
  }

  @Test("a database that closes beside its own last commit keeps the lock until it has closed")
  func closesBesideItsLastCommit() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(watched, seed: 1)
    let b = try Self.open(disk, seed: 2) { $0.lockTimeout = .zero }
    try Self.set(a, "first")
    try Self.set(b, "second")
    let isSyncing = Event()
    let acknowledged = Locked<[String]>(["first", "second", "third"])
    watched.watch.beforeSync { _ in
      watched.watch.beforeSync(nil)
      isSyncing.signal()
      // `close` comes to wait for the same sync.
      SystemClock.sleep(nanoseconds: 60_000_000)
    }
    watched.watch.beforeWrite { _ in
      // Before each thing that the closing database writes, the other tries to get a turn.
      if (try? Self.set(b, "other")) != nil { acknowledged.withLock { $0.append("other") } }
    }
    let writer = BackgroundThread(name: "writer") { try? Self.set(a, "third") }
    isSyncing.wait()
    try a.close()
    writer?.join()
    watched.watch.beforeWrite(nil)
    #expect(watched.watch.unlockedWriteCount == 0)
    #expect(watched.watch.heldCount == 0)
    try b.close()
    try Self.expectAll(acknowledged.withLock { $0 }, on: disk)
  }

  @Test("a checkpoint that a suspension overtakes writes nothing without the lock")
  func suspendsBesideCheckpoint() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(watched, seed: 1) {
      $0.checkpoint.minimumLogByteCount = 0
      $0.checkpoint.maximumLogByteCount = 1
    }
    let isDone = Locked(false)
    let writer = BackgroundThread(name: "writer") {
      var number = 0
      while !isDone.withLock({ $0 }) {
        try? Self.set(a, "key \(number % 50)", byteCount: 100)
        number += 1
      }
    }
    for _ in 0..<300 {
      try a.suspend()
      #expect(watched.watch.heldCount == 0)
      try a.resume()
      SystemClock.sleep(nanoseconds: 300_000)
    }
    isDone.withLock { $0 = true }
    writer?.join()
    #expect(watched.watch.unlockedWriteCount == 0)
    try a.close()
    #expect(watched.watch.unlockedWriteCount == 0)
  }

  @Test("what looks or fails beside a transaction leaves the lock free")
  func leavesTheLockFree() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(watched, seed: 1)
    for _ in 0..<30 {
      let isDone = Locked(false)
      let looker = BackgroundThread(name: "looker") { while !isDone.withLock({ $0 }) { _ = try? a.refresh() } }
      for number in 0..<20 { try Self.set(a, "key \(number)") }
      isDone.withLock { $0 = true }
      looker?.join()
      #expect(watched.watch.heldCount == 0)
    }
    // Writers in line find the one before them dead.
    watched.watch.beforeSync { (file) throws(DiskFailure) in
      throw DiskFailure(.sync, path: file.path, kind: .other, code: 5)
    }
    let writers = (0..<6).map { number in
      BackgroundThread(name: "writer") { for _ in 0..<20 { try? Self.set(a, "key \(number)") } }
    }
    for writer in writers { writer?.join() }
    #expect(watched.watch.heldCount == 0)
  }

  @Test("a transaction in parts that goes back leaves the lock free")
  func abortedParts() throws {
    struct Intended: Error {}
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(watched, seed: 1)
    let b = try Self.open(disk, seed: 2) { $0.lockTimeout = .zero }
    #expect(throws: Intended.self) {
      try a.write { transaction in
        for number in 0..<20 {
          try transaction.setMetadata(Data(repeating: UInt8(number), count: 500_000), forKey: "key \(number)")
        }
        throw Intended()
      }
    }
    #expect(watched.watch.heldCount == 0)
    try Self.set(b, "other")
    try a.close()
    try b.close()
    try Self.expectAll(["other"], on: disk)
  }

  @Test("a look that fails between the lock and the log keeps nobody out")
  func failedRefresh() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(disk, seed: 1)
    let reader = try Self.open(watched, seed: 2) { $0.isReadOnly = true }
    // A commit that nothing proves, of a writer that died: the reader asks whether it is alone.
    let transaction = try a.stores.beginTransaction()
    try WriteContext(a, transaction, origin: nil).setMetadata(Data([1]), forKey: "died")
    _ = try transaction.store.commit(transaction)
    try? a.store.log.orDie { () throws(DiskFailure) in throw DiskFailure(.sync, path: Self.path, kind: .other, code: 5) }
    a.store.withTurnForBackground { hold in _ = a.store.releaseFileLock(hold) }
    for callCount in 0..<4 {
      let left = Locked(callCount)
      watched.watch.beforeByteCount { (file) throws(DiskFailure) in
        if left.withLock({ count in
          count -= 1
          return count < 0
        }) {
          throw DiskFailure(.status, path: file.path, kind: .other, code: 5)
        }
      }
      _ = try? reader.refresh()
      watched.watch.beforeByteCount(nil)
      let writer = try Self.open(disk, seed: UInt64(10 + callCount)) { $0.lockTimeout = .zero }
      try Self.set(writer, "key")
      try writer.close()
    }
    try reader.close()
  }

  @Test("a close waits for the sync that another thread has asked for, and a later one is told that it is closed")
  func closesBesideAnAskedSync() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let database = try Self.open(watched, seed: 1) { $0.lock = .whileOpen }
    try Self.set(database, "first")
    // What a suspension writes last is a note, which needs no sync of its own; so the sync that follows has something to do.
    try database.suspend()
    let (isSyncing, isClosed) = (Event(), Locked(false))
    let syncCount = Locked(0)
    watched.watch.beforeSync { _ in
      watched.watch.beforeSync(nil)
      syncCount.withLock { $0 += 1 }
      isSyncing.signal()
      // A close that does not wait is over by then.
      for _ in 0..<1_000 where !isClosed.withLock({ $0 }) { SystemClock.sleep(nanoseconds: 100_000) }
    }
    let failure = Locked<(any Error)?>(nil)
    let other = BackgroundThread(name: "other") {
      do { try database.sync() } catch { failure.withLock { $0 = error } }
      isSyncing.signal()
    }
    isSyncing.wait()
    try database.close()
    isClosed.withLock { $0 = true }
    other?.join()
    #expect(failure.withLock { $0 } == nil)
    #expect(syncCount.withLock { $0 } == 1)
    #expect { try database.sync() } throws: { ($0 as? DatabaseError)?.code == .closed }
    try Self.expectAll(["first"], on: disk)
  }

  @Test("one compacts beside a snapshot of its own, and the other writes on at once")
  func compactsBesideSnapshot() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(watched, seed: 1)
    let b = try Self.open(disk, seed: 2) { $0.lockTimeout = .milliseconds(20) }
    for number in 0..<50 { try Self.set(a, "key \(number)") }
    try Self.set(b, "other")
    let snapshot = try a.snapshot()
    try a.compact()
    try Self.set(b, "after")
    #expect(watched.watch.heldCount == 0)
    #expect(try snapshot.metadata(forKey: "key 3") != nil)
    try a.suspend()
    #expect(watched.watch.heldCount == 0)
    try a.resume()
    try a.close()
    try b.close()
    try Self.expectAll(["other", "after"], on: disk)
  }

  @Test("a suspension or a close does not wait for another process, whose lock a write is waiting for")
  func suspendsBesideWaitingWrite() throws {
    for closes in [false, true] {
      let disk = SimulatedDisk(seed: 1)
      let a = try Self.open(disk, seed: 1) { $0.lockTimeout = .seconds(60) }
      let b = try Self.open(disk, seed: 2)
      try Self.set(a, "first")
      let (isInside, mayGoOn) = (Event(), Event())
      let other = BackgroundThread(name: "other") {
        try? b.write { transaction in
          isInside.signal()
          mayGoOn.wait()
        }
      }
      isInside.wait()
      let result = Locked<DatabaseError?>(nil)
      let writer = BackgroundThread(name: "writer") {
        do { try Self.set(a, "second") } catch { result.withLock { $0 = error as? DatabaseError } }
      }
      SystemClock.sleep(nanoseconds: 30_000_000)
      if closes { try a.close() } else { try a.suspend() }
      // The other is still inside: nothing here has waited for it.
      writer?.join()
      #expect(result.withLock { $0?.code } == (closes ? .closed : .locked))
      mayGoOn.signal()
      other?.join()
      if !closes { try a.close() }
      try b.close()
    }
  }

  @Test("a suspension whose sync fails gives the lock back all the same")
  func suspendsBesideFailingSync() throws {
    let disk = SimulatedDisk(seed: 1)
    let watched = WatchedDisk(disk)
    let a = try Self.open(watched, seed: 1) { $0.lock = .whileOpen }
    let transaction = try a.stores.beginTransaction()
    try WriteContext(a, transaction, origin: nil).setMetadata(Data([1]), forKey: "unsynced")
    _ = try transaction.store.commit(transaction)
    watched.watch.beforeSync { (file) throws(DiskFailure) in
      throw DiskFailure(.sync, path: file.path, kind: .other, code: 5)
    }
    let error = #expect(throws: DatabaseError.self) { try a.suspend() }
    #expect(error?.code == .outcomeUnknown)
    #expect(watched.watch.heldCount == 0)
  }

  @Test("a writer that shares the file has what others committed when it is resumed")
  func resumes() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try Self.set(a, "first")
    try a.suspend()
    try Self.set(b, "second")
    try a.resume()
    #expect(try a.metadata(forKey: "second") != nil)
    try a.close()
    try b.close()
  }

  @Test("threads that always write let another opener have its turn")
  func fairTurns() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1)
    let b = try Self.open(disk, seed: 2)
    let isDone = Locked(false)
    let writers = (0..<4).map { number in
      BackgroundThread(name: "writer") { while !isDone.withLock({ $0 }) { try? Self.set(a, "key \(number)") } }
    }
    while a.store.lastSequence == 0 { SystemClock.sleep(nanoseconds: 1_000_000) }
    // Each within the five seconds that one waits.
    for number in 0..<10 { try Self.set(b, "other \(number)") }
    isDone.withLock { $0 = true }
    for writer in writers { writer?.join() }
    try a.close()
    try b.close()
    try Self.expectAll((0..<10).map { "other \($0)" }, on: disk)
  }

  @Test("one thread that always writes offers the lock to who waits, though it gives it back after each commit")
  func fairGaps() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1)
    let other = try disk.open(Self.path, .readWrite)
    // It waits, and never looks at the right moment.
    #expect(try other.tryLock(.waiting, .shared))
    let end = SystemClock.monotonicNanoseconds() + 10_000_000_000
    while a.store.fileLock.missCount == 0, SystemClock.monotonicNanoseconds() < end { try Self.set(a, "again") }
    #expect(a.store.fileLock.missCount > 0)
    other.close()
    try Self.set(a, "after")
    try a.close()
    try Self.expectAll(["again", "after"], on: disk)
  }

  @Test("whoever waits for the lock gets it, though the machine lets it look only now and then")
  func lateWaiter() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1)
    let other = try disk.open(Self.path, .readWrite)
    var isLetIn = false
    // A hundred milliseconds may go by in a single look of a machine with too much to do; so it may try again.
    for _ in 0..<20 where !isLetIn {
      #expect(try other.tryLock(.waiting, .shared))
      let waiter = BackgroundThread(name: "waiter") {
        SystemClock.sleep(nanoseconds: 20_000_000)
        _ = try? other.tryLock(.writer, .exclusive)
      }
      a.store.withTurnForBackground { hold in a.store.fileLock.letOthersGoFirst(hold) }
      // Who is not let in would get the lock here, too late.
      isLetIn = try a.store.file.isLockedByOthers(.writer)
      waiter?.join()
      other.unlock(.writer)
      other.unlock(.waiting)
    }
    #expect(isLetIn)
    other.close()
    try Self.set(a, "after")
    try a.close()
    try Self.expectAll(["after"], on: disk)
  }

  @Test("a process that was stopped while it waited is offered the lock less and less often, and a dead one no more")
  func stoppedWaiter() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1)
    let stopped = try disk.open(Self.path, .readWrite)
    #expect(try stopped.tryLock(.waiting, .shared))
    let lock = a.store.fileLock
    a.store.withTurnForBackground { hold in
      for count in 1...3 {
        lock.letOthersGoFirst(hold)
        #expect(lock.missCount == count)
      }
      stopped.close()
      lock.letOthersGoFirst(hold)
      #expect(lock.missCount == 0)
    }
    try Self.set(a, "after")
    try a.close()
    try Self.expectAll(["after"], on: disk)
  }

  @Test("readers that look without pause keep no writer out")
  func looksTakeNoLock() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1) { $0.lockTimeout = .milliseconds(500) }
    try Self.set(a, "first")
    let readers = try (0..<3).map { try Self.open(disk, seed: UInt64(10 + $0)) { $0.isReadOnly = true } }
    // What its writer has handed over needs no lock to be seen.
    disk.startTrace()
    for number in 0..<10 {
      try Self.set(a, "before \(number)")
      let before = disk.trace.count
      for reader in readers {
        #expect(try reader.refresh())
        #expect(try !reader.refresh())
      }
      #expect(!disk.trace[before...].contains { $0.operation == .lock && $0.offset == LockByte.writer.rawValue })
    }
    let isDone = Locked(false)
    let lookers = readers.map { reader in
      BackgroundThread(name: "reader") { while !isDone.withLock({ $0 }) { _ = try? reader.refresh() } }
    }
    defer {
      isDone.withLock { $0 = true }
      for looker in lookers { looker?.join() }
    }
    // A look that meets a commit under way may find it unproven, and the lock free a moment later: that one is waited for.
    for number in 0..<300 { try Self.set(a, "key \(number)") }
  }

  @Test("a reader that follows has no more changed pages than it may, once the writer has them in the file")
  func readerMemory() throws {
    let disk = SimulatedDisk(seed: 1)
    let limit = 4 << 20
    let writer = try Self.open(disk, seed: 1) {
      $0.lock = .whileOpen
      $0.checkpoint.memoryByteCount = limit
    }
    let reader = try Self.open(disk, seed: 2) {
      $0.isReadOnly = true
      $0.checkpoint.memoryByteCount = limit
    }
    for round in 0..<12 {
      try writer.write { transaction in
        for number in 0..<8000 {
          try transaction.setMetadata(Data(repeating: 1, count: 40), forKey: "key \(number * 7919 % 8009) \(round)")
        }
      }
      try writer.store.checkpoint()
      try writer.store.writeNoteNow()
      try reader.refresh()
      #expect(reader.store.editor.pages.usedByteCount <= limit)
    }
    #expect(try reader.metadata(forKey: "key 1 11") != nil)
    try reader.close()
    try writer.close()
  }
}

/// Something that happens once, and that threads wait for.
final class Event: Sendable {
  private let monitor = Monitor()
  private let hasHappened = Locked(false)

  func signal() {
    monitor.withLock { hasHappened.withLock { $0 = true } }
    monitor.broadcast()
  }

  func wait() {
    monitor.lock()
    while !hasHappened.withLock({ $0 }) { monitor.wait() }
    monitor.unlock()
  }

  @Test("a user who may only read and locks the file keeps a writer waiting as long as it asks for, and no longer")
  func locksOfReaders() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a")
    var options = Database.Options()
    options.hasBackgroundThread = false
    options.lockTimeout = .milliseconds(20)
    func open() throws -> Database { try Database.open(at: path, options: options) }
    let first = try open()
    try first.write { try $0.save(Record(type: "Note", id: Record.ID("one"))) }
    try first.close()
    let reader = try SystemDisk().open(path, .readOnly)
    defer { reader.close() }
    // The system gives a shared lock to whoever may read.
    #expect(try reader.tryLock(.writer, .shared))
    #expect(failure { _ = try open() }?.code == .locked)
    options.isReadOnly = true
    let other = try open()
    #expect(try other.record(Record.ID("one")) != nil)
    try other.close()
    options.isReadOnly = false
    reader.unlock(.writer)
    // The readers' byte keeps nothing but zeros behind the log.
    #expect(try reader.tryLock(.readers, .shared))
    let writer = try open()
    try writer.write { try $0.save(Record(type: "Note", id: Record.ID("two"))) }
    try writer.compact()
    try writer.write { try $0.save(Record(type: "Note", id: Record.ID("three"))) }
    try writer.close()
    let again = try open()
    #expect(try again.recordCount(in: .default) == 3)
    try again.close()
  }
}
