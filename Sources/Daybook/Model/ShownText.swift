/// Text as a person may see it: nothing in it moves the cursor, ends the line or changes the direction of what comes after it.
///
/// Names of zones, files and columns are chosen by others. A terminal obeys ESC and the controls beyond 0x80, a log is split
/// at line ends, and marks of direction let a name read as another one. These are shown as Swift would write them: `\n`,
/// `\u{1B}`. Everything that can be seen stays as it is, backslashes too, so what was escaped once is not changed again.
package enum ShownText {
  /// Whether a scalar does something else than being seen: C0, DEL, C1, line and paragraph separators, marks of direction.
  package static func isActive(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// Whether a byte of UTF-8 is an active scalar, or may begin one.
  @inline(__always)
  package static func mayBeActive(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2
  }

  /// The text with every active scalar escaped.
  package static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: mayBeActive), text.unicodeScalars.contains(where: isActive) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if isActive(scalar) { result += escape(scalar) } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
    }
  }

  /// Bytes that should be text: what is not UTF-8 is shown byte by byte, as `\xE9`.
  package static func escaped(bytes: [UInt8]) -> String {
    var result = ""
    var rest = bytes[...]
    while !rest.isEmpty {
      // The longest beginning that is text; an argument is short, so trying is good enough.
      var byteCount = min(rest.count, 4)
      while byteCount > 0, String(validating: rest.prefix(byteCount), as: UTF8.self)?.unicodeScalars.count != 1 {
        byteCount -= 1
      }
      if byteCount > 0 {
        result += String(decoding: rest.prefix(byteCount), as: UTF8.self)
      } else {
        byteCount = 1
        let digits = String(rest[rest.startIndex], radix: 16, uppercase: true)
        result += "\\x" + (digits.utf8.count == 1 ? "0" : "") + digits
      }
      rest = rest.dropFirst(byteCount)
    }
    return escaped(result)
  }
}
