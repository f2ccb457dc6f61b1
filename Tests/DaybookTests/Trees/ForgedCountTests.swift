import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// What a forged file claims to have goes into sums, and nothing that is computed with them traps.
@Suite("Forged counts")
struct ForgedCountTests {
  private static func options() -> Database.Options {
    var options = Database.Options.simulated(seed: 7, clock: TestClock())
    options.closeCheckpointByteCount = 0
    return options
  }

  /// Where the values of the catalog's leaves are in a file: the state of each zone.
  private static func zoneValues(in bytes: [UInt8]) -> [Int] {
    func number(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
    var found: [Int] = []
    for page in stride(from: Page.byteCount, through: bytes.count - Page.byteCount, by: Page.byteCount) {
      let count = number(page + 10)
      guard bytes[page + 8] == Page.Kind.catalogLeaf, bytes[page + 9] == 0, count > 0, count < 500 else { continue }
      for slot in (0..<count).map({ page + 40 + 8 * $0 }) {
        let (cell, suffix) = (number(slot + 4), number(slot + 6))
        let leastByteCount = 8 + ZoneTree.storedCount * TreeRoot.encodedByteCount + ZoneTrees.ownerByteCount
        if cell + 2 + suffix <= Page.byteCount, number(page + cell) >= leastByteCount { found.append(page + cell + 2 + suffix) }
      }
    }
    return found
  }

  /// The file with one field of each zone's state replaced; nil when it does not serve.
  private static func forged(_ disk: SimulatedDisk, field: Int, _ value: UInt64) throws -> Database {
    var bytes = try #require(disk.bytes(of: "a"))
    let values = zoneValues(in: bytes)
    #expect(!values.isEmpty)
    for start in values.map({ $0 + field }) {
      bytes.replaceSubrange(start..<start + 8, with: (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) })
    }
    let forged = SimulatedDisk(seed: 2, maximumFileByteCount: 64 << 20)
    forged.install(Forgery.sealed(bytes), at: "a")
    let database = try Database.open(at: "a", options: options(), disk: forged)
    #expect(database.lastRecovery.basis == .newestCheckpoint, "the forged trees are used")
    return database
  }

  @Test(
    "a zone that claims no pages, or no records, and loses some is deleted without a trap", arguments: [8, 16], [UInt64(0), 1])
  func claimsNothing(count: Int, value: UInt64) throws {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 64 << 20)
    do {
      let database = try Database.open(at: "a", options: Self.options(), disk: disk)
      for name in ["y", "z"] {
        let zone = try database.zone(name)
        try database.write { transaction in
          for number in 0..<600 {
            try transaction.save(try Record(type: "A", id: Record.ID("record \(10_000 + number)", in: zone)))
          }
        }
      }
      try database.close()
    }
    // After eight bytes the root of the tree by name, its records and its pages.
    let database = try Self.forged(disk, field: 8 + count, value)
    let zones = try database.zones().map(\.id).filter { $0 != .default }
    for zone in zones {
      try database.write { transaction in
        for number in 0..<500 { try transaction.delete(Record.ID("record \(10_000 + number)", in: zone)) }
      }
    }
    _ = try database.statistics()
    _ = try database.check(.structure)
    for zone in zones { try database.write { try $0.deleteZone(zone) } }
    #expect(!database.store.isCompactionDue)
    _ = try database.statistics()
    try database.close()
  }

  @Test("zones that claim more bytes than there can be are deleted without a trap")
  func claimsMuch() throws {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 64 << 20)
    do {
      let database = try Database.open(at: "a", options: Self.options(), disk: disk)
      try database.write { transaction in
        for number in 0..<4200 { try transaction.save(Zone(Zone.ID("z\(number)"))) }
      }
      try database.close()
    }
    let database = try Self.forged(disk, field: 8 + ZoneTree.storedCount * TreeRoot.encodedByteCount + 24, 1 << 50)
    let zones = try database.zones().map(\.id).filter { $0 != .default }
    #expect(zones.count == 4200)
    try database.write { transaction in for zone in zones { try transaction.deleteZone(zone) } }
    _ = database.store.isCompactionDue
    #expect(try database.statistics().liveByteCount >= 0)
    try database.close()
  }
}
