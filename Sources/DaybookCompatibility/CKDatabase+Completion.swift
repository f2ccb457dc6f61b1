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

    /// Fetches records, each with a result.
    @preconcurrency
    public func fetch(
      withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
      completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) { answer(with: completionHandler) { [self] in try results(for: recordIDs, desiredKeys) } }

    /// One page of what a query finds, and where the next one begins.
    @preconcurrency
    public func fetch(
      withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
      resultsLimit: Int = CKQueryOperation.maximumResults,
      completionHandler:
        @escaping @Sendable (
          Result<
            (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error
          >
        ) -> Void
    ) {
      answer(with: completionHandler) { [self] in
        try matches(from: CKQueryOperation.Cursor(query), zoneID, desiredKeys, resultsLimit)
      }
    }

    /// The next page of what a query finds.
    @preconcurrency
    public func fetch(
      withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
      resultsLimit: Int = CKQueryOperation.maximumResults,
      completionHandler:
        @escaping @Sendable (
          Result<
            (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error
          >
        ) -> Void
    ) {
      answer(with: completionHandler) { [self] in try matches(from: queryCursor, nil, desiredKeys, resultsLimit) }
    }

    /// Saves and deletes records, each with a result.
    @preconcurrency
    public func modifyRecords(
      saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
      savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
      completionHandler:
        @escaping @Sendable (
          Result<
            (
              saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
            ), any Error
          >
        ) -> Void
    ) {
      answer(with: completionHandler) { [self] in
        try modificationResults(saving: recordsToSave, deleting: recordIDsToDelete, savePolicy, atomically)
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
