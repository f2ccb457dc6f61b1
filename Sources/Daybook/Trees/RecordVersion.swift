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
