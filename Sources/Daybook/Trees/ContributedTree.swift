import DaybookEngine

/// A tree whose entries follow from the bodies of the records that live. `ZoneTree` says what they have to keep to.
protocol ContributedTree {
  /// Whether a body may contribute anything. Asked for every save: a look at its header.
  static func mayContribute(_ body: ByteView) -> Bool

  /// Adds the entries of one version, in any order: writes each into `entries.bytes` and calls `entries.add`. A body that makes no
  /// sense contributes what can be made of it, always the same.
  static func contribute(_ version: RecordVersion, to entries: ContributionList)

  /// The name of the record whose entry this is, of a key that was read from a page; nil where the tree is one of sums, or the key
  /// none of its. A tree of indexes has the key by name instead.
  static func recordName(in key: ByteView) -> ByteView?
}
