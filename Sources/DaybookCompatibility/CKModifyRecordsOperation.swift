#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Saves and deletes records in one request.
  public final class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// What a save does when the stored record is not the one that was changed.
    public enum RecordSavePolicy: Int, Sendable {
      /// Save the changed keys, unless another device has changed the record: then `serverRecordChanged`.
      case ifServerRecordUnchanged = 0
      /// Save the changed keys over whatever is stored.
      case changedKeys = 1
      /// Save all keys over whatever is stored.
      case allKeys = 2

      var daybookPolicy: SavePolicy {
        switch self {
        case .ifServerRecordUnchanged: .ifServerRecordUnchanged
        case .changedKeys: .changedKeys
        case .allKeys: .allKeys
        }
      }
    }

    private struct Settings: Sendable {
      var recordsToSave: [CKRecord]?
      var recordIDsToDelete: [CKRecord.ID]?
      var savePolicy: RecordSavePolicy = .ifServerRecordUnchanged
      var isAtomic: Bool = true
      var clientChangeTokenData: Data?
      var perRecordProgressBlock: (@Sendable (CKRecord, Double) -> Void)?
      var perRecordCompletionBlock: (@Sendable (CKRecord, (any Error)?) -> Void)?
      var perRecordSaveBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
      var perRecordDeleteBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
      var modifyRecordsCompletionBlock: (@Sendable ([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
      var modifyRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The records to save.
    public var recordsToSave: [CKRecord]? {
      get { settings.withLock { $0.recordsToSave } }
      set { settings.withLock { $0.recordsToSave = newValue } }
    }

    /// The records to delete.
    public var recordIDsToDelete: [CKRecord.ID]? {
      get { settings.withLock { $0.recordIDsToDelete } }
      set { settings.withLock { $0.recordIDsToDelete = newValue } }
    }

    /// What a save does when the stored record is not the one that was changed.
    public var savePolicy: RecordSavePolicy {
      get { settings.withLock { $0.savePolicy } }
      set { settings.withLock { $0.savePolicy = newValue } }
    }

    /// Whether the records of a custom zone are saved and deleted together or not at all.
    public var isAtomic: Bool {
      get { settings.withLock { $0.isAtomic } }
      set { settings.withLock { $0.isAtomic = newValue } }
    }

    /// Kept for the application; the database makes nothing of it.
    public var clientChangeTokenData: Data? {
      get { settings.withLock { $0.clientChangeTokenData } }
      set { settings.withLock { $0.clientChangeTokenData = newValue } }
    }

    /// Called with each record and how much of it is saved: 1 when it is.
    @preconcurrency
    public var perRecordProgressBlock: (@Sendable (CKRecord, Double) -> Void)? {
      get { settings.withLock { $0.perRecordProgressBlock } }
      set { settings.withLock { $0.perRecordProgressBlock = newValue } }
    }

    /// Called with each record that was to be saved.
    @preconcurrency
    public var perRecordCompletionBlock: (@Sendable (CKRecord, (any Error)?) -> Void)? {
      get { settings.withLock { $0.perRecordCompletionBlock } }
      set { settings.withLock { $0.perRecordCompletionBlock = newValue } }
    }

    /// Called with each record that was to be saved.
    @preconcurrency
    public var perRecordSaveBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
      get { settings.withLock { $0.perRecordSaveBlock } }
      set { settings.withLock { $0.perRecordSaveBlock = newValue } }
    }

    /// Called with each record that was to be deleted.
    @preconcurrency
    public var perRecordDeleteBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.perRecordDeleteBlock } }
      set { settings.withLock { $0.perRecordDeleteBlock = newValue } }
    }

    /// Called at the end, with what was saved and deleted and what went wrong.
    @preconcurrency
    public var modifyRecordsCompletionBlock: (@Sendable ([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? {
      get { settings.withLock { $0.modifyRecordsCompletionBlock } }
      set { settings.withLock { $0.modifyRecordsCompletionBlock = newValue } }
    }

    /// Called at the end: with what became of the request. Each record has a block of its own.
    @preconcurrency
    public var modifyRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.modifyRecordsResultBlock } }
      set { settings.withLock { $0.modifyRecordsResultBlock = newValue } }
    }

    private let done = Locked(CKDatabase.Modification())

    /// Saves and deletes records.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
      self.init()
      self.recordsToSave = recordsToSave
      self.recordIDsToDelete = recordIDsToDelete
    }

    /// An operation whose records are still to be set.
    public override init() { super.init() }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      let done = try database.modify(
        saving: settings.recordsToSave ?? [], deleting: settings.recordIDsToDelete ?? [],
        policy: settings.savePolicy.daybookPolicy, atomically: settings.isAtomic)
      self.done.withLock { $0 = done }
      for (record, result) in done.saves {
        if case .success = result { settings.perRecordProgressBlock?(record, 1) }
        settings.perRecordCompletionBlock?(record, result.failure)
        settings.perRecordSaveBlock?(record.recordID, result.mapError { $0 })
      }
      for (id, result) in done.deletes { settings.perRecordDeleteBlock?(id, result.mapError { $0 }) }
      if let error = done.error { throw error }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      let done = done.withLock { $0 }
      let saved = done.saves.filter { $0.result.failure == nil }.map(\.record)
      let deleted = done.deletes.filter { $0.result.failure == nil }.map(\.id)
      settings.modifyRecordsCompletionBlock?(saved, deleted, error)
      settings.modifyRecordsResultBlock?(Self.result(error))
    }
  }

  /// The name before Swift 4.2.
  public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy

  extension Result {
    /// The error, if it is one.
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
  }
#endif
