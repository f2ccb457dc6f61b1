import Daybook

/// Gives every column of an input a key that a record accepts.
///
/// Columns whose names are valid keep them. The others are mapped in the order in which they appeared: what a key
/// cannot hold becomes `_`, and a key that is taken or reserved gets `_2`, `_3`, …  `US Gross` becomes `US_Gross`;
/// `parent`, which is reserved, `parent_2`.
enum KeyMapping {
  static let maximumByteCount = 255

  /// The key of each column, in order.
  ///
  /// - Parameter taken: keys that no column may have, because an option fills them.
  static func keys(for columns: [String], taken: [String] = []) -> [String] {
    var choice = KeyChoice(taken: taken)
    return choice.keys(for: columns)
  }

  /// The name with every character replaced that a key or type cannot hold; begins with a letter.
  static func sanitized(_ name: String) -> String {
    var key = ""
    for character in name {
      let bytes = character.utf8
      let byte = bytes.count == 1 ? bytes[bytes.startIndex] : 0
      key.append(isLetter(byte) || isDigit(byte) ? character : "_")
    }
    if let first = key.utf8.first, isLetter(first) { return String(key.prefix(maximumByteCount)) }
    let rest = key.drop { $0 == "_" }
    return rest.isEmpty ? "key" : String("key_\(rest)".prefix(maximumByteCount))
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Whether a record accepts the key.
  static func isValid(_ key: String) -> Bool {
    guard var probe = try? Record(type: "Probe") else { return false }
    return (try? probe.set(0, forKey: key)) != nil
  }
}
