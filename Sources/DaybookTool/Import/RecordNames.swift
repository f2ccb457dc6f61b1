/// Makes record names out of values.
enum RecordNames {
  private static let maximumByteCount = 255
  private static let hexadecimal = Array("0123456789ABCDEF".utf8)

  /// The name for a text: what a name cannot hold (controls, everything beyond ASCII, a leading underscore) is
  /// percent-encoded, and so is a percent sign that would be read as the beginning of such a code: no two texts have one name. Nil when
  /// nothing is left or it is too long.
  static func name(for text: String) -> String? {
    var name: [UInt8] = []
    let bytes = text.utf8
    for (index, byte) in zip(bytes.indices, bytes) {
      let isCode = byte == UInt8(ascii: "%") && isHexadecimal(bytes[index...].dropFirst().prefix(2))
      if (0x20..<0x7F).contains(byte), !isCode, !(name.isEmpty && byte == UInt8(ascii: "_")) {
        name.append(byte)
      } else {
        name.append(UInt8(ascii: "%"))
        name.append(hexadecimal[Int(byte >> 4)])
        name.append(hexadecimal[Int(byte & 15)])
      }
      if name.count > maximumByteCount { return nil }
    }
    return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }

  private static func isHexadecimal(_ digits: Substring.UTF8View) -> Bool {
    digits.count == 2 && digits.allSatisfy { hexadecimal.contains($0) }
  }
}

/// Names of records that have none: UUIDs of version 4, as `Record.ID()` makes them.
///
/// The system's generator opens its device for every UUID, which is a fifth of an import's time; this one takes 256 bits
/// from it once and goes on by itself (xoshiro256**). The names have to be unique, not secret.
struct RandomNames {
  private var state: (UInt64, UInt64, UInt64, UInt64)

  init() {
    state = (.random(in: 1 ... .max), .random(in: 0 ... .max), .random(in: 0 ... .max), .random(in: 0 ... .max))
  }

  private mutating func draw() -> UInt64 {
    let product = state.1 &* 5
    let result = (product << 7 | product >> 57) &* 9
    let shifted = state.1 << 17
    state.2 ^= state.0
    state.3 ^= state.1
    state.1 ^= state.2
    state.0 ^= state.3
    state.2 ^= shifted
    state.3 = state.3 << 45 | state.3 >> 19
    return result
  }

  /// `000B324D-353E-4BF9-8F7E-0D3962AD8CC6`
  mutating func next() -> String {
    let high = draw() & ~0xF000 | 0x4000
    let low = draw() & ~(3 << 62) | (1 << 63)
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for index in 0..<32 {
      if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
      let word = index < 16 ? high : low
      let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - index % 16 * 4)) & 15
      text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
