/// Writes JSON, piece by piece.
enum JSONText {
  private static let hexadecimal = Array("0123456789abcdef".utf8)

  /// A quoted text. Only what JSON demands is escaped, so that texts stay readable in every script.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for byte in text.utf8 { appendEscaped(byte, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
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
    case 0..<0x20:
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(hexadecimal[Int(byte >> 4)])
      letter = hexadecimal[Int(byte & 15)]
      bytes.append(letter)
      return
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
