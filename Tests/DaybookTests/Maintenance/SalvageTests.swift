import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Salvage: everything of a damaged file that is intact is copied, and the report says what is not.

/// A disk that counts the bytes that are read.
private final class ReadingDisk: ForwardingDisk {
  let disk = SimulatedDisk(seed: 1)
  let readByteCount = Locked(0)
  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile { ReadFile(try disk.open(path, mode), self) }

  private final class ReadFile: ForwardingFile {
    let file: any DiskFile
    let owner: ReadingDisk
    init(_ file: any DiskFile, _ owner: ReadingDisk) { (self.file, self.owner) = (file, owner) }
    func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
      owner.readByteCount.withLock { $0 += count }
      // Safe: the caller's word, handed on.
      return try unsafe file.read(into: target, count: count, at: offset)
    }
  }
}

@Suite("Salvage")
struct SalvageTests {
  private let path = "test.daybook"

  @Test("checkpoints that claim the whole file do not make a salvage read it again for each of them")
  func endlessCheckpoints() throws {
    // The first page is damaged; what comes after it might be checkpoints, as long as the rest of the file.
    let header = Forgery.header()
    let salt = header.withView { $0.uint64(at: 40) }
    let bytes = ByteBuffer()
    // Longer than what is read at once.
    bytes.append(zeros: 3 << 20)
    for offset in stride(from: Page.byteCount, to: 64 << 10, by: 1024) {
      bytes.set(uint32: FrameHeader.magic, at: offset)
      bytes.set(uint32: UInt32(FrameHeader.Kind.checkpoint.rawValue), at: offset + 4)
      bytes.set(uint64: salt, at: offset + 8)
      bytes.set(uint64: UInt64(offset), at: offset + 16)
      bytes.set(uint64: 1, at: offset + 24)
      bytes.set(uint64: UInt64(bytes.count - offset - FrameHeader.byteCount), at: offset + 72)
      for field in stride(from: 0, to: FileHeader.meaningfulByteCount, by: 8) {
        bytes.set(uint64: header.withView { $0.uint64(at: field) }, at: offset + FrameHeader.byteCount + field)
      }
      bytes.set(uint64: XXH3.hash(bytes.view.slice(offset..<offset + 88), seed: salt), at: offset + 88)
    }
    let disk = ReadingDisk()
    disk.disk.install(bytes.view.array, at: path)
    #expect(throws: StoreError.self) { _ = try SalvageReader(path, disk: disk) }
    #expect(disk.readByteCount.withLock { $0 } < 16 * bytes.count)
  }

  @Test(
    "of a transaction in parts, one of them damaged or gone, comes what is whole, and nothing that was rolled back to a savepoint"
  )
  func damagedPartBeforeRollback() throws {
    struct ChangedMyMind: Error {}
    let disk = SimulatedDisk(seed: 41)
    let database = try Database.open(on: disk) {
      $0.partByteCount = 1500
      $0.reserveByteCount = 0
    }
    try database.write { transaction in
      for number in 0..<30 { try transaction.save(.fresh("kept\(number)", ["n": .int(Int64(number))])) }
      try? transaction.savepoint {
        for number in 0..<90 { try transaction.save(.fresh("undone\(number)", ["n": .int(Int64(number))])) }
        throw ChangedMyMind()
      }
      for number in 0..<90 { try transaction.save(.fresh("after\(number)", ["n": .int(Int64(number))])) }
    }
    try database.put("later")
    let bytes = try #require(withExtendedLifetime(database) { disk.killed().bytes(of: path) })
    let parts = Forgery.frameOffsets(of: bytes).filter { bytes[$0 + 4] == FrameHeader.Kind.part.rawValue }
    #expect(parts.count >= 5)
    var laterPartCount = 0
    for part in parts {
      // The rollback itself may not be the damaged one: who has lost it knows nothing of it.
      let end = Forgery.payloadEnd(of: bytes, at: part)
      let first = part + FrameHeader.byteCount + PartList.encodedByteCount * Int(bytes[part + 5] & 1)
      if bytes[first + 11] == Operation.rollbackKind { continue }
      for isGone in [false, true] {
        if isGone, Self.hasRollback(bytes[first..<end]) { continue }
        var damaged = bytes
        damaged[isGone ? part + 40 : first + 14] ^= 0x55
        let target = SimulatedDisk(seed: 42)
        target.install(damaged, at: path)
        let report = try Database.salvage(from: path, to: "out", options: .simulated(seed: 5), disk: target)
        let names = try Set(
          Database.open(at: "out", options: .simulated(seed: 6), disk: target).records(in: .default, ofType: "Note").map(
            \.id.name))
        #expect(!report.isComplete && names.contains("later"))
        let undone = names.filter { $0.hasPrefix("undone") }.sorted()
        #expect(undone == [], "part at \(part), \(isGone ? "gone" : "damaged")")
        // Damage after the rollback takes nothing that was before it.
        let isLater = !Self.hasRollback(bytes[part...]) && !Self.hasRollback(bytes[first..<end])
        if isLater, !isGone {
          laterPartCount += 1
          #expect(names.filter { $0.hasPrefix("kept") }.count == 30, "part at \(part)")
          #expect(names.filter { $0.hasPrefix("after") }.count == 89, "part at \(part)")
        }
      }
    }
    #expect(laterPartCount >= 2)
  }

