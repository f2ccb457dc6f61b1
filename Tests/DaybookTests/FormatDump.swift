/// Takes a database apart as FORMAT.md describes it and names every byte, with no code of the library.
///
/// A second reading of the format: where the library and FORMAT.md part, this finds a field where none is and says so.
/// It reads files of the tests only, so what does not fit stops it with an error and no more is made of it.
///
///     00001000  44 42 66 31                                      magic "DBf1"
///     00000030  00 × 4040                                        zero
struct FormatDump {
  struct Surprise: Error, CustomStringConvertible {
    let offset: Int
    let description: String
  }

  private let bytes: [UInt8]
  private var offset = 0
  private(set) var lines: [String] = []
  /// The marks of the shape that was declared last.
  private var shape: [UInt64] = []

  /// The annotated lines of a whole file.
  static func lines(of bytes: [UInt8]) throws -> [String] {
    var dump = FormatDump(bytes: bytes)
    try dump.run()
    return dump.lines
  }

  /// The bytes of annotated lines. Each line must begin where the one before it ended.
  static func bytes(of lines: [Substring]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for line in lines where !line.isEmpty && !line.hasPrefix("─") {
      let columns = Array(line)
      guard columns.count > 10, let start = Int(String(columns[..<8]), radix: 16), start == bytes.count else {
        throw Surprise(offset: bytes.count, description: "this line does not follow the one before it: \(line)")
      }
      let words = String(columns[10..<min(58, columns.count)]).split(separator: " ")
      if words.count == 3, words[1] == "×", let count = Int(words[2]) {
        bytes += [UInt8](repeating: 0, count: count)
        continue
      }
      for word in words {
        guard let byte = UInt8(word, radix: 16) else { throw Surprise(offset: start, description: "no byte: \(word)") }
        bytes.append(byte)
      }
    }
    return bytes
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  // MARK: the file

  private mutating func run() throws {
    try header()
    while offset < bytes.count { try frame() }
  }

  private mutating func header() throws {
    title("the header, §2")
    try text(8, "magic")
    try number(4, "format version")
    try number(4, "page size")
    try number(8, "UUID, first half", radix: 16)
    try number(8, "UUID, second half", radix: 16)
    try number(8, "generation")
    try number(8, "salt", radix: 16)
    try number(8, "least length")
    try number(8, "number of the folder of assets", radix: 16)
    try zeros(through: 2048)
    try number(8, "closed length")
    try zeros(through: 2552)
    try number(8, "its checksum", radix: 16)
    try number(8, "made under the name with the number", radix: 16)
    try zeros(through: 3064)
    try number(8, "its checksum", radix: 16)
    try zeros(through: 4088)
    try number(8, "checksum of bytes 0 ..< 4088, 2048 ..< 3072 as zeros", radix: 16)
  }

  private mutating func frame() throws {
    let start = offset
    let kinds = ["", "commit", "part", "pages", "checkpoint", "closed", "note", "superseded", "declarations"]
    let kind = Int(try peek(1, at: start + 4))
    guard kinds.indices.contains(kind), kind > 0 else { throw Surprise(offset: start + 4, description: "no kind") }
    title("a \(kinds[kind]) frame, §3")
    try text(4, "magic")
    try number(1, "kind: \(kinds[kind])")
    let hasParts = try number(1, "flags") & 1 != 0
    try number(2, "zero")
    try number(8, "salt", radix: 16)
    let own = try number(8, "own offset")
    guard own == start else { throw Surprise(offset: start + 16, description: "another frame's offset") }
    try number(8, "frame number")
    try number(8, "commit sequence")
    try number(8, "checksum of the header before", radix: 16)
    try number(8, "durable through frame")
    try number(8, "newest checkpoint")
    try number(8, "older checkpoint")
    let byteCount = Int(try number(8, "payload length"))
    try number(8, "payload checksum", radix: 16)
    try number(8, "header checksum", radix: 16)
    let end = offset + byteCount
    switch kind {
    case 1, 2, 8:
      if hasParts { try partList() }
      while offset < end { try operation() }
    case 3:
      try zeros(through: min((offset + 4095) & ~4095, end))
      while offset < end { try page() }
    case 4: try checkpoint()
    default: if offset < end { try number(8, "the damaged page", radix: 16) }
    }
    guard offset == end else { throw Surprise(offset: end, description: "the payload ends elsewhere") }
    try zeros(through: min((end + 7) & ~7, bytes.count))
  }

  private mutating func partList() throws {
    try number(8, "first part, frame number")
    try number(8, "first part, offset")
    try number(8, "parts")
    try number(8, "checksum of their checksums", radix: 16)
  }

  private mutating func checkpoint() throws {
    try text(8, "copy of the header, magic")
    try number(4, "  format version")
    try number(4, "  page size")
    try number(8, "  UUID, first half", radix: 16)
    try number(8, "  UUID, second half", radix: 16)
    try number(8, "  generation")
    try number(8, "  salt", radix: 16)
    try number(8, "replay starts at")
    try number(8, "  with frame")
    try number(8, "  after commit")
    try number(8, "  after the header with checksum", radix: 16)
    try number(8, "pages of all trees")
    try number(8, "bytes that they name")
    let count = Int(try number(8, "roots"))
    let names = ["catalog", "zones by sequence", "metadata", "lineages", "settings", "schema", "declarations"]
    for index in 0..<count {
      try number(8, "root \(index)" + (index < names.count ? ", \(names[index])" : "") + ", page")
      try number(8, "  records")
      try number(8, "  pages")
    }
  }

  // MARK: operations

  private mutating func operation() throws {
    let kinds = [
      1: "commit info", 2: "lineage", 3: "save zone", 4: "delete zone", 5: "save record", 6: "delete record",
      7: "set metadata", 8: "delete metadata", 9: "raise horizon", 14: "declare fields", 15: "declare",
      255: "roll back",
    ]
    try number(8, "an operation, §4: checksum", radix: 16)
    let byteCount = Int(try number(3, "payload length"))
    let kind = Int(try peek(1, at: offset))
    guard let name = kinds[kind] else { throw Surprise(offset: offset, description: "no kind of operation") }
    try number(1, "kind: \(name)")
    let end = offset + byteCount
    switch kind {
    case 1:
      try date("date")
      try text(end - offset, "origin")
    case 2: try number(8, "lineage", radix: 16)
    case 3:
      try number(8, "epoch", radix: 16)
      try number(4, "capabilities")
      try date("date")
      try text(end - offset, "zone key")
    case 4:
      try number(1, "reason")
      try date("date")
      try text(end - offset, "zone key")
    case 5 where try peek(1, at: offset) == 2: try packedBody(end)
    case 5: try body(end)
    case 6: try tombstone(end)
    case 7:
      try text(Int(try number(2, "key length")), "key")
      try text(end - offset, "value")
    case 8: try text(end - offset, "key")
    case 9: try number(8, "sequence")
    case 14:
      try text(Int(try number(1, "type length")), "type")
      while offset < end {
        try text(Int(try number(1, "key length")), "key")
        try number(4, "kinds", radix: 16)
      }
    case 15: try declaration(end)
    default: try number(4, "from operation on")
    }
    guard offset == end else { throw Surprise(offset: end, description: "the operation ends elsewhere") }
  }

  private mutating func declaration(_ end: Int) throws {
    let kind = try peek(1, at: offset)
    let kinds = ["", "shape", "zone", "user", "device"]
    guard kinds.indices.contains(Int(kind)) else { throw Surprise(offset: offset, description: "no kind of declaration") }
    try raw(1, "declares: a \(kinds[Int(kind)])")
    switch kind {
    case 1:
      try text(Int(try number(1, "type length")), "type")
      shape = []
      var keys: [Int] = []
      for index in 0..<Int(try number(2, "fields")) {
        shape.append(try number(1, "field \(index): kind and flags", radix: 16))
        keys.append(Int(try number(1, "  key length")))
      }
      for byteCount in keys { try text(byteCount, "key") }
    case 2:
      try number(8, "epoch", radix: 16)
      try text(end - offset, "zone key")
    default: try text(end - offset, "name")
    }
  }

  /// A body that names its shape, which is the last that was declared.
  private mutating func packedBody(_ end: Int) throws {
    try number(1, "version")
    let flags = try number(1, "flags")
    let form = try number(1, "form", radix: 16)
    try number(4, "shape", radix: 16)
    try number(8, "change tag", radix: 16)
    try date("modified")
    switch form & 3 {
    case 1: try number(4, "zone", radix: 16)
    case 2: try text(Int(try number(2, "zone key length")), "zone key")
    default: break
    }
    if form & 4 != 0 { try date("created") }
    if form & 8 != 0 { try packedValue(Int(1 + peek(1, at: offset) & 7 + 1 + peek(1, at: offset) >> 3 & 3 + 1)) }
    if form & 48 != 0 { try raw(16, "name, a UUID") } else { try text(Int(try number(1, "name length")), "name") }
    if flags & 32 != 0 { try text(Int(try number(2, "tag length")), "tag") }
    for (flag, meaning) in [(2, "creator"), (4, "modifier"), (16, "device")] as [(UInt64, String)] where flags & flag != 0 {
      if form & 64 != 0 {
        try number(4, meaning, radix: 16)
      } else {
        try text(Int(try number(2, "\(meaning) length")), meaning)
      }
    }
    if flags & 1 != 0 { try text(Int(try number(1, "parent length")), "parent") }
    guard form & 128 == 0 else { throw Surprise(offset: offset, description: "fields may be missing") }
    let isFixed = shape.map { $0 & 0x7F == 3 || $0 & 0x7F == 5 }
    let last = isFixed.lastIndex(of: false)
    var byteCounts: [Int?] = []
    for (index, isFixed) in isFixed.enumerated() {
      byteCounts.append(isFixed ? 8 : index == last ? nil : Int(try number(1, "length of value \(index)")))
    }
    let known = byteCounts.reduce(0) { $0 + ($1 ?? 0) }
    let rest = end - offset - known
    for (mark, byteCount) in zip(shape, byteCounts) { try fieldValue(mark, byteCount ?? rest) }
  }

  private mutating func fieldValue(_ mark: UInt64, _ byteCount: Int) throws {
    let kind = mark & 0x3F
    switch kind {
    case 1: try text(byteCount, "value, string")
    case 2: try number(byteCount, "value, int, zigzag")
    case 6 where byteCount == 17:
      try number(1, "value, location: optional parts")
      try double("  latitude")
      try double("  longitude")
    default: try raw(byteCount, "value of kind \(kind)")
    }
  }

  /// Version to name: what bodies and tombstones have in common, but for the fixed numbers between.
  private mutating func identity(_ numbers: (inout FormatDump) throws -> Void) throws -> UInt64 {
    try number(1, "version")
    let flags = try number(1, "flags")
    let zone = Int(try number(2, "zone key length"))
    let type = Int(try number(1, "type length"))
    let name = Int(try number(1, "name length"))
    try numbers(&self)
    if zone != 0xFFFF { try text(zone, "zone key") }
    try text(type, "type")
    try text(name, "name")
    return flags
  }

  private mutating func body(_ end: Int) throws {
    let flags = try identity { dump in
      try dump.number(8, "change tag", radix: 16)
      try dump.date("modified")
      try dump.date("created")
      try dump.number(8, "previous version, offset")
      try dump.number(4, "  length")
    }
    for (flag, meaning) in [(32, "tag"), (2, "creator"), (4, "modifier"), (16, "device")] as [(UInt64, String)]
    where flags & flag != 0 {
      try text(Int(try number(2, "\(meaning) length")), meaning)
    }
    if flags & 1 != 0 { try text(Int(try number(1, "parent length")), "parent") }
    let count = Int(try number(2, "fields"))
    var rows: [(mark: UInt64, keyByteCount: Int, end: Int)] = []
    for index in 0..<count {
      let mark = try number(1, "field \(index): kind and flags", radix: 16)
      let keyByteCount = Int(try number(1, "  key length"))
      rows.append((mark, keyByteCount, Int(try number(4, "  end of value"))))
    }
    for row in rows { try text(row.keyByteCount, "key") }
    let start = offset
    for row in rows {
      try fieldValue(row.mark, start + row.end - offset)
    }
  }

  private mutating func tombstone(_ end: Int) throws {
    let flags = try identity { dump in
      try dump.number(8, "change tag", radix: 16)
      try dump.date("deleted")
      try dump.number(8, "last version, offset")
      try dump.number(4, "  length")
    }
    if flags & 1 != 0 { try text(end - offset, "user") }
  }

  // MARK: pages

  private mutating func page() throws {
    let start = offset
    let kinds = ["", "branch", "leaf", "catalog leaf"]
    let kind = Int(try peek(1, at: start + 8))
    guard kinds.indices.contains(kind), kind > 0 else { throw Surprise(offset: start + 8, description: "no kind") }
    title("a \(kinds[kind]) page, §5")
    try number(8, "checksum", radix: 16)
    try number(1, "kind: \(kinds[kind])")
    try number(1, "level")
    let count = Int(try number(2, "cells"))
    let prefix = Int(try number(2, "prefix length"))
    let heap = Int(try number(2, "heap starts at"))
    try number(2, "dead bytes")
    try raw(6, "zero")
    try number(8, "leftmost child")
    try number(8, "  records below")
    let slots = try slots(count)
    try zeros(through: start + heap)
    try cells(slots, kind: kind, prefix: prefix) { start + $0 }
    try text(prefix, "prefix")
  }

  private mutating func slots(_ count: Int) throws -> [(cell: Int, suffix: Int)] {
    var slots: [(cell: Int, suffix: Int)] = []
    for index in 0..<count {
      try raw(4, "slot \(index): key head")
      let cell = Int(try number(2, "  cell at"))
      slots.append((cell, Int(try number(2, "  suffix length"))))
    }
    return slots
  }

  /// In slot order from the end of the heap downwards, so the last cell comes first.
  private mutating func cells(
    _ slots: [(cell: Int, suffix: Int)], kind: Int, prefix: Int = 0, of tree: String = "", place: (Int) -> Int
  ) throws {
    for slot in slots.reversed() {
      guard place(slot.cell) == offset else { throw Surprise(offset: offset, description: "a hole between cells") }
      if kind == 1 {
        try number(8, "child")
        try number(8, "  records below")
        try text(slot.suffix, "  suffix")
      } else {
        let byteCount = Int(try number(2, "value length"))
        try text(slot.suffix, "  key")
        switch (kind, tree) {
        case (3, _): try catalogValue(byteCount)
        case (_, "by name"), (_, "change journal"): try packedValue(byteCount)
        // Of the trees with pages of their own, only that of declarations has keys of three bytes.
        case _ where slot.suffix + prefix == 3 && tree.isEmpty: try declaration(offset + byteCount)
        default: try value(byteCount)
        }
      }
    }
  }

  private mutating func catalogValue(_ byteCount: Int) throws {
    let start = offset
    let count = Int(try number(1, "  roots"))
    try number(1, "  zero")
    let ownerByteCount = Int(try number(2, "  bytes of the zone's state"))
    try number(4, "  zero")
    let names = ["by name", "change journal", "tombstones", "by target", "assets"]
    var inside: [(name: String, position: Int, byteCount: Int)] = []
    for index in 0..<count {
      let name = index < names.count ? names[index] : "root \(index)"
      let reference = try peek(8, at: offset)
      if reference >> 62 == 1 {
        inside.append((name, Int(reference & 0xFFFF), Int(reference >> 48 & 0x1FFF)))
        try raw(8, "  \(name), inside: \(inside.last?.byteCount ?? 0) bytes at \(inside.last?.position ?? 0)")
      } else {
        try number(8, "  \(name), page")
      }
      try number(8, "    records")
      try number(8, "    pages")
    }
    let ownerEnd = offset + ownerByteCount
    try number(8, "  epoch", radix: 16)
    try number(4, "  capabilities")
    try number(1, "  deleted")
    try number(1, "  reason")
    try number(2, "  zero")
    try number(8, "  last sequence")
    try number(8, "  bytes of its records")
    guard offset == ownerEnd else { throw Surprise(offset: offset, description: "the state ends elsewhere") }
    for tree in inside {
      guard offset == start + tree.position else { throw Surprise(offset: offset, description: "no tree is here") }
      try smallTree(tree.name, end: offset + tree.byteCount)
    }
    guard offset == start + byteCount else { throw Surprise(offset: offset, description: "the value ends elsewhere") }
  }

  /// A tree that is one leaf, without header and free space; its cells have the offsets that they would have in a page.
  private mutating func smallTree(_ name: String, end: Int) throws {
    let count = Int(try number(2, "  \(name): cells"))
    let prefix = Int(try number(2, "  prefix length"))
    let slots = try slots(count)
    try cells(slots, kind: 2, of: name) { end - 4096 + $0 }
    try text(prefix, "prefix")
    guard offset == end else { throw Surprise(offset: offset, description: "the tree ends elsewhere") }
  }

  /// A place in as few bytes as it needs; by name ordinal and sequence follow.
  private mutating func packedValue(_ byteCount: Int) throws {
    let end = offset + byteCount
    let form = Int(try number(1, "  form", radix: 16))
    try number(form & 7 + 1, "  place, offset")
    try number(form >> 3 & 3 + 1, "  length")
    guard offset < end else { return }
    try number(form >> 5 & 3 + 1, "  ordinal")
    try number(end - offset, "  sequence")
  }

  /// The values of ordinary trees are told apart by their length.
  private mutating func value(_ byteCount: Int) throws {
    switch byteCount {
    case 0: break
    case 4: try number(4, "  kinds", radix: 16)
    case 8: try number(8, "  lineage, or horizon", radix: 16)
    case 12:
      try raw(12, "  place, or sequence and ordinal")
    default: throw Surprise(offset: offset, description: "no tree has values of \(byteCount) bytes")
    }
  }

  // MARK: fields

  private func peek(_ byteCount: Int, at start: Int) throws -> UInt64 {
    guard byteCount <= 8, start + byteCount <= bytes.count else { throw Surprise(offset: start, description: "the end") }
    return bytes[start..<start + byteCount].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  @discardableResult
  private mutating func number(_ byteCount: Int, _ meaning: String, radix: Int = 10) throws -> UInt64 {
    let value = try peek(byteCount, at: offset)
    // What the meaning says already is not said again.
    let isPlain = meaning.hasPrefix("kind: ") || meaning.hasSuffix("zero") || meaning.contains("checksum")
    let shown = radix == 16 ? "0x" + Self.hex(value, 2 * byteCount) : String(value)
    try raw(byteCount, isPlain ? meaning : "\(meaning): \(shown)")
    return value
  }

  private mutating func double(_ meaning: String) throws {
    try raw(8, "\(meaning): \(Double(bitPattern: try peek(8, at: offset)))")
  }

  private mutating func date(_ meaning: String) throws {
    try raw(8, "\(meaning): \(Double(bitPattern: try peek(8, at: offset))) s after 2001")
  }

  private mutating func text(_ byteCount: Int, _ meaning: String) throws {
    guard byteCount > 0 else { return }
    guard offset + byteCount <= bytes.count else { throw Surprise(offset: offset, description: "the end") }
    let shown = bytes[offset..<offset + byteCount].map { byte -> String in
      switch byte {
      case 0x0A: "\\n"
      case 0x20..<0x7F: String(UnicodeScalar(byte))
      default: "·"
      }
    }
    try raw(byteCount, "\(meaning): \(shown.joined())")
  }

  private mutating func raw(_ byteCount: Int, _ meaning: String) throws {
    guard byteCount >= 0, offset + byteCount <= bytes.count else {
      throw Surprise(offset: offset, description: "the file ends before \(meaning)")
    }
    var isFirst = true
    let end = offset + byteCount
    while offset < end {
      let count = min(16, end - offset)
      let digits = bytes[offset..<offset + count].map { Self.hex(UInt64($0), 2) }.joined(separator: " ")
      line(digits, isFirst ? meaning : "")
      isFirst = false
      offset += count
    }
  }

  private mutating func zeros(through end: Int) throws {
    guard offset < end else { return }
    guard end <= bytes.count, bytes[offset..<end].allSatisfy({ $0 == 0 }) else {
      throw Surprise(offset: offset, description: "not zero up to \(end)")
    }
    line("00 × \(end - offset)", "zero")
    offset = end
  }

  private mutating func line(_ digits: String, _ meaning: String) {
    let padded = digits + String(repeating: " ", count: max(0, 49 - digits.count))
    var text = "\(Self.hex(UInt64(offset), 8))  \(padded)\(meaning)"
    while text.last == " " { text.removeLast() }
    lines.append(text)
  }

  private mutating func title(_ text: String) {
    if !lines.isEmpty { lines.append("") }
    lines.append("─── \(text)")
  }

  private static func hex(_ value: UInt64, _ width: Int) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
