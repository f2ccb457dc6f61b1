import Foundation

/// The rows about keys and values: 16 to 24 random bytes, 150 bytes of value.
///
/// Load rows start from nothing each time. All others share one loaded file for each engine, closed and opened again after
/// loading; rows that write come last, and write the same to every engine.
final class KeyValueRows {
  private let directory: String
  private let recordCount: UInt64
  private var shared: [String: (kind: KeyValueKind, engine: any KeyValueEngine)] = [:]
  private var fresh: (any KeyValueEngine)?
  private var floor: Floor?

  init(in directory: String, recordCount: Int) {
    self.directory = directory
    self.recordCount = UInt64(recordCount)
  }

  func close() throws {
    for (_, open) in shared { try open.engine.close() }
    shared = [:]
  }

  func rows() -> [Row] {
    let unsynced: [KeyValueKind] = [
      .daybook(isSynced: false), .lmdb(isSynced: false, isWriteMap: false), .lmdb(isSynced: false, isWriteMap: true),
      .sqlite(isSynced: false),
    ]
    let synced: [KeyValueKind] = [
      .daybook(isSynced: true), .lmdb(isSynced: true, isWriteMap: false), .sqlite(isSynced: true),
    ]
    let all = Int(recordCount)
    let singles = min(4_000, all)
    return [
      load("kv-load-random-unsynced", "put new random keys, 1000 a transaction, nothing waits for the disk", unsynced),
      load("kv-load-random-synced-1000", "put new random keys, 1000 a transaction, each transaction durable", synced),
      get("kv-get-own-snapshot", "get a random key, each get from a snapshot of its own", ownSnapshots: true),
      get("kv-get-one-snapshot", "get a random key, all from one snapshot", ownSnapshots: false),
      scan(),
      update("kv-update-100-unsynced", unsynced, round: 1, count: min(200_000, all)),
      update("kv-update-100-synced", synced, round: 10, count: min(50_000, all)),
      commit("kv-commit-unsynced-1", unsynced, threadCount: 1, part: 1, count: min(100_000, all)),
      commit("kv-commit-durable-1", synced, threadCount: 1, part: 2, count: singles),
      commit("kv-commit-durable-8", synced, threadCount: 8, part: 3, count: singles),
    ]
  }

  // MARK: rows

  private func load(_ name: String, _ summary: String, _ kinds: [KeyValueKind]) -> Row {
    Row(
      name: name, summary: summary,
      contenders: kinds.map { kind in
        let home = "\(directory)/\(name)-\(kind.engine)-\(kind.variant)"
        return Contender(
          kind.engine, kind.variant, operations: Int(recordCount),
          prepare: { [self] _ in fresh = try kind.open(in: home) },
          run: { [self] _ in
            try fresh?.load(0..<recordCount, perTransaction: 1000)
            return 0
          },
          finish: { [self] _ in
            try fresh?.close()
            fresh = nil
            try FileManager.default.removeItem(atPath: home)
          })
      })
  }

  private func get(_ name: String, _ summary: String, ownSnapshots: Bool) -> Row {
    let count = Int(min(recordCount, 1_000_000))
    var row = Row(
      name: name, summary: summary,
      contenders: readers.map { kind in
        Contender(
          kind.engine, kind == .daybookBuffered ? "buffered" : "warm", operations: count,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] repetition in
            try open(kind).get(count, among: recordCount, round: UInt64(repetition), ownSnapshots: ownSnapshots)
          })
      })
    row.hasEqualSums = true
    return row
  }

  private func scan() -> Row {
    var row = Row(
      name: "kv-scan-arrival-order", summary: "visit everything in key order, in a file written in random order",
      contenders: readers.map { kind in
        Contender(
          kind.engine, kind == .daybookBuffered ? "buffered" : "warm", operations: Int(recordCount),
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] _ in try open(kind).scan() })
      })
    row.hasEqualSums = true
    return row
  }

  private func update(_ name: String, _ kinds: [KeyValueKind], round: UInt64, count: Int) -> Row {
    Row(
      name: name, summary: "put new values for random keys, 100 a transaction",
      contenders: kinds.map { kind in
        Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] repetition in
            try open(kind).update(
              count, among: recordCount, round: round + UInt64(repetition), perTransaction: 100)
            return 0
          })
      })
  }

  private func commit(_ name: String, _ kinds: [KeyValueKind], threadCount: Int, part: UInt64, count: Int) -> Row {
    var contenders = kinds.enumerated().map { index, kind in
      Contender(
        kind.engine, kind.variant, operations: count,
        prepare: { [self] _ in _ = try open(kind) },
        run: { [self] repetition in
          // New keys each time: a variant of the same engine writes into the same file.
          let first = part << 32 + UInt64(index) << 28 + UInt64(repetition * count)
          try open(kind).commit(first..<first + UInt64(count), threadCount: threadCount)
          return 0
        })
    }
    if kinds[0].isSynced, threadCount == 1 {
      contenders.append(
        Contender(
          "floor", "fdatasync", isComparable: false, operations: count,
          prepare: { [self] _ in floor = try Floor(in: directory, writeCount: count) },
          run: { [self] _ in
            try floor?.append(count)
            return 0
          },
          finish: { [self] _ in
            floor?.close()
            floor = nil
          }))
    }
    return Row(
      name: name, summary: "commit one new key, \(threadCount == 1 ? "one thread" : "\(threadCount) threads")",
      contenders: contenders)
  }

  // MARK: shared files

  private let readers: [KeyValueKind] = [
    .daybook(isSynced: false), .daybookBuffered, .lmdb(isSynced: false, isWriteMap: false), .sqlite(isSynced: false),
  ]

  /// The engine's loaded file, opened with a promise.
  private func open(_ kind: KeyValueKind) throws -> any KeyValueEngine {
    if let open = shared[kind.engine] {
      if open.kind == kind { return open.engine }
      try open.engine.close()
      shared[kind.engine] = nil
    }
    let home = "\(directory)/shared-\(kind.engine)"
    if !FileManager.default.fileExists(atPath: home) {
      let loading = try readers.first { $0.engine == kind.engine }?.open(in: home)
      try loading?.load(0..<recordCount, perTransaction: 1000)
      try loading?.close()
    }
    let engine = try kind.open(in: home)
    shared[kind.engine] = (kind, engine)
    // Every engine starts warm.
    _ = try engine.get(Int(min(recordCount, 200_000)), among: recordCount, round: 99, ownSnapshots: false)
    return engine
  }
}
