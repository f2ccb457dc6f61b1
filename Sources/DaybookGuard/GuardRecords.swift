import Daybook
import Foundation

/// What applications do with records of ten fields, as often as asked.
enum GuardRecords {
  private static let zone = Zone.ID.default

  private static func id(_ number: Int) throws -> Record.ID { try Record.ID("volume-\(number &* 7919 % 1_000_003)") }

  private static func record(_ number: Int) throws -> Record {
    var record = try Record(type: number % 4 == 0 ? "Map" : "Volume", id: id(number))
    record["title"] = "The Chronicle of Harbour \(number % 1000)"
    record["author"] = "Author Name \(number % 200)"
    record["year"] = 1900 + number % 120
    record["pageCount"] = 50 + number % 900
    record["rating"] = Double(number % 50) / 10
    record["price"] = Double(number % 4000) / 100
    record["published"] = Date(timeIntervalSinceReferenceDate: Double(number))
    record["digest"] = Data(repeating: UInt8(number % 256), count: 32)
    record["isRead"] = number % 2 == 0
    record["tags"] = ["fiction", "history", "sea"]
    return record
  }

  static func save(_ numbers: Range<Int>, perTransaction: Int, in database: Database) throws {
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + perTransaction, numbers.upperBound)
      try database.write { transaction in
        for number in next..<end { try transaction.save(record(number)) }
      }
      next = end
    }
  }

  /// Reads records, changes two fields, saves them; 100 a transaction.
  static func change(_ count: Int, of recordCount: Int, in database: Database) throws {
    for first in stride(from: 0, to: count, by: 100) {
      try database.write { transaction in
        for step in first..<min(first + 100, count) {
          guard var record = try transaction.record(id(step &* 37 % recordCount)) else { throw GuardFault("a record is lost") }
          record["rating"] = Double(step)
          record["pageCount"] = step
          try transaction.save(record)
        }
      }
    }
  }

  static func fetch(_ count: Int, of recordCount: Int, in database: Database) throws {
    var sum = 0
    for step in 0..<count {
      guard let record = try database.record(id(step &* 37 % recordCount)),
        let title: String = record["title"], let author: String = record["author"], let year: Int = record["year"],
        let pageCount: Int = record["pageCount"], let rating: Double = record["rating"],
        let price: Double = record["price"], let published: Date = record["published"],
        let digest: Data = record["digest"], let isRead: Bool = record["isRead"], let tags: [String] = record["tags"]
      else { throw GuardFault("a record is lost") }
      sum &+= title.utf8.count &+ author.utf8.count &+ year &+ pageCount &+ Int(rating) &+ Int(price)
      sum &+= Int(published.timeIntervalSinceReferenceDate) &+ digest.count &+ (isRead ? 1 : 0) &+ tags.count
    }
    if sum == 0 { throw GuardFault("nothing was read") }
  }

  /// Where the feed stands behind its first `count` changes.
  static func token(behind count: Int, in database: Database) throws -> ChangeToken {
    try database.changes(in: zone, since: nil, limit: count, desiredKeys: []).token
  }

  /// One page of 1000 changes, one field of each.
  static func changes(since token: ChangeToken, in database: Database) throws {
    let page = try database.changes(in: zone, since: token, limit: 1000)
    var sum = 0
    for record in page.saved {
      guard let year: Int = record["year"] else { throw GuardFault("a record lacks a field") }
      sum &+= year &+ record.id.name.utf8.count
    }
    if page.saved.count != 1000 || sum == 0 { throw GuardFault("a page of changes is short") }
  }

  static func count(_ count: Int, in database: Database) throws {
    for _ in 0..<count {
      if try database.recordCount(in: zone) < 5000 { throw GuardFault("records are missing") }
    }
  }

  /// Finds the few records with a value in a field without an index, among all of a type.
  static func query(in database: Database) throws {
    var sum = 0
    for record in try database.records(Query("Volume", where: .field("pageCount") == 77)) {
      guard let year: Int = record["year"] else { throw GuardFault("a record lacks a field") }
      sum &+= year
    }
    if sum == 0 { throw GuardFault("nothing was found") }
  }

  static func beginAndEnd(_ count: Int, in database: Database) throws {
    for _ in 0..<count {
      if try database.snapshot().sequence == 0 { throw GuardFault("a snapshot shows nothing") }
    }
  }

  /// Changes a field of records where they are stored; 100 a transaction.
  static func update(_ count: Int, of recordCount: Int, in database: Database) throws {
    for first in stride(from: 0, to: count, by: 100) {
      try database.write { transaction in
        for step in first..<min(first + 100, count) {
          try transaction.update(id(step &* 37 % recordCount)) { $0["pageCount"] = step }
        }
      }
    }
  }

  // MARK: savepoints, sessions, wide records

  /// Changes a field of a record in a savepoint of its own, all in one transaction.
  static func savepoints(_ count: Int, of recordCount: Int, in database: Database) throws {
    try database.write { transaction in
      for step in 0..<count {
        try transaction.savepoint {
          guard var record = try transaction.record(id(step &* 37 % recordCount)) else { throw GuardFault("a record is lost") }
          record["pageCount"] = step
          try transaction.save(record)
        }
      }
    }
  }

  private struct GoBack: Error {}

  /// Saves new records in a transaction that is rolled back.
  static func saveAndRollBack(_ numbers: Range<Int>, in database: Database) throws {
    do {
      try database.write { transaction in
        for number in numbers { try transaction.save(record(number)) }
        throw GoBack()
      }
    } catch is GoBack {}
  }

  static let largeByteCount = 100_000

  static func saveLarge(in database: Database) throws {
    var record = try Record(type: "Large", id: Record.ID("large"))
    record["value"] = Data(repeating: 0, count: largeByteCount)
    try database.save(record)
  }

  /// Reads a large value, changes eight of its bytes, saves it; a commit each.
  static func changeLarge(_ count: Int, in database: Database) throws {
    for step in 0..<count {
      try database.write { transaction in
        guard var record = try transaction.record(Record.ID("large")), var value: Data = record["value"] else {
          throw GuardFault("a record is lost")
        }
        let place = step &* 7919 % (largeByteCount - 8)
        // Safe: the bytes are copied.
        unsafe withUnsafeBytes(of: UInt64(step)) { unsafe value.replaceSubrange(place..<place + 8, with: $0) }
        record["value"] = value
        try transaction.save(record)
      }
    }
  }

  private static let wideKeys = (0..<200).map { "f\($0)" }

  private static func wideID(_ number: Int) throws -> Record.ID { try Record.ID("wide-\(number)") }

  /// New records of two hundred whole numbers, in one transaction.
  static func saveWide(_ numbers: Range<Int>, in database: Database) throws {
    let keys = wideKeys
    try database.write { transaction in
      for number in numbers {
        var record = try Record(type: "Wide", id: wideID(number))
        for index in keys.indices { record[keys[index]] = number + index }
        try transaction.save(record)
      }
    }
  }

  /// All fields of each.
  static func fetchWide(_ numbers: Range<Int>, in database: Database) throws {
    let keys = wideKeys
    var sum = 0
    for number in numbers {
      guard let record = try database.record(wideID(number)) else { throw GuardFault("a record is lost") }
      for key in keys {
        guard let value: Int = record[key] else { throw GuardFault("a record lacks a field") }
        sum &+= value
      }
    }
    if sum == 0 { throw GuardFault("nothing was read") }
  }
}
