import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Full disks whose file system copies on write, as Btrfs, ZFS and shared blocks of XFS and APFS do: there the zeros after the
/// log are no room for a commit.
@Suite("full disks that copy on write")
struct CopyOnWriteTests {
  private static func filled(_ disk: SimulatedDisk) throws -> Database {
    disk.copyOnWrite()
    let database = try Database.open(on: disk) { $0.reserveByteCount = 8 << 10 }
    for number in 0..<20 { try database.put("r\(number)", ["k": .bytes(Data(count: 300))]) }
    return database
  }

  @Test("a full disk refuses a save, keeps what there is and lets records be deleted", arguments: [0, 1, 50, 150, 400, 3000])
  func refuses(room: Int) throws {
    let disk = SimulatedDisk(seed: UInt64(room))
    let database = try Self.filled(disk)
    disk.freeByteCount = room
    for _ in 0..<3 {
      #expect(failure { try database.put("none", ["k": .bytes(Data(count: 10_000))]) }?.code == .diskFull)
      #expect(try database.recordCount(in: .default) == 20)
    }
    for number in 0..<10 { try database.write { try $0.delete(Record.ID("r\(number)")) } }
    let found = try Database.open(on: disk.crashed(seed: 3, policy: .none), seed: 4)
    #expect(try found.recordCount(in: .default) == 10)
    disk.freeByteCount = nil
    try database.put("room")
    try database.expectClean()
    try database.close()
  }

  @Test("a large transaction that finds no room gives back what it has taken", arguments: [false, true])
  func refusesParts(isBuffered: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    disk.copyOnWrite()
    let database = try Database.open(on: disk) {
      $0.access = isBuffered ? .buffered : .mapped
      $0.partByteCount = 3000
    }
    try database.put("a")
    let before = try #require(disk.bytes(of: "test.daybook")).count
    for _ in 0..<3 {
      disk.freeByteCount = 20_000
      let error = failure {
        try database.write { transaction in
          for number in 0..<100 { try transaction.save(.fresh("r\(number)", ["k": .bytes(Data(count: 1000))])) }
        }
      }
      #expect(error?.code == .diskFull)
      #expect(try #require(disk.bytes(of: "test.daybook")).count <= before + 1000, "the room is free again")
      try database.write { try $0.delete(Record.ID("a")) }
      disk.freeByteCount = nil
      try database.put("a")
    }
    let found = try Database.open(on: disk.crashed(seed: 3, policy: .none), seed: 4)
    #expect(try found.records(in: .default).map(\.id.name) == ["a"])
    try database.expectClean()
    try database.close()
  }

  @Test("what a killed compaction has left is removed before the open needs room", arguments: [false, true])
  func leftover(copiesOnWrite: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for number in 0..<40 { try database.put("r\(number)", ["k": .bytes(Data(count: 3_000))]) }
    let image = Locked<SimulatedDisk?>(nil)
    disk.observe { (_) throws(DiskFailure) in
      guard (disk.bytes(of: "test.daybook.compacted")?.count ?? 0) > 80_000 else { return }
      let killed = disk.afterKill()
      image.withLock { $0 = $0 ?? killed }
    }
    try database.compact()
    disk.observe(nil)
    let killed = try #require(image.withLock { $0 })
    if copiesOnWrite { killed.copyOnWrite() }
    killed.freeByteCount = 0
    let found = try Database.open(on: killed, seed: 2)
    #expect(killed.bytes(of: "test.daybook.compacted") == nil)
    #expect(try found.recordCount(in: .default) == 40)
    try found.write { try $0.delete(Record.ID("r1")) }
    try found.expectClean()
    try found.close()
    try database.close()
  }
}
