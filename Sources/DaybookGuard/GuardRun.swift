import Daybook
import DaybookEngine
import DaybookTesting
import Foundation

/// Walks the paths, one after the other, each with all that it needs made ready and walked once before.
///
/// Everything is decided: keys, records, random numbers, the clock; no thread runs in the background. What is counted happens
/// inside one function, `countedLoop`: callgrind collects while it runs and writes a file each time it returns.
struct GuardRun {
  /// One line of DIRECTORY/counts.
  struct Counts {
    let path: String
    let operations: Int
    /// Nil where nobody counts them.
    let allocations: Int?
    let syncs: Int
    let writes: Int
  }

  private let directory: String
  private let allocationCount = AllocationCount()
  private let disk = CountingDisk(SystemDisk())
  private var counts: [Counts] = []

  static func run(in directory: String) throws {
    var run = GuardRun(directory: directory)
    try run.walkKeys()
    try run.walkRecords()
    try run.walkUse()
    try run.walkCoding()
    let lines = run.counts.map { counts in
      let allocations = counts.allocations.map(String.init) ?? "-"
      return "\(counts.path) \(counts.operations) \(allocations) \(counts.syncs) \(counts.writes)"
    }
    try (lines.joined(separator: "\n") + "\n").write(toFile: directory + "/counts", atomically: true, encoding: .utf8)
  }

  private init(directory: String) { self.directory = directory }

  /// Counts one path.
  private mutating func walk(_ path: String, _ operations: Int, _ body: @escaping () throws -> Void) throws {
    let (syncs, writes) = (disk.syncCount, disk.writeCount)
    // Safe: one thread sets and reads the two, here and in the loop.
    unsafe GuardLoop.body = body
    unsafe GuardLoop.failure = nil
    let allocationsBefore = allocationCount?.now()
    countedLoop()
    let allocationsAfter = allocationCount?.now()
    if let failure = unsafe GuardLoop.failure { throw failure }
    let allocations = allocationsBefore.flatMap { before in allocationsAfter.map { $0 - before } }
    counts.append(
      Counts(
        path: path, operations: operations, allocations: allocations, syncs: disk.syncCount - syncs,
        writes: disk.writeCount - writes))
  }

  // MARK: keys and values

  private mutating func walkKeys() throws {
    let path = directory + "/keys.daybook"
    let keyCount: UInt64 = 20_000
    var loops = try openKeys(path, .relaxed)
    try loops.load(0..<keyCount, perTransaction: 1000)
    try loops.store.close()
    loops = try openKeys(path, .relaxed)
    let gets = 2000
    _ = try loops.getEach(gets, among: keyCount, round: 0)
    try walk("kv-get", gets) { _ = try loops.getEach(gets, among: keyCount, round: 0) }
    _ = try loops.miss(gets, among: keyCount, round: 0, from: 1 << 50)
    try walk("kv-miss", gets) { _ = try loops.miss(gets, among: keyCount, round: 0, from: 1 << 50) }
    _ = try loops.scan()
    try walk("kv-scan-step", Int(keyCount)) { _ = try loops.scan() }
    _ = try loops.seek(50, length: 100, among: keyCount, round: 0)
    try walk("kv-seek-step", 50 * 100) { _ = try loops.seek(50, length: 100, among: keyCount, round: 0) }
    try loops.load(keyCount..<keyCount + 1000, perTransaction: 1000)
    try walk("kv-put-in-1000", 3000) {
      try loops.load(keyCount + 1000..<keyCount + 4000, perTransaction: 1000)
    }
    try loops.update(500, among: keyCount, round: 1, perTransaction: 100)
    try walk("kv-update-in-100", 1000) {
      try loops.update(1000, among: keyCount, round: 2, perTransaction: 100)
    }
    try walk("kv-delete-in-1000", Int(keyCount / 2)) {
      try loops.delete(everySecondOf: keyCount, perTransaction: 1000)
    }
    try loops.store.close()
    loops = try openKeys(path, .full)
    try loops.load(keyCount + 4000..<keyCount + 4020, perTransaction: 1)
    try walk("kv-commit-durable", 100) {
      try loops.load(keyCount + 4020..<keyCount + 4120, perTransaction: 1)
    }
    try loops.store.close()
  }

  private func openKeys(_ path: String, _ durability: StoreOptions.Durability) throws -> BenchmarkLoops {
    let generator = Locked(SeededGenerator(seed: 1))
    var options = StoreOptions()
    options.durability = durability
    options.hasBackgroundThread = false
    options.random = { generator.withLock { $0.next() } }
    return BenchmarkLoops(try KeyValueStore(path, disk: disk, options: options))
  }

  // MARK: records

