/// Where an operation is in the log.
///
///     offset  size  field
///          0     8  offset in the file
///          8     4  byte count
///
/// These bytes are what links between versions and some values of trees are; most values have it shorter (`PackedPlace`).
package struct Place: Sendable, Equatable {
  @inlinable package static var encodedByteCount: Int { 12 }
  package var offset: UInt64
  package var byteCount: UInt32
  @inlinable package init(offset: UInt64, byteCount: UInt32) {
    self.offset = offset
    self.byteCount = byteCount
  }

  /// The place that a value of a tree is; nil when its length is another one.
  @inlinable @_transparent
  package init?(_ value: ByteView) {
    guard value.count == Place.encodedByteCount else { return nil }
    self.init(value, at: 0)
  }

  /// The place that begins at an offset, where the caller knows that the bytes reach so far.
  @inlinable @_transparent
  package init(_ bytes: ByteView, at offset: Int) {
    self.init(offset: bytes.uint64(at: offset), byteCount: bytes.uint32(at: offset + 8))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(uint64: offset)
    buffer.append(uint32: byteCount)
  }

  package static let none = Place(offset: 0, byteCount: 0)
}
