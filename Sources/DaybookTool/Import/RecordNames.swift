import Daybook

/// Makes record names out of values.
enum RecordNames {
  private static let maximumByteCount = 255
  private static let hexadecimal = Array("0123456789ABCDEF".utf8)

  /// The name for a text: what a name cannot hold (controls, everything beyond ASCII, a leading underscore) is
  /// percent-encoded. What is a name stays as it is, so that a name that was made so comes back from an export. Nil when nothing is left
  /// or it is too long.
  static func name(for text: String) -> String? {
    var name: [UInt8] = []
    for byte in text.utf8 {
      if (0x20..<0x7F).contains(byte), !(name.isEmpty && byte == UInt8(ascii: "_")) {
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
}

/// The names of the rows of an import.
struct RowNames {
  private var random = RandomNames()
  /// Of names with a percent sign: which text each is of, both as hashes. Two texts may become one name, `é` and `%C3%A9`.
  private var texts: [Int: Int] = [:]

  init() {}

  /// The name for the text of a row; nil where it has none that is its own.
  mutating func name(for text: String) -> String? {
    guard let name = RecordNames.name(for: text) else { return nil }
    guard name.utf8.contains(UInt8(ascii: "%")) else { return name }
    let (key, hash) = (ByteText(name).hashValue, ByteText(text).hashValue)
    // The first text keeps the name, however often others come.
    guard let owner = texts[key] else {
      texts[key] = hash
      return name
    }
    return owner == hash ? name : nil
  }

  /// A name for a row that says none.
  mutating func next() -> String { random.next() }
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
