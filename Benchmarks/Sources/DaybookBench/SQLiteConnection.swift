import CSQLite

/// SQLite as an expert opens it: WAL, memory-mapped, a large cache, statements prepared once and reused.
///
///     journal_mode = WAL              wal_autocheckpoint = 16384 pages (64 MB of log, as Daybook's)
///     synchronous  = FULL or OFF      mmap_size = 8 GB or what the library allows
///     cache_size   = 256 MB           temp_store = MEMORY, one connection without the library's own mutex
///     secure_delete = OFF, which some systems build it with
final class SQLiteConnection {
  let database: OpaquePointer
  private var statements: [OpaquePointer] = []

  init(_ path: String, isSynced: Bool) throws {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let database = opened else { throw BenchmarkFault("SQLite: cannot open \(path)") }
    self.database = database
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = \(isSynced ? "FULL" : "OFF")")
    try execute("PRAGMA wal_autocheckpoint = 16384")
    try execute("PRAGMA mmap_size = 8589934592")
    try execute("PRAGMA cache_size = -262144")
    try execute("PRAGMA temp_store = MEMORY")
    try execute("PRAGMA secure_delete = OFF")
  }

  func close() throws {
    for statement in statements { sqlite3_finalize(statement) }
    statements.removeAll()
    try check(sqlite3_close(database))
  }

  func execute(_ sql: String) throws { try check(sqlite3_exec(database, sql, nil, nil, nil)) }

  /// Makes the log as long as it gets and begins it again, so that commits write over blocks that the file has: those that make it
  /// longer take twice as long.
  /// - Parameter rewrite: statements that change all rows and leave them as they were; what stays the same is not written.
  func fillLog(_ path: String, _ rewrite: String) throws {
    let log = path + "-wal"
    while try Files.byteCount(of: log) < 60 << 20 { try execute(rewrite) }
    try execute("PRAGMA wal_checkpoint(RESTART)")
  }

  /// A statement that lives as long as the connection.
  func prepare(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw BenchmarkFault("SQLite made no statement") }
    statements.append(statement)
    return statement
  }

  /// Runs a statement that returns nothing.
  @inline(__always)
  func run(_ statement: OpaquePointer) throws {
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    if code != SQLITE_DONE { try check(code) }
  }

  @inline(__always)
  func check(_ code: Int32) throws {
    if code != SQLITE_OK { throw BenchmarkFault("SQLite: \(code), \(String(cString: sqlite3_errmsg(database)))") }
  }
}