  /// Whether there is a header of a rollback, of four bytes.
  private static func hasRollback(_ bytes: ArraySlice<UInt8>) -> Bool {
    let wanted: [UInt8] = [4, 0, 0, Operation.rollbackKind]
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }

  /// A database with a history: overwritten, deleted and re-created records, zones that come and go, a transaction in parts.
  private func specimen(closing: Bool = true) throws -> (disk: SimulatedDisk, contents: [Record.ID: Record]) {
    let disk = SimulatedDisk(seed: 31)
    let database = try Database.open(on: disk) {
      $0.partByteCount = 1500
      $0.reserveByteCount = 0
    }
    let zone = try database.zone("Shelf")
    let gone = try database.zone("Gone")
    for number in 0..<40 {
      try database.put("r\(number % 26)", in: number % 2 == 0 ? zone : .default, ["n": .int(Int64(number))])
    }
    try database.put("x", in: gone)
    try database.write { transaction in
      for number in 0..<60 {
        try transaction.save(.fresh("big\(number)", in: zone, ["text": .string("text of \(number)")]))
      }
    }
    try database.write { try $0.delete(Record.ID("r3")) }
    try database.write { try $0.deleteZone(gone) }
    try database.put("r3", type: "Other", ["n": 3])
    try database.write { try $0.setMetadata(Data([7]), forKey: "m") }
    for number in 0..<10 { try database.put("last\(number)", in: zone) }
    let contents = try contents(database)
    if closing { try database.close() }
    return (disk, contents)
  }

  private func contents(_ database: Database) throws -> [Record.ID: Record] {
    var result: [Record.ID: Record] = [:]
    for zone in try database.zones() {
      for record in try database.records(in: zone.id) { result[record.id] = record }
    }
    return result
  }

  private func salvage(_ disk: SimulatedDisk, to target: String = "out") throws -> (Database, Database.SalvageReport) {
    let before = disk.bytes(of: path)
    let report = try Database.salvage(from: path, to: target, options: .simulated(seed: 5), disk: disk)
    #expect(disk.bytes(of: path) == before, "the damaged file stays as it is")
    let database = try Database.open(at: target, options: .simulated(seed: 6), disk: disk)
    try database.expectClean()
    return (database, report)
  }

  @Test("of a sound file everything comes over, change tags, history and metadata too", arguments: [true, false])
  func soundFile(isClosed: Bool) throws {
    let (live, contents) = try specimen(closing: isClosed)
    let disk = isClosed ? live : live.killed()
    let (database, report) = try salvage(disk)
    #expect(report.isComplete && report.recordCount == contents.count && !report.usedHeaderCopy)
    #expect(try self.contents(database) == contents)
    let id = try Record.ID("r4", in: Zone.ID("Shelf"))
    #expect(try database.record(id)?.metadata == contents[id]?.metadata)
    #expect(try database.history(of: id).count == 2)
    #expect(try database.metadata(forKey: "m") == Data([7]))
  }

