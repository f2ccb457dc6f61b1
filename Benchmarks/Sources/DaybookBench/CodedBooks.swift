import CSQLite
import Daybook
import DaybookCoding
import Foundation

/// A database of `CodedBook`. Every method is one whole loop.
protocol CodedBooks: AnyObject {
  func insert(_ numbers: Range<UInt64>) throws
  /// Values of random names. Returns a sum that needs all that is in them.
  func fetch(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64
  /// All values in the order in which they were saved.
  func scan() throws -> UInt64
  func close() throws
}

/// In Daybook: the calls that applications use.
final class DaybookCodedBooks: CodedBooks {
  private let database: Database

  init(_ path: String) throws {
    var options = Database.Options()
    options.durability = .relaxed
    database = try Database.open(at: path, options: options)
  }

  func close() throws { try database.close() }

  func insert(_ numbers: Range<UInt64>) throws {
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + 1000, numbers.upperBound)
      try database.write { transaction in
        for number in next..<end { try transaction.save(CodedBook(number)) }
      }
      next = end
    }
  }

  func fetch(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      let name = Book.name(Workload.pick(step, among: recordCount, round: round))
      guard let book = try database.fetch(CodedBook.self, name) else { throw BenchmarkFault("Daybook does not find a value") }
      sum &+= book.sum
    }
    return sum
  }

  func scan() throws -> UInt64 {
    var sum: UInt64 = 0
    try database.read { snapshot in
      var cursor: RecordCursor?
      repeat {
        let page = try snapshot.fetchPage(CodedBook.self, after: cursor, limit: 1000)
        for book in page.values { sum &+= book.sum }
        cursor = page.next
      } while cursor != nil
    }
    return sum
  }
}

/// In SQLite, which keeps less here than anywhere else in these benchmarks: no tags, dates, types or numbers of changes, and
/// whose scan walks the table in its own order. The three tags are one text with a line each.
final class SQLiteCodedBooks: CodedBooks {
  private let connection: SQLiteConnection
  private let begin, commit, add, one, all: OpaquePointer

  init(_ path: String) throws {
    connection = try SQLiteConnection(path, isSynced: false)
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS book(
        name TEXT NOT NULL PRIMARY KEY, title TEXT, author TEXT, year INTEGER, pageCount INTEGER, rating REAL, price REAL,
        published REAL, digest BLOB, isRead INTEGER, tags TEXT);
      """)
    let fields = "title, author, year, pageCount, rating, price, published, digest, isRead, tags, name"
    begin = try connection.prepare("BEGIN IMMEDIATE")
    commit = try connection.prepare("COMMIT")
    add = try connection.prepare("INSERT INTO book(\(fields)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")
    one = try connection.prepare("SELECT \(fields) FROM book WHERE name = ?1")
    all = try connection.prepare("SELECT \(fields) FROM book ORDER BY rowid")
  }

  func close() throws { try connection.close() }

  func insert(_ numbers: Range<UInt64>) throws {
    try connection.run(begin)
    for number in numbers {
      let book = CodedBook(number)
      bind(book.title, 1)
      bind(book.author, 2)
      sqlite3_bind_int64(add, 3, book.year)
      sqlite3_bind_int64(add, 4, book.pageCount)
      sqlite3_bind_double(add, 5, book.rating)
      sqlite3_bind_double(add, 6, book.price)
      sqlite3_bind_double(add, 7, book.published.timeIntervalSinceReferenceDate)
      _ = book.digest.withUnsafeBytes {
        sqlite3_bind_blob(add, 8, $0.baseAddress, Int32($0.count), SQLiteText.copied)
      }
      sqlite3_bind_int(add, 9, book.isRead ? 1 : 0)
      bind(book.tags.joined(separator: "\n"), 10)
      bind(book.id, 11)
      try connection.run(add)
    }
    try connection.run(commit)
  }

  private func bind(_ text: String, _ index: Int32) {
    var text = text
    text.withUTF8 { SQLiteText.bind($0, to: add, index, SQLiteText.copied) }
  }

  func fetch(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      var name = Book.name(Workload.pick(step, among: recordCount, round: round))
      try name.withUTF8 { name in
        SQLiteText.bind(name, to: one, 1, nil)
        guard sqlite3_step(one) == SQLITE_ROW else { throw BenchmarkFault("SQLite does not find a row") }
        sum &+= CodedBook(id: SQLiteText.text(one, 10), Book(one)).sum
        sqlite3_reset(one)
      }
    }
    return sum
  }

  func scan() throws -> UInt64 {
    var sum: UInt64 = 0
    while sqlite3_step(all) == SQLITE_ROW { sum &+= CodedBook(id: SQLiteText.text(all, 10), Book(all)).sum }
    sqlite3_reset(all)
    return sum
  }
}

/// Texts of SQLite's statements.
enum SQLiteText {
  /// The library makes a copy of its own.
  static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  @inline(__always)
  static func bind(
    _ text: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer, _ index: Int32, _ lifetime: sqlite3_destructor_type?
  ) {
    text.withMemoryRebound(to: CChar.self) { text in
      _ = sqlite3_bind_text(statement, index, text.baseAddress, Int32(text.count), lifetime)
    }
  }

  @inline(__always)
  static func text(_ statement: OpaquePointer, _ column: Int32) -> String {
    let bytes = sqlite3_column_text(statement, column)
    return String(
      decoding: UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column))), as: UTF8.self)
  }
}
