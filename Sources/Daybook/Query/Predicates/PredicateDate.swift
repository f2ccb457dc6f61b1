#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A moment as it is written in a predicate's text: `2021-09-15`, `2021-09-15T20:30`, `2021-09-15T20:30:00.5+02:00`; UTC where no
/// zone is given. By its own rules, so that a text means the same on every system.
enum PredicateDate {
  /// The moment; nil when the text is none.
  static func date(_ text: String) -> Date? {
    if text.equalsBytes(of: "inf") { return Date(timeIntervalSinceReferenceDate: .infinity) }
    if text.equalsBytes(of: "-inf") { return Date(timeIntervalSinceReferenceDate: -.infinity) }
    var bytes = Array(text.utf8)[...]
    func take(_ byte: UInt8) -> Bool {
      guard bytes.first == byte else { return false }
      bytes.removeFirst()
      return true
    }
    func digits(_ count: Int, _ range: ClosedRange<Int>) -> Int? {
      guard bytes.count >= count else { return nil }
      var number = 0
      for byte in bytes.prefix(count) {
        guard byte >= 0x30, byte <= 0x39 else { return nil }
        number = number * 10 + Int(byte - 0x30)
      }
      bytes.removeFirst(count)
      return range.contains(number) ? number : nil
    }
    guard let year = digits(4, 0...9999), take(UInt8(ascii: "-")), let month = digits(2, 1...12), take(UInt8(ascii: "-")),
      let day = digits(2, 1...31), day <= Self.dayCount(year, month)
    else { return nil }
    var seconds = Double(Self.days(year, month, day)) * 86400
    if bytes.isEmpty { return Date(timeIntervalSinceReferenceDate: seconds) }
    guard take(UInt8(ascii: "T")) || take(UInt8(ascii: "t")) || take(0x20), let hour = digits(2, 0...23),
      take(UInt8(ascii: ":")), let minute = digits(2, 0...59)
    else { return nil }
    seconds += Double(hour * 3600 + minute * 60)
    if take(UInt8(ascii: ":")) {
      guard let second = digits(2, 0...60) else { return nil }
      var text = "\(second)"
      if take(UInt8(ascii: ".")) {
        let fraction = bytes.prefix(9).prefix { $0 >= 0x30 && $0 <= 0x39 }
        if fraction.isEmpty { return nil }
        text += "." + String(decoding: fraction, as: UTF8.self)
        bytes.removeFirst(fraction.count)
      }
      guard let number = Double(text) else { return nil }
      seconds += number
    }
    if bytes.isEmpty || take(UInt8(ascii: "Z")) || take(UInt8(ascii: "z")) {
      return bytes.isEmpty ? Date(timeIntervalSinceReferenceDate: seconds) : nil
    }
    let isEast = take(UInt8(ascii: "+"))
    guard isEast || take(UInt8(ascii: "-")), let hours = digits(2, 0...23) else { return nil }
    _ = take(UInt8(ascii: ":"))
    guard let minutes = digits(2, 0...59), bytes.isEmpty else { return nil }
    let offset = Double(hours * 3600 + minutes * 60)
    return Date(timeIntervalSinceReferenceDate: seconds + (isEast ? -offset : offset))
  }

  private static func dayCount(_ year: Int, _ month: Int) -> Int {
    if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
    return [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Days from 2001-01-01 in the calendar of Gregory, also before it was in use. Years begin in March here, so that the day of
  /// a leap year is their last (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 730_791
  }
}