  @Test("any one byte flipped: everything else comes over, and the commit that is missing is named")
  func flips() throws {
    let (disk, contents) = try specimen()
    let sound = try #require(disk.bytes(of: path))
    let counts = try Dictionary(grouping: history(of: disk), by: \.sequence).mapValues(\.count)
    var incompleteCount = 0
    for offset in stride(from: 0, to: sound.count, by: 211) {
      var bytes = sound
      bytes[offset] ^= 0x10
      let image = SimulatedDisk(seed: 1)
      image.install(bytes, at: path)
      let (database, report) = try salvage(image)
      let found = try self.contents(database)
      let missing = contents.filter { found[$0.key] != $0.value }
      let lost = report.lostSequences.flatMap { Array($0) }
      if report.isComplete {
        #expect(found == contents, "byte \(offset)")
      } else {
        incompleteCount += 1
        #expect(lost.count <= 1 || report.hasTornTail, "byte \(offset): one flip damages one commit, not \(lost)")
        // What is missing was written last by the lost commit, as far as the report can tell.
        let allowed = lost.reduce(0) { $0 + (counts[$1] ?? 0) } + report.skippedOperationCount
        #expect(missing.count <= max(allowed, 1), "byte \(offset): \(missing.keys.map(\.name)) are missing, lost \(lost)")
      }
    }
    #expect(incompleteCount > 5)
  }

  /// Which commit wrote what: from the change journal of a sound file.
  private func history(of disk: SimulatedDisk) throws -> [(sequence: Int, name: String)] {
    let database = try Database.open(at: path, options: .simulated(seed: 9), disk: disk.killed())
    var result: [(Int, String)] = []
    for zone in try database.zones() {
      for record in try database.records(in: zone.id) {
        for version in try database.history(of: record.id) { result.append((Int(version.sequence ?? 0), record.id.name)) }
      }
    }
    return result
  }

  @Test("without its first page a file is read by the copy in a checkpoint")
  func noFirstPage() throws {
    let (disk, contents) = try specimen()
    var bytes = try #require(disk.bytes(of: path))
    bytes.replaceSubrange(0..<4096, with: [UInt8](repeating: 0, count: 4096))
    disk.install(bytes, at: path)
    let (database, report) = try salvage(disk)
    #expect(report.usedHeaderCopy && report.isComplete)
    #expect(try self.contents(database) == contents)
  }

  @Test(
    "a small file, without a checkpoint, is read without its first page, and the error of an open sends there",
    arguments: [20, 4090])
  func noFirstPageNoCheckpoint(offset: Int) throws {
    for (isCompacted, isClosed) in [(false, true), (false, false), (true, true)] {
      let disk = SimulatedDisk(seed: 33)
      let database = try Database.open(on: disk)
      try database.put("a")
      if isCompacted { try database.compact() }
      for number in 0..<5 { try database.put("r\(number)") }
      if isClosed { try database.close() }
      let contents = try contents(isClosed ? Database.open(on: disk.killed()) : database)
      var bytes = try #require(disk.bytes(of: path))
      // One bit, and the magic number as well.
      bytes[offset] ^= 1
      for magic in [false, true] {
        if magic { bytes[3] ^= 1 }
        let damaged = SimulatedDisk(seed: 34)
        damaged.install(bytes, at: path)
        #expect(failure { _ = try Database.open(on: damaged) }?.code == .corrupted)
        let (copy, report) = try salvage(damaged)
        #expect(report.usedHeaderCopy && report.isComplete)
        #expect(try self.contents(copy) == contents)
      }
    }
  }

  /// A log of a few frames with a checkpoint, whose frame says that it is at `offset`.
  private func forgedLog(at offset: Int) -> [UInt8] {
    var generator = ClosureGenerator { 0x0123_4567_89AB_CDEF }
    let header = FileHeader(random: &generator)
    let payload = ByteBuffer(capacity: 256)
    header.appendMeaningful(to: payload)
    while payload.count < 160 { payload.append(uint64: 0) }
    var frame = FrameHeader(
      kind: .checkpoint, offset: UInt64(offset), number: 1, sequence: 0, previous: 0, durableThrough: 0,
      newestCheckpoint: UInt64(offset), olderCheckpoint: 0)
    let buffer = FrameHeader.buffer(payloadByteCount: payload.count)
    buffer.append(payload.view.array)
    frame.seal(into: buffer, salt: header.salt)
    return buffer.view.array
  }

