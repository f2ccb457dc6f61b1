import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Databases whose file is read instead of mapped: what applications see when the disk fails under them.

@Suite("Buffered access")
struct BufferedAccessTests {
  private func specimen(_ disk: SimulatedDisk) throws -> Database {
    let database = try Database.open(on: disk) {
      $0.access = .buffered
      $0.pageCacheByteCount = 64 << 10
    }
    let zone = try database.zone("Shelf")
    for round in 0..<2 {
      try database.write { transaction in
        for number in 0..<300 {
          try transaction.save(
            .fresh("r\(number)", in: zone, ["n": .int(Int64(number + round)), "b": .bytes(Data(count: 150))]),
            policy: .changedKeys)
        }
      }
    }
    try database.write { try $0.delete(Record.ID("r7", in: zone)) }
    return database
  }

  @Test("whatever read fails, the call throws ioFailed and names the place, and the next call finds everything")
  func eachReadFails() throws {
    let made = SimulatedDisk(seed: 3, maximumFileByteCount: 4 << 20)
    try specimen(made).close()
    let zone = try Zone.ID("Shelf")
    let works: [(String, (Database) throws -> Void)] = [
      ("record", { _ = try $0.record(Record.ID("r200", in: zone)) }),
      ("records", { _ = try $0.records(in: zone) }),
      ("changes", { _ = try $0.changes(in: zone, since: nil) }),
      ("history", { _ = try $0.history(of: Record.ID("r7", in: zone)) }),
      ("check", { guard try $0.check(.deep).isClean else { throw FaultDeviation("a failed read is called damage") } }),
      ("statistics", { _ = try $0.statistics() }),
      ("frames", { try $0.frames { _ in true } }),
      ("trees", { _ = try $0.trees() }),
      ("save", { try $0.put("r9", in: zone, ["n": 1]) }),
      ("backup", { try $0.backup(to: "copy", disk: $0.store.disk) }),
      ("compact", { try $0.compact() }),
    ]
    var failureCount = 0
    for (name, work) in works {
      for call in stride(from: 1, to: 1000, by: name == "check" || name == "compact" || name == "backup" ? 7 : 1) {
        let disk = made.killed()
        let database = try Database.open(on: disk) {
          $0.access = .buffered
          $0.pageCacheByteCount = 64 << 10
        }
        disk.startTrace()
        disk.inject(SimulatedFault([.read], call: call))
        let error = failure { try work(database) }
        let hasStruck = disk.trace.count { $0.operation == .read } >= call
        disk.removeFaults()
        if !hasStruck {
          #expect(error == nil, "\(name), read \(call)")
          break
        }
        failureCount += 1
        #expect(error?.code == .ioFailed && error?.facts.offset != nil, "\(name), read \(call): \(String(describing: error))")
        try work(database)
        try database.expectClean()
        #expect(try database.recordCount(in: zone) == 299)
        try database.close()
      }
    }
    #expect(failureCount > 45)
  }

  @Test("a database of many times the cache is read, checked, compacted and backed up within the bound")
  func boundedMemory() throws {
    let disk = SimulatedDisk(seed: 4, maximumFileByteCount: 16 << 20)
    let database = try Database.open(on: disk) {
      $0.access = .buffered
      $0.pageCacheByteCount = 64 << 10
    }
    for start in stride(from: 0, to: 1500, by: 100) {
      try database.write { transaction in
        for number in start..<start + 100 {
          try transaction.save(.fresh("r\(number * 7919 % 1500)", ["b": .bytes(Data(count: 400))]))
        }
      }
    }
    #expect(try database.statistics().fileByteCount > 10 * (64 << 10))
    func expectBounded() throws {
      let resident = try #require(database.store.pageCacheResidentByteCount)
      #expect(resident > 0 && resident <= 64 << 10)
    }
    #expect(try database.records(in: .default).count == 1500)
    try expectBounded()
    try database.expectClean()
    #expect(try database.changes(in: .default, since: nil, limit: 10_000).saved.count == 1500)
    try expectBounded()
    try database.backup(to: "copy", disk: disk)
    try expectBounded()
    try database.compact()
    #expect(try database.records(in: .default).count == 1500)
    try expectBounded()
    try database.expectClean()
    try database.close()
  }

  @Test("a salvage passes over what the disk cannot read, says how much, and brings everything else")
  func salvageFromDyingDisk() throws {
    let disk = SimulatedDisk(seed: 5, maximumFileByteCount: 4 << 20)
    let database = try Database.open(on: disk) {
      $0.checkpoint.minimumLogByteCount = 1 << 20
      $0.checkpoint.maximumLogByteCount = 1 << 20
      $0.closeCheckpointByteCount = 1 << 20
    }
    for number in 0..<200 { try database.put("r\(number)", ["b": .bytes(Data(count: 400))]) }
    try database.close()
    // A block in the middle of the log, and the first one.
    let dying = DyingDisk(disk, blocks: [0, 12])
    #expect(failure { try Database.open(at: "test.daybook", options: .buffered(seed: 6), disk: dying) }?.code == .ioFailed)
    // Without a checkpoint there is no copy of the first page; the frames say how they are read.
    let both = try Database.salvage(from: "test.daybook", to: "both", options: .simulated(seed: 7), disk: dying)
    #expect(both.usedHeaderCopy && both.unreadableByteCount == 2 * 4096 && !both.isComplete)
    let half = DyingDisk(disk, blocks: [12])
    let report = try Database.salvage(from: "test.daybook", to: "out", options: .simulated(seed: 7), disk: half)
    #expect(report.unreadableByteCount == 4096 && !report.isComplete)
    #expect(report.recordCount > 180 && report.recordCount < 200)
    let copy = try Database.open(at: "out", options: .simulated(seed: 8), disk: disk)
    #expect(try copy.records(in: .default).count == report.recordCount)
    try copy.expectClean()
    try copy.close()
    // The same file on a disk that reads everything.
    let whole = try Database.salvage(from: "test.daybook", to: "all", options: .simulated(seed: 9), disk: disk)
    #expect(whole.isComplete && whole.recordCount == 200 && whole.unreadableByteCount == 0)
  }
}

extension Database.Options {
  fileprivate static func buffered(seed: UInt64) -> Database.Options {
    var options = simulated(seed: seed)
    options.access = .buffered
    return options
  }
}

/// A disk that cannot read some blocks of 4096 bytes of any file, however often it is asked.
private final class DyingDisk: ForwardingDisk {
  let disk: SimulatedDisk
  private let blocks: Set<Int>

  init(_ disk: SimulatedDisk, blocks: Set<Int>) {
    self.disk = disk
    self.blocks = blocks
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    let file = try disk.open(path, mode)
    return path == "test.daybook" ? DyingFile(file, blocks) : file
  }
}

private final class DyingFile: ForwardingFile {
  let file: any DiskFile
  private let blocks: Set<Int>

  init(_ file: any DiskFile, _ blocks: Set<Int>) {
    self.file = file
    self.blocks = blocks
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    for block in offset / 4096...max(offset, offset + count - 1) / 4096 where blocks.contains(block) {
      throw DiskFailure(.read, path: path, code: ErrorNumber.inputOutput, offset: offset, byteCount: count)
    }
    return unsafe try file.read(into: target, count: count, at: offset)
  }
}
