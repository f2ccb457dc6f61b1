import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine
@_spi(Daybook) @testable import Daybook

// What a file says once: that it is said before it is needed, is rolled back with what brought it, and is found wherever
// one copy of it is damaged.

@Suite("shapes in a database")
struct ShapeTests {
  private let path = "test.daybook"

  /// Payloads of the operations of a kind, with their numbers among all of the log.
  private func operations(_ kind: OperationKind, _ disk: SimulatedDisk) throws -> [(number: Int, payload: [UInt8])] {
    let reader = try SalvageReader(path, disk: disk)
    var found: [(Int, [UInt8])] = []
    var number = 0
    try reader.forEachCommit(progress: { _ in true }) { commit in
      for index in 0..<commit.count {
        number += 1
        guard let bytes = commit.operation(index), Operation.kind(bytes) == kind.rawValue else { continue }
        found.append((number, Operation.payload(bytes).array))
      }
    }
    return found
  }

  private func record(
    _ name: String, type: String = "Movie", in zone: Zone.ID = .default, _ values: [String: Int]
  ) throws -> Record {
    var record = try Record(type: type, id: Record.ID(name, in: zone))
    for (key, value) in values { record[key] = value }
    return record
  }

  @Test("a shape, a zone and a user are declared once, before the first body that names them")
  func declaredOnce() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.userID = "ada" }
    let zone = try database.zone("Shelf")
    for index in 0..<20 { try database.write { try $0.save(record("r\(index)", in: zone, ["n": index])) } }
    try database.expectClean()
    try database.close()
    let declarations = try operations(.declare, disk)
    #expect(declarations.prefix(3).map { $0.payload[0] } == [1, 2, 3], "shape, zone, user")
    #expect(Set(declarations.map(\.payload)).count == 3 && declarations.count <= 9, "and copies, while they are young")
    let bodies = try operations(.saveRecord, disk)
    #expect(bodies.count == 20 && bodies.allSatisfy { $0.payload[0] == PackedBody.version })
    #expect(declarations.prefix(3).allSatisfy { $0.number < bodies[0].number })
  }

  @Test("records of many shapes, zones and users read as they were saved, live, after a replay, a compaction and a salvage")
  func everythingReads() throws {
    let disk = SimulatedDisk(seed: 2, maximumFileByteCount: 64 << 20)
    var database = try Database.open(on: disk) { $0.partByteCount = 4000 }
    let zones = [Zone.ID.default, try database.zone("One"), try database.zone("Two")]
    var generator = SeededGenerator(seed: 3)
    var expected: [Record.ID: Record] = [:]
    for step in 0..<60 {
      try database.write { transaction in
        for _ in 0..<10 {
          let zone = zones.randomElement(using: &generator) ?? .default
          let name = Bool.random(using: &generator) ? "n\(Int.random(in: 0..<80, using: &generator))" : UUID().uuidString
          let id = try Record.ID(name, in: zone)
          if Int.random(in: 0..<6, using: &generator) == 0, try transaction.record(id) != nil {
            try transaction.delete(id)
            expected[id] = nil
            continue
          }
          var record = try transaction.record(id) ?? Record(type: "T\(name.utf8.count % 3)", id: id)
          for key in 0..<12 where Int.random(in: 0..<3, using: &generator) == 0 {
            record["k\(key)"] = Int.random(in: 0..<2, using: &generator) == 0 ? nil : "value \(step)"
          }
          expected[id] = try transaction.save(record)
        }
      }
      if step == 30 { try database.store.checkpoint() }
    }
    func compare(_ database: Database, _ what: Comment) throws {
      try database.expectClean()
      #expect(try database.check(.deep).findings.isEmpty, what)
      for (id, record) in expected {
        let found = try database.record(id)
        #expect(found == record && found?.metadata == record.metadata, what)
      }
      #expect(try zones.reduce(0) { try $0 + database.recordCount(in: $1) } == expected.count, what)
    }
    try compare(database, "live")
    let killed = disk.killed()
    try compare(try Database.open(on: killed), "after a replay")
    try database.compact()
    try compare(database, "compacted")
    try database.close()
    database = try Database.open(on: disk)
    try compare(database, "opened again")
    try database.backup(to: "copy.daybook", disk: disk)
    try database.close()
    try compare(try Database.open(at: "copy.daybook", options: .simulated(seed: 9), disk: disk), "a backup")
    _ = try Database.salvage(from: path, to: "out.daybook", options: .simulated(seed: 5), disk: disk)
    let salvaged = try Database.open(at: "out.daybook", options: .simulated(seed: 6), disk: disk)
    try compare(salvaged, "a salvage")
  }

  @Test("a type with many keys, of which each record has some, gets a few shapes, and its records are packed")
  func sparseTypes() throws {
    let disk = SimulatedDisk(seed: 4, maximumFileByteCount: 64 << 20)
    let database = try Database.open(on: disk)
    var generator = SeededGenerator(seed: 5)
    var expected: [Record] = []
    try database.write { transaction in
      for index in 0..<300 {
        let keys = (0..<20).map { _ in "key\(Int.random(in: 0..<200, using: &generator))" }
        expected.append(try transaction.save(record("r\(index)", Dictionary(keys.map { ($0, 5) }) { a, _ in a })))
      }
    }
    for record in expected { #expect(try database.record(record.id) == record) }
    try database.expectClean()
    try database.close()
    let shapes = Set(try operations(.declare, disk).map(\.payload))
    #expect(shapes.count < 60, "\(shapes.count) shapes")
    let bodies = try operations(.saveRecord, disk)
    #expect(bodies.allSatisfy { $0.payload[0] == PackedBody.version })
    #expect(bodies.suffix(100).reduce(0) { $0 + $1.payload.count } / 100 < 130)
  }

  @Test("what a savepoint or a transaction declared is rolled back with it, and the next save declares it again")
  func goesBack() throws {
    struct Stop: Error {}
    let disk = SimulatedDisk(seed: 6)
    let database = try Database.open(on: disk) { $0.partByteCount = 400 }
    #expect(throws: Stop.self) {
      try database.write { transaction in
        for index in 0..<10 { try transaction.save(record("gone\(index)", type: "Lost", ["a": index])) }
        throw Stop()
      }
    }
    try database.write { transaction in
      try transaction.save(record("first", ["n": 1]))
      try? transaction.savepoint {
        for index in 0..<10 { try transaction.save(record("back\(index)", type: "Back", ["b": index])) }
        throw Stop()
      }
      try transaction.save(record("second", type: "Back", ["b": 2]))
      try transaction.save(record("third", type: "Lost", ["a": 3]))
    }
    for (name, key) in [("first", "n"), ("second", "b"), ("third", "a")] {
      #expect(try database.record(Record.ID(name))?.keys == [key])
    }
    try database.expectClean()
    let reopened = try Database.open(on: disk.killed())
    for (name, key) in [("first", "n"), ("second", "b"), ("third", "a")] {
      #expect(try reopened.record(Record.ID(name))?.keys == [key])
    }
    try reopened.expectClean()
  }

  @Test("a zone that was made again has another number: bodies of its former life do not join it")
  func zoneLives() throws {
    let disk = SimulatedDisk(seed: 7)
    let database = try Database.open(on: disk)
    let zone = try database.zone("Shelf")
    try database.put("old", in: zone)
    try database.write { try $0.deleteZone(zone) }
    _ = try database.zone("Shelf")
    try database.put("new", in: zone)
    try database.expectClean()
    let bodies = try operations(.saveRecord, disk.killed())
    #expect(bodies.count == 2)
    // The old body under the new life.
    #expect(throws: (any Error).self) { try database.save(forgedBody: bodies[0].payload) }
  }

  @Test("records outlive the database that they came from, and may be saved into another")
  func outlive() throws {
    let disk = SimulatedDisk(seed: 8)
    let database = try Database.open(on: disk) { $0.userID = "ada" }
    let zone = try database.zone("Shelf")
    try database.write { try $0.save(record("r", in: zone, ["n": 7, "m": 8])) }
    let found = try #require(try database.record(Record.ID("r", in: zone)))
    try database.compact()
    try database.close()
    #expect(found["n"] == 7 && found.metadata?.creatorUserID == "ada")
    let other = try Database.open(at: "other.daybook", options: .simulated(seed: 2), disk: disk)
    _ = try other.zone("Shelf")
    try other.write { try $0.save(found, policy: .allKeys) }
    #expect(try other.record(found.id)?["m"] == 8)
    try other.expectClean()
  }

  @Test("a declaration is in its commit, in a tree and in copies, and whichever one is destroyed, a salvage brings all over")
  func copies() throws {
    let disk = SimulatedDisk(seed: 9)
    let database = try Database.open(on: disk) {
      $0.userID = "ada"
      $0.closeCheckpointByteCount = 0
    }
    let zone = try database.zone("Shelf")
    for index in 0..<10 { try database.write { try $0.save(record("r\(index)", in: zone, ["n": index])) } }
    try database.close()
    let sound = try #require(disk.bytes(of: path))
    let declaration = try #require(try operations(.declare, disk).first)
    var places: [Int] = []
    for start in 0..<(sound.count - declaration.payload.count)
    where sound[start] == 1 && Array(sound[start..<start + declaration.payload.count]) == declaration.payload {
      places.append(start)
    }
    #expect(places.count >= 4, "a commit, twice, a leaf, a frame of declarations: \(places)")
    for place in places {
      let damaged = SimulatedDisk(seed: 9)
      var bytes = sound
      bytes[place + 3] ^= 0x55
      damaged.install(bytes, at: path)
      if let opened = try? Database.open(at: path, options: .simulated(seed: 3), disk: damaged) {
        for index in 0..<10 { #expect(try opened.record(Record.ID("r\(index)", in: zone))?["n"] == index) }
        try? opened.close()
      }
      let report = try Database.salvage(from: path, to: "out", options: .simulated(seed: 5), disk: damaged)
      let salvaged = try Database.open(at: "out", options: .simulated(seed: 6), disk: damaged)
      // The commit in which the damage is loses what it alone had.
      if place == places.first { #expect(!report.lostSequences.isEmpty) }
      for index in 0..<10 { #expect(try salvaged.record(Record.ID("r\(index)", in: zone))?["n"] == index, "\(place)") }
      try salvaged.expectClean()
    }
  }

  @Test("declarations are repeated before a close when they have grown, and not otherwise")
  func repeatedAtClose() throws {
    let disk = SimulatedDisk(seed: 10)
    func frames() throws -> Int {
      let reader = try SalvageReader(path, disk: disk)
      var count = 0
      reader.forEachOperation(of: OperationKind.declare.rawValue) { _, _ in count += 1 }
      return count
    }
    var database = try Database.open(on: disk)
    try database.write { try $0.save(record("a", ["n": 1])) }
    try database.close()
    #expect(try frames() == 3, "the declaration, its copy in the commit, and the copy of the close")
    database = try Database.open(on: disk)
    _ = try database.record(Record.ID("a"))
    try database.close()
    #expect(try frames() == 3, "who only reads writes nothing")
  }

  @Test("of sessions that each save one record, the one that declares something copies it at its close, and no later one")
  func sessions() throws {
    let disk = SimulatedDisk(seed: 11)
    func session(_ name: String, _ values: [String: Int]) throws -> Int {
      let database = try Database.open(on: disk)
      try database.write { try $0.save(record(name, values)) }
      try database.close()
      let bytes = try #require(disk.bytes(of: path))
      return Forgery.frameOffsets(of: bytes).count { bytes[$0 + 4] == 8 }
    }
    #expect(try session("a", ["n": 1]) == 1)
    for name in ["b", "c", "d", "e"] { #expect(try session(name, ["n": 2]) == 1, "\(name) brings nothing new") }
    #expect(try session("f", ["m": 1]) == 2)
    for name in ["g", "h", "i"] { #expect(try session(name, ["m": 2, "n": 3]) == 3, "\(name)") }
    // The copy that is there has all of it: the declarations of the log alone are enough for a salvage.
    let report = try Database.salvage(from: path, to: "out", options: .simulated(seed: 5), disk: disk)
    #expect(report.lostSequences.isEmpty)
    let salvaged = try Database.open(at: "out", options: .simulated(seed: 6), disk: disk)
    #expect(try salvaged.record(Record.ID("i"))?["m"] == 2)
    try salvaged.expectClean()
  }
}
