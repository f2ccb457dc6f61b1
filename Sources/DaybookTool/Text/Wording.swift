import Foundation

/// Numbers as people write them.
enum Wording {
  /// 144563 as "144,563".
  static func count(_ number: some BinaryInteger) -> String {
    let digits = String(number)
    var result = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0, result != "-" { result += "," }
      result.append(digit)
    }
    return result
  }

  /// "1 record", "3,201 records".
  static func count(_ number: some BinaryInteger, _ word: String) -> String {
    "\(count(number)) \(word)\(number == 1 ? "" : "s")"
  }

  /// Bytes in a unit that leaves three or four digits.
  static func bytes(_ number: some BinaryInteger) -> String {
    var value = Double(number)
    for unit in ["bytes", "KB", "MB", "GB"] {
      if value < 1000 || unit == "GB" {
        return unit == "bytes" ? "\(number) bytes" : "\(String(format: value < 10 ? "%.1f" : "%.0f", value)) \(unit)"
      }
      value /= 1000
    }
    return "\(number) bytes"
  }
}
