import Daybook
import DaybookCoding
import Foundation

/// What applications do with values of a type of ten fields: see `GuardRecords`, whose fields these are.
enum GuardCoding {
  /// Ten fields, and the record's name, which is none.
  struct Volume: RecordCodable, Identifiable, Equatable {
    static let recordType = "Volume"
    static let recordNameKey = "id"
    var id: String
    var title: String
    var author: String
    var year: Int
    var pageCount: Int
    var rating: Double
    var price: Double
    var published: Date
    var digest: Data
    var isRead: Bool
    var tags: [String]

    init(_ number: Int) {
      id = "volume-\(number &* 7919 % 1_000_003)"
      title = "The Chronicle of Harbour \(number % 1000)"
      author = "Author Name \(number % 200)"
      year = 1900 + number % 120
      pageCount = 50 + number % 900
      rating = Double(number % 50) / 10
      price = Double(number % 4000) / 100
      published = Date(timeIntervalSinceReferenceDate: Double(number))
      digest = Data(repeating: UInt8(number % 256), count: 32)
      isRead = number % 2 == 0
      tags = ["fiction", "history", "sea"]
    }
  }

  /// The zone that the values are in.
  private static let zone = Zone.ID.default

  static func volumes(_ count: Int) -> [Volume] { (0..<count).map { Volume($0) } }

  static func save(_ volumes: [Volume], in database: Database) throws {
    try database.write { transaction in
      for volume in volumes { try transaction.save(volume, in: zone) }
    }
  }

  /// The records of the values, as a database hands them out.
  static func records(_ volumes: [Volume], in database: Database) throws -> [Record] {
    try volumes.map { volume in
      guard let record = try database.record(Record.ID(volume.id, in: zone)) else { throw GuardFault("a record is lost") }
      return record
    }
  }

  static func decode(_ records: [Record], times: Int) throws {
    let decoder = RecordDecoder()
    var sum = 0
    for _ in 0..<times {
      for record in records {
        let volume = try decoder.decode(Volume.self, from: record)
        sum &+= volume.title.utf8.count &+ volume.year &+ volume.tags.count
      }
    }
    if sum == 0 { throw GuardFault("nothing was decoded") }
  }

  static func encode(_ volumes: [Volume], times: Int) throws {
    let encoder = RecordEncoder(zone: zone)
    for _ in 0..<times {
      for volume in volumes {
        if try encoder.encode(volume).type.isEmpty { throw GuardFault("nothing was encoded") }
      }
    }
  }

  /// Every value by its name.
  static func fetch(_ volumes: [Volume], in database: Database) throws {
    for volume in volumes {
      guard let found = try database.fetch(Volume.self, volume.id, in: zone), found.year == volume.year else {
        throw GuardFault("a value is lost")
      }
    }
  }
}
