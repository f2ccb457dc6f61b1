import Daybook
import DaybookEngine
import DaybookTesting
import Foundation
import Synchronization
import Testing

// What FORMAT.md says and what the code writes are the same bytes.
//
// After a change of the format: raise the format version, run the tests once with DAYBOOK_WRITE_FORMAT=1, which puts the
// new dump into FORMAT.md, read it, and describe the change there. The fixture of a released format never changes: a new
// version gets a new one (DAYBOOK_WRITE_FIXTURE=1 writes it where it is missing).

/// The database of FORMAT.md: one zone, one record, a checkpoint, closed.
private enum SmallDatabase {
  static let path = "/small.daybook"
  static let zone = "Library"
  static let name = "dune"

  static var options: Database.Options {
    var options = FormatFixture.options
    options.userID = "ada"
    // So small a database would be closed without a checkpoint.
    options.closeCheckpointByteCount = 0
    return options
  }

  /// Creates it, always with the same bytes.
  static func bytes() throws -> [UInt8] {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(at: path, options: options, disk: disk)
    try database.write { transaction in
      let library = try Zone.ID(zone)
      try transaction.save(Zone(library))
      var movie = try Record(type: "Movie", id: Record.ID(name, in: library))
      movie["title"] = "Dune"
      movie["year"] = 2021
      movie["place"] = Location(latitude: 29.5, longitude: 35.25)
      try transaction.save(movie)
    }
    try database.close()
    return try #require(disk.bytes(of: path))
  }
}

@Suite("FORMAT.md")
struct FormatTests {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let document = root.appending(path: "FORMAT.md")

  /// The lines between "```dump" and "```".
  private func documentedLines() throws -> [Substring] {
    let text = try String(contentsOf: Self.document, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex(of: "```dump"), "FORMAT.md has a dump")
    let end = try #require(lines[start...].firstIndex(of: "```"))
    return Array(lines[(start + 1)..<end])
  }

  @Test("the bytes of the dump are a database with the zone and the record that it shows")
  func dumpOpens() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.install(try FormatDump.bytes(of: try documentedLines()), at: SmallDatabase.path)
    let database = try Database.open(at: SmallDatabase.path, options: SmallDatabase.options, disk: disk)
    #expect(database.lastRecovery.wasClosed && database.lastRecovery.basis == .newestCheckpoint)
    #expect(database.id.uuidString == "00112233-4455-4677-8899-AABBCCDDEEFF")
    let library = try Zone.ID(SmallDatabase.zone)
    #expect(try database.zones().map(\.id) == [library, .default])
    #expect(try database.recordCount(in: library) == 1)
    #expect(try database.recordCount(in: .default) == 0)
    let record = try #require(try database.record(Record.ID(SmallDatabase.name, in: library)))
    #expect(record.type == "Movie")
    #expect(record.keys == ["place", "title", "year"])
    #expect(record["title"] == "Dune" && record["year"] == 2021)
    #expect(record["place"] == Location(latitude: 29.5, longitude: 35.25))
    #expect(record.metadata?.creatorUserID == "ada" && record.metadata?.lastModifiedUserID == "ada")
    #expect(record.metadata?.creationDate == Date(timeIntervalSinceReferenceDate: 800_000_000))
    let report = try database.check(.deep)
    #expect(report.isClean, "\(report.findings)")
    try database.close()
  }

  @Test("the same database made anew has the bytes of the dump, and each has the meaning that stands beside it")
  func dumpIsCurrent() throws {
    let lines = try FormatDump.lines(of: try SmallDatabase.bytes())
    if ProcessInfo.processInfo.environment["DAYBOOK_WRITE_FORMAT"] != nil { try replaceDump(with: lines) }
    let documented = try documentedLines()
    for (new, old) in zip(lines, documented) where new != old {
      Issue.record("FORMAT.md says\n  \(old)\nand the code writes\n  \(new)")
      return
    }
    #expect(lines.count == documented.count)
    #expect(try FormatDump.bytes(of: documented) == SmallDatabase.bytes())
  }

  private func replaceDump(with lines: [String]) throws {
    let text = try String(contentsOf: Self.document, encoding: .utf8)
    var all = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(all.firstIndex(of: "```dump"))
    let end = try #require(all[start...].firstIndex(of: "```"))
    all.replaceSubrange((start + 1)..<end, with: lines.map { Substring($0) })
    try all.joined(separator: "\n").write(to: Self.document, atomically: true, encoding: .utf8)
  }

  @Test("a change of one byte of the dump is noticed when it is opened, read or checked")
  func dumpIsChecked() throws {
    let bytes = try SmallDatabase.bytes()
    // Every 13th byte here; every byte, and every length, in the suites of the engine.
    for offset in stride(from: 0, to: bytes.count, by: 13) {
      var damaged = bytes
      damaged[offset] ^= 0x10
      let disk = SimulatedDisk(seed: 1)
      disk.install(damaged, at: SmallDatabase.path)
      var options = SmallDatabase.options
      options.isReadOnly = true
      guard let database = try? Database.open(at: SmallDatabase.path, options: options, disk: disk) else { continue }
      let library = try Zone.ID(SmallDatabase.zone)
      if let record = try? database.record(Record.ID(SmallDatabase.name, in: library)) {
        #expect(record["title"] == "Dune" && record["year"] == 2021, "byte \(offset)")
      }
    }
  }

  // MARK: files of released formats

  @Test("the file of format 1 opens, and holds what was put into it", arguments: ["format-1"])
  func fixture(name: String) throws {
    let file = Self.root.appending(path: "Tests/DaybookTests/Fixtures/\(name).daybook")
    let asset = URL(filePath: file.path + ".assets/" + FormatFixture.assetName)
    if !FileManager.default.fileExists(atPath: file.path),
      ProcessInfo.processInfo.environment["DAYBOOK_WRITE_FIXTURE"] != nil
    {
      let made = try FormatFixture.bytes()
      try Data(made.file).write(to: file)
      try FileManager.default.createDirectory(
        atPath: asset.deletingLastPathComponent().path, withIntermediateDirectories: true)
      try Data(made.asset).write(to: asset)
    }
    var options = Database.Options()
    options.isReadOnly = true
    let database = try Database.open(at: file.path, options: options)
    #expect(database.lastRecovery.wasClosed && database.lastRecovery.basis == .newestCheckpoint)
    #expect(database.lastRecovery.replayedCommitCount == 1)
    try FormatFixture.verify(database)
    try database.close()

    // Later versions also write to it. A copy, so that the fixture stays as it is.
    let disk = SimulatedDisk(seed: 1)
    disk.install([UInt8](try Data(contentsOf: file)), at: "/copy.daybook")
    disk.install([UInt8](try Data(contentsOf: asset)), at: "/copy.daybook.assets/" + FormatFixture.assetName)
    var writing = FormatFixture.options
    writing.isReadOnly = false
    let copy = try Database.open(at: "/copy.daybook", options: writing, disk: disk)
    try FormatFixture.verify(copy)
    try copy.write { transaction in
      _ = try transaction.save(Record(type: "Note", id: Record.ID("later")))
    }
    #expect(try copy.check(.deep).isClean)
    try copy.close()
  }
}

