import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookCoding

// Models as applications have them, asked for and saved in the first ways that come to mind.

@Suite("ordinary models")
struct OrdinaryModelTests {
  struct Link: RecordCodable, Equatable {
    static let recordNameKey = "id"
    var id: Int
    var url: URL
    var mirror: URL?
    var others: [URL] = []
    var price: Decimal = 0
    var recordName: String { "\(id)" }
  }

  private func links() throws -> (Database, [Link]) {
    let database = try Database.inMemory()
    let links = (1...20).map { number in
      Link(
        id: number, url: URL(string: "https://a.b/\(number % 5)")!,
        mirror: number % 2 == 0 ? URL(string: "https://m.n/\(number)") : nil,
        others: number % 3 == 0 ? [URL(string: "https://o.p")!] : [])
    }
    for link in links { try database.save(link) }
    return (database, links)
  }

  private func expect(
    _ predicate: FoundationPredicate<Link>, in database: Database, _ links: [Link],
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let expected = try links.filter { try predicate.evaluate($0) }.map(\.id)
    let found = try database.fetchAll(Link.self, where: predicate).map(\.id)
    #expect(found == expected, sourceLocation: location)
    #expect(try database.count(Link.self, where: predicate) == expected.count, sourceLocation: location)
  }

  @Test("a link could not be looked for by its URL")
  func byURL() throws {
    let (database, links) = try links()
    let (url, mirror, other, none) = (links[0].url, links[1].mirror, URL(string: "https://o.p")!, nil as URL?)
    let some = [links[0].url, links[3].url]
    try expect(#Predicate { $0.url == url }, in: database, links)
    try expect(#Predicate { $0.url != url }, in: database, links)
    try expect(#Predicate { $0.mirror == mirror }, in: database, links)
    try expect(#Predicate { $0.mirror != mirror }, in: database, links)
    try expect(#Predicate { $0.mirror == none }, in: database, links)
    try expect(#Predicate { some.contains($0.url) }, in: database, links)
    try expect(#Predicate { $0.others.contains(other) }, in: database, links)
    let file = URL(fileURLWithPath: "/tmp/x")
    let error = #expect(throws: DatabaseError.self) { try database.fetchAll(Link.self, where: #Predicate { $0.url == file }) }
    #expect(error?.message.contains("asset") == true)
    let price = Decimal(1.5)
    let refused = #expect(throws: DatabaseError.self) {
      try database.fetchAll(Link.self, where: #Predicate { $0.price == price })
    }
    #expect(refused?.message.contains(#".field("price")"#) == true)
  }

  @Test("a record named by a number could not be looked for by it")
  func byNumber() throws {
    let (database, links) = try links()
    let some = [3, 7, 700]
    try expect(#Predicate { $0.id == 2 }, in: database, links)
    try expect(#Predicate { 2 == $0.id }, in: database, links)
    try expect(#Predicate { $0.id != 2 }, in: database, links)
    try expect(#Predicate { some.contains($0.id) }, in: database, links)
    try expect(#Predicate { !some.contains($0.id) && $0.id != 5 }, in: database, links)
    try expect(#Predicate { $0.id == -2 }, in: database, links)
    #expect(try database.explain(Query("Link", where: .init(#Predicate<Link> { $0.id == 2 }))).index == "recordName")
    for refused in [#Predicate<Link> { $0.id > 2 }, #Predicate { (1...4).contains($0.id) }] {
      let error = #expect(throws: DatabaseError.self) { try database.fetchAll(Link.self, where: refused) }
      #expect(error?.message.contains("10 comes before 9") == true)
    }
    let error = #expect(throws: DatabaseError.self) { try database.maximum(of: \Link.id) }
    #expect(error?.message.contains("10 comes before 9") == true)
  }

  struct Picture: RecordCodable, Equatable {
    var recordName = "p"
    var cover: Asset
    var others: [Asset] = []
    var more: Asset?
    var systemFields: Data?
  }

  @Test("after a save an asset of the value was not the one that a fetch gives", arguments: [false, true])
  func savedAsset(inTransaction: Bool) throws {
    let database = try Database.inMemory()
    var picture = Picture(
      cover: Asset(data: Data([1, 2])), others: [Asset(data: Data([3]))], more: Asset(data: Data([4, 5, 6])))
    if inTransaction {
      try database.write { try $0.save(&picture) }
    } else {
      try database.save(&picture)
    }
    let fetched = try #require(try database.fetch(Picture.self, "p"))
    #expect(picture == fetched)
    #expect(try picture.cover.content() == Data([1, 2]))
    picture.more = Asset(data: Data([9]))
    picture = try database.save(picture)
    #expect(try database.fetch(Picture.self, "p") == picture)
  }

  struct Invoice: RecordCodable, Equatable {
    struct Line: Codable, Equatable {
      var text: String
      var vat: Double
    }
    struct Address: Codable, Equatable {
      var street: String
    }
    var recordName = "i"
    var lines: [Line]
    var address: Address
  }

  @Test("JSON that was imported as text did not decode as the value that it is")
  func importedText() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Invoice", id: Record.ID("i"))
    record["lines"] = #" [{"text":"x","vat":0.5}]"#
    record["address"] = #"{"street":"s"}"#
    try database.write { [record] in try $0.save(record) }
    let invoice = Invoice(lines: [.init(text: "x", vat: 0.5)], address: .init(street: "s"))
    #expect(try database.fetch(Invoice.self, "i") == invoice)
    try database.update(Invoice.self, "i") { $0.address.street = "t" }
    #expect(try database.fetch(Invoice.self, "i")?.address.street == "t")
    record["address"] = "street"
    #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Invoice.self, from: record) }
    record["address"] = #"{"street":"#
    let error = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Invoice.self, from: record) }
    #expect(error?.code == .typeMismatch && error?.path == ["address"])
  }

  enum Tree: Codable, Equatable {
    case object([String: Tree])
    case array([Tree])
    case text(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let object = try? container.decode([String: Tree].self) {
        self = .object(object)
      } else if let array = try? container.decode([Tree].self) {
        self = .array(array)
      } else {
        self = .text(try container.decode(String.self))
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .object(let object): try container.encode(object)
      case .array(let array): try container.encode(array)
      case .text(let text): try container.encode(text)
      }
    }
  }

  struct Note: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["extra": .json]
    var recordName = "n"
    var note: Tree
    var extra: Tree
  }

  @Test(
    "a type that may be a text or JSON keeps a text that looks like JSON, also under the rule json",
    arguments: [Tree.text("[1,2]"), .text("{}"), .text("x"), .array([.text("[]")]), .object(["a": .text("{")])])
  func textOrJSON(tree: Tree) throws {
    let database = try Database.inMemory()
    let note = Note(note: tree, extra: tree)
    try database.save(note)
    #expect(try database.fetch(Note.self, "n") == note)
  }

  final class Movie: RecordCodable {
    enum CodingKeys: String, CodingKey { case recordName, title, cover, systemFields }
    var recordName = "m"
    var title = "t"
    var cover = Asset(data: Data([1]))
    var systemFields: Data?
    var isSelected = false

    init() {}
  }

  @Test("a value whose asset is stored already stays the object that it is, with what has no key")
  func sameObject() throws {
    let database = try Database.inMemory()
    var movie = Movie()
    try database.save(&movie)
    movie = try #require(try database.fetch(Movie.self, "m"))
    let shown = movie
    movie.isSelected = true
    movie.title = "x"
    try database.save(&movie)
    #expect(movie === shown && shown.isSelected)
    shown.title = "y"
    var again = shown
    try database.save(&again)
  }

  @Test("of a key that JSON lacks the error named rules, which are for keys of records")
  func missingMember() throws {
    var record = try Record(type: "Invoice", id: Record.ID("i"))
    record["lines"] = Data(#"[{"text":"x"}]"#.utf8)
    let error = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Invoice.self, from: record) }
    #expect(error?.code == .keyNotFound && error?.path == ["lines", "0", "vat"])
    #expect(error?.message.contains("init(from:)") == true && error?.message.contains("fieldRules") == false)
    record["lines"] = Data("[]".utf8)
    let other = #expect(throws: RecordCodingError.self) { try RecordDecoder().decode(Invoice.self, from: record) }
    #expect(other?.code == .keyNotFound && other?.message.contains("fieldRules") == true)
  }
}
