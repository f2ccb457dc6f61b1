#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The change feeds: what came after a token, each record once in its present state.
///
/// A token is a position in the change journal: everything before (sequence, ordinal) has been seen. The end of a drained feed
/// is (last sequence, the highest ordinal). It also has the last commit of the state that gave it and that commit's lineage, so that a
/// copy with a history of its own is told from the original, and the zone's epoch, so that a re-created zone is told from the old one.
///
/// A feed has commits only, so a transaction reads it through `committed`.
extension ReadView {
  /// The version that feeds read: this one, or the one that the transaction began on. That may not be durable yet, but the
  /// transaction returns only when it is.
  var committed: ReadView {
    guard case .transaction(let transaction, _) = source else { return self }
    return ReadView(database: database, store: store, source: .pin(transaction.startPin))
  }

  /// The newest commit; nil where another process may have committed since.
  var lastKnownCommit: UInt64? {
    guard case .transaction(let transaction, _) = source else { return database.lastKnownCommit }
    return transaction.sequence - 1
  }

  /// A caller that asks for pages while there is more to come would never end with empty ones.
  var changesPerPage: Int { max(1, database.options.limits.changesPerPage) }

  private static let endOfCommit = UInt32.max

  var databaseID: UUID { ReadView.uuid(of: store.header) }

  static func uuid(of header: FileHeader) -> UUID {
    var bytes = [UInt8](repeating: 0, count: 16)
    for index in 0..<8 {
      bytes[index] = UInt8(truncatingIfNeeded: header.uuidHigh >> UInt64(56 - 8 * index))
      bytes[8 + index] = UInt8(truncatingIfNeeded: header.uuidLow >> UInt64(56 - 8 * index))
    }
    return UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
        bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }

  /// Changes at or below this sequence may have been forgotten.
  func horizon() throws(DatabaseError) -> UInt64 {
    try asDatabaseError { () throws(PageFault) in
      try "horizon".withKeyView { (key) throws(PageFault) in
        let value = try reader.value(key, in: root(.settings))
        return value.map { $0.count == 8 ? $0.uint64(at: 0) : 0 } ?? 0
      }
    }
  }

  /// Whether a token is newer than this view, and may be valid later: then the page is empty and has the same token.
  private func isAhead(_ token: ChangeToken, zone: Zone.ID?, known: @autoclosure () -> UInt64?) throws(DatabaseError) -> Bool {
    guard let parts = token.parts, parts.zone == zone, parts.databaseID == databaseID, parts.lastCommit > sequence else {
      return false
    }
    return try standing(of: parts.lastCommit, Lineage(parts.lineage), known: known()) == .notSeenYet
  }

  /// Refuses a token that does not belong to this history.
  private func validate(_ token: ChangeToken, zone: Zone.ID?, epoch: UInt64) throws(DatabaseError) -> ChangeToken.Parts {
    guard let parts = token.parts else {
      throw DatabaseError(.invalidArguments, "The token belongs to another server.", facts: .init(zone: zone))
    }
    guard parts.zone == zone else {
      throw DatabaseError(
        .invalidArguments, "A token belongs to the feed it came from.",
        facts: .init(
          zone: zone, expected: zone.map { "a token of zone \($0)" } ?? "a token of the database",
          found: parts.zone.map { "a token of zone \($0)" } ?? "a token of the database"))
    }
    guard parts.databaseID == databaseID else {
      throw DatabaseError(
        .changeTokenExpired, "The token belongs to another database.", facts: .init(sequence: parts.sequence, zone: zone))
    }
    // One that is ahead and may come later was not brought here.
    let isOfHere = try standing(of: parts.lastCommit, Lineage(parts.lineage), known: nil) == .same
    if !isOfHere, !isMutant("accept-forked-token") {
      throw DatabaseError(.changeTokenForked, facts: .init(sequence: parts.lastCommit, zone: zone))
    }
    if zone != nil, parts.zoneEpoch != epoch {
      throw DatabaseError(
        .changeTokenExpired, "The zone was deleted and created again.",
        facts: .init(sequence: parts.sequence, zone: zone))
    }
    // A page that ended within the horizon's commit has not seen all of its deletions. What was forgotten before the
    // token was made is no loss: else no long feed could be read from the beginning.
    let horizon = try horizon()
    let isBelow = parts.sequence < horizon || parts.sequence == horizon && parts.ordinal != ReadView.endOfCommit
    if isBelow, parts.horizon != horizon {
      throw DatabaseError(.changeTokenExpired, facts: .init(sequence: parts.sequence, zone: zone))
    }
    return parts
  }

