import Foundation

/// An open store of keys and values. Every method is one whole loop: the call costs nothing beside it.
protocol KeyValueEngine: AnyObject, Sendable {
  /// Puts the keys of some numbers, in the order of the numbers; ascending keys are above all that are there.
  func put(_ numbers: Range<UInt64>, round: UInt64, isAscending: Bool, perTransaction: Int) throws
  /// Commits of one new key each.
  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws
  /// Puts new values for random keys.
  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws
  func deleteEverySecond(of keyCount: UInt64, perTransaction: Int) throws
  /// Returns the sum of the values, as the ones below.
  func get(
    _ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool, isOneOfSeveral: Bool
  ) throws -> UInt64
  /// Asks for keys that are not there; returns how many are.
  func miss(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64
  /// Seeks random keys in one snapshot and walks on from each, `length` keys with itself.
  func seek(_ count: Int, length: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64
  func scan() throws -> UInt64
  /// Gets random keys from snapshots of their own; every twentieth step puts a new value instead, in a commit of its own.
  func mix(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64
  func compact() throws
  /// See `Peer`.
  func fillLog() throws
  func close() throws
}

extension KeyValueEngine {
  func fillLog() throws {}

  func get(_ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    try get(count, among: keyCount, round: round, ownSnapshots: ownSnapshots, isOneOfSeveral: false)
  }

  /// Gets on several threads at once, each from snapshots of its own; `count` for all together.
  func get(_ count: Int, among keyCount: UInt64, round: UInt64, threadCount: Int) throws -> UInt64 {
    let sums = Sums()
    try onThreads(threadCount, over: 0..<UInt64(threadCount)) { part in
      for thread in part {
        sums.add(
          try self.get(
            count / threadCount, among: keyCount, round: round * 64 + thread + 1000, ownSnapshots: true,
            isOneOfSeveral: true))
      }
    }
    return sums.total
  }
}

/// A kind of store and the promise it is opened with.
struct KeyValueKind: Hashable {
  enum Engine: String { case daybook, lmdb, sqlite, rocksdb, leveldb }
  enum Promise: String {
    /// Every commit waits for the disk.
    case full
    /// No commit does.
    case unsynced
    /// LMDB's, written through a writable mapping; unsynced.
    case writemap
    /// Daybook's, read through a page cache of 64 MB instead of mapped; unsynced.
    case buffered
  }

  let engine: Engine
  let promise: Promise

  init(_ engine: Engine, _ promise: Promise) {
    self.engine = engine
    self.promise = promise
  }

  static let unsynced: [KeyValueKind] = [
    KeyValueKind(.daybook, .unsynced), KeyValueKind(.lmdb, .unsynced), KeyValueKind(.lmdb, .writemap),
    KeyValueKind(.sqlite, .unsynced), KeyValueKind(.rocksdb, .unsynced), KeyValueKind(.leveldb, .unsynced),
  ]
  static let synced: [KeyValueKind] = [
    KeyValueKind(.daybook, .full), KeyValueKind(.lmdb, .full), KeyValueKind(.sqlite, .full),
    KeyValueKind(.rocksdb, .full), KeyValueKind(.leveldb, .full),
  ]
  /// One of each engine, as it is read.
  static let readers = unsynced.filter { $0.promise == .unsynced }

  var isSynced: Bool { promise == .full }
  /// Written in levels that are sorted into one another later; at rest when they have been.
  var hasLevels: Bool { engine == .rocksdb || engine == .leveldb }

  /// Opens or creates a store in a directory of its own.
  /// - Parameter leavesLog: what is written stays in the log, as far as the engine has one, for 64 MB at least.
  func open(in directory: String, leavesLog: Bool = false) throws -> any KeyValueEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    switch engine {
    case .daybook:
      return try DaybookKeys(
        directory + "/keys.daybook", isSynced: isSynced, pageCacheByteCount: promise == .buffered ? 64 << 20 : nil,
        leavesLog: leavesLog)
    case .lmdb:
      return PeerKeys(
        try LMDBPeer(directory + "/keys.mdb", isSynced: isSynced, isWriteMap: promise == .writemap))
    case .sqlite:
      return PeerKeys(try SQLitePeer(directory + "/keys.sqlite", isSynced: isSynced, leavesLog: leavesLog))
    case .rocksdb: return PeerKeys(try RocksPeer(directory + "/keys.rocksdb", isSynced: isSynced))
    case .leveldb:
      return PeerKeys(try LevelPeer(directory + "/keys.leveldb", isSynced: isSynced, leavesLog: leavesLog))
    }
  }
}
