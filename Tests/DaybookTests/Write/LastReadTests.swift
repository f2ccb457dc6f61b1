import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A save takes over what its transaction has read of the record just before. What it takes must be what a read would find.

@Suite("a save after a read in the same transaction")
struct LastReadTests {
  private struct GoBack: Error {}

  private func id(_ name: String) throws -> Record.ID { try Record.ID(name) }

  private func savepointThatGoesBack(_ transaction: borrowing Transaction, _ body: () throws -> Void) throws {
    do {
      try transaction.savepoint {
        try body()
        throw GoBack()
      }
    } catch is GoBack {}
  }

  @Test("after a savepoint that went back a save meets what is stored, not what was read of the version that went back")
  func rollback() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1])
    try database.write { transaction in
      guard let before = try transaction.record(id("a")) else { throw GoBack() }
      try savepointThatGoesBack(transaction) {
        var changed = before
        changed["n"] = 2
        try transaction.save(changed)
        _ = try transaction.record(id("a"))
      }
      var changed = before
      changed["m"] = 3
      try transaction.save(changed)
    }
    let stored = try #require(try database.record(id("a")))
    #expect(stored["n"] == 1 as Int64?)
    #expect(stored["m"] == 3 as Int64?)
    #expect(try database.history(of: id("a")).count == 2)
    try database.expectClean()
    try database.close()
  }

  @Test("a record that was read, and then deleted, is not there when it is saved")
  func deletion() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1])
    try database.write { transaction in
      guard var record = try transaction.record(id("a")) else { throw GoBack() }
      try transaction.delete(id("a"))
      record["n"] = 2
      #expect(failure { try transaction.save(record) }?.code == .unknownItem)
      try transaction.save(.fresh("a"))
    }
    try database.expectClean()
    try database.close()
  }

  @Test("a record that was read before its zone was deleted and made again is not there")
  func zone() throws {
    let database = try Database.scratch()
    let zone = try Zone.ID("z")
    try database.save(Zone(zone))
    try database.save(Record(type: "Note", id: Record.ID("a", in: zone)))
    try database.write { transaction in
      guard var record = try transaction.record(Record.ID("a", in: zone)) else { throw GoBack() }
      try transaction.deleteZone(zone)
      try transaction.save(Zone(zone))
      record["n"] = 2
      #expect(failure { try transaction.save(record) }?.code == .unknownItem)
    }
    try database.expectClean()
    try database.close()
  }

  @Test("a second save of a record that was read once is told of the first")
  func secondSave() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1])
    try database.write { transaction in
      guard var record = try transaction.record(id("a")) else { throw GoBack() }
      record["n"] = 2
      try transaction.save(record)
      #expect(failure { try transaction.save(record) }?.code == .serverRecordChanged)
    }
    try database.close()
  }

  @Test("reads, saves, deletions and rollbacks at random: each save is answered as if it had read", arguments: 0..<40)
  func atRandom(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let database = try Database.scratch(seed: UInt64(seed))
    let names = ["a", "b", "c"]
    for _ in 0..<5 {
      try database.write { transaction in
        var known: [String: Record] = [:]
        func step(depth: Int) throws {
          for _ in 0..<8 {
            guard let name = names.randomElement(using: &generator) else { return }
            switch UInt64.random(in: 0..<8, using: &generator) {
            case 0..<3: known[name] = try transaction.record(id(name))
            case 3..<6:
              // By way of a query, which remembers nothing.
              let stored = try transaction.records([id(name)])[id(name)]
              var record = try known[name] ?? Record(type: "Note", id: id(name))
              record["n"] = Int64.random(in: 0..<100, using: &generator)
              let failed = failure { _ = try transaction.save(record) }
              let expected: DatabaseError.Code? =
                stored == nil
                ? (record.changeTag == nil ? nil : .unknownItem)
                : (stored?.changeTag == record.changeTag ? nil : .serverRecordChanged)
              #expect(failed?.code == expected)
            case 6: try transaction.delete(id(name))
            default:
              if depth < 2 { try savepointThatGoesBack(transaction) { try step(depth: depth + 1) } }
            }
          }
        }
        try step(depth: 0)
      }
    }
    try database.expectClean()
    try database.close()
  }
}
