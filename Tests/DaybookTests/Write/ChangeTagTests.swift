import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A change tag belongs to one version of one record: no other writer ever gives the same one, of the file or of a
// copy of it. Else a stale save would be taken for a fresh one, and what it overwrites would be lost in silence.

@Suite("change tags")
struct ChangeTagTests {
  private static func open(
    _ disk: any Disk, seed: UInt64, _ change: (inout Database.Options) -> Void = { $0.lock = .perTransaction }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed)
    change(&options)
    return try .open(at: "test.daybook", options: options, disk: disk)
  }

  private func update(_ database: Database, _ key: String, _ value: Int) throws -> Record {
    try database.write { transaction in
      var record = try transaction.record(Record.ID("r")) ?? .fresh("r")
      record[key] = value
      return try transaction.save(record)
    }
  }

  private func expectRefused(
    _ record: Record, by database: Database, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var stale = record
    stale["stale"] = 1
    let error = failure(sourceLocation: sourceLocation) { try database.write { [stale] in try $0.save(stale) } }
    #expect(error?.code == .serverRecordChanged, sourceLocation: sourceLocation)
  }

  @Test("the text of a change tag is its number in base 36, whatever the number")
  func texts() {
    var numbers: [UInt64] = [0, 1, 9, 10, 35, 36, 37, 1295, 1296, .max, .max - 1, 1 << 63]
    var power: UInt64 = 1
    for _ in 0..<12 {
      power *= 36
      numbers += [power - 1, power, power + 1]
    }
    var generator = SeededGenerator(seed: 1)
    for bits in 1..<64 as Range<UInt64> { numbers.append(.random(in: 0..<(1 << bits), using: &generator)) }
    for number in numbers {
      #expect(ChangeTag.text(number) == String(number, radix: 36))
      if number != 0, number != .max { #expect(ChangeTag.number(ChangeTag.text(number)) == number) }
    }
  }

  @Test("two writers that share the file never give one tag twice: a stale save is refused", arguments: [2, 1] as [UInt64])
  func turns(_ otherSeed: UInt64) throws {
    let disk = SimulatedDisk(seed: 1)
    // With one seed both draw the same random numbers, as no two opens of an application do.
    let (a, b) = (try Self.open(disk, seed: 1), try Self.open(disk, seed: otherSeed))
    var tags: Set<String> = []
    for round in 0..<20 {
      let mine = try update(a, "mine", round)
      let theirs = try update(b, "theirs", round)
      for record in [mine, theirs] { #expect(tags.insert(try #require(record.metadata?.changeTag)).inserted) }
      expectRefused(mine, by: a)
      expectRefused(mine, by: b)
      #expect(try a.record(Record.ID("r"))?["theirs"] == round)
    }
    #expect(try a.history(of: Record.ID("r")).count == 40)
    try a.expectClean()
    try a.close()
    try b.close()
  }

  @Test("what another writer saved while a database was suspended has other tags than its next saves")
  func suspended() throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1) { _ in }
    try a.put("other")
    try a.suspend()
    let b = try Self.open(disk, seed: 2) { _ in }
    for value in 0..<2 { _ = try update(b, "v", value) }
    try b.close()
    try a.resume()
    let read = try #require(try a.record(Record.ID("r")))
    let first = try update(a, "v", 2)
    #expect(first.metadata?.changeTag != read.metadata?.changeTag)
    expectRefused(read, by: a)
    #expect(try a.record(Record.ID("r"))?["v"] == 2)
    try a.close()
  }

  @Test("tags of saves that went back, of copies and of backups that were put back are not given again")
  func wentBack() throws {
    let disk = SimulatedDisk(seed: 1)
    var databases = [try Self.open(disk, seed: 1) { _ in }]
    _ = try update(databases[0], "v", 0)
    try databases[0].sync()
    // Two copies that go on from the same commit of one lineage, and the original beside them.
    for seed in 2...3 as ClosedRange<UInt64> { databases.append(try Self.open(disk.killed(), seed: seed) { _ in }) }
    var tags: Set<String> = []
    for round in 0..<10 {
      for database in databases {
        var given: [Record] = []
        try? database.write { transaction in
          given.append(try transaction.save(.fresh("new-\(round)")))
          try? transaction.savepoint {
            given.append(try transaction.save(.fresh("again")))
            throw Intended()
          }
          given.append(try transaction.save(.fresh("again")))
          if round % 2 == 0 { throw Intended() }
        }
        given.append(try update(database, "v", round))
        for record in given { #expect(tags.insert(try #require(record.metadata?.changeTag)).inserted) }
        if round % 2 == 1 { try database.write { try $0.delete(Record.ID("again")) } }
      }
    }
    for database in databases { try database.expectClean() }
  }

  @Test("replay, compaction and backups keep the tags that were given")
  func kept() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk, seed: 1) { $0.closeCheckpointByteCount = 1 << 30 }
    var tags: [Record.ID: String] = [:]
    for number in 0..<30 {
      let saved = try database.put("r\(number % 20)", ["n": .int(Int64(number))])
      tags[saved.id] = saved.metadata?.changeTag
    }
    func expectTags(_ database: Database) throws {
      let records = try database.records(in: .default)
      #expect(Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0.metadata?.changeTag) }) == tags)
    }
    let replayed = try Self.open(disk.killed(), seed: 2)
    #expect(replayed.lastRecovery.replayedCommitCount == 30)
    try expectTags(replayed)
    try database.backup(to: "copy.daybook", disk: disk)
    var options = Database.Options.simulated(seed: 3)
    options.isReadOnly = true
    try expectTags(try .open(at: "copy.daybook", options: options, disk: disk))
    try database.compact()
    try expectTags(database)
    try database.close()
    try expectTags(try Self.open(disk, seed: 4))
  }

  @Test("many saves in many transactions draw no random number for each")
  func cost() throws {
    let count = Locked(0)
    let database = try Database.scratch { options in
      options.random = {
        count.withLock { count in
          count += 1
          return UInt64(count) &* 0x9E37_79B9_7F4A_7C15
        }
      }
    }
    _ = try update(database, "v", 0)
    let before = count.withLock { $0 }
    for value in 1...100 { _ = try update(database, "v", value) }
    #expect(count.withLock { $0 } == before)
  }
}