/// A database with one of everything that format 1 has: every kind of value, text of several scripts, a record with a
/// history, a deletion, a deleted zone, metadata, a transaction in parts, trees of several pages, two checkpoints.
enum FormatFixture {
  static let path = "/fixture.daybook"

  /// Random numbers that are recognised in a dump, and a clock that does not move.
  static var options: Database.Options {
    let given: [UInt64] = [0x0011_2233_4455_6677, 0x8899_AABB_CCDD_EEFF, 0x5A17_5A17_5A17_5A17, 0x11EA_6E11_EA6E_11EA]
    let drawn = Counter()
    var options = Database.Options()
    options.random = {
      let index = drawn.next()
      return index < given.count ? given[index] : 0xE90C_0000_0000_0000 + UInt64(index)
    }
    options.now = { Date(timeIntervalSinceReferenceDate: 800_000_000) }
    options.hasBackgroundThread = false
    return options
  }

  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
  }

  private static func zone() throws -> Zone.ID { try Zone.ID("Bücher") }

  /// An asset as it is read: with its digest.
  private static func stored(_ content: [UInt8]) -> Asset {
    let digest = content.withView { SHA256.digest(of: $0) }
    return Asset(digest: digest, byteCount: content.count, content: Data(content))
  }

  /// Every kind of value, in all of the ways in which they are stored.
  private static func everything() throws -> Record {
    let day = Date(timeIntervalSinceReferenceDate: 700_000_000.5)
    let place = Location(latitude: -33.875, longitude: 151.25)
    var full = Location(latitude: 90, longitude: -180)
    full.altitude = 8848.5
    full.timestamp = day
    let asset = try Asset(data: Data([1, 2, 3])).withContent(ofAtMost: 3)
    let elsewhere = try Asset(data: largeContent).withContent(ofAtMost: .max)
    let other = try Record.ID("row-7", in: zone())
    var record = try Record(type: "Everything", id: Record.ID("all", in: zone()))
    let values: [String: Record.Value] = [
      "string": .string("naïve 東京 שלום e\u{301} 👩‍👩‍👧‍👦"), "emptyString": .string(""), "int": .int(.min), "zero": .int(0),
      "double": .double(.infinity), "bytes": .bytes(Data([0, 255])), "date": .date(day), "location": .location(place),
      "asset": .asset(asset), "reference": .reference(.init(other, action: .deleteSelf)),
      "strings": .strings(["", "zwei"]), "ints": .ints([.max, -1, 0]), "doubles": .doubles([0.1, -2.5e300]),
      "bytesList": .bytesList([Data(), Data([7])]), "dates": .dates([day]), "locations": .locations([place, full]),
      "assets": .assets([elsewhere]), "references": .references([.init(other, action: .validate)]),
      "noStrings": .strings([]),
    ]
    for (key, value) in values { try record.set(value, forKey: key) }
    try record.encryptedValues.set(.string("secret"), forKey: "pin")
    record.parent = Record.Reference(other)
    return record
  }

  /// The content of an asset that lies in a file of its own.
  private static let largeContent = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 * 7) })
  /// Where it lies, as SHA-256 names it.
  static let assetName = "9a/9a76b8af8f16f19d60de2b3999c22f9d10be4395c90ea3bfc5eb6cd6254243af"

  /// Creates it; the file in the repository was made by this with DAYBOOK_WRITE_FIXTURE=1.
  static func bytes() throws -> (file: [UInt8], asset: [UInt8]) {
    let disk = SimulatedDisk(seed: 1)
    var options = options
    options.userID = "ada"
    options.deviceID = "study"
    options.partByteCount = 2048
    options.closeCheckpointByteCount = 0
    options.inlineAssetByteCount = 100
    var database = try Database.open(at: path, options: options, disk: disk)
    let zone = try zone()
    try database.write(origin: "fixture") { transaction in
      try transaction.save(Zone(zone))
      try transaction.save(Zone(Zone.ID("Doomed", owner: "bob")))
      try transaction.save(Zone(Zone.ID("Leftover")))
      // A savepoint that was rolled back after parts had been written, then rows in parts and several pages.
      struct ChangedMyMind: Error {}
      try? transaction.savepoint {
        for number in 0..<20 { try transaction.save(row(number + 500)) }
        throw ChangedMyMind()
      }
      for number in 0..<120 { try transaction.save(row(number)) }
      try transaction.save(everything())
      try transaction.setMetadata(Data("kept".utf8), forKey: "state")
      try transaction.setMetadata(Data(), forKey: "gone")
    }
    try database.close()

    // Another open: another lineage and user, a history, deletions, and a second checkpoint.
    options.userID = "grace"
    options.deviceID = nil
    database = try Database.open(at: path, options: options, disk: disk)
    try database.write { transaction in
      var changed = try #require(try transaction.record(Record.ID("row-3", in: zone)))
      changed["title"] = "changed"
      try transaction.save(changed)
      try transaction.delete(Record.ID("row-4", in: zone))
      try transaction.deleteZone(Zone.ID("Doomed", owner: "bob"), reason: .purged)
      try transaction.setMetadata(nil, forKey: "gone")
      _ = try transaction.save(Record(type: "Note", id: Record.ID("default")))
    }
    try database.close()
    // A commit that no checkpoint contains: it is replayed whenever the file is opened.
    options.closeCheckpointByteCount = .max
    database = try Database.open(at: path, options: options, disk: disk)
    try database.write { transaction in try transaction.delete(Record.ID("row-5", in: zone)) }
    try database.close()
    return (try #require(disk.bytes(of: path)), try #require(disk.bytes(of: path + ".assets/" + assetName)))
  }

  private static func row(_ number: Int) throws -> Record {
    var record = try Record(type: "Row", id: Record.ID("row-\(number)", in: zone()))
    record["number"] = number
    record["title"] = "row number \(number)"
    return record
  }

  /// Compares a database with what `bytes` put into it.
  static func verify(_ database: Database) throws {
    let zone = try zone()
    let report = try database.check(.deep)
    #expect(report.isClean, "\(report.findings)")
    #expect(try Set(database.zones().map(\.id)) == [zone, try Zone.ID("Leftover"), .default])
    #expect(try database.recordCount(in: zone) == 119)
    #expect(try database.recordCount(in: zone, ofType: "Row") == 118)
    for number in 0..<120 {
      let record = try database.record(Record.ID("row-\(number)", in: zone))
      if number == 4 || number == 5 {
        #expect(record == nil)
      } else {
        #expect(record?["number"] == number)
        #expect(record?["title"] == (number == 3 ? "changed" : "row number \(number)"))
        #expect(record?.metadata?.creatorUserID == "ada")
        #expect(record?.metadata?.lastModifiedUserID == (number == 3 ? "grace" : "ada"))
        #expect(record?.metadata?.modifiedByDevice == (number == 3 ? nil : "study"))
      }
    }
    let stored = try #require(try database.record(Record.ID("all", in: zone)))
    let expected = try everything()
    #expect(Set(stored.keys) == Set(expected.keys))
    for key in expected.keys { #expect(stored[key] as Record.Value? == expected[key] as Record.Value?, "\(key)") }
    #expect(stored.encryptedValues["pin"] as Record.Value? == .string("secret"))
    #expect(stored.parent == expected.parent)
    #expect(try database.metadata(forKey: "state") == Data("kept".utf8))
    #expect(try database.metadata(forKey: "gone") == nil)
    let history = try database.history(of: Record.ID("row-3", in: zone))
    #expect(history.count == 2)
    let changes = try database.changes(in: zone, since: nil, limit: 1000)
    #expect(changes.saved.count == 119)
    #expect(changes.deleted.map(\.id.name) == ["row-4", "row-5"])
    #expect(changes.deleted.allSatisfy { $0.type == "Row" })
    let zones = try database.databaseChanges(since: nil)
    #expect(zones.deleted == [.init(id: try Zone.ID("Doomed", owner: "bob"), reason: .purged)])
  }
}
