import DaybookEngine

/// Operations that concern a zone as a whole, and the horizon, which concerns all of them.
extension RecordApplier {
  func saveZone(_ payload: ByteView, _ sequence: UInt64, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count > 20 else { throw .operation }
    let zoneKey = payload.dropFirst(20)
    guard zoneKey.count <= TreeLimits.maximumKeyByteCount - 8 else { throw .operation }
    try open(zoneKey, changes)
    var zone = openZone ?? newZone(zoneKey)
    if openZone == nil || zone.isDeleted {
      let last = zone.lastSequence
      zone = newZone(zoneKey)
      zone.lastSequence = last
      zone.epoch = payload.uint64(at: 0)
    }
    zone.capabilities = payload.uint32(at: 8)
    setOpenZone(zone)
    try touch(sequence, changes)
  }

  func deleteZone(_ payload: ByteView, _ sequence: UInt64, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count > 9 else { throw .operation }
    try open(payload.dropFirst(9), changes)
    guard var zone = openZone, !zone.isDeleted else { throw .inconsistent }
    for tree in zone.trees { changes.editor.drop(zone[tree]) }
    changes.liveByteCount &-= zone.liveByteCount
    let last = zone.lastSequence
    let epoch = zone.epoch
    zone = newZone(payload.dropFirst(9))
    zone.lastSequence = last
    zone.epoch = epoch
    zone.isDeleted = true
    zone.deletionReason = payload[0]
    setOpenZone(zone)
    try touch(sequence, changes)
  }

  /// Forgets tombstones up to a sequence, in every zone.
  func raiseHorizon(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    try flush(changes)
    let horizon = payload.uint64(at: 0)
    let name = ByteBuffer(capacity: 16)
    name.append(utf8: "horizon")
    try changes.put(name.view, payload, in: &changes.roots[Roots.settings])
    // Each tombstone is there because of an operation in the log. In a forged file many zones may share one large tree.
    var remaining = changes.logEnd / UInt64(Operation.headerByteCount)
    for zoneKey in try zoneKeys(changes) {
      try zoneKey.withView { (view) throws(LogFault) in
        try open(view, changes)
        guard let zone = openZone else { return }
        if zone.isDeleted {
          if zone.lastSequence <= horizon { try removeZone(view, zone, changes) }
        } else if zone.tombstones.count > 0 {
          try removeTombstones(through: horizon, &remaining, changes)
        }
      }
    }
    try flush(changes)
  }

  private func removeTombstones(
    through horizon: UInt64, _ remaining: inout UInt64, _ changes: StoreTransaction
  ) throws(LogFault) {
    guard var zone = openZone else { return }
    for (name, sequence, ordinal) in try tombstones(of: zone, through: horizon, &remaining, changes) {
      try removeChange(sequence, ordinal, &zone, changes)
      try name.withView { (view) throws(LogFault) in _ = try changes.remove(view, from: &zone.tombstones) }
    }
    setOpenZone(zone)
  }

  private func tombstones(
    of zone: ZoneTrees, through horizon: UInt64, _ remaining: inout UInt64, _ changes: StoreTransaction
  ) throws(LogFault) -> [(name: [UInt8], sequence: UInt64, ordinal: UInt32)] {
    var found: [([UInt8], UInt64, UInt32)] = []
    do throws(PageFault) {
      var cursor = changes.reader.cursor(in: zone.tombstones)
      while try cursor.next() {
        guard remaining > 0 || isMutant("walk-shared-trees") else {
          throw changes.reader.fault(in: zone.tombstones)
        }
        remaining -= min(remaining, 1)
        if let tombstone = TombstoneEntry(cursor.value),
          tombstone.sequence <= horizon || isMutant("drop-tombstones-early")
        {
          cursor.key(into: key)
          found.append((key.view.array, tombstone.sequence, tombstone.ordinal))
        }
      }
    } catch { throw .page(error) }
    return found
  }

  func zoneKeys(_ changes: StoreTransaction) throws(LogFault) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    do throws(PageFault) {
      var cursor = changes.reader.cursor(in: changes.roots[Roots.catalog])
      while try cursor.next() {
        cursor.key(into: key)
        keys.append(key.view.array)
      }
    } catch { throw .page(error) }
    return keys
  }

  private func removeZone(_ zoneKey: ByteView, _ zone: ZoneTrees, _ changes: StoreTransaction) throws(LogFault) {
    setZoneSequenceKey(zone.lastSequence)
    try changes.remove(key.view, from: &changes.roots[Roots.zonesBySequence])
    try changes.remove(zoneKey, from: &changes.roots[Roots.catalog])
    forgetOpenZone()
  }
}
