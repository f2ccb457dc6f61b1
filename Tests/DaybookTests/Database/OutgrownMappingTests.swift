import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Files of which only the beginning can be mapped, as where a process has no more address space. `DAYBOOK_ACCESS=partly` runs
// the whole suite so.

@Suite("Files that outgrow their mapping")
struct OutgrownMappingTests {
  private static let mapped = 64 << 10

  private func options(_ change: (inout Database.Options) -> Void = { _ in }) -> Database.Options {
    var options = Database.Options()
    options.access = .mapped
    options.pageCacheByteCount = 64 << 10
    options.compaction.isAutomatic = false
    change(&options)
    return options
  }

  private func fill(_ database: Database, _ names: Range<Int>, _ fill: UInt8 = 7) throws {
    try database.write { transaction in
      for number in names {
        try transaction.save(
          .fresh("r\(number)", in: .default, ["n": .int(Int64(number)), "b": .bytes(Data(repeating: fill, count: 500))]),
          policy: .replace)
      }
    }
  }

  @Test("a database grows past what can be mapped, and is read, checked, compacted, backed up and opened again")
  func grows() throws {
    let disk = MemoryDisk(inPlaceByteCount: Self.mapped, pieceByteCount: Self.mapped)
    // The background would prepare zeros, and with them outgrow the mapping when it likes.
    let database = try Database.open(at: "/a", options: options { $0.hasBackgroundThread = false }, disk: disk)
    try fill(database, 0..<20)
    #expect(try database.statistics().fileByteCount < Self.mapped)
    #expect(database.store.pageCacheResidentByteCount == nil, "all of it is mapped")
    for round in 0..<10 { try fill(database, round * 40..<round * 40 + 60, UInt8(round)) }
    #expect(database.store.pageCacheResidentByteCount != nil)
    for number in [0, 19, 200, 419] {
      #expect(try database.record(Record.ID("r\(number)"))?["n"] == .int(Int64(number)))
    }
    #expect(try database.records(in: .default).count == 420)
    try database.store.checkpoint()
    #expect(try database.records(in: .default).count == 420)
    try database.expectClean()
    try database.backup(to: "/copy", disk: disk)
    let cache = try #require(database.store.source.buffered?.cache)
    try database.compact()
    #expect(database.store.source.buffered?.cache === cache, "one cache for the files that succeed each other")
    #expect(try database.recordCount(in: .default) == 420)
    try database.expectClean()
    try database.close()
    for path in ["/a", "/copy"] {
      let again = try Database.open(at: path, options: options(), disk: disk)
      #expect(try again.records(in: .default).count == 420)
      try fill(again, 400..<500)
      #expect(try again.recordCount(in: .default) == 500)
      try again.expectClean()
      try again.close()
    }
  }

  @Test("a snapshot from before reads what it saw while the file outgrows its mapping")
  func snapshot() throws {
    let disk = MemoryDisk(inPlaceByteCount: 256 << 10, pieceByteCount: Self.mapped)
    let database = try Database.open(at: "/a", options: options(), disk: disk)
    try fill(database, 0..<200, 1)
    try database.store.checkpoint()
    #expect(database.store.pageCacheResidentByteCount == nil, "all of it is mapped")
    try database.read { snapshot in
      var seen = 0
      var token: ChangeToken?
      // A walk that began in place goes on there.
      for round in 0..<4 {
        let page = try snapshot.changes(in: .default, since: token, limit: 50)
        #expect(page.saved.allSatisfy { $0["b"] == .bytes(Data(repeating: 1, count: 500)) })
        token = page.token
        seen += page.saved.count
        try fill(database, 0..<200, UInt8(round + 2))
        try database.store.checkpoint()
      }
      #expect(seen == 200)
      #expect(database.store.pageCacheResidentByteCount != nil)
      #expect(try snapshot.recordCount(in: .default) == 200)
    }
    #expect(try database.record(Record.ID("r5"))?["b"] == .bytes(Data(repeating: 5, count: 500)))
    try database.expectClean()
    try database.close()
  }

  @Test("one transaction outgrows the mapping while it is written in parts, and reads its own records")
  func largeTransaction() throws {
    let disk = MemoryDisk(inPlaceByteCount: 1 << 20, pieceByteCount: 1 << 20)
    let database = try Database.open(at: "/a", options: options(), disk: disk)
    try fill(database, 0..<100)
    try database.store.checkpoint()
    try database.write { transaction in
      for number in 0..<1200 {
        try transaction.save(
          .fresh("big\(number)", in: .default, ["b": .bytes(Data(repeating: UInt8(number & 255), count: 20_000))]))
        if number % 100 == 99 {
          #expect(try transaction.record(Record.ID("big\(number - 99)"))?["b"] != nil)
          #expect(try transaction.record(Record.ID("r5"))?["n"] == .int(5))
        }
      }
      #expect(try transaction.recordCount(in: .default) == 1300)
    }
    #expect(try database.record(Record.ID("big77"))?["b"] == .bytes(Data(repeating: 77, count: 20_000)))
    try database.expectClean()
    try database.compact()
    try database.expectClean()
    try database.close()
  }

  @Test("a reader follows a writer past what it can map, and two writers in turn do", arguments: [true, false])
  func others(isReader: Bool) throws {
    let disk = MemoryDisk(inPlaceByteCount: Self.mapped, pieceByteCount: Self.mapped)
    let writer = try Database.open(at: "/a", options: options { if !isReader { $0.lock = .perTransaction } }, disk: disk)
    try fill(writer, 0..<10)
    let other = try Database.open(
      at: "/a", options: options { if isReader { $0.isReadOnly = true } else { $0.lock = .perTransaction } }, disk: disk)
    for round in 0..<8 {
      try fill(writer, round * 20..<round * 20 + 40)
      try writer.sync()
      if !isReader { try fill(other, 1000 + round..<1001 + round) }
      try other.refresh()
      // The next commit says that the one before it is durable.
      if round > 0 { #expect(try other.record(Record.ID("r\(round * 20 + 19)")) != nil) }
    }
    #expect(other.store.pageCacheResidentByteCount != nil)
    try other.expectClean()
    try other.close()
    try writer.expectClean()
    try writer.close()
  }
}
