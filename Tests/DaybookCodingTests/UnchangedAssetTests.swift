import Daybook
import DaybookCoding
import Foundation
import Testing

// Assets that an update makes of the same values are no changes.

@Suite("unchanged assets")
struct UnchangedAssetTests {
  private func options(_ format: RecordCodingOptions.AssetFormat) -> RecordCodingOptions {
    var options = RecordCodingOptions()
    options.nested = .asset(format)
    return options
  }

  private struct Stock: RecordCodable, Equatable {
    var recordName = "s"
    var content = Content()
    struct Content: Codable, Equatable {
      var names: [UUID: String] = [:]
      var counts: [String: Int] = [:]
      var marks: Set<Int> = []
    }
  }

  private func stock(isReversed: Bool) -> Stock {
    var stock = Stock()
    if isReversed {
      stock.content.names.reserveCapacity(500)
      stock.content.counts.reserveCapacity(500)
      stock.content.marks.reserveCapacity(500)
    }
    for number in isReversed ? Array((0..<40).reversed()) : Array(0..<40) {
      stock.content.names[UUID(uuidString: "00000000-0000-0000-0000-0000000000\(number + 10)")!] = "\(number)"
      stock.content.counts["k\(number)"] = number
      stock.content.marks.insert(number)
    }
    return stock
  }

  @Test(
    "an update that changed nothing wrote the dictionaries and sets of a property list once more",
    arguments: RecordCodingOptions.AssetFormat.allCases)
  func unchanged(_ format: RecordCodingOptions.AssetFormat) throws {
    let database = try Database.inMemory()
    let options = options(format)
    try database.save(stock(isReversed: false), options: options)
    let tag = try database.record(Record.ID("s"))?.changeTag
    try database.update(Stock.self, "s", options: options) { $0 = stock(isReversed: true) }
    #expect(try database.record(Record.ID("s"))?.changeTag == tag)
    var other = stock(isReversed: true)
    other.content.marks.remove(7)
    other.content.marks.insert(77)
    try database.update(Stock.self, "s", options: options) { $0 = other }
    #expect(try database.fetch(Stock.self, "s", options: options) == other)
  }

  private struct Scan: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["page": .data(.asset), "pages": .data(.asset), "large": .data(.asset)]
    var recordName = "c"
    var page = Data("page".utf8)
    var pages = [Data("one".utf8), Data("two".utf8)]
    /// Too large for the record: in a file.
    var large = Data(repeating: 7, count: 100_000)
  }

  @Test("an update that changed nothing wrote bytes that are assets once more")
  func bytes() throws {
    let database = try Database.inMemory()
    try database.save(Scan())
    let tag = try database.record(Record.ID("c"))?.changeTag
    try database.update(Scan.self, "c") { _ in }
    #expect(try database.record(Record.ID("c"))?.changeTag == tag)
    for change: (inout Scan) -> Void in [
      { $0.page = Data("gape".utf8) }, { $0.pages.swapAt(0, 1) }, { $0.large[99_999] = 8 },
    ] {
      var expected = try #require(try database.fetch(Scan.self, "c"))
      change(&expected)
      try database.update(Scan.self, "c") { change(&$0) }
      #expect(try database.fetch(Scan.self, "c") == expected)
    }
  }

  private struct Sheet: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = [
      "scan": .data(.asset), "large": .data(.asset), "drawing": .asset(), "numbers": .asset(),
    ]
    struct Drawing: Codable, Equatable { var lines = ["x"] }
    var recordName: String { "sheet" }
    var title = "a"
    var scan = Data([1, 2, 3])
    var large = Data(repeating: 7, count: 100_000)
    var drawing: Drawing? = Drawing()
    var numbers = [1, 2, 3]
    var plain = Data([4, 5, 6])
  }

  @Test("a rebase of a changed title took back the newer assets of another device")
  func rebased() throws {
    let database = try Database.inMemory()
    var options = RecordCodingOptions()
    options.data = .asset
    let id = try Record.ID("sheet")
    try database.save(Sheet(), options: options)
    let base = try #require(try database.record(id))
    var value = try RecordDecoder(options: options).decode(Sheet.self, from: base)
    try database.update(Sheet.self, "sheet", options: options) {
      $0 = Sheet(
        title: "a", scan: Data([9, 9, 9]), large: Data(repeating: 8, count: 100_000), drawing: .init(lines: ["y"]),
        numbers: [3, 2, 1],
        plain: Data([6, 5, 4]))
    }
    var expected = try #require(try database.fetch(Sheet.self, "sheet", options: options))
    // The older bytes may be gone by now.
    try database.compact()
    try database.collectAssets(grace: .zero)
    value.title = "mine"
    var mine = try RecordEncoder(options: options).encode(value, onto: base)
    #expect(mine.changedKeys == ["title"])
    let error = #expect(throws: DatabaseError.self) { try database.write { [mine] transaction in try transaction.save(mine) } }
    mine.rebase(onto: try #require(error?.conflict?.server))
    try database.write { [mine] transaction in try transaction.save(mine) }
    expected.title = "mine"
    #expect(try database.fetch(Sheet.self, "sheet", options: options) == expected)
  }
}
