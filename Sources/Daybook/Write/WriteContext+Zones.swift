#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Zones, metadata and the horizon.
extension WriteContext {
  func save(_ zone: Zone) throws(DatabaseError) {
    try requireOpen()
    try requireZonesOfOneself(zone.id)
    if zone.id.isDefault { return }
    let capabilities = UInt32(truncatingIfNeeded: zone.capabilities.rawValue)
    let existing = try view.zone(zone.id)
    if existing?.capabilities == capabilities { return }
    // In the tree of zones by sequence a number comes before the key.
    let key = zone.id.key
    guard key.count + 8 <= TreeLimits.maximumKeyByteCount else {
      throw DatabaseError(
        .invalidArguments, "Name and owner of a zone are too long together.",
        facts: .init(zone: zone.id, size: key.count, limit: TreeLimits.maximumKeyByteCount - 8))
    }
    try start()
    let operationStart = changes.beginOperation()
    payload.append(uint64: database.options.random())
    payload.append(uint32: capabilities)
    payload.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
    payload.append(key)
    try endOperation(operationStart, .saveZone)
    recorder?.addSaved(zone.id, isNew: existing == nil)
  }

  func deleteZone(_ id: Zone.ID, reason: DatabaseChanges.DeletedZone.Reason) throws(DatabaseError) {
    try requireOpen()
    try requireZonesOfOneself(id)
    if id.isDefault {
      throw DatabaseError(.invalidArguments, "The default zone cannot be deleted.", facts: .init(zone: id))
    }
    let zone = try view.existingZone(id)
    if zone.assets.count > 0 { mayDropAssets = true }
    let subscriptions = try StoredSubscriptions.ofZone(id, view)
    // What is deleted is counted for watchers only: that takes longer than the deletion.
    var deletion: ZoneDeletion?
    if recorder?.isWatched(id) == true {
      deletion = ZoneDeletion(
        reason: reason, recordCount: zone.byName.count, types: try? view.types(in: zone), subscriptions: subscriptions)
    }
    try start()
    let operationStart = changes.beginOperation()
    let number = DatabaseChanges.DeletedZone.Reason.allCases.firstIndex(of: reason) ?? 0
    payload.append(UInt8(number))
    payload.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
    payload.append(id.key)
    try endOperation(operationStart, .deleteZone)
    for stored in subscriptions { try StoredSubscriptions.delete(stored.subscription.id, from: self) }
    if let deletion { recorder?.addDeleted(id, deletion) }
  }

  func setMetadata(_ value: Data?, forKey key: String) throws(DatabaseError) {
    try requireOpen()
    let byteCount = key.utf8.count
    guard byteCount > 0, byteCount <= 1024 else {
      throw DatabaseError(
        .invalidArguments, "A metadata key has 1 to 1,024 bytes of UTF-8.", facts: .init(size: byteCount, limit: 1024))
    }
    // Before anything of it is copied.
    let wholeByteCount = (value?.count ?? 0).adding(2 + byteCount)
    guard wholeByteCount <= changes.maximumPayloadByteCount else {
      throw DatabaseError(
        .limitExceeded, "The metadata is too large.",
        facts: .init(key: key, size: wholeByteCount, limit: changes.maximumPayloadByteCount))
    }
    if value == nil, try view.metadataPlace(forKey: key) == nil { return }
    try start()
    let operationStart = changes.beginOperation()
    if let value {
      payload.append(uint16: UInt16(byteCount))
      payload.append(utf8: key)
      payload.append([UInt8](value))
      try endOperation(operationStart, .setMetadata)
    } else {
      payload.append(utf8: key)
      try endOperation(operationStart, .deleteMetadata)
    }
  }

  func raiseHorizon(_ sequence: UInt64) throws(DatabaseError) {
    try requireOpen()
    guard sequence < changes.sequence else {
      throw DatabaseError(
        .invalidArguments, "Only commits of the past can be forgotten.", facts: .init(sequence: sequence))
    }
    if sequence <= (try view.horizon()) { return }
    try start()
    let operationStart = changes.beginOperation()
    payload.append(uint64: sequence)
    try endOperation(operationStart, .raiseHorizon)
  }
}
