import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Files as a later version may write them: with operations and frames of kinds that this one does not know, and with features
// that it may not read or not change. They are made of this version's own, with other kinds and right checksums.

@Suite("files of later versions")
struct LaterVersionTests {
  private static let options = {
    var options = Database.Options.simulated(seed: 1)
    options.lockTimeout = .zero
    return options
  }()

  /// A killed database with two records and, between them, an operation of another kind.
  private static func disk(
    kind: UInt8, payload: [UInt8] = Array("0123456789abcdef".utf8), closes: Bool = false
  ) throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(at: "a", options: options, disk: disk)
    try database.put("a", ["n": 1])
    try database.write { try $0.setMetadata(Data("abcdefgh".utf8), forKey: "marker") }
    try database.put("b", ["n": 2])
    var bytes = try #require(disk.killed().bytes(of: "a"))
    try replace(in: &bytes, kind, payload)
    let forged = SimulatedDisk(seed: 2)
    forged.install(Forgery.sealed(bytes), at: "a")
    return forged
  }

  /// The operation that set the metadata becomes another one.
  private static func replace(in bytes: inout [UInt8], _ kind: UInt8, _ payload: [UInt8]) throws {
    let wanted = [6, 0] + Array("markerabcdefgh".utf8)
    precondition(payload.count == wanted.count, "the length stays")
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: wanted) })
    bytes.replaceSubrange(start..<start + wanted.count, with: payload)
    #expect(bytes[start - 1] == OperationKind.setMetadata.rawValue)
    bytes[start - 1] = kind
  }

  private static func features(reading: UInt64 = 0, writing: UInt64 = 0) -> [UInt8] {
    let bytes = ByteBuffer(capacity: 16)
    RequiredFeatures(reading: reading, writing: writing).append(to: bytes)
    return bytes.view.array
  }

  private static func expectRecords(_ database: Database) throws {
    #expect(try database.record(Record.ID("a"))?["n"] == 1)
    #expect(try database.record(Record.ID("b"))?["n"] == 2)
    #expect(try database.metadata(forKey: "marker") == nil)
    try database.expectClean()
  }

  @Test("an operation that may be passed over is no obstacle to anything", arguments: [128, 200, 254] as [UInt8])
  func skippableOperation(_ kind: UInt8) throws {
    let disk = try Self.disk(kind: kind)
    let database = try Database.open(at: "a", options: Self.options, disk: disk)
    try Self.expectRecords(database)
    #expect(try database.history(of: Record.ID("a")).count == 1)
    try database.put("c", ["n": 3])
    try database.backup(to: "copy", disk: disk)
    try database.compact()
    try Self.expectRecords(database)
    try database.close()
    for name in ["a", "copy"] {
      let again = try Database.open(at: name, options: Self.options, disk: disk)
      try Self.expectRecords(again)
      #expect(try again.record(Record.ID("c"))?["n"] == 3)
      try again.close()
    }
    let damaged = try Self.disk(kind: kind)
    #expect(try Database.salvage(from: "a", to: "saved", options: Self.options, disk: damaged).isComplete)
  }

  @Test("an operation that must be known is a matter of versions, not of damage", arguments: [20, 100, 127] as [UInt8])
  func unknownOperation(_ kind: UInt8) throws {
    let disk = try Self.disk(kind: kind)
    let error = failure { try Database.open(at: "a", options: Self.options, disk: disk) }
    #expect(error?.code == .formatTooNew && error?.description.contains("\(kind)") == true, "\(String(describing: error))")
    let report = try Database.salvage(from: "a", to: "saved", options: Self.options, disk: disk)
    #expect(!report.isComplete && report.skippedOperationCount == 1 && report.recordCount == 2)
  }

  @Test("what a later version would keep up to date is read here, and not changed")
  func featureForWriting() throws {
    let disk = try Self.disk(kind: OperationKind.requires.rawValue, payload: Self.features(writing: 1 << 37))
    for _ in 0..<2 {
      let database = try Database.open(at: "a", options: Self.options, disk: disk)
      try Self.expectRecords(database)
      let error = failure { try database.put("c") }
      #expect(
        error?.code == .formatTooNew && error?.description.contains("0x2000000000") == true, "\(String(describing: error))")
      #expect(failure { try database.compact() }?.code == .formatTooNew)
      #expect(failure { try database.backup(to: "copy", disk: disk) }?.code == .formatTooNew)
      #expect(disk.paths.filter { $0.hasPrefix("copy") } == [])
      let before = disk.bytes(of: "a")
      try database.close()
      #expect(disk.bytes(of: "a") == before, "a close writes nothing")
      var options = Self.options
      options.isReadOnly = true
      let reader = try Database.open(at: "a", options: options, disk: disk)
      try Self.expectRecords(reader)
      try reader.close()
    }
    let report = try Database.salvage(from: "a", to: "saved", options: Self.options, disk: disk)
    #expect(report.unknownFeatures == 1 << 37 && !report.isComplete && report.recordCount == 2)
    let saved = try Database.open(at: "saved", options: Self.options, disk: disk)
    try saved.put("c")
    try saved.close()
  }

  @Test("what a later version would read otherwise is not read here")
  func featureForReading() throws {
    let disk = try Self.disk(kind: OperationKind.requires.rawValue, payload: Self.features(reading: 32))
    for isReadOnly in [false, true] {
      var options = Self.options
      options.isReadOnly = isReadOnly
      let error = failure { try Database.open(at: "a", options: options, disk: disk) }
      #expect(error?.code == .formatTooNew && error?.description.contains("0x20") == true, "\(String(describing: error))")
    }
    #expect(try Database.salvage(from: "a", to: "saved", options: Self.options, disk: disk).unknownFeatures == 32)
  }

  @Test("a file that requires nothing stays as usable as any, and its compacted file says the same", arguments: [false, true])
  func nothingRequired(_ isReopened: Bool) throws {
    let disk = try Self.disk(kind: OperationKind.requires.rawValue, payload: Self.features())
    var database = try Database.open(at: "a", options: Self.options, disk: disk)
    try database.put("c")
    if isReopened {
      try database.close()
      database = try Database.open(at: "a", options: Self.options, disk: disk)
    }
    try database.compact()
    try Self.expectRecords(database)
    let settings = try database.trees().first { $0.name == "settings" }
    #expect(settings?.count == 1)
    try database.close()
  }

  @Test("a writer that shares the file with a later version stops writing, and goes on reading")
  func besideALaterWriter() throws {
    let disk = SimulatedDisk(seed: 1)
    func open(_ seed: UInt64) throws -> Database {
      var options = Database.Options.simulated(seed: seed)
      options.lock = .perTransaction
      return try Database.open(at: "a", options: options, disk: disk)
    }
    let (old, new) = (try open(1), try open(2))
    try old.put("a", ["n": 1])
    try new.write { try $0.setMetadata(Data("abcdefgh".utf8), forKey: "marker") }
    try new.put("b", ["n": 2])
    let bytes = try #require(disk.bytes(of: "a"))
    var forged = bytes
    try Self.replace(in: &forged, OperationKind.requires.rawValue, Self.features(writing: 4))
    forged = Forgery.sealed(forged)
    for index in bytes.indices where forged[index] != bytes[index] {
      #expect(disk.corrupt("a", at: index, mask: forged[index] ^ bytes[index]))
    }
    #expect(failure { try old.put("c") }?.code == .formatTooNew)
    #expect(failure { try old.put("c") }?.code == .formatTooNew)
    #expect(try old.record(Record.ID("a"))?["n"] == 1)
    try old.close()
  }

  /// What a later version does: a commit that requires something of writers.
  private static func require(_ features: RequiredFeatures, _ database: Database, throwing error: (any Error)? = nil) throws {
    try database.write { transaction in
      try transaction.context.start()
      let operation = transaction.context.changes.beginOperation()
      features.append(to: transaction.context.changes.payload)
      _ = try transaction.context.endOperation(operation, .requires)
      if let error { throw error }
    }
  }

  @Test("a writer that finds, when it resumes, that it may not write any more leaves the lock to those that may")
  func suspendedBesideALaterVersion() throws {
    let disk = SimulatedDisk(seed: 1)
    let old = try Database.open(at: "a", options: Self.options, disk: disk)
    try old.put("a", ["n": 1])
    try old.suspend()
    let new = try Database.open(at: "a", options: Self.options, disk: disk)
    try new.put("b", ["n": 2])
    try Self.require(RequiredFeatures(reading: 0, writing: 4), new)
    try new.close()
    for round in 0..<3 {
      try old.resume()
      #expect(failure { try old.put("c") }?.code == .formatTooNew)
      #expect(try old.record(Record.ID("b"))?["n"] == 2, "what was committed before it resumed")
      // Here the other one may not write, either; but it is not kept out.
      let other = try Database.open(at: "a", options: Self.options, disk: disk)
      #expect(failure { try other.put("q") }?.code == .formatTooNew, "round \(round)")
      let another = try Database.open(at: "a", options: Self.options, disk: disk)
      #expect(try another.recordCount(in: .default) == 2)
      try another.close()
      try other.close()
      try old.suspend()
    }
    try old.close()
  }

  @Test("a transaction that requires something and is rolled back requires nothing")
  func rolledBack() throws {
    let database = try Database.open(at: "a", options: Self.options, disk: SimulatedDisk(seed: 1))
    #expect(throws: CancellationError.self) {
      try Self.require(RequiredFeatures(reading: 0, writing: 8), database, throwing: CancellationError())
    }
    try database.put("a", ["n": 1])
    try Self.require(RequiredFeatures(reading: 0, writing: 8), database)
    #expect(failure { try database.put("b") }?.code == .formatTooNew)
    #expect(try database.record(Record.ID("a"))?["n"] == 1)
    try database.close()
  }

  @Test("frames of later kinds count in the chain and say nothing else", arguments: [128, 255] as [UInt8])
  func frames(_ kind: UInt8) throws {
    let disk = SimulatedDisk(seed: 1)
    var options = Self.options
    options.durability = .relaxed
    let database = try Database.open(at: "a", options: options, disk: disk)
    for number in 0..<20 {
      try database.put("r\(number)", ["n": .int(Int64(number))])
      try database.sync()
    }
    var bytes = try #require(disk.killed().bytes(of: "a"))
    let notes = Forgery.frameOffsets(of: bytes).filter { bytes[$0 + 4] == FrameHeader.Kind.note.rawValue }
    #expect(notes.count > 10)
    for offset in notes { bytes[offset + 4] = kind }
    let forged = SimulatedDisk(seed: 2)
    forged.install(Forgery.sealed(bytes), at: "a")
    #expect(try Database.salvage(from: "a", to: "saved", options: Self.options, disk: forged).isComplete)
    let again = try Database.open(at: "a", options: options, disk: forged)
    #expect(try again.recordCount(in: .default) == 20)
    var kinds: Set<String> = []
    try again.frames { frame in
      kinds.insert(frame.kind)
      return true
    }
    #expect(kinds.contains("kind \(kind)") && !kinds.contains("note"))
    try again.put("more")
    try again.expectClean()
    try again.close()
    // What they prove is proven: a damaged frame before one is no torn tail.
    var damaged = bytes
    let commit = try #require(Forgery.frameOffsets(of: bytes).last { $0 < notes[notes.count - 1] })
    damaged = Forgery.sealed(damaged)
    damaged[commit + 40] ^= 1
    let broken = SimulatedDisk(seed: 3)
    broken.install(damaged, at: "a")
    #expect(failure { try Database.open(at: "a", options: options, disk: broken).put("x") }?.code == .corrupted)
  }
}
