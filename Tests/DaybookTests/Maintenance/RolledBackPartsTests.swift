import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Beside a reader the parts of a large transaction that is rolled back stay in the log. A salvage of a file that was cut after
/// them does not take them for a transaction that has lost its commit.
@Suite("Parts of a transaction that was rolled back")
struct RolledBackPartsTests {
  private struct ChangedMyMind: Error {}

  /// A file with such parts and what followed them, and where its frames end.
  private static func file(closesAfterParts: Bool) throws -> (bytes: [UInt8], ends: [(kind: FrameHeader.Kind, end: Int)]) {
    let disk = SimulatedDisk(seed: 61, maximumFileByteCount: 1 << 22)
    var options = Database.Options.simulated(seed: 1)
    options.partByteCount = 64 << 10
    var database = try Database.open(at: "a", options: options, disk: disk)
    try database.put("before")
    var readOnly = options
    readOnly.isReadOnly = true
    let reader = try Database.open(at: "a", options: readOnly, disk: disk)
    #expect(throws: ChangedMyMind.self) {
      try database.write { transaction in
        for index in 0..<40 {
          try transaction.save(.fresh("never\(index)", ["bytes": .bytes(Data(repeating: 7, count: 10_000))]))
        }
        throw ChangedMyMind()
      }
    }
    if closesAfterParts {
      try database.close()
      database = try Database.open(at: "a", options: options, disk: disk)
    }
    try database.put("after")
    try database.close()
    try reader.close()
    let bytes = try #require(disk.bytes(of: "a"))
    var ends: [(kind: FrameHeader.Kind, end: Int)] = []
    try bytes.withView { (view: ByteView) throws -> Void in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var offset = UInt64(FileHeader.byteCount)
      while let header = log.header(at: offset) {
        ends.append((header.kind, Int(header.next)))
        offset = header.next
      }
    }
    return (bytes, ends)
  }

  @Test(
    "a salvage of a file that was cut after a transaction that threw brings back none of its records",
    arguments: [false, true])
  func salvage(closesAfterParts: Bool) throws {
    let (bytes, ends) = try Self.file(closesAfterParts: closesAfterParts)
    let lastPart = try #require(ends.lastIndex { $0.kind == .part })
    let over = try #require(ends.dropFirst(lastPart + 1).first)
    #expect(over.kind == .note)
    // What follows may be missing, but not what says that the parts are over.
    for (_, end) in ends[(lastPart + 1)...].dropLast() {
      let cut = SimulatedDisk(seed: 7, maximumFileByteCount: 1 << 22)
      cut.install(Array(bytes[..<end]), at: "a")
      let report = try Database.salvage(from: "a", to: "out", options: .simulated(seed: 10), disk: cut)
      #expect(report.partialSequences.isEmpty, "\(end): \(report)")
      let copy = try Database.open(at: "out", options: .simulated(seed: 11), disk: cut)
      let names = try copy.records(in: .default).map(\.id.name)
      #expect(names.contains("before") && !names.contains { $0.hasPrefix("never") }, "\(end): \(names.count) records")
      try copy.close()
    }
  }

  @Test("a salvage goes by any frame after the parts, also in files whose writer left no note there")
  func otherKinds() throws {
    let (bytes, ends) = try Self.file(closesAfterParts: true)
    let closed = try #require(ends.firstIndex { $0.kind == .closed })
    let cut = SimulatedDisk(seed: 7, maximumFileByteCount: 1 << 22)
    // Without the note: zeros in its place.
    var without = Array(bytes[..<ends[closed].end])
    let lastPart = try #require(ends[..<closed].lastIndex { $0.kind == .part })
    for offset in ends[lastPart].end..<ends[closed - 1].end { without[offset] = 0 }
    cut.install(without, at: "a")
    let report = try Database.salvage(from: "a", to: "out", options: .simulated(seed: 10), disk: cut)
    #expect(report.recordCount == 1, "\(report)")
  }
}
