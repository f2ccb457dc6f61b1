#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Fetches zones.
  public final class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Settings: Sendable {
      var recordZoneIDs: [CKRecordZone.ID]?
      var perRecordZoneResultBlock: (@Sendable (CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
      var fetchRecordZonesCompletionBlock: (@Sendable ([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
      var fetchRecordZonesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The zones to fetch; nil for all.
    public var recordZoneIDs: [CKRecordZone.ID]? {
      get { settings.withLock { $0.recordZoneIDs } }
      set { settings.withLock { $0.recordZoneIDs = newValue } }
    }

    /// Called with each zone, or what went wrong.
    @preconcurrency
    public var perRecordZoneResultBlock: (@Sendable (CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
      get { settings.withLock { $0.perRecordZoneResultBlock } }
      set { settings.withLock { $0.perRecordZoneResultBlock = newValue } }
    }

    /// Called at the end, with the zones that there are and what went wrong.
    @preconcurrency
    public var fetchRecordZonesCompletionBlock: (@Sendable ([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
      get { settings.withLock { $0.fetchRecordZonesCompletionBlock } }
      set { settings.withLock { $0.fetchRecordZonesCompletionBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var fetchRecordZonesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.fetchRecordZonesResultBlock } }
      set { settings.withLock { $0.fetchRecordZonesResultBlock = newValue } }
    }

    private let found = Locked<[CKRecordZone.ID: CKRecordZone]>([:])

    /// Fetches zones by identity.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
      self.init()
      self.recordZoneIDs = recordZoneIDs
    }

    /// Fetches all zones.
    public override init() { super.init() }

    /// Fetches all zones.
    public class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation { CKFetchRecordZonesOperation() }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      let zones =
        try settings.recordZoneIDs.map { (ids) throws(DatabaseError) in try database.zones(ids) }
        ?? database.allZones().map { ($0.zoneID, .success($0)) }
      var errors: [Zone.ID: DatabaseError] = [:]
      var refused: CKError?
      for (id, result) in zones {
        try checkCancellation()
        settings.perRecordZoneResultBlock?(id, result)
        switch result {
        case .success(let zone): found.withLock { $0[id] = zone }
        case .failure(let error):
          let error = CKError(any: error)
          if let id = try? id.daybookID { errors[id] = error.daybookError } else { refused = refused ?? error }
        }
      }
      if !errors.isEmpty { throw DatabaseError(.partialFailure, partialZoneErrors: errors) }
      if let refused { throw refused }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      settings.fetchRecordZonesCompletionBlock?(found.withLock { $0 }, error)
      settings.fetchRecordZonesResultBlock?(Self.result(error))
    }
  }

  /// Saves and deletes zones.
  public final class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Settings: Sendable {
      var recordZonesToSave: [CKRecordZone]?
      var recordZoneIDsToDelete: [CKRecordZone.ID]?
      var perRecordZoneSaveBlock: (@Sendable (CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
      var perRecordZoneDeleteBlock: (@Sendable (CKRecordZone.ID, Result<Void, any Error>) -> Void)?
      var modifyRecordZonesCompletionBlock: (@Sendable ([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
      var modifyRecordZonesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The zones to save.
    public var recordZonesToSave: [CKRecordZone]? {
      get { settings.withLock { $0.recordZonesToSave } }
      set { settings.withLock { $0.recordZonesToSave = newValue } }
    }

    /// The zones to delete, with all their records.
    public var recordZoneIDsToDelete: [CKRecordZone.ID]? {
      get { settings.withLock { $0.recordZoneIDsToDelete } }
      set { settings.withLock { $0.recordZoneIDsToDelete = newValue } }
    }

    /// Called with each zone that was to be saved.
    @preconcurrency
    public var perRecordZoneSaveBlock: (@Sendable (CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
      get { settings.withLock { $0.perRecordZoneSaveBlock } }
      set { settings.withLock { $0.perRecordZoneSaveBlock = newValue } }
    }

    /// Called with each zone that was to be deleted.
    @preconcurrency
    public var perRecordZoneDeleteBlock: (@Sendable (CKRecordZone.ID, Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.perRecordZoneDeleteBlock } }
      set { settings.withLock { $0.perRecordZoneDeleteBlock = newValue } }
    }

    /// Called at the end, with what was saved and deleted and what went wrong.
    @preconcurrency
    public var modifyRecordZonesCompletionBlock: (@Sendable ([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
      get { settings.withLock { $0.modifyRecordZonesCompletionBlock } }
      set { settings.withLock { $0.modifyRecordZonesCompletionBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var modifyRecordZonesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.modifyRecordZonesResultBlock } }
      set { settings.withLock { $0.modifyRecordZonesResultBlock = newValue } }
    }

    private let done = Locked(CKDatabase.ZoneModification())

    /// An operation whose zones are still to be set.
    public override init() { super.init() }

    /// Saves and deletes zones.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
      self.init()
      self.recordZonesToSave = recordZonesToSave
      self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      let done = try database.modifyZones(
        saving: settings.recordZonesToSave ?? [], deleting: settings.recordZoneIDsToDelete ?? [])
      self.done.withLock { $0 = done }
      for (zone, result) in done.saves { settings.perRecordZoneSaveBlock?(zone.zoneID, result) }
      for (id, result) in done.deletes { settings.perRecordZoneDeleteBlock?(id, result) }
      if let error = done.error { throw error }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      let done = done.withLock { $0 }
      let saved = done.saves.compactMap { try? $0.result.get() }
      let deleted = done.deletes.filter { $0.result.failure == nil }.map(\.id)
      settings.modifyRecordZonesCompletionBlock?(saved, deleted, error)
      settings.modifyRecordZonesResultBlock?(Self.result(error))
    }
  }
#endif
