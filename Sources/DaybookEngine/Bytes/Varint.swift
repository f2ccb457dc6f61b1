/// Whole numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit says "more follows".
///
///     0 ..< 128                one byte
///     128 ..< 16,384           two bytes:  1xxxxxxx 0xxxxxxx
///     …                        up to ten bytes for 64 bits
///
/// (LEB128, as in DWARF and Protocol Buffers.) Each number has exactly one encoding: a reader refuses a longer one, so equal
/// records have equal bytes. Signed numbers go through zigzag first, which keeps small negative ones short.

extension ByteBuffer {
  @inlinable @_transparent
  public func append(varint value: UInt64) {
    if value < 0x80 {
      append(UInt8(truncatingIfNeeded: value))
    } else {
      appendLong(varint: value)
    }
  }

  @usableFromInline func appendLong(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  @inlinable @_transparent
  public func append(signedVarint value: Int64) { append(varint: ZigZag.encode(value)) }
}

extension ByteView {
  /// The number at an offset; the offset then moves behind it. Nil when the bytes end too early, exceed 64 bits or are longer
  /// than the number needs; then the offset stays.
  @inlinable @_transparent
  public func varint(at offset: inout Int) -> UInt64? {
    if offset >= 0 && offset < count {
      // Safe: the line above.
      let first = unsafe base.load(fromByteOffset: offset, as: UInt8.self)
      if first < 0x80 {
        offset &+= 1
        return UInt64(first)
      }
    }
    return longVarint(at: &offset)
  }

  @usableFromInline func longVarint(at offset: inout Int) -> UInt64? {
    guard offset >= 0 else { return nil }
    var value: UInt64 = 0
    var shift: UInt64 = 0
    var position = offset
    while position < count {
      // Safe: the line above.
      let byte = unsafe base.load(fromByteOffset: position, as: UInt8.self)
      position &+= 1
      // The tenth byte has room for one bit.
      if shift == 63 && byte > 1 { return nil }
      value |= UInt64(byte & 0x7f) &<< shift
      if byte < 0x80 {
        if byte == 0 && shift > 0 { return nil }
        offset = position
        return value
      }
      shift &+= 7
    }
    return nil
  }

  @inlinable @_transparent
  public func signedVarint(at offset: inout Int) -> Int64? {
    guard let value = varint(at: &offset) else { return nil }
    return ZigZag.decode(value)
  }
}

/// How many bytes a number takes as a varint: 1 to 10.
@inlinable @_transparent
public func varintByteCount(_ value: UInt64) -> Int {
  (70 &- (value | 1).leadingZeroBitCount) / 7
}
