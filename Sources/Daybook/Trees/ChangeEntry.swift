import DaybookEngine

/// What the change journal says of a record: where its latest body or tombstone is.
struct ChangeEntry {
  static let byteCount = 1 + Place.encodedByteCount
  var isDeleted: Bool
  var place: Place

  init?(_ value: ByteView) {
    guard value.count == ChangeEntry.byteCount, value[0] <= 1 else { return nil }
    isDeleted = value[0] == 1
    place = Place(offset: value.uint64(at: 1), byteCount: value.uint32(at: 9))
  }
}

/// A key of the change journal: a commit sequence and the position of the operation in its commit.
enum ChangeKey {
  static let byteCount = 12

  static func set(_ buffer: ByteBuffer, sequence: UInt64, ordinal: UInt32) {
    buffer.truncate(to: 0)
    buffer.append(uint64: sequence.byteSwapped)
    buffer.append(uint32: ordinal.byteSwapped)
  }

  static func parts(_ key: ByteView) -> (sequence: UInt64, ordinal: UInt32)? {
    key.count == byteCount ? (key.bigEndianUInt64(at: 0), key.bigEndianUInt32(at: 8)) : nil
  }
}
