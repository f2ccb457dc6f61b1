import Daybook

/// A JSON value that was read. Whole numbers stay whole: a double would lose the last digits of large ones.
enum JSON: Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  /// Beyond `Int64.max`.
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([ByteText: JSON])

  /// What it is, for errors.
  var name: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int, .unsigned: "int"
    case .double: "double"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// The names that numbers have which JSON has none for; they read back as numbers.
  static func name(of number: Double) -> String? {
    number.isNaN ? "NaN" : number == .infinity ? "Infinity" : number == -.infinity ? "-Infinity" : nil
  }

  static func number(named name: String) -> Double? {
    // To compare texts Swift sorts the marks of a letter, in the square of their number.
    if name.utf8.count > 9 { return nil }
    return switch name {
    case "NaN": .nan
    case "Infinity": .infinity
    case "-Infinity": -.infinity
    default: nil
    }
  }
}
