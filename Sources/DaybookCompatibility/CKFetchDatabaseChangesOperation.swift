#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Fetches which zones changed since a token.
  public final class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Settings: Sendable {
      var previousServerChangeToken: CKServerChangeToken?
      var resultsLimit: Int = 0
      var fetchAllChanges: Bool = true
      var recordZoneWithIDChangedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
      var recordZoneWithIDWasDeletedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
      var recordZoneWithIDWasPurgedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
      var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: (@Sendable (CKRecordZone.ID) -> Void)?
      var changeTokenUpdatedBlock: (@Sendable (CKServerChangeToken) -> Void)?
      var fetchDatabaseChangesCompletionBlock: (@Sendable (CKServerChangeToken?, Bool, (any Error)?) -> Void)?
      var fetchDatabaseChangesResultBlock:
        (@Sendable (Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// What was seen already; nil for nothing.
    public var previousServerChangeToken: CKServerChangeToken? {
      get { settings.withLock { $0.previousServerChangeToken } }
      set { settings.withLock { $0.previousServerChangeToken = newValue } }
    }

    /// How many zones a page has; 0 leaves it to the database.
    public var resultsLimit: Int {
      get { settings.withLock { $0.resultsLimit } }
      set { settings.withLock { $0.resultsLimit = newValue } }
    }

    /// Whether all pages are fetched, or only the first.
    public var fetchAllChanges: Bool {
      get { settings.withLock { $0.fetchAllChanges } }
      set { settings.withLock { $0.fetchAllChanges = newValue } }
    }

    /// Called with each zone that was made or changed.
    @preconcurrency
    public var recordZoneWithIDChangedBlock: (@Sendable (CKRecordZone.ID) -> Void)? {
      get { settings.withLock { $0.recordZoneWithIDChangedBlock } }
      set { settings.withLock { $0.recordZoneWithIDChangedBlock = newValue } }
    }

    /// Called with each zone that an application deleted.
    @preconcurrency
    public var recordZoneWithIDWasDeletedBlock: (@Sendable (CKRecordZone.ID) -> Void)? {
      get { settings.withLock { $0.recordZoneWithIDWasDeletedBlock } }
      set { settings.withLock { $0.recordZoneWithIDWasDeletedBlock = newValue } }
    }

    /// Called with each zone that the user deleted.
    @preconcurrency
    public var recordZoneWithIDWasPurgedBlock: (@Sendable (CKRecordZone.ID) -> Void)? {
      get { settings.withLock { $0.recordZoneWithIDWasPurgedBlock } }
      set { settings.withLock { $0.recordZoneWithIDWasPurgedBlock = newValue } }
    }

    /// Called with each zone that went with the encrypted data.
    @preconcurrency
    public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: (@Sendable (CKRecordZone.ID) -> Void)? {
      get { settings.withLock { $0.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock } }
      set { settings.withLock { $0.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = newValue } }
    }

    /// Called after each page but the last, with where the next one begins.
    @preconcurrency
    public var changeTokenUpdatedBlock: (@Sendable (CKServerChangeToken) -> Void)? {
      get { settings.withLock { $0.changeTokenUpdatedBlock } }
      set { settings.withLock { $0.changeTokenUpdatedBlock = newValue } }
    }

    /// Called at the end, with where the next fetch begins.
    @preconcurrency
    public var fetchDatabaseChangesCompletionBlock: (@Sendable (CKServerChangeToken?, Bool, (any Error)?) -> Void)? {
      get { settings.withLock { $0.fetchDatabaseChangesCompletionBlock } }
      set { settings.withLock { $0.fetchDatabaseChangesCompletionBlock = newValue } }
    }

    /// Called at the end, with where the next fetch begins.
    @preconcurrency
    public var fetchDatabaseChangesResultBlock:
      (@Sendable (Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    {
      get { settings.withLock { $0.fetchDatabaseChangesResultBlock } }
      set { settings.withLock { $0.fetchDatabaseChangesResultBlock = newValue } }
    }

    private let last = Locked<(token: CKServerChangeToken, moreComing: Bool)?>(nil)

    /// Which zones changed since a token; nil for all.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
      self.init()
      self.previousServerChangeToken = previousServerChangeToken
    }

    /// Which zones there are.
    public override init() { super.init() }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      var token = settings.previousServerChangeToken?.token
      while true {
        try checkCancellation()
        let page = try database.daybookDatabase().databaseChanges(
          since: token, limit: settings.resultsLimit > 0 ? settings.resultsLimit : nil)
        for id in page.changed { settings.recordZoneWithIDChangedBlock?(CKRecordZone.ID(id)) }
        for zone in page.deleted {
          let id = CKRecordZone.ID(zone.id)
          switch zone.reason {
          case .deleted: settings.recordZoneWithIDWasDeletedBlock?(id)
          case .purged: settings.recordZoneWithIDWasPurgedBlock?(id)
          case .encryptedDataReset: settings.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock?(id)
          }
        }
        token = page.token
        let next = CKServerChangeToken(page.token)
        last.withLock { $0 = (next, page.moreComing) }
        guard page.moreComing, settings.fetchAllChanges else { return }
        settings.changeTokenUpdatedBlock?(next)
      }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      let last = last.withLock { $0 }
      settings.fetchDatabaseChangesCompletionBlock?(last?.token, last?.moreComing ?? false, error)
      if let error {
        settings.fetchDatabaseChangesResultBlock?(.failure(error))
      } else if let last {
        settings.fetchDatabaseChangesResultBlock?(.success((last.token, last.moreComing)))
      }
    }
  }
#endif
