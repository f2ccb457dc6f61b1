import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Databases that share a file, of which one has done nothing while another wrote much and made checkpoints.
@Suite("databases that are far behind another process")
struct OutgrownLagTests {
  /// A disk whose files can no longer be opened from some moment on, as by a process that has given up its rights.
  private final class ClosedDisk: ForwardingDisk {
    let disk: SimulatedDisk
    let isShut = Atomic<Bool>(false)
    let tries = Atomic(0)

    init(_ disk: SimulatedDisk) { self.disk = disk }

    func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
      tries.wrappingAdd(1, ordering: .relaxed)
      if isShut.load(ordering: .relaxed) { throw DiskFailure(.open, path: path, code: ErrorNumber.permission) }
      return try disk.open(path, mode)
    }
    func folder(holding path: String) throws(DiskFailure) -> any DiskFolder {
      if isShut.load(ordering: .relaxed) { throw DiskFailure(.open, path: path, code: ErrorNumber.permission) }
      return try disk.folder(holding: path)
    }
  }

  private static func open(
    _ disk: any Disk, seed: UInt64, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed)
    options.lock = .perTransaction
    options.lockTimeout = .zero
    change(&options)
    return try Database.open(at: "a.daybook", options: options, disk: disk)
  }

  private static func fileByteCount(_ disk: SimulatedDisk) -> Int { disk.bytes(of: "a.daybook")?.count ?? 0 }

  /// Much more than the log's budget of 64 KB, with checkpoints on the way.
  private static func writeMuch(_ database: Database) throws {
    for round in 0..<30 {
      try database.write { transaction in
        for number in 0..<100 { try transaction.save(.fresh("r\(round) \(number)", ["k": .bytes(Data(count: 100))])) }
      }
    }
  }

  private static func expectWhole(_ database: Database, _ names: [String]) throws {
    #expect(try database.recordCount(in: .default) == 3000 + names.count)
    for name in names { #expect(try database.record(Record.ID(name)) != nil) }
    try database.expectClean()
  }

  @Test("a write of one that is far behind begins at the newest checkpoint, and does not write again what another wrote")
  func writes() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try b.put("early")
    let snapshot = try b.snapshot()
    try Self.writeMuch(a)
    let (store, before) = (b.store, Self.fileByteCount(disk))
    try b.put("late")
    #expect(b.store !== store, "the file was opened again")
    #expect(Self.fileByteCount(disk) < before + (48 << 10))
    // Another time the lag is small, and it goes on as it is.
    let again = b.store
    try a.put("more")
    try b.put("later")
    #expect(b.store === again)
    #expect(try snapshot.recordCount(in: .default) == 1)
    try Self.expectWhole(b, ["early", "late", "more", "later"])
    try a.close()
    try b.close()
    try Self.expectWhole(Self.open(disk, seed: 3), ["early", "late", "more", "later"])
  }

  @Test("a look of one that is far behind begins at the newest checkpoint", arguments: [false, true])
  func refreshes(isReadOnly: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1)
    try a.put("early")
    let b = try Self.open(disk, seed: 2) { $0.isReadOnly = isReadOnly }
    let snapshot = try b.snapshot()
    try Self.writeMuch(a)
    let store = b.store
    #expect(try b.refresh())
    #expect(b.store !== store, "the file was opened again")
    #expect(try !b.refresh())
    #expect(try snapshot.recordCount(in: .default) == 1)
    try Self.expectWhole(b, ["early"])
    try b.close()
    try a.close()
  }

  @Test("a resumed database that is far behind begins at the newest checkpoint")
  func resumes() throws {
    let disk = SimulatedDisk(seed: 1)
    let b = try Self.open(disk, seed: 2) { $0.lock = .whileOpen }
    try b.put("early")
    try b.suspend()
    let a = try Self.open(disk, seed: 1)
    try Self.writeMuch(a)
    let (store, before) = (b.store, Self.fileByteCount(disk))
    try b.resume()
    #expect(b.store !== store, "the file was opened again")
    try b.put("late")
    #expect(Self.fileByteCount(disk) < before + (48 << 10))
    try Self.expectWhole(b, ["early", "late"])
    try b.close()
    try a.close()
  }

  @Test("closing one that is far behind writes nothing")
  func closes() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: 2))
    try b.put("early")
    try Self.writeMuch(a)
    let before = Self.fileByteCount(disk)
    try b.close()
    #expect(Self.fileByteCount(disk) <= before)
    try a.put("late")
    try Self.expectWhole(a, ["early", "late"])
    try a.close()
    let again = try Self.open(disk, seed: 3)
    #expect(again.store.recovery.wasClosed)
    try Self.expectWhole(again, ["early", "late"])
    try again.close()
  }

  @Test("one that is far behind goes on with the file that it has where that cannot be opened again")
  func cannotOpen() throws {
    let disk = SimulatedDisk(seed: 1)
    let shut = ClosedDisk(disk)
    let a = try Self.open(disk, seed: 1)
    let reader = try Self.open(shut, seed: 2) { $0.isReadOnly = true }
    let writer = try Self.open(shut, seed: 3)
    let resumed = try Self.open(shut, seed: 4)
    try writer.put("early")
    try resumed.suspend()
    try Self.writeMuch(a)
    shut.isShut.store(true, ordering: .relaxed)
    try writer.put("late")
    #expect(try reader.refresh())
    #expect(try !reader.refresh())
    try resumed.resume()
    try resumed.put("last")
    for database in [writer, reader] {
      try database.refresh()
      try Self.expectWhole(database, ["early", "late", "last"])
    }
    try Self.expectWhole(resumed, ["early", "late", "last"])
    shut.isShut.store(false, ordering: .relaxed)
    for database in [a, reader, writer, resumed] { try database.close() }
    try Self.expectWhole(Self.open(disk, seed: 5), ["early", "late", "last"])
  }

  /// A disk that does something when a file is opened the next time.
  private final class StealingDisk: ForwardingDisk {
    let disk: SimulatedDisk
    let onOpen = Locked<(@Sendable () -> Void)?>(nil)

    init(_ disk: SimulatedDisk) { self.disk = disk }

    private func steal() { onOpen.withLock { $0.take() }?() }

    func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
      steal()
      return try disk.open(path, mode)
    }
    func folder(holding path: String) throws(DiskFailure) -> any DiskFolder {
      steal()
      return try disk.folder(holding: path)
    }
  }

  /// A transaction on a thread of its own, which ends when it is told to.
  private final class LongTransaction: Sendable {
    let (isInside, mayEnd) = (Event(), Event())
    private let thread: Locked<BackgroundThread?> = Locked(nil)

    func begin(in database: Database) {
      let thread = BackgroundThread(name: "other") { [isInside, mayEnd] in
        try? database.write { _ in
          isInside.signal()
          mayEnd.wait()
        }
      }
      self.thread.withLock { $0 = thread }
      isInside.wait()
    }

    func end() {
      mayEnd.signal()
      thread.withLock { $0 }?.join()
    }
  }

  private static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = SystemClock.monotonicNanoseconds()
    try body()
    return Double(SystemClock.nanoseconds(since: start)) / 1e9
  }

  @Test("a write that is far behind waited anew for the open on its way, twice the lock timeout")
  func waitsOnce() throws {
    let disk = SimulatedDisk(seed: 1)
    let stealing = StealingDisk(disk)
    let a = try Self.open(disk, seed: 1) { $0.lockTimeout = .seconds(5) }
    let b = try Self.open(stealing, seed: 2) { $0.lockTimeout = .seconds(5) }
    try b.put("early")
    try Self.writeMuch(a)
    let other = LongTransaction()
    stealing.onOpen.withLock { $0 = { other.begin(in: a) } }
    var code: DatabaseError.Code?
    let seconds = Self.seconds { code = failure { try b.put("late") }?.code }
    #expect(code == .locked)
    // Two waits are ten seconds.
    #expect(seconds < 9, "\(seconds) s")
    other.end()
    try b.put("later")
    try Self.expectWhole(b, ["early", "later"])
    try a.close()
    try b.close()
  }

  @Test("a look with many changed pages waited for another's transaction")
  func looksBesideTransaction() throws {
    let disk = SimulatedDisk(seed: 1)
    let small: (inout Database.Options) -> Void = {
      $0.lockTimeout = .seconds(40)
      $0.checkpoint.memoryByteCount = 128 << 10
      $0.checkpoint.minimumLogByteCount = 1 << 20
      $0.checkpoint.maximumLogByteCount = 1 << 20
    }
    let (a, b) = (try Self.open(disk, seed: 1, small), try Self.open(disk, seed: 2, small))
    try b.put("early")
    for round in 0..<4 {
      for step in 0..<10 {
        try a.write { transaction in
          for number in 0..<30 { try transaction.save(.fresh("x\(round) \(step) \(number)", ["k": .bytes(Data(count: 100))])) }
        }
      }
      let other = LongTransaction()
      other.begin(in: a)
      // It would be the whole timeout.
      #expect(try Self.seconds { try b.refresh() } < 30)
      #expect(try b.recordCount(in: .default) == 1 + 300 * (round + 1))
      other.end()
    }
    try a.close()
    try b.close()
  }

  @Test("a look that showed commits and could not open the file again said that nothing was new", arguments: [true, false])
  func saysWhatIsNew(isReadOnly: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let shut = ClosedDisk(disk)
    let a = try Self.open(disk, seed: 1)
    try a.put("early")
    let b = try Self.open(shut, seed: 2) {
      $0.isReadOnly = isReadOnly
      $0.checkpoint.memoryByteCount = 32 << 10
      $0.checkpoint.minimumLogByteCount = 64 << 20
      $0.checkpoint.maximumLogByteCount = 64 << 20
    }
    try b.refresh()
    shut.isShut.store(true, ordering: .relaxed)
    for round in 0..<20 {
      try a.write { transaction in
        for number in 0..<100 { try transaction.save(.fresh("r\(round) \(number)", ["k": .bytes(Data(count: 100))])) }
      }
      let known = try b.recordCount(in: .default)
      #expect(try b.refresh() == (try b.recordCount(in: .default) > known))
    }
    #expect(try b.recordCount(in: .default) == 2001)
    // What cannot be opened is not tried at each look.
    let tries = shut.tries.load(ordering: .relaxed)
    for _ in 0..<10 { #expect(try !b.refresh()) }
    #expect(shut.tries.load(ordering: .relaxed) == tries)
    try b.close()
    try a.close()
  }

  @Test("a look that opened the file again, because that was less work later, said that something was new")
  func saysNoMore() throws {
    let disk = SimulatedDisk(seed: 1)
    let (a, b) = (
      try Self.open(disk, seed: 1),
      try Self.open(disk, seed: 2) {
        $0.checkpoint.memoryByteCount = 32 << 10
        $0.checkpoint.minimumLogByteCount = 64 << 20
        $0.checkpoint.maximumLogByteCount = 64 << 20
      }
    )
    try b.put("early")
    for round in 0..<10 {
      try a.write { transaction in
        for number in 0..<100 { try transaction.save(.fresh("r\(round) \(number)", ["k": .bytes(Data(count: 100))])) }
      }
    }
    let other = LongTransaction()
    other.begin(in: a)
    #expect(try b.refresh())
    #expect(try b.recordCount(in: .default) == 1001)
    other.end()
    #expect(try !b.refresh())
    #expect(try b.recordCount(in: .default) == 1001)
    try b.close()
    try a.close()
  }

  @Test(
    "work that needs the lock longer than a transaction waited anew for each step", arguments: ["compact", "collect", "resume"])
  func workWaitsOnce(work: String) throws {
    let disk = SimulatedDisk(seed: 1)
    let stealing = StealingDisk(disk)
    let a = try Self.open(disk, seed: 1) { $0.lockTimeout = .seconds(20) }
    let b = try Self.open(stealing, seed: 2) {
      $0.lockTimeout = .seconds(5)
      if work == "resume" { $0.lock = .whileOpen }
    }
    try b.put("early")
    if work == "resume" { try b.suspend() }
    try Self.writeMuch(a)
    let other = LongTransaction()
    stealing.onOpen.withLock { $0 = { other.begin(in: a) } }
    var code: DatabaseError.Code?
    let seconds = Self.seconds {
      code =
        failure {
          switch work {
          case "compact": try b.compact()
          case "collect": _ = try b.collectAssets()
          default: try b.resume()
          }
        }?.code
    }
    #expect(code == .locked)
    // Two waits are ten seconds.
    #expect(seconds < 9, "\(seconds) s")
    other.end()
    try a.close()
    try b.close()
  }
}