  private func token(_ sequence: UInt64, _ ordinal: UInt32, zone: Zone.ID?, epoch: UInt64) throws(DatabaseError) -> ChangeToken
  {
    ChangeToken(
      ChangeToken.Parts(
        databaseID: databaseID, lineage: try lineage(of: self.sequence).number, state: self.sequence, sequence: sequence,
        ordinal: ordinal, horizon: try horizon(), zone: zone, zoneEpoch: epoch))
  }

  func changes(
    in id: Zone.ID, since token: ChangeToken?, limit: Int, desiredKeys: [String]?, known: @autoclosure () -> UInt64?
  ) throws(DatabaseError) -> ZoneChanges {
    try PageLimit.require(limit, in: id)
    // Before the zone is looked for: it may be what has not been seen yet.
    if let token, try isAhead(token, zone: id, known: known()) { return ZoneChanges(token: token) }
    let zone = try existingZone(id)
    var start: (sequence: UInt64, ordinal: UInt32) = (0, 0)
    if let token {
      let parts = try validate(token, zone: id, epoch: zone.epoch)
      start = (parts.sequence, parts.ordinal)
    }
    var result = ZoneChanges(token: try self.token(sequence, ReadView.endOfCommit, zone: id, epoch: zone.epoch))
    var walk = try walk(over: zone, from: start, limit: limit)
    result.saved.reserveCapacity(min(limit, Int(clamping: walk.count), 1024))
    var remaining = logEnd
    let isDefault = id.isDefault
    var places: [Place] = []
    places.reserveCapacity(ReadView.largestBatch)
    while walk.isValid {
      // Deletions are read on the way, records together.
      var byteCount = 0
      var room = limit - result.saved.count - result.deleted.count
      if room == 0 {
        let next = try asDatabaseError { () throws(PageFault) in try walk.position() }
        result.token = try self.token(next.sequence, next.ordinal, zone: id, epoch: zone.epoch)
        result.moreComing = true
        break
      }
      places.removeAll(keepingCapacity: true)
      while walk.isValid, room > 0, places.count < ReadView.largestBatch, byteCount < RecordBodyBatch.usualByteCount {
        walk.touchAhead()
        let entry: ChangeEntry
        do throws(PageFault) { entry = try walk.entry } catch { throw failure(error) }
        guard UInt64(entry.place.byteCount) <= remaining else { throw failure(.operation(offset: entry.place.offset)) }
        remaining -= UInt64(entry.place.byteCount)
        room -= 1
        if entry.isDeleted {
          let tombstone = try tombstone(at: entry.place)
          guard tombstone.id.zone == id else { throw misplaced(entry.place, id) }
          result.deleted.append(.init(id: tombstone.id, type: tombstone.type))
        } else {
          places.append(entry.place)
          byteCount += RecordBodyBatch.room(for: entry.place)
        }
        do throws(PageFault) { try walk.next() } catch { throw failure(error) }
      }
      let stray = try appendRecords(
        at: places, byteCount: byteCount, of: id, isDefault, desiredKeys: desiredKeys, to: &result.saved)
      if let stray { throw misplaced(stray, id) }
    }
    return result
  }

  static let largestBatch = 64

  func walk(
    over zone: ZoneTrees, ofType type: String? = nil, from start: (sequence: UInt64, ordinal: UInt32), limit: Int
  ) throws(DatabaseError) -> ChangeWalk {
    try asDatabaseError { () throws(PageFault) in
      guard let type else {
        return try ChangeWalk(reader, zone.changeJournal, from: start.sequence, start.ordinal, limit: limit)
      }
      return try type.withKeyView { (type) throws(PageFault) in
        try ChangeWalk(reader, zone.changeJournal, ofType: type, from: start.sequence, start.ordinal, limit: limit)
      }
    }
  }

