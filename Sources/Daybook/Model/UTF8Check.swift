/// Looks at bytes that are to be text.
package enum UTF8Check {
  /// The first byte that is not part of valid UTF-8; nil when all are.
  package static func firstFault(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
    var index = range.lowerBound
    while index < range.upperBound {
      let first = bytes[index]
      if first < 0x80 {
        index += 1
        continue
      }
      // The second byte's bounds keep out overlong forms, surrogates and what lies beyond U+10FFFF.
      let count: Int
      var second: ClosedRange<UInt8> = 0x80...0xBF
      switch first {
      case 0xC2...0xDF: count = 2
      case 0xE0: (count, second) = (3, 0xA0...0xBF)
      case 0xED: (count, second) = (3, 0x80...0x9F)
      case 0xE1...0xEF: count = 3
      case 0xF0: (count, second) = (4, 0x90...0xBF)
      case 0xF1...0xF3: count = 4
      case 0xF4: (count, second) = (4, 0x80...0x8F)
      default: return index
      }
      guard index + count <= range.upperBound, second.contains(bytes[index + 1]) else { return index }
      for next in index + 2..<index + max(count, 2) where bytes[next] & 0xC0 != 0x80 { return index }
      index += count
    }
    return nil
  }
}
