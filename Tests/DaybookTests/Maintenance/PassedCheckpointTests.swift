import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// Frames name the checkpoint that an open has used, and none that it has only walked past.
@Suite("Checkpoints that were passed on the way")
struct PassedCheckpointTests {
  /// Calls `beforeSync` before each sync.
  private final class HookDisk: ForwardingDisk, @unchecked Sendable {
    let disk = SimulatedDisk(seed: 1)
    var beforeSync: (() throws -> Void)?
    func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
      HookFile(try disk.open(path, mode), self)
    }
  }
  private final class HookFile: ForwardingFile, @unchecked Sendable {
    let file: any DiskFile
    let owner: HookDisk
    init(_ file: any DiskFile, _ owner: HookDisk) { (self.file, self.owner) = (file, owner) }
    func sync(_ level: SyncLevel) throws(DiskFailure) {
      do { try owner.beforeSync?() } catch { Issue.record("\(error)") }
      try file.sync(level)
    }
  }

  private static func options(isReadOnly: Bool = false) -> Database.Options {
    var options = Database.Options.simulated(seed: 7, clock: TestClock())
    options.checkpoint.minimumLogByteCount = 16 << 20
    options.checkpoint.maximumLogByteCount = 64 << 20
    options.closeCheckpointByteCount = 4 << 20
    options.isReadOnly = isReadOnly
    return options
  }

  private static func save(_ database: Database, _ numbers: StrideTo<Int>) throws {
    try database.write { transaction in
      for number in numbers {
        try transaction.save(try Record(type: "T", id: Record.ID("r\(1000 + number)")), policy: .allKeys)
      }
    }
  }

  /// A kill while the frame of a second checkpoint is being synced, with a commit after it that refers to the first; then a
  /// byte of the second one's pages is corrupted. Returns the file.
  private static func killedInCheckpoint() throws -> [UInt8] {
    let hooked = HookDisk()
    let database = try Database.open(at: "a", options: options(), disk: hooked)
    try save(database, stride(from: 0, to: 3000, by: 1))
    try database.store.checkpoint()
    try save(database, stride(from: 0, to: 3000, by: 20))
    var image: [UInt8] = []
    var checkpoint = 0
    hooked.beforeSync = {
      let bytes = hooked.disk.bytes(of: "a") ?? []
      // The declarations are repeated after a checkpoint, before its sync.
      guard image.isEmpty,
        let last = Forgery.frameOffsets(of: bytes).last(where: { bytes[$0 + 4] != FrameHeader.Kind.declarations.rawValue }),
        bytes[last + 4] == FrameHeader.Kind.checkpoint.rawValue
      else { return }
      hooked.beforeSync = nil
      checkpoint = last
      try save(database, stride(from: 5, to: 6, by: 1))
      image = hooked.disk.bytes(of: "a") ?? []
    }
    try database.store.checkpoint()
    let pages = try #require(
      Forgery.frameOffsets(of: image).last { $0 < checkpoint && image[$0 + 4] == FrameHeader.Kind.pages.rawValue })
    let firstPage = (pages + FrameHeader.byteCount + 4095) & ~4095
    image[firstPage + 4096 + 3000] ^= 4
    return image
  }

  @Test(
    "a database that reads whole does so after a commit and a close, whatever is corrupt in a checkpoint that it does not use")
  func staysWhole() throws {
    let image = try Self.killedInCheckpoint()
    let disk = SimulatedDisk(seed: 2)
    disk.install(image, at: "a")
    for round in 0..<3 {
      let reader = try Database.open(at: "a", options: Self.options(isReadOnly: true), disk: disk)
      let snapshot = try reader.snapshot()
      for number in 0..<3000 { #expect(try snapshot.record(Record.ID("r\(1000 + number)")) != nil) }
      #expect(try reader.check(.deep).isClean)
      try reader.close()
      let writer = try Database.open(at: "a", options: Self.options(), disk: disk)
      try writer.write { try $0.setMetadata(Data([UInt8(round)]), forKey: "k") }
      try writer.close()
    }
  }

  @Test("a takeover does not name the checkpoint of another process, into which it has not looked")
  func takeover() throws {
    let disk = SimulatedDisk(seed: 1)
    func open(_ seed: UInt64) throws -> Database {
      var options = Self.options()
      let generator = Locked(SeededGenerator(seed: seed))
      options.random = { generator.withLock { $0.next() } }
      options.lock = .perTransaction
      return try Database.open(at: "a", options: options, disk: disk)
    }
    let (a, b) = (try open(1), try open(2))
    func makeCheckpoint(_ database: Database) throws {
      let store = try database.stores.beginHolding()
      defer { database.stores.endHolding(store) }
      try store.checkpoint()
    }
    try Self.save(a, stride(from: 0, to: 10, by: 1))
    try makeCheckpoint(a)
    let own = a.store.log.tail.newestCheckpoint
    #expect(own != 0)
    try Self.save(b, stride(from: 10, to: 20, by: 1))
    try makeCheckpoint(b)
    #expect(b.store.log.tail.newestCheckpoint != own)
    try Self.save(a, stride(from: 20, to: 30, by: 1))
    #expect(a.store.log.tail.newestCheckpoint == own)
    try b.close()
    try a.close()
  }

  @Test("an open of a file whose frames prove one another late takes as long as it has frames", .timeLimit(.minutes(15)))
  func lateProofs() throws {
    let disk = SimulatedDisk(seed: 1)
    do {
      let database = try Database.open(at: "a", options: Self.options(), disk: disk)
      try database.write { try $0.setMetadata(Data([1]), forKey: "k") }
      try database.close()
    }
    var bytes = try #require(disk.bytes(of: "a"))
    let last = try #require(Forgery.frameOffsets(of: bytes).last)
    var number = bytes.withView { $0.uint64(at: last + 24) }
    bytes.removeSubrange((last + FrameHeader.byteCount)...)
    bytes[last + 4] = FrameHeader.Kind.note.rawValue
    // Half of the notes prove nothing; each of the others proves one more of them.
    let frame = Array(bytes[last..<(last + FrameHeader.byteCount)])
    let count = 100_000
    bytes.reserveCapacity(bytes.count + count * frame.count)
    for index in 0..<count {
      number += 1
      let proven = index < count / 2 ? 1 : number - UInt64(count / 2)
      var next = frame
      next.replaceSubrange(24..<32, with: (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) })
      next.replaceSubrange(48..<56, with: (0..<8).map { UInt8(truncatingIfNeeded: proven >> (8 * UInt64($0))) })
      bytes += next
    }
    let forged = SimulatedDisk(seed: 2)
    forged.install(Forgery.sealed(bytes), at: "a")
    let reader = try Database.open(at: "a", options: Self.options(isReadOnly: true), disk: forged)
    #expect(try reader.metadata(forKey: "k") == Data([1]))
    try reader.close()
  }

  @Test("counts in a forged checkpoint are refused with it, and the log serves", arguments: [80, 88])
  func forgedCounts(field: Int) throws {
    let disk = SimulatedDisk(seed: 1)
    var options = Self.options()
    options.closeCheckpointByteCount = 0
    do {
      let database = try Database.open(at: "a", options: options, disk: disk)
      try Self.save(database, stride(from: 0, to: 10, by: 1))
      try database.close()
    }
    var bytes = try #require(disk.bytes(of: "a"))
    for offset in Forgery.frameOffsets(of: bytes) where bytes[offset + 4] == FrameHeader.Kind.checkpoint.rawValue {
      let start = offset + FrameHeader.byteCount + field
      bytes.replaceSubrange(start..<start + 8, with: [255, 255, 255, 255, 255, 255, 255, 127])
    }
    let forged = SimulatedDisk(seed: 2)
    forged.install(Forgery.sealed(bytes), at: "a")
    let reader = try Database.open(at: "a", options: Self.options(isReadOnly: true), disk: forged)
    #expect(try reader.statistics().recordCount == 10)
    #expect(reader.lastRecovery.basis == .log)
    try reader.close()
    let writer = try Database.open(at: "a", options: options, disk: forged)
    try Self.save(writer, stride(from: 10, to: 20, by: 1))
    #expect(!writer.store.isCompactionDue)
    #expect(try writer.check(.deep).isClean)
    try writer.close()
  }

  @Test("counts in a forged cell of the catalog do not trap where they are summed up", arguments: [8, 16])
  func forgedZoneCounts(field: Int) throws {
    let disk = SimulatedDisk(seed: 1)
    var options = Self.options()
    options.closeCheckpointByteCount = 0
    do {
      let database = try Database.open(at: "a", options: options, disk: disk)
      let zones = [try Zone.ID("A"), try Zone.ID("B")]
      try database.write { transaction in
        for zone in zones {
          try transaction.save(Zone(zone))
          for number in 0..<300 { try transaction.save(try Record(type: "T", id: Record.ID("r\(number)", in: zone))) }
        }
      }
      try database.close()
    }
    var bytes = try #require(disk.bytes(of: "a"))
    // Roots of trees in pages: an offset of a whole page, then the two counts.
    let frame = try #require(Forgery.frameOffsets(of: bytes).first { bytes[$0 + 4] == FrameHeader.Kind.pages.rawValue })
    var forgedCount = 0
    let pageEnd = bytes.count - 24
    for offset in stride(from: frame + FrameHeader.byteCount, to: pageEnd, by: 1) {
      let (reference, count) = bytes.withView { ($0.uint64(at: offset), $0.uint64(at: offset + 8)) }
      guard reference != 0, reference % 4096 == 0, reference < UInt64(bytes.count), count == 300 else { continue }
      bytes.replaceSubrange(offset + field..<offset + field + 8, with: [255, 255, 255, 255, 255, 255, 255, 127])
      forgedCount += 1
    }
    #expect(forgedCount >= 2)
    let forged = SimulatedDisk(seed: 2)
    forged.install(Forgery.sealed(bytes), at: "a")
    guard let reader = try? Database.open(at: "a", options: Self.options(isReadOnly: true), disk: forged) else { return }
    _ = try? reader.statistics()
    _ = try? reader.check(.structure)
    try reader.close()
    let writer = try Database.open(at: "a", options: options, disk: forged)
    _ = try? writer.write { try $0.deleteZone(Zone.ID("A")) }
    _ = try? writer.statistics()
    try? writer.compact()
    try? writer.close()
  }
}
