import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// What users of a compacted database find: everything but older versions.
@Suite("Compaction")
struct CompactionTests {
  private static let library = try! Zone.ID("Library")

  private static func open(
    _ disk: SimulatedDisk, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: 1, clock: TestClock())
    change(&options)
    return try Database.open(at: "a.daybook", options: options, disk: disk)
  }

  private static func fill(_ database: Database, count: Int = 60) throws {
    try database.write { try $0.save(Zone(library)) }
    for round in 0..<3 {
      for number in 0..<count {
        try database.write { transaction in
          var record =
            try transaction.record(Record.ID("record \(number)", in: library))
            ?? Record(type: number % 2 == 0 ? "Even" : "Odd", id: Record.ID("record \(number)", in: library))
          record["round"] = round
          record["text"] = String(repeating: "x", count: 200)
          try transaction.save(record)
          if number % 10 == 0 { try transaction.setMetadata(Data([UInt8(number % 256)]), forKey: "key \(number)") }
        }
      }
      try database.write { try $0.delete(Record.ID("record \(round)", in: library)) }
    }
  }

  private static func expectSound(_ database: Database) throws {
    let report = try database.check(.deep)
    #expect(report.isClean, "\(report.findings)")
  }

  @Test("a run of change journal entries is sorted by sequence and ordinal, however long", arguments: [0, 1, 40, 600, 5_000])
  func sortedRun(_ count: Int) {
    var generator = SeededGenerator(seed: UInt64(count))
    for sequences in [1..<2, 5..<1_000_000, (1 << 60)..<(1 << 62)] as [Range<UInt64>] {
      let run = EntryRun()
      var expected: [[UInt64]] = []
      for number in 0..<min(count, ImageApplier.runCount) {
        let entry = ImageApplier.Entry(
          sequence: .random(in: sequences, using: &generator), offset: UInt64(number),
          ordinal: .random(in: 0..<100_000, using: &generator), byteCount: UInt32(number))
        run.append(entry)
        expected.append([entry.sequence, UInt64(entry.ordinal), entry.offset, UInt64(entry.byteCount)])
      }
      run.sort()
      // Of entries that are equal, the one that was first stays first.
      expected.sort { ($0[0], $0[1], $0[2]) < ($1[0], $1[1], $1[2]) }
      for index in 0..<run.count {
        let entry = run[index]
        #expect([entry.sequence, UInt64(entry.ordinal), entry.offset, UInt64(entry.byteCount)] == expected[index])
      }
    }
  }

  @Test("records, tags, dates, deletions, metadata and zones are the same; history begins anew")
  func keepsRecords() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database)
    let other = try Zone.ID("Gone")
    try database.write { try $0.save(Zone(other)) }
    try database.write { try $0.deleteZone(other, reason: .purged) }
    let id = try Record.ID("record 30", in: Self.library)
    let before = try #require(try database.record(id))
    let changes = try database.changes(in: Self.library, since: nil, limit: 1000)
    let databaseChanges = try database.databaseChanges(since: nil)
    #expect(try database.history(of: id).count == 3)
    let sequence = try database.snapshot().sequence
    let fileByteCount = try database.statistics().logByteCount

    try database.compact()

    #expect(try database.snapshot().sequence == sequence)
    let after = try #require(try database.record(id))
    #expect(after == before && after.metadata == before.metadata)
    let again = try database.changes(in: Self.library, since: nil, limit: 1000)
    #expect(again.saved.map(\.id) == changes.saved.map(\.id) && again.saved == changes.saved)
    #expect(again.deleted == changes.deleted && again.deleted.count == 1)
    #expect(again.token == changes.token)
    let databaseAgain = try database.databaseChanges(since: nil)
    #expect(databaseAgain.token == databaseChanges.token && databaseAgain.changed == databaseChanges.changed)
    #expect(databaseAgain.deleted.map(\.reason) == databaseChanges.deleted.map(\.reason))
    #expect(try database.history(of: id).count == 1)
    #expect(try database.metadata(forKey: "key 50") == Data([50]))
    #expect(throws: DatabaseError.self) { try database.recordCount(in: other) }
    #expect(try database.statistics().logByteCount < fileByteCount / 2)
    try Self.expectSound(database)
    try database.close()
    let reopened = try Self.open(disk)
    #expect(reopened.lastRecovery.wasClosed)
    #expect(try reopened.record(id) == before)
    try Self.expectSound(reopened)
    try reopened.close()
  }

  @Test("a token from before a compaction goes on after it, and so does a change tag")
  func tokens() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database)
    let token = try database.changes(in: Self.library, since: nil, limit: 1000).token
    let databaseToken = try database.databaseChanges(since: nil).token
    var record = try #require(try database.record(Record.ID("record 7", in: Self.library)))
    try database.compact()
    record["round"] = 99
    try database.write { try $0.save(record) }
    let page = try database.changes(in: Self.library, since: token)
    #expect(page.saved.map(\.id.name) == ["record 7"] && page.deleted.isEmpty)
    #expect(try database.databaseChanges(since: databaseToken).changed == [Self.library])
    try database.close()
    let reopened = try Self.open(disk)
    #expect(try reopened.changes(in: Self.library, since: token).saved.map(\.id.name) == ["record 7"])
    try reopened.close()
  }

  @Test("deletions that were forgotten stay so, and their tokens expired")
  func horizon() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database)
    let token = try database.changes(in: Self.library, since: nil, limit: 5).token
    let sequence = try database.snapshot().sequence
    try database.write { try $0.forgetDeletions(through: sequence) }
    try database.compact()
    #expect(throws: DatabaseError.self) { try database.changes(in: Self.library, since: token) }
    #expect(try database.changes(in: Self.library, since: nil, limit: 1000).deleted.isEmpty)
    try Self.expectSound(database)
    try database.close()
  }

  @Test("an asset is prepared, and a request with one saved, while a compaction takes the store's place")
  func preparesBesideCompaction() throws {
    // In a file: its syncs are what makes others wait for the turn in which a compaction ends.
    let folder = try TemporaryFolder()
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    let database = try Database.open(at: folder.file("a.daybook"), options: options)
    try database.write { transaction in for number in 0..<50 { try transaction.save(.fresh("r\(number)", type: "Film")) } }
    let isDone = Locked(false)
    let failures = Locked<[String]>([])
    let thread = BackgroundThread(name: "requests", stackByteCount: 4 << 20) {
      var number = 0
      do {
        while !isDone.withLock({ $0 }) {
          number += 1
          _ = try database.prepare(Asset(data: Data(repeating: UInt8(number & 255), count: 100)))
          var record = try Record(type: "Film", id: Record.ID("r\(number % 50)"))
          record["file"] = Asset(data: Data(repeating: UInt8(number % 50), count: 200))
          let result = try database.modify(saving: [record], policy: .changedKeys)
          if let error = result.errors.values.first { throw error }
        }
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    for _ in 0..<40 { try database.compact() }
    isDone.withLock { $0 = true }
    try #require(thread).join()
    #expect(failures.withLock { $0 } == [])
    try database.close()
  }

  @Test("a snapshot reads on, with history and all")
  func snapshots() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database)
    let id = try Record.ID("record 30", in: Self.library)
    let snapshot = try database.snapshot()
    try database.compact()
    try database.write { try $0.delete(id) }
    try database.compact()
    #expect(try database.record(id) == nil)
    #expect(try snapshot.record(id)?["round"] == 2)
    #expect(try snapshot.history(of: id).count == 3)
    try database.close()
    #expect(throws: DatabaseError.self) { try snapshot.record(id) }
  }

  @Test("a database that is open for reading follows to the new file, and never sees less than before")
  func readersFollow() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database)
    let reader = try Self.open(disk) { $0.isReadOnly = true }
    let id = try Record.ID("record 30", in: Self.library)
    database.store.appendNote()
    try reader.refresh()
    let sequence = try reader.snapshot().sequence
    #expect(try sequence == database.snapshot().sequence)
    let snapshot = try reader.snapshot()
    try database.compact()
    #expect(try reader.refresh())
    #expect(try reader.snapshot().sequence == sequence)
    #expect(reader.store.header.generation == 2)
    #expect(try snapshot.history(of: id).count == 3 && reader.history(of: id).count == 1)
    try database.write { try $0.delete(id) }
    database.store.appendNote()
    #expect(try reader.refresh())
    #expect(try reader.record(id) == nil && snapshot.record(id) != nil)
    try reader.close()
    try database.close()
  }

  @Test("a database that is open for reading sees no less in a compacted file of a few records, before anything follows there")
  func readersFollowAtOnce() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.hasBackgroundThread = false }
    let reader = try Database.open(on: disk, seed: 2) { $0.isReadOnly = true }
    for name in ["a", "b"] { try database.put(name) }
    database.store.appendNote()
    try reader.refresh()
    #expect(try reader.snapshot().sequence == 2)
    try database.compact()
    try reader.refresh()
    #expect(try reader.snapshot().sequence == 2)
    #expect(try reader.record(Record.ID("b")) != nil)
    #expect(reader.store.header.generation == 2)
  }

  @Test("another database that takes the name is not followed")
  func replaced() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database, count: 3)
    database.store.appendNote()
    let reader = try Self.open(disk) { $0.isReadOnly = true }
    let count = try reader.recordCount(in: Self.library)
    let options = Database.Options.simulated(seed: 77, clock: TestClock())
    try Database.open(at: "other", options: options, disk: disk).close()
    try disk.rename("other", to: "a.daybook")
    let error = #expect(throws: DatabaseError.self) { try reader.refresh() }
    #expect(error?.code == .closed)
    #expect(try reader.recordCount(in: Self.library) == count)
    // Its writer does not compact over the other one either, and copies nothing under the name that the other one needs for that.
    let refusal = #expect(throws: DatabaseError.self) {
      try database.compact { _, _ in
        Issue.record("a compaction that is refused copies records")
        return true
      }
    }
    #expect(refusal?.code == .badDatabase && refusal?.facts.found == "another file")
    #expect(try database.recordCount(in: Self.library) == count)
    try database.write { try $0.delete(Record.ID("record 1", in: Self.library)) }
    try database.close()
    try Database.open(at: "a.daybook", options: options, disk: disk).close()
  }

  @Test("on a full disk deletes succeed, and space comes back when what lives fits into what is free and the reserve")
  func fullDisk() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk) { $0.reserveByteCount = 24 << 10 }
    func record(_ number: Int) throws -> Record {
      var record = try Record(type: "Row", id: Record.ID("row \(number)"))
      record["bytes"] = Data(repeating: UInt8(number % 256), count: 1000)
      return record
    }
    disk.limit(toByteCount: 300 << 10)
    var count = 0
    let refusal = #expect(throws: DatabaseError.self) {
      while true {
        try database.write { try $0.save(record(count)) }
        count += 1
      }
    }
    #expect(refusal?.code == .diskFull && count > 100)
    // All of it lives: there is no room for another copy of it, and the error says how much it takes.
    let error = #expect(throws: DatabaseError.self) { try database.compact() }
    #expect(error?.code == .diskFull)
    #expect((error?.facts.size ?? 0) > count * 1000)
    #expect(try database.recordCount(in: .default) == count)
    try database.write { transaction in
      for number in 1..<count { try transaction.delete(Record.ID("row \(number)")) }
    }
    let kept = try database.recordCount(in: .default)
    try database.write { try $0.forgetDeletions(through: database.snapshot().sequence) }
    try database.compact()
    #expect(disk.bytes(of: "a.daybook")?.count ?? .max < 100 << 10)
    #expect(try database.recordCount(in: .default) == kept)
    for number in 0..<100 { try database.write { try $0.save(record(2000 + number)) } }
    try Self.expectSound(database)
    try database.close()
  }

  @Test("an image larger than memory is written in pieces, and replayed whole")
  func spills() throws {
    let disk = SimulatedDisk(seed: 1)
    let first = try Self.open(disk)
    try Self.fill(first, count: 300)
    try first.close()
    let database = try Self.open(disk) {
      $0.checkpoint.memoryByteCount = 8 * DirtyPages.byteCountPerPage
      $0.partByteCount = 4 << 10
    }
    let records = try database.records(in: Self.library)
    try database.compact()
    #expect(try database.records(in: Self.library) == records)
    try Self.expectSound(database)
    try database.close()
  }

  @Test("the change journal of a large zone does not have to fit into memory while the image is written")
  func spillsJournal() throws {
    let disk = SimulatedDisk(seed: 1)
    let first = try Self.open(disk)
    let other = try Zone.ID("Other")
    try first.write { transaction in
      try transaction.save(Zone(Self.library))
      try transaction.save(Zone(other))
    }
    let count = 45_000
    for start in stride(from: 0, to: count, by: 5000) {
      try first.write { transaction in
        for number in start..<start + 5000 {
          // Names in no order, so that the image has the sequences in none.
          let name = "\(number * 7919 % count)"
          try transaction.save(Record(type: "Note", id: Record.ID(name, in: number % 50 == 0 ? other : Self.library)))
        }
      }
    }
    try first.write { transaction in
      for number in 0..<100 {
        try transaction.delete(Record.ID("\(number * 7919 % count)", in: number % 50 == 0 ? other : Self.library))
      }
    }
    try first.close()
    let database = try Self.open(disk) { $0.checkpoint.memoryByteCount = 16 * DirtyPages.byteCountPerPage }
    let changes = try database.changes(in: Self.library, since: nil, limit: 100_000)
    try database.compact()
    // The change journal alone is more than a megabyte. One slab for pages, and one for each size of deltas; one more for freed pages
    // that are set aside in tests.
    #expect(database.store.editor.pages.reservedByteCount <= (2 + LeafDelta.classCount) * PageSlabs.byteCount)
    let after = try database.changes(in: Self.library, since: nil, limit: 100_000)
    #expect(after.saved.map(\.id) == changes.saved.map(\.id) && after.deleted.map(\.id) == changes.deleted.map(\.id))
    #expect(after.saved.count == 44_100 - 98)
    try Self.expectSound(database)
    try database.close()
    let again = try Self.open(disk)
    #expect(try again.changes(in: other, since: nil, limit: 100_000).saved.count == 898)
    try again.close()
  }

  @Test("a backup and a salvage of a compacted file hold the same records")
  func copies() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    try Self.fill(database)
    try database.compact()
    var record = try #require(try database.record(Record.ID("record 7", in: Self.library)))
    record["round"] = 99
    try database.write { try $0.save(record) }
    let records = try database.records(in: Self.library)
    let token = try database.changes(in: Self.library, since: nil, limit: 1000).token
    try database.backup(to: "b.daybook", disk: disk)
    try database.close()
    let options = Database.Options.simulated(seed: 2, clock: TestClock())
    let copy = try Database.open(at: "b.daybook", options: options, disk: disk)
    #expect(try copy.records(in: Self.library) == records)
    #expect(try copy.changes(in: Self.library, since: token).saved.isEmpty)
    try Self.expectSound(copy)
    try copy.close()
    let report = try Database.salvage(from: "a.daybook", to: "c.daybook", options: options, disk: disk)
    #expect(report.isComplete, "\(report)")
    let salvaged = try Database.open(at: "c.daybook", options: options, disk: disk)
    #expect(try salvaged.records(in: Self.library).map(\.keys) == records.map(\.keys))
    try Self.expectSound(salvaged)
    try salvaged.close()
  }

  @Test("of a compacted file with a damaged record the salvage brings over all others")
  func salvages() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk) { $0.partByteCount = 4 << 10 }
    try Self.fill(database)
    try database.compact()
    let id = try Record.ID("record 7", in: Self.library)
    let count = try database.recordCount(in: Self.library)
    var place: Place?
    try database.reading { (view) throws(DatabaseError) in
      place = try view.entry(id.name, in: try view.existingZone(id.zone))?.place
    }
    try database.close()
    var bytes = try #require(disk.bytes(of: "a.daybook"))
    bytes[Int(try #require(place).offset) + 60] ^= 1
    let damaged = SimulatedDisk(seed: 3)
    damaged.install(bytes, at: "a.daybook")
    let options = Database.Options.simulated(seed: 2, clock: TestClock())
    let report = try Database.salvage(from: "a.daybook", to: "c.daybook", options: options, disk: damaged)
    #expect(!report.isComplete)
    let salvaged = try Database.open(at: "c.daybook", options: options, disk: damaged)
    #expect(try salvaged.recordCount(in: Self.library) == count - 1)
    #expect(try salvaged.record(id) == nil)
    try Self.expectSound(salvaged)
    try salvaged.close()
  }

  @Test("a file that is mostly dead is compacted in the background, by itself")
  func automatic() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    var options = Database.Options()
    options.durability = .relaxed
    let database = try Database.open(at: directory.appending(path: "a.daybook"), options: options)
    let id = try Record.ID("a")
    for round in 0..<100 {
      try database.write { transaction in
        var record = try transaction.record(id) ?? Record(type: "Blob", id: id)
        record["bytes"] = Data(repeating: UInt8(round), count: 900_000)
        try transaction.save(record)
      }
    }
    let end = Date(timeIntervalSinceNow: 300)
    while try database.statistics().fileByteCount > 64 << 20, Date() < end { Thread.sleep(forTimeInterval: 0.02) }
    #expect(try database.statistics().fileByteCount < 64 << 20)
    #expect(try database.record(id)?["bytes"] == Data(repeating: 99, count: 900_000))
    try Self.expectSound(database)
    try database.close()
  }
}
