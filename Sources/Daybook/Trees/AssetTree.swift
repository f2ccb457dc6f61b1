import DaybookEngine

/// A zone's tree of assets: how often its live records name each content that has a file of its own. What is inside a record, and
/// what older versions name, is not counted.
///
///     key     SHA-256, 32 bytes; u64 size, big-endian
///     value   u64 how often
///
/// The size is a part of the key, so that nobody need read a record to know it, and a forged body that names a content with another
/// size changes no other body's entry. A content has a key exactly if a live record names it. One exception: a body that
/// became corrupt before it was replaced always counts. Then a file stays too long, and the check says so; none goes too early.
enum AssetTree: ContributedTree {
  @inline(__always)
  static func mayContribute(flags: UInt8) -> Bool { flags & RecordBody.Flags.assets != 0 }

  static func contribute(_ version: RecordVersion, to entries: ContributionList) {
    for name in AssetNames.names(in: version.body) {
      entries.bytes.append(name.digest.bytes)
      entries.bytes.append(uint64: name.byteCount.byteSwapped)
      entries.add(amount: 1)
    }
  }

  static func recordName(in key: ByteView) -> ByteView? { nil }

  /// What the tree says of a content.
  struct Entry {
    static let keyByteCount = AssetDigest.byteCount + 8
    /// How often live records of the zone name it.
    var count: UInt64
    var byteCount: UInt64

    /// Nil where the tree was not written by this library.
    init?(key: ByteView, value: ByteView) {
      guard key.count == Entry.keyByteCount, let count = ZoneTree.sum(value) else { return nil }
      self.count = UInt64(count)
      byteCount = key.bigEndianUInt64(at: AssetDigest.byteCount)
    }
  }
}