  /// Reads records into one allocation. Returns the first place with a record of another zone: the change journal has no names,
  /// so the zone is what can be compared.
  func appendRecords(
    at places: [Place], byteCount: Int, of zone: Zone.ID, _ isDefault: Bool, desiredKeys: [String]?,
    to records: inout [Record]
  ) throws(DatabaseError) -> Place? {
    if places.isEmpty { return nil }
    guard case .pin(let pin) = source else {
      for place in places {
        let body = try body(at: place)
        guard body.isOf(zone, isDefault: isDefault) else { return place }
        records.append(Record(body: body, desiredKeys: desiredKeys))
      }
      return nil
    }
    do throws(StoreError) {
      var batch = RecordBodyBatch(count: places.count, store.records.shapes.table, services: services)
      let end = pin.end
      guard desiredKeys == nil else {
        for place in places {
          let body = try batch.read(place, from: store, end: end)
          guard body.isOf(zone, isDefault: isDefault) else { return place }
          records.append(Record(body: body, desiredKeys: desiredKeys))
        }
        return nil
      }
      for index in places.indices {
        let body = try batch.read(places[index], from: store, end: end)
        guard body.isOf(zone, isDefault: isDefault) else { return places[index] }
        records.append(Record(stored: body))
      }
      return nil
    } catch { throw failure(error) }
  }

  /// How many entries of a zone's change journal come after a token.
  func changeCount(in id: Zone.ID, since token: ChangeToken?, known: @autoclosure () -> UInt64?) throws(DatabaseError) -> Int {
    if let token, try isAhead(token, zone: id, known: known()) { return 0 }
    let zone = try existingZone(id)
    guard let token else { return Int(clamping: zone.changeJournal.count) }
    let parts = try validate(token, zone: id, epoch: zone.epoch)
    return Int(clamping: try walk(over: zone, from: (parts.sequence, parts.ordinal), limit: 1).count)
  }

  func tombstone(at place: Place) throws(DatabaseError) -> Tombstone {
    let operation = try operation(at: place)
    guard Operation.isOf(.deleteRecord, operation),
      let tombstone = try? Tombstone(Operation.payload(operation))
    else { throw failure(.operation(offset: place.offset)) }
    return tombstone
  }

  func databaseChanges(since token: ChangeToken?, limit: Int, known: @autoclosure () -> UInt64?) throws(DatabaseError)
    -> DatabaseChanges
  {
    try PageLimit.require(limit)
    if let token, try isAhead(token, zone: nil, known: known()) { return DatabaseChanges(token: token) }
    let key = ByteBuffer(capacity: 256)
    var start: UInt64 = 0
    if let token {
      let parts = try validate(token, zone: nil, epoch: 0)
      start = parts.ordinal == ReadView.endOfCommit ? parts.sequence + 1 : parts.sequence
    }
    var result = DatabaseChanges(token: try self.token(sequence, ReadView.endOfCommit, zone: nil, epoch: 0))
    key.append(uint64: start.byteSwapped)
    let catalog = try catalog()
    var cursor = reader.cursor(in: root(.zonesBySequence))
    try self.start(&cursor, at: key.view)
    var lastSequence = start
    while try next(&cursor) {
      cursor.key(into: key)
      guard key.count > 8, let id = try? Zone.ID(key: key.view.dropFirst(8)) else {
        throw failure(reader.fault(in: root(.zonesBySequence)))
      }
      let sequence = key.view.bigEndianUInt64(at: 0)
      // A page ends between commits, so that zones changed by one commit stay together.
      if result.changed.count + result.deleted.count >= limit, sequence != lastSequence {
        result.token = try self.token(lastSequence, ReadView.endOfCommit, zone: nil, epoch: 0)
        result.moreComing = true
        break
      }
      lastSequence = sequence
      if !id.isDefault {
        let value = try asDatabaseError { () throws(PageFault) in
          try reader.catalogValue(key.view.dropFirst(8), in: catalog)
        }
        guard let value else { throw failure(reader.fault(in: catalog)) }
        guard let zone = ZoneTrees(value) else { throw failure(ZoneTrees.fault(of: value)) }
        if zone.isDeleted {
          let reasons = DatabaseChanges.DeletedZone.Reason.allCases
          result.deleted.append(.init(id: id, reason: reasons[min(Int(zone.deletionReason), reasons.count - 1)]))
        } else {
          result.changed.append(id)
        }
      }
    }
    return result
  }
}
