import Daybook
import DaybookCoding
import Foundation

/// The rows about Codable values: decoding and encoding alone, beside JSON and code written by hand; fetching and scanning values,
/// beside SQLite filling the same struct.
final class CodingRows {
  private let directory: String
  private let recordCount: UInt64
  private var books: [CodedBook] = []
  private var records: [Record] = []
  private var texts: [Data] = []
  private var sources: [CodableFloor.Source] = []
  private var engines: [String: any CodedBooks] = [:]

  /// Decoded and encoded again and again: they stay in the processor's caches.
  private static let valueCount = 1000

  init(in directory: String, recordCount: Int) {
    self.directory = directory
    self.recordCount = UInt64(recordCount)
  }

  func close() throws {
    for (_, engine) in engines { try engine.close() }
    engines = [:]
  }

  func rows() -> [Row] {
    let fetches = Int(min(1_000_000, recordCount))
    return [
      decode(), encode(),
      read("coding-fetch", "fetch the value of a random name: a Codable struct of ten fields", fetches) {
        [recordCount] in try $0.fetch(fetches, among: recordCount, round: $1)
      },
      read(
        "coding-scan", "all values of a type, a Codable struct of ten fields, in the order they were saved in", Int(recordCount)
      ) {
        engine, _ in try engine.scan()
      },
    ]
  }

  // MARK: without a database

  private func decode() -> Row {
    row("coding-decode", "make a Codable struct of ten fields from a record in memory") { [self] in
      let decoder = RecordDecoder()
      return try sum(of: records) { try decoder.decode(CodedBook.self, from: $0) }
    } byHand: { [self] in
      try sum(of: records) { record in
        guard let book = Book(record) else { throw BenchmarkFault("a record lacks fields") }
        return CodedBook(id: record.id.name, book)
      }
    } json: { [self] in
      let decoder = JSONDecoder()
      return try sum(of: texts) { try decoder.decode(CodedBook.self, from: $0) }
    } floor: { [self] in
      try sum(of: sources) { try $0.book() }
    }
  }

  private func encode() -> Row {
    row("coding-encode", "make a record of a Codable struct of ten fields, in memory") { [self] in
      let encoder = RecordEncoder()
      return try count(books) { try encoder.encode($0).type.isEmpty ? 0 : 1 }
    } byHand: { [self] in
      try count(books) { try $0.record().type.isEmpty ? 0 : 1 }
    } json: { [self] in
      let encoder = JSONEncoder()
      return try count(books) { try encoder.encode($0).isEmpty ? 0 : 1 }
    } floor: { [self] in
      let sink = CodableFloor.Sink()
      return try count(books) {
        try sink.drop($0)
        return 1
      }
    }
  }

  private func sum<T>(of sources: [T], _ decode: (T) throws -> CodedBook) rethrows -> UInt64 {
    var sum: UInt64 = 0
    for _ in 0..<operationCount / CodingRows.valueCount {
      for source in sources { sum &+= try decode(source).sum }
    }
    return sum
  }

  private func count(_ books: [CodedBook], _ encode: (CodedBook) throws -> UInt64) rethrows -> UInt64 {
    var sum: UInt64 = 0
    for _ in 0..<operationCount / CodingRows.valueCount {
      for book in books { sum &+= try encode(book) }
    }
    return sum
  }

  private var operationCount: Int { max(CodingRows.valueCount, Int(recordCount)) }

  private func row(
    _ name: String, _ summary: String, codable: @escaping () throws -> UInt64, byHand: @escaping () throws -> UInt64,
    json: @escaping () throws -> UInt64, floor: @escaping () throws -> UInt64
  ) -> Row {
    let operations = operationCount / CodingRows.valueCount * CodingRows.valueCount
    func contender(_ engine: String, _ variant: String, _ isComparable: Bool, _ run: @escaping () throws -> UInt64) -> Contender
    {
      Contender(
        engine, variant, isComparable: isComparable, operations: operations,
        prepare: { [self] _ in try makeValues() }, run: { _ in try run() })
    }
    return Row(
      name: name, summary: summary,
      contenders: [
        contender("daybook", "Codable", true, codable), contender("json", "Foundation", true, json),
        contender("daybook", "by hand", false, byHand),
      ], floors: [contender("floor", "Codable alone", false, floor)], hasEqualSums: true)
  }

  private func makeValues() throws {
    guard records.isEmpty else { return }
    books = (0..<UInt64(CodingRows.valueCount)).map { CodedBook($0) }
    let encoder = JSONEncoder()
    texts = try books.map { try encoder.encode($0) }
    sources = books.map { CodableFloor.Source($0) }
    let home = directory + "/values"
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    let database = try Database.open(at: home + "/values.daybook")
    for book in books { try database.save(book) }
    // As a database hands them out: stored bodies.
    records = try books.map { book in
      guard let record = try database.record(Record.ID(book.id)) else { throw BenchmarkFault("a record is lost") }
      return record
    }
    try database.close()
  }

  // MARK: with a database

  private func read(
    _ name: String, _ summary: String, _ operations: Int,
    _ run: @escaping (any CodedBooks, _ round: UInt64) throws -> UInt64
  ) -> Row {
    Row(
      name: name, summary: summary,
      contenders: ["daybook", "sqlite"].map { engine in
        Contender(
          engine, "warm", operations: operations,
          prepare: { [self] _ in _ = try open(engine) },
          run: { [self] repetition in try run(open(engine), UInt64(repetition)) })
      }, hasEqualSums: true)
  }

  private func open(_ engine: String) throws -> any CodedBooks {
    if let known = engines[engine] { return known }
    let home = directory + "/" + engine
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    func open() throws -> any CodedBooks {
      engine == "daybook" ? try DaybookCodedBooks(home + "/books") : try SQLiteCodedBooks(home + "/books")
    }
    let loading = try open()
    try loading.insert(0..<recordCount)
    try loading.close()
    let opened = try open()
    // Both start warm.
    _ = try opened.scan()
    engines[engine] = opened
    return opened
  }
}

extension CodedBook {
  /// Its record, made without Codable.
  fileprivate func record() throws -> Record {
    var record = try Record(type: CodedBook.recordType, id: Record.ID(id))
    record["title"] = title
    record["author"] = author
    record["year"] = year
    record["pageCount"] = pageCount
    record["rating"] = rating
    record["price"] = price
    record["published"] = published
    record["digest"] = digest
    record["isRead"] = isRead
    record["tags"] = tags
    return record
  }
}
