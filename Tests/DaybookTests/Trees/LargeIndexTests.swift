import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Indexes that are larger than what a transaction, or a compaction, may have in memory.

@Suite("large indexes")
struct LargeIndexTests {
  private static let count = 600

  private static func words(_ note: Int) -> [String] { (0..<60).map { "w\(($0 * 7919 + note * 104_729) % 5003)" } }

  private static func options() -> Database.Options {
    var options = Database.Options.simulated(seed: 1)
    // What 66,000 notes of 600 words are to 512 MB, these are to one.
    options.checkpoint.memoryByteCount = 1 << 20
    options.durability = .relaxed
    return options
  }

  /// Notes in two zones with values, words and places, and the indexes of all three.
  private static func make(on disk: SimulatedDisk) throws -> Database {
    let database = try Database.open(at: "test.daybook", options: options(), disk: disk)
    let zone = try Zone.ID("other")
    try database.write { try $0.save(Zone(zone)) }
    for first in stride(from: 0, to: count, by: 50) {
      try database.write { transaction in
        for number in first..<first + 50 {
          var note = try Record(type: "Note", id: Record.ID("n\(number)", in: number % 3 == 0 ? zone : .default))
          note["text"] = words(number).joined(separator: " ")
          note["number"] = Int64(number * 7919 % 1000)
          note["place"] = Location(latitude: Double(number % 90), longitude: Double(number % 180))
          try transaction.save(note)
        }
      }
    }
    try database.setIndex(.searchable, on: "text", ofType: "Note")
    try database.setIndex(.queryable, on: "number", ofType: "Note")
    try database.setIndex(.location, on: "place", ofType: "Note")
    return database
  }

  private static func keys(_ database: Database) throws -> [[UInt8]] {
    try database.reading { (view) throws(DatabaseError) -> [[UInt8]] in
      var found: [[UInt8]] = []
      for zone in try view.zones() {
        let trees = try view.existingZone(zone.id)
        try view.asDatabaseError { () throws(PageFault) in
          let key = ByteBuffer(capacity: 256)
          var cursor = view.reader.cursor(in: trees.indexes)
          while try cursor.next() {
            cursor.key(into: key)
            found.append(key.view.array)
          }
        }
      }
      return found
    }
  }

  @Test("a compaction makes the entries of an index that is damaged of the records", arguments: [0, 1])
  func damagedIndex(zone number: Int) throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Self.make(on: disk)
    try database.compact()
    let expected = try Self.keys(database)
    let zone = try number == 0 ? Zone.ID.default : Zone.ID("other")
    let root = try database.indexRoot(of: zone).reference
    try database.close()
    #expect(root & PageSource.memoryTag == 0 && disk.corrupt("test.daybook", at: Int(root) + 200))
    database = try Database.open(at: "test.daybook", options: Self.options(), disk: disk)
    #expect(failure { try Self.keys(database) }?.code == .corrupted)
    try database.compact()
    #expect(try Self.keys(database) == expected)
    try database.expectClean()
    try database.close()
  }

  @Test("a compaction whose indexes do not fit into its memory has all their entries, and may be cancelled at any time")
  func compaction() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Self.make(on: disk)
    let expected = try Self.keys(database)
    #expect(expected.count == Self.count * 62)
    var calls = 0
    try database.compact { _, _ in
      calls += 1
      return true
    }
    // More often than for groups of records: runs of entries were put in parts.
    #expect(calls > 2 * Self.count / 128)
    #expect(try Self.keys(database) == expected)
    try database.expectClean()
    for last in [2, calls / 2, calls] {
      var rest = last
      let stopped = failure {
        try database.compact { _, _ in
          rest -= 1
          return rest > 0
        }
      }
      #expect(stopped?.code == .operationCancelled)
    }
    #expect(try Self.keys(database) == expected)
    try database.put("later", ["text": "w1 after the compaction"])
    try database.sync()
    let after = try Self.keys(database)
    let killed = disk.afterKill()
    try database.close()
    database = try Database.open(at: "test.daybook", options: Self.options(), disk: killed)
    #expect(try Self.keys(database) == after)
    try database.expectClean()
    try database.close()
  }

  @Test("an index is dropped whose pages are many times what a transaction may make")
  func drop() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.make(on: disk)
    // In one order of names and then another, so that leaves are in the file, some with changes beside them.
    for number in stride(from: 0, to: Self.count, by: 7) where number % 3 != 0 {
      try database.put("n\(number)", ["text": .string(Self.words(number + 1).joined(separator: " "))])
    }
    try database.setIndex([], on: "text", ofType: "Note")
    #expect(try database.indexes().map(\.key) == ["number", "place"])
    try database.expectClean()
    try database.sync()
    let again = try Database.open(at: "test.daybook", options: Self.options(), disk: disk.afterKill())
    #expect(try again.indexes() == database.indexes())
    try again.expectClean()
    try again.close()
    try database.close()
  }

  @Test("records with each of several words are found by where the entries of all of them meet")
  func severalWords() throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("other")
    try database.write { try $0.save(Zone(zone)) }
    // Each of 40 words is in a fifth of the texts.
    func words(_ note: Int) -> Set<String> { Set((0..<8).map { "w\(($0 * $0 * 31 + note * (note % 5 + 3)) % 40)" }) }
    try database.write { transaction in
      for number in 0..<Self.count {
        var note = try Record(type: "Note", id: Record.ID("n\(number)", in: number % 3 == 0 ? zone : .default))
        note["text"] = words(number).sorted().joined(separator: " ")
        try transaction.save(note)
      }
    }
    try database.setIndex(.searchable, on: "text", ofType: "Note")
    var hasComparedWords = false
    for first in 0..<40 {
      let asked = [first, (first * 7 + 3) % 40, (first * 11 + 5) % 40].prefix(first % 3 + 1).map { "w\($0)" }
      let query = Query("Note", where: .field("text").allTokens(asked.joined(separator: " ")))
      let expected = (0..<Self.count).filter { Set(asked).isSubset(of: words($0)) }
      #expect(try Set(database.records(query).map(\.id.name)) == Set(expected.map { "n\($0)" }))
      #expect(try database.count(query) == expected.count)
      try database.reading { (view) throws(DatabaseError) in
        if try view.prepare(query).choice?.others.isEmpty == false { hasComparedWords = true }
      }
    }
    #expect(hasComparedWords)
  }
}
