/// Numbers, texts and fields as the engine's state has them; numbers are little-endian.
struct StateWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ number: UInt64, byteCount: Int) {
    for index in 0..<byteCount { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
  }

  mutating func append(_ text: String) {
    append(UInt64(text.utf8.count), byteCount: 2)
    bytes += text.utf8
  }

  mutating func append(_ data: some Collection<UInt8>) {
    append(UInt64(data.count), byteCount: 4)
    bytes += data
  }

  /// 4 bytes: how many; each 1 byte of space, 1 byte of length, the key, 8 bytes of digest.
  mutating func append(_ fields: [FieldName: FieldDigest]) {
    append(UInt64(fields.count), byteCount: 4)
    for (name, digest) in fields {
      bytes.append(name.space.rawValue)
      bytes.append(UInt8(name.key.utf8.count))
      bytes += name.key.utf8
      append(digest.bits, byteCount: 8)
    }
  }
}

/// Reads what ``StateWriter`` wrote; nil for what it cannot have written.
struct StateReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: some Collection<UInt8>) { rest = [UInt8](bytes)[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func number(byteCount: Int) -> UInt64? { bytes(byteCount)?.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

  mutating func text(lengthByteCount: Int = 2) -> String? {
    guard let count = number(byteCount: lengthByteCount), let bytes = bytes(Int(count)) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  mutating func data() -> ArraySlice<UInt8>? { number(byteCount: 4).flatMap { bytes(Int($0)) } }

  mutating func fields() -> [FieldName: FieldDigest]? {
    guard let count = number(byteCount: 4) else { return nil }
    var fields: [FieldName: FieldDigest] = [:]
    for _ in 0..<count {
      guard let space = number(byteCount: 1).flatMap({ FieldName.Space(rawValue: UInt8($0)) }),
        let key = text(lengthByteCount: 1), let bits = number(byteCount: 8)
      else { return nil }
      fields[FieldName(space: space, key: key)] = FieldDigest(bits: bits)
    }
    return fields
  }
}
