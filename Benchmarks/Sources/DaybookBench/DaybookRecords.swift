import Daybook
import Foundation

/// Records in Daybook, through the API that applications use.
final class DaybookRecords: RecordEngine {
  private let database: Database
  private var tokens: [ChangeToken?] = []
  private var cursors: [String: [RecordCursor?]] = [:]

  /// - Parameter leavesLog: no checkpoint before 128 MB of log.
  init(_ path: String, isSynced: Bool, leavesLog: Bool = false) throws {
    var options = Database.Options()
    if leavesLog {
      options.checkpoint.minimumLogByteCount = 256 << 20
      options.checkpoint.maximumLogByteCount = 256 << 20
    }
    options.durability = isSynced ? .full : .relaxed
    database = try Database.open(at: path, options: options)
  }

  func close() throws { try database.close() }

  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try database.write { transaction in
        for number in next..<end {
          let book = Book(number)
          var record = try Record(type: Book.type(number), id: Record.ID(Book.name(number)))
          record["title"] = book.title
          record["author"] = book.author
          record["year"] = book.year
          record["pageCount"] = book.pageCount
          record["rating"] = book.rating
          record["price"] = book.price
          record["published"] = book.published
          record["digest"] = book.digest
          record["isRead"] = book.isRead
          record["tags"] = book.tags
          try transaction.save(record)
        }
      }
      next = end
    }
  }

  func save(_ count: Int, among recordCount: UInt64, round: UInt64, perTransaction: Int) throws {
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try database.write { transaction in
        for step in done..<end {
          let number = Workload.pick(step, among: recordCount, round: round)
          guard var record = try transaction.record(Record.ID(Book.name(number))) else {
            throw BenchmarkFault("Daybook does not find a record")
          }
          record["rating"] = Double(step)
          record["pageCount"] = Int64(step)
          try transaction.save(record)
        }
      }
      done = end
    }
  }

  func fetchTenFields(_ count: Int, among recordCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    var sum: UInt64 = 0
    if !ownSnapshots {
      try database.read { snapshot in
        for step in 0..<count {
          let number = Workload.pick(step, among: recordCount, round: round)
          sum &+= try DaybookRecords.sum(snapshot.record(Record.ID(Book.name(number))))
        }
      }
      return sum
    }
    for step in 0..<count {
      let number = Workload.pick(step, among: recordCount, round: round)
      sum &+= try DaybookRecords.sum(database.record(Record.ID(Book.name(number))))
    }
    return sum
  }

  func fetchOneField(_ count: Int, among recordCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64 {
    var sum: UInt64 = 0
    if !ownSnapshots {
      try database.read { snapshot in
        for step in 0..<count {
          let number = Workload.pick(step, among: recordCount, round: round)
          sum &+= try DaybookRecords.year(snapshot.record(Record.ID(Book.name(number))))
        }
      }
      return sum
    }
    for step in 0..<count {
      let number = Workload.pick(step, among: recordCount, round: round)
      sum &+= try DaybookRecords.year(database.record(Record.ID(Book.name(number))))
    }
    return sum
  }

  func fetchHundreds(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for hundred in 0..<count {
      var ids: [Record.ID] = []
      for step in hundred * 100..<hundred * 100 + 100 {
        ids.append(try Record.ID(Book.name(Workload.pick(step, among: recordCount, round: round))))
      }
      let records = try database.records(ids)
      for id in ids { sum &+= try DaybookRecords.year(records[id]) }
    }
    return sum
  }

  @inline(__always)
  private static func sum(_ record: consuming Record?) throws -> UInt64 {
    guard let record, let book = Book(record) else { throw BenchmarkFault("Daybook does not find a record") }
    return book.sum
  }

  @inline(__always)
  private static func year(_ record: consuming Record?) throws -> UInt64 {
    guard let record, let year: Int64 = record["year"] else { throw BenchmarkFault("Daybook does not find a record") }
    return UInt64(bitPattern: year)
  }

  func prepareChanges() throws {
    guard tokens.isEmpty else { return }
    var token: ChangeToken?
    while true {
      let page = try database.changes(in: .default, since: token, limit: 1000, desiredKeys: [])
      // A page that is not full would make pages of different sizes.
      if page.saved.count == 1000 { tokens.append(token) }
      if !page.moreComing { break }
      token = page.token
    }
  }

  func changes(_ pageCount: Int, round: UInt64, areWhole: Bool) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<pageCount {
      let start = tokens[Int(Workload.pick(step, among: UInt64(tokens.count), round: round))]
      for record in try database.changes(in: .default, since: start, limit: 1000).saved {
        sum &+= UInt64(record.id.name.utf8.count)
        if areWhole {
          guard let book = Book(record) else { throw BenchmarkFault("a record lacks fields") }
          sum &+= book.sum
        } else {
          guard let year: Int64 = record["year"] else { throw BenchmarkFault("a record lacks a field") }
          sum &+= UInt64(bitPattern: year)
        }
      }
    }
    return sum
  }

  func pages(_ pageCount: Int, ofType type: String, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    if cursors[type] == nil { cursors[type] = try starts(ofType: type) }
    let starts = cursors[type] ?? []
    for step in 0..<pageCount {
      let start = starts[Int(Workload.pick(step, among: UInt64(starts.count), round: round))]
      for record in try database.recordPage(in: .default, ofType: type, after: start, limit: 1000).records {
        guard let year: Int64 = record["year"] else { throw BenchmarkFault("a record lacks a field") }
        sum &+= UInt64(record.id.name.utf8.count) &+ UInt64(bitPattern: year)
      }
    }
    return sum
  }

  /// Where the full pages of a type begin.
  private func starts(ofType type: String) throws -> [RecordCursor?] {
    var starts: [RecordCursor?] = []
    var next: RecordCursor?
    repeat {
      let page = try database.recordPage(in: .default, ofType: type, after: next, limit: 1000)
      if page.records.count == 1000 || starts.isEmpty { starts.append(next) }
      next = page.next
    } while next != nil
    return starts
  }

  func scan() throws -> UInt64 {
    var sum: UInt64 = 0
    var name: String?
    try database.read { snapshot in
      while true {
        let page = try snapshot.records(in: .default, after: name, limit: 1000)
        for record in page {
          guard let book = Book(record) else { throw BenchmarkFault("a record lacks fields") }
          sum &+= book.sum &+ UInt64(record.id.name.utf8.count)
        }
        guard page.count == 1000, let last = page.last else { break }
        name = last.id.name
      }
    }
    return sum
  }

  func compact() throws { try database.compact() }

  func byteCounts() throws -> (file: Int, live: Int) {
    let statistics = try database.statistics()
    return (statistics.fileByteCount, statistics.liveByteCount)
  }

  func count(_ count: Int, type: String?) throws -> UInt64 {
    var result = 0
    for _ in 0..<count { result = try database.recordCount(in: .default, ofType: type) }
    return UInt64(result)
  }
}

extension Book {
  /// All ten fields of a record; nil when one is not there.
  init?(_ record: Record) {
    guard let title: String = record["title"], let author: String = record["author"],
      let year: Int64 = record["year"], let pageCount: Int64 = record["pageCount"],
      let rating: Double = record["rating"], let price: Double = record["price"],
      let published: Date = record["published"], let digest: Data = record["digest"],
      let isRead: Bool = record["isRead"], let tags: [String] = record["tags"]
    else { return nil }
    self.init(
      title: title, author: author, year: year, pageCount: pageCount, rating: rating, price: price,
      published: published, digest: digest, isRead: isRead, tags: tags)
  }
}
