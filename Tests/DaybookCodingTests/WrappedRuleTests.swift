import Daybook
import DaybookCoding
import Foundation
import Testing

/// Rules on types that encode themselves as a single value: what was meant for an asset or for JSON was a plain field.
@Suite("rules on types that are a single value")
struct WrappedRuleTests {
  struct Wrapped<Content: Codable & Equatable>: Codable, Equatable {
    var content: Content

    init(_ content: Content) { self.content = content }

    init(from decoder: any Decoder) throws { content = try decoder.singleValueContainer().decode(Content.self) }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(content)
    }
  }

  enum Shelf: String, Codable { case upper, lower }
  enum Floor: Int, Codable { case cellar = -1, ground }

  struct Paper: RecordCodable, Equatable {
    var recordName = "p"
    var text = Wrapped("a")
    var number = Wrapped(1)
    var large = Wrapped(UInt64(1))
    var part = Wrapped(0.5)
    var isOpen = Wrapped(true)
    var day = Wrapped(Date(timeIntervalSince1970: 0))
    var twice = Wrapped(Wrapped("a"))
    var shelf = Shelf.lower
    var floor = Floor.ground
    var maybe: Shelf? = .upper
    var bytes = Wrapped(Data([1]))
    var link = Wrapped(URL(string: "https://a.b")!)
    var list = Wrapped([1, 2])
    var none = Wrapped(String?.none)
  }

  private func options(_ rules: [String: FieldRule]) -> RecordCodingOptions {
    var options = RecordCodingOptions()
    options.rules = rules
    return options
  }

  @Test(
    "a text of a type of its own that the rule asset is for is refused, and not stored in plain",
    arguments: ["text", "number", "large", "part", "isOpen", "day", "twice", "shelf", "floor", "maybe"],
    [FieldRule.asset(), .asset(.xmlPropertyList), .asset(.binaryPropertyList)])
  func plain(_ key: String, _ rule: FieldRule) {
    let error = refusal { try RecordEncoder(options: options([key: rule])).encode(Paper()) }
    #expect(error?.code == .unsupportedValue && error?.path == [key])
  }

  @Test("the rule json is refused on an enum with raw values, which never is JSON", arguments: ["shelf", "floor", "maybe"])
  func rawValueAsJSON(_ key: String) {
    let error = refusal { try RecordEncoder(options: options([key: .json])).encode(Paper()) }
    #expect(error?.code == .unsupportedValue && error?.path == [key])
  }

  @Test("a rule that has an effect on what a type encodes itself as takes it")
  func effect() throws {
    let all = options([
      "bytes": .asset(), "link": .asset(), "list": .asset(), "none": .asset(), "text": .encrypted,
    ])
    let record = try RecordEncoder(options: all).encode(Paper())
    #expect(try (record["bytes"] as Asset?)?.content() == Data([1]))
    #expect(try (record["list"] as Asset?)?.content() == Data("[1,2]".utf8))
    #expect(record["link"] == "https://a.b")
    #expect(record["text"] as Record.Value? == nil && record.encryptedValues["text"] == "a")
    #expect(try RecordDecoder(options: all).decode(Paper.self, from: record) == Paper())
    let json = options(["list": .json])
    let other = try RecordEncoder(options: json).encode(Paper())
    #expect(other["list"] == Data("[1,2]".utf8))
    #expect(try RecordDecoder(options: json).decode(Paper.self, from: other) == Paper())
  }
}
