import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("several records by their IDs")
struct NamedRecordsTests {
  /// Names that share heads and beginnings, UUIDs in both forms, long ones.
  private static func names(_ random: inout SeededGenerator) -> [String] {
    (0..<600).map { number in
      switch number % 6 {
      case 0: UUID.random(&random)
      case 1: UUID.random(&random).lowercased()
      case 2: String(repeating: "p", count: number % 250 + 1)
      case 3: "aaaa" + String(repeating: "b", count: number % 40)
      default: "n\(number)"
      }
    }
  }

  @Test("all at once they are those that are found one by one", arguments: 0..<10 as Range<UInt64>)
  func groups(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let database = try Database.scratch(seed: seed + 1) { if seed % 2 == 0 { $0.access = .buffered } }
    // Two of them are equal to Swift, and one is deleted.
    let zones = [Zone.ID.default, try Zone.ID("\u{e9}"), try Zone.ID("e\u{301}"), try Zone.ID("gone")]
    try database.write { transaction in for zone in zones.dropFirst() { try transaction.save(Zone(zone)) } }
    let missing = try Zone.ID("never")
    let names = Self.names(&random)
    func pick<T>(_ list: [T]) -> T { list[Int.random(in: list.indices, using: &random)] }
    func save(_ transaction: Transaction) throws {
      let id = try Record.ID(pick(names), in: pick(Array(zones.prefix(3))))
      try transaction.save(.fresh(id.name, in: id.zone, ["n": .int(.random(in: 0..<1000, using: &random))]), policy: .replace)
    }
    for count in [1, 5, 60, 600, 300][..<Int(seed % 5 + 1)] {
      try database.write { transaction in for _ in 0..<count { try save(transaction) } }
      if Bool.random(using: &random) { try database.stores.store.checkpoint() }
    }
    try database.deleteZone(zones[3])
    func check(_ reader: borrowing some RecordReader & ~Copyable) throws {
      for _ in 0..<30 {
        let isAlternating = Bool.random(using: &random)
        var zone = zones[0]
        let ids = try (0..<pick([0, 1, 2, 15, 16, 17, 33, 200])).map { _ in
          if isAlternating || Int.random(in: 0..<20, using: &random) == 0 { zone = pick(zones + [missing]) }
          return try Record.ID(Int.random(in: 0..<8, using: &random) == 0 ? "absent" : pick(names), in: zone)
        }
        let found: [Record.ID: Record] = try reader.records(ids)
        let results: [Record.ID: Result<Record, DatabaseError>] = try reader.records(for: ids)
        for id in ids {
          let single: Record? = try reader.record(id)
          let (value, own) = (found[id]?["n"] as Record.Value?, single?["n"] as Record.Value?)
          #expect(found[id]?.changeTag == single?.changeTag && value == own)
          switch results[id] {
          case .success(let record)?: #expect(record.id == id && record.changeTag == single?.changeTag)
          case .failure(let error)?:
            let code: DatabaseError.Code = id.zone == missing || id.zone == zones[3] ? .zoneNotFound : .unknownItem
            #expect(single == nil && error.facts.name == id.name && error.code == code)
          case nil: Issue.record("\(id) has no result")
          }
        }
      }
    }
    try check(database)
    try database.stores.store.checkpoint()
    try check(database)
    try database.write { transaction in
      for _ in 0..<100 {
        try save(transaction)
        try? transaction.delete(Record.ID(pick(names), in: pick(Array(zones.prefix(3)))))
      }
      try check(transaction)
    }
    try database.close()
  }

  @Test("a request has a limit, and a list of IDs has none")
  func limits() throws {
    let database = try Database.scratch { $0.limits.itemsPerRequest = 20 }
    try database.write { transaction in for number in 0..<30 { try transaction.save(.fresh("n\(number)")) } }
    let ids = try (0..<21).map { try Record.ID("n\($0)") }
    #expect(failure { try database.records(for: ids) }?.code == .limitExceeded)
    #expect(try database.records(ids).count == 21)
    try database.close()
  }
}

extension UUID {
  fileprivate static func random(_ random: inout SeededGenerator) -> String {
    func byte() -> UInt8 { .random(in: 0...255, using: &random) }
    return UUID(
      uuid: (
        byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(),
        byte()
      )
    ).uuidString
  }
}
