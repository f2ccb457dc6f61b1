import Daybook
import DaybookCoding
import Foundation
import Testing

/// Rules and options that had no effect, and numbers that changed without a word.
@Suite("rules and options that had no effect")
struct IdleRuleTests {
  struct Note: RecordCodable {
    var recordName = "n"
    var text = "a"
    var number = 1
    var day = Date(timeIntervalSince1970: 0)
    var bytes = Data([1])
    var link = URL(string: "https://a.b")!
    var links: [URL] = []
    var contents: [Data] = []
  }

  private func refused(_ rules: [String: FieldRule]) -> [String]? {
    var options = RecordCodingOptions()
    options.rules = rules
    return refusal { try RecordEncoder(options: options).encode(Note()) }?.path
  }

  @Test("a rule that would do nothing to a text, a number or a date is refused", arguments: ["text", "number", "day"])
  func rules(_ key: String) {
    #expect(refused([key: .asset()]) == [key])
    #expect(refused([key: .json]) == [key])
    #expect(refused([key: .reference()]) == [key])
  }

  @Test("bytes are an asset by the rule, addresses and empty lists stay what they are")
  func assets() {
    #expect(refused(["bytes": .asset()]) == nil)
    #expect(refused(["bytes": .json]) == ["bytes"])
    #expect(refused(["link": .asset(), "links": .asset(), "contents": .asset()]) == nil)
  }

  struct Sets: RecordCodable, Equatable {
    var recordName = "s"
    var days: Set<Date> = []
    var contents: Set<Data> = []
    var numbers: Set<Double> = []
  }

  @Test("sets of dates, bytes and numbers are as the options say")
  func sets() throws {
    var options = RecordCodingOptions()
    options.dates = .iso8601
    options.data = .asset
    options.notANumber = .text("none")
    let day = Date(timeIntervalSince1970: 1_700_000_000)
    let value = Sets(days: [day, day + 1], contents: [Data([2]), Data([1])], numbers: [1, 2])
    let record = try RecordEncoder(options: options).encode(value)
    #expect(record["days"] == ["2023-11-14T22:13:20.000Z", "2023-11-14T22:13:21.000Z"])
    #expect(record["contents"] == Record.Value.assets([Asset(data: Data([1])), Asset(data: Data([2]))]))
    #expect(record["numbers"] == [1.0, 2.0])
    #expect(try RecordDecoder(options: options).decode(Sets.self, from: record) == value)
    let other = try RecordEncoder(options: options).encode(Sets(numbers: [.nan, 1]))
    let numbers = try RecordDecoder(options: options).decode(Sets.self, from: other).numbers
    #expect(numbers.count == 2 && numbers.contains(1) && numbers.contains { $0.isNaN })
  }

  struct Large: RecordCodable {
    static let recordType = "Number"
    var recordName = "n"
    var number = 1e300
    var list = [1e300]
    var optional: Double? = -1e300
  }

  @Test("a number that is too large for a Float throws, and is not infinite", arguments: ["number", "list", "optional"])
  func floats(_ key: String) throws {
    struct Small: RecordCodable {
      static let recordType = "Number"
      var recordName = "n"
      var number: Float
      var list: [Float]
      var optional: Float?
    }
    var record = try RecordEncoder().encode(Large(number: 1.5, list: [2.5, .infinity], optional: -.infinity))
    let small = try RecordDecoder().decode(Small.self, from: record)
    #expect(small.number == 1.5 && small.list == [2.5, .infinity] && small.optional == -.infinity)
    record[key] = try RecordEncoder().encode(Large())[key] as Record.Value?
    #expect(refusal { try RecordDecoder().decode(Small.self, from: record) }?.code == .dataCorrupted)
  }
}
