#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Fetches records by identity.
  public final class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Settings: Sendable {
      var recordIDs: [CKRecord.ID]?
      var desiredKeys: [CKRecord.FieldKey]?
      var perRecordCompletionBlock: (@Sendable (CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
      var perRecordResultBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
      var fetchRecordsCompletionBlock: (@Sendable ([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
      var fetchRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The records to fetch.
    public var recordIDs: [CKRecord.ID]? {
      get { settings.withLock { $0.recordIDs } }
      set { settings.withLock { $0.recordIDs = newValue } }
    }

    /// The only keys to fetch; nil for all.
    public var desiredKeys: [CKRecord.FieldKey]? {
      get { settings.withLock { $0.desiredKeys } }
      set { settings.withLock { $0.desiredKeys = newValue } }
    }

    /// Called with each record, or its identity and what went wrong.
    @preconcurrency
    public var perRecordCompletionBlock: (@Sendable (CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
      get { settings.withLock { $0.perRecordCompletionBlock } }
      set { settings.withLock { $0.perRecordCompletionBlock = newValue } }
    }

    /// Called with each record, or what went wrong.
    @preconcurrency
    public var perRecordResultBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
      get { settings.withLock { $0.perRecordResultBlock } }
      set { settings.withLock { $0.perRecordResultBlock = newValue } }
    }

    /// Called at the end, with the records that there are and what went wrong.
    @preconcurrency
    public var fetchRecordsCompletionBlock: (@Sendable ([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
      get { settings.withLock { $0.fetchRecordsCompletionBlock } }
      set { settings.withLock { $0.fetchRecordsCompletionBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var fetchRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.fetchRecordsResultBlock } }
      set { settings.withLock { $0.fetchRecordsResultBlock = newValue } }
    }

    private let found = Locked<[CKRecord.ID: CKRecord]>([:])
    private let isOfUser: Bool

    /// An operation whose identities are still to be set.
    public override init() {
      isOfUser = false
      super.init()
    }

    /// Fetches records.
    public convenience init(recordIDs: [CKRecord.ID]) {
      self.init()
      self.recordIDs = recordIDs
    }

    private init(isOfUser: Bool) {
      self.isOfUser = isOfUser
      super.init()
    }

    /// Fetches the record of the user.
    public class func fetchCurrentUserRecordOperation() -> Self { self.init(isOfUser: true) }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      var ids = settings.recordIDs ?? []
      if isOfUser {
        guard let name = try database.userRecordName() else {
          throw DatabaseError(.badContainer, "A database that was opened by itself has no user.")
        }
        ids = [CKRecord.ID(recordName: name)]
      }
      var errors: [Record.ID: DatabaseError] = [:]
      var refused: CKError?
      for (id, result) in try database.fetch(ids, desiredKeys: settings.desiredKeys) {
        try checkCancellation()
        settings.perRecordCompletionBlock?(try? result.get(), id, result.failure)
        settings.perRecordResultBlock?(id, result)
        switch result {
        case .success(let record): found.withLock { $0[id] = record }
        case .failure(let error):
          let error = CKError(any: error)
          if let id = try? id.daybookID { errors[id] = error.daybookError } else { refused = refused ?? error }
        }
      }
      if !errors.isEmpty { throw DatabaseError(.partialFailure, partialErrors: errors) }
      if let refused { throw refused }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      settings.fetchRecordsCompletionBlock?(found.withLock { $0 }, error)
      settings.fetchRecordsResultBlock?(Self.result(error))
    }
  }
#endif
