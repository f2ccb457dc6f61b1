import DaybookTesting
import Foundation

/// An open store of keys and values. Every method is one whole loop: the call costs nothing beside it.
protocol KeyValueEngine: AnyObject {
  func load(_ numbers: Range<UInt64>, perTransaction: Int) throws
  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws
  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws
  /// Returns the sum of the values, as the two below.
  func get(_ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64
  func scan() throws -> UInt64
  func close() throws
}

/// A kind of store and the promise it is opened with.
enum KeyValueKind: Hashable {
  case daybook(isSynced: Bool)
  /// The file read through a page cache of 64 MB instead of mapped.
  case daybookBuffered
  case lmdb(isSynced: Bool, isWriteMap: Bool)
  case sqlite(isSynced: Bool)

  var engine: String {
    switch self {
    case .daybook, .daybookBuffered: "daybook"
    case .lmdb: "lmdb"
    case .sqlite: "sqlite"
    }
  }

  var isSynced: Bool {
    switch self {
    case .daybook(let isSynced), .lmdb(let isSynced, _), .sqlite(let isSynced): isSynced
    case .daybookBuffered: false
    }
  }

  var variant: String {
    if case .lmdb(_, true) = self { return "writemap" }
    return isSynced ? "full" : "unsynced"
  }

  /// Opens or creates a store in a directory of its own.
  func open(in directory: String) throws -> any KeyValueEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    switch self {
    case .daybook(let isSynced): return try DaybookKeys(directory + "/keys.daybook", isSynced: isSynced)
    case .daybookBuffered: return try DaybookKeys(directory + "/keys.daybook", isSynced: false, pageCacheByteCount: 64 << 20)
    case .lmdb(let isSynced, let isWriteMap):
      return try LMDBKeys(directory + "/keys.mdb", isSynced: isSynced, isWriteMap: isWriteMap)
    case .sqlite(let isSynced): return try SQLiteKeys(directory + "/keys.sqlite", isSynced: isSynced)
    }
  }
}

/// Daybook's engine, through the loops inside its module.
final class DaybookKeys: KeyValueEngine {
  private let store: EngineStore

  init(_ path: String, isSynced: Bool, pageCacheByteCount: Int? = nil) throws {
    store = try EngineStore(
      path: path, durability: isSynced ? .full : .relaxed, pageCacheByteCount: pageCacheByteCount)
  }

  func load(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    try store.benchmarkLoad(numbers, perTransaction: perTransaction)
  }

  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws {
    try store.benchmarkCommit(numbers, threadCount: threadCount)
  }

  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    try store.benchmarkUpdate(count, among: keyCount, round: round, perTransaction: perTransaction)
  }

  func get(_ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    try store.benchmarkGet(count, among: keyCount, round: round, ownSnapshots: ownSnapshots)
  }

  func scan() throws -> UInt64 { try store.benchmarkScan() }
  func close() throws { try store.close() }
}

extension Workload {
  /// Compares these formulas with the engine's own.
  static func check() throws {
    let workload = Workload()
    defer { workload.free() }
    for number: UInt64 in [0, 1, 77, 999_999, 12_345_678] {
      let byteCount = workload.makeKey(number)
      workload.makeValue(number, round: 3)
      let key = [UInt8](UnsafeRawBufferPointer(start: workload.key, count: byteCount))
      let value = [UInt8](UnsafeRawBufferPointer(start: workload.value, count: valueByteCount))
      if key != EngineStore.benchmarkKey(number) || value != EngineStore.benchmarkValue(number, round: 3) {
        throw BenchmarkFault("the engines would be given different keys")
      }
    }
  }
}

/// Runs the same loop on several threads over parts of a range; throws the first error.
func onThreads(
  _ threadCount: Int, over numbers: Range<UInt64>, _ body: @escaping @Sendable (Range<UInt64>) throws -> Void
) throws {
  if threadCount == 1 { return try body(numbers) }
  let failures = Failures()
  let group = DispatchGroup()
  let total = numbers.upperBound - numbers.lowerBound
  for index in 0..<UInt64(threadCount) {
    let lower = numbers.lowerBound + total * index / UInt64(threadCount)
    let upper = numbers.lowerBound + total * (index + 1) / UInt64(threadCount)
    group.enter()
    Thread.detachNewThread {
      do { try body(lower..<upper) } catch { failures.add(error) }
      group.leave()
    }
  }
  group.wait()
  if let first = failures.first { throw first }
}

private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var errors: [any Error] = []
  func add(_ error: any Error) { lock.withLock { errors.append(error) } }
  var first: (any Error)? { lock.withLock { errors.first } }
}
