import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// What becomes of commits when a file goes from one writer to the next, and a writer, a sync or a lock fails on the way.
@Suite("Handing a file over")
struct HandOverTests {
  private static let path = "a.daybook"
  private static func open(
    _ disk: any Disk, seed: UInt64 = 1, _ change: (inout Database.Options) -> Void = { $0.lock = .perTransaction }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed, clock: TestClock())
    change(&options)
    return try Database.open(at: path, options: options, disk: disk)
  }

  /// Dies between a commit's frame and its sync, as a kill does it; the lock is gone with it.
  private static func dieCommitting(_ database: Database) throws {
    let transaction = try database.stores.beginTransaction()
    let context = WriteContext(database, transaction, origin: nil)
    try context.setMetadata(Data(repeating: 1, count: 5000), forKey: "died")
    _ = try transaction.store.commit(transaction)
    let store = transaction.store
    try? store.log.orDie { () throws(DiskFailure) in throw DiskFailure(.sync, path: path, kind: .other, code: 5) }
    store.withTurnForBackground { hold in _ = store.releaseFileLock(hold) }
  }

  private static func expectKept(_ number: Int, on disk: SimulatedDisk) throws {
    for (seed, policy) in [(4, CrashPolicy.none), (5, .all), (6, .random)] {
      let found = try open(disk.crashed(seed: UInt64(seed), policy: policy), seed: 9)
      #expect(try (found.count() ?? 0) >= number)
      #expect(try found.check(.deep).isClean)
      try found.close()
    }
  }

  @Test("a dead writer's commit that could not be made durable is not shown, and nothing is acknowledged on top of it")
  func failedRepair() throws {
    for isResumed in [false, true] {
      let disk = SimulatedDisk(seed: 1)
      let a = try Self.open(disk) { if !isResumed { $0.lock = .perTransaction } }
      if isResumed { try a.suspend() }
      let b = try Self.open(disk, seed: 2)
      if !isResumed { try a.increment() }
      try b.increment()
      try Self.dieCommitting(b)
      disk.inject(SimulatedFault([.sync], call: 1))
      if isResumed {
        #expect(throws: DatabaseError.self) { try a.resume() }
      } else {
        #expect(throws: DatabaseError.self) { try a.increment() }
      }
      // What is visible once stays visible.
      if try a.metadata(forKey: "died") != nil {
        let crashed = try Self.open(disk.crashed(seed: 4, policy: .none), seed: 5)
        #expect(try crashed.metadata(forKey: "died") != nil)
      }
      if isResumed { try a.resume() }
      var acknowledged = 0
      do {
        try a.increment()
        acknowledged = try a.count() ?? 0
      } catch {}
      try Self.expectKept(acknowledged, on: disk)
    }
  }

  @Test("commits on top of what another's failed sync left in the cache survive power loss", arguments: [false, true])
  func failedSyncOfAnother(refreshes: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try a.increment()
    try b.increment()
    disk.inject(SimulatedFault([.sync], call: 1))
    #expect(throws: DatabaseError.self) {
      try b.write { try $0.setMetadata(Data(repeating: 1, count: 5000), forKey: "unknown") }
    }
    if refreshes { for _ in 0..<2 { try a.refresh() } }
    for _ in 0..<2 { try a.increment() }
    #expect(try a.count() == 4)
    try Self.expectKept(4, on: disk)
  }

  @Test("what a reader that is alone shows of a dead writer survives power loss, also after a failed sync")
  func readerAlone() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) { _ in }
    try a.increment()
    disk.inject(SimulatedFault([.sync], call: 1))
    #expect(throws: DatabaseError.self) { try a.increment() }
    try? a.close()
    let reader = try Self.open(disk, seed: 2) { $0.isReadOnly = true }
    #expect(try reader.count() == 2)
    try Self.expectKept(2, on: disk)
  }

  @Test("a compaction goes on behind another writer's commits", arguments: [false, true])
  func compactionBehindOthers(suspends: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) { if !suspends { $0.lock = .perTransaction } }
    try a.increment()
    if suspends { try a.suspend() }
    let b = try Self.open(disk, seed: 2)
    try b.increment()
    if suspends {
      try b.close()
      try a.resume()
    } else {
      try a.increment()
      try b.increment()
      try a.increment()
    }
    var isFirst = true
    let before = try a.count() ?? 0
    try a.compact { _, _ in
      if isFirst {
        isFirst = false
        do { try a.increment() } catch { Issue.record("\(error)") }
      }
      return true
    }
    #expect(try a.count() == before + 1)
    #expect(try a.check(.deep).isClean)
    try a.close()
  }

  @Test("a checkpoint of a version that was read behind another's notes and pages is one that the next open takes")
  func checkpointBehindOthers() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    for _ in 0..<3 {
      for database in [b, a] {
        try database.refresh()
        try database.increment()
        let store = try database.stores.beginHolding()
        try store.checkpoint()
        database.stores.endHolding(store)
      }
    }
    let found = try Self.open(disk.killed(), seed: 3)
    #expect(found.lastRecovery.basis == .newestCheckpoint)
    #expect(try found.count() == 6)
    #expect(try found.check(.deep).isClean)
  }

  @Test("a database that has only looked at other writers' checkpoints closes")
  func closesBehindPages() throws {
    let disk = SimulatedDisk(seed: 1)
    func fill(_ database: Database) throws {
      try database.write { transaction in
        for number in 0..<100 {
          var record = try Record(type: "T", id: Record.ID("r\(number)"))
          record["x"] = String(repeating: "y", count: 1000)
          try transaction.save(record, policy: .allKeys)
        }
      }
    }
    for writes in [false, true] {
      let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
      try fill(b)
      for seed in 3..<9 {
        let other = try Self.open(disk, seed: UInt64(seed))
        try fill(other)
        try other.close()
      }
      try fill(a)
      #expect(try b.refresh())
      if writes { try fill(b) }
      try b.close()
      try a.close()
    }
  }

  @Test("a resume that could not open the file again is done again by the next one")
  func resumesAgain() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) { $0.lockTimeout = .zero }
    try a.increment()
    try a.suspend()
    let b = try Self.open(disk, seed: 2) { _ in }
    try b.compact()
    try b.increment()
    #expect(throws: DatabaseError.self) { try a.resume() }
    #expect(throws: DatabaseError.self) { try a.increment() }
    try b.close()
    // The name leads to another file by now; opening that fails once.
    disk.inject(SimulatedFault([.open], call: 1))
    #expect(throws: DatabaseError.self) { try a.resume() }
    #expect(throws: DatabaseError.self) { try a.increment() }
    try a.resume()
    try a.increment()
    #expect(try a.count() == 3)
    try a.close()
  }

  @Test("a resume whose look at the file fails resumes nothing, and the next one everything")
  func resumeWithoutLook() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) {
      $0.lock = .perTransaction
      $0.access = .buffered
    }
    try a.increment()
    try a.suspend()
    let b = try Self.open(disk, seed: 2)
    try b.increment()
    disk.inject(SimulatedFault([.read], call: 1))
    #expect(failure { try a.resume() }?.code == .ioFailed)
    // Writes went on, and a compaction failed as if it had been cancelled.
    #expect(failure { try a.compact() }?.code == .locked)
    #expect(failure { try a.increment() }?.code == .locked)
    try a.resume()
    try a.compact()
    try a.increment()
    #expect(try a.count() == 3)
    try a.close()
  }

  @Test("a resume of a database that is not suspended, whose look at the file fails, leaves it awake")
  func resumeAwake() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk) {
      $0.lock = .perTransaction
      $0.access = .buffered
    }
    try a.increment()
    let b = try Self.open(disk, seed: 2)
    try b.increment()
    disk.inject(SimulatedFault([.read], call: 1))
    #expect(failure { try a.resume() }?.code == .ioFailed)
    try a.increment()
    #expect(try a.count() == 3)
    try a.close()
  }

  @Test("commits of others are told as missed, also when the file had to be opened again")
  func missed() async throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try a.increment()
    var notices = a.commits().makeAsyncIterator()
    try b.increment()
    try Self.dieCommitting(b)
    try a.increment()
    guard case .missed(let from, let to) = await notices.next() else {
      Issue.record("no notice of the others' commits")
      return
    }
    #expect(to == from + 1)
    guard case .commit(let commit) = await notices.next() else {
      Issue.record("no notice of the own commit")
      return
    }
    #expect(commit.sequence == to + 1)
    try a.close()
  }
}

