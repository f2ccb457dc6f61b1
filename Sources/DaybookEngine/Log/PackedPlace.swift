/// A place in as few bytes as it needs, as values of trees have it, with room for what else its owner keeps there.
///
///     offset  size  field
///          0     1  form: bits 0 to 2 the bytes of the offset − 1, 3 and 4 those of the length − 1, 5 and 6 the owner's,
///                   7 a flag of the owner's
///          1  1–8  offset
///              1–4  length
///                   the owner's
///
/// Six bytes for most operations of a file below 4 GB. Numbers are little-endian and in their shortest form, so equal places have
/// equal bytes.
package struct PackedPlace {
  package let place: Place
  /// The owner's two bits.
  package let ownBits: UInt8
  package let isFlagged: Bool
  /// Where the owner's bytes begin.
  package let byteCount: Int

  /// Nil when the bytes are none.
  @inlinable @_transparent
  package init?(_ value: ByteView) {
    guard value.count >= 3 else { return nil }
    let form = Int(value[0])
    let offsetByteCount = (form & 7) &+ 1
    let lengthByteCount = (form &>> 3 & 3) &+ 1
    byteCount = 1 &+ offsetByteCount &+ lengthByteCount
    guard value.count >= byteCount else { return nil }
    place = Place(
      offset: value.number(at: 1, byteCount: offsetByteCount),
      byteCount: UInt32(truncatingIfNeeded: value.number(at: 1 &+ offsetByteCount, byteCount: lengthByteCount)))
    ownBits = UInt8(truncatingIfNeeded: form &>> 5 & 3)
    isFlagged = form & 0x80 != 0
  }

  @inlinable @inline(__always)
  package static func append(_ place: Place, ownBits: Int = 0, isFlagged: Bool = false, to buffer: ByteBuffer) {
    let offsetByteCount = shortestByteCount(place.offset)
    let lengthByteCount = shortestByteCount(UInt64(place.byteCount))
    let form = (offsetByteCount &- 1) | (lengthByteCount &- 1) &<< 3 | ownBits &<< 5 | (isFlagged ? 0x80 : 0)
    buffer.append(UInt8(truncatingIfNeeded: form))
    buffer.append(number: place.offset, byteCount: offsetByteCount)
    buffer.append(number: UInt64(place.byteCount), byteCount: lengthByteCount)
  }

  /// How many bytes a number needs: 1 to 8.
  @inlinable @_transparent
  package static func shortestByteCount(_ number: UInt64) -> Int { (71 &- (number | 1).leadingZeroBitCount) &>> 3 }
}

extension ByteView {
  /// A number of 1 to 8 bytes.
  @inlinable @_transparent
  package func number(at offset: Int, byteCount: Int) -> UInt64 {
    precondition(byteCount > 0 && byteCount <= 8, "a number has 1 to 8 bytes")
    if byteCount >= 4 {
      // Two loads that overlap: no byte behind the number is touched.
      let rest = byteCount &- 4
      return UInt64(uint32(at: offset)) | UInt64(uint32(at: offset &+ rest)) &<< UInt64(truncatingIfNeeded: rest &<< 3)
    }
    let middle = byteCount &>> 1
    let last = byteCount &- 1
    return UInt64(self[offset]) | UInt64(self[offset &+ middle]) &<< UInt64(truncatingIfNeeded: middle &<< 3)
      | UInt64(self[offset &+ last]) &<< UInt64(truncatingIfNeeded: last &<< 3)
  }
}

extension ByteBuffer {
  /// Appends the low bytes of a number.
  @inlinable @inline(__always)
  package func append(number: UInt64, byteCount: Int) {
    append(uint64: number)
    count &-= 8 &- byteCount
  }
}
