#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// What changed, asked for without an operation: a page at a time.
  extension CKDatabase {
    /// What changed in a zone.
    public enum RecordZoneChange {
      /// A record that was made or changed.
      public struct Modification: Hashable, Sendable {
        /// The record as it is now.
        public let record: CKRecord
      }

      /// A record that was deleted.
      public struct Deletion: Hashable, Sendable {
        /// Its identity.
        public let recordID: CKRecord.ID
        /// The type that it had.
        public let recordType: CKRecord.RecordType
      }
    }

    /// What changed in a database.
    public enum DatabaseChange {
      /// A zone that was made, or in which something changed.
      public struct Modification: Hashable, Sendable {
        /// The zone.
        public let zoneID: CKRecordZone.ID
      }

      /// A zone that is gone.
      public struct Deletion: Hashable, Sendable {
        /// Why it is gone.
        public enum Reason: Hashable, Sendable {
          /// It was deleted.
          case deleted
          /// The user deleted all data of the application.
          case purged
          /// The user's encrypted data was reset.
          case encryptedDataReset
        }

        /// The zone.
        public let zoneID: CKRecordZone.ID
        /// Why it is gone.
        public let reason: Reason
        /// Whether the user deleted all data of the application.
        public var purged: Bool { reason == .purged }
      }
    }

    /// A page of what changed in a zone since a token; nil is from the beginning.
    public func recordZoneChanges(
      inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken? = nil,
      desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> (
      modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
      deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
      try await result { [self] in
        let page = try daybookDatabase().changes(
          in: try zoneID.daybookID, since: changeToken?.token, limit: Self.pageLimit(resultsLimit), desiredKeys: desiredKeys)
        var saved: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        for record in page.saved.map({ CKRecord($0) }) { saved[record.recordID] = .success(.init(record: record)) }
        let deleted = page.deleted.map { RecordZoneChange.Deletion(recordID: CKRecord.ID($0.id), recordType: $0.type) }
        return (saved, deleted, CKServerChangeToken(page.token), page.moreComing)
      }
    }

    /// A page of which zones changed since a token; nil is from the beginning.
    public func databaseChanges(
      since changeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil
    ) async throws -> (
      modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion], changeToken: CKServerChangeToken,
      moreComing: Bool
    ) {
      try await result { [self] in
        let page = try daybookDatabase().databaseChanges(since: changeToken?.token, limit: Self.pageLimit(resultsLimit))
        let deleted = page.deleted.map { zone in
          let reason: DatabaseChange.Deletion.Reason =
            switch zone.reason {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
          return DatabaseChange.Deletion(zoneID: CKRecordZone.ID(zone.id), reason: reason)
        }
        return (
          page.changed.map { DatabaseChange.Modification(zoneID: CKRecordZone.ID($0)) }, deleted,
          CKServerChangeToken(page.token), page.moreComing
        )
      }
    }

    /// 0 leaves it to the database.
    private static func pageLimit(_ limit: Int?) -> Int? { limit.flatMap { $0 > 0 ? $0 : nil } }
  }
#endif