  @Test("a value that looks like a checkpoint does not decide how a file without its first page is read")
  func forgedCheckpointInValue() throws {
    let path = "test.daybook"
    func file(_ value: [UInt8]) throws -> [UInt8] {
      let disk = SimulatedDisk(seed: 33)
      let database = try Database.open(at: path, options: .simulated(seed: 5), disk: disk)
      var record = try Record.fresh("a")
      record["data"] = Data(value)
      try database.save(record)
      try database.put("b")
      try database.close()
      return try #require(disk.bytes(of: path))
    }
    let mark: [UInt8] = Array(repeating: 0xA7, count: 1024)
    let first = try file(mark)
    let start = try #require(first.indices.first { first[$0...].starts(with: mark) })
    let place = (start + 7) & ~7
    let forged = forgedLog(at: place)
    var value = mark
    value.replaceSubrange(place - start..<place - start + forged.count, with: forged)
    var bytes = try file(value)
    #expect(bytes[place...].starts(with: forged))
    bytes[20] ^= 1
    let damaged = SimulatedDisk(seed: 34)
    damaged.install(bytes, at: path)
    let report = try Database.salvage(from: path, to: "out", options: .simulated(seed: 6), disk: damaged)
    #expect(report.recordCount == 2)
  }

  @Test("of a commit that is partly damaged the other records come over")
  func partlyDamagedCommit() throws {
    let disk = SimulatedDisk(seed: 32)
    let database = try Database.open(on: disk)
    try database.write { transaction in
      for number in 0..<20 { try transaction.save(.fresh("r\(number)", ["text": .string("number \(number) of them")])) }
    }
    for number in 0..<5 { try database.put("after\(number)") }
    try database.close()
    var bytes = try #require(disk.bytes(of: path))
    let position = try #require(bytes.firstRange(of: Array("number 7 of them".utf8))).lowerBound
    bytes[position] ^= 1
    disk.install(bytes, at: path)
    let (found, report) = try salvage(disk)
    #expect(report.lostSequences == [1...1] && report.partialSequences == [1] && !report.isComplete)
    let names = Set(try contents(found).keys.map(\.name))
    #expect(names == Set((0..<20).map { "r\($0)" } + (0..<5).map { "after\($0)" }).subtracting(["r7"]))
  }

  @Test("when the commit that made a zone is lost, its records are put into a zone of the same name")
  func lostZone() throws {
    let disk = SimulatedDisk(seed: 33)
    let database = try Database.open(on: disk)
    let zone = try database.zone("Shelf")
    try database.put("a", in: zone)
    try database.put("b", in: zone)
    try database.close()
    var bytes = try #require(disk.bytes(of: path))
    let position = try #require(bytes.firstRange(of: Array("Shelf".utf8))).lowerBound
    bytes[position] ^= 1
    disk.install(bytes, at: path)
    let (found, report) = try salvage(disk)
    #expect(report.lostSequences == [1...1] && report.remadeZones == [zone])
    #expect(try contents(found).keys.map(\.name).sorted() == ["a", "b"])
  }

  @Test("a torn write at the end is left out as recovery would")
  func tornTail() throws {
    let (disk, _) = try specimen(closing: false)
    let image = disk.crashed(seed: 4)
    let recovered = try Database.open(at: path, options: .simulated(seed: 8), disk: image.killed())
    let (database, _) = try salvage(image)
    #expect(try contents(database) == contents(recovered))
  }

  @Test("garbage, short files and files of others are refused, a target that exists is kept")
  func refusals() throws {
    let disk = SimulatedDisk(seed: 34)
    for bytes in [[], [1, 2, 3], [UInt8](repeating: 7, count: 20_000)] as [[UInt8]] {
      disk.install(bytes, at: path)
      #expect(failure { try salvage(disk) }?.code == .notADatabase)
      #expect(try !disk.exists("out"))
    }
    let (good, _) = try specimen()
    good.install([1], at: "out")
    #expect(failure { try salvage(good) }?.code == .ioFailed)
    #expect(good.bytes(of: "out") == [1])
    let live = try Database.open(on: good)
    #expect(failure { try salvage(good, to: "other") }?.code == .locked)
    try live.close()
  }

  @Test("a salvage that is cancelled or finds no room leaves nothing behind")
  func cancelled() throws {
    let (disk, contents) = try specimen()
    let names = disk.paths
    let error = failure {
      try Database.salvage(from: path, to: "out", options: .simulated(seed: 5), disk: disk) { done, _ in done < 10_000 }
    }
    #expect(error?.code == .operationCancelled)
    #expect(disk.paths == names)
    disk.limit(toByteCount: 9000)
    #expect(failure { try salvage(disk) }?.code == .diskFull)
    #expect(disk.paths == names)
    disk.limit(toByteCount: nil)
    let (database, _) = try salvage(disk)
    #expect(try self.contents(database) == contents)
  }
}
