import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

/// Zones that have one large tree in common, and many records whose former bodies are lost, as somebody may write them into a file:
/// work on it takes the time of its size, not of the square.
@Suite("shared trees")
struct SharedTreeTests {
  /// A database whose zones all have one tree of the first; `grow` makes it large.
  private static func database(
    _ tree: ZoneTree, grow: (Database, Zone.ID) throws -> Void
  ) throws -> Database {
    let database = try Database.open(on: SimulatedDisk(seed: 1))
    let zones = try (0..<40).map { try database.zone("zone \($0)") }
    try grow(database, zones[0])
    var root = TreeRoot()
    try forge(database, zones[0]) { trees, _ in root = trees[tree] }
    for zone in zones.dropFirst() { try forge(database, zone) { trees, _ in trees[tree] = root } }
    return database
  }

  /// Changes the trees of a zone behind the applier's back.
  private static func forge(
    _ database: Database, _ zone: Zone.ID, _ change: (inout ZoneTrees, StoreTransaction) throws -> Void
  ) throws {
    try database.write { transaction in
      let context = transaction.context
      // A transaction that wrote nothing is not committed.
      try transaction.setMetadata(Data([1]), forKey: "forged")
      let applier = database.store.records
      try zone.withKeyView { (key) throws(LogFault) in try applier.open(key, context.changes) }
      var trees = try #require(applier.openZone)
      try change(&trees, context.changes)
      applier.setOpenZone(trees)
    }
  }

  @Test("contents that many zones have in one tree are not listed once for each of them")
  func assets() throws {
    let database = try Self.database(.assets) { database, zone in
      try Self.forge(database, zone) { trees, changes in
        let key = ByteBuffer(capacity: 64)
        let count = ByteBuffer(capacity: 8)
        count.append(uint64: 1)
        for number in 0..<300 as Range<UInt64> {
          key.truncate(to: 0)
          for _ in 0..<4 { key.append(uint64: number.byteSwapped) }
          key.append(uint64: 70_000)
          try changes.put(key.view, count.view, in: &trees.assets)
        }
      }
    }
    #expect(failure { _ = try database.statistics() }?.code == .corrupted)
    #expect(failure { try database.backup(to: "copy", disk: SimulatedDisk(seed: 2)) }?.code == .corrupted)
    #expect(failure { _ = try database.collectAssets() }?.code == .corrupted)
    #expect(failure { _ = try database.trees() }?.code == .corrupted)
    #expect(try !database.check().isClean)
  }

  @Test("tombstones that many zones have in one tree are not looked at once for each of them")
  func tombstones() throws {
    let database = try Self.database(.tombstones) { database, zone in
      try database.write { transaction in
        for number in 0..<1000 { try transaction.save(.fresh("record \(number)", in: zone)) }
      }
      try database.write { transaction in
        for number in 0..<1000 { try transaction.delete(Record.ID("record \(number)", in: zone)) }
      }
    }
    // The deletions are later, and stay: all of them are looked at.
    #expect(failure { try database.write { try $0.forgetDeletions(through: 1) } }?.code == .corrupted)
  }

  @Test("many lost bodies behind a checkpoint are looked for in a few walks over the references", arguments: [false, true])
  func lostBodies(isBuffered: Bool) throws {
    let disk = SimulatedDisk(seed: 3)
    let database = try Database.open(on: disk) {
      $0.checkpoint.minimumLogByteCount = 16 << 20
      $0.checkpoint.maximumLogByteCount = 64 << 20
    }
    let names = (0..<300).map { "record \(1000 + $0)" }
    func save(_ target: String, of names: some Sequence<String>) throws {
      try database.write { transaction in
        for name in names {
          var record = try transaction.record(Record.ID(name)) ?? Record(type: "Note", id: Record.ID(name))
          record["to"] = .reference(.init(try Record.ID(target)))
          try transaction.save(record)
        }
      }
    }
    try save("before", of: names)
    try database.store.checkpoint()
    var places: [Place] = []
    try database.reading { (view) throws(DatabaseError) in
      let zone = try view.existingZone(.default)
      for name in names.prefix(100) { if let entry = try view.entry(name, in: zone) { places.append(entry.place) } }
    }
    try save("after", of: names.prefix(100))
    let found = disk.afterKill()
    disk.stop()
    let path = try #require(found.paths.first { found.bytes(of: $0)?.count ?? 0 > 4096 })
    for place in places { #expect(found.corrupt(path, at: Int(place.offset) + Int(place.byteCount) - 1)) }
    let again = try Database.open(on: found) { $0.access = isBuffered ? .buffered : .mapped }
    #expect(try again.referencing(Record.ID("after")).count == 100)
    #expect(try again.referencing(Record.ID("before")).count == 200)
    let visited = again.store.records.formerSearch.visitedCount
    #expect(visited > 0 && visited <= 9 * UInt64(names.count), "\(visited) entries")
    try again.close()
  }

  @Test("what lost bodies cost counts together for a whole file, also with operations on zones between them")
  func lostBodiesBetweenZones() throws {
    let disk = SimulatedDisk(seed: 3)
    let database = try Database.open(on: disk) {
      $0.checkpoint.minimumLogByteCount = 16 << 20
      $0.checkpoint.maximumLogByteCount = 64 << 20
    }
    let names = (0..<100).map { "record \(1000 + $0)" }
    func save(_ target: String, of names: some Sequence<String>, zones: String? = nil) throws {
      try database.write { transaction in
        for name in names {
          var record = try transaction.record(Record.ID(name)) ?? Record(type: "Note", id: Record.ID(name))
          record["to"] = .reference(.init(try Record.ID(target)))
          try transaction.save(record)
          if let zones { try transaction.save(Zone(Zone.ID("\(zones) \(name)"))) }
        }
      }
    }
    try save("before", of: names)
    try database.store.checkpoint()
    var places: [Place] = []
    try database.reading { (view) throws(DatabaseError) in
      let zone = try view.existingZone(.default)
      for name in names.prefix(40) { if let entry = try view.entry(name, in: zone) { places.append(entry.place) } }
    }
    try save("after", of: names.prefix(40), zones: "zone of")
    let found = disk.afterKill()
    disk.stop()
    let path = try #require(found.paths.first { found.bytes(of: $0)?.count ?? 0 > 4096 })
    for place in places { #expect(found.corrupt(path, at: Int(place.offset) + Int(place.byteCount) - 1)) }
    let again = try Database.open(on: found)
    #expect(try again.referencing(Record.ID("after")).count == 40)
    // Each run has one lost body here, and walks over all entries for it: only their sum says what the file costs.
    let visited = again.store.records.formerSearch.visitedCount
    #expect(visited >= 40 * UInt64(names.count), "\(visited) entries")
    try again.close()
  }
}
