#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Saving and deleting records: the save matrix of policy and server state.
///
///     client tag  server    ifServerRecordUnchanged   changedKeys          allKeys             replace
///     none        missing   insert                    insert               insert              insert
///     none        exists    serverRecordChanged       changed keys         all local keys      all local keys, no others
///     equal       exists    changed keys              changed keys         all local keys      all local keys, no others
///     differs     exists    serverRecordChanged       changed keys         all local keys      all local keys, no others
///     some        missing   unknownItem               insert               insert              insert
///
/// Keys that only the server has stay, but for `replace`. `insert` writes everything that the client's record has.
extension WriteContext {
  func save(_ record: Record, policy: SavePolicy) throws(DatabaseError) -> Record {
    try requireOpen()
    // By the body's own bytes: making the identity costs an allocation, for each question asked.
    let (zone, stored) = try record.body.withBytes { (bytes) throws(DatabaseError) in
      let zone = try openZone(key: RecordBody.zoneKey(of: bytes))
      if let known = takeLastRead(of: record.body) { return (zone, known as StoredVersion?) }
      return (zone, try storedVersion(of: record, named: RecordBody.nameBytes(of: bytes)))
    }
    try refuseConflicts(record, stored?.body, policy)
    // The record of a conflict keeps its assets as they were set; from here on they have their content.
    return try record.hasEditedAssets
      ? write(try storingAssets(of: record), over: stored, zone, policy) : write(record, over: stored, zone, policy)
  }

  /// Saves a record that may be saved.
  private func write(
    _ record: Record, over stored: StoredVersion?, _ zone: ZoneGlimpse, _ policy: SavePolicy
  ) throws(DatabaseError) -> Record {
    let server = stored?.body
    try start()
    var stamp = RecordBodyEncoder.Stamp(
      tag: changeTag(), date: date.timeIntervalSinceReferenceDate, userID: state.userID, deviceID: state.deviceID)
    if let stored {
      stamp.previousOffset = stored.place.offset
      stamp.previousByteCount = stored.place.byteCount
    } else if zone.hasTombstones, let place = try tombstonePlace(record.id) {
      stamp.previousOffset = place.offset
      stamp.previousByteCount = place.byteCount
    }
    // Two calls and not one with a choice: that would count a reference, for each save.
    if policy == .replace { stamp.creation = server?.creation }
    var (operationStart, saved) =
      try policy == .replace
      ? encode(record, onto: nil, policy, stamp) : encode(record, onto: server, policy, stamp)
    if let role = database.options.role {
      try orCancel(operationStart) { () throws(DatabaseError) in try requireSavable(saved, role) }
    }
    let shape = saved.body.withBytes { KnownShapes.shape(of: $0, saved.body.layout) }
    var packing = try packing(of: saved.body, shape, ofLife: zone.epoch)
    // What has been packed before has been declared before.
    if packing.isPacked || !packing.isUndeclared && state.knownShapes.contains(shape) {
      try completeSave(operationStart, saved, packing, of: record, over: server)
      // Not of the first record of a shape: many shapes have one record.
      if server == nil { record.noteOrder() }
    } else {
      // What is new is declared before the save, so the save is encoded again after the declaration. When the save is refused
      // after all, nothing has been learned from it.
      changes.cancelOperation(operationStart)
      try undoing { () throws(DatabaseError) in
        try declareShape(of: saved)
        try declarePacking(of: saved.body, shape, ofLife: zone.epoch)
        packing = try self.packing(of: saved.body, shape, ofLife: zone.epoch)
        (operationStart, saved) =
          try policy == .replace
          ? encode(record, onto: nil, policy, stamp) : encode(record, onto: server, policy, stamp)
        try completeSave(operationStart, saved, packing, of: record, over: server)
      }
    }
    if recorder != nil { recorder?.add(record.id, old: server, new: saved.body) }
    return saved
  }

  /// What is stored of a record that is about to be saved, in the zone that is open; nil when it is new.
  @inline(__always)
  private func storedVersion(of record: Record, named name: ByteView) throws(DatabaseError) -> StoredVersion? {
    guard let entry = try entry(named: name) else {
      if NameRules.isOfSystem(name) { try refuseNewName(of: record) }
      return nil
    }
    let body = try body(at: entry.place)
    guard body.isOfSameRecord(as: record.body) else { throw view.misplaced(entry.place, record.id.zone, record.id.name) }
    return StoredVersion(place: entry.place, body: body)
  }

  /// Where a record of the zone that is open has its body; nil when there is none of that name.
  @inline(__always)
  func entry(named name: ByteView) throws(DatabaseError) -> RecordEntry? {
    guard let root = applier.openZone?.byName else { return nil }
    do throws(LogFault) {
      return try NameKey.withView(of: name) { (key) throws(LogFault) -> RecordEntry? in
        guard let value = try changes.value(key, in: root) else { return nil }
        guard let entry = RecordEntry(value) else { throw .page(changes.reader.fault(in: root)) }
        return entry
      }
    } catch { throw failure(error) }
  }

