import CSQLite
import Foundation

/// The same in SQLite, as an expert would: a column a field, versions in a table of their own that a trigger fills, blobs
/// changed in place where a new value is not asked for as a whole.
final class SQLiteUse: UseEngine {
  private let connection: SQLiteConnection
  private var statements: [String: OpaquePointer] = [:]
  private let path: String

  init(_ path: String, isSynced: Bool, _ table: RecordKind.SQLiteTable, fieldCount: Int) throws {
    self.path = path
    connection = try SQLiteConnection(path, isSynced: isSynced)
    let columns = (0..<fieldCount).map { "f\($0) INTEGER" }.joined(separator: ", ")
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS wide(name TEXT NOT NULL PRIMARY KEY, sequence INTEGER, tag INTEGER, modified REAL, \(columns))
        \(table == .withoutRowID ? "WITHOUT ROWID" : "");
      CREATE TABLE IF NOT EXISTS large(name TEXT NOT NULL PRIMARY KEY, value BLOB);
      CREATE TABLE IF NOT EXISTS version(name TEXT NOT NULL, number INTEGER, f0 INTEGER, PRIMARY KEY(name, number))
        WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS zone(name TEXT NOT NULL PRIMARY KEY, capabilities INTEGER) WITHOUT ROWID;
      """)
  }

  func close() throws { try connection.close() }

  private func statement(_ sql: String) throws -> OpaquePointer {
    if let known = statements[sql] { return known }
    let made = try connection.prepare(sql)
    statements[sql] = made
    return made
  }

  private func bind(_ text: String, to statement: OpaquePointer, _ index: Int32) {
    var text = text
    // The library copies it.
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        _ = sqlite3_bind_text(
          statement, index, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
      }
    }
  }

  private func inTransaction(_ body: () throws -> Void) throws {
    try connection.run(statement("BEGIN IMMEDIATE"))
    try body()
    try connection.run(statement("COMMIT"))
  }

  private func insert(_ name: String, _ number: Int, fieldCount: Int) throws {
    let keys = (0..<fieldCount).map { "f\($0)" }.joined(separator: ", ")
    let marks = (0..<fieldCount).map { "?\($0 + 5)" }.joined(separator: ", ")
    let add = try statement("INSERT INTO wide(name, sequence, tag, modified, \(keys)) VALUES (?1, ?2, ?3, ?4, \(marks))")
    try insert(name, number, fieldCount: fieldCount, add)
  }

  private func insert(_ name: String, _ number: Int, fieldCount: Int, _ add: OpaquePointer) throws {
    bind(name, to: add, 1)
    sqlite3_bind_int64(add, 2, Int64(number))
    sqlite3_bind_int64(add, 3, Int64(bitPattern: Workload.mix(UInt64(number))))
    sqlite3_bind_double(add, 4, Date().timeIntervalSinceReferenceDate)
    for index in 0..<fieldCount { sqlite3_bind_int64(add, Int32(index + 5), Int64(number + index)) }
    try connection.run(add)
  }

  func insertWide(_ count: Int, fieldCount: Int) throws {
    let keys = (0..<fieldCount).map { "f\($0)" }.joined(separator: ", ")
    let marks = (0..<fieldCount).map { "?\($0 + 5)" }.joined(separator: ", ")
    let add = try statement("INSERT INTO wide(name, sequence, tag, modified, \(keys)) VALUES (?1, ?2, ?3, ?4, \(marks))")
    try inTransaction { for number in 0..<count { try insert("r\(number)", number, fieldCount: fieldCount, add) } }
  }

  func fetchWide(_ count: Int, among recordCount: Int, fieldCount: Int, round: UInt64) throws -> UInt64 {
    let keys = (0..<fieldCount).map { "f\($0)" }.joined(separator: ", ")
    let fetch = try statement("SELECT \(keys) FROM wide WHERE name = ?1")
    var sum: UInt64 = 0
    for step in 0..<count {
      bind("r\(Workload.pick(step, among: UInt64(recordCount), round: round))", to: fetch, 1)
      guard sqlite3_step(fetch) == SQLITE_ROW else { throw BenchmarkFault("SQLite finds no record") }
      for index in 0..<Int32(fieldCount) { sum &+= UInt64(bitPattern: sqlite3_column_int64(fetch, index)) }
      sqlite3_reset(fetch)
    }
    return sum
  }

  func savepoints(_ count: Int, among recordCount: Int) throws {
    let (begin, release) = (try statement("SAVEPOINT s"), try statement("RELEASE s"))
    let tag = try statement("SELECT tag FROM wide WHERE name = ?1")
    let change = try statement("UPDATE wide SET f0 = ?1, tag = ?2, modified = ?3, sequence = ?4 WHERE name = ?5 AND tag = ?6")
    try inTransaction {
      for step in 0..<count {
        try connection.run(begin)
        let name = "r\(Workload.pick(step, among: UInt64(recordCount), round: 3))"
        bind(name, to: tag, 1)
        guard sqlite3_step(tag) == SQLITE_ROW else { throw BenchmarkFault("SQLite finds no record") }
        let known = sqlite3_column_int64(tag, 0)
        sqlite3_reset(tag)
        sqlite3_bind_int64(change, 1, Int64(step))
        sqlite3_bind_int64(change, 2, Int64(bitPattern: Workload.mix(UInt64(step) &+ 77)))
        sqlite3_bind_double(change, 3, Date().timeIntervalSinceReferenceDate)
        sqlite3_bind_int64(change, 4, Int64(step))
        bind(name, to: change, 5)
        sqlite3_bind_int64(change, 6, known)
        try connection.run(change)
        try connection.run(release)
      }
    }
  }

  func rollBack(_ count: Int) throws {
    try connection.run(statement("BEGIN IMMEDIATE"))
    let keys = (0..<10).map { "f\($0)" }.joined(separator: ", ")
    let marks = (0..<10).map { "?\($0 + 5)" }.joined(separator: ", ")
    let add = try statement("INSERT INTO wide(name, sequence, tag, modified, \(keys)) VALUES (?1, ?2, ?3, ?4, \(marks))")
    for number in 0..<count { try insert("gone\(number)", number, fieldCount: 10, add) }
    try connection.run(statement("ROLLBACK"))
  }

  func saveOne(_ number: Int) throws { try insert("one\(number)", number, fieldCount: 1) }

  func insertLarge(byteCount: Int) throws {
    let add = try statement("INSERT INTO large(name, value) VALUES ('r0', zeroblob(?1))")
    sqlite3_bind_int64(add, 1, Int64(byteCount))
    try connection.run(add)
  }

  func changeLarge(_ count: Int, byteCount: Int) throws {
    let (get, set) = (
      try statement("SELECT value FROM large WHERE name = 'r0'"), try statement("UPDATE large SET value = ?1 WHERE name = 'r0'")
    )
    for step in 0..<count {
      try inTransaction {
        guard sqlite3_step(get) == SQLITE_ROW, let bytes = sqlite3_column_blob(get, 0) else {
          throw BenchmarkFault("SQLite finds no record")
        }
        var value = Data(bytes: bytes, count: Int(sqlite3_column_bytes(get, 0)))
        sqlite3_reset(get)
        let place = Int(Workload.pick(step, among: UInt64(byteCount - 8), round: 1))
        withUnsafeBytes(of: UInt64(step)) { value.replaceSubrange(place..<place + 8, with: $0) }
        try value.withUnsafeBytes {
          sqlite3_bind_blob(set, 1, $0.baseAddress, Int32($0.count), nil)
          try connection.run(set)
        }
      }
    }
  }

  func makeVersions(_ count: Int) throws {
    let add = try statement("INSERT INTO version(name, number, f0) VALUES ('r0', ?1, ?1)")
    for number in 0..<count {
      sqlite3_bind_int64(add, 1, Int64(number))
      try connection.run(add)
    }
  }

  func versions(limit: Int) throws -> UInt64 {
    let list = try statement("SELECT f0 FROM version WHERE name = 'r0' ORDER BY number DESC LIMIT ?1")
    sqlite3_bind_int64(list, 1, Int64(limit))
    var sum: UInt64 = 0
    while sqlite3_step(list) == SQLITE_ROW { sum &+= UInt64(bitPattern: sqlite3_column_int64(list, 0)) }
    sqlite3_reset(list)
    return sum
  }

  func makeZones(_ count: Int) throws {
    let add = try statement("INSERT INTO zone(name, capabilities) VALUES (?1, 7)")
    try inTransaction {
      for number in 0..<count {
        bind("zone number \(number)", to: add, 1)
        try connection.run(add)
      }
    }
  }

  /// As Swift values, which the other one returns.
  func listZones() throws -> UInt64 {
    let list = try statement("SELECT name, capabilities FROM zone ORDER BY name")
    var zones: [(name: String, capabilities: Int64)] = []
    while sqlite3_step(list) == SQLITE_ROW {
      zones.append((String(cString: sqlite3_column_text(list, 0)), sqlite3_column_int64(list, 1)))
    }
    sqlite3_reset(list)
    return zones.reduce(0) { $0 &+ UInt64($1.name.utf8.count) }
  }

  func backUp(to path: String) throws {
    let copy = try SQLiteConnection(path, isSynced: true)
    guard let backup = sqlite3_backup_init(copy.database, "main", connection.database, "main") else {
      throw BenchmarkFault("SQLite begins no backup")
    }
    let code = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    if code != SQLITE_DONE { throw BenchmarkFault("SQLite: backup \(code)") }
    try copy.close()
  }

  func change(_ count: Int, among recordCount: Int, round: UInt64, perTransaction: Int) throws {
    let tag = try statement("SELECT tag FROM wide WHERE name = ?1")
    let change = try statement("UPDATE wide SET f0 = ?1, tag = ?2, modified = ?3, sequence = ?4 WHERE name = ?5 AND tag = ?6")
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try inTransaction {
        for step in done..<end {
          let name = "r\(Workload.pick(step, among: UInt64(recordCount), round: round))"
          bind(name, to: tag, 1)
          guard sqlite3_step(tag) == SQLITE_ROW else { throw BenchmarkFault("SQLite finds no record") }
          let known = sqlite3_column_int64(tag, 0)
          sqlite3_reset(tag)
          sqlite3_bind_int64(change, 1, Int64(step))
          sqlite3_bind_int64(change, 2, Int64(bitPattern: Workload.mix(UInt64(step) &+ 77)))
          sqlite3_bind_double(change, 3, Date().timeIntervalSinceReferenceDate)
          sqlite3_bind_int64(change, 4, Int64(step))
          bind(name, to: change, 5)
          sqlite3_bind_int64(change, 6, known)
          try connection.run(change)
        }
      }
      done = end
    }
  }

  /// A connection of its own, as a thread needs.
  func makeReader() throws -> (_ number: Int) throws -> UInt64 {
    let reading = try SQLiteUse(path, isSynced: false, .rowID, fieldCount: 10)
    let get = try reading.statement("SELECT f1 FROM wide WHERE name = ?1")
    return { number in
      defer { sqlite3_reset(get) }
      reading.bind("r\(number)", to: get, 1)
      guard sqlite3_step(get) == SQLITE_ROW else { throw BenchmarkFault("SQLite finds no record") }
      return UInt64(bitPattern: sqlite3_column_int64(get, 0))
    }
  }

  /// It has no asynchronous calls: a queue of an application's own runs one after the other.
  func saveFromTasks(_ numbers: Range<Int>) throws {
    for number in numbers { try insert("task\(number)", number, fieldCount: 1) }
  }

  /// The file is smaller only when the log has been written back.
  func compact() throws {
    try connection.execute("VACUUM")
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}