/// The lineage of commits beside writers that share the file, files that are exchanged, and disks that fail.
@Suite("lineages")
struct LineageTests {
  @Test("an older copy put in place of a database that is suspended refuses what it has not lived through")
  func exchanged() throws {
    let disk = SimulatedDisk(seed: 1)
    let zone = try Zone.ID("Library")
    let database = try Database.open(on: disk)
    try database.write { try $0.save(Zone(zone)) }
    try database.put("a", in: zone)
    let good = try database.changes(in: zone, since: nil).token
    try database.suspend()
    // Another open leaves a file that is closed: the next open has nothing to recover, and continues its lineage.
    let other = try Database.open(on: disk, seed: 2)
    try other.put("o", in: zone)
    try other.close()
    let old = try #require(disk.bytes(of: "test.daybook"))
    try database.resume()
    try database.put("b", in: zone)
    let lost = try database.changes(in: zone, since: nil).token
    try database.suspend()
    try disk.remove("test.daybook")
    disk.install(old, at: "test.daybook")
    try database.resume()
    try database.put("another b", in: zone)
    let error = failure { try database.changes(in: zone, since: lost) }
    #expect(error?.code == .changeTokenForked)
    #expect(try database.changes(in: zone, since: good).savedNames == ["o", "another b"])
    try database.expectClean()
    try database.close()
  }

  @Test("a commit that is lost with its writer is never shown where writers share the file, so its number may be given again")
  func lostWithItsWriter() throws {
    for loss in [SimulatedFault.SyncLoss.dropsPages, .keepsPages] {
      let disk = SimulatedDisk(seed: 1)
      let change: (inout Database.Options) -> Void = {
        $0.lock = .perTransaction
        $0.durability = .relaxed
      }
      let (a, b) = (try Database.open(on: disk, seed: 1, change), try Database.open(on: disk, seed: 2, change))
      try a.put("a")
      try b.put("b")
      try a.put("c")
      disk.inject(SimulatedFault([.sync], call: 1, syncLoss: loss))
      #expect(failure { try a.put("lost") }?.code == .outcomeUnknown)
      disk.removeFaults()
      let token = try a.changes(in: .default, since: nil).token
      // Where the failure is still to be told to the other description, its takeover is refused, and then done.
      let refusal = failure { try b.put("d") }
      if let refusal {
        #expect(refusal.code == .ioFailed)
        try b.put("d")
      }
      let rest = try b.changes(in: .default, since: token).savedNames
      #expect(rest == ["d"] || rest == ["lost", "d"])
      try b.expectClean()
      try b.close()
    }
  }
}
