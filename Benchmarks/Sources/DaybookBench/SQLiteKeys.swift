import CSQLite
import Foundation

/// Keys and values in SQLite: a table without row ids, keyed by the blob.
///
/// Several writing threads share one connection behind a lock, which is faster than as many connections that wait for each
/// other by sleeping.
final class SQLiteKeys: KeyValueEngine, @unchecked Sendable {
  private let connection: SQLiteConnection
  private let begin, commit, put, get, all: OpaquePointer
  private let lock = NSLock()

  init(_ path: String, isSynced: Bool) throws {
    connection = try SQLiteConnection(path, isSynced: isSynced)
    try connection.execute("CREATE TABLE IF NOT EXISTS pairs(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
    begin = try connection.prepare("BEGIN IMMEDIATE")
    commit = try connection.prepare("COMMIT")
    put = try connection.prepare(
      "INSERT INTO pairs VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value")
    get = try connection.prepare("SELECT value FROM pairs WHERE key = ?1")
    all = try connection.prepare("SELECT key, value FROM pairs ORDER BY key")
  }

  func close() throws { try connection.close() }

  func load(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try connection.run(begin)
      for number in next..<end { try put(number, round: 0, workload) }
      try connection.run(commit)
      next = end
    }
  }

  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws {
    try onThreads(threadCount, over: numbers) { [self] part in
      let workload = Workload()
      defer { workload.free() }
      // One statement is one transaction.
      for number in part { try lock.withLock { try put(number, round: 0, workload) } }
    }
  }

  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try connection.run(begin)
      for step in done..<end {
        try put(Workload.pick(step, among: keyCount, round: round), round: round, workload)
      }
      try connection.run(commit)
      done = end
    }
  }

  @inline(__always)
  private func put(_ number: UInt64, round: UInt64, _ workload: Workload) throws {
    let byteCount = workload.makeKey(number)
    workload.makeValue(number, round: round)
    // A nil destructor is SQLITE_STATIC: the bytes stay where they are until the statement is reset.
    sqlite3_bind_blob(put, 1, workload.key, Int32(byteCount), nil)
    sqlite3_bind_blob(put, 2, workload.value, Int32(Workload.valueByteCount), nil)
    try connection.run(put)
  }

  func get(_ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    let workload = Workload()
    defer { workload.free() }
    // Outside a transaction every statement has a snapshot of its own.
    if !ownSnapshots { try connection.execute("BEGIN") }
    defer { if !ownSnapshots { try? connection.execute("COMMIT") } }
    var sum: UInt64 = 0
    for step in 0..<count {
      let byteCount = workload.makeKey(Workload.pick(step, among: keyCount, round: round))
      sqlite3_bind_blob(get, 1, workload.key, Int32(byteCount), nil)
      guard sqlite3_step(get) == SQLITE_ROW, let bytes = sqlite3_column_blob(get, 0) else {
        throw BenchmarkFault("SQLite does not find a key")
      }
      sum &+= Workload.sum(bytes, Int(sqlite3_column_bytes(get, 0)))
      sqlite3_reset(get)
    }
    return sum
  }

  func scan() throws -> UInt64 {
    var sum: UInt64 = 0
    while sqlite3_step(all) == SQLITE_ROW {
      guard let bytes = sqlite3_column_blob(all, 1) else { throw BenchmarkFault("SQLite has an empty value") }
      sum &+= Workload.sum(bytes, Int(sqlite3_column_bytes(all, 1))) &+ UInt64(sqlite3_column_bytes(all, 0))
    }
    sqlite3_reset(all)
    return sum
  }
}