/// Each commit is told once, also where others fail beside it.
@Suite("Notices beside commits that fail")
struct FailingCommitTests {
  /// Has no room for commits that hold eight bytes of a certain kind.
  private final class FailingCommits: ForwardingDisk {
    let disk = MemoryDisk()
    func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
      FailingFile(try disk.open(path, mode))
    }
  }
  private final class FailingFile: ForwardingFile {
    let file: any DiskFile
    init(_ file: any DiskFile) { self.file = file }
    func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
      if bytes.count > FrameHeader.byteCount, bytes.uint32(at: 0) == FrameHeader.magic,
        bytes[4] == FrameHeader.Kind.commit.rawValue,
        bytes.array.prefix(600).split(whereSeparator: { $0 != 0xFA }).contains(where: { $0.count >= 8 })
      {
        throw DiskFailure(.write, path: path, kind: .full, code: 28, offset: offset, byteCount: bytes.count)
      }
      try file.write(bytes, at: offset)
    }
    func sync(_ level: SyncLevel) throws(DiskFailure) {
      SystemClock.sleep(nanoseconds: 300_000)
      try file.sync(level)
    }
  }

  @Test("a commit that fails does not take the notice of the next one with it")
  func notices() async throws {
    var options = Database.Options()
    options.hasBackgroundThread = false
    options.checkpoint.minimumLogByteCount = 1 << 30
    options.checkpoint.maximumLogByteCount = 1 << 30
    let database = try Database.open(at: "a", options: options, disk: FailingCommits())
    let first = database.store.lastSequence
    var notices = database.commits().makeAsyncIterator()
    DispatchQueue.concurrentPerform(iterations: 4) { index in
      for round in 0..<150 {
        let value = Data(repeating: index % 2 == 0 ? 0xFA : UInt8(round & 63), count: 8)
        try? database.write { try $0.setMetadata(value, forKey: "k\(index)") }
      }
    }
    let last = database.store.lastSequence
    #expect(last >= first + 300)
    for sequence in first + 1...last {
      guard case .commit(let commit) = await notices.next() else {
        Issue.record("no notice of commit \(sequence)")
        return
      }
      #expect(commit.sequence == sequence)
    }
    try database.close()
  }
}
