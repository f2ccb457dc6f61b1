import CLMDB
import Foundation

/// LMDB as its authors advise: one environment, one database, read transactions reset and renewed instead of made anew.
///
/// Unsynced is MDB_NOSYNC, with or without MDB_WRITEMAP. MDB_NOTLS, because a read transaction here belongs to a loop, not
/// to a thread. What is read is looked at where it lies in the map, not copied. Ascending keys are put with MDB_APPEND.
/// Compacting is a compacting copy that takes the file's place.
final class LMDBPeer: Peer {
  private let path: String
  private let flags: UInt32
  private var environment: OpaquePointer
  private var database: MDB_dbi

  init(_ path: String, isSynced: Bool, isWriteMap: Bool) throws {
    self.path = path
    var flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS)
    if !isSynced { flags |= UInt32(MDB_NOSYNC) }
    if isWriteMap { flags |= UInt32(MDB_WRITEMAP) }
    self.flags = flags
    (environment, database) = try LMDBPeer.open(path, flags)
  }

  private static func open(_ path: String, _ flags: UInt32) throws -> (OpaquePointer, MDB_dbi) {
    var opened: OpaquePointer?
    try check(mdb_env_create(&opened))
    guard let environment = opened else { throw BenchmarkFault("LMDB made no environment") }
    try check(mdb_env_set_mapsize(environment, 64 << 30))
    try check(mdb_env_open(environment, path, flags, 0o600))
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, 0, &transaction))
    var database: MDB_dbi = 0
    try check(mdb_dbi_open(transaction, nil, 0, &database))
    try check(mdb_txn_commit(transaction))
    return (environment, database)
  }

  func session(_ use: SessionUse) throws -> Session { Session(environment, database) }

  func compact() throws {
    let copy = path + ".copy"
    try LMDBPeer.check(mdb_env_copy2(environment, copy, UInt32(MDB_CP_COMPACT)))
    mdb_env_close(environment)
    guard rename(copy, path) == 0 else { throw BenchmarkFault("LMDB's copy cannot take the file's place") }
    (environment, database) = try LMDBPeer.open(path, flags)
  }

  func close() throws { mdb_env_close(environment) }

  @inline(__always)
  static func check(_ code: Int32) throws {
    if code != 0 { throw BenchmarkFault("LMDB: \(String(cString: mdb_strerror(code)))") }
  }

  final class Session: PeerSession {
    private let environment: OpaquePointer
    private let database: MDB_dbi
    private var writing: OpaquePointer?
    private var reading: OpaquePointer?
    private var cursor: OpaquePointer?
    private var flags: UInt32 = 0
    private var renewsEachTime = false

    init(_ environment: OpaquePointer, _ database: MDB_dbi) {
      self.environment = environment
      self.database = database
    }

    func begin(isAscending: Bool) throws {
      flags = isAscending ? UInt32(MDB_APPEND) : 0
      try check(mdb_txn_begin(environment, nil, 0, &writing))
    }

    func put(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      var key = MDB_val(mv_size: keyByteCount, mv_data: key)
      var value = MDB_val(mv_size: valueByteCount, mv_data: value)
      try check(mdb_put(writing, database, &key, &value, flags))
    }

    func delete(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws {
      var key = MDB_val(mv_size: keyByteCount, mv_data: key)
      try check(mdb_del(writing, database, &key, nil))
    }

    func commit() throws {
      try check(mdb_txn_commit(writing))
      writing = nil
    }

    func beginReading(ownSnapshots: Bool) throws {
      renewsEachTime = ownSnapshots
      try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reading))
    }

    func get(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> UnsafeRawBufferPointer? {
      if renewsEachTime {
        mdb_txn_reset(reading)
        try check(mdb_txn_renew(reading))
      }
      var key = MDB_val(mv_size: keyByteCount, mv_data: key)
      var value = MDB_val()
      let code = mdb_get(reading, database, &key, &value)
      if code == MDB_NOTFOUND { return nil }
      try check(code)
      return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    func endReading() throws {
      mdb_txn_abort(reading)
      reading = nil
    }

    func openCursor() throws {
      try beginReading(ownSnapshots: false)
      try check(mdb_cursor_open(reading, database, &cursor))
    }

    func first() throws -> CursorPlace? {
      var key = MDB_val()
      return try move(&key, MDB_FIRST)
    }

    func seek(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> CursorPlace? {
      var key = MDB_val(mv_size: keyByteCount, mv_data: key)
      return try move(&key, MDB_SET_RANGE)
    }

    func next() throws -> CursorPlace? {
      var key = MDB_val()
      return try move(&key, MDB_NEXT)
    }

    @inline(__always)
    private func move(_ key: inout MDB_val, _ operation: MDB_cursor_op) throws -> CursorPlace? {
      var value = MDB_val()
      let code = mdb_cursor_get(cursor, &key, &value, operation)
      if code == MDB_NOTFOUND { return nil }
      try check(code)
      return CursorPlace(
        keyByteCount: key.mv_size, value: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }

    func closeCursor() throws {
      mdb_cursor_close(cursor)
      cursor = nil
      try endReading()
    }

    func end() {
      if let writing { mdb_txn_abort(writing) }
      if let reading { mdb_txn_abort(reading) }
    }
  }
}
