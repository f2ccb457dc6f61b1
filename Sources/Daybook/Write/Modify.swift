import DaybookEngine

/// Saving and deleting many records in one request, with a result for each.
extension Database {
  /// Saves and deletes records in one commit, each with a result of its own.
  ///
  /// With `atomically`, the records of a zone that can do so (every custom one) are saved and deleted together or not at
  /// all: the record that failed has its own error, the others of its zone `batchRequestFailed`. Zones succeed or fail one by
  /// one. Without it, and in the default zone, each record succeeds or fails by itself.
  ///
  /// A parent or a validated target may come later in the same request. A record whose target is missing in the end, or
  /// that others still need, has `referenceViolation`, with both ends among the facts. What a cascade deletes has no result.
  /// - Throws: `limitExceeded` for more than `Options.limits.itemsPerRequest` records, `invalidArguments` when a record is
  ///   named twice, and what a whole commit can throw. Then nothing was written.
  @discardableResult
  public func modify(
    saving records: [Record] = [], deleting ids: [Record.ID] = [], policy: SavePolicy = .ifServerRecordUnchanged,
    atomically: Bool = true, origin: Origin? = nil
  ) throws(DatabaseError) -> ModifyResult {
    try checkRequest(records, ids)
    let (records, unprepared, holds) = prepared(records)
    return try DatabaseError.only {
      try write(origin: origin) { transaction in
        transaction.context.preparedHolds = holds
        return try modify(transaction.context, records, ids, policy, atomically, unprepared)
      }
    }
  }

  func checkRequest(_ records: [Record], _ ids: [Record.ID]) throws(DatabaseError) {
    let count = records.count + ids.count
    guard count <= options.limits.itemsPerRequest else {
      throw DatabaseError(
        .limitExceeded, "A request has too many records; divide it.",
        facts: .init(size: count, limit: options.limits.itemsPerRequest))
    }
    var seen: Set<Record.ID> = []
    for record in records where !seen.insert(record.id).inserted {
      // CloudKit's own sentence, which applications search for.
      throw DatabaseError(
        .invalidArguments, "You can't save the same record twice.",
        facts: .init(zone: record.id.zone, name: record.id.name))
    }
    for id in ids where !seen.insert(id).inserted {
      throw DatabaseError(
        .invalidArguments, "A record is named twice in one request.", facts: .init(zone: id.zone, name: id.name))
    }
    var byteCount = 0
    for record in records {
      byteCount = byteCount.adding(record.encodedByteCount)
      if byteCount > options.limits.requestByteCount {
        throw DatabaseError(
          .limitExceeded, "A request has too many bytes; divide it.",
          facts: .init(size: byteCount, limit: options.limits.requestByteCount))
      }
    }
  }

  /// Whether preparing the record ingests an asset that may be large: one that will not be in the record, or that another
  /// database has.
  func takesContentsIn(_ record: Record) -> Bool {
    if let source = record.body.services?.assets, source.store !== library.store, record.body.namesAssets { return true }
    return record.editedAssets.contains { asset in
      if case .stored(let source) = asset.storage.source, source.store === library.store { return false }
      return asset.byteCount > options.inlineAssetByteCount
    }
  }

  typealias PreparedRecords = (records: [Record], failures: [Int: DatabaseError], holds: [AssetDigest: AssetHold])

  /// The records with their assets ingested, before the turn, and the errors of those whose assets cannot be; and what keeps
  /// the asset files of records that came from other databases.
  func prepared(_ records: [Record]) -> PreparedRecords {
    var holds: [AssetDigest: AssetHold] = [:]
    for record in records { holdForeignAssets(of: record, in: &holds) }
    guard records.contains(where: \.hasEditedAssets) else { return (records, [:], holds) }
    var result = records
    var failures: [Int: DatabaseError] = [:]
    for (index, record) in records.enumerated() where record.hasEditedAssets {
      do throws(DatabaseError) { result[index] = try prepareEdited(record) } catch { failures[index] = error }
    }
    return (result, failures, holds)
  }

  func modify(
    _ context: WriteContext, _ records: [Record], _ ids: [Record.ID], _ policy: SavePolicy, _ atomically: Bool,
    _ unprepared: [Int: DatabaseError] = [:]
  ) throws(DatabaseError) -> ModifyResult {
    var request = ModifyRequest(records, ids, policy, unprepared)
    for zone in request.zones {
      let capabilities = try context.view.zone(zone.id)?.capabilities ?? 0
      let isAtomic =
        atomically && !zone.id.isDefault && capabilities & UInt32(Zone.Capabilities.atomic.rawValue) != 0
      try request.perform(zone.items, isAtomic: isAtomic, context)
    }
    return request.result
  }

  /// Creates and deletes zones, each with a result of its own.
  @discardableResult
  public func modifyZones(
    saving zones: [Zone] = [], deleting ids: [Zone.ID] = [], origin: Origin? = nil
  ) throws(DatabaseError) -> ModifyZonesResult {
    try DatabaseError.only { try write(origin: origin) { try modifyZones($0, zones, ids) } }
  }

  func modifyZones(
    _ transaction: borrowing Transaction, _ zones: [Zone], _ ids: [Zone.ID]
  ) throws(DatabaseError) -> ModifyZonesResult {
    var result = ModifyZonesResult()
    for zone in zones {
      do throws(DatabaseError) {
        try transaction.save(zone)
        result.saves.append(.init(id: zone.id, result: .success(zone)))
      } catch {
        if error.concernsWholeCommit { throw error }
        result.saves.append(.init(id: zone.id, result: .failure(error)))
      }
    }
    for id in ids {
      do throws(DatabaseError) {
        try transaction.deleteZone(id)
        result.deletes.append(.init(id: id, result: .success(())))
      } catch {
        if error.concernsWholeCommit { throw error }
        result.deletes.append(.init(id: id, result: .failure(error)))
      }
    }
    return result
  }
}

extension DatabaseError {
  /// Errors that leave no room for going on with the other records of a request.
  package var concernsWholeCommit: Bool {
    switch code {
    case .corrupted, .ioFailed, .outcomeUnknown, .diskFull, .readOnly, .closed, .locked, .internalError: true
    default: false
    }
  }
}
