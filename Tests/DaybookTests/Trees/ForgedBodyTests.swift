import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Bodies with sound checksums that no database writes: they lie in one another, or hold other bytes than their SHA-256 says.

@Suite("forged bodies")
struct ForgedBodyTests {
  // MARK: bodies in bodies

  /// A body with an operation in it, as another database writes it.
  private func body(_ name: String, holding operation: [UInt8]) throws -> [UInt8] {
    let database = try Database.scratch()
    return try database.put(name, ["blob": .bytes(Data(operation))]).body.withBytes { $0.array }
  }

  /// An operation without its checksum, which depends on its place.
  private func operation(_ body: [UInt8]) -> [UInt8] {
    let buffer = ByteBuffer(capacity: body.count + 16)
    buffer.append(uint64: 0)
    buffer.append(uint32: UInt32(body.count) | UInt32(OperationKind.saveRecord.rawValue) << 24)
    buffer.append(body)
    return buffer.view.array
  }

  @Test("bodies that lie in one another are copied by no compaction: their lengths together are the square of the file's")
  func nested() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a")
    let database = try Database.withFiles(at: path)
    let names = (0..<30).map { "n\(100 + $0)" }
    for name in names { try database.put(name) }
    // The innermost first; where each begins in the one around it.
    var inner = operation(try body(names[29], holding: [UInt8](repeating: 7, count: 20_000)))
    var sizes = [inner.count]
    for name in names[..<29].reversed() {
      inner = operation(try body(name, holding: inner))
      sizes.append(inner.count)
    }
    sizes.reverse()
    try database.put("outer", ["blob": .bytes(Data(inner))])
    let zone = Zone.ID.default
    var places: [Place] = []
    try database.forge(zone) { trees, changes in
      let entry = try Array("outer".utf8).withView { key in
        try #require(try changes.value(key, in: trees.byName).flatMap { RecordEntry($0) })
      }
      let file = try #require(FileHandle(forUpdatingAtPath: path))
      defer { try? file.close() }
      try file.seek(toOffset: entry.place.offset)
      var bytes = [UInt8](try #require(try file.read(upToCount: Int(entry.place.byteCount))))
      // Values are the last part of a body, so all end together.
      places =
        [entry.place]
        + sizes.map {
          Place(offset: entry.place.offset + UInt64(bytes.count - $0), byteCount: UInt32($0))
        }
      for place in places.reversed() {
        let start = Int(place.offset - entry.place.offset)
        let sum = bytes.withView {
          Operation.checksum($0.dropFirst(start), salt: database.store.header.salt, offset: place.offset)
        }
        for index in 0..<8 { bytes[start + index] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * index)) }
      }
      try file.seek(toOffset: entry.place.offset)
      try file.write(contentsOf: Data(bytes))
      for (name, place) in zip(names, places.dropFirst()) {
        let value = ByteBuffer(capacity: 64)
        // Each keeps its own entry in the change journal.
        let own = try Array(name.utf8).withView { key in
          try #require(try changes.value(key, in: trees.byName).flatMap { RecordEntry($0) })
        }
        RecordEntry(place: place, sequence: own.sequence, ordinal: own.ordinal).append(to: value)
        try Array(name.utf8).withView { (key) throws(LogFault) in _ = try changes.put(key, value.view, in: &trees.byName) }
      }
    }
    // Each of them is a record, for itself.
    for name in names { #expect(try database.record(Record.ID(name))?.id.name == name) }
    let byteCount = try database.statistics().fileByteCount
    #expect(places.reduce(0) { $0 + Int($1.byteCount) } > 2 * byteCount)
    #expect(failure { try database.compact() }?.code == .corrupted)
    #expect(try !FileManager.default.contentsOfDirectory(atPath: folder.file(".")).contains { $0.contains("compacted") })
    try? database.close()
  }

  // MARK: assets and their SHA-256

  @Test(
    "content in its record that is not what its SHA-256 says is told by whoever reads it, and by a check",
    arguments: [false, true])
  func digest(isList: Bool) throws {
    let database = try Database.open(on: SimulatedDisk(seed: 1)) { $0.inlineAssetByteCount = 1000 }
    let asset = Asset(data: Data("small".utf8))
    let saved = try database.put("a", ["file": isList ? .assets([asset]) : .asset(asset)])
    try database.expectClean()
    func stored(in record: Record?) -> Asset? {
      switch record?["file"] as Record.Value? {
      case .asset(let asset): asset
      case .assets(let list): list.first
      default: nil
      }
    }
    let honest = try #require(stored(in: saved)?.sha256)
    var bytes = saved.body.withBytes { $0.array }
    let digest = SHA256.digest(of: "small")
    let start = try #require((0..<bytes.count - 32).first { Array(bytes[$0..<$0 + 32]) == digest })
    bytes[start] ^= 1
    try database.save(forgedBody: bytes)
    let forged = try #require(stored(in: try database.record(saved.id)))
    #expect(forged.sha256 != nil && forged.sha256 != honest)
    #expect(failure { try forged.content() }?.code == .assetFileModified)
    #expect(failure { try forged.readContent { _ in Issue.record("bytes were handed out") } }?.code == .assetFileModified)
    #expect(try !database.check(.deep).isClean)
    try? database.close()
  }
}

extension SHA256 {
  fileprivate static func digest(of text: String) -> [UInt8] { Array(text.utf8).withView { SHA256.digest(of: $0) } }
}
