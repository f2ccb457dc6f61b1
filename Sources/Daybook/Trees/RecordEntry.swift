import DaybookEngine

/// What the by-name tree says of a record.
struct RecordEntry {
  static let byteCount = Place.encodedByteCount + 12
  /// Ordinals are below it; the bits from here on are flags.
  static let ordinalLimit: UInt32 = 1 << 30
  private static let contributesFlag: UInt32 = 1 << 31
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
    guard value.count == RecordEntry.byteCount else { return nil }
    place = Place(offset: value.uint64(at: 0), byteCount: value.uint32(at: 8))
    sequence = value.uint64(at: 12)
    let last = value.uint32(at: 20)
    ordinal = last & (RecordEntry.ordinalLimit &- 1)
    contributes = last & RecordEntry.contributesFlag != 0
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(uint64: place.offset)
    buffer.append(uint32: place.byteCount)
    buffer.append(uint64: sequence)
    buffer.append(uint32: contributes ? ordinal | RecordEntry.contributesFlag : ordinal)
  }
}
