import DaybookEngine

/// What the change journal says of a record: where its latest body or tombstone is.
struct ChangeEntry {
  static let byteCount = 1 + Place.encodedByteCount
  static let placeOffset = 1
  var isDeleted: Bool
  var place: Place

  init?(_ value: ByteView) {
    guard value.count == ChangeEntry.byteCount, value[0] <= 1 else { return nil }
    isDeleted = value[0] == 1
    place = Place(offset: value.uint64(at: 1), byteCount: value.uint32(at: 9))
  }
}
