import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// What versions declare is decoded once, goes with each version, and a replay reads no record for an index that is gone.

@Suite("declared facts")
struct DeclaredFactsTests {
  private func applier(_ database: Database) throws -> RecordApplier {
    try database.reading { (view) throws(DatabaseError) in view.store.records }
  }

  /// Work, and how often definitions were decoded during it.
  private func decodings(_ database: Database, _ work: () throws -> Void) throws -> Int {
    let before = try applier(database).decodingCount.load(ordering: .relaxed)
    try work()
    return try applier(database).decodingCount.load(ordering: .relaxed) - before
  }

  private func indexNames(_ reader: borrowing some RecordReader & ~Copyable) throws -> [String] {
    try reader.schema().types.flatMap { type in type.indexes.map { "\(type.name).\($0.key)" } }
  }

  @Test("whatever read fails while an index is built, the next build finds every record, also those saved in between")
  func failedBuild() throws {
    let made = SimulatedDisk(seed: 8, maximumFileByteCount: 4 << 20)
    var database = try Database.open(on: made)
    for start in stride(from: 0, to: 300, by: 50) {
      try database.write { transaction in
        for number in start..<start + 50 {
          try transaction.save(.fresh("r\(number)", ["n": .int(Int64(number % 7)), "b": .bytes(Data(count: 200))]))
        }
      }
    }
    // Definitions fill pages of the schema.
    let long = String(repeating: "x", count: 150)
    for number in 0..<40 { try database.setIndex(.queryable, on: long, ofType: "T\(number)") }
    try database.close()
    var failureCount = 0
    for call in stride(from: 1, to: 3000, by: 2) {
      let disk = made.killed()
      database = try Database.open(on: disk) {
        $0.access = .buffered
        $0.pageCacheByteCount = 16 << 10
      }
      disk.startTrace()
      disk.inject(SimulatedFault([.read], call: call))
      let error = failure { try database.setIndex(.queryable, on: "n", ofType: "Note") }
      let hasStruck = disk.trace.count { $0.operation == .read } >= call
      disk.removeFaults()
      if !hasStruck { break }
      failureCount += 1
      #expect(error?.code == .ioFailed, "read \(call)")
      try database.put("r9", ["n": 2])
      try database.put("r10", ["n": 3])
      try database.setIndex(.queryable, on: "n", ofType: "Note")
      for value in 0..<7 as Range<Int64> {
        let query = Query("Note", where: .field("n") == value)
        let expected = try database.records(in: .default).filter { $0["n"] == value }.map(\.id.name).sorted()
        #expect(try database.explain(query).index == "n")
        #expect(try database.records(query).map(\.id.name).sorted() == expected, "read \(call), \(value)")
      }
      try database.expectClean()
      try database.close()
    }
    #expect(failureCount > 5)
  }

  @Test("indexes that come and go while an old snapshot lives leave nothing")
  func beneathSnapshot() throws {
    let database = try Database.open(on: SimulatedDisk(seed: 9))
    try database.put("r", ["n": 1])
    let snapshot = try database.snapshot()
    for _ in 0..<60 {
      try database.setIndex(.queryable, on: "n", ofType: "Note")
      try database.setIndex([], on: "n", ofType: "Note")
    }
    #expect(try database.reading { (view) throws(DatabaseError) in view.store.versions.facts.count } <= 24)
    #expect(try snapshot.records(in: .default).count == 1)
    try database.close()
  }

  @Test("queries, saves, snapshots and transactions decode no definition; an open decodes them once")
  func decodedOnce() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    for number in 0..<40 { try database.put("r\(number)", ["n": .int(Int64(number))]) }
    try database.setIndex(.queryable, on: "n", ofType: "Note")
    for isReopened in [false, true] {
      if isReopened {
        try database.close()
        database = try Database.open(on: disk)
        #expect(try applier(database).decodingCount.load(ordering: .relaxed) == 1)
      }
      let query = Query("Note", where: .field("n") == 7)
      let count = try decodings(database) {
        #expect(try database.explain(query).index == "n")
        for _ in 0..<5 { #expect(try database.records(query).map(\.id.name) == ["r7"]) }
        let snapshot = try database.snapshot()
        try database.put("r9", ["n": 9])
        try database.write { transaction in
          #expect(try transaction.records(query).count == 1)
          try transaction.save(.fresh("x", ["n": 7]))
          #expect(try transaction.records(query).count == 2)
          try transaction.delete(Record.ID("x"))
        }
        let former = try snapshot.records(query).count
        #expect(try former == 1 && database.indexes().count == 1)
        try database.store.checkpoint()
        #expect(try database.records(query).count == 1)
      }
      #expect(count == 0)
    }
    try database.compact()
    #expect(try decodings(database) { _ = try database.records(Query("Note", where: .field("n") == 7)) } == 0)
    try database.expectClean()
  }

