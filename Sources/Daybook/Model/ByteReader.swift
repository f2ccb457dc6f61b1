import DaybookEngine

/// A position in a view that moves forward; every step answers nil instead of leaving the bytes.
package struct ByteReader {
  package let view: ByteView
  package private(set) var offset = 0

  package init(_ view: ByteView) { self.view = view }

  package var remaining: Int { view.count - offset }
  package var isAtEnd: Bool { offset == view.count }

  package mutating func take(_ byteCount: Int) -> ByteView? {
    guard byteCount >= 0, byteCount <= remaining else { return nil }
    defer { offset += byteCount }
    return view.slice(offset..<offset + byteCount)
  }

  package mutating func uint8() -> UInt8? { take(1).map { $0[0] } }
  package mutating func uint16() -> UInt16? { take(2).map { $0.uint16(at: 0) } }
  package mutating func uint32() -> UInt32? { take(4).map { $0.uint32(at: 0) } }
  package mutating func uint64() -> UInt64? { take(8).map { $0.uint64(at: 0) } }
  package mutating func double() -> Double? { uint64().map { Double(bitPattern: $0) } }

  /// A varint; nil when it is cut or runs on beyond 64 bits.
  package mutating func varint() -> UInt64? { view.varint(at: &offset) }
}
