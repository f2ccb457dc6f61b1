import Daybook

/// The kinds of values that a key was seen with: a few bits, however many rows there are.
struct KindSet: OptionSet, Hashable {
  let rawValue: UInt16

  static let bool = KindSet(rawValue: 1)
  /// A whole number that a double holds exactly.
  static let whole = KindSet(rawValue: 1 << 1)
  /// A whole number that needs all 64 bits.
  static let wideWhole = KindSet(rawValue: 1 << 2)
  /// A whole number beyond 64 bits.
  static let hugeWhole = KindSet(rawValue: 1 << 3)
  static let double = KindSet(rawValue: 1 << 4)
  static let text = KindSet(rawValue: 1 << 5)
  static let emptyList = KindSet(rawValue: 1 << 6)
  static let wholeList = KindSet(rawValue: 1 << 7)
  static let wideWholeList = KindSet(rawValue: 1 << 8)
  static let doubleList = KindSet(rawValue: 1 << 9)
  static let textList = KindSet(rawValue: 1 << 10)
  /// An object, or a list of several kinds: kept as JSON text.
  static let nested = KindSet(rawValue: 1 << 11)

  /// The kind of one value; empty for null, which is an absent value.
  init(of value: JSONValue) {
    switch value {
    case .null: self = []
    case .bool: self = .bool
    case .int(let number): self = KindSet(of: number)
    case .hugeInt: self = .hugeWhole
    case .double: self = .double
    case .string: self = .text
    case .object: self = .nested
    case .array(let elements):
      var seen: KindSet = []
      for element in elements {
        let kind = KindSet(of: element)
        seen.formUnion(kind.isEmpty ? .nested : kind)
      }
      self =
        if seen.isEmpty {
          .emptyList
        } else if seen == .text {
          .textList
        } else if seen.isSubset(of: [.bool, .whole]) {
          .wholeList
        } else if seen.isSubset(of: [.bool, .whole, .wideWhole]) {
          .wideWholeList
        } else if seen.isSubset(of: [.bool, .whole, .double]) {
          .doubleList
        } else {
          .nested
        }
    }
  }

  init(rawValue: UInt16) { self.rawValue = rawValue }

  init(of number: Int64) { self = Int64(exactly: Double(number)) == number ? .whole : .wideWhole }

  /// The kind of a cell of CSV, which is a number only if it reads as one in JSON; empty for an empty cell.
  init(ofCell bytes: [UInt8], _ range: Range<Int>) {
    if range.isEmpty {
      self = []
      return
    }
    let first = bytes[range.lowerBound]
    guard first == UInt8(ascii: "-") || first &- 0x30 < 10, let shape = NumberShape(bytes, range),
      shape.end == range.upperBound
    else {
      self = .text
      return
    }
    if shape.isWhole {
      // Beyond 64 bits it is rather a telephone or card number than a quantity.
      self = shape.wholeNumber(bytes).map { KindSet(of: $0) } ?? .text
    } else if range.count <= 18 || Double(String(decoding: bytes[range], as: UTF8.self))?.isFinite == true {
      self = range.count <= 18 && KindSet.mayOverflow(bytes, range) ? .text : .double
    } else {
      self = .text
    }
  }

  /// Short numbers overflow only with an exponent; then the whole of it decides.
  private static func mayOverflow(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    guard bytes[range].contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) else { return false }
    return Double(String(decoding: bytes[range], as: UTF8.self))?.isFinite != true
  }

  /// What the key's values are stored as; nil when it never has one.
  var unified: ColumnKind? {
    if isEmpty { return nil }
    if isSubset(of: [.bool, .whole, .wideWhole]) { return .int }
    if isSubset(of: [.bool, .whole, .double]) { return .double }
    if isSubset(of: [.emptyList, .wholeList, .wideWholeList]) { return self == .emptyList ? .strings : .ints }
    if isSubset(of: [.emptyList, .wholeList, .doubleList]) { return .doubles }
    if isSubset(of: [.emptyList, .wholeList, .wideWholeList, .doubleList, .textList]) { return .strings }
    return .string
  }

  /// Whether some values change their kind to be stored together.
  var isMixed: Bool {
    let families: [KindSet] = [
      [.bool, .whole, .wideWhole], .hugeWhole, .double, .text, .nested, [.emptyList, .wholeList, .wideWholeList],
      [.emptyList, .doubleList], [.emptyList, .textList],
    ]
    return !isEmpty && !families.contains { isSubset(of: $0) }
  }

  /// For messages: "whole numbers and text".
  var description: String {
    var names: [String] = []
    let all: [(KindSet, String)] = [
      (.bool, "booleans"), ([.whole, .wideWhole], "whole numbers"), (.hugeWhole, "numbers beyond 64 bits"),
      (.double, "decimal numbers"), (.text, "text"), (.emptyList, "empty lists"),
      ([.wholeList, .wideWholeList], "lists of whole numbers"), (.doubleList, "lists of numbers"),
      (.textList, "lists of text"), (.nested, "nested values"),
    ]
    for (kind, name) in all where !isDisjoint(with: kind) { names.append(name) }
    guard let last = names.popLast() else { return "nothing" }
    return names.isEmpty ? last : names.joined(separator: ", ") + " and " + last
  }
}

/// What the values of one key are stored as.
enum ColumnKind: Equatable {
  case int
  case double
  case string
  case date(DatePattern)
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

  /// A value of JSON as one of this kind; nil for null. `unified` has seen to it that every value fits.
  func value(_ json: JSONValue) -> Record.Value? {
    if case .null = json { return nil }
    switch self {
    case .int: return Self.whole(json).map { .int($0) }
    case .double: return Self.number(json).map { .double($0) }
    case .string: return .string(Self.text(json))
    case .date(let pattern):
      return pattern.seconds(Self.text(json)).map { .date(.init(timeIntervalSinceReferenceDate: $0)) }
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
    case .date(let pattern):
      return pattern.seconds(String(decoding: bytes[range], as: UTF8.self))
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
