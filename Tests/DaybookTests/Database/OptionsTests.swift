import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What the options say shows in the metadata of records and in how a database is opened.

@Suite("options")
struct OptionsTests {
  @Test("user, device and clock are in the metadata: the creator stays, the last one changes")
  func metadata() throws {
    let disk = SimulatedDisk(seed: 1)
    func open(_ user: String?, _ device: String?, _ seconds: Double) throws -> Database {
      try .open(on: disk, seed: UInt64(seconds)) { options in
        options.userID = user
        options.deviceID = device
        options.now = { Date(timeIntervalSinceReferenceDate: seconds) }
      }
    }
    let first = try open("anna", "phone", 100.25)
    let created = try first.put("a", ["n": 1])
    #expect(
      created.metadata
        == .init(
          changeTag: created.metadata?.changeTag ?? "", creationDate: Date(timeIntervalSinceReferenceDate: 100.25),
          creatorUserID: "anna", modificationDate: Date(timeIntervalSinceReferenceDate: 100.25),
          lastModifiedUserID: "anna", modifiedByDevice: "phone"))
    try first.close()
    // A clock that is set back changes no order.
    let second = try open("بنت", nil, 50)
    var record = try #require(try second.record(created.id))
    record["n"] = 2
    let changed = try second.write { [record] in try $0.save(record) }
    #expect(changed.metadata?.creatorUserID == "anna" && changed.metadata?.lastModifiedUserID == "بنت")
    #expect(changed.metadata?.modifiedByDevice == nil)
    #expect(changed.metadata?.creationDate == created.metadata?.creationDate)
    #expect(changed.metadata?.modificationDate == Date(timeIntervalSinceReferenceDate: 50))
    try second.close()
    let third = try open(nil, "tablet", 200)
    let last = try third.put("a", ["n": 3])
    #expect(last.metadata?.creatorUserID == "anna" && last.metadata?.lastModifiedUserID == nil)
    #expect(last.metadata?.modifiedByDevice == "tablet")
    #expect(try third.changes(in: .default, since: nil).savedNames == ["a"])
    try third.expectClean()
  }

  @Test("byte counts of any sign are no more than sizes", arguments: [0, -10, Int.min, Int.max])
  func byteCounts(_ number: Int) throws {
    for field in 0..<5 {
      for access in [Database.Options.Access.mapped, .buffered] {
        let database = try Database.scratch { options in
          options.access = access
          switch field {
          case 0: options.checkpoint.minimumLogByteCount = number
          case 1: options.checkpoint.maximumLogByteCount = number
          case 2: options.checkpoint.memoryByteCount = number
          case 3: options.snapshotMemory = number
          default: options.pageCacheByteCount = min(number, 1 << 20)
          }
          if field == 1 { options.checkpoint.minimumLogByteCount = number }
        }
        try database.put("a", ["n": 1])
        let snapshot = try database.snapshot()
        try database.put("b", ["n": 2])
        _ = try? snapshot.record(Record.ID("a"))
        try database.compact()
        #expect(try database.recordCount(in: .default) == 2)
        try database.expectClean()
        try database.close()
      }
    }
  }

  @Test("one transaction has one date")
  func oneDate() throws {
    let database = try Database.scratch()
    let saved = try database.write { transaction in
      try (0..<5).map { try transaction.save(.fresh("r\($0)")) }
    }
    #expect(Set(saved.map { $0.metadata?.modificationDate }).count == 1)
  }

  @Test("a clock that tells no time does no harm")
  func strangeClocks() throws {
    for seconds in [Double.nan, .infinity, -.infinity, 0, -1e300] {
      let database = try Database.scratch { $0.now = { Date(timeIntervalSinceReferenceDate: seconds) } }
      let saved = try database.put("a")
      #expect(saved.metadata?.modificationDate.timeIntervalSinceReferenceDate == (seconds.isNaN ? 0 : seconds))
      try database.write { try $0.delete(saved.id) }
      #expect(try database.changes(in: .default, since: nil).deletedNames == ["a"])
      #expect(try database.history(of: saved.id).count == 2)
      try database.expectClean()
    }
  }

  @Test("names of user and device have at most 255 bytes")
  func names() throws {
    let longest = String(repeating: "u", count: 255)
    let database = try Database.scratch {
      $0.userID = longest
      $0.deviceID = longest
    }
    #expect(try database.put("a").metadata?.lastModifiedUserID == longest)
    let empty = try Database.scratch { $0.userID = "" }
    #expect(try empty.put("a").metadata?.creatorUserID == "")
    for change in [{ $0.userID = longest + "u" }, { $0.deviceID = longest + "u" }] as [(inout Database.Options) -> Void] {
      let error = failure { try Database.scratch(change) }
      #expect(error?.code == .invalidArguments && error?.facts.size == 256)
    }
    try database.expectClean()
  }

  @Test("any time to wait for the lock is one that the engine can count")
  func lockTimeouts() {
    var options = Database.Options()
    for (duration, expected) in [
      (Duration.seconds(-1), 0), (.zero, 0), (.milliseconds(1500), 1_500_000_000), (.seconds(5), 5_000_000_000),
    ] as [(Duration, UInt64)] {
      options.lockTimeout = duration
      #expect(options.storeOptions.lockTimeoutNanoseconds == expected)
    }
    options.lockTimeout = .seconds(Int64.max)
    #expect(options.storeOptions.lockTimeoutNanoseconds > 1_000_000_000_000_000_000)
  }

  @Test("a read-only database reads, writes nothing, and does not make a missing file")
  func readOnly() throws {
    let disk = SimulatedDisk(seed: 1)
    let writer = try Database.open(on: disk)
    let zone = try writer.zone("Library")
    try writer.put("a", in: zone)
    try writer.close()
    let bytes = disk.bytes(of: "test.daybook")
    let callCount = disk.callCount
    let reader = try Database.open(on: disk, seed: 2) { $0.isReadOnly = true }
    #expect(try reader.records(in: zone).map(\.id.name) == ["a"])
    #expect(try reader.changes(in: zone, since: nil).savedNames == ["a"])
    let error = failure { try reader.put("b", in: zone) }
    #expect(error?.code == .readOnly)
    let token = try reader.changes(in: zone, since: nil).token
    try reader.expectClean()
    try reader.close()
    #expect(disk.bytes(of: "test.daybook") == bytes && disk.callCount == callCount)
    let again = try Database.open(on: disk, seed: 3)
    try again.put("b", in: zone)
    #expect(try again.changes(in: zone, since: token).savedNames == ["b"])
    let missing = failure {
      try Database.open(on: SimulatedDisk(seed: 2)) { $0.isReadOnly = true }
    }
    #expect(missing?.code == .ioFailed)
  }

  @Test("a file that is open for writing is locked, here and at once")
  func locked() throws {
    let disk = SimulatedDisk(seed: 1)
    let first = try Database.open(on: disk)
    let error = failure { try Database.open(on: disk, seed: 2) { $0.lockTimeout = .zero } }
    #expect(error?.code == .locked)
    try first.put("a")
    try first.close()
    let second = try Database.open(on: disk, seed: 2)
    #expect(try second.recordCount(in: .default) == 1)
  }

  @Test("a backup and a salvage take file URLs, and no others")
  func copiesAtURLs() throws {
    let folder = try TemporaryFolder()
    let (source, copy, saved) = (folder.file("a"), folder.file("copy"), folder.file("saved"))
    let database = try Database.open(at: URL(fileURLWithPath: source))
    try database.put("a")
    try database.backup(to: URL(fileURLWithPath: copy))
    try database.close()
    try Database.salvage(from: URL(fileURLWithPath: copy), to: URL(fileURLWithPath: saved))
    let opened = try Database.open(at: saved)
    #expect(try opened.record(Record.ID("a")) != nil)
    let elsewhere = try #require(URL(string: "https://example.org/a"))
    #expect(failure { try opened.backup(to: elsewhere) }?.code == .invalidArguments)
    #expect(failure { _ = try Database.salvage(from: elsewhere, to: elsewhere) }?.code == .invalidArguments)
    try opened.close()
  }

  @Test("only file URLs name databases")
  func urls() throws {
    let error = failure { try Database.open(at: #require(URL(string: "https://example.org/a.daybook"))) }
    #expect(error?.code == .invalidArguments)
    let folder = try TemporaryFolder()
    let database = try Database.open(at: URL(fileURLWithPath: folder.file("صندوق 📦.daybook")))
    try database.put("a")
    try database.close()
    #expect(try Database.open(at: folder.file("صندوق 📦.daybook")).recordCount(in: .default) == 1)
  }

  @Test("a file that is no database says so")
  func notADatabase() throws {
    for bytes in [
      [1], Array("SQLite format 3\0".utf8), [UInt8](repeating: 0, count: 4096), [UInt8](repeating: 7, count: 9000),
    ] {
      let disk = SimulatedDisk(seed: 1)
      disk.install(bytes, at: "test.daybook")
      let error = failure { try Database.open(on: disk) }
      #expect(error?.code == .notADatabase && error?.facts.path == "test.daybook", "\(bytes.count) bytes")
      #expect(disk.bytes(of: "test.daybook") == bytes)
    }
  }
}
