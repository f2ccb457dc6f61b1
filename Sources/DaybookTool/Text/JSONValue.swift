import Daybook

/// A JSON value as it was written: members keep their order, whole numbers stay whole, and large ones keep their digits.
enum JSONValue: Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  /// A whole number beyond 64 bits, as its digits.
  case hugeInt(String)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  struct Member: Equatable {
    let key: String
    let value: JSONValue

    static func == (first: Member, second: Member) -> Bool {
      UTF8Order.equal(first.key, second.key) && first.value == second.value
    }
  }

  /// The value of a key of an object; nil for other values.
  subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { UTF8Order.equal($0.key, key) }?.value
  }

  /// The text of a string, else nil.
  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The value as compact JSON.
  func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
    case .int(let number): JSONText.append(number, to: &bytes)
    case .hugeInt(let digits): bytes.append(contentsOf: digits.utf8)
    case .double(let number): JSONText.append(number, to: &bytes)
    case .string(let text): JSONText.append(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONText.append(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// The value as compact JSON.
  var json: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int64) { self = .int(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member(key: $0.0, value: $0.1) })
  }
  init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// A count or size; beyond 64 bits it would not fit a disk.
  static func count(_ number: some BinaryInteger) -> JSONValue { .int(Int64(clamping: number)) }
}
