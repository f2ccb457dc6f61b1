import DaybookBenchmarking
import Foundation

/// Daybook's engine, through the loops beside its module.
final class DaybookKeys: KeyValueEngine {
  private let store: EngineStore

  /// - Parameter leavesLog: no checkpoint before 128 MB of log.
  init(_ path: String, isSynced: Bool, pageCacheByteCount: Int? = nil, leavesLog: Bool = false) throws {
    store = try EngineStore(
      path: path, durability: isSynced ? .full : .relaxed, pageCacheByteCount: pageCacheByteCount,
      logBudgetByteCount: leavesLog ? 256 << 20 : nil)
  }

  func put(_ numbers: Range<UInt64>, round: UInt64, isAscending: Bool, perTransaction: Int) throws {
    if !isAscending, round == 0 { return try store.benchmarkLoad(numbers, perTransaction: perTransaction) }
    try store.benchmarkPut(numbers, round: round, isAscending: isAscending, perTransaction: perTransaction)
  }

  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws {
    try store.benchmarkCommit(numbers, threadCount: threadCount)
  }

  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    try store.benchmarkUpdate(count, among: keyCount, round: round, perTransaction: perTransaction)
  }

  func deleteEverySecond(of keyCount: UInt64, perTransaction: Int) throws {
    try store.benchmarkDelete(everySecondOf: keyCount, perTransaction: perTransaction)
  }

  func get(
    _ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool, isOneOfSeveral: Bool
  ) throws -> UInt64 {
    try store.benchmarkGet(count, among: keyCount, round: round, ownSnapshots: ownSnapshots)
  }

  func miss(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    try store.benchmarkMiss(count, among: keyCount, round: round, from: Workload.firstMissingNumber)
  }

  func seek(_ count: Int, length: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    try store.benchmarkSeek(count, length: length, among: keyCount, round: round)
  }

  func scan() throws -> UInt64 { try store.benchmarkScan() }

  func mix(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    try store.benchmarkMix(count, among: keyCount, round: round)
  }

  func compact() throws { try store.compact() }
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
      let ascendingByteCount = workload.makeAscendingKey(number)
      let ascending = [UInt8](UnsafeRawBufferPointer(start: workload.key, count: ascendingByteCount))
      if key != EngineStore.benchmarkKey(number) || value != EngineStore.benchmarkValue(number, round: 3)
        || ascending != EngineStore.benchmarkAscendingKey(number)
      {
        throw BenchmarkFault("the engines would be given different keys")
      }
    }
  }
}
