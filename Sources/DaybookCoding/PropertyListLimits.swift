#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Looks at a property list before the system's decoder does, which follows whatever depth it has until the stack ends, and makes what
/// is referred to many times many times.
///
/// A list may be as deep as JSON may be. What it has counts once for each reference to it: no more objects than twice its bytes, because
/// writers share texts, numbers, dates and bytes, and no lists; and of their bytes no more than 256 times as many. Nothing is decoded
/// here, and what is no sound list is left for the decoder to refuse.
package struct PropertyListLimits {
  package struct Fault: Error {
    package let reason: String
  }

  private static let maximumDepth = 128
  private static let rate: UInt64 = 256
  private static let leastByteLimit: UInt64 = 256 << 20

  /// - Throws: a fault for one that is too deep, or that amounts to too much.
  package static func check(_ data: Data) throws(Fault) {
    let bytes = [UInt8](data)
    if bytes.starts(with: "bplist".utf8) {
      guard var list = BinaryList(bytes) else { return }
      try list.check()
    } else {
      try checkTags(bytes)
    }
  }

  // MARK: text

  /// Counts the open tags. Tags in comments and in marked text are none.
  private static func checkTags(_ bytes: [UInt8]) throws(Fault) {
    var depth = 0
    var index = 0
    func isAt(_ text: StaticString) -> Bool {
      let count = text.utf8CodeUnitCount
      guard index + count <= bytes.count else { return false }
      return text.withUTF8Buffer { wanted in (0..<count).allSatisfy { unsafe bytes[index + $0] == wanted[$0] } }
    }
    func skip(past end: StaticString) {
      while index < bytes.count, !isAt(end) { index += 1 }
      index += end.utf8CodeUnitCount
    }
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "<") else {
        index += 1
        continue
      }
      if isAt("<!--") {
        skip(past: "-->")
      } else if isAt("<![CDATA[") {
        skip(past: "]]>")
      } else if isAt("<?") {
        skip(past: "?>")
      } else if isAt("</") {
        depth -= 1
        skip(past: ">")
      } else {
        let isDeclaration = isAt("<!")
        skip(past: ">")
        if isDeclaration || (index >= 2 && index <= bytes.count && bytes[index - 2] == UInt8(ascii: "/")) { continue }
        depth += 1
        // The outermost tag is none of its values.
        if depth > maximumDepth + 1 { throw Fault(reason: "values are nested deeper than \(maximumDepth)") }
      }
    }
  }

  // MARK: binary

  /// The objects of a binary list: each is a marker, and containers have the numbers of others.
  private struct BinaryList {
    private enum State {
      case unseen, open
      case known(Weight)
    }

    /// What an object amounts to.
    private struct Weight {
      var objectCount: UInt64 = 1
      var byteCount: UInt64
      /// How many levels it has.
      var height = 1
    }

    private let bytes: [UInt8]
    private let offsetByteCount: Int
    private let referenceByteCount: Int
    private let top: Int
    private let table: Int
    private var states: [State]
    private let objectLimit: UInt64
    private let byteLimit: UInt64

    /// Nil for one whose last bytes say nothing that could be.
    init?(_ bytes: [UInt8]) {
      guard bytes.count >= 40 else { return nil }
      let end = bytes.count - 32
      func number(_ offset: Int) -> Int? { Self.number(bytes, offset, 8) }
      offsetByteCount = Int(bytes[end + 6])
      referenceByteCount = Int(bytes[end + 7])
      guard (1...8).contains(offsetByteCount), (1...8).contains(referenceByteCount), let count = number(end + 8),
        let top = number(end + 16), let table = number(end + 24), count <= bytes.count, top < count, table <= end,
        count <= (end - table) / offsetByteCount
      else { return nil }
      self.bytes = bytes
      self.top = top
      self.table = table
      states = Array(repeating: .unseen, count: count)
      objectLimit = 2 * UInt64(bytes.count)
      byteLimit = max(PropertyListLimits.leastByteLimit, UInt64(bytes.count) * PropertyListLimits.rate)
    }

    private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> Int? {
      guard offset >= 0, count > 0, count <= 8, offset <= bytes.count - count else { return nil }
      let number = bytes[offset..<offset + count].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Int(exactly: number)
    }

    mutating func check() throws(Fault) { _ = try visit(top, depth: 1) }

    /// What an object amounts to, with all that it refers to.
    private mutating func visit(_ object: Int, depth: Int) throws(Fault) -> Weight {
      let tooDeep = Fault(reason: "values are nested deeper than \(PropertyListLimits.maximumDepth)")
      if case .known(let weight) = states[object] {
        if depth + weight.height > PropertyListLimits.maximumDepth + 1 { throw tooDeep }
        return weight
      }
      if case .open = states[object] { throw Fault(reason: "a value lies in itself") }
      if depth > PropertyListLimits.maximumDepth { throw tooDeep }
      states[object] = .open
      let content = content(of: object)
      var weight = Weight(byteCount: UInt64(content.byteCount))
      for index in 0..<content.referenceCount {
        guard
          let other = Self.number(bytes, content.start + index * referenceByteCount, referenceByteCount),
          other < states.count
        else { break }
        let part = try visit(other, depth: depth + 1)
        weight.objectCount += part.objectCount
        weight.byteCount += part.byteCount
        weight.height = max(weight.height, part.height + 1)
        if weight.objectCount > objectLimit || weight.byteCount > byteLimit {
          throw Fault(reason: "few bytes amount to too many values")
        }
      }
      states[object] = .known(weight)
      return weight
    }

    /// How many bytes the content of an object has, and where it has how many references to others.
    private func content(of object: Int) -> (byteCount: Int, start: Int, referenceCount: Int) {
      let none = (byteCount: 0, start: 0, referenceCount: 0)
      guard let offset = Self.number(bytes, table + object * offsetByteCount, offsetByteCount), offset < table else {
        return none
      }
      let marker = bytes[offset]
      var count = Int(marker & 0x0F)
      var start = offset + 1
      if count == 0x0F, marker >= 0x40 {
        guard start < table, bytes[start] & 0xF0 == 0x10 else { return none }
        let size = 1 << Int(bytes[start] & 0x0F)
        guard let long = Self.number(bytes, start + 1, size) else { return none }
        count = long
        start += 1 + size
      }
      guard start <= table else { return none }
      let room = table - start
      switch marker & 0xF0 {
      case 0x40, 0x50, 0x70: return (min(count, room), 0, 0)
      case 0x60: return (min(count, room / 2) * 2, 0, 0)
      case 0xA0, 0xB0, 0xC0: return (0, start, min(count, room / referenceByteCount))
      case 0xD0: return (0, start, min(count, room / referenceByteCount / 2) * 2)
      default: return none
      }
    }
  }
}
