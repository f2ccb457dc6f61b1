import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// Records and names as large as they may be: many fields, long values, the longest names.
@Suite("Large records")
struct LargeRecordTests {
  @Test("a record of a thousand fields keeps each of them, through commits, a compaction and an open")
  func thousandFields() throws {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    let database = try Database.open(on: disk)
    let id = try Record.ID("wide")
    func value(_ number: Int, _ round: Int) -> Record.Value {
      switch number % 6 {
      case 0: .string("field \(number), round \(round)")
      case 1: .int(Int64(number &* 7919 &+ round))
      case 2: .double(Double(number) / 7 + Double(round))
      case 3: .bytes(Data(repeating: UInt8(truncatingIfNeeded: number + round), count: number % 50))
      case 4: .date(Date(timeIntervalSinceReferenceDate: Double(number * 1000 + round)))
      default: .strings((0..<number % 5).map { "item \($0)" })
      }
    }
    var expected: [String: Record.Value] = [:]
    var record = try Record(type: "Wide", id: id)
    for number in 0..<1000 { expected["field_\(number)"] = value(number, 0) }
    for (key, value) in expected { record[key] = value }
    record = try database.write { try $0.save(record) }
    for number in stride(from: 0, to: 1000, by: 3) { expected["field_\(number)"] = value(number, 1) }
    for number in stride(from: 0, to: 1000, by: 3) { record["field_\(number)"] = expected["field_\(number)"] }
    record["field_999"] = nil as Record.Value?
    expected["field_999"] = nil
    try database.write { _ = try $0.save(record) }
    func expectEqual(_ database: Database) throws {
      let found = try #require(try database.record(id))
      #expect(Set(found.keys) == Set(expected.keys))
      for (key, value) in expected { #expect(found[key] == value, "\(key)") }
      try database.expectClean()
    }
    try expectEqual(database)
    try database.compact()
    try expectEqual(database)
    try database.close()
    let again = try Database.open(on: disk)
    try expectEqual(again)
    try again.close()
  }

  @Test("values of a megabyte fit where the limit is set higher, and are told apart from ones that do not")
  func megabyteValues() throws {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 128 << 20)
    let database = try Database.open(on: disk) { $0.limits.recordByteCount = 3 << 20 }
    func content(_ number: Int) -> Data { Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 / 7 &+ number) }) }
    try database.write { transaction in
      // More than one part of a transaction.
      for number in 0..<12 {
        var record = try Record(type: "Blob", id: Record.ID("blob \(number)"))
        record["content"] = content(number)
        record["text"] = String(repeating: "é", count: 1 << 19)
        try transaction.save(record)
      }
    }
    for number in 0..<12 {
      let record = try #require(try database.record(Record.ID("blob \(number)")))
      #expect(record["content"] == content(number))
      #expect((record["text"] as String?)?.utf8.count == 1 << 20)
    }
    var record = try Record(type: "Blob", id: Record.ID("too large"))
    record["content"] = Data(count: 3 << 20)
    #expect { try database.write { _ = try $0.save(record) } } throws: {
      ($0 as? DatabaseError)?.code == .limitExceeded
    }
    #expect(try database.recordCount(in: .default) == 12)
    try database.expectClean()
    try database.close()
    let again = try Database.open(on: disk) { $0.limits.recordByteCount = 3 << 20 }
    #expect(try again.record(Record.ID("blob 11"))?["content"] == content(11))
    try again.close()
  }

  @Test("records of more than 16 MB are read, changed, compacted and listed with their history")
  func longHeaders() throws {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 256 << 20)
    func open() throws -> Database {
      try Database.open(on: disk) { $0.limits = .unlimited }
    }
    let counts = [Operation.longPayloadByteCount - 1000, Operation.longPayloadByteCount, 20_000_003]
    func content(_ number: Int, _ round: Int) -> Data {
      Data(repeating: UInt8(truncatingIfNeeded: number + 7 * round), count: counts[number])
    }
    func expectEqual(_ database: Database, round: Int) throws {
      for number in counts.indices {
        let record = try #require(try database.record(Record.ID("blob \(number)")))
        #expect(record["content"] == content(number, round))
        #expect(record["round"] == round)
      }
      #expect(try database.changes(in: .default, since: nil, limit: 10).saved.count == counts.count)
      try database.expectClean()
    }
    var database = try open()
    for round in 0..<2 {
      try database.write { transaction in
        for number in counts.indices {
          let id = try Record.ID("blob \(number)")
          var record = try transaction.record(id) ?? Record(type: "Blob", id: id)
          record["content"] = content(number, round)
          record["round"] = round
          try transaction.save(record)
        }
      }
      try expectEqual(database, round: round)
    }
    #expect(try database.history(of: Record.ID("blob 2")).count == 2)
    try database.close()
    database = try open()
    try expectEqual(database, round: 1)
    try database.compact()
    try expectEqual(database, round: 1)
    try database.close()
    database = try open()
    try expectEqual(database, round: 1)
    try database.close()
  }

  @Test("records with names of 255 characters that differ at their ends are found, listed, changed and compacted")
  func longNames() throws {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 128 << 20)
    let database = try Database.open(on: disk)
    let zones = try (0..<3).map { try Zone.ID(String(repeating: "z", count: 254) + "\($0)") }
    func name(_ number: Int) -> String {
      let end = "\(number * 7919 % 1000 + 1000)"
      return String(repeating: "n", count: 255 - end.utf8.count) + end
    }
    for zone in zones {
      try database.write { transaction in
        try transaction.save(Zone(zone))
        for number in 0..<1000 {
          var record = try Record(type: String(repeating: "T", count: 255), id: Record.ID(name(number), in: zone))
          record["number"] = number
          try transaction.save(record)
        }
      }
    }
    // After a checkpoint the changes are beside leaves of the file.
    try database.store.checkpoint()
    for zone in zones {
      try database.write { transaction in
        for number in stride(from: 0, to: 1000, by: 9) {
          guard var record = try transaction.record(Record.ID(name(number), in: zone)) else { continue }
          record["number"] = -number
          try transaction.save(record)
        }
        for number in stride(from: 1, to: 1000, by: 17) { try transaction.delete(Record.ID(name(number), in: zone)) }
      }
    }
    func expectEqual() throws {
      for zone in zones {
        for number in 0..<1000 {
          let isDeleted = number % 17 == 1
          let isChanged = number % 9 == 0
          let found = try database.record(Record.ID(name(number), in: zone))?["number"] as Int?
          #expect(found == (isDeleted ? nil : isChanged ? -number : number))
        }
      }
      try database.expectClean()
    }
    try expectEqual()
    try database.store.checkpoint()
    try expectEqual()
    try database.compact()
    try expectEqual()
    try database.close()
  }
}
