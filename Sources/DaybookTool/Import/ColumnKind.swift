import Daybook

/// What the values of one key are stored as.
enum ColumnKind: Equatable {
  case int
  case double
  case string
  case date(DateFormats)
  case ints
  case doubles
  case strings

  var name: String {
    switch self {
    case .int: "whole numbers"
    case .double: "decimal numbers"
    case .string: "text"
    case .date: "dates"
    case .ints: "lists of whole numbers"
    case .doubles: "lists of numbers"
    case .strings: "lists of text"
    }
  }

  /// The kind of its fields.
  var fieldKind: FieldKind {
    switch self {
    case .int: .int
    case .double: .double
    case .string: .string
    case .date: .date
    case .ints: .ints
    case .doubles: .doubles
    case .strings: .strings
    }
  }

  /// A value of JSON as one of this kind; nil for null. `unified` has seen to it that every value fits.
  func value(_ json: JSONValue) -> Record.Value? {
    if case .null = json { return nil }
    switch self {
    case .int: return Self.whole(json).map { .int($0) }
    case .double: return Self.number(json).map { .double($0) }
    case .string: return .string(Self.text(json))
    case .date(let formats):
      return formats.seconds(Self.text(json)).map { .date(.init(timeIntervalSinceReferenceDate: $0)) }
    case .ints, .doubles, .strings:
      guard case .array(let elements) = json else { return nil }
      switch self {
      case .ints: return .ints(elements.compactMap(Self.whole))
      case .doubles: return .doubles(elements.compactMap(Self.number))
      default: return .strings(elements.map(Self.text))
      }
    }
  }

  /// A cell of CSV as one of this kind; nil for an empty one.
  func value(ofCell bytes: [UInt8], _ range: Range<Int>) -> Record.Value? {
    if range.isEmpty { return nil }
    switch self {
    case .int: return NumberShape(bytes, range)?.wholeNumber(bytes).map { .int($0) }
    case .double: return Double(String(decoding: bytes[range], as: UTF8.self)).map { .double($0) }
    case .date(let formats):
      return formats.seconds(String(decoding: bytes[range], as: UTF8.self))
        .map { .date(.init(timeIntervalSinceReferenceDate: $0)) }
    default: return .string(String(decoding: bytes[range], as: UTF8.self))
    }
  }

  private static func whole(_ json: JSONValue) -> Int64? {
    switch json {
    case .int(let number): number
    case .bool(let value): value ? 1 : 0
    default: nil
    }
  }

  private static func number(_ json: JSONValue) -> Double? {
    if case .double(let number) = json { number } else { whole(json).map { Double($0) } }
  }

  /// A value among texts: a text as it is, everything else as its JSON.
  static func text(_ json: JSONValue) -> String { json.text ?? json.json }
}