  @Test("a schema of 512 indexes is declared, dropped and declared again without decoding what is there for each")
  func many() throws {
    let database = try Database.scratch()
    let schema = Schema(
      types: (0..<16).map { type in
        .init(name: "T\(type + 10)", indexes: (0..<32).map { .init(key: "k\($0)") })
      })
    let count = try decodings(database) {
      try database.write { try $0.declare(schema) }
      #expect(try database.schema() == schema)
      try database.write { transaction in
        for type in schema.types {
          for index in type.indexes { #expect(try transaction.context.dropIndex(on: index.key, ofType: type.name)) }
        }
        try transaction.declare(schema)
      }
      #expect(try database.schema() == schema)
    }
    #expect(count == 0)
    try database.expectClean()
  }

  @Test("a snapshot has the indexes of its moment, also after many changes of them, and when its store was replaced")
  func versions() throws {
    let database = try Database.scratch()
    for number in 0..<40 { try database.put("r\(number)", ["n": .int(Int64(number % 4)), "m": .int(1)]) }
    final class Moment {
      let snapshot: Snapshot
      let names: [String]
      init(_ snapshot: consuming Snapshot, _ names: [String]) {
        self.snapshot = snapshot
        self.names = names
      }
    }
    var moments = [Moment(try database.snapshot(), [])]
    for number in 0..<60 {
      let key = number % 3 == 2 ? "m" : "n"
      if number % 2 == 0 {
        try database.setIndex(.queryable, on: key, ofType: "Note")
      } else {
        try database.setIndex([], on: number % 4 == 1 ? "n" : "m", ofType: "Note")
      }
      if number % 7 == 0 { moments.append(Moment(try database.snapshot(), try indexNames(database))) }
    }
    for _ in 0..<2 {
      for moment in moments {
        let names = try indexNames(moment.snapshot)
        #expect(names == moment.names)
        let count = try moment.snapshot.records(Query("Note", where: .field("n") == 3)).count
        #expect(count == 10)
      }
      try database.compact()
    }
    try database.expectClean()
  }

  @Test("indexes that a savepoint has defined, built or dropped go back with it, and those before it stay")
  func savepoints() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    for number in 0..<20 { try database.put("r\(number)", ["n": .int(Int64(number)), "m": .int(1)]) }
    struct Stop: Error {}
    try database.write { transaction in
      _ = try transaction.context.defineIndex(on: "n", ofType: "Note")
      #expect(try indexNames(transaction) == ["Note.n"])
      try? transaction.savepoint {
        _ = try transaction.context.defineIndex(on: "m", ofType: "Note")
        #expect(try transaction.context.buildIndexes(limit: 100))
        #expect(try indexNames(transaction) == ["Note.n", "Note.m"])
        throw Stop()
      }
      #expect(try indexNames(transaction) == ["Note.n"])
      #expect(try transaction.context.view.indexes().map(\.isComplete) == [false])
      #expect(try transaction.context.buildIndexes(limit: 100))
      try? transaction.savepoint {
        _ = try transaction.context.dropIndex(on: "n", ofType: "Note")
        #expect(try indexNames(transaction).isEmpty)
        throw Stop()
      }
      try transaction.save(.fresh("r20", ["n": 20]))
      #expect(try transaction.records(Query("Note", where: .field("n") >= 19)).count == 2)
    }
    try? database.write { transaction in
      _ = try transaction.context.dropIndex(on: "n", ofType: "Note")
      throw Stop()
    }
    for _ in 0..<2 {
      #expect(try indexNames(database) == ["Note.n"])
      #expect(try database.indexes().map(\.entryCount) == [21])
      try database.expectClean()
      database = try Database.open(on: disk.killed())
    }
  }

