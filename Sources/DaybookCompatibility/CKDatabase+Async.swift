#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Requests that are awaited.
  extension CKDatabase {
    /// Fetches a record.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
      try await result { [self] in try fetch(recordID) }
    }

    /// Fetches records, each with a result.
    public func records(
      for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
      try await result { [self] in try results(for: ids, desiredKeys) }
    }

    func results(
      for ids: [CKRecord.ID], _ desiredKeys: [CKRecord.FieldKey]?
    ) throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
      Dictionary(try fetch(ids, desiredKeys: desiredKeys).map { ($0.id, $0.result) }) { first, _ in first }
    }

    /// Saves a record, new or changed.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord { try await result { [self] in try save(record) } }

    /// Deletes a record.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
      try await result { [self] in try delete(recordID) }
    }

    /// Saves and deletes records, each with a result.
    public func modifyRecords(
      saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
      savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
      saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
      try await result { [self] in
        try modificationResults(saving: recordsToSave, deleting: recordIDsToDelete, savePolicy, atomically)
      }
    }

    func modificationResults(
      saving records: [CKRecord], deleting ids: [CKRecord.ID], _ policy: CKModifyRecordsOperation.RecordSavePolicy,
      _ atomically: Bool
    ) throws -> (
      saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
      let done = try modify(saving: records, deleting: ids, policy: policy.daybookPolicy, atomically: atomically)
      return (
        Dictionary(done.saves.map { ($0.record.recordID, $0.result.mapError { $0 as any Error }) }) { first, _ in first },
        Dictionary(done.deletes.map { ($0.id, $0.result.mapError { $0 as any Error }) }) { first, _ in first }
      )
    }

    /// One page of what a query finds, and where the next one begins.
    public func records(
      matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
      resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
      matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
      try await result { [self] in try matches(from: CKQueryOperation.Cursor(query), zoneID, desiredKeys, resultsLimit) }
    }

    /// The next page of what a query finds.
    public func records(
      continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
      resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
      matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) { try await result { [self] in try matches(from: queryCursor, nil, desiredKeys, resultsLimit) } }

    func matches(
      from place: CKQueryOperation.Cursor, _ zone: CKRecordZone.ID?, _ keys: [String]?, _ limit: Int
    ) throws -> (
      matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
      let found = try page(of: place, in: zone, desiredKeys: keys, limit: limit)
      return (found.records.map { ($0.recordID, .success($0)) }, found.next)
    }

    /// All zones.
    public func allRecordZones() async throws -> [CKRecordZone] { try await result { [self] in try allZones() } }

    /// Fetches a zone.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
      try await result { [self] in try zone(zoneID) }
    }

    /// Fetches zones, each with a result.
    public func recordZones(for ids: [CKRecordZone.ID]) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
      try await result { [self] in Dictionary(try zones(ids).map { ($0.id, $0.result) }) { first, _ in first } }
    }

    /// Saves and deletes zones, each with a result.
    public func modifyRecordZones(
      saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
      saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>], deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
      try await result { [self] in
        let done = try modifyZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
        return (
          Dictionary(done.saves.map { ($0.zone.zoneID, $0.result) }) { first, _ in first },
          Dictionary(done.deletes.map { ($0.id, $0.result) }) { first, _ in first }
        )
      }
    }

    /// Saves a zone.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
      try await result { [self] in try modifyZones(saving: [zone], deleting: []).saves[0].result.get() }
    }

    /// Deletes a zone with all its records.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
      try await result { [self] in
        try modifyZones(saving: [], deleting: [zoneID]).deletes[0].result.get()
        return zoneID
      }
    }
  }
#endif
