import Foundation

/// Rows about queries and their indexes, beside SQLite's indexes, R-tree and FTS5.
final class QueryRows {
  static let limit = 50
  private static let changeCount = 20_000
  private static let observedCount = 100

  private let directory: String
  private let recordCount: Int
  private var engines: [String: any QueryEngine] = [:]
  /// What the reading rows share.
  private static let shared = "query-reading"
  private var observers: [Task<Void, Never>] = []

  init(in directory: String, recordCount: Int) {
    self.directory = directory
    self.recordCount = recordCount
  }

  func rows() -> [Row] {
    [
      reading("query-equal", "find the eleven records or so with a value, by its index", 2_000) { try $0.equal($1, round: $2) },
      reading("query-range-50", "the first 50 records from a value on, in its order", 1_000) { try $0.range($1, round: $2) },
      reading("query-highest-50", "the 50 records with the highest values up to one, those first", 1_000) {
        try $0.highest($1, round: $2)
      },
      reading("query-prefix-50", "the first 50 records whose text begins with a word, in its order", 1_000) {
        try $0.prefix($1, round: $2)
      },
      reading("query-radius", "the twenty records or so in a circle (SQLite: R-tree)", 500) { try $0.circle($1, round: $2) },
      reading("query-tokens", "the records whose text has both of two words (SQLite: FTS5)", 300) {
        try $0.words($1, round: $2)
      },
      reading("query-filter", "one record of a hundred, by a field without an index", 3) { try $0.filter($1, round: $2) },
      insert("query-insert-3-values", "save a new record with three indexes of values, 1000 a transaction", .values),
      insert(
        "query-insert-3-kinds", "save a new record with indexes of a value, of words and of places, 1000 a transaction", .kinds),
      change(), build(), observe(), compact(),
    ]
  }

  func close() throws {
    for key in engines.keys.sorted() { try engines.removeValue(forKey: key)?.close() }
  }

  /// Two words of a record's text.
  static func words(_ step: Int, among recordCount: Int, round: UInt64) -> String {
    let number = Workload.pick(step, among: UInt64(recordCount), round: round)
    let words = Venue(number, among: recordCount).text.split(separator: " ")
    return "\(words[0]) \(words[1])"
  }

  static func rating(_ step: Int, _ round: UInt64) -> Double {
    Double(Workload.mix(UInt64(step) &+ round &<< 40 &+ 5) >> 16) / 1_000_000
  }

  // MARK: rows

