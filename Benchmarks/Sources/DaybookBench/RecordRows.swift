import Foundation

/// The rows about records of ten fields: Daybook's public API beside SQLite through prepared statements.
final class RecordRows {
  private let directory: String
  let recordCount: UInt64
  /// By folder.
  private var shared: [String: (kind: RecordKind, engine: any RecordEngine)] = [:]
  private var loadedByteCounts: [String: Int] = [:]
  var fresh: (any RecordEngine)?
  private var memoryFloor: MemoryFloor?
  private var peakByteCount: Int?

  /// The size of a record's body, about, for the floor.
  private static let bodyByteCount = 260
  /// About 64 MB of log in Daybook.
  private static let killedRecordCount: UInt64 = 200_000
  /// About 64 MB of log in Daybook.
  static let killedSaveCount = 200_000

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
      fetchTenFields(fetches),
      fetch("record-fetch-one-field", "fetch a random record by name, one field", fetches) {
        [recordCount] in try $0.fetchOneField(fetches, among: recordCount, round: $1, ownSnapshots: true)
      },
      read("record-fetch-ten-fields-one-snapshot", "the same ten fields, all fetches in one snapshot", fetches) {
        [recordCount] in try $0.fetchTenFields(fetches, among: recordCount, round: $1, ownSnapshots: false)
      },
      read("record-fetch-one-field-one-snapshot", "the same field, all fetches in one snapshot", fetches) {
        [recordCount] in try $0.fetchOneField(fetches, among: recordCount, round: $1, ownSnapshots: false)
      },
      read("record-fetch-100-names", "the same field of a hundred random records, by one call", fetches / 100 * 100) {
        [recordCount] in try $0.fetchHundreds(fetches / 100, among: recordCount, round: $1)
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
      read("record-by-type-1000", "a page of 1000 records of one type, from a random place: name and one field", pages) {
        try $0.pages(pages, ofType: Book.types[2], round: $1)
      },
      read("record-scan", "all records in the order of their names, all ten fields as values", all) { engine, _ in
        try engine.scan()
      },
      openAfterClose(),
      openAfterKill(), openAfterKillOfSaves(),
      fileLoaded(),
      fileCompacted(),
      memory(),
      save(),
    ] + cold() + [
      // Last: not all engines take part, and what it saves stays in their files.
      commit()
    ]
  }

  // MARK: reading

  private func read(
    _ name: String, _ summary: String, _ count: Int,
    _ body: @escaping (any RecordEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    Row(
      name: name, summary: summary,
      contenders: RecordKind.allUnsynced.map { kind in
        Contender(
          kind.engine, kind.variant("warm"), operations: count,
          prepare: { [self] _ in try open(kind).prepareChanges() },
          run: { [self] repetition in try body(open(kind), UInt64(repetition)) })
      }, hasEqualSums: true)
  }

  /// Beside it SQLite whose columns are read where they lie, as no Swift program reads them.
  private func fetchTenFields(_ count: Int) -> Row {
    var row = fetch("record-fetch-ten-fields", "fetch a random record by name, all ten fields as values", count) {
      [recordCount] in try $0.fetchTenFields(count, among: recordCount, round: $1, ownSnapshots: true)
    }
    row.contenders += RecordKind.allUnsynced.filter { !$0.isDaybook }.map { kind in
      Contender(
        kind.engine, kind.variant("in place"), isComparable: false, operations: count,
        prepare: { [self] _ in _ = try open(kind) },
        run: { [self] repetition in
          guard let engine = try open(kind) as? SQLiteRecords else { throw BenchmarkFault("only SQLite has columns") }
          return try engine.fetchTenFieldsInPlace(count, among: recordCount, round: UInt64(repetition))
        })
    }
    return row
  }

  /// The same with what memory itself allows beside it.
  private func fetch(
    _ name: String, _ summary: String, _ count: Int,
    _ body: @escaping (any RecordEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    var row = read(name, summary, count, body)
    row.floors = [
      Contender(
        "floor", "memcpy", isComparable: false, operations: count,
        prepare: { [self] _ in
          memoryFloor = MemoryFloor(recordCount: Int(recordCount), recordByteCount: RecordRows.bodyByteCount)
        },
        run: { [self] in memoryFloor?.copy(count, round: UInt64($0)) ?? 0 },
        finish: { [self] _ in memoryFloor = nil })
    ]
    return row
  }

  private func count(_ name: String, _ summary: String, type: String?) -> Row {
    Row(
      name: name, summary: summary,
      contenders: (RecordKind.unsynced + [.counted]).map { kind in
        // Without counters SQLite walks an index each time; fewer operations measure it as well.
        let operations = kind.isDaybook || kind.table == .counted ? 100_000 : 100
        return Contender(
          kind.engine, kind.variant("warm"), operations: operations,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] _ in try open(kind).count(operations, type: type) })
      }, hasEqualSums: true)
  }

  // MARK: opening

  private func openAfterClose() -> Row {
    Row(
      name: "record-open-after-close", summary: "open a database that was closed, and fetch one record",
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { [self] _ in try closeShared(kind) },
          run: { [self] repetition in
            fresh = try kind.open(in: home(kind))
            return try fresh?.fetchOneField(1, among: recordCount, round: UInt64(repetition), ownSnapshots: true) ?? 0
          },
          finish: { [self] _ in
            try fresh?.close()
            fresh = nil
          })
      }, hasEqualSums: true, minimumRepetitionCount: 9)
  }

  private func openAfterKill() -> Row {
    Row(
      name: "record-open-after-kill-64-mb",
      summary:
        "open what a killed process left, \(RecordRows.killedRecordCount) records with 64 MB of log, and fetch one record",
      contenders: RecordKind.unsynced.map { kind in
        let image = "\(directory)/killed-\(kind.engine)"
        let home = image + "-opened"
        return Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { _ in
            if !FileManager.default.fileExists(atPath: image) {
              try Child.leaveLogOfRecords(
                isDaybook: kind.isDaybook, in: image, recordCount: RecordRows.killedRecordCount)
            }
            try Files.copy(image, to: home)
          },
          run: { [self] repetition in
            fresh = try kind.open(in: home)
            return try fresh?.fetchOneField(
              1, among: RecordRows.killedRecordCount, round: UInt64(repetition), ownSnapshots: true) ?? 0
          },
          finish: { [self] _ in try endFresh(home) })
      }, hasEqualSums: true)
  }

  /// Daybook alone.
  private func openAfterKillOfSaves() -> Row {
    Row(
      name: "record-open-after-kill-saves",
      summary: "open all records after a kill that left 64 MB of random saves behind their checkpoint, and fetch one",
      contenders: [RecordKind(isDaybook: true, isSynced: false)].map { kind in
        let image = "\(directory)/killed-saves"
        let home = image + "-opened"
        return Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { [recordCount] _ in
            if !FileManager.default.fileExists(atPath: image) {
              try Child.leaveLogOfSaves(in: image, recordCount: recordCount)
            }
            try Files.copy(image, to: home)
          },
          run: { [self] repetition in
            fresh = try kind.open(in: home)
            return try fresh?.fetchOneField(1, among: recordCount, round: UInt64(repetition), ownSnapshots: true) ?? 0
          },
          finish: { [self] _ in try endFresh(home) })
      })
  }

  // MARK: bytes

  private func fileLoaded() -> Row {
    Row(
      name: "record-file-loaded", summary: "bytes of the files after inserting in random order (time: open and close)",
      contenders: RecordKind.allUnsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: Int(recordCount),
          prepare: { [self] _ in try closeShared(kind) },
          run: { [self] _ in
            try kind.open(in: home(kind)).close()
            return 0
          },
          weigh: { [self] _ in loadedByteCounts[kind.folder] })
      }, measure: .fileBytes)
  }

  private func fileCompacted() -> Row {
    Row(
      name: "record-file-compacted", summary: "bytes of the files after a compaction (time: compacting and closing)",
      contenders: RecordKind.allUnsynced.map { kind in
        let copy = "\(directory)/copy-\(kind.folder)"
        return Contender(
          kind.engine, kind.variant, operations: Int(recordCount),
          prepare: { [self] _ in
            try closeShared(kind)
            try Files.copy(home(kind), to: copy)
            fresh = try kind.open(in: copy)
          },
          run: { [self] _ in
            try fresh?.compact()
            try fresh?.close()
            fresh = nil
            return 0
          },
          weigh: { _ in try Files.byteCount(in: copy) }, finish: { _ in try Files.remove(copy) })
      }, measure: .fileBytes)
  }

  private func memory() -> Row {
    var contenders = RecordKind.unsynced.map { kind in
      Contender(
        kind.engine, "warm", operations: 1,
        prepare: { [self] _ in try closeShared(kind) },
        run: { [self] _ in
          peakByteCount = try Child.memoryOfReadingRecords(
            isDaybook: kind.isDaybook, in: home(kind), recordCount: recordCount)
          return 0
        },
        weigh: { [self] _ in peakByteCount })
    }
    contenders.append(
      Contender(
        "floor", "process", isComparable: false, operations: 1,
        run: { [self] _ in
          peakByteCount = try Child.memoryOfNothing()
          return 0
        },
        weigh: { [self] _ in peakByteCount }))
    return Row(
      name: "record-memory-reading",
      summary: "peak of anonymous memory of a process that opens, fetches at random, scans and closes",
      contenders: contenders, measure: .anonymousBytes)
  }

  // MARK: writing

  private func insert() -> Row {
    Row(
      name: "record-insert", summary: "save a new record, 1000 a transaction, nothing waits for the disk",
      contenders: (RecordKind.allUnsynced + [.typeAlone]).map { kind in
        let home = "\(directory)/record-insert-\(kind.folder)"
        return Contender(
          kind.engine, kind.variant, isComparable: kind.table != .typeAlone, operations: Int(recordCount),
          prepare: { [self] _ in fresh = try kind.open(in: home) },
          run: { [self] _ in
            try fresh?.insert(0..<recordCount, perTransaction: 1000)
            return 0
          },
          finish: { [self] _ in try endFresh(home) })
      }, countsDeviceBytes: true)
  }

  private func endFresh(_ home: String) throws {
    try fresh?.close()
    fresh = nil
    try Files.remove(home)
  }

  private func save() -> Row {
    let count = Int(min(recordCount, 100_000))
    return Row(
      name: "record-save-existing-100", summary: "read a random record, change two fields, save it; 100 a transaction",
      contenders: RecordKind.allUnsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] _ in _ = try open(kind) },
          run: { [self] repetition in
            try open(kind).save(count, among: recordCount, round: UInt64(repetition), perTransaction: 100)
            return 0
          })
      }, countsDeviceBytes: true)
  }

  private func commit() -> Row {
    let count = Int(min(recordCount, 4_000))
    return Row(
      name: "record-commit-durable-1", summary: "save one new record in a durable commit of its own",
      contenders: RecordKind.synced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] repetition in
            let engine = try open(kind)
            if repetition == 0 { try (engine as? SQLiteRecords)?.fillLog() }
          },
          run: { [self] repetition in
            let first = UInt64(1) << 32 + UInt64(repetition * count)
            try open(kind).insert(first..<first + UInt64(count), perTransaction: 1)
            return 0
          })
      }, countsDeviceBytes: true)
  }

  // MARK: files

  func home(_ kind: RecordKind) -> String { "\(directory)/records-\(kind.folder)" }

  /// The engine's loaded file, opened with a promise.
  private func open(_ kind: RecordKind) throws -> any RecordEngine {
    if let open = shared[kind.folder], open.kind == kind { return open.engine }
    try closeShared(kind)
    let engine = try kind.open(in: home(kind))
    shared[kind.folder] = (kind, engine)
    // Every engine starts warm.
    _ = try engine.fetchOneField(Int(min(recordCount, 200_000)), among: recordCount, round: 99, ownSnapshots: true)
    return engine
  }

  /// Makes sure that the engine's loaded file is there and nobody has it open.
  func closeShared(_ kind: RecordKind) throws {
    if let open = shared.removeValue(forKey: kind.folder) { try open.engine.close() }
    let home = home(kind)
    if FileManager.default.fileExists(atPath: home) { return }
    let loading = try RecordKind(isDaybook: kind.isDaybook, isSynced: false, table: kind.table).open(in: home)
    try loading.insert(0..<recordCount, perTransaction: 1000)
    try loading.close()
    loadedByteCounts[kind.folder] = try Files.byteCount(in: home)
  }
}
