import Foundation
import Testing

@testable import Daybook

/// Applications that open, write for a moment and close.
@Suite("short sessions", .timeLimit(.minutes(15)))
struct ShortSessionTests {
  @Test("a file that grew in sessions too short for the background is compacted by the next one")
  func compactedLater() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-sessions-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("a.daybook").path
    var options = Database.Options()
    options.durability = .relaxed
    options.compaction.isAutomatic = false
    // Versions of one record, 80 MB together.
    let bytes = Data(repeating: 7, count: 500_000)
    for _ in 0..<4 {
      let database = try Database.open(at: path, options: options)
      for number in 0..<40 { try database.put("r", ["bytes": .bytes(bytes), "number": .int(Int64(number))]) }
      try database.close()
    }
    func byteCount() throws -> Int { try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped).count }
    #expect(try byteCount() > 64 << 20)
    options.compaction.isAutomatic = true
    let database = try Database.open(at: path, options: options)
    for _ in 0..<3000 where try byteCount() > 64 << 20 { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try byteCount() < 4 << 20)
    #expect(try await database.record(Record.ID("r"))?["number"] == 39)
    try database.close()
  }
}
