import DaybookEngine

/// What the change journal says of a record: where its latest body or tombstone is. A `PackedPlace` whose flag says which.
struct ChangeEntry {
  static let maximumByteCount = 13
  var isDeleted: Bool
  var place: Place

  @inline(__always)
  init?(_ value: ByteView) {
    guard let packed = PackedPlace(value), packed.ownBits == 0, packed.byteCount == value.count else { return nil }
    isDeleted = packed.isFlagged
    place = packed.place
  }

  @inline(__always)
  init(_ place: Place, isDeleted: Bool) {
    self.place = place
    self.isDeleted = isDeleted
  }

  @inline(__always)
  static func append(_ place: Place, isDeleted: Bool, to buffer: ByteBuffer) {
    PackedPlace.append(place, isFlagged: isDeleted, to: buffer)
  }
}
