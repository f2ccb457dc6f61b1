/// Where a number in JSON's grammar ends, and whether it is whole. A leading zero or plus sign is not in the grammar:
/// "007" is a text, also in CSV.
package struct NumberShape {
  package let start: Int
  package let end: Int
  package let isWhole: Bool

  /// - Parameter range: begins with the number and may go on behind it.
  package init?(_ bytes: [UInt8], _ range: Range<Int>) {
    var index = range.lowerBound
    func isDigit(_ index: Int) -> Bool { index < range.upperBound && bytes[index] &- 0x30 < 10 }
    if index < range.upperBound, bytes[index] == UInt8(ascii: "-") { index += 1 }
    guard isDigit(index) else { return nil }
    if bytes[index] == UInt8(ascii: "0") {
      index += 1
      if isDigit(index) { return nil }
    } else {
      while isDigit(index) { index += 1 }
    }
    var isWhole = true
    if index < range.upperBound, bytes[index] == UInt8(ascii: ".") {
      isWhole = false
      index += 1
      guard isDigit(index) else { return nil }
      while isDigit(index) { index += 1 }
    }
    if index < range.upperBound, bytes[index] | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      index += 1
      if index < range.upperBound, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") { index += 1 }
      guard isDigit(index) else { return nil }
      while isDigit(index) { index += 1 }
    }
    start = range.lowerBound
    end = index
    self.isWhole = isWhole
  }

  /// The whole number, if it fits 64 bits.
  package func wholeNumber(_ bytes: [UInt8]) -> Int64? {
    var index = start
    let isNegative = bytes[index] == UInt8(ascii: "-")
    if isNegative { index += 1 }
    // Gathered below zero, because there is one number more on that side.
    var number: Int64 = 0
    while index < end {
      let (shifted, overflowed) = number.multipliedReportingOverflow(by: 10)
      let (next, overflowedAgain) = shifted.subtractingReportingOverflow(Int64(bytes[index] &- 0x30))
      if overflowed || overflowedAgain { return nil }
      number = next
      index += 1
    }
    if isNegative { return number }
    return number == .min ? nil : -number
  }
}
