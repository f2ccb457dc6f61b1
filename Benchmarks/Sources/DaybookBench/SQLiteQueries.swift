import CSQLite
import Daybook
import Foundation

/// The same in SQLite, as an expert would: an R-tree over the places, FTS5 without a copy of the texts and without positions, indexes of
/// the other fields; statements prepared once.
///
/// R-tree and words are kept up by statements of their own within the transaction, which costs less than triggers.
final class SQLiteQueries: QueryEngine {
  private let connection: SQLiteConnection
  private let recordCount: Int
  private let indexes: VenueIndexes
  private var statements: [String: OpaquePointer] = [:]
  private var lastSequence: Int64 = 0

  init(_ path: String, isSynced: Bool, recordCount: Int, _ indexes: VenueIndexes) throws {
    self.recordCount = recordCount
    self.indexes = indexes
    connection = try SQLiteConnection(path, isSynced: isSynced)
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS venue(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, code INTEGER, rating REAL, title TEXT,
        latitude REAL, longitude REAL, text TEXT, "group" INTEGER, sequence INTEGER, tag INTEGER, created REAL, modified REAL);
      CREATE INDEX IF NOT EXISTS venueBySequence ON venue(sequence);
      """)
    if indexes.hasCode { try connection.execute("CREATE INDEX IF NOT EXISTS venueByCode ON venue(code)") }
    if indexes.hasOrders {
      try buildIndex()
      try connection.execute("CREATE INDEX IF NOT EXISTS venueByTitle ON venue(title)")
    }
    if indexes.hasWordsAndPlaces {
      try connection.execute(
        """
        CREATE VIRTUAL TABLE IF NOT EXISTS venuePlace USING rtree(id, south, north, west, east);
        CREATE VIRTUAL TABLE IF NOT EXISTS venueText USING fts5(text, content='venue', content_rowid='id', detail=none,
          columnsize=0);
        """)
    }
  }

  func close() throws { try connection.close() }

  private func statement(_ sql: String) throws -> OpaquePointer {
    if let known = statements[sql] { return known }
    let made = try connection.prepare(sql)
    statements[sql] = made
    return made
  }

  private func bind(_ text: String, to statement: OpaquePointer, _ index: Int32) {
    var text = text
    // The library copies it.
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        _ = sqlite3_bind_text(
          statement, index, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
      }
    }
  }

  private func inTransaction(_ body: () throws -> Void) throws {
    try connection.run(statement("BEGIN IMMEDIATE"))
    try body()
    try connection.run(statement("COMMIT"))
  }

  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    let add = try statement(
      """
      INSERT INTO venue(id, name, code, rating, title, latitude, longitude, text, "group", sequence, tag, created, modified)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)
      """)
    var (place, words): (OpaquePointer?, OpaquePointer?)
    if indexes.hasWordsAndPlaces {
      place = try statement("INSERT INTO venuePlace VALUES (?1, ?2, ?2, ?3, ?3)")
      words = try statement("INSERT INTO venueText(rowid, text) VALUES (?1, ?2)")
    }
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try inTransaction {
        for number in next..<end {
          let venue = Venue(number, among: recordCount)
          let id = Int64(number) + 1
          lastSequence += 1
          sqlite3_bind_int64(add, 1, id)
          bind(Venue.name(number), to: add, 2)
          sqlite3_bind_int64(add, 3, venue.code)
          sqlite3_bind_double(add, 4, venue.rating)
          bind(venue.title, to: add, 5)
          sqlite3_bind_double(add, 6, venue.latitude)
          sqlite3_bind_double(add, 7, venue.longitude)
          bind(venue.text, to: add, 8)
          sqlite3_bind_int64(add, 9, venue.group)
          sqlite3_bind_int64(add, 10, lastSequence)
          sqlite3_bind_int64(add, 11, Int64(bitPattern: Workload.mix(UInt64(lastSequence))))
          sqlite3_bind_double(add, 12, Date().timeIntervalSinceReferenceDate)
          try connection.run(add)
          guard let place, let words else { continue }
          sqlite3_bind_int64(place, 1, id)
          sqlite3_bind_double(place, 2, venue.latitude)
          sqlite3_bind_double(place, 3, venue.longitude)
          try connection.run(place)
          sqlite3_bind_int64(words, 1, id)
          bind(venue.text, to: words, 2)
          try connection.run(words)
        }
      }
      next = end
    }
  }

  /// Steps through the rows of a bound statement, which have title, code and rating first.
  private func sum(_ statement: OpaquePointer, where passes: (OpaquePointer) -> Bool = { _ in true }) throws -> UInt64 {
    var sum: UInt64 = 0
    var code = sqlite3_step(statement)
    while code == SQLITE_ROW {
      if passes(statement) {
        let title = String(
          decoding: UnsafeBufferPointer(
            start: sqlite3_column_text(statement, 0), count: Int(sqlite3_column_bytes(statement, 0))), as: UTF8.self)
        sum &+= UInt64(bitPattern: sqlite3_column_int64(statement, 1)) &+ sqlite3_column_double(statement, 2).bitPattern
        sum &+= UInt64(title.utf8.count) &+ 1
      }
      code = sqlite3_step(statement)
    }
    sqlite3_reset(statement)
    if code != SQLITE_DONE { try connection.check(code) }
    return sum
  }

  func equal(_ count: Int, round: UInt64) throws -> UInt64 {
    let find = try statement("SELECT title, code, rating FROM venue WHERE code = ?1")
    var sum: UInt64 = 0
    for step in 0..<count {
      sqlite3_bind_int64(find, 1, Venue.code(UInt64(step) &+ round &<< 40, among: recordCount))
      sum &+= try self.sum(find)
    }
    return sum
  }

  func range(_ count: Int, round: UInt64) throws -> UInt64 {
    try range(
      count, round, "SELECT title, code, rating FROM venue WHERE rating >= ?1 ORDER BY rating LIMIT \(QueryRows.limit)")
  }

  func highest(_ count: Int, round: UInt64) throws -> UInt64 {
    try range(
      count, round, "SELECT title, code, rating FROM venue WHERE rating <= ?1 ORDER BY rating DESC LIMIT \(QueryRows.limit)")
  }

  private func range(_ count: Int, _ round: UInt64, _ text: String) throws -> UInt64 {
    let find = try statement(text)
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = Workload.pick(step, among: UInt64(recordCount), round: round)
      sqlite3_bind_double(find, 1, Venue(number, among: recordCount).rating)
      sum &+= try self.sum(find)
    }
    return sum
  }

  func prefix(_ count: Int, round: UInt64) throws -> UInt64 {
    let find = try statement(
      "SELECT title, code, rating FROM venue WHERE title >= ?1 AND title < ?2 ORDER BY title LIMIT \(QueryRows.limit)")
    var sum: UInt64 = 0
    for step in 0..<count {
      let word = Venue.words[Int(Workload.pick(step, among: 1024, round: round))]
      bind(word, to: find, 1)
      bind(word + "\u{10FFFF}", to: find, 2)
      sum &+= try self.sum(find)
    }
    return sum
  }

  func circle(_ count: Int, round: UInt64) throws -> UInt64 {
    let find = try statement(
      """
      SELECT title, code, rating, latitude, longitude FROM venuePlace JOIN venue USING (id)
        WHERE south <= ?2 AND north >= ?1 AND west <= ?4 AND east >= ?3
      """)
    let kilometres = Venue.kilometres(among: recordCount)
    var sum: UInt64 = 0
    for step in 0..<count {
      let center = Venue.center(step, round)
      let angle = kilometres * 1000 / Location.earthRadius
      let height = angle * 180 / .pi
      let width = asin(min(1, sin(angle) / cos(center.latitude * .pi / 180))) * 180 / .pi
      sqlite3_bind_double(find, 1, center.latitude - height)
      sqlite3_bind_double(find, 2, center.latitude + height)
      sqlite3_bind_double(find, 3, center.longitude - width)
      sqlite3_bind_double(find, 4, center.longitude + width)
      sum &+= try self.sum(find) { row in
        let place = Location(latitude: sqlite3_column_double(row, 3), longitude: sqlite3_column_double(row, 4))
        return place.distance(to: center) <= kilometres * 1000
      }
    }
    return sum
  }

  func words(_ count: Int, round: UInt64) throws -> UInt64 {
    let find = try statement(
      "SELECT title, code, rating FROM venueText JOIN venue ON venue.id = venueText.rowid WHERE venueText MATCH ?1")
    var sum: UInt64 = 0
    for step in 0..<count {
      bind(QueryRows.words(step, among: recordCount, round: round), to: find, 1)
      sum &+= try self.sum(find)
    }
    return sum
  }

  func filter(_ count: Int, round: UInt64) throws -> UInt64 {
    let find = try statement("SELECT title, code, rating FROM venue WHERE \"group\" = ?1")
    var sum: UInt64 = 0
    for step in 0..<count {
      sqlite3_bind_int64(find, 1, Int64(Workload.pick(step, among: UInt64(Venue.groupCount), round: round)))
      sum &+= try self.sum(find)
    }
    return sum
  }

  func change(_ count: Int, round: UInt64, perTransaction: Int) throws {
    let tag = try statement("SELECT id, tag FROM venue WHERE name = ?1")
    let change = try statement(
      "UPDATE venue SET rating = ?1, tag = ?2, modified = ?3, sequence = ?4 WHERE id = ?5 AND tag = ?6")
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try inTransaction {
        for step in done..<end {
          bind(Venue.name(Workload.pick(step, among: UInt64(recordCount), round: round)), to: tag, 1)
          guard sqlite3_step(tag) == SQLITE_ROW else { throw BenchmarkFault("SQLite finds no record") }
          let (id, known) = (sqlite3_column_int64(tag, 0), sqlite3_column_int64(tag, 1))
          sqlite3_reset(tag)
          lastSequence += 1
          sqlite3_bind_double(change, 1, QueryRows.rating(step, round))
          sqlite3_bind_int64(change, 2, Int64(bitPattern: Workload.mix(UInt64(lastSequence))))
          sqlite3_bind_double(change, 3, Date().timeIntervalSinceReferenceDate)
          sqlite3_bind_int64(change, 4, lastSequence)
          sqlite3_bind_int64(change, 5, id)
          sqlite3_bind_int64(change, 6, known)
          try connection.run(change)
        }
      }
      done = end
    }
  }

  func buildIndex() throws { try connection.execute("CREATE INDEX IF NOT EXISTS venueByRating ON venue(rating)") }
  func dropIndex() throws { try connection.execute("DROP INDEX IF EXISTS venueByRating") }

  /// The file is smaller only when the log has been written back.
  func compact() throws {
    try connection.execute("VACUUM")
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}
