#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value as the type that it is known to have, where the compiler does not know it.
///
/// A cast asks the runtime, which looks the types up and copies the value: of a decoded record of ten fields that was a tenth
/// of all instructions (row: coding-decode).
@inline(__always)
func same<A, B>(_ value: A, as type: B.Type) -> B {
  precondition(A.self == B.self, "a value is taken as what it is")
  // Safe: the line above; the bits of one type are copied as those of the same type.
  return unsafe unsafeBitCast(value, to: B.self)
}

/// The types that fields have most and that the standard library has no method for.
enum UsualType {
  case date, data, string, uuid, strings, ints, int64s, doubles

  @inline(__always)
  init?<T>(_ type: T.Type) {
    if T.self == Date.self {
      self = .date
    } else if T.self == Data.self {
      self = .data
    } else if T.self == [String].self {
      self = .strings
    } else if T.self == UUID.self {
      self = .uuid
    } else if T.self == String.self {
      self = .string
    } else if T.self == [Int].self {
      self = .ints
    } else if T.self == [Int64].self {
      self = .int64s
    } else if T.self == [Double].self {
      self = .doubles
    } else {
      return nil
    }
  }
}

extension Float {
  /// The nearest to a double; nil where that would be an infinity in the place of a number.
  @inline(__always)
  init?(finite number: Double) {
    self.init(number)
    if isInfinite, number.isFinite { return nil }
  }
}