  /// A body as the transaction has it, verified.
  @inline(__always)
  func body(at place: Place) throws(DatabaseError) -> RecordBody {
    do throws(StoreError) {
      var batch = RecordBodyBatch(count: 1, applier.shapes.table, services: services)
      return try batch.read(place, from: changes)
    } catch { throw failure(error) }
  }

  /// The last part of a save: what its references and assets need, and its operation. After an error nothing of it is left.
  /// - Parameter record: what was asked to be saved; its assets may lie in another database.
  private func completeSave(
    _ operationStart: Int, _ saved: Record, _ packing: BodyPacker.Packing, of record: Record, over server: RecordBody?
  ) throws(DatabaseError) {
    if saved.body.withBytes({ RecordBody.pointsSomewhere($0) }) {
      try orCancel(operationStart) { () throws(DatabaseError) in
        try queueReferenceChecks(of: saved, over: server, in: try view.existingZone(saved.id.zone))
      }
    }
    if let server, server.namesAssets { mayDropAssets = true }
    if saved.body.namesAssets {
      mayDropAssets = true
      try orCancel(operationStart) { () throws(DatabaseError) in
        do throws(DatabaseError) {
          try saved.body.withBytes { (bytes) throws(DatabaseError) in
            try secureAssets(namedIn: bytes, replacing: server, from: record.body.services?.assets)
          }
        } catch { throw error.adding(saved.id) }
      }
    }
    try endSave(operationStart, saved.body, packing)
  }

  /// Appends the merged body to what is written; the operation has no checksum yet. After an error nothing of it is left.
  /// - Parameter server: what the record is merged into; nil for what replaces it, which is written as a new record is, and has
  ///   only its creation from the stored one.
  private func encode(
    _ record: Record, onto server: RecordBody?, _ policy: SavePolicy, _ stamp: RecordBodyEncoder.Stamp
  ) throws(DatabaseError) -> (operationStart: Int, saved: Record) {
    let operationStart = changes.beginOperation()
    let merged = try orCancel(operationStart) { () throws(DatabaseError) -> Record in
      try RecordBodyEncoder.encode(
        record, onto: server, writing: policy == .allKeys ? .allKeys : .changedKeys, stamp: stamp,
        services: services,
        room: .init(byteCount: changes.maximumPayloadByteCount, recordByteCount: limits.recordByteCount),
        into: payload)
      let merged: Record
      do throws(BodyFault) {
        let bytes = payload.view.dropFirst(operationStart + Operation.headerByteCount)
        // What was copied from a stored body has been checked by its checksum only.
        merged = Record(
          body: server == nil && record.body.isChecked
            ? try RecordBody(encoded: bytes, services: services)
            : try RecordBody(trusted: bytes, services: services))
      } catch { throw damaged(record, error) }
      // The body is never shorter than what counts, so most records are measured by looking at it.
      if changes.byteCount(from: operationStart) > limits.recordByteCount, merged.encodedByteCount > limits.recordByteCount {
        throw tooLarge(merged)
      }
      return merged
    }
    return (operationStart, merged)
  }

  /// Part of an operation that has been begun: when it throws, nothing of the operation is left.
  @inline(__always)
  private func orCancel<R>(_ operationStart: Int, _ body: () throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    do { return try body() } catch {
      changes.cancelOperation(operationStart)
      throw error
    }
  }

  /// What the file has of a record is no record.
  func damaged(_ record: Record, _ fault: BodyFault) -> DatabaseError {
    DatabaseError(
      .corrupted, "The stored record cannot be decoded.",
      facts: .init(path: database.path, zone: record.id.zone, name: record.id.name, found: "\(fault)"))
  }

  private func refuseConflicts(
    _ record: Record, _ server: RecordBody?, _ policy: SavePolicy
  ) throws(DatabaseError) {
    guard let server else {
      if record.body.tag != 0, policy == .ifServerRecordUnchanged {
        throw DatabaseError(
          .unknownItem,
          "The record was read before, but is not stored here: it was deleted, or read from another database. "
            + "The policy allKeys saves it as a new one.",
          facts: .init(zone: record.id.zone, name: record.id.name))
      }
      return
    }
    guard server.hasType(of: record.body) else {
      throw DatabaseError(
        .invalidArguments, "The type of a record never changes.",
        facts: .init(
          zone: record.id.zone, name: record.id.name, recordType: record.type, expected: server.type,
          found: record.type))
    }
    guard policy == .ifServerRecordUnchanged, record.body.tag != server.tag else { return }
    let ancestor = record.body.tag == 0 ? nil : try view.ancestor(of: server, tag: record.body.tag)
    let message =
      record.body.tag == 0
      ? "A record to insert already exists; change the one that is stored (a fetch has it, save(&value) keeps a Codable value one "
        + "with it), or save over it with the policy changedKeys, allKeys or replace."
      : "The record changed since it was read."
    throw DatabaseError(
      .serverRecordChanged, message, facts: .init(zone: record.id.zone, name: record.id.name),
      conflict: .init(ancestor: ancestor, client: record, server: Record(body: server)))
  }

