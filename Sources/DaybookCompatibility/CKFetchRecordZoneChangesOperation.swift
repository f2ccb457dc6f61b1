#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Fetches what changed in zones since a token, page by page. A zone that fails leaves the others alone.
  public final class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// From where on, how many and which keys. A class, as in CloudKit: its users change one that a constant has.
    public final class ZoneConfiguration: Sendable {
      private struct Values {
        var token: CKServerChangeToken?
        var resultsLimit = 0
        var desiredKeys: [CKRecord.FieldKey]?
      }

      private let values = Locked(Values())

      /// What was seen already; nil for nothing.
      public var previousServerChangeToken: CKServerChangeToken? {
        get { values.withLock { $0.token } }
        set { values.withLock { $0.token = newValue } }
      }
      /// How many changes a page has; 0 leaves it to the database.
      public var resultsLimit: Int {
        get { values.withLock { $0.resultsLimit } }
        set { values.withLock { $0.resultsLimit = newValue } }
      }
      /// The only keys to fetch; nil for all, empty for none.
      public var desiredKeys: [CKRecord.FieldKey]? {
        get { values.withLock { $0.desiredKeys } }
        set { values.withLock { $0.desiredKeys = newValue } }
      }

      /// Everything.
      public init() {}

      /// What changed since a token.
      public init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil, desiredKeys: [CKRecord.FieldKey]? = nil
      ) {
        self.previousServerChangeToken = previousServerChangeToken
        self.resultsLimit = resultsLimit ?? 0
        self.desiredKeys = desiredKeys
      }
    }

    /// The name before iOS 12.
    public typealias ZoneOptions = ZoneConfiguration

    private struct Settings: Sendable {
      var recordZoneIDs: [CKRecordZone.ID]?
      var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
      var fetchAllChanges: Bool = true
      var recordChangedBlock: (@Sendable (CKRecord) -> Void)?
      var recordWasChangedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
      var recordWithIDWasDeletedBlock: (@Sendable (CKRecord.ID, CKRecord.RecordType) -> Void)?
      var recordZoneChangeTokensUpdatedBlock: (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
      var recordZoneFetchCompletionBlock:
        (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
      var recordZoneFetchResultBlock:
        (
          @Sendable (
            CKRecordZone.ID,
            Result<(serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error>
          ) -> Void
        )?
      var fetchRecordZoneChangesCompletionBlock: (@Sendable ((any Error)?) -> Void)?
      var fetchRecordZoneChangesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The zones whose changes to fetch.
    public var recordZoneIDs: [CKRecordZone.ID]? {
      get { settings.withLock { $0.recordZoneIDs } }
      set { settings.withLock { $0.recordZoneIDs = newValue } }
    }

    /// From where on, how many and which keys, for each zone; without one, everything.
    public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
      get { settings.withLock { $0.configurationsByRecordZoneID } }
      set { settings.withLock { $0.configurationsByRecordZoneID = newValue } }
    }

    /// The same as ``configurationsByRecordZoneID``, under its name before iOS 12.
    public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
      get { configurationsByRecordZoneID }
      set { configurationsByRecordZoneID = newValue }
    }

    /// Whether all pages are fetched, or only the first of each zone.
    public var fetchAllChanges: Bool {
      get { settings.withLock { $0.fetchAllChanges } }
      set { settings.withLock { $0.fetchAllChanges = newValue } }
    }

    /// Called with each record that was made or changed.
    @preconcurrency
    public var recordChangedBlock: (@Sendable (CKRecord) -> Void)? {
      get { settings.withLock { $0.recordChangedBlock } }
      set { settings.withLock { $0.recordChangedBlock = newValue } }
    }

    /// Called with each record that was made or changed.
    @preconcurrency
    public var recordWasChangedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
      get { settings.withLock { $0.recordWasChangedBlock } }
      set { settings.withLock { $0.recordWasChangedBlock = newValue } }
    }

    /// Called with identity and type of each record that was deleted.
    @preconcurrency
    public var recordWithIDWasDeletedBlock: (@Sendable (CKRecord.ID, CKRecord.RecordType) -> Void)? {
      get { settings.withLock { $0.recordWithIDWasDeletedBlock } }
      set { settings.withLock { $0.recordWithIDWasDeletedBlock = newValue } }
    }

    /// Called after each page but the last of a zone, with where the next one begins.
    @preconcurrency
    public var recordZoneChangeTokensUpdatedBlock: (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)? {
      get { settings.withLock { $0.recordZoneChangeTokensUpdatedBlock } }
      set { settings.withLock { $0.recordZoneChangeTokensUpdatedBlock = newValue } }
    }

    /// Called after the last page of a zone, with where the next fetch begins.
    @preconcurrency
    public var recordZoneFetchCompletionBlock:
      (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    {
      get { settings.withLock { $0.recordZoneFetchCompletionBlock } }
      set { settings.withLock { $0.recordZoneFetchCompletionBlock = newValue } }
    }

    /// Called after the last page of a zone.
    @preconcurrency
    public var recordZoneFetchResultBlock:
      (
        @Sendable (
          CKRecordZone.ID,
          Result<(serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error>
        ) -> Void
      )?
    {
      get { settings.withLock { $0.recordZoneFetchResultBlock } }
      set { settings.withLock { $0.recordZoneFetchResultBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var fetchRecordZoneChangesCompletionBlock: (@Sendable ((any Error)?) -> Void)? {
      get { settings.withLock { $0.fetchRecordZoneChangesCompletionBlock } }
      set { settings.withLock { $0.fetchRecordZoneChangesCompletionBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var fetchRecordZoneChangesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.fetchRecordZoneChangesResultBlock } }
      set { settings.withLock { $0.fetchRecordZoneChangesResultBlock = newValue } }
    }

    /// An operation whose zones are still to be set.
    public override init() { super.init() }

    /// Fetches what changed in zones.
    public convenience init(
      recordZoneIDs: [CKRecordZone.ID], configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
      self.init()
      self.recordZoneIDs = recordZoneIDs
      self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// Fetches what changed in zones, with the names before iOS 12.
    public convenience init(recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?) {
      self.init(recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
    }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      var errors: [Zone.ID: DatabaseError] = [:]
      var refused: CKError?
      for id in settings.recordZoneIDs ?? [] {
        do { try fetch(id, database, settings) } catch {
          try checkCancellation()
          let error = CKError(any: error)
          settings.recordZoneFetchCompletionBlock?(id, nil, nil, false, error)
          settings.recordZoneFetchResultBlock?(id, .failure(error))
          if let id = try? id.daybookID { errors[id] = error.daybookError } else { refused = refused ?? error }
        }
      }
      if !errors.isEmpty { throw DatabaseError(.partialFailure, partialZoneErrors: errors) }
      if let refused { throw refused }
    }

    private func fetch(_ id: CKRecordZone.ID, _ database: CKDatabase, _ settings: Settings) throws {
      let zone = try id.daybookID
      let configuration = settings.configurationsByRecordZoneID?[id] ?? ZoneConfiguration()
      var token = configuration.previousServerChangeToken?.token
      while true {
        try checkCancellation()
        let page = try database.daybookDatabase().changes(
          in: zone, since: token, limit: configuration.resultsLimit > 0 ? configuration.resultsLimit : nil,
          desiredKeys: configuration.desiredKeys)
        for saved in page.saved {
          try checkCancellation()
          let record = CKRecord(saved)
          settings.recordChangedBlock?(record)
          settings.recordWasChangedBlock?(record.recordID, .success(record))
        }
        for deleted in page.deleted {
          try checkCancellation()
          settings.recordWithIDWasDeletedBlock?(CKRecord.ID(deleted.id), deleted.type)
        }
        let next = CKServerChangeToken(page.token)
        token = page.token
        if page.moreComing, settings.fetchAllChanges {
          settings.recordZoneChangeTokensUpdatedBlock?(id, next, nil)
          continue
        }
        settings.recordZoneFetchCompletionBlock?(id, next, nil, page.moreComing, nil)
        settings.recordZoneFetchResultBlock?(id, .success((next, nil, page.moreComing)))
        return
      }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      settings.fetchRecordZoneChangesCompletionBlock?(error)
      settings.fetchRecordZoneChangesResultBlock?(Self.result(error))
    }
  }

  /// The name before Swift 4.2.
  public typealias CKFetchRecordZoneChangesOptions = CKFetchRecordZoneChangesOperation.ZoneConfiguration
#endif
