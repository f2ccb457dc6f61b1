import Foundation

/// The rows about records of ten fields: Daybook's public API beside SQLite through prepared statements.
final class RecordRows {
  private let directory: String
  private let recordCount: UInt64
  private var shared: [String: (kind: RecordKind, engine: any RecordEngine)] = [:]
  private var fresh: (any RecordEngine)?

  init(in directory: String, recordCount: Int) {
    self.directory = directory
    self.recordCount = UInt64(recordCount)
  }

  func close() throws {
    for (_, open) in shared { try open.engine.close() }
    shared = [:]
  }

  func rows() -> [Row] {
    let all = Int(recordCount)
    let fetches = min(1_000_000, all)
    let pages = max(20, min(1000, all / 1000))
    return [
      insert(),
      read("record-fetch-ten-fields", "fetch a random record by name, all ten fields as values", fetches) {
        [recordCount] in try $0.fetchTenFields(fetches, among: recordCount, round: $1)
      },
      read("record-fetch-one-field", "fetch a random record by name, one field", fetches) {
        [recordCount] in try $0.fetchOneField(fetches, among: recordCount, round: $1)
      },
      read("record-changes-since-1000", "a page of 1000 changes since a token: name and one field", pages) {
        try $0.prepareChanges()
        return try $0.changes(pages, round: $1, areWhole: false)
      },
      read("record-changes-since-1000-whole", "a page of 1000 changes since a token: name and ten fields", pages) {
        try $0.prepareChanges()
        return try $0.changes(pages, round: $1, areWhole: true)
      },
      count("record-count-zone", "count all records", type: nil),
      count("record-count-type", "count the records of one type", type: Book.types[1]),
      save(),
      commit(),
    ]
  }

  // MARK: rows

  private func insert() -> Row {
    Row(
      name: "record-insert", summary: "save a new record, 1000 a transaction, nothing waits for the disk",
      contenders: (RecordKind.unsynced + [RecordKind.typeAlone]).map { kind in
        let home = "\(directory)/record-insert-\(kind.engine)-\(kind.variant)"
        return Contender(
          kind.engine, kind.variant, isComparable: kind.isTypeOrdered, operations: Int(recordCount),
          prepare: { [self] _ in fresh = try kind.open(in: home) },
          run: { [self] _ in
            try fresh?.insert(0..<recordCount, perTransaction: 1000)
            return 0
          },
          finish: { [self] _ in
            try fresh?.close()
            fresh = nil
            try FileManager.default.removeItem(atPath: home)
          })
      })
  }

  private func read(
    _ name: String, _ summary: String, _ count: Int,
    _ body: @escaping (any RecordEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    var row = Row(
      name: name, summary: summary,
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, "warm", operations: count,
          prepare: { [self] _ in try open(kind).prepareChanges() },
          run: { [self] repetition in try body(open(kind), UInt64(repetition)) })
      })
    row.hasEqualSums = true
    return row
  }

  private func count(_ name: String, _ summary: String, type: String?) -> Row {
    var row = Row(
      name: name, summary: summary,
      contenders: RecordKind.unsynced.map { kind in
        // SQLite walks an index each time; fewer operations measure it as well.
        let operations = kind.engine == "daybook" ? 100_000 : 100
        return Contender(
          kind.engine, "warm", operations: operations,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] _ in try open(kind).count(operations, type: type) })
      })
    row.hasEqualSums = true
    return row
  }

  private func save() -> Row {
    let count = Int(min(recordCount, 100_000))
    return Row(
      name: "record-save-existing-100", summary: "read a random record, change two fields, save it; 100 a transaction",
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] repetition in
            try open(kind).save(count, among: recordCount, round: UInt64(repetition), perTransaction: 100)
            return 0
          })
      })
  }

  private func commit() -> Row {
    let count = Int(min(recordCount, 4_000))
    return Row(
      name: "record-commit-durable-1", summary: "save one new record in a durable commit of its own",
      contenders: RecordKind.synced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] repetition in
            let first = UInt64(1) << 32 + UInt64(repetition * count)
            try open(kind).insert(first..<first + UInt64(count), perTransaction: 1)
            return 0
          })
      })
  }

  // MARK: shared files

  /// The engine's loaded file, opened with a promise.
  private func open(_ kind: RecordKind) throws -> any RecordEngine {
    if let open = shared[kind.engine] {
      if open.kind == kind { return open.engine }
      try open.engine.close()
      shared[kind.engine] = nil
    }
    let home = "\(directory)/records-\(kind.engine)"
    if !FileManager.default.fileExists(atPath: home) {
      let loading = try RecordKind(isDaybook: kind.isDaybook, isSynced: false).open(in: home)
      try loading.insert(0..<recordCount, perTransaction: 1000)
      try loading.close()
    }
    let engine = try kind.open(in: home)
    shared[kind.engine] = (kind, engine)
    // Every engine starts warm.
    _ = try engine.fetchOneField(Int(min(recordCount, 200_000)), among: recordCount, round: 99)
    return engine
  }
}

/// A kind of database and the promise it is opened with.
private struct RecordKind: Hashable {
  let isDaybook: Bool
  let isSynced: Bool
  /// SQLite's index by type holds the names too, as Daybook's does.
  var isTypeOrdered = true

  static let typeAlone = RecordKind(isDaybook: false, isSynced: false, isTypeOrdered: false)
  static let unsynced = [RecordKind(isDaybook: true, isSynced: false), RecordKind(isDaybook: false, isSynced: false)]
  static let synced = [RecordKind(isDaybook: true, isSynced: true), RecordKind(isDaybook: false, isSynced: true)]

  var engine: String { isDaybook ? "daybook" : "sqlite" }
  var variant: String { !isTypeOrdered ? "unsynced, type alone" : isSynced ? "full" : "unsynced" }

  func open(in directory: String) throws -> any RecordEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return isDaybook
      ? try DaybookRecords(directory + "/records.daybook", isSynced: isSynced)
      : try SQLiteRecords(directory + "/records.sqlite", isSynced: isSynced, isTypeOrdered: isTypeOrdered)
  }
}
