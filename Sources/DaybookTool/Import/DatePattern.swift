/// A format of dates, written as `strptime` has it: `%b %d %Y` reads "Jun 12 1998". English names, UTC.
///
///     %Y year   %y year of two digits (69–99 are 19xx)   %m month   %d %e day   %j day of the year
///     %b %B %h name of the month   %a %A name of the weekday, not looked at
///     %H hour   %I hour of twelve with %p AM or PM   %M minute   %S second   %f part of the second
///     %z +01:00, +0100 or Z   %s seconds since 1970   %F = %Y-%m-%d   %T = %H:%M:%S   %R = %H:%M   %D = %m/%d/%y   %% %
///
/// A space stands for any whitespace, also none. `iso8601` as a whole reads dates of that standard.
struct DatePattern: Equatable {
  private enum Part: Equatable {
    case literal(UInt8)
    case space
    case directive(UInt8)
  }

  /// As it was written.
  let text: String
  private let parts: [Part]
  private let isISO8601: Bool

  /// - Throws: a usage error for a directive that is not known, or a pattern without a year.
  init(_ pattern: String) throws(ToolError) {
    text = pattern
    isISO8601 = pattern == "iso8601"
    var parts: [Part] = []
    var hasYear = isISO8601
    var bytes = Array(pattern.utf8)
    if isISO8601 { bytes = [] }
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      if byte == 0x20 || byte == 0x09 {
        parts.append(.space)
      } else if byte == UInt8(ascii: "%") {
        guard index < bytes.count else { throw Self.unknown("%") }
        let letter = bytes[index]
        index += 1
        if let longer = Self.abbreviations[letter] {
          bytes.insert(contentsOf: longer.utf8, at: index)
        } else if letter == UInt8(ascii: "%") {
          parts.append(.literal(letter))
        } else if "YymdejbBhaAHIpMSfzs".utf8.contains(letter) {
          parts.append(.directive(letter))
          hasYear = hasYear || "Yys".utf8.contains(letter)
        } else {
          throw Self.unknown("%" + String(UnicodeScalar(letter)))
        }
      } else {
        parts.append(.literal(byte))
      }
    }
    guard hasYear else {
      throw .usage("A date format needs a year.", advice: "For example --date \"Release Date=%b %d %Y\".")
    }
    self.parts = parts
  }

  private static let abbreviations: [UInt8: String] = [
    UInt8(ascii: "F"): "%Y-%m-%d", UInt8(ascii: "T"): "%H:%M:%S", UInt8(ascii: "R"): "%H:%M",
    UInt8(ascii: "D"): "%m/%d/%y",
  ]

  private static func unknown(_ directive: String) -> ToolError {
    .usage("A date format does not know \(directive).", advice: "`daybook help import` lists what it knows.")
  }

  /// Seconds since 2001-01-01 UTC; nil when the text is not of this format, or there is no such day.
  func seconds(_ text: String) -> Double? { reading(of: text)?.seconds }

  /// Of a text that has this format and is no date, what there is not: a "day" or a "time". Nil for every other text.
  func missingPart(of text: String) -> String? {
    guard var reading = reading(of: text), reading.seconds == nil else { return nil }
    (reading.date.hour, reading.date.minute, reading.date.second, reading.isAfternoon) = (0, 0, 0, nil)
    return reading.seconds == nil ? "day" : "time"
  }

  /// What a text of this format says, be there such a day or not.
  private struct Reading {
    var date = CalendarDate(year: 1970)
    var dayOfYear: Int?
    var isAfternoon: Bool?
    var secondsSince1970: Double?

    var seconds: Double? {
      if let secondsSince1970 { return secondsSince1970 - Double(CalendarDate.referenceSeconds) }
      var date = date
      if let isAfternoon {
        guard (1...12).contains(date.hour) else { return nil }
        date.hour = date.hour % 12 + (isAfternoon ? 12 : 0)
      }
      if let dayOfYear {
        (date.month, date.day) = (1, 1)
        let isLeap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0)
        guard (1...(isLeap ? 366 : 365)).contains(dayOfYear), date.isValid else { return nil }
        return date.secondsSinceReference + Double(dayOfYear - 1) * 86_400
      }
      return date.isValid ? date.secondsSinceReference : nil
    }
  }

  private func reading(of text: String) -> Reading? {
    var scanner = DateScanner(text)
    if isISO8601 { return scanner.iso8601Date().map { Reading(date: $0) } }
    var date = CalendarDate(year: 1970)
    var dayOfYear: Int?
    var isAfternoon: Bool?
    var secondsSince1970: Double?
    for part in parts {
      switch part {
      case .literal(let byte):
        guard scanner.skip(byte) else { return nil }
      case .space:
        scanner.skipSpaces()
      case .directive(let letter):
        let isRead: Bool
        switch letter {
        case UInt8(ascii: "Y"): isRead = scanner.number(4, into: &date.year)
        case UInt8(ascii: "y"):
          isRead = scanner.number(2, into: &date.year)
          date.year += date.year < 69 ? 2000 : 1900
        case UInt8(ascii: "m"): isRead = scanner.number(2, into: &date.month)
        case UInt8(ascii: "d"), UInt8(ascii: "e"):
          scanner.skipSpaces()
          isRead = scanner.number(2, into: &date.day)
        case UInt8(ascii: "j"):
          var number = 0
          isRead = scanner.number(3, into: &number)
          dayOfYear = number
        case UInt8(ascii: "b"), UInt8(ascii: "B"), UInt8(ascii: "h"):
          isRead = scanner.name(DateScanner.months, into: &date.month)
        case UInt8(ascii: "a"), UInt8(ascii: "A"):
          var weekday = 0
          isRead = scanner.name(DateScanner.weekdays, into: &weekday)
        case UInt8(ascii: "H"), UInt8(ascii: "I"): isRead = scanner.number(2, into: &date.hour)
        case UInt8(ascii: "p"):
          var half = 0
          isRead = scanner.name(["am", "pm"], into: &half)
          isAfternoon = half == 2
        case UInt8(ascii: "M"): isRead = scanner.number(2, into: &date.minute)
        case UInt8(ascii: "S"): isRead = scanner.number(2, into: &date.second)
        case UInt8(ascii: "f"): isRead = scanner.fraction(into: &date.fraction)
        case UInt8(ascii: "z"): isRead = scanner.zone(into: &date.offsetMinutes)
        default:
          secondsSince1970 = scanner.decimal()
          isRead = secondsSince1970 != nil
        }
        guard isRead else { return nil }
      }
    }
    guard scanner.isAtEnd else { return nil }
    return Reading(date: date, dayOfYear: dayOfYear, isAfternoon: isAfternoon, secondsSince1970: secondsSince1970)
  }
}
