/// The SHA-256 of an asset's content, which is its name: in trees as 32 bytes, in directories as 64 hexadecimal digits.
///
/// Four numbers instead of an array, because the collector holds one for each asset of a database.
package struct AssetDigest: Hashable, Sendable, Comparable, CustomStringConvertible {
  package static let byteCount = SHA256.digestByteCount
  private let first, second, third, fourth: UInt64

  /// - Precondition: there are 32 bytes.
  package init(_ bytes: ByteView) {
    precondition(bytes.count == AssetDigest.byteCount, "a SHA-256 has 32 bytes")
    first = UInt64(bigEndian: bytes.uint64(at: 0))
    second = UInt64(bigEndian: bytes.uint64(at: 8))
    third = UInt64(bigEndian: bytes.uint64(at: 16))
    fourth = UInt64(bigEndian: bytes.uint64(at: 24))
  }

  package init(_ bytes: [UInt8]) { self = bytes.withView { AssetDigest($0) } }

  /// Reads 64 lower-case hexadecimal digits; nil for any other text, so that one digest has one name.
  package init?(name: String) {
    let digits = Array(name.utf8)
    guard digits.count == 64 else { return nil }
    var words: [UInt64] = [0, 0, 0, 0]
    for (index, digit) in digits.enumerated() {
      let value: UInt8
      switch digit {
      case 0x30...0x39: value = digit - 0x30
      case 0x61...0x66: value = digit - 0x61 + 10
      default: return nil
      }
      words[index / 16] = words[index / 16] << 4 | UInt64(value)
    }
    (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(AssetDigest.byteCount)
    for word in [first, second, third, fourth] {
      for shift in stride(from: 56 as UInt64, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }
    return bytes
  }

  /// Its name in directories: 64 lower-case hexadecimal digits, as `sha256sum` prints them.
  package var name: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The folder that it is in: its first two digits.
  var folder: String { String(name.prefix(2)) }

  package var description: String { name }

  /// The order of the bytes, as in trees.
  package static func < (left: AssetDigest, right: AssetDigest) -> Bool {
    (left.first, left.second, left.third, left.fourth) < (right.first, right.second, right.third, right.fourth)
  }
}