  /// Names that begin with an underscore are given by servers. A server's record, which its change tag tells, and the record of
  /// the container's user keep theirs.
  private func refuseNewName(of record: Record) throws(DatabaseError) {
    if record.body.tag != 0 { return }
    if let role = database.options.role, UTF8Order.equal(role.userRecordName, record.id.name) { return }
    throw NameRules.faultOfSystemName(record.id.name).adding { $0.zone = record.id.zone }
  }

  private func tooLarge(_ record: Record) -> DatabaseError {
    // The longest value is most likely what the caller wants to hear of.
    var longest: (key: String, byteCount: Int) = ("", 0)
    for isEncrypted in [false, true] {
      for (key, value) in record.fieldValues(isEncrypted: isEncrypted) {
        let byteCount = value?.approximateByteCount ?? 0
        if byteCount > longest.byteCount { longest = (key, byteCount) }
      }
    }
    return DatabaseError(
      .limitExceeded, "The record is too large.",
      facts: .init(
        zone: record.id.zone, name: record.id.name, key: longest.key.isEmpty ? nil : longest.key,
        size: record.encodedByteCount,
        limit: limits.recordByteCount))
  }

  /// A tag that no other save gets, not even after a rollback: the application may still have the record that the save
  /// returned.
  private func changeTag() -> UInt64 {
    let base: UInt64
    if let known = tagBase {
      base = known
    } else {
      base = state.tags.base(sequence: changes.sequence, date: date.timeIntervalSinceReferenceDate)
      tagBase = base
    }
    return state.tags.next(base)
  }

  func delete(_ id: Record.ID) throws(DatabaseError) {
    try requireOpen()
    try requireDeletable(id)
    let zone = try view.existingZone(id.zone)
    guard let entry = try view.entry(id.name, in: zone) else { return }
    try deleteOne(id, entry, mayBeNeeded: zone.references.count > 0)
    if zone.references.count > 0, !isMutant("forget-cascade") { try cascade(from: id) }
  }

  /// Deletes one record that is there, and nothing else.
  func deleteOne(_ id: Record.ID, _ entry: RecordEntry, mayBeNeeded: Bool) throws(DatabaseError) {
    let body = try view.body(of: id, at: entry.place)
    if body.namesAssets { mayDropAssets = true }
    try start()
    let tombstone = Tombstone(
      id: id, type: body.type, tag: changeTag(), date: date, previousOffset: entry.place.offset,
      previousByteCount: entry.place.byteCount, userID: database.options.userID)
    let operationStart = changes.beginOperation()
    tombstone.append(to: payload)
    try endOperation(operationStart, .deleteRecord)
    if recorder != nil { recorder?.add(id, old: body, new: nil) }
    if mayBeNeeded { try queueDeletionChecks(of: id) }
  }

  /// Where the tombstone of a deleted record is, so that its new life links to the old one.
  private func tombstonePlace(_ id: Record.ID) throws(DatabaseError) -> Place? {
    let reader = view.reader
    let zone = try view.existingZone(id.zone)
    return try view.asDatabaseError { () throws(PageFault) in
      try id.name.withKeyView { (name) throws(PageFault) in
        try NameKey.withView(of: name) { (key) throws(PageFault) in
          try reader.deletion(ofName: key, in: zone, state.scratch)?.place
        }
      }
    }
  }
}

extension Record.Value {
  /// About how many bytes of the limit the value takes; for naming the longest.
  var approximateByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let data): data.count
    case .strings(let list): list.reduce(0) { $0 + $1.utf8.count + 1 }
    case .bytesList(let list): list.reduce(0) { $0 + $1.count + 1 }
    case .ints(let list): list.count * 8
    case .doubles(let list): list.count * 8
    case .dates(let list): list.count * 8
    case .locations(let list): list.count * 32
    case .references(let list): list.count * 40
    case .assets(let list): list.count * 40
    default: 16
    }
  }
}

extension RecordBody {
  /// When and by whom the record was made.
  fileprivate var creation: (date: Double, userID: [UInt8]?)? {
    metadata.map { ($0.creationDate.timeIntervalSinceReferenceDate, $0.creatorUserID.map { Array($0.utf8) }) }
  }

  func hasType(of other: RecordBody) -> Bool {
    withBytes { mine in
      other.withBytes { theirs in UTF8Order.equal(RecordBody.typeBytes(of: mine), RecordBody.typeBytes(of: theirs)) }
    }
  }
}
