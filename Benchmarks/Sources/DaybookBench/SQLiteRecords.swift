import CSQLite
import Foundation

/// The same records in SQLite: a column a field, the name as key, an index by type and one by sequence.
///
/// It keeps what Daybook keeps: change tag, two dates, the number of the last change for the feed, and the changes of a type
/// in their order, because Daybook hands out the records of a type page by page, in the order of their last change.
/// `.typeAlone` leaves the changes out of that index, which makes inserts cheaper and such pages a sort. It does
/// not keep zones, users or older versions; where in doubt SQLite has less to do. The three tags are one text with a line each, which is split faster
/// than JSON is parsed.
final class SQLiteRecords: RecordEngine {
  private let connection: SQLiteConnection
  private let begin, commit, add, tag, change, whole, one, page, wholePage, countAll, countType: OpaquePointer
  private let typePage, all, beginReading: OpaquePointer
  private let addToCounter: OpaquePointer?
  private let path: String
  private var lastSequence: Int64
  private var pageStarts: [Int64] = []
  private var typeStarts: [String: [Int64]] = [:]

  /// - Parameter leavesLog: the log is never written back, so that whoever opens next finds all of it.
  init(_ path: String, isSynced: Bool, _ table: RecordKind.SQLiteTable, leavesLog: Bool = false) throws {
    self.path = path
    connection = try SQLiteConnection(path, isSynced: isSynced)
    if leavesLog { try connection.execute("PRAGMA wal_autocheckpoint = 0") }
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS record(
        name TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, sequence INTEGER NOT NULL, tag INTEGER NOT NULL,
        created REAL NOT NULL, modified REAL NOT NULL,
        title TEXT, author TEXT, year INTEGER, pageCount INTEGER, rating REAL, price REAL, published REAL, digest BLOB,
        isRead INTEGER, tags TEXT) \(table == .withoutRowID ? "WITHOUT ROWID" : "");
      CREATE INDEX IF NOT EXISTS record_by_type ON record(\(table == .typeAlone ? "type" : "type, sequence"));
      CREATE INDEX IF NOT EXISTS record_by_sequence ON record(sequence);
      """)
    let isCounted = table == .counted
    if isCounted {
      try connection.execute(
        "CREATE TABLE IF NOT EXISTS counter(type TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID")
    }
    addToCounter =
      isCounted
      ? try connection.prepare(
        "INSERT INTO counter VALUES (?1, ?2) ON CONFLICT(type) DO UPDATE SET number = number + excluded.number")
      : nil
    let fields = "title, author, year, pageCount, rating, price, published, digest, isRead, tags"
    begin = try connection.prepare("BEGIN IMMEDIATE")
    beginReading = try connection.prepare("BEGIN")
    commit = try connection.prepare("COMMIT")
    add = try connection.prepare(
      """
      INSERT INTO record(\(fields), name, type, sequence, tag, created, modified)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15)
      """)
    tag = try connection.prepare("SELECT tag FROM record WHERE name = ?1")
    change = try connection.prepare(
      """
      UPDATE record SET rating = ?1, pageCount = ?2, sequence = ?3, tag = ?4, modified = ?5
      WHERE name = ?6 AND tag = ?7
      """)
    whole = try connection.prepare("SELECT \(fields) FROM record WHERE name = ?1")
    one = try connection.prepare("SELECT year FROM record WHERE name = ?1")
    page = try connection.prepare(
      "SELECT name, year FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT 1000")
    wholePage = try connection.prepare(
      "SELECT \(fields), name FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT 1000")
    countAll = try connection.prepare(isCounted ? "SELECT sum(number) FROM counter" : "SELECT count(*) FROM record")
    countType = try connection.prepare(
      isCounted ? "SELECT number FROM counter WHERE type = ?1" : "SELECT count(*) FROM record WHERE type = ?1")
    typePage = try connection.prepare(
      "SELECT name, year FROM record WHERE type = ?1 AND sequence > ?2 ORDER BY sequence LIMIT 1000")
    all = try connection.prepare("SELECT \(fields), name FROM record ORDER BY name")
    let last = try connection.prepare("SELECT max(sequence) FROM record")
    _ = sqlite3_step(last)
    lastSequence = sqlite3_column_int64(last, 0)
    sqlite3_reset(last)
  }

  func close() throws { try connection.close() }

  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try connection.run(begin)
      for number in next..<end { try insert(number) }
      if let addToCounter { try count(next..<end, addToCounter) }
      try connection.run(commit)
      next = end
    }
  }

  /// Once a transaction, as an expert would.
  private func count(_ numbers: Range<UInt64>, _ addToCounter: OpaquePointer) throws {
    for var type in Book.types {
      let new = numbers.count { Book.type($0) == type }
      sqlite3_bind_int64(addToCounter, 2, Int64(new))
      try type.withUTF8 { type in
        bind(type, to: addToCounter, 1)
        try connection.run(addToCounter)
      }
    }
  }

  func fillLog() throws { try connection.fillLog(path, "UPDATE record SET tag = tag + 1; UPDATE record SET tag = tag - 1") }

  private func insert(_ number: UInt64) throws {
    let book = Book(number)
    lastSequence += 1
    sqlite3_bind_int64(add, 3, book.year)
    sqlite3_bind_int64(add, 4, book.pageCount)
    sqlite3_bind_double(add, 5, book.rating)
    sqlite3_bind_double(add, 6, book.price)
    sqlite3_bind_double(add, 7, book.published.timeIntervalSinceReferenceDate)
    sqlite3_bind_int(add, 9, book.isRead ? 1 : 0)
    sqlite3_bind_int64(add, 13, lastSequence)
    sqlite3_bind_int64(add, 14, Int64(bitPattern: Workload.mix(UInt64(lastSequence))))
    sqlite3_bind_double(add, 15, Date().timeIntervalSinceReferenceDate)
    var title = book.title
    var author = book.author
    var tags = book.tags.joined(separator: "\n")
    var name = Book.name(number)
    var type = Book.type(number)
    // Static bindings: the texts stay where they are until the statement has run.
    try title.withUTF8 { title in
      bind(title, to: add, 1)
      try author.withUTF8 { author in
        bind(author, to: add, 2)
        try book.digest.withUnsafeBytes { digest in
          sqlite3_bind_blob(add, 8, digest.baseAddress, Int32(digest.count), nil)
          try tags.withUTF8 { tags in
            bind(tags, to: add, 10)
            try name.withUTF8 { name in
              bind(name, to: add, 11)
              try type.withUTF8 { type in
                bind(type, to: add, 12)
                try connection.run(add)
              }
            }
          }
        }
      }
    }
  }

  func save(_ count: Int, among recordCount: UInt64, round: UInt64, perTransaction: Int) throws {
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try connection.run(begin)
      for step in done..<end {
        var name = Book.name(Workload.pick(step, among: recordCount, round: round))
        try name.withUTF8 { name in
          bind(name, to: tag, 1)
          guard sqlite3_step(tag) == SQLITE_ROW else { throw BenchmarkFault("SQLite does not find a record") }
          let known = sqlite3_column_int64(tag, 0)
          sqlite3_reset(tag)
          lastSequence += 1
          sqlite3_bind_double(change, 1, Double(step))
          sqlite3_bind_int64(change, 2, Int64(step))
          sqlite3_bind_int64(change, 3, lastSequence)
          sqlite3_bind_int64(change, 4, Int64(bitPattern: Workload.mix(UInt64(lastSequence))))
          sqlite3_bind_double(change, 5, Date().timeIntervalSinceReferenceDate)
          bind(name, to: change, 6)
          sqlite3_bind_int64(change, 7, known)
          try connection.run(change)
        }
      }
      try connection.run(commit)
      done = end
    }
  }

  func fetchTenFields(_ count: Int, among recordCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    try fetch(0..<count, whole, among: recordCount, round: round, ownSnapshots) { Book($0).sum }
  }

  /// The same sum of the columns where they lie, without a value of Swift: what a loop in C could do.
  func fetchTenFieldsInPlace(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64 {
    try fetch(0..<count, whole, among: recordCount, round: round, true, Book.sum)
  }

  func fetchOneField(_ count: Int, among recordCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    try fetch(0..<count, one, among: recordCount, round: round, ownSnapshots) {
      UInt64(bitPattern: sqlite3_column_int64($0, 0))
    }
  }

  func fetchHundreds(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for hundred in 0..<count {
      sum &+= try fetch(hundred * 100..<hundred * 100 + 100, one, among: recordCount, round: round, false) {
        UInt64(bitPattern: sqlite3_column_int64($0, 0))
      }
    }
    return sum
  }

  @inline(__always)
  private func fetch(
    _ steps: Range<Int>, _ statement: OpaquePointer, among recordCount: UInt64, round: UInt64, _ ownSnapshots: Bool,
    _ read: (OpaquePointer) -> UInt64
  ) throws -> UInt64 {
    // Outside a transaction every statement has a snapshot of its own.
    if !ownSnapshots { try connection.run(beginReading) }
    var sum: UInt64 = 0
    for step in steps {
      var name = Book.name(Workload.pick(step, among: recordCount, round: round))
      try name.withUTF8 { name in
        bind(name, to: statement, 1)
        guard sqlite3_step(statement) == SQLITE_ROW else { throw BenchmarkFault("SQLite does not find a record") }
        sum &+= read(statement)
        sqlite3_reset(statement)
      }
    }
    if !ownSnapshots { try connection.run(commit) }
    return sum
  }

  func prepareChanges() throws {
    guard pageStarts.isEmpty else { return }
    pageStarts = starts(of: try connection.prepare("SELECT sequence FROM record ORDER BY sequence"))
  }

  /// Where pages of a thousand rows begin, as the sequence in front of each; whole pages only.
  private func starts(of sequences: OpaquePointer) -> [Int64] {
    var starts: [Int64] = []
    var position = 0
    var last: Int64 = 0
    while sqlite3_step(sequences) == SQLITE_ROW {
      if position % 1000 == 0 { starts.append(last) }
      last = sqlite3_column_int64(sequences, 0)
      position += 1
    }
    sqlite3_reset(sequences)
    if position % 1000 != 0 && starts.count > 1 { starts.removeLast() }
    return starts
  }

  func changes(_ pageCount: Int, round: UInt64, areWhole: Bool) throws -> UInt64 {
    var sum: UInt64 = 0
    let statement = areWhole ? wholePage : page
    for step in 0..<pageCount {
      let start = pageStarts[Int(Workload.pick(step, among: UInt64(pageStarts.count), round: round))]
      sqlite3_bind_int64(statement, 1, start)
      while sqlite3_step(statement) == SQLITE_ROW {
        if areWhole {
          sum &+= Book(statement).sum &+ UInt64(text(statement, 10).utf8.count)
        } else {
          sum &+= UInt64(text(statement, 0).utf8.count)
          sum &+= UInt64(bitPattern: sqlite3_column_int64(statement, 1))
        }
      }
      sqlite3_reset(statement)
    }
    return sum
  }

  func pages(_ pageCount: Int, ofType type: String, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    var type = type
    if typeStarts[type] == nil {
      let sequences = try connection.prepare("SELECT sequence FROM record WHERE type = ?1 ORDER BY sequence")
      typeStarts[type] = type.withUTF8 { text in
        bind(text, to: sequences, 1)
        return self.starts(of: sequences)
      }
    }
    let typeStarts = typeStarts[type] ?? []
    type.withUTF8 { type in
      bind(type, to: typePage, 1)
      for step in 0..<pageCount {
        sqlite3_bind_int64(typePage, 2, typeStarts[Int(Workload.pick(step, among: UInt64(typeStarts.count), round: round))])
        while sqlite3_step(typePage) == SQLITE_ROW {
          sum &+= UInt64(text(typePage, 0).utf8.count)
          sum &+= UInt64(bitPattern: sqlite3_column_int64(typePage, 1))
        }
        sqlite3_reset(typePage)
      }
    }
    return sum
  }

  func scan() throws -> UInt64 {
    var sum: UInt64 = 0
    while sqlite3_step(all) == SQLITE_ROW { sum &+= Book(all).sum &+ UInt64(text(all, 10).utf8.count) }
    sqlite3_reset(all)
    return sum
  }

  func compact() throws {
    try connection.execute("VACUUM")
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func count(_ count: Int, type: String?) throws -> UInt64 {
    var result: Int64 = 0
    let statement = type == nil ? countAll : countType
    for _ in 0..<count {
      var type = type ?? ""
      type.withUTF8 { type in
        if !type.isEmpty { bind(type, to: statement, 1) }
        _ = sqlite3_step(statement)
        result = sqlite3_column_int64(statement, 0)
        sqlite3_reset(statement)
      }
    }
    return UInt64(result)
  }
}

/// Binds text that stays where it is until the statement has run.
@inline(__always)
private func bind(_ text: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer, _ index: Int32) {
  text.withMemoryRebound(to: CChar.self) { text in
    _ = sqlite3_bind_text(statement, index, text.baseAddress, Int32(text.count), nil)
  }
}

@inline(__always)
private func text(_ statement: OpaquePointer, _ column: Int32) -> String {
  let bytes = sqlite3_column_text(statement, column)
  return String(
    decoding: UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column))), as: UTF8.self)
}

extension Book {
  /// All ten columns of a row.
  init(_ row: OpaquePointer) {
    let digest = sqlite3_column_blob(row, 7)
    let lines = UnsafeBufferPointer(
      start: sqlite3_column_text(row, 9), count: Int(sqlite3_column_bytes(row, 9)))
    self.init(
      title: text(row, 0), author: text(row, 1), year: sqlite3_column_int64(row, 2),
      pageCount: sqlite3_column_int64(row, 3), rating: sqlite3_column_double(row, 4),
      price: sqlite3_column_double(row, 5),
      published: Date(timeIntervalSinceReferenceDate: sqlite3_column_double(row, 6)),
      digest: digest.map { Data(bytes: $0, count: Int(sqlite3_column_bytes(row, 7))) } ?? Data(),
      isRead: sqlite3_column_int(row, 8) != 0, tags: Book.lines(lines))
  }

  /// `sum` of a row whose columns stay where they are.
  static func sum(_ row: OpaquePointer) -> UInt64 {
    // In this order: to ask for the text may move it, its length is asked for afterwards.
    let title = sqlite3_column_text(row, 0) == nil ? 0 : sqlite3_column_bytes(row, 0)
    let author = sqlite3_column_text(row, 1) == nil ? 0 : sqlite3_column_bytes(row, 1)
    var sum = UInt64(title) &+ UInt64(author) &* 3
    sum &+= UInt64(bitPattern: sqlite3_column_int64(row, 2)) &+ UInt64(bitPattern: sqlite3_column_int64(row, 3))
    for column in Int32(4)...6 { sum &+= sqlite3_column_double(row, column).bitPattern }
    if let digest = sqlite3_column_blob(row, 7)?.assumingMemoryBound(to: UInt8.self) {
      sum &+= UInt64(digest[0]) &+ UInt64(digest[31])
    }
    sum &+= sqlite3_column_int(row, 8) != 0 ? 1 : 0
    guard let tags = sqlite3_column_text(row, 9) else { return sum }
    for index in 0..<Int(sqlite3_column_bytes(row, 9)) where tags[index] != 10 { sum &+= 1 }
    return sum
  }

  @inline(__always)
  private static func lines(_ bytes: UnsafeBufferPointer<UInt8>) -> [String] {
    var result: [String] = []
    result.reserveCapacity(3)
    var start = 0
    for index in 0...bytes.count where index == bytes.count || bytes[index] == 10 {
      result.append(String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<index]), as: UTF8.self))
      start = index + 1
    }
    return result
  }
}
