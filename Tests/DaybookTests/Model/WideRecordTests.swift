import DaybookEngine
import DaybookTesting
import Foundation
import Testing

@testable import Daybook

/// Records of many fields, which are found by an index and not by a search from the front.
@Suite("wide records")
struct WideRecordTests {
  /// Keys that begin alike, end alike, are alike but for the middle, and have every length.
  private static func keys(_ count: Int) -> [String] {
    (0..<count).map { number in
      switch number % 5 {
      case 0: "f\(number)"
      case 1: "aLongPrefixThatManyKeysHave\(number)"
      case 2: "k\(number)aLongSuffixThatManyKeysHave"
      case 3: "middle\(String(repeating: "x", count: number % 200))\(number)end"
      default: String(repeating: "y", count: 1 + number % 250) + "_\(number)"
      }
    }
  }

  private static func open() throws -> (database: Database, disk: SimulatedDisk) {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    return (try Database.open(on: disk), disk)
  }

  @Test(
    "every field of a record is found by its key, and none that it does not have",
    arguments: [1, 31, 32, 33, 64, 200, 255, 256, 257, 700])
  func everyField(_ count: Int) throws {
    let (database, _) = try Self.open()
    let keys = Self.keys(count)
    var record = try Record(type: "Wide", id: Record.ID("a"))
    for (number, key) in keys.enumerated() { record[key] = number }
    for (number, key) in keys.enumerated() { #expect(record[key] as Int? == number) }
    let saved = try database.write { try $0.save(record) }
    // Twice: of the second one nothing has to be declared.
    var other = try Record(type: "Wide", id: Record.ID("b"))
    for (number, key) in keys.enumerated().reversed() { other[key] = -number }
    try database.save(other)
    for (name, sign) in [("a", 1), ("b", -1)] {
      let read = try #require(try database.record(Record.ID(name)))
      #expect(read.body.layout.hasIndex == (count >= FieldIndex.leastFieldCount))
      #expect(read.keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
      for (number, key) in keys.enumerated() {
        #expect(read[key] as Int? == sign * number, "\(key)")
        #expect(read[key + "x"] as Record.Value? == nil)
        #expect(read[String(key.dropLast())] as Record.Value? == nil || keys.contains(String(key.dropLast())))
      }
    }
    #expect(saved.keys == record.keys)
    try database.close()
  }

  @Test("a long record of thousands of fields is not searched from the front for each", arguments: [1023, 1024, 5000])
  func spelled(_ count: Int) throws {
    let (database, _) = try Self.open()
    let keys = (0..<count).map { "k\($0)\(String(repeating: "x", count: $0 % 90))" }
    var record = try Record(type: "Wide", id: Record.ID("a"))
    for (number, key) in keys.enumerated() { record[key] = .string("\(number)" + String(repeating: "y", count: 40)) }
    let saved = try database.write { transaction in
      let saved = try transaction.save(record)
      #expect(try transaction.record(record.id)?.fieldValues().count == count)
      return saved
    }
    let snapshot = try database.snapshot()
    for (place, read) in [
      saved, try #require(try database.record(record.id)), try #require(try snapshot.record(record.id)),
      try #require(try database.records(for: [record.id])[record.id]).get(),
      try #require(try database.records(in: .default, ofType: "Wide").first),
    ].enumerated() {
      #expect(read.body.layout.hasIndex == (count >= FieldIndex.leastSpelledFieldCount), "\(place)")
      #expect(read.keys.count == count)
      for (number, key) in keys.enumerated() where number % 7 == 0 || number > count - 3 {
        #expect((read[key] as String?)?.hasPrefix("\(number)y") == true)
        #expect(read[key + "z"] as Record.Value? == nil)
      }
    }
    try database.close()
  }

  @Test("what a save returned, and what was read with some of its fields, was searched from the front for each of its fields")
  func saved() throws {
    let (database, _) = try Self.open()
    let keys = (0..<20_000).map { "k\($0)" }
    var record = try Record(type: "Wide", id: Record.ID("a"))
    for (number, key) in keys.enumerated() { record[key] = number }
    let saved = try database.save(record)
    let fetched = try #require(try database.record(record.id))
    let chosen = try #require(try database.records([record.id], desiredKeys: keys)[record.id])
    for read in [saved, fetched, chosen] {
      #expect(read.body.layout.hasIndex)
      for (number, key) in keys.enumerated() { #expect(read[key] as Int? == number) }
    }
    #expect(saved["k20000"] as Record.Value? == nil && saved.keys == fetched.keys && saved == fetched)
    try database.close()
  }

  @Test("a record of some of the fields that a type has, thousands of them, is not searched from the front either")
  func sparse() throws {
    let (database, _) = try Self.open()
    let count = 1500
    for number in 0..<40 {
      var record = try Record(type: "Wide", id: Record.ID("r\(number)"))
      for key in number..<count { record["k\(key)"] = key }
      try database.save(record)
    }
    for number in [0, 17, 20, 39] {
      let read = try #require(try database.record(Record.ID("r\(number)")))
      #expect(read.body.layout.hasIndex)
      for key in 0..<count { #expect(read["k\(key)"] as Int? == (key < number ? nil : key)) }
    }
    try database.close()
  }

  @Test("threads that ask one record of thousands of fields for the first time all find them")
  func together() throws {
    let (database, _) = try Self.open()
    let keys = (0..<2_000).map { "k\($0)" }
    var record = try Record(type: "Wide", id: Record.ID("a"))
    for (number, key) in keys.enumerated() { record[key] = number }
    for _ in 0..<20 {
      let saved = try database.save(record, policy: .replace)
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for (number, key) in keys.enumerated().reversed() where number % 8 == thread {
          #expect(saved[key] as Int? == number)
        }
      }
    }
    try database.close()
  }

  @Test("a field of a record that was read is changed and removed, the others stay")
  func changed() throws {
    let (database, disk) = try Self.open()
    let keys = Self.keys(200)
    var record = try Record(type: "Wide", id: Record.ID("a"))
    for (number, key) in keys.enumerated() { record[key] = number }
    try database.save(record)
    var read = try #require(try database.record(Record.ID("a")))
    read[keys[7]] = "seven"
    read[keys[9]] = nil as Record.Value?
    try database.save(read)
    try database.close()
    do {
      let database = try Database.open(on: disk)
      let found = try #require(try database.record(Record.ID("a")))
      for (number, key) in keys.enumerated() {
        switch number {
        case 7: #expect(found[key] as String? == "seven")
        case 9: #expect(found[key] as Record.Value? == nil)
        default: #expect(found[key] as Int? == number)
        }
      }
      #expect(found.keys.count == 199)
      try database.close()
    }
  }

  @Test("a record outlives its database, with all its fields")
  func outlives() throws {
    let keys = Self.keys(200)
    var found: [Record] = []
    do {
      let (database, _) = try Self.open()
      try database.write { transaction in
        for number in 0..<5 {
          var record = try Record(type: "Wide", id: Record.ID("r\(number)"))
          for (index, key) in keys.enumerated() { record[key] = index * number }
          try transaction.save(record)
        }
      }
      found = try database.changes(in: .default, since: nil).saved
      try database.close()
    }
    #expect(found.count == 5)
    for (number, record) in found.enumerated() {
      for (index, key) in keys.enumerated() { #expect(record[key] as Int? == index * number) }
    }
  }

  @Test("a long record's keys that are alike but in the middle took the square of their number, and so did forged ones")
  func alikeKeys() throws {
    let (database, _) = try Self.open()
    let keys = (0..<3_000).map { number in "Sensor_reading_\(10_000 + number)__average_" }
    var record = try Record(type: "Wide", id: Record.ID("alike"))
    for (index, key) in keys.enumerated() { record[key] = Int64(index) }
    record["padding"] = String(repeating: "x", count: 70_000)
    try database.write { [record] in try $0.save(record) }
    let found = try #require(try database.record(record.id))
    #expect(found.body.layout.hasIndex)
    for (index, key) in keys.enumerated() { #expect(found[key] as Int? == index) }
    #expect(found["Sensor_reading_99999__average_"] as Int? == nil)
    try database.close()
  }

  @Test("a scan that drops most of the wide records hands out the right ones")
  func filtered() throws {
    let (database, _) = try Self.open()
    let keys = Self.keys(60)
    try database.write { transaction in
      for number in 0..<300 {
        var record = try Record(type: "Wide", id: Record.ID("r\(number)"))
        for (index, key) in keys.enumerated() { record[key] = index + number }
        try transaction.save(record)
      }
    }
    let found = try database.records(Query("Wide", where: .field(keys[17]) == 17 + 123))
    #expect(found.map(\.id.name) == ["r123"])
    for (index, key) in keys.enumerated() { #expect(found.first?[key] as Int? == index + 123) }
    try database.close()
  }
}
