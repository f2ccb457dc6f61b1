@testable import Daybook
@testable import DaybookEngine

/// A packed body spelled out as FORMAT.md says it, one part after the other: what the fast way must agree with.
struct PlainSpelling {
  private let shapes: ShapeDictionary
  private let byteCount: Int
  private var rest: ArraySlice<UInt8>

  /// Nil when the body is malformed.
  static func spelled(_ packed: [UInt8], _ shapes: ShapeDictionary) -> [UInt8]? {
    var spelling = PlainSpelling(shapes: shapes, byteCount: packed.count, rest: packed[...])
    return spelling.spelled()
  }

  private mutating func take(_ count: Int) -> [UInt8]? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  private mutating func number(_ count: Int) -> UInt64? {
    take(count)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func varint() -> Int? {
    var value = 0
    for position in 0..<4 {
      guard let byte = take(1)?[0] else { return nil }
      value |= Int(byte & 0x7F) << (7 * position)
      if byte < 0x80 { return byte == 0 && position > 0 || value > byteCount ? nil : value }
    }
    // Longer than any body here.
    return nil
  }

  private mutating func counted() -> [UInt8]? { number(2).flatMap { take(Int($0)) } }

  private mutating func declared(_ kind: Declaration.Kind) -> [UInt8]? {
    number(4).flatMap { shapes.find(UInt32($0), kind)?.bytes.array }
  }

  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(number >> (8 * $0) & 0xFF) } }

  private static func fields(of shape: [UInt8]) -> [(mark: UInt8, key: [UInt8])] {
    let start = 4 + Int(shape[1])
    let count = Int(shape[start - 2]) | Int(shape[start - 1]) << 8
    var keyStart = start + 2 * count
    return (0..<count).map { index in
      let keyEnd = keyStart + Int(shape[start + 2 * index + 1])
      defer { keyStart = keyEnd }
      return (shape[start + 2 * index], Array(shape[keyStart..<keyEnd]))
    }
  }

  private static func text(ofUUID bytes: [UInt8], inSmallLetters: Bool) -> [UInt8] {
    var digits = bytes.map { String(UInt16($0) + 0x100, radix: 16, uppercase: !inSmallLetters).dropFirst() }.joined()
    for position in [8, 13, 18, 23] { digits.insert("-", at: digits.index(digits.startIndex, offsetBy: position)) }
    return Array(digits.utf8)
  }

  private mutating func spelled() -> [UInt8]? {
    guard number(1) == 2, let flags = number(1), let form = number(1), let shape = declared(.shape), let tag = take(8),
      let modified = take(8), !rest.isEmpty
    else { return nil }
    var zone: [UInt8]?
    switch form & 3 {
    case 0: break
    case 1:
      guard let declared = declared(.zone) else { return nil }
      zone = Array(declared.dropFirst(9))
    case 2:
      guard let key = counted(), key.count < 0xFFFF, key.withView({ Zone.ID.isSound(key: $0) }) else { return nil }
      zone = key
    default: return nil
    }
    guard let created = form & 4 != 0 ? take(8) : modified else { return nil }
    var link = [UInt8](repeating: 0, count: 12)
    if form & 8 != 0 {
      guard let sizes = number(1), let offset = take(Int(sizes & 7) + 1), let length = take(Int(sizes >> 3 & 3) + 1),
        length.contains(where: { $0 != 0 })
      else { return nil }
      link.replaceSubrange(0..<offset.count, with: offset)
      link.replaceSubrange(8..<8 + length.count, with: length)
    }
    var name: [UInt8] = []
    switch form >> 4 & 3 {
    case 0:
      guard let count = number(1), count > 0, let text = take(Int(count)), text.withView({ UTF8Order.isASCII($0) }) else {
        return nil
      }
      name = text
    case 3: return nil
    default:
      guard let uuid = take(16) else { return nil }
      name = PlainSpelling.text(ofUUID: uuid, inSmallLetters: form >> 4 & 3 == 2)
    }
    var optionals: [UInt8] = []
    for (flag, kind) in [(32, nil), (2, Declaration.Kind.user), (4, .user), (16, .device)] as [(UInt64, Declaration.Kind?)]
    where flags & flag != 0 {
      var text: [UInt8]?
      if let kind, form & 64 != 0 { text = declared(kind).map { Array($0.dropFirst()) } } else { text = counted() }
      guard let text else { return nil }
      optionals += PlainSpelling.bytes(text.count, 2) + text
    }
    if flags & 1 != 0 {
      guard let count = number(1), let parent = take(Int(count)) else { return nil }
      optionals += [UInt8(count)] + parent
    }
    var fields = PlainSpelling.fields(of: shape)
    if form & 128 != 0 {
      guard let bits = take((fields.count + 7) / 8) else { return nil }
      func isSet(_ index: Int) -> Bool { bits[index / 8] >> UInt8(index % 8) & 1 != 0 }
      guard !(fields.count..<8 * bits.count).contains(where: isSet) else { return nil }
      fields = fields.indices.filter(isSet).map { fields[$0] }
    }
    let isFixed = fields.map { [3, 5].contains($0.mark & 0x7F) }
    var lengths = isFixed.map { $0 ? 8 : 0 }
    let last = isFixed.lastIndex(of: false)
    for index in fields.indices where !isFixed[index] && index != last {
      guard let length = varint() else { return nil }
      lengths[index] = length
    }
    let others = lengths.reduce(0, +)
    guard rest.count >= others, rest.count == others || last != nil else { return nil }
    if let last { lengths[last] = rest.count - others }
    let type = Array(shape[2..<2 + Int(shape[1])])
    var body: [UInt8] = [1, UInt8(flags)] + PlainSpelling.bytes(zone?.count ?? 0xFFFF, 2)
    body += [UInt8(type.count), UInt8(name.count)] + tag + modified + created + link + (zone ?? []) + type + name
    body += optionals + PlainSpelling.bytes(fields.count, 2)
    var end = 0
    for (field, length) in zip(fields, lengths) {
      end += length
      body += [field.mark, UInt8(field.key.count)] + PlainSpelling.bytes(end, 4)
    }
    for field in fields { body += field.key }
    return body + rest
  }
}
