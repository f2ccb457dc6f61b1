#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decimal numbers as text, the same in every place of the world: digits, a point, perhaps an exponent.
enum DecimalText {
  static func text(of decimal: Decimal) -> String { decimal.description }

  /// Nil when the text is anything else than one number: the system's reader would take what it can and leave the rest.
  static func decimal(of text: String) -> Decimal? {
    var rest = text.utf8[...]
    func digits(_ rest: inout Substring.UTF8View) -> Int {
      let count = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }.count
      rest = rest.dropFirst(count)
      return count
    }
    func sign(_ rest: inout Substring.UTF8View) {
      if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
    }
    sign(&rest)
    var count = digits(&rest)
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      count += digits(&rest)
    }
    guard count > 0 else { return nil }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      sign(&rest)
      let exponent = digits(&rest)
      guard exponent > 0, exponent <= 4 else { return nil }
    }
    guard rest.isEmpty, let decimal = Decimal(string: text), !decimal.isNaN else { return nil }
    return decimal
  }
}

/// Dates as ISO 8601 says, in UTC.
enum ISODate {
  private static let withFraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  private static let withoutFraction = Date.ISO8601FormatStyle()

  /// To the millisecond; nil outside the years 1 to 9999, which the form cannot write.
  static func text(of date: Date) -> String? {
    let rounded = (date.timeIntervalSinceReferenceDate * 1000).rounded() / 1000
    // Seconds since 2001 of the beginning of the year 1 and of the year 10000.
    guard rounded >= -63_113_904_000, rounded < 252_423_993_600 else { return nil }
    // A tenth of a millisecond more: the form cuts off.
    return withFraction.format(Date(timeIntervalSinceReferenceDate: rounded + 0.000_1))
  }

  static func date(of text: String) -> Date? {
    (try? withFraction.parse(text)) ?? (try? withoutFraction.parse(text))
  }
}
