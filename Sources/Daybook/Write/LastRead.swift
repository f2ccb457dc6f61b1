import DaybookEngine

/// A stored version of a record: where it is in the log, and its body, verified.
struct StoredVersion {
  let place: Place
  let body: RecordBody
}

/// Most records that are saved were read just before, in the same transaction: to change them, or to see whether there is something to
/// change. What that read has found is what the save needs to know, so it does not descend, verify and decode again.
///
/// Always true: what is kept is what a read would find now. It goes with the save of its record, with every operation that may change a
/// record in another way, and with every rollback.
extension WriteContext {
  /// The record with this ID, as the transaction has it.
  func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    guard try id.zone.withKeyView({ (key) throws(DatabaseError) in try opens(key) }),
      let entry = try id.name.withKeyView({ (name) throws(DatabaseError) in try entry(named: name) })
    else { return nil }
    let body = try body(at: entry.place)
    guard body.isOf(id) else { throw view.misplaced(entry.place, id.zone, id.name) }
    lastRead = StoredVersion(place: entry.place, body: body)
    return Record(stored: body)
  }

  /// The stored version of a record that is about to be saved, where it was the last that was read.
  @inline(__always)
  func takeLastRead(of record: RecordBody) -> StoredVersion? {
    guard let known = lastRead, known.body.isOfSameRecord(as: record) else { return nil }
    lastRead = nil
    return known
  }
}

extension OperationKind {
  /// Whether it changes what a read by a record's ID finds. A save says itself what it changes: it takes what was kept of its record.
  @inline(__always)
  var mayChangeLastRead: Bool {
    switch self {
    case .commitInfo, .lineage, .saveRecord, .setMetadata, .deleteMetadata, .declareFields, .declare: false
    case .saveZone, .deleteZone, .deleteRecord, .raiseHorizon, .imageStamps, .imageZone, .requires, .defineIndex, .buildIndex,
      .dropIndex:
      true
    }
  }
}
