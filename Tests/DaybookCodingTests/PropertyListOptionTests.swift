import Daybook
import DaybookCoding
import Foundation
import Testing

// Lists that the option `nested` makes property lists: what does not read back is refused, as within other values.

@Suite("lists as property lists by option")
struct PropertyListOptionTests {
  struct InPlace<Value: Codable & Equatable>: Codable, Equatable {
    var value: Value
    init(_ value: Value) { self.value = value }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  struct Days: RecordCodable, Equatable {
    var recordName: String { "d" }
    var maybe: [Date?]?
    var wrapped: InPlace<[Date]>?
    var row: ContiguousArray<Date>?
    var byDay: [Date: Date]?
    var texts: [String?]?
    var wrappedTexts: InPlace<[String]>?
    var lines: ContiguousArray<String>?
    var names: [UUID: String]?
    var flags: [Bool]?
  }

  private func options(_ format: RecordCodingOptions.AssetFormat) -> RecordCodingOptions {
    var options = RecordCodingOptions()
    options.nested = .asset(format)
    return options
  }

  private func days(_ date: Date) -> [Days] {
    [
      Days(maybe: [date]), Days(maybe: [date, nil]), Days(wrapped: InPlace([date])), Days(row: [date]),
      Days(byDay: [date: date]),
    ]
  }

  private func texts(_ text: String) -> [Days] {
    [
      Days(texts: [text]), Days(texts: ["a", text]), Days(texts: [text, nil]), Days(wrappedTexts: InPlace([text])),
      Days(lines: [text]), Days(names: [UUID(): text]),
    ]
  }

  @Test("dates of lists lost their fractions in XML, where an option and no rule made the lists property lists")
  func dates() throws {
    let late = Date(timeIntervalSinceReferenceDate: 1234.75)
    for value in days(late) {
      let error = refusal { try RecordEncoder(options: options(.xmlPropertyList)).encode(value) }
      #expect(error?.code == .unsupportedValue && error?.message.contains("whole seconds") == true, "\(value)")
    }
    for (value, format) in days(Date(timeIntervalSinceReferenceDate: 1234)).map({ ($0, .xmlPropertyList) })
      + days(late).map({ ($0, RecordCodingOptions.AssetFormat.binaryPropertyList) })
    {
      let record = try RecordEncoder(options: options(format)).encode(value)
      #expect(try RecordDecoder(options: options(format)).decode(Days.self, from: record) == value)
    }
  }

  @Test(
    "a list with the text $null as property list by option was read as nil, or not at all",
    arguments: [RecordCodingOptions.AssetFormat.xmlPropertyList, .binaryPropertyList])
  func nullText(_ format: RecordCodingOptions.AssetFormat) throws {
    for value in texts("$null") {
      let error = refusal { try RecordEncoder(options: options(format)).encode(value) }
      #expect(error?.code == .unsupportedValue && error?.message.contains("$null") == true, "\(value)")
    }
    for value in texts("x") + [Days(flags: [true, false])] {
      let record = try RecordEncoder(options: options(format)).encode(value)
      #expect(try RecordDecoder(options: options(format)).decode(Days.self, from: record) == value)
    }
  }
}
