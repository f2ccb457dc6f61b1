#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Finds records, a page at a time: record by record, then a cursor for the next page.
  public final class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    /// As many results as the database likes on a page.
    public static let maximumResults = 0
    static let defaultLimit = 100

    private struct Settings: Sendable {
      var query: CKQuery?
      var cursor: CKQueryOperation.Cursor?
      var zoneID: CKRecordZone.ID?
      var resultsLimit: Int = CKQueryOperation.maximumResults
      var desiredKeys: [CKRecord.FieldKey]?
      var recordFetchedBlock: (@Sendable (CKRecord) -> Void)?
      var queryCompletionBlock: (@Sendable (CKQueryOperation.Cursor?, (any Error)?) -> Void)?
      var recordMatchedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
      var queryResultBlock: (@Sendable (Result<CKQueryOperation.Cursor?, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// What to look for; nil when the operation goes on from a cursor.
    public var query: CKQuery? {
      get { settings.withLock { $0.query } }
      set { settings.withLock { $0.query = newValue } }
    }

    /// Where to go on; nil for the beginning.
    public var cursor: CKQueryOperation.Cursor? {
      get { settings.withLock { $0.cursor } }
      set { settings.withLock { $0.cursor = newValue } }
    }

    /// The zone to look in; nil for the default zone, and for all of a database in Daybook's own dialect.
    public var zoneID: CKRecordZone.ID? {
      get { settings.withLock { $0.zoneID } }
      set { settings.withLock { $0.zoneID = newValue } }
    }

    /// How many records at most; ``maximumResults`` leaves it to the database.
    public var resultsLimit: Int {
      get { settings.withLock { $0.resultsLimit } }
      set { settings.withLock { $0.resultsLimit = newValue } }
    }

    /// The only keys to fetch; nil for all.
    public var desiredKeys: [CKRecord.FieldKey]? {
      get { settings.withLock { $0.desiredKeys } }
      set { settings.withLock { $0.desiredKeys = newValue } }
    }

    /// Called with each record.
    @preconcurrency
    public var recordFetchedBlock: (@Sendable (CKRecord) -> Void)? {
      get { settings.withLock { $0.recordFetchedBlock } }
      set { settings.withLock { $0.recordFetchedBlock = newValue } }
    }

    /// Called at the end, with where the next page begins and what went wrong.
    @preconcurrency
    public var queryCompletionBlock: (@Sendable (CKQueryOperation.Cursor?, (any Error)?) -> Void)? {
      get { settings.withLock { $0.queryCompletionBlock } }
      set { settings.withLock { $0.queryCompletionBlock = newValue } }
    }

    /// Called with each record.
    @preconcurrency
    public var recordMatchedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
      get { settings.withLock { $0.recordMatchedBlock } }
      set { settings.withLock { $0.recordMatchedBlock = newValue } }
    }

    /// Called at the end, with where the next page begins or what went wrong.
    @preconcurrency
    public var queryResultBlock: (@Sendable (Result<CKQueryOperation.Cursor?, any Error>) -> Void)? {
      get { settings.withLock { $0.queryResultBlock } }
      set { settings.withLock { $0.queryResultBlock = newValue } }
    }

    private let next = Locked<Cursor?>(nil)

    /// An operation whose query or cursor is still to be set.
    public override init() { super.init() }

    /// Finds the first records.
    public convenience init(query: CKQuery) {
      self.init()
      self.query = query
    }

    /// Goes on from a place.
    public convenience init(cursor: Cursor) {
      self.init()
      self.cursor = cursor
    }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      guard let place = try settings.cursor ?? settings.query.map({ (query) throws(DatabaseError) in try Cursor(query) }) else {
        throw DatabaseError(.invalidArguments, "The operation needs a query or a cursor.")
      }
      let page = try database.page(
        of: place, in: settings.zoneID, desiredKeys: settings.desiredKeys, limit: settings.resultsLimit)
      for record in page.records {
        try checkCancellation()
        settings.recordFetchedBlock?(record)
        settings.recordMatchedBlock?(record.recordID, .success(record))
      }
      try checkCancellation()
      next.withLock { $0 = page.next }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      let next = next.withLock { $0 }
      settings.queryCompletionBlock?(error == nil ? next : nil, error)
      settings.queryResultBlock?(error.map { .failure($0) } ?? .success(next))
    }
  }
#endif
