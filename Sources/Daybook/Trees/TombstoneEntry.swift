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

extension TreeReader {
  /// What the trees say of the deletion of a record: the only way from a name through its tombstone to the place in the log.
  /// - Parameters:
  ///   - name: the key of the record's name (`NameKey`).
  ///   - scratch: for the key of the change journal.
  /// - Returns: nil when no record of this name has been deleted, or its deletion was forgotten.
  /// - Throws: a fault of the tree whose entry is malformed, or leads to what is no deletion.
  func deletion(
    ofName name: ByteView, in zone: ZoneTrees, _ scratch: ByteBuffer
  ) throws(PageFault) -> (tombstone: TombstoneEntry, place: Place)? {
    guard let value = try value(name, in: zone.tombstones) else { return nil }
    guard let tombstone = TombstoneEntry(value) else { throw fault(in: zone.tombstones) }
    return (tombstone, try place(of: tombstone, in: zone, scratch))
  }

  /// Where the log has the deletion of a tombstone.
  func place(of tombstone: TombstoneEntry, in zone: ZoneTrees, _ scratch: ByteBuffer) throws(PageFault) -> Place {
    ChangeKey.setTombstone(scratch, sequence: tombstone.sequence, ordinal: tombstone.ordinal)
    guard let entry = try value(scratch.view, in: zone.changeJournal).flatMap({ ChangeEntry($0) }), entry.isDeleted else {
      throw fault(in: zone.changeJournal)
    }
    return entry.place
  }
}
