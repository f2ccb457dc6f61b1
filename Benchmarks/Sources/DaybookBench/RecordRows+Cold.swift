import Foundation

/// Rows about files of which nothing is in memory: the system's cache is asked to drop them, each time.
extension RecordRows {
  func cold() -> [Row] {
    let all = Int(recordCount)
    let gets = min(1_000, all)
    return [
      cold("record-cold-open", "open a closed database of which nothing is in memory, and fetch one record", 1, isOpening: true)
      {
        [recordCount] in try $0.fetchOneField(1, among: recordCount, round: $1, ownSnapshots: true)
      },
      cold("record-cold-fetch", "fetch a random record, one field, when nothing is in memory", gets) {
        [recordCount] in try $0.fetchOneField(gets, among: recordCount, round: $1, ownSnapshots: true)
      },
      cold("record-cold-scan", "all records in the order of their names, when nothing is in memory", all) { engine, _ in
        try engine.scan()
      },
      cold("record-cold-count", "count the records of one type when nothing is in memory", 1) { engine, _ in
        try engine.count(1, type: Book.types[1])
      },
    ]
  }

  private func cold(
    _ name: String, _ summary: String, _ operations: Int, isOpening: Bool = false,
    _ body: @escaping (any RecordEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    Row(
      name: name, summary: summary,
      contenders: RecordKind.allUnsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: operations,
          prepare: { [self] _ in
            try closeShared(kind)
            sync()
            try Files.evict(home(kind))
            if !isOpening { fresh = try kind.open(in: home(kind)) }
          },
          run: { [self] repetition in
            let engine = try fresh ?? kind.open(in: home(kind))
            fresh = engine
            return try body(engine, UInt64(repetition))
          },
          finish: { [self] _ in
            try fresh?.close()
            fresh = nil
          })
      }, hasEqualSums: true, minimumRepetitionCount: 5)
  }
}
