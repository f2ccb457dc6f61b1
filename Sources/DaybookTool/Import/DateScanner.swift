import Daybook

/// Reads the pieces of a date from a text, one after the other.
struct DateScanner {
  static let months = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
  ]
  static let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { index == bytes.count }

  mutating func skip(_ byte: UInt8) -> Bool {
    guard index < bytes.count, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  mutating func skipSpaces() {
    while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
  }

  /// One digit at least, `width` at most.
  mutating func number(_ width: Int, into number: inout Int) -> Bool {
    let first = index
    number = 0
    while index < bytes.count, index - first < width, bytes[index] &- 0x30 < 10 {
      number = number * 10 + Int(bytes[index] - 0x30)
      index += 1
    }
    return index > first
  }

  /// Digits behind a decimal point.
  mutating func fraction(into fraction: inout Double) -> Bool {
    let first = index
    while index < bytes.count, bytes[index] &- 0x30 < 10 { index += 1 }
    guard index > first, let value = Double("0." + String(decoding: bytes[first..<index], as: UTF8.self)) else {
      return false
    }
    fraction = value
    return true
  }

  /// A decimal number, with sign and fraction.
  mutating func decimal() -> Double? {
    guard let shape = NumberShape(bytes, index..<bytes.count) else { return nil }
    let text = String(decoding: bytes[index..<shape.end], as: UTF8.self)
    index = shape.end
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }

  /// A name in full or its first three letters (two of am and pm), in any case; its number counted from 1.
  mutating func name(_ names: [String], into number: inout Int) -> Bool {
    let first = index
    while index < bytes.count, (bytes[index] | 0x20) &- UInt8(ascii: "a") < 26 { index += 1 }
    let word = String(decoding: bytes[first..<index].map { $0 | 0x20 }, as: UTF8.self)
    guard word.utf8.count >= 2, let position = names.firstIndex(where: { $0 == word || $0.prefix(3) == word }) else {
      return false
    }
    number = position + 1
    return true
  }

  /// `Z`, `UTC`, `GMT`, `+01:00`, `+0100` or `+01`, in minutes ahead of UTC.
  mutating func zone(into minutes: inout Int) -> Bool {
    for word in ["Z", "z", "UTC", "GMT"] where bytes[index...].starts(with: word.utf8) {
      index += word.utf8.count
      minutes = 0
      return true
    }
    let isWest = index < bytes.count && bytes[index] == UInt8(ascii: "-")
    guard isWest || (index < bytes.count && bytes[index] == UInt8(ascii: "+")) else { return false }
    index += 1
    var hours = 0
    var rest = 0
    let first = index
    guard number(2, into: &hours), index - first == 2 else { return false }
    if skip(UInt8(ascii: ":")) || !isAtEnd {
      let first = index
      guard number(2, into: &rest), index - first == 2 else { return false }
    }
    guard hours < 24, rest < 60 else { return false }
    minutes = (hours * 60 + rest) * (isWest ? -1 : 1)
    return true
  }

  /// `2021-10-22`, then perhaps `T18:30`, `:15`, `.25` and a zone; UTC where there is none. The whole text, or nil.
  mutating func iso8601() -> Double? { iso8601Date().flatMap { $0.isValid ? $0.secondsSinceReference : nil } }

  /// The same, be there such a day or not.
  mutating func iso8601Date() -> CalendarDate? {
    var date = CalendarDate(year: 0)
    let first = index
    guard number(4, into: &date.year), index - first == 4, skip(UInt8(ascii: "-")), number(2, into: &date.month),
      skip(UInt8(ascii: "-")), number(2, into: &date.day)
    else { return nil }
    if !isAtEnd {
      guard skip(UInt8(ascii: "T")) || skip(UInt8(ascii: "t")) || skip(0x20) else { return nil }
      guard number(2, into: &date.hour), skip(UInt8(ascii: ":")), number(2, into: &date.minute) else { return nil }
      if skip(UInt8(ascii: ":")) {
        guard number(2, into: &date.second) else { return nil }
        if skip(UInt8(ascii: ".")) || skip(UInt8(ascii: ",")) {
          guard fraction(into: &date.fraction) else { return nil }
        }
      }
      if !isAtEnd {
        guard zone(into: &date.offsetMinutes) else { return nil }
      }
    }
    return isAtEnd ? date : nil
  }

  /// A date of ISO 8601, as dumps and arguments may have it.
  static func iso8601(_ text: String) -> Double? {
    var scanner = DateScanner(text)
    return scanner.iso8601()
  }
}
