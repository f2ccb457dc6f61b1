import DaybookEngine

/// One version of a record, as a derived tree looks at it. The views are those of the body.
struct RecordVersion {
  let body: ByteView
  let zoneKey: ByteView
  let type: ByteView
  let name: ByteView
  /// The commit that made the version, and which of its operations did.
  let sequence: UInt64
  let ordinal: UInt32

  @inline(__always)
  init(_ body: ByteView, _ identity: BodyIdentity, _ entry: RecordEntry) {
    self.body = body
    zoneKey = identity.zoneKey
    type = identity.type
    name = identity.name
    sequence = entry.sequence
    ordinal = entry.ordinal
  }

  /// The bits of the date at which the record was made, which all its versions carry on.
  var creation: UInt64 { body.uint64(at: RecordBody.creationOffset) }
}

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
