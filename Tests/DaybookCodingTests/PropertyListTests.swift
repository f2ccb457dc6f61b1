import Daybook
import DaybookCoding
import Foundation
import Testing

/// Values in property lists: what does not read back is refused when it is written.
@Suite("values in property lists")
struct PropertyListTests {
  static let formats: [RecordCodingOptions.AssetFormat] = [.xmlPropertyList, .binaryPropertyList]

  enum Shelf: String, Codable { case upper, lower }

  struct Loan: Codable, Equatable {
    var day = Date(timeIntervalSinceReferenceDate: 1)
    var days: [Date] = []
    var note: String?
    var notes: [String?] = []
    var numbers: [String: Int] = [:]
    var shelves: [Shelf: Shelf] = [.upper: .lower]
    var share = Double.infinity
    var count = UInt64.max
    var bytes = Data([1])
    var price = Decimal(string: "1.10")!
    var link = URL(string: "https://a.b")!
  }

  struct Book: RecordCodable, Equatable {
    var recordName = "b"
    var shelf = Shelf.lower
    var maybe: Shelf? = .upper
    var shelves: [Shelf] = [.upper]
    var noShelves: [Shelf] = []
    var loan = Loan()
    var loans: [Loan] = []
    var pairs: [[Int?]] = [[1, nil]]
  }

  private func options(_ format: RecordCodingOptions.AssetFormat) -> RecordCodingOptions {
    var options = RecordCodingOptions()
    options.nested = .asset(format)
    return options
  }

  private func refused(_ format: RecordCodingOptions.AssetFormat, _ change: (inout Book) -> Void) -> RecordCodingError? {
    var book = Book()
    change(&book)
    return refusal { try RecordEncoder(options: options(format)).encode(book) }
  }

  @Test("an enum with raw values beside property lists is its raw value, as beside JSON, and comes back", arguments: formats)
  func rawValues(_ format: RecordCodingOptions.AssetFormat) throws {
    var book = Book()
    book.loans = [Loan(), Loan(note: "a", notes: ["b", nil], numbers: ["c": 1])]
    let record = try RecordEncoder(options: options(format)).encode(book)
    #expect(record["shelf"] == "lower" && record["maybe"] == "upper" && record["shelves"] as Asset? != nil)
    #expect(record["loan"] as Asset? != nil && record["loans"] as Asset? != nil && record["pairs"] as Asset? != nil)
    #expect(try RecordDecoder(options: options(format)).decode(Book.self, from: record) == book)
  }

  @Test("a list of raw values that was a property list before is still read")
  func before() throws {
    var record = try RecordEncoder().encode(Book())
    record["shelves"] = Asset(data: try PropertyListEncoder().encode([Shelf.upper]))
    #expect(try RecordDecoder().decode(Book.self, from: record) == Book())
  }

  @Test("a date with a fraction is refused in XML with its path, and does not lose the fraction")
  func fractions() throws {
    let (whole, late) = (Date(timeIntervalSinceReferenceDate: 1), Date(timeIntervalSinceReferenceDate: 1.25))
    let never = Date(timeIntervalSinceReferenceDate: .infinity)
    #expect(refused(.xmlPropertyList) { $0.loan.day = late }?.path == ["loan", "day"])
    #expect(refused(.xmlPropertyList) { $0.loan.days = [whole, late] }?.path == ["loan", "days", "1"])
    let inList = refused(.xmlPropertyList) { $0.loans = [Loan(), Loan(day: late)] }
    #expect(inList?.path == ["loans", "1", "day"] && inList?.code == .unsupportedValue)
    #expect(refused(.xmlPropertyList) { $0.loan.day = never }?.path == ["loan", "day"])
    var book = Book()
    book.loan.day = late
    for format in [RecordCodingOptions.AssetFormat.binaryPropertyList, .json] {
      let record = try RecordEncoder(options: options(format)).encode(book)
      #expect(try RecordDecoder(options: options(format)).decode(Book.self, from: record) == book)
    }
    struct Days: RecordCodable, Equatable { var days: [Date] }
    var rule = RecordCodingOptions()
    rule.rules = ["days": .asset(.xmlPropertyList)]
    #expect(refusal { try RecordEncoder(options: rule).encode(Days(days: [late])) }?.path == ["days", "0"])
  }

  @Test("what a property list reads as something else is refused with its path")
  func others() throws {
    for format in Self.formats {
      #expect(refused(format) { $0.loan.note = "$null" }?.path == ["loan", "note"])
      #expect(refused(format) { $0.loan.notes = [nil, "$null"] }?.path == ["loan", "notes", "1"])
      #expect(refused(format) { $0.loan.link = URL(string: "$null")! }?.path == ["loan", "link"])
    }
    #expect(refused(.xmlPropertyList) { $0.loan.numbers = ["CF$UID": 1] }?.path == ["loan", "numbers", "CF$UID"])
    #expect(refused(.binaryPropertyList) { $0.loan.numbers = ["CF$UID": 1] } == nil)
    #expect(refused(.json) { $0.loan.note = "$null" } == nil)
  }
}
