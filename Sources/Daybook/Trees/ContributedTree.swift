import DaybookEngine

/// A tree whose entries follow from the bodies of the records that live. `ZoneTree` says what they have to keep to.
protocol ContributedTree {
  /// Whether a body with these flags (`RecordBody.Flags`) may contribute anything. Asked for every save, of a body that the log has
  /// packed or spelled out: its flags are all that both have in the same place.
  static func mayContribute(flags: UInt8) -> Bool

  /// Adds the entries of one version, in any order: writes each into `entries.bytes` and calls `entries.add`. A body that makes no
  /// sense contributes what can be made of it, always the same.
  static func contribute(_ version: RecordVersion, to entries: ContributionList)

  /// The name of the record whose entry this is, of a key that was read from a page; nil where the tree is one of sums, or the key
  /// none of its. A tree of indexes has the key by name instead.
  static func recordName(in key: ByteView) -> ByteView?
}