  /// All reading rows share one database for each engine, closed and opened again after it was filled.
  private func reading(
    _ name: String, _ summary: String, _ count: Int, _ run: @escaping (any QueryEngine, Int, UInt64) throws -> UInt64
  ) -> Row {
    Row(
      name: name, summary: summary,
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] _ in
            // Read once: it is warm.
            if try fill(QueryRows.shared, kind, recordCount, .all) {
              _ = try engine(QueryRows.shared, kind).filter(1, round: 0)
            }
          },
          run: { [self] in try run(engine(QueryRows.shared, kind), count, UInt64($0)) })
      }, hasEqualSums: true)
  }

  private func insert(_ name: String, _ summary: String, _ indexes: VenueIndexes) -> Row {
    Row(
      name: name, summary: summary,
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: recordCount,
          prepare: { [self] _ in engines[key(name, kind)] = try open(name, kind, recordCount, indexes) },
          run: { [self] _ in
            try engine(name, kind).insert(0..<UInt64(recordCount), perTransaction: 1000)
            return 0
          },
          finish: { [self] _ in try remove(name, kind) })
      }, countsDeviceBytes: true)
  }

  private func change() -> Row {
    let name = "query-save-1-of-3"
    return Row(
      name: name,
      summary: "read a random record, change one of its three indexed values, save it; 100 a transaction",
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: QueryRows.changeCount,
          prepare: { [self] _ in try fill(name, kind, recordCount, .values) },
          run: { [self] repetition in
            try engine(name, kind).change(QueryRows.changeCount, round: UInt64(repetition), perTransaction: 100)
            return 0
          })
      }, countsDeviceBytes: true, afterwards: { [self] in try removeAll(name) })
  }

  private func build() -> Row {
    let name = "query-build-index"
    return Row(
      name: name, summary: "make an index of values of records that are there, one operation a record",
      contenders: RecordKind.unsynced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: recordCount,
          prepare: { [self] _ in try fill(name, kind, recordCount, .none) },
          run: { [self] _ in
            try engine(name, kind).buildIndex()
            return 0
          },
          finish: { [self] _ in try engine(name, kind).dropIndex() })
      }, countsDeviceBytes: true, afterwards: { [self] in try removeAll(name) })
  }

  /// Daybook alone: what its observers cost its writer.
  private func observe() -> Row {
    let name = "query-observe-100"
    let kind = RecordKind.unsynced[0]
    func contender(_ variant: String, observed count: Int) -> Contender {
      Contender(
        kind.engine, variant, operations: QueryRows.changeCount,
        prepare: { [self] _ in
          try fill(name, kind, recordCount, .values)
          if count > 0, let engine = try engine(name, kind) as? DaybookQueries { observers = engine.observe(count) }
        },
        run: { [self] repetition in
          try engine(name, kind).change(QueryRows.changeCount, round: UInt64(repetition), perTransaction: 100)
          return 0
        },
        finish: { [self] _ in
          for task in observers { task.cancel() }
          observers = []
        })
    }
    return Row(
      name: name,
      summary:
        "read a random record, change an indexed value, save it, with none and with 100 queries observed; 100 a transaction",
      contenders: [
        contender("unsynced", observed: 0),
        contender("\(QueryRows.observedCount) observed", observed: QueryRows.observedCount),
      ], minimumRepetitionCount: 5, afterwards: { [self] in try removeAll(name) })
  }

  private func compact() -> Row {
    let name = "query-compact"
    let count = min(recordCount, 200_000)
    return Row(
      name: name,
      summary: "compact a database of \(count) records with indexes of a value, of words and of places, durably",
      contenders: RecordKind.synced.map { kind in
        Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { [self] _ in try fill(name, kind, count, .kinds) },
          run: { [self] _ in
            try engine(name, kind).compact()
            return 0
          },
          weigh: { [self] _ in try Files.byteCount(in: home(name, kind)) })
      }, countsDeviceBytes: true, afterwards: { [self] in try removeAll(name, RecordKind.synced) })
  }

  // MARK: parts of rows

  private func key(_ name: String, _ kind: RecordKind) -> String { "\(name) \(kind.engine)" }
  private func home(_ name: String, _ kind: RecordKind) -> String { "\(directory)/\(name)-\(kind.engine)" }

  private func open(_ name: String, _ kind: RecordKind, _ count: Int, _ indexes: VenueIndexes) throws -> any QueryEngine {
    try kind.openQueries(in: home(name, kind), recordCount: count, indexes)
  }

  private func engine(_ name: String, _ kind: RecordKind) throws -> any QueryEngine {
    guard let engine = engines[key(name, kind)] else { throw BenchmarkFault("\(name): nothing was made ready") }
    return engine
  }

  /// Fills a database, closes it and opens it again, unless it is there. Returns whether it was not.
  @discardableResult
  private func fill(_ name: String, _ kind: RecordKind, _ count: Int, _ indexes: VenueIndexes) throws -> Bool {
    if engines[key(name, kind)] != nil { return false }
    let filling = try open(name, kind, count, indexes)
    try filling.insert(0..<UInt64(count), perTransaction: 1000)
    try filling.close()
    engines[key(name, kind)] = try open(name, kind, count, indexes)
    return true
  }

  private func remove(_ name: String, _ kind: RecordKind) throws {
    try engines.removeValue(forKey: key(name, kind))?.close()
    try Files.remove(home(name, kind))
  }

  private func removeAll(_ name: String, _ kinds: [RecordKind] = RecordKind.unsynced) throws {
    for kind in kinds { try remove(name, kind) }
  }
}
