import CLMDB
import Foundation

/// LMDB as its authors advise: one environment, one database, read transactions reset and renewed instead of made anew.
///
/// Unsynced is MDB_NOSYNC, with or without MDB_WRITEMAP. MDB_NOTLS, because a read transaction here belongs to a loop, not
/// to a thread. What is read is looked at where it lies in the map, not copied.
final class LMDBKeys: KeyValueEngine, @unchecked Sendable {
  private let environment: OpaquePointer
  private let database: MDB_dbi

  init(_ path: String, isSynced: Bool, isWriteMap: Bool) throws {
    var opened: OpaquePointer?
    try LMDBKeys.check(mdb_env_create(&opened))
    guard let environment = opened else { throw BenchmarkFault("LMDB made no environment") }
    try LMDBKeys.check(mdb_env_set_mapsize(environment, 64 << 30))
    var flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS)
    if !isSynced { flags |= UInt32(MDB_NOSYNC) }
    if isWriteMap { flags |= UInt32(MDB_WRITEMAP) }
    try LMDBKeys.check(mdb_env_open(environment, path, flags, 0o600))
    self.environment = environment
    var transaction: OpaquePointer?
    try LMDBKeys.check(mdb_txn_begin(environment, nil, 0, &transaction))
    var database: MDB_dbi = 0
    try LMDBKeys.check(mdb_dbi_open(transaction, nil, 0, &database))
    try LMDBKeys.check(mdb_txn_commit(transaction))
    self.database = database
  }

  func close() throws { mdb_env_close(environment) }

  func load(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      var transaction: OpaquePointer?
      try LMDBKeys.check(mdb_txn_begin(environment, nil, 0, &transaction))
      for number in next..<end { try put(number, round: 0, workload, transaction) }
      try LMDBKeys.check(mdb_txn_commit(transaction))
      next = end
    }
  }

  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws {
    try onThreads(threadCount, over: numbers) { [self] part in try load(part, perTransaction: 1) }
  }

  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      var transaction: OpaquePointer?
      try LMDBKeys.check(mdb_txn_begin(environment, nil, 0, &transaction))
      for step in done..<end {
        try put(Workload.pick(step, among: keyCount, round: round), round: round, workload, transaction)
      }
      try LMDBKeys.check(mdb_txn_commit(transaction))
      done = end
    }
  }

  @inline(__always)
  private func put(_ number: UInt64, round: UInt64, _ workload: Workload, _ transaction: OpaquePointer?) throws {
    var key = MDB_val(mv_size: workload.makeKey(number), mv_data: workload.key)
    workload.makeValue(number, round: round)
    var value = MDB_val(mv_size: Workload.valueByteCount, mv_data: workload.value)
    try LMDBKeys.check(mdb_put(transaction, database, &key, &value, 0))
  }

  func get(_ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    let workload = Workload()
    defer { workload.free() }
    var transaction: OpaquePointer?
    try LMDBKeys.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
    defer { mdb_txn_abort(transaction) }
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = Workload.pick(step, among: keyCount, round: round)
      var key = MDB_val(mv_size: workload.makeKey(number), mv_data: workload.key)
      var value = MDB_val()
      if ownSnapshots {
        mdb_txn_reset(transaction)
        try LMDBKeys.check(mdb_txn_renew(transaction))
      }
      try LMDBKeys.check(mdb_get(transaction, database, &key, &value))
      if let bytes = value.mv_data { sum &+= Workload.sum(bytes, value.mv_size) }
    }
    return sum
  }

  func scan() throws -> UInt64 {
    var transaction: OpaquePointer?
    try LMDBKeys.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
    defer { mdb_txn_abort(transaction) }
    var cursor: OpaquePointer?
    try LMDBKeys.check(mdb_cursor_open(transaction, database, &cursor))
    defer { mdb_cursor_close(cursor) }
    var sum: UInt64 = 0
    var key = MDB_val()
    var value = MDB_val()
    var code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
    while code == 0 {
      if let bytes = value.mv_data { sum &+= Workload.sum(bytes, value.mv_size) &+ UInt64(key.mv_size) }
      code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
    }
    if code != MDB_NOTFOUND { try LMDBKeys.check(code) }
    return sum
  }

  @inline(__always)
  private static func check(_ code: Int32) throws {
    if code != 0 { throw BenchmarkFault("LMDB: \(String(cString: mdb_strerror(code)))") }
  }
}
