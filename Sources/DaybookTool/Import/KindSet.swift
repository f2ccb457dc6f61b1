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

  /// Whether cells of CSV that look like numbers become texts, because others of their column do not. A cell is a number or a text: 7
  /// beside 7.5 changes nothing.
  var isMixedInCells: Bool { unified == .string && self != .text }

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
