import DaybookEngine

/// The loops of `BenchmarkLoops+Rows`, for the packages of benchmarks.
extension EngineStore {
  /// The ascending key with a number.
  public static func benchmarkAscendingKey(_ number: UInt64) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 64)
    BenchmarkWorkload().makeKey(number, into: buffer)
    buffer.set(uint64: number.byteSwapped, at: 0)
    return buffer.view.array
  }

  /// Puts the keys of some numbers, new ones or new values for old ones; ascending keys begin with their number.
  public func benchmarkPut(_ numbers: Range<UInt64>, round: UInt64, isAscending: Bool, perTransaction: Int) throws {
    try loops.put(numbers, round: round, isAscending: isAscending, perTransaction: perTransaction)
  }

  /// Deletes the keys of even numbers.
  public func benchmarkDelete(everySecondOf keyCount: UInt64, perTransaction: Int) throws {
    try loops.delete(everySecondOf: keyCount, perTransaction: perTransaction)
  }

  /// Asks for keys that are not there; returns how many were.
  public func benchmarkMiss(_ count: Int, among keyCount: UInt64, round: UInt64, from first: UInt64) throws -> UInt64 {
    try loops.miss(count, among: keyCount, round: round, from: first)
  }

  /// Gets from snapshots of their own, and a single put at every twentieth step; returns the sum of the values.
  public func benchmarkMix(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    try loops.mix(count, among: keyCount, round: round)
  }

  /// Seeks random keys in one snapshot and reads `length` keys from each on; returns the sum of the values.
  public func benchmarkSeek(_ count: Int, length: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    try loops.seek(count, length: length, among: keyCount, round: round)
  }
}
