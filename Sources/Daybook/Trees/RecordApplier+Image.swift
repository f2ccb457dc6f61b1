import DaybookEngine

extension RecordApplier {
  /// Applies an operation for which a stamp is waiting.
  func applyStamped(
    _ kind: OperationKind, _ payload: ByteView, _ place: Place, _ changes: StoreTransaction
  ) throws(LogFault) {
    let stamp = image.nextStamp()
    let entry = RecordEntry(place: place, sequence: stamp.sequence, ordinal: stamp.ordinal)
    // An image stands for commits of the past.
    guard stamp.sequence <= changes.sequence else { throw .inconsistent }
    switch kind {
    case .saveRecord: try saveRecord(payload, entry, isImage: true, changes)
    case .deleteRecord: try deleteRecord(payload, entry, isImage: true, changes)
    case .lineage: try saveLineage(payload, stamp.sequence, changes)
    case .commitInfo, .saveZone, .deleteZone, .setMetadata, .deleteMetadata, .raiseHorizon, .imageStamps, .imageZone,
      .declareFields, .declare, .defineIndex, .buildIndex, .dropIndex, .requires:
      throw .inconsistent
    }
  }

  /// Copies entries of indexes from a tree of another store, as far as there are indexes whose entries this library makes: as many as may
  /// come before pages are written. True when there may be more.
  func copyEntries(_ cursor: inout Cursor, zone zoneKey: ByteView, _ changes: StoreTransaction) throws(LogFault) -> Bool {
    try open(zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted else { throw .inconsistent }
    var number: UInt16?
    var isKnown = false
    var count = 0
    var isMore = true
    while isMore && count < ImageApplier.partCount {
      do throws(PageFault) { isMore = try cursor.next() } catch { throw .page(error) }
      guard isMore else { break }
      count += 1
      cursor.key(into: key)
      let next = IndexKey.number(of: key.view)
      if count == 1 || next != number {
        number = next
        isKnown = next.flatMap { indexes[$0] }?.kind != nil
      }
      if isKnown { try changes.put(key.view, cursor.value, in: &zone.indexes) }
    }
    if count > 0 { setOpenZone(zone) }
    return isMore
  }

  /// A zone as the old file had it, before any of its records.
  func saveZone(image payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count > 24 else { throw .operation }
    let zoneKey = payload.dropFirst(24)
    guard zoneKey.count <= TreeLimits.maximumKeyByteCount - 8 else { throw .operation }
    try flush(changes)
    try open(zoneKey, changes)
    // The default zone is there before it was ever written to.
    guard openZone == nil || openZone?.lastSequence == 0 else { throw .inconsistent }
    var zone = newZone(zoneKey)
    zone.epoch = payload.uint64(at: 0)
    zone.capabilities = payload.uint32(at: 8)
    zone.isDeleted = payload[12] != 0
    zone.deletionReason = payload[13]
    setOpenZone(zone)
    try touch(payload.uint64(at: 16), changes)
  }
}
