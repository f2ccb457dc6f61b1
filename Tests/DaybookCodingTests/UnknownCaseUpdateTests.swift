import Daybook
import DaybookCoding
import Foundation
import Testing

/// An older version of an application changes a record of which a newer one has set a case that the older one does not know.
@Suite("updates and unknown cases")
struct UnknownCaseUpdateTests {
  enum Status: String, RecordEnum, CaseIterable {
    case unknown, draft, published
    static var fallback: Status? { .unknown }
  }
  enum Level: Int, RecordEnum {
    case low = 1, high
    static var fallback: Level? { .low }
  }

  struct Article: RecordCodable, Identifiable, Equatable {
    var id: String
    var title: String
    var status: Status
    var level: Level?
    var history: [Status]
    var levels: [Level] = []
    static var recordNameKey: String { "id" }
  }

  private func newer() throws -> Database {
    let database = try Database.inMemory()
    var record = try Record(type: "Article", id: Record.ID("a"))
    record["title"] = "Dune"
    record["status"] = "archived"
    record["level"] = 7
    record["history"] = ["draft", "archived", "retired"]
    record["levels"] = [1, 9]
    try database.save(record)
    return database
  }

  @Test("a change of another property leaves a case of a newer version as it is")
  func other() throws {
    let database = try newer()
    let article = try #require(try database.fetch(Article.self, "a"))
    #expect(article.status == .unknown && article.level == .low && article.history == [.draft, .unknown, .unknown])
    try database.update(Article.self, "a") { $0.title = "Arrakis" }
    let record = try #require(try database.record(Record.ID("a")))
    #expect(record["title"] == "Arrakis")
    #expect(record["status"] == "archived" && record["level"] == 7)
    #expect(record["history"] == ["draft", "archived", "retired"] && record["levels"] == [1, 9])
  }

  @Test("what is chosen is stored, also beside a case of a newer version")
  func chosen() throws {
    let database = try newer()
    try database.update(Article.self, "a") {
      $0.status = .draft
      $0.level = nil
      $0.history[0] = .published
      $0.levels = [.high]
    }
    let record = try #require(try database.record(Record.ID("a")))
    #expect(record["status"] == "draft" && record["level"] as Int? == nil)
    #expect(record["history"] == ["published", "archived", "retired"] && record["levels"] == [2])
    try database.update(Article.self, "a") { $0.status = .unknown }
    #expect(try database.record(Record.ID("a"))?["status"] == "unknown")
  }
}