  @Test("another process sees an index that this one defines, builds and drops, when it refreshes and when it writes")
  func processes() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction }
    for number in 0..<40 { try a.put("r\(number)", ["n": .int(Int64(number))]) }
    let b = try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
    let query = Query("Note", where: .field("n") == 7)
    for round in 0..<4 {
      try a.setIndex(.queryable, on: "n", ofType: "Note")
      #expect(try b.explain(query).index == nil)
      let count = try decodings(b) {
        if round % 2 == 0 { try b.refresh() } else { try b.put("r50", ["n": .int(Int64(round))]) }
        #expect(try b.explain(query).index == "n" && b.records(query).count == 1)
      }
      #expect(count == 0)
      try b.put("r7", ["n": 7, "round": .int(Int64(round))])
      #expect(try a.refresh() && a.records(query).count == 1)
      try a.setIndex([], on: "n", ofType: "Note")
      if round % 2 == 0 { try b.refresh() } else { try b.put("r51") }
      #expect(try b.explain(query).index == nil && b.records(query).count == 1)
      try a.refresh()
    }
    for database in [a, b] { try database.expectClean() }
  }

  @Test("a log in which an index is made and dropped again and again is replayed without reading the records each time")
  func repeated() throws {
    var disk = SimulatedDisk(seed: 1)
    // No checkpoint: an open replays all of it.
    func open(_ disk: SimulatedDisk) throws -> Database {
      try Database.open(on: disk) {
        $0.checkpoint.minimumLogByteCount = 64 << 20
        $0.checkpoint.maximumLogByteCount = 64 << 20
      }
    }
    var database = try open(disk)
    for number in 0..<50 { try database.put("r\(number)", ["n": .int(Int64(number)), "m": .int(Int64(number % 5))]) }
    for round in 0..<20 {
      try database.setIndex(.queryable, on: "n", ofType: "Note")
      try database.put("r\(round)", ["n": .int(Int64(-round)), "m": 2])
      try database.setIndex([], on: "n", ofType: "Note")
    }
    try database.expectClean()
    disk = disk.killed()
    database = try open(disk)
    #expect(try database.indexes().isEmpty && database.indexRoot().count == 0)
    #expect(try applier(database).builtCount == 0)
    try database.expectClean()
    for key in ["n", "m"] { try database.setIndex(.queryable, on: key, ofType: "Note") }
    try database.put("r1", ["n": 1000, "m": 3])
    disk = disk.killed()
    database = try open(disk)
    // Each record once, for both.
    let later = try applier(database)
    #expect(try database.indexes().map(\.entryCount) == [50, 50])
    #expect(later.builtCount == 50)
    #expect(try database.records(Query("Note", where: .field("n") == 1000)).map(\.id.name) == ["r1"])
    try database.expectClean()
  }

  @Test(
    "whatever was defined, built, dropped and saved between: a replay ends with the trees of those who wrote it",
    arguments: 0..<6)
  func replays(seed: Int) throws {
    let disk = SimulatedDisk(seed: 1)
    var random = SeededGenerator(seed: UInt64(seed))
    var database = try Database.open(on: disk)
    let zones = [Zone.ID.default, try database.zone("A"), try database.zone("B")]
    let keys = ["n", "m", "t"]
    for _ in 0..<160 {
      let zone = zones.randomElement(using: &random) ?? .default
      let name = "r\(Int.random(in: 0..<30, using: &random))"
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        let key = keys.randomElement(using: &random) ?? "n"
        try database.write { _ = try $0.context.defineIndex(on: key, ofType: "Note", kind: key == "t" ? .text : .value) }
      case 1:
        let key = keys.randomElement(using: &random) ?? "n"
        try database.write { _ = try $0.context.dropIndex(on: key, ofType: "Note") }
      case 2, 3: try database.write { _ = try $0.context.buildIndexes(limit: Int.random(in: 1..<40, using: &random)) }
      case 4: try database.write { try $0.delete(Record.ID(name, in: zone)) }
      case 5 where Int.random(in: 0..<4, using: &random) == 0:
        if zone != .default {
          try database.write { try $0.deleteZone(zone) }
          try database.zone(zone.name)
        }
      case 6 where Int.random(in: 0..<4, using: &random) == 0: try database.store.checkpoint()
      default:
        let number = Int64.random(in: 0..<9, using: &random)
        try database.put(name, in: zone, ["n": .int(number), "m": .ints([number, 3]), "t": .string("word\(number) and")])
      }
    }
    let before = try database.indexes()
    // Each compares the trees with what the log gives.
    try database.expectClean()
    database = try Database.open(on: disk.killed())
    #expect(try database.indexes() == before)
    try database.expectClean()
    while try !database.indexes().allSatisfy(\.isComplete) { try database.buildIndexes() }
    try database.expectClean()
  }
}
