#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Equality of the numbers in values, dates and places: NaN is refused by records, but a value on its own must still equal
/// itself, or it could not be found in a set. −0 equals 0, and infinities equal themselves, as always.
enum ExactNumber {
  static func same(_ first: Double, _ second: Double) -> Bool {
    first == second || (first.isNaN && second.isNaN)
  }

  static func same(_ first: Double?, _ second: Double?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return same(first, second)
  }

  static func same(_ first: Date, _ second: Date) -> Bool {
    same(first.timeIntervalSinceReferenceDate, second.timeIntervalSinceReferenceDate)
  }

  static func combine(_ number: Double, into hasher: inout Hasher) {
    hasher.combine(number.isNaN ? Double.nan : number)
  }

  static func combine(_ date: Date, into hasher: inout Hasher) {
    combine(date.timeIntervalSinceReferenceDate, into: &hasher)
  }
}
