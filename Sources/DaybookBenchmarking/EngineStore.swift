import DaybookEngine

/// The engine without records: raw keys and values in one file, in the order of the keys' bytes.
///
/// For benchmarks, and for tests that compare engines; applications use `Database`. One process writes at a time, any thread
/// may read, and every read is verified. A key has at most 1,024 bytes.
public final class EngineStore: Sendable {
  /// What a commit waits for.
  public enum Durability: Sendable {
    /// Until the disk has it.
    case full
    /// Nothing; it is synced in the background.
    case relaxed
  }

  private let path: String
  private let store: KeyValueStore
  let loops: BenchmarkLoops

  /// Opens the store at a path, and creates it when there is none.
  /// - Parameters:
  ///   - isReadOnly: whether it only reads, beside a process that writes or alone.
  ///   - compactsItself: whether it compacts in the background when the file is much larger than its live bytes.
  ///   - pageCacheByteCount: reads the file through a cache of this size instead of mapping it.
  ///   - logBudgetByteCount: bytes of log between checkpoints, instead of a budget based on the size of the trees.
  public init(
    path: String, durability: Durability = .full, isReadOnly: Bool = false, compactsItself: Bool = false,
    pageCacheByteCount: Int? = nil, logBudgetByteCount: Int? = nil
  ) throws(EngineStoreError) {
    var options = StoreOptions()
    if let logBudgetByteCount {
      options.minimumLogBudgetByteCount = logBudgetByteCount
      options.maximumLogBudgetByteCount = logBudgetByteCount
    }
    if let pageCacheByteCount {
      options.access = .buffered
      options.pageCacheByteCount = pageCacheByteCount
    }
    options.durability = durability == .full ? .full : .relaxed
    options.isReadOnly = isReadOnly
    self.path = path
    do { store = try KeyValueStore(path, disk: SystemDisk(), options: options, compactsItself: compactsItself) } catch {
      throw EngineStoreError(error, path: path)
    }
    loops = BenchmarkLoops(store)
  }

  /// Makes everything durable and releases the file.
  public func close() throws(EngineStoreError) {
    do { try store.close() } catch { throw EngineStoreError(error, path: path) }
  }

  /// Writes a checkpoint.
  public func checkpoint() throws(EngineStoreError) {
    do { try store.store.checkpoint() } catch { throw EngineStoreError(error, path: path) }
  }

  /// Compacts the file while reads and writes go on.
  public func compact() throws(EngineStoreError) {
    do { try store.compact() } catch { throw EngineStoreError(error, path: path) }
  }

  /// Bytes of the file, and how many of them are live.
  public func byteCounts() throws(EngineStoreError) -> (file: Int, live: Int) {
    do {
      let (current, pin) = try store.stores.beginRead()
      defer { current.endRead(pin) }
      return (try current.fileByteCount(), pin.liveByteCount)
    } catch { throw EngineStoreError(error, path: path) }
  }

  /// Bytes of log that the open has replayed.
  public var replayedByteCount: Int { Int(clamping: store.store.recovery.replayedByteCount) }

  /// The number of keys.
  public var count: Int {
    get throws(EngineStoreError) {
      do { return Int(clamping: try store.count) } catch { throw EngineStoreError(error, path: path) }
    }
  }

  /// The value of a key; nil when there is none.
  public func get(_ key: [UInt8]) throws(EngineStoreError) -> [UInt8]? {
    let target = ByteBuffer(capacity: 256)
    do {
      return try key.withView { (key) throws(StoreError) in try store.get(key, into: target)?.array }
    } catch { throw EngineStoreError(error, path: path) }
  }

  /// Puts one value, in a commit of its own.
  public func put(_ key: [UInt8], _ value: [UInt8]) throws { try write([.put(key, value)]) }

  /// Deletes one key, in a commit of its own; a missing key is not an error.
  public func delete(_ key: [UInt8]) throws { try write([.delete(key)]) }

  /// One step of a transaction.
  public enum Change: Sendable {
    /// Puts a value under a key.
    case put(_ key: [UInt8], _ value: [UInt8])
    /// Deletes a key.
    case delete(_ key: [UInt8])
  }

  /// Puts and deletes in one commit: either all of it takes effect, or nothing.
  public func write(_ changes: [Change]) throws {
    do {
      try store.write { transaction in
        for change in changes {
          switch change {
          case .put(let key, let value):
            try key.withView { (key) throws(StoreError) in
              try value.withView { (value) throws(StoreError) in try transaction.put(key, value) }
            }
          case .delete(let key):
            try key.withView { (key) throws(StoreError) in try transaction.delete(key) }
          }
        }
      }
    } catch { throw EngineStoreError.translating(error, path: path) }
  }

  /// Calls `body` with every key and value of one moment, in the order of the keys, until it returns false.
  public func scan(_ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool) throws {
    struct Enough: Error {}
    do {
      try store.scan { key, value in if try !body(key.array, value.array) { throw Enough() } }
    } catch is Enough {
      return
    } catch { throw EngineStoreError.translating(error, path: path) }
  }
}

/// An error of the engine, in words.
public struct EngineStoreError: Error, CustomStringConvertible {
  /// The file.
  public let path: String
  /// The engine's own error.
  public let cause: any Error

  init(_ cause: StoreError, path: String) {
    self.path = path
    self.cause = cause
  }

  /// Wraps the engine's errors in this one; errors of the caller's closures stay as they are.
  static func translating(_ error: any Error, path: String) -> any Error {
    (error as? StoreError).map { EngineStoreError($0, path: path) } ?? error
  }

  /// Path and cause.
  public var description: String { "\(path): \(cause)" }
}

/// Benchmark loops that run inside the engine's module; keys and values are computed from their numbers.
extension EngineStore {
  /// The key with a number, so that a benchmark can use the same keys with other engines.
  public static func benchmarkKey(_ number: UInt64) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 64)
    BenchmarkWorkload().makeKey(number, into: buffer)
    return buffer.view.array
  }

  /// The value of a key with a number in a round of updates.
  public static func benchmarkValue(_ number: UInt64, round: UInt64) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 256)
    BenchmarkWorkload().makeValue(number, round: round, into: buffer)
    return buffer.view.array
  }

  /// Puts new keys, some in each transaction.
  public func benchmarkLoad(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    try loops.load(numbers, perTransaction: perTransaction)
  }

  /// Commits of one new key each, from several threads at once.
  public func benchmarkCommit(_ numbers: Range<UInt64>, threadCount: Int) throws {
    try loops.commitSingly(numbers, threadCount: threadCount)
  }

  /// Puts new values for random keys.
  public func benchmarkUpdate(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    try loops.update(count, among: keyCount, round: round, perTransaction: perTransaction)
  }

  /// Durable commits of one new key each until the time is over. Returns when each began and how long it took, in nanoseconds.
  public func benchmarkLatencies(
    from first: UInt64, nanoseconds: UInt64
  ) throws -> [(start: UInt64, duration: UInt64)] {
    try loops.latencies(from: first, nanoseconds: nanoseconds)
  }

  /// Gets random keys, each from a snapshot of its own or all from one; returns the sum of the values.
  public func benchmarkGet(
    _ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool
  ) throws -> UInt64 {
    ownSnapshots
      ? try loops.getEach(count, among: keyCount, round: round)
      : try loops.getAll(count, among: keyCount, round: round)
  }

  /// Visits everything in key order; returns the sum of the values.
  public func benchmarkScan() throws -> UInt64 { try loops.scan() }
}
