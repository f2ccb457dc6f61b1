import Foundation

/// Rows about what applications do beside getting and saving records one by one: savepoints, short sessions, wide and large
/// records, histories, many zones, rollbacks, copies.
final class UseRows {
  let directory: String
  let recordCount: Int
  var engines: [String: any UseEngine] = [:]

  private static let savepointCount = 10_000
  private static let rollbackCount = 100_000
  private static let zoneCount = 100_000
  private static let versionCount = 10_000

  init(in directory: String, recordCount: Int) {
    self.directory = directory
    self.recordCount = recordCount
  }

  func rows() -> [Row] {
    [savepoints(), session()]
      + [1, 50, 200].flatMap { [insertWide(fieldCount: $0), fetchWide(fieldCount: $0)] }
      + [10_000, 100_000, 1_000_000].map(changeLarge)
      + [1, 50, 200].map(fileWide)
      + [history(limit: 20), history(limit: UseRows.versionCount), zones(), rollBack(), backUp(), compact()]
      + [closeAfterUpdates(), slowGet(), saveFromTasks()]
  }

  // MARK: rows

  private func savepoints() -> Row {
    let count = UseRows.savepointCount
    return row(
      "use-savepoint", "read a record and change a field in a savepoint of its own, \(count) in one transaction", count,
      hasTables: true, make: { try $0.insertWide(1_000, fieldCount: 10) },
      run: { engine, _ in
        try engine.savepoints(count, among: 1_000)
        return 0
      })
  }

  private func session() -> Row {
    Row(
      name: "use-session", summary: "open a database of 1000 records, save one record durably, close",
      contenders: RecordKind.synced.map { kind in
        let home = home("use-session", kind)
        return Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { _ in
            if FileManager.default.fileExists(atPath: home) { return }
            let engine = try kind.openUse(in: home)
            try engine.insertWide(1_000, fieldCount: 10)
            try engine.close()
          },
          run: { repetition in
            let engine = try kind.openUse(in: home)
            try engine.saveOne(repetition)
            try engine.close()
            return 0
          })
      }, countsDeviceBytes: true, minimumRepetitionCount: 9)
  }

  private func insertWide(fieldCount: Int) -> Row {
    let count = 200_000 / max(fieldCount, 10)
    return row(
      "use-insert-\(fieldCount)-fields", "save a new record of \(fieldCount) integers, all in one transaction", count,
      fieldCount: fieldCount, hasTables: true, make: { _ in },
      run: { engine, _ in
        try engine.insertWide(count, fieldCount: fieldCount)
        return 0
      })
  }

  private func fetchWide(fieldCount: Int) -> Row {
    let count = 200_000 / max(fieldCount, 10)
    return row(
      "use-fetch-\(fieldCount)-fields", "fetch a random record of \(fieldCount) integers, all of them", count,
      fieldCount: fieldCount, keeps: true, hasTables: true,
      make: { try $0.insertWide(count, fieldCount: fieldCount) },
      run: { try $0.fetchWide(count, among: count, fieldCount: fieldCount, round: UInt64($1)) })
  }

  private func changeLarge(byteCount: Int) -> Row {
    let count = min(500, 50_000_000 / byteCount)
    return row(
      "use-change-\(byteCount / 1000)-kb", "change 8 bytes of a value of \(byteCount) bytes, a commit each", count, keeps: true,
      make: { try $0.insertLarge(byteCount: byteCount) },
      run: { engine, _ in
        try engine.changeLarge(count, byteCount: byteCount)
        return 0
      })
  }

  private func history(limit: Int) -> Row {
    let all = UseRows.versionCount
    return row(
      limit == all ? "use-history-all" : "use-history-\(limit)", "the newest \(limit) versions of a record that has \(all)",
      limit, keeps: true,
      make: { try $0.makeVersions(all) }, run: { engine, _ in try engine.versions(limit: limit) })
  }

  private func zones() -> Row {
    let count = UseRows.zoneCount
    return row(
      "use-zones", "list \(count) zones", count, keeps: true,
      make: { try $0.makeZones(count) }, run: { engine, _ in try engine.listZones() })
  }

  private func rollBack() -> Row {
    let count = UseRows.rollbackCount
    return row(
      "use-rollback", "save a new record in a transaction that is rolled back after \(count) (bytes: the files afterwards)",
      count, hasTables: true, make: { _ in },
      run: { engine, _ in
        try engine.rollBack(count)
        return 0
      }, weighs: true)
  }

  private func backUp() -> Row {
    let count = min(recordCount, 200_000)
    var row = row(
      "use-backup", "copy an open database of \(count) records of ten integers, synced", 1, keeps: true,
      make: { try $0.insertWide(count, fieldCount: 10) },
      run: { [directory] engine, _ in
        try engine.backUp(to: directory + "/backup")
        return 0
      },
      after: { [directory] in
        for suffix in ["", "-wal", "-shm", ".assets"] { try Files.remove(directory + "/backup" + suffix) }
      })
    let source = home("use-backup", RecordKind.unsynced[0]) + "/use.daybook"
    row.floors = [
      Contender(
        "floor", "cp and sync", isComparable: false, operations: 1,
        run: { [directory] _ in
          try Files.copySynced(source, to: directory + "/backup")
          return 0
        }, finish: { [directory] _ in try Files.remove(directory + "/backup") })
    ]
    return row
  }

  // MARK: parts of rows

  /// - Parameters:
  ///   - hasTables: SQLite takes part with both of its tables.
  ///   - keeps: every repetition works on the database of the first; otherwise each has a new one.
  ///   - make: fills a new database; not measured.
  ///   - weighs: the bytes of its files afterwards belong to the result.
  func row(
    _ name: String, _ summary: String, _ operations: Int, fieldCount: Int = 10, keeps: Bool = false, hasTables: Bool = false,
    make: @escaping (any UseEngine) throws -> Void, run: @escaping (any UseEngine, _ repetition: Int) throws -> UInt64,
    after: @escaping () throws -> Void = {}, weighs: Bool = false
  ) -> Row {
    let kinds = hasTables ? RecordKind.allUnsynced : RecordKind.unsynced
    var row = Row(
      name: name, summary: summary,
      contenders: kinds.map { kind in
        let home = home(name, kind)
        let key = name + kind.folder
        return Contender(
          kind.engine, kind.variant, operations: operations,
          prepare: { [self] _ in
            if engines[key] != nil { return }
            let engine = try kind.openUse(in: home, fieldCount: fieldCount)
            try make(engine)
            engines[key] = engine
          },
          run: { [self] repetition in
            guard let engine = engines[key] else { throw BenchmarkFault("\(name): nothing was made ready") }
            return try run(engine, repetition)
          },
          weigh: weighs ? { _ in try Files.byteCount(in: home) } : nil,
          finish: { [self] _ in
            try after()
            if !keeps { try close(key, home) }
          })
      }, hasEqualSums: true)
    row.afterwards = { [self] in
      for kind in kinds { try close(name + kind.folder, home(name, kind)) }
    }
    return row
  }

  func close(_ key: String, _ home: String) throws {
    try engines.removeValue(forKey: key)?.close()
    try Files.remove(home)
  }

  func home(_ name: String, _ kind: RecordKind) -> String { "\(directory)/\(name)-\(kind.folder)" }
}
