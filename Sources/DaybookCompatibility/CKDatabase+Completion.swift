#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Requests with completion handlers.
  extension CKDatabase {
    /// Fetches a record.
    @preconcurrency
    public func fetch(
      withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try fetch(recordID) } }

    /// Saves a record, new or changed: the changed keys, unless another device has changed the record since it was fetched.
    @preconcurrency
    public func save(
      _ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try save(record) } }

    /// Deletes a record.
    @preconcurrency
    public func delete(
      withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try delete(recordID) } }

    /// The first records that a query finds.
    @preconcurrency
    public func perform(
      _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
      completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
      answer(completionHandler) { [self] in
        try page(of: CKQueryOperation.Cursor(query), in: zoneID, desiredKeys: nil, limit: CKQueryOperation.maximumResults)
          .records
      }
    }

    /// All zones.
    @preconcurrency
    public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
      answer(completionHandler) { [self] in try allZones() }
    }

    /// Fetches a zone.
    @preconcurrency
    public func fetch(
      withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try zone(zoneID) } }

    /// Saves a zone.
    @preconcurrency
    public func save(
      _ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try modifyZones(saving: [zone], deleting: []).saves[0].result.get() } }

    /// Deletes a zone with all its records.
    @preconcurrency
    public func delete(
      withRecordZoneID zoneID: CKRecordZone.ID,
      completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
      answer(completionHandler) { [self] in
        try modifyZones(saving: [], deleting: [zoneID]).deletes[0].result.get()
        return zoneID
      }
    }

    func zone(_ id: CKRecordZone.ID) throws -> CKRecordZone { try zones([id])[0].result.get() }
  }
#endif
