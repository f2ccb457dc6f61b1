import DaybookEngine

/// What the by-name tree says of a record: a `PackedPlace`, an ordinal of 1 to 4 bytes, a sequence of 1 to 8; 9 to 14 bytes for most. The
/// place's own bits are the bytes of the ordinal − 1, its flag is `contributes`; the sequence takes what is left.
struct RecordEntry {
  /// Ordinals are below it.
  static let ordinalLimit: UInt32 = 1 << 30
  var place: Place
  var sequence: UInt64
  var ordinal: UInt32
  /// The body may contribute to trees of the zone besides the entries that every record has. It stands here so that saving the next
  /// version need not look at this one.
  var contributes = false

  init(place: Place, sequence: UInt64, ordinal: UInt32) {
    self.place = place
    self.sequence = sequence
    self.ordinal = ordinal
  }

  @inline(__always)
  init?(_ value: ByteView) {
    guard let packed = PackedPlace(value) else { return nil }
    let ordinalByteCount = Int(packed.ownBits) &+ 1
    let start = packed.byteCount &+ ordinalByteCount
    guard start < value.count, value.count &- start <= 8 else { return nil }
    place = packed.place
    contributes = packed.isFlagged
    ordinal = UInt32(truncatingIfNeeded: value.number(at: packed.byteCount, byteCount: ordinalByteCount))
    sequence = value.number(at: start, byteCount: value.count &- start)
  }

  func append(to buffer: ByteBuffer) {
    let ordinalByteCount = PackedPlace.shortestByteCount(UInt64(ordinal))
    PackedPlace.append(place, ownBits: ordinalByteCount &- 1, isFlagged: contributes, to: buffer)
    buffer.append(number: UInt64(ordinal), byteCount: ordinalByteCount)
    buffer.append(number: sequence, byteCount: PackedPlace.shortestByteCount(sequence))
  }
}
