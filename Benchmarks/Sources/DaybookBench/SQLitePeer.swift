import CSQLite
import Foundation

/// Keys and values in SQLite: a table without row ids, keyed by the blob.
///
/// Several writing threads share one connection behind a lock, which is faster than as many connections that wait for each
/// other by sleeping. Several reading threads have a connection each, kept for the next time.
final class SQLitePeer: Peer, @unchecked Sendable {
  private let path: String
  private let isSynced: Bool
  private let connection: SQLiteConnection
  private let lock = NSLock()
  private let main: Session
  private let poolLock = NSLock()
  private var readers: [Session] = []

  /// - Parameter leavesLog: the log is never written back, so that whoever opens next finds all of it.
  init(_ path: String, isSynced: Bool, leavesLog: Bool = false) throws {
    self.path = path
    self.isSynced = isSynced
    connection = try SQLiteConnection(path, isSynced: isSynced)
    if leavesLog { try connection.execute("PRAGMA wal_autocheckpoint = 0") }
    try connection.execute("CREATE TABLE IF NOT EXISTS pairs(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
    main = try Session(connection)
  }

  func session(_ use: SessionUse) throws -> Session {
    switch use {
    case .alone: return main
    case .oneOfSeveralWriters: return try Session(main, lock)
    case .oneOfSeveralReaders:
      if let session = poolLock.withLock({ readers.popLast() }) { return session }
      return try Session(try SQLiteConnection(path, isSynced: isSynced)) { [self] session in
        poolLock.withLock { readers.append(session) }
      }
    }
  }

  func compact() throws {
    try connection.execute("VACUUM")
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func fillLog() throws {
    try connection.fillLog(
      path, "UPDATE pairs SET value = value || x'00'; UPDATE pairs SET value = substr(value, 1, length(value) - 1)")
  }

  func close() throws {
    for reader in readers { try reader.connection.close() }
    readers = []
    try connection.close()
  }

  final class Session: PeerSession {
    fileprivate let connection: SQLiteConnection
    private let beginning, committing, put, get, delete, all, from: OpaquePointer
    private let lock: NSLock?
    private let giveBack: ((Session) -> Void)?
    private var ownSnapshots = true
    private var cursor: OpaquePointer?

    fileprivate init(_ connection: SQLiteConnection, giveBack: ((Session) -> Void)? = nil) throws {
      self.connection = connection
      self.giveBack = giveBack
      lock = nil
      beginning = try connection.prepare("BEGIN IMMEDIATE")
      committing = try connection.prepare("COMMIT")
      put = try connection.prepare(
        "INSERT INTO pairs VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value")
      get = try connection.prepare("SELECT value FROM pairs WHERE key = ?1")
      delete = try connection.prepare("DELETE FROM pairs WHERE key = ?1")
      all = try connection.prepare("SELECT key, value FROM pairs ORDER BY key")
      from = try connection.prepare("SELECT key, value FROM pairs WHERE key >= ?1 ORDER BY key")
    }

    /// The same connection and statements, behind a lock.
    fileprivate init(_ other: Session, _ lock: NSLock) throws {
      connection = other.connection
      giveBack = nil
      self.lock = lock
      (beginning, committing, put, get) = (other.beginning, other.committing, other.put, other.get)
      (delete, all, from) = (other.delete, other.all, other.from)
    }

    func begin(isAscending: Bool) throws { try connection.run(beginning) }
    func commit() throws { try connection.run(committing) }

    func put(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      // A nil destructor is SQLITE_STATIC: the bytes stay where they are until the statement is reset.
      sqlite3_bind_blob(put, 1, key, Int32(keyByteCount), nil)
      sqlite3_bind_blob(put, 2, value, Int32(valueByteCount), nil)
      try connection.run(put)
    }

    func delete(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws {
      sqlite3_bind_blob(delete, 1, key, Int32(keyByteCount), nil)
      try connection.run(delete)
    }

    func putAlone(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      if reading { sqlite3_reset(get) }
      // One statement is one transaction.
      guard let lock else { return try put(key, keyByteCount, value, valueByteCount) }
      lock.lock()
      defer { lock.unlock() }
      try put(key, keyByteCount, value, valueByteCount)
    }

    private var reading = false

    func beginReading(ownSnapshots: Bool) throws {
      self.ownSnapshots = ownSnapshots
      // Outside a transaction every statement has a snapshot of its own.
      if !ownSnapshots { try connection.execute("BEGIN") }
      reading = true
    }

    func get(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> UnsafeRawBufferPointer? {
      // The value of the last get lay in the statement until here.
      sqlite3_reset(get)
      sqlite3_bind_blob(get, 1, key, Int32(keyByteCount), nil)
      let code = sqlite3_step(get)
      if code == SQLITE_DONE { return nil }
      guard code == SQLITE_ROW else { throw BenchmarkFault("SQLite cannot read: \(code)") }
      return UnsafeRawBufferPointer(start: sqlite3_column_blob(get, 0), count: Int(sqlite3_column_bytes(get, 0)))
    }

    func endReading() throws {
      sqlite3_reset(get)
      if !ownSnapshots { try connection.execute("COMMIT") }
      reading = false
    }

    func openCursor() throws { try connection.execute("BEGIN") }

    func first() throws -> CursorPlace? {
      cursor = all
      sqlite3_reset(all)
      return try next()
    }

    func seek(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> CursorPlace? {
      cursor = from
      sqlite3_reset(from)
      sqlite3_bind_blob(from, 1, key, Int32(keyByteCount), nil)
      return try next()
    }

    func next() throws -> CursorPlace? {
      let code = sqlite3_step(cursor)
      if code == SQLITE_DONE { return nil }
      guard code == SQLITE_ROW else { throw BenchmarkFault("SQLite cannot read: \(code)") }
      return CursorPlace(
        keyByteCount: Int(sqlite3_column_bytes(cursor, 0)),
        value: UnsafeRawBufferPointer(
          start: sqlite3_column_blob(cursor, 1), count: Int(sqlite3_column_bytes(cursor, 1))))
    }

    func closeCursor() throws {
      sqlite3_reset(cursor)
      try connection.execute("COMMIT")
    }

    func end() { giveBack?(self) }
  }
}
