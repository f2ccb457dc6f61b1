import DaybookEngine

/// What the tree of tombstones says of a deleted record: where its deletion stands in the change journal.
struct TombstoneEntry {
  static let byteCount = 12
  var sequence: UInt64
  var ordinal: UInt32

  init?(_ value: ByteView) {
    guard value.count == TombstoneEntry.byteCount else { return nil }
    sequence = value.uint64(at: 0)
    ordinal = value.uint32(at: 8)
  }

  static func append(_ entry: RecordEntry, to buffer: ByteBuffer) {
    buffer.append(uint64: entry.sequence)
    buffer.append(uint32: entry.ordinal)
  }
}