  private mutating func walkRecords() throws {
    let path = directory + "/records.daybook"
    var database = try openRecords(path, .relaxed)
    try GuardRecords.save(0..<5000, perTransaction: 1000, in: database)
    try database.close()
    database = try openRecords(path, .relaxed)
    let fetches = 500
    try GuardRecords.fetch(fetches, of: 5000, in: database)
    try walk("record-fetch-ten-fields", fetches) { try GuardRecords.fetch(fetches, of: 5000, in: database) }
    let token = try GuardRecords.token(behind: 2000, in: database)
    try GuardRecords.changes(since: token, in: database)
    try walk("record-changes-1000", 1000) { try GuardRecords.changes(since: token, in: database) }
    try GuardRecords.count(10, in: database)
    try walk("record-count", 500) { try GuardRecords.count(500, in: database) }
    try GuardRecords.query(in: database)
    // Of four records three have the type.
    try walk("record-query-scan", 3750) { try GuardRecords.query(in: database) }
    try GuardRecords.beginAndEnd(10, in: database)
    try walk("snapshot-empty", 1000) { try GuardRecords.beginAndEnd(1000, in: database) }
    try GuardRecords.save(5000..<5200, perTransaction: 100, in: database)
    try walk("record-save-in-100", 500) {
      try GuardRecords.save(5200..<5700, perTransaction: 100, in: database)
    }
    try GuardRecords.change(100, of: 5000, in: database)
    try walk("record-change-in-100", 500) { try GuardRecords.change(500, of: 5000, in: database) }
    try GuardRecords.update(100, of: 5000, in: database)
    try walk("record-update-in-100", 500) { try GuardRecords.update(500, of: 5000, in: database) }
    try database.close()
    database = try openRecords(path, .full)
    try GuardRecords.save(5700..<5720, perTransaction: 1, in: database)
    try walk("record-commit-durable", 100) {
      try GuardRecords.save(5720..<5820, perTransaction: 1, in: database)
    }
    try database.close()
  }

  // MARK: use

  private mutating func walkUse() throws {
    let path = directory + "/use.daybook"
    var database = try openRecords(path, .relaxed)
    try GuardRecords.save(0..<1000, perTransaction: 1000, in: database)
    try GuardRecords.savepoints(20, of: 1000, in: database)
    try walk("savepoint-change", 500) { try GuardRecords.savepoints(500, of: 1000, in: database) }
    try GuardRecords.saveWide(0..<10, in: database)
    try walk("wide-save", 50) { try GuardRecords.saveWide(10..<60, in: database) }
    try GuardRecords.fetchWide(0..<10, in: database)
    try walk("wide-fetch", 50) { try GuardRecords.fetchWide(10..<60, in: database) }
    try GuardRecords.saveAndRollBack(2000..<2100, in: database)
    try walk("rollback-save", 1000) { try GuardRecords.saveAndRollBack(2000..<3000, in: database) }
    try GuardRecords.saveLarge(in: database)
    try GuardRecords.changeLarge(2, in: database)
    try walk("large-change", 20) { try GuardRecords.changeLarge(20, in: database) }
    try database.close()
    database = try openRecords(path, .full)
    try GuardRecords.save(1000..<1001, perTransaction: 1, in: database)
    try database.close()
    let run = self
    try walk("session", 10) {
      for number in 0..<10 {
        let database = try run.openRecords(path, .full)
        try GuardRecords.save(1001 + number..<1002 + number, perTransaction: 1, in: database)
        try database.close()
      }
    }
  }

  // MARK: values

  private mutating func walkCoding() throws {
    let database = try openRecords(directory + "/coding.daybook", .relaxed)
    let volumes = GuardCoding.volumes(500)
    try GuardCoding.save(volumes, in: database)
    let records = try GuardCoding.records(volumes, in: database)
    try GuardCoding.decode(records, times: 1)
    try walk("coding-decode", 1000) { try GuardCoding.decode(records, times: 2) }
    try GuardCoding.encode(volumes, times: 1)
    try walk("coding-encode", 1000) { try GuardCoding.encode(volumes, times: 2) }
    try GuardCoding.fetch(volumes, in: database)
    try walk("coding-fetch", 500) { try GuardCoding.fetch(volumes, in: database) }
    try database.close()
  }

  private func openRecords(_ path: String, _ durability: Database.Options.Durability) throws -> Database {
    let generator = Locked(SeededGenerator(seed: 1))
    var options = Database.Options()
    options.durability = durability
    options.hasBackgroundThread = false
    options.random = { generator.withLock { $0.next() } }
    options.now = { Date(timeIntervalSinceReferenceDate: 800_000_000) }
    return try Database.open(at: path, options: options, disk: disk)
  }
}

/// What the counted function calls: it takes nothing, so that the compiler does not make other versions of it.
private enum GuardLoop {
  nonisolated(unsafe) static var body: () throws -> Void = {}
  nonisolated(unsafe) static var failure: (any Error)?
}

/// Callgrind finds the function by its name, so nothing else bears it.
@inline(never)
func countedLoop() {
  // Safe: as in `walk`.
  do { try unsafe GuardLoop.body() } catch { unsafe GuardLoop.failure = error }
}

/// The number that Benchmarks/Allocations counts, where it stands in front of the C library.
private struct AllocationCount {
  private let read: @convention(c) () -> Int

  init?() {
    // Safe: the name leads to a function without arguments that returns a long, or to nothing.
    guard let symbol = unsafe dlsym(nil, "daybook_allocation_count") else { return nil }
    unsafe read = unsafeBitCast(symbol, to: (@convention(c) () -> Int).self)
  }

  func now() -> Int { read() }
}
