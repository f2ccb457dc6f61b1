import Daybook
import DaybookCoding
import Foundation
import Testing

private struct Paper: RecordCodable, Identifiable, Equatable {
  var id: String
  var title: String
  var year: Int?
  var systemFields: Data?
}

/// The recipe of the codec's page.
@Suite("values that come from another database")
struct TwoDevicesTests {
  private let first: Database
  private let second: Database
  private let zone: Zone.ID

  init() throws {
    first = try Database.inMemory()
    second = try Database.inMemory()
    zone = try Zone.ID("Papers")
    for database in [first, second] { try database.write { [zone] in try $0.save(Zone(zone)) } }
  }

  /// Makes one database what the other is, and remembers how far.
  private func pull(from source: Database, into target: Database) async throws {
    let known = try await target.metadata(forKey: "papers of the other").map { try ChangeToken(data: $0) }
    for try await page in source.changePages(in: zone, since: known) {
      try await target.write(origin: Origin(rawValue: "pull")) { transaction in
        _ = try transaction.save(page.saved, policy: .replace)
        for deletion in page.deleted { try transaction.delete(deletion.id) }
        try transaction.setMetadata(page.token.data, forKey: "papers of the other")
      }
    }
  }

  @Test("the records of a page are saved as they are, deletions too, and values decode from them")
  func records() async throws {
    var paper = Paper(id: "a", title: "First", year: 1)
    try await first.save(&paper, in: zone)
    let other = Paper(id: "b", title: "Second")
    try await first.save(other, in: zone)
    try await pull(from: first, into: second)
    #expect(try await second.fetchAll(Paper.self, in: zone).map(\.title).sorted() == ["First", "Second"])
    paper.title = "Changed"
    paper.year = nil
    try await first.save(&paper, in: zone)
    try await first.delete(Paper.self, "b", in: zone)
    try await pull(from: first, into: second)
    let read = try await second.fetchAll(Paper.self, in: zone)
    #expect(read.map(\.title) == ["Changed"] && read[0].year == nil)
  }

  @Test("a value that was read from another database is refused with what helps, and saved without its system fields")
  func value() async throws {
    var paper = Paper(id: "a", title: "First")
    try await first.save(&paper, in: zone)
    let read = paper
    let error = await #expect(throws: DatabaseError.self) { try await second.save(read, in: zone) }
    #expect(error?.code == .unknownItem && error?.message.contains("allKeys") == true)
    paper.systemFields = nil
    try await second.save(&paper, in: zone)
    #expect(try await second.fetch(Paper.self, "a", in: zone)?.title == "First")
  }
}
