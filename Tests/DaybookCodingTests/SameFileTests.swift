import Daybook
import DaybookCoding
import Foundation
import Testing

// Values with files that are updated, and whose files are not changed.

@Suite("files that stay as they are")
struct SameFileTests {
  struct Poster: RecordCodable, Identifiable {
    var id: String
    var image: URL?
    var pages: [URL] = []
    var note = ""
  }

  private let folder: Folder

  init() throws { folder = try Folder() }

  private func file(_ name: String, _ byte: UInt8, _ byteCount: Int) throws -> URL {
    let url = folder.url.appendingPathComponent(name)
    try Data(repeating: byte, count: byteCount).write(to: url)
    return url
  }

  @Test("an update that changes nothing writes nothing, also with files", arguments: [10, 200_000])
  func unchanged(byteCount: Int) throws {
    let database = try Database.open(at: folder.url.appendingPathComponent("db").path)
    defer { try? database.close() }
    let id = try Record.ID("a")
    let first = try file("first", 1, byteCount)
    let pages = [try file("page0", 3, byteCount), try file("page1", 4, byteCount)]
    try database.save(Poster(id: "a", image: first, pages: pages))
    try FileManager.default.removeItem(at: first)
    let tag = try database.record(id)?.changeTag
    try database.update(Poster.self, "a") { _ in }
    #expect(try database.record(id)?.changeTag == tag)

    // Another property alone.
    let noted = try database.update(Poster.self, "a") { $0.note = "n" }
    #expect(try database.record(id)?.changeTag != tag)
    #expect(try Data(contentsOf: #require(noted.image)) == Data(repeating: 1, count: byteCount))

    // Another content of the same size, and another order.
    let second = try file("second", 2, byteCount)
    let changed = try database.update(Poster.self, "a") { poster in
      poster.image = second
      poster.pages.reverse()
    }
    #expect(try Data(contentsOf: #require(changed.image)) == Data(repeating: 2, count: byteCount))
    #expect(try changed.pages.map { try Data(contentsOf: $0).first } == [4, 3])
    let removed = try database.update(Poster.self, "a") { $0.image = nil }
    #expect(removed.image == nil)
  }

  @Test("a decoded file that was changed in its place is a new content", arguments: [10, 200_000])
  func changedInPlace(byteCount: Int) throws {
    let database = try Database.open(at: folder.url.appendingPathComponent("db").path)
    defer { try? database.close() }
    try database.save(Poster(id: "a", image: file("first", 1, byteCount)))
    let changed = try database.update(Poster.self, "a") { poster in
      let image = try #require(poster.image)
      try FileManager.default.removeItem(at: image)
      try Data(repeating: 2, count: byteCount).write(to: image)
    }
    #expect(try Data(contentsOf: #require(changed.image)).first == 2)
  }
}
