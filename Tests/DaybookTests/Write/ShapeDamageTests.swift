import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine
@_spi(Daybook) @testable import Daybook

// One damaged declaration must not take the records with it that are named by its number.

@Suite("damage to what bodies name by numbers")
struct ShapeDamageTests {
  let path = "test.daybook"

  func record(
    _ name: String, type: String = "Movie", in zone: Zone.ID = .default, keys: Int = 0, _ value: Int
  ) throws -> Record {
    var record = try Record(type: type, id: Record.ID(name, in: zone))
    record["n"] = value
    record["title"] = "record \(name)"
    for key in 0..<keys { record["a_key_of_\(type)_with_a_long_name_\(key)"] = key }
    return record
  }

  /// A log of many small commits, never closed: no checkpoint, no tree, no frame of declarations.
  /// - Parameter opens: how often the file is opened, each time after a process was killed.
  func log(_ disk: SimulatedDisk, commits: Int, keys: Int = 0, opens: Int = 1) throws -> (bytes: [UInt8], zone: Zone.ID) {
    var disk = disk
    var zone: Zone.ID?
    for round in 0..<opens {
      let database = try Database.open(on: disk, seed: UInt64(round + 1)) {
        $0.userID = "ada"
        $0.checkpoint.minimumLogByteCount = 1 << 20
        $0.checkpoint.maximumLogByteCount = 1 << 20
      }
      let shelf = try zone ?? database.zone("Shelf")
      zone = shelf
      for index in commits * round / opens..<commits * (round + 1) / opens {
        try database.write { transaction in
          for part in 0..<3 { try transaction.save(record("r\(3 * index + part)", in: shelf, keys: keys, index)) }
        }
      }
      try database.expectClean()
      disk = withExtendedLifetime(database) { disk.killed() }
    }
    return (try #require(disk.bytes(of: path)), try #require(zone))
  }

  /// The places of the operations of a kind; of each commit its places from the first to the last.
  func places(in bytes: [UInt8]) throws -> (declarations: [Range<Int>], commits: [Range<Int>]) {
    let disk = SimulatedDisk(seed: 1)
    disk.install(bytes, at: path)
    var declarations: [Range<Int>] = []
    var commits: [Range<Int>] = []
    try SalvageReader(path, disk: disk).forEachCommit(progress: { _ in true }) { commit in
      var lower = Int.max
      var upper = 0
      for index in 0..<commit.count {
        let place = commit.place(index)
        let range = Int(place.offset)..<Int(place.offset) + Int(place.byteCount)
        (lower, upper) = (min(lower, range.lowerBound), max(upper, range.upperBound))
        if let operation = commit.operation(index), Operation.isOf(.declare, operation) { declarations.append(range) }
      }
      commits.append(lower - FrameHeader.byteCount..<upper)
    }
    return (declarations, commits)
  }

  func salvage(_ bytes: [UInt8]) throws -> (database: Database, report: Database.SalvageReport) {
    let disk = SimulatedDisk(seed: 2, maximumFileByteCount: 64 << 20)
    disk.install(bytes, at: path)
    let report = try Database.salvage(from: path, to: "out", options: .simulated(seed: 5), disk: disk)
    let database = try Database.open(at: "out", options: .simulated(seed: 6), disk: disk)
    try database.expectClean()
    return (database, report)
  }

  @Test("whichever declaration of a log without a checkpoint is destroyed, every record comes over")
  func eachDeclaration() throws {
    let (bytes, zone) = try log(SimulatedDisk(seed: 1), commits: 30)
    let declarations = try places(in: bytes).declarations
    #expect(declarations.count >= 9, "three, their copies in the commit, and in another block: \(declarations.count)")
    for place in declarations {
      var damaged = bytes
      damaged[place.lowerBound + Operation.headerByteCount + 2] ^= 0x55
      let (database, report) = try salvage(damaged)
      #expect(report.unreadableRecords.isEmpty)
      for index in 0..<90 { #expect(try database.record(Record.ID("r\(index)", in: zone))?["n"] == index / 3) }
    }
  }

  @Test(
    "whichever block of a log without a checkpoint is destroyed, the records of all other commits come over",
    arguments: [(0, 1), (120, 1), (0, 12)])
  func eachBlock(keys: Int, opens: Int) throws {
    // With many keys, a declaration is longer than a block.
    let (bytes, zone) = try log(SimulatedDisk(seed: 1), commits: 60, keys: keys, opens: opens)
    if keys > 0 { #expect(try declarations(in: bytes).contains { $0.payload.count > 4096 && $0.inLog.count >= 3 }) }
    let commits = try places(in: bytes).commits
    // The commit that makes the zone is the first.
    let saves = commits.suffix(60)
    let end = try #require(commits.last).upperBound
    for block in 1..<end / 4096 {
      let range = block * 4096..<(block + 1) * 4096
      var damaged = bytes
      for index in range { damaged[index] ^= 0x55 }
      let (database, report) = try salvage(damaged)
      #expect(report.unreadableRecords.isEmpty, "block \(block)")
      for (index, commit) in saves.enumerated() where !commit.overlaps(range) {
        for part in 0..<3 {
          let found = try database.record(Record.ID("r\(3 * index + part)", in: zone))
          #expect(found?["n"] == index, "block \(block), commit \(index) at \(commit)")
        }
      }
    }
  }

  @Test("a salvage names the records of which every declaration is destroyed, with their dates and places")
  func unreadable() throws {
    let (bytes, _) = try log(SimulatedDisk(seed: 1), commits: 5)
    var damaged = bytes
    for place in try places(in: bytes).declarations { damaged[place.lowerBound + Operation.headerByteCount + 2] ^= 0x55 }
    let (database, report) = try salvage(damaged)
    #expect(try database.zones().allSatisfy { try database.recordCount(in: $0.id) == 0 })
    #expect(!report.isComplete && report.skippedOperationCount == 15)
    #expect(report.unreadableRecords.map(\.name).sorted() == (0..<15).map { "r\($0)" }.sorted())
    for record in report.unreadableRecords {
      #expect(Array(bytes[record.offset..<record.offset + record.byteCount]).contains(2))
      #expect(record.creationDate == record.modificationDate)
    }
  }

  @Test("numbers of six bits: what has none of its own is spelled out, and reads after a replay, a compaction and a salvage")
  func sixBits() throws {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 64 << 20)
    var database = try Database.open(on: disk) {
      $0.declarationMask = 63
      $0.partByteCount = 4000
    }
    var expected: [Record] = []
    for step in 0..<20 {
      try database.write { transaction in
        for index in 0..<15 {
          expected.append(try transaction.save(record("r\(step)-\(index)", type: "T\(step * 15 + index)", index)))
        }
      }
    }
    func compare(_ database: Database, _ what: Comment) throws {
      for record in expected { #expect(try database.record(record.id) == record, what) }
    }
    #expect((50...64).contains(database.store.records.shapes.count), "of three hundred types")
    try compare(database, "live")
    try database.expectClean()
    try compare(try Database.open(on: disk.killed()) { $0.declarationMask = 63 }, "after a replay")
    try database.compact()
    try compare(database, "compacted")
    try database.close()
    var options = Database.Options.simulated(seed: 5)
    options.declarationMask = 63
    _ = try Database.salvage(from: path, to: "out", options: options, disk: disk)
    database = try Database.open(at: "out", options: options, disk: disk)
    try compare(database, "salvaged")
  }

  @Test("a salvage takes what was committed for a number, and not what was rolled back before")
  func rolledBackBefore() throws {
    struct Stop: Error {}
    let disk = SimulatedDisk(seed: 4)
    let database = try Database.open(on: disk) {
      $0.declarationMask = 63
      $0.partByteCount = 200
    }
    func number(_ type: String) throws -> UInt32 {
      let buffer = ByteBuffer()
      Array(type.utf8).withView { type in
        Declaration.appendShape(
          type: type, [(Array("n".utf8), FieldKind.int.rawValue), (Array("title".utf8), FieldKind.string.rawValue)],
          to: buffer)
      }
      return Declaration.number(of: buffer.view) & 63
    }
    let wanted = try number("Kept")
    let other = try #require(try (0..<10_000).map { "Lost\($0)" }.first { try number($0) == wanted })
    #expect(throws: Stop.self) {
      try database.write { transaction in
        for index in 0..<20 { try transaction.save(record("lost\(index)", type: other, index)) }
        throw Stop()
      }
    }
    try database.write { try $0.save(record("kept", type: "Kept", 7)) }
    let bytes = try #require(disk.killed().bytes(of: path))
    let target = SimulatedDisk(seed: 5)
    target.install(bytes, at: path)
    var options = Database.Options.simulated(seed: 5)
    options.declarationMask = 63
    let report = try Database.salvage(from: path, to: "out", options: options, disk: target)
    let salvaged = try Database.open(at: "out", options: options, disk: target)
    #expect(try salvaged.record(Record.ID("kept"))?.type == "Kept" && report.isComplete)
  }

  @Test("a number that nothing declares, and one with two contents, fail the operation that has them")
  func forged() throws {
    let database = try Database.open(on: SimulatedDisk(seed: 6)) { $0.declarationMask = 63 }
    try database.write { try $0.save(record("a", 1)) }
    var body: [UInt8] = [PackedBody.version, 0, 0]
    body += [63, 0, 0, 0] + [UInt8](repeating: 1, count: 16) + [1, 0x62]
    if database.store.records.shapes.find(63) == nil {
      #expect(throws: DatabaseError.self) { try database.save(forgedBody: body) }
    }
    let known = database.store.records.shapes[0].number
    let second = (0..<10_000).map { [3] + Array("user \($0)".utf8) }.first { bytes in
      bytes.withView { Declaration.number(of: $0) & 63 == known }
    }
    let forged = try #require(second)
    #expect(throws: DatabaseError.self) {
      try database.write { transaction in
        let context = transaction.context
        try context.start()
        let operation = context.changes.beginOperation()
        context.changes.payload.append(forged)
        try context.endOperation(operation, .declare)
      }
    }
    #expect(try database.record(Record.ID("a"))?["n"] == 1)
    try database.expectClean()
  }

  @Test("two writers of one file use what the other has declared")
  func twoWriters() throws {
    let disk = SimulatedDisk(seed: 7)
    let one = try Database.open(on: disk) { $0.lock = .perTransaction }
    let two = try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
    try one.write { try $0.save(record("a", type: "One", 1)) }
    try two.write { try $0.save(record("b", type: "Two", 2)) }
    try one.write { try $0.save(record("c", type: "Two", 3)) }
    try two.write { try $0.save(record("d", type: "One", 4)) }
    for database in [one, two] {
      try database.write { transaction in
        for (name, value) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
          let found = try transaction.record(Record.ID(name))
          #expect(found?["n"] == value)
        }
      }
    }
    #expect(one.store.records.shapes.count == 2)
    try one.expectClean()
  }

  @Test("a declared schema declares the shapes of its types, and the first save of such a record declares none")
  func declaredSchema() throws {
    let database = try Database.open(on: SimulatedDisk(seed: 8))
    let schema = Schema(types: [
      .init(name: "Movie", fields: [.init(key: "title", kinds: [.string]), .init(key: "n", kinds: [.int])])
    ])
    try database.write { try $0.declare(schema) }
    #expect(database.store.records.shapes.count == 1)
    try database.write { try $0.save(record("a", 1)) }
    #expect(database.store.records.shapes.count == 1)
    let sequence = database.store.lastSequence
    try database.write { try $0.declare(schema) }
    #expect(database.store.lastSequence == sequence, "what is known is not written again")
    let part = Schema(types: [.init(name: "Movie", fields: [.init(key: "n", kinds: [.int])])])
    try database.write { try $0.declare(part) }
    #expect(database.store.lastSequence == sequence, "nor a shape for fewer fields than are known")
    #expect(try database.record(Record.ID("a"))?["n"] == 1)
    try database.expectClean()
  }
}
