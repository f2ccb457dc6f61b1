/// Days and times of the proleptic Gregorian calendar in UTC, computed with whole numbers.
///
/// Foundation's formatters depend on locale and time zone and take microseconds; this takes nanoseconds and always
/// gives the same. Algorithm: Howard Hinnant, "chrono-compatible low-level date algorithms".
struct CalendarDate: Equatable {
  var year: Int
  var month = 1
  var day = 1
  var hour = 0
  var minute = 0
  var second = 0
  /// The part of the second, 0 up to 1.
  var fraction = 0.0
  /// How far local time is ahead of UTC, in minutes.
  var offsetMinutes = 0

  /// Seconds from 1970 to the reference date of Foundation, 2001-01-01 UTC.
  static let referenceSeconds = 978_307_200

  /// Days since 1970-01-01.
  private var days: Int {
    let y = month <= 2 ? year - 1 : year
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Seconds since 2001-01-01 UTC.
  var secondsSinceReference: Double {
    let whole = days * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second - Self.referenceSeconds
    return Double(whole) + fraction
  }

  /// Whether there is such a day and time; a leap second is taken for the next minute's first.
  var isValid: Bool {
    guard (1...12).contains(month), day >= 1, (0...24).contains(hour), (0..<60).contains(minute),
      (0...60).contains(second), hour < 24 || (minute == 0 && second == 0), abs(offsetMinutes) < 24 * 60
    else { return false }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return day <= lengths[month - 1]
  }

  /// The date and time of a moment; nil beyond the years ±9999, where no text form is agreed upon.
  init?(secondsSinceReference seconds: Double) {
    guard abs(seconds) < 3e11 else { return nil }
    let floor = seconds.rounded(.down)
    let total = Int(floor) + Self.referenceSeconds
    let dayNumber = (total >= 0 ? total : total - 86_399) / 86_400
    let secondOfDay = total - dayNumber * 86_400
    let z = dayNumber + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
    let dayOfEra = z - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthIndex = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthIndex + 2) / 5 + 1
    month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    hour = secondOfDay / 3600
    minute = secondOfDay / 60 % 60
    second = secondOfDay % 60
    fraction = seconds - floor
    guard (-9999...9999).contains(year) else { return nil }
  }

  init(year: Int, month: Int = 1, day: Int = 1) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// `2021-10-22T18:30:00Z`, with so many digits of the second where there are any.
  private func text(digits: Int) -> String? {
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number.magnitude)
      return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let scale = Self.power(digits)
    let parts = Int((fraction * Double(scale)).rounded())
    // It is the next second's.
    if parts >= scale { return nil }
    return
      "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(hour, 2)):\(padded(minute, 2)):"
      + "\(padded(second, 2))\(parts > 0 ? "." + padded(parts, digits) : "")Z"
  }

  private static func power(_ digits: Int) -> Int { (0..<digits).reduce(1) { power, _ in power * 10 } }

  /// A moment as a person reads it, to the nearest millisecond; its number where the calendar ends.
  static func text(secondsSinceReference seconds: Double) -> String {
    let rounded = (seconds * 1000).rounded() / 1000
    return CalendarDate(secondsSinceReference: rounded)?.text(digits: 3) ?? number(seconds)
  }

  /// A moment with so many digits that it is the same when it is read again; its number where the calendar ends.
  static func exactText(secondsSinceReference seconds: Double) -> String {
    guard let date = CalendarDate(secondsSinceReference: seconds) else { return number(seconds) }
    for digits in [0, 3, 6, 7, 9, 12, 15, 18] {
      var read = date
      read.fraction = (date.fraction * Double(power(digits))).rounded() / Double(power(digits))
      if digits == 18 || read.secondsSinceReference == seconds, let text = date.text(digits: digits) { return text }
    }
    return text(secondsSinceReference: seconds)
  }

  private static func number(_ seconds: Double) -> String { "\(seconds) s since 2001" }
}
