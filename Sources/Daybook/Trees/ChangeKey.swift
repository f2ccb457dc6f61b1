import DaybookEngine

/// A key of the change journal: the record's type, a zero byte, a commit sequence and the position of the operation in its commit.
///
/// The entries of one type are a *group*: they stand together, in the order of the commits. Tombstones are a group of their own,
/// that of no type, and the first. So the number of a type's records is that of a range, a page of them is a walk over it, and
/// a feed merges the groups (`ChangeWalk`).
enum ChangeKey {
  /// Of what follows the type.
  static let tailByteCount = 13
  static let maximumByteCount = 255 + tailByteCount

  /// The key of a record that lives.
  @inline(__always)
  static func set(_ buffer: ByteBuffer, type: ByteView, sequence: UInt64, ordinal: UInt32) {
    buffer.truncate(to: 0)
    buffer.append(type)
    appendTail(buffer, sequence, ordinal)
  }

  /// The key of a tombstone.
  static func setTombstone(_ buffer: ByteBuffer, sequence: UInt64, ordinal: UInt32) {
    buffer.truncate(to: 0)
    appendTail(buffer, sequence, ordinal)
  }

  @inline(__always)
  private static func appendTail(_ buffer: ByteBuffer, _ sequence: UInt64, _ ordinal: UInt32) {
    buffer.append(0)
    buffer.append(uint64: sequence.byteSwapped)
    buffer.append(uint32: ordinal.byteSwapped)
  }

  /// The parts of a key; nil when it is none.
  static func parts(_ key: ByteView) -> (type: ByteView, sequence: UInt64, ordinal: UInt32)? {
    let end = key.count - tailByteCount
    guard end >= 0, key[end] == 0 else { return nil }
    return (key.prefix(end), key.bigEndianUInt64(at: end + 1), key.bigEndianUInt32(at: end + 9))
  }

  /// Whether records of this type have a group of their own. No record of a genuine file has another type.
  @inline(__always)
  static func isType(_ type: ByteView) -> Bool {
    if type.isEmpty { return false }
    for index in 0..<type.count where type[index] == 0 { return false }
    return true
  }
}
