import Daybook

/// Writes JSON, piece by piece.
enum JSONText {
  private static let hexadecimal = Array("0123456789abcdef".utf8)

  /// A quoted text. What JSON demands is escaped, and what would do something to a terminal (`ShownText`); all else stays as
  /// it is, so that texts are readable in every script.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy({ !ShownText.mayBeActive($0) && $0 != 0x22 && $0 != 0x5C }) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for scalar in text.unicodeScalars {
        if let byte = UInt8(exactly: scalar.value), byte < 0x7F {
          appendEscaped(byte, to: &bytes)
        } else if ShownText.isActive(scalar) {
          appendCode(scalar.value, to: &bytes)
        } else {
          UTF8.encode(scalar).map { bytes.append(contentsOf: $0) }
        }
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// `\u009b`; all scalars that are escaped have four digits.
  private static func appendCode(_ code: UInt32, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: "\\u".utf8)
    for shift in [UInt32(12), 8, 4, 0] { bytes.append(hexadecimal[Int(code >> shift & 15)]) }
  }

  private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
    let letter: UInt8
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): letter = byte
    case 0x0A: letter = UInt8(ascii: "n")
    case 0x0D: letter = UInt8(ascii: "r")
    case 0x09: letter = UInt8(ascii: "t")
    case 0x08: letter = UInt8(ascii: "b")
    case 0x0C: letter = UInt8(ascii: "f")
    case 0..<0x20: return appendCode(UInt32(byte), to: &bytes)
    default:
      bytes.append(byte)
      return
    }
    bytes.append(UInt8(ascii: "\\"))
    bytes.append(letter)
  }

  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: String(number).utf8)
  }

  /// The shortest digits that read back as the same double; infinities as the texts `"inf"` and `"-inf"`.
  static func append(_ number: Double, to bytes: inout [UInt8]) {
    if number.isFinite {
      bytes.append(contentsOf: number.description.utf8)
    } else {
      append(number.isNaN ? "nan" : number < 0 ? "-inf" : "inf", to: &bytes)
    }
  }
}
