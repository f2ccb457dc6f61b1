import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// Files whose commits claim numbers near the end of all numbers, with sound checksums: they are read or refused, and nothing
/// that computes with the numbers traps.
@Suite("Forged sequences")
struct ForgedSequenceTests {
  private static let path = "a"
  private static let zone = try! Zone.ID("z")
  private static let ends: [UInt64] = [1 << 60, 1 << 63, .max]
  private static let around: [UInt64] = ends.map { $0 - 1 } + ends

  private static func options(isReadOnly: Bool = false) -> Database.Options {
    var options = Database.Options.simulated(seed: 7, clock: TestClock())
    options.isReadOnly = isReadOnly
    options.lockTimeout = .zero
    options.closeCheckpointByteCount = 0
    return options
  }

  /// A file with records, deletions, a horizon and the image of a compaction.
  private static func bytes(isClosed: Bool) throws -> [UInt8] {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 4 << 20)
    let database = try Database.open(at: path, options: options(), disk: disk)
    try database.write { try $0.save(Zone(zone)) }
    for number in 0..<4 { try database.write { try $0.save(.fresh("r\(number)", in: zone)) } }
    try database.write { try $0.delete(Record.ID("r0", in: zone)) }
    try database.write { try $0.forgetDeletions(through: 3) }
    try database.compact()
    try database.write { try $0.save(.fresh("behind", in: zone)) }
    try database.write { try $0.delete(Record.ID("r1", in: zone)) }
    try database.write { try $0.forgetDeletions(through: 4) }
    if isClosed { try database.close() }
    defer { try? database.close() }
    return try #require(disk.bytes(of: path))
  }

  private static func set(_ value: UInt64, _ bytes: inout [UInt8], _ offset: Int) {
    bytes.replaceSubrange(offset..<offset + 8, with: (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) })
  }

  private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * UInt64($1)) }
  }

  private static func disk(_ bytes: [UInt8]) -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 2, maximumFileByteCount: 4 << 20)
    disk.install(Forgery.sealed(bytes), at: path)
    return disk
  }

  /// Everything that computes with sequences. What it throws is an error like any other.
  private static func use(_ disk: SimulatedDisk) throws {
    for isReadOnly in [true, false] {
      guard let database = try? Database.open(at: path, options: options(isReadOnly: isReadOnly), disk: disk) else { continue }
      _ = try? database.zones()
      _ = try? database.records(in: zone)
      _ = try? database.history(of: Record.ID("r1", in: zone))
      _ = try? database.statistics()
      let newest = try? database.databaseChanges(since: nil).token
      let ofZone = try? database.changes(in: zone, since: nil, limit: 1).token
      for sequence in [0, database.store.lastSequence] + around {
        for ordinal in [0, UInt32.max] {
          guard var parts = newest?.parts, var zoneParts = ofZone?.parts else { continue }
          (parts.sequence, parts.ordinal, zoneParts.sequence, zoneParts.ordinal) = (sequence, ordinal, sequence, ordinal)
          _ = try? database.databaseChanges(since: ChangeToken(parts))
          _ = try? database.changes(in: zone, since: ChangeToken(zoneParts))
          _ = try? database.changeCount(in: zone, since: ChangeToken(zoneParts))
        }
      }
      _ = try? database.backup(to: "copy", disk: disk)
      try? disk.remove("copy")
      try? database.write { transaction in
        try transaction.save(.fresh("new", in: zone))
        try transaction.delete(Record.ID("r2", in: zone))
      }
      try? database.write { try $0.forgetDeletions(through: database.store.lastSequence) }
      for end in ends { try? database.write { try $0.forgetDeletions(through: end - 1) } }
      try? database.compact()
      try? database.write { try $0.deleteZone(zone) }
      _ = try? database.check(.deep)
      try? database.close()
    }
  }

  /// The file with an image in front whose commits are numbered from `first` on, and end with the last.
  private static func numbered(from first: UInt64) throws -> [UInt8] {
    var bytes = try bytes(isClosed: false)
    var sequence = first
    var isFirst = true
    for offset in Forgery.frameOffsets(of: bytes) {
      if bytes[offset + 4] == FrameHeader.Kind.commit.rawValue, !isFirst { sequence += 1 }
      if bytes[offset + 4] == FrameHeader.Kind.commit.rawValue { isFirst = false }
      set(isFirst ? 0 : sequence, &bytes, offset + 32)
    }
    return bytes
  }

  @Test(
    "a file that claims nearly as many commits as there can be is read, and refused for writing",
    arguments: [(1 << 60) - 4, (1 << 60) - (1 << 40) - 1, (1 << 60) - (1 << 39)] as [UInt64])
  func nearTheEnd(first: UInt64) throws {
    let disk = Self.disk(try Self.numbered(from: first))
    #expect(failure { try Database.open(at: Self.path, options: Self.options(), disk: disk) }?.code == .limitExceeded)
    let reader = try Database.open(at: Self.path, options: Self.options(isReadOnly: true), disk: disk)
    #expect(try reader.recordCount(in: Self.zone) == 3)
    #expect(reader.store.lastSequence == first + 3)
    let page = try reader.databaseChanges(since: nil)
    #expect(try reader.databaseChanges(since: page.token).changed.isEmpty)
    #expect(failure { try reader.write { try $0.save(.fresh("new", in: Self.zone)) } }?.code == .readOnly)
    try reader.close()
    try Self.use(disk)
  }

  @Test("a file whose commits have large numbers goes on with the next")
  func large() throws {
    let first: UInt64 = (1 << 60) - (1 << 41)
    let disk = Self.disk(try Self.numbered(from: first))
    let database = try Database.open(at: Self.path, options: Self.options(), disk: disk)
    let token = try database.databaseChanges(since: nil).token
    try database.write { try $0.save(.fresh("new", in: Self.zone)) }
    #expect(database.store.lastSequence == first + 4)
    #expect(try database.databaseChanges(since: token).changed == [Self.zone])
    try database.compact()
    try database.close()
    let again = try Database.open(at: Self.path, options: Self.options(), disk: disk)
    #expect(again.store.lastSequence == first + 4)
    #expect(try again.record(Record.ID("new", in: Self.zone)) != nil)
    try again.close()
    try Self.use(disk)
  }

  @Test("no number of a frame, a checkpoint, an image or a horizon makes anything trap", arguments: [false, true])
  func anyNumber(isClosed: Bool) throws {
    let sound = try Self.bytes(isClosed: isClosed)
    var places: [Int] = []
    for offset in Forgery.frameOffsets(of: sound) {
      places += [24, 32, 48].map { offset + $0 }
      let payload = offset + FrameHeader.byteCount
      let end = payload + Int(Self.number(sound, offset + 72))
      switch FrameHeader.Kind(rawValue: sound[offset + 4]) {
      case .checkpoint: places += stride(from: payload + 48, to: min(end, payload + 104), by: 8)
      case .commit:
        var operation = payload + (sound[offset + 5] & 1 != 0 ? PartList.encodedByteCount : 0)
        while operation < end {
          let head = try #require(Array(sound[operation...].prefix(16)).withView { Operation.Head($0) })
          let next = operation + head.byteCount
          if [OperationKind.imageStamps, .imageZone, .raiseHorizon].contains(OperationKind(rawValue: head.kind)) {
            places += stride(from: operation + Operation.headerByteCount, to: min(next, operation + 64) - 7, by: 4)
          }
          operation = next
        }
      default: break
      }
    }
    #expect(places.count > 20)
    for (index, place) in places.enumerated() {
      for value in [Self.around[index % 3], Self.around[3 + index / 3 % 3]] {
        var bytes = sound
        Self.set(value, &bytes, place)
        try Self.use(Self.disk(bytes))
      }
    }
  }
}
