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

  /// It decodes other than it encodes, and encodes something else each time.
  struct Untidy: RecordCodable {
    static let recordType = "Article"
    var recordName = "a"
    var title: String
    var status: Status
    var note: String?

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      title = try container.decode(String.self, forKey: .title).trimmingCharacters(in: .whitespaces)
      status = try container.decode(Status.self, forKey: .status)
      note = try container.decodeIfPresent(String.self, forKey: .note)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(title, forKey: .title)
      try container.encode(status, forKey: .status)
      try container.encodeIfPresent(note, forKey: .note)
      try container.encode(UUID().uuidString, forKey: .stamp)
    }
    enum CodingKeys: String, CodingKey { case title, status, note, stamp }
  }

  @Test("a case of a newer version stays also where a type decodes other than it encodes, or encodes the time")
  func untidy() throws {
    let database = try newer()
    for number in 0..<3 {
      let changed = try database.update(Untidy.self, "a") {
        $0.title = " Arrakis "
        $0.note = "n\(number)"
      }
      #expect(changed.title == "Arrakis" && changed.note == "n\(number)")
      let record = try #require(try database.record(Record.ID("a")))
      #expect(record["status"] == "archived" && record["note"] == "n\(number)")
      #expect(record["history"] == ["draft", "archived", "retired"])
    }
  }

  @Test("what is chosen is stored, also beside a case of a newer version")
  func chosen() throws {
    let database = try newer()
    try database.update(Article.self, "a") {
      $0.status = .draft
      $0.level = nil
      $0.levels = [.high]
    }
    let record = try #require(try database.record(Record.ID("a")))
    #expect(record["status"] == "draft" && record["level"] as Int? == nil)
    #expect(record["history"] == ["draft", "archived", "retired"] && record["levels"] == [2])
    try database.update(Article.self, "a") {
      $0.status = .unknown
      $0.history.append(.published)
    }
    let second = try #require(try database.record(Record.ID("a")))
    #expect(second["status"] == "unknown")
    // A list that changes is one value.
    #expect(second["history"] == ["draft", "unknown", "unknown", "published"])
  }

  struct Wrapped: Codable, Equatable { var status: Status }
  struct Odd: RecordCodable, Identifiable {
    /// Its coded form is not its raw value.
    enum Mark: String, RecordEnum {
      case nothing, some
      static var fallback: Mark? { .nothing }
      init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let mark = Mark(rawValue: String(text.dropFirst(5))) else {
          throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no mark"))
        }
        self = mark
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("mark:" + rawValue)
      }
    }

    var id: String
    var title: String
    var tiny: Float
    var since: Date
    var wrapped: Wrapped
    var marks: [Mark]
    var secret: Status
    var number: UUID
    static var recordNameKey: String { "id" }
    static let fieldRules: [String: FieldRule] = ["since": .date(.iso8601), "secret": .encrypted]
  }

  @Test("a change of one property changes no other field")
  func others() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Odd", id: Record.ID("o"))
    record["title"] = "one"
    record["tiny"] = 0.1
    record["since"] = "2021-10-22T18:30:00.123456Z"
    record["wrapped"] = Data(#"{"newer": 7, "status": "archived"}"#.utf8)
    record["marks"] = ["mark:some", "mark:newer"]
    record["number"] = "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"
    record.encryptedValues["secret"] = "archived"
    try database.save(record)
    let before = try #require(try database.record(Record.ID("o")))
    try database.update(Odd.self, "o") { $0.title = "two" }
    let after = try #require(try database.record(Record.ID("o")))
    #expect(after["title"] == "two" && after.keys == before.keys)
    for key in before.keys where key != "title" {
      #expect(after[key] as Record.Value? == before[key] as Record.Value?, "\(key)")
    }
    #expect(after.encryptedValues["secret"] == "archived")
    try database.update(Odd.self, "o") {
      $0.tiny = 0.5
      $0.secret = .draft
      $0.marks = [.some]
    }
    let last = try #require(try database.record(Record.ID("o")))
    #expect(last["tiny"] == 0.5 && last["marks"] == ["mark:some"] && last.encryptedValues["secret"] == "draft")
    #expect(last["since"] as Record.Value? == before["since"] as Record.Value?)
  }

  @Test("a predicate on an enum that is coded otherwise than as its raw value is refused, not answered with nothing")
  func codedOtherwise() throws {
    struct Marked: RecordCodable {
      var mark: Odd.Mark
      var perhaps: Odd.Mark?
      var status: Status
    }
    let (some, draft) = (Odd.Mark.some, Status.draft)
    #expect(throws: DatabaseError.self) { try Query.Predicate(#Predicate<Marked> { $0.mark == some }) }
    #expect(throws: DatabaseError.self) { try Query.Predicate(#Predicate<Marked> { $0.perhaps == some }) }
    #expect("\(try Query.Predicate(#Predicate<Marked> { $0.status == draft }))" == "status == 'draft'")
  }
}
