#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// Saves and deletes subscriptions.
  public final class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Settings: Sendable {
      var subscriptionsToSave: [CKSubscription]?
      var subscriptionIDsToDelete: [CKSubscription.ID]?
      var perSubscriptionSaveBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
      var perSubscriptionDeleteBlock: (@Sendable (CKSubscription.ID, Result<Void, any Error>) -> Void)?
      var modifySubscriptionsCompletionBlock: (@Sendable ([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
      var modifySubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The subscriptions to save; one of the same name is replaced.
    public var subscriptionsToSave: [CKSubscription]? {
      get { settings.withLock { $0.subscriptionsToSave } }
      set { settings.withLock { $0.subscriptionsToSave = newValue } }
    }

    /// The subscriptions to delete.
    public var subscriptionIDsToDelete: [CKSubscription.ID]? {
      get { settings.withLock { $0.subscriptionIDsToDelete } }
      set { settings.withLock { $0.subscriptionIDsToDelete = newValue } }
    }

    /// Called with each subscription that was to be saved.
    @preconcurrency
    public var perSubscriptionSaveBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
      get { settings.withLock { $0.perSubscriptionSaveBlock } }
      set { settings.withLock { $0.perSubscriptionSaveBlock = newValue } }
    }

    /// Called with each subscription that was to be deleted.
    @preconcurrency
    public var perSubscriptionDeleteBlock: (@Sendable (CKSubscription.ID, Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.perSubscriptionDeleteBlock } }
      set { settings.withLock { $0.perSubscriptionDeleteBlock = newValue } }
    }

    /// Called at the end, with what was saved and deleted and what went wrong.
    @preconcurrency
    public var modifySubscriptionsCompletionBlock: (@Sendable ([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    {
      get { settings.withLock { $0.modifySubscriptionsCompletionBlock } }
      set { settings.withLock { $0.modifySubscriptionsCompletionBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var modifySubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.modifySubscriptionsResultBlock } }
      set { settings.withLock { $0.modifySubscriptionsResultBlock = newValue } }
    }

    private let done = Locked(CKDatabase.SubscriptionModification())

    /// An operation whose subscriptions are still to be set.
    public override init() { super.init() }

    /// Saves and deletes subscriptions.
    public convenience init(
      subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
      self.init()
      self.subscriptionsToSave = subscriptionsToSave
      self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      let done = try database.changeSubscriptions(
        saving: settings.subscriptionsToSave ?? [], deleting: settings.subscriptionIDsToDelete ?? [])
      self.done.withLock { $0 = done }
      for (subscription, result) in done.saves { settings.perSubscriptionSaveBlock?(subscription.subscriptionID, result) }
      for (id, result) in done.deletes { settings.perSubscriptionDeleteBlock?(id, result) }
      if let error = done.error { throw error }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      let done = done.withLock { $0 }
      let saved = done.saves.compactMap { try? $0.result.get() }
      let deleted = done.deletes.filter { $0.result.failure == nil }.map(\.id)
      settings.modifySubscriptionsCompletionBlock?(saved, deleted, error)
      settings.modifySubscriptionsResultBlock?(Self.result(error))
    }
  }

  /// Fetches subscriptions.
  public final class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Settings: Sendable {
      var subscriptionIDs: [CKSubscription.ID]?
      var perSubscriptionResultBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
      var fetchSubscriptionCompletionBlock: (@Sendable ([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
      var fetchSubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    }

    private let settings = Locked(Settings())

    /// The subscriptions to fetch; nil for all.
    public var subscriptionIDs: [CKSubscription.ID]? {
      get { settings.withLock { $0.subscriptionIDs } }
      set { settings.withLock { $0.subscriptionIDs = newValue } }
    }

    /// Called with each subscription, or what went wrong.
    @preconcurrency
    public var perSubscriptionResultBlock: (@Sendable (CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
      get { settings.withLock { $0.perSubscriptionResultBlock } }
      set { settings.withLock { $0.perSubscriptionResultBlock = newValue } }
    }

    /// Called at the end, with the subscriptions that there are and what went wrong.
    @preconcurrency
    public var fetchSubscriptionCompletionBlock: (@Sendable ([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    {
      get { settings.withLock { $0.fetchSubscriptionCompletionBlock } }
      set { settings.withLock { $0.fetchSubscriptionCompletionBlock = newValue } }
    }

    /// Called at the end.
    @preconcurrency
    public var fetchSubscriptionsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)? {
      get { settings.withLock { $0.fetchSubscriptionsResultBlock } }
      set { settings.withLock { $0.fetchSubscriptionsResultBlock = newValue } }
    }

    private let found = Locked<[CKSubscription.ID: CKSubscription]>([:])

    /// Fetches all subscriptions.
    public override init() { super.init() }

    /// Fetches subscriptions by name.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
      self.init()
      self.subscriptionIDs = subscriptionIDs
    }

    /// Fetches all subscriptions.
    public class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation { CKFetchSubscriptionsOperation() }

    override func perform(_ database: CKDatabase) throws {
      let settings = settings.withLock { $0 }
      var errors: [CKSubscription.ID: CKError] = [:]
      for (id, result) in try database.fetchSubscriptions(settings.subscriptionIDs) {
        try checkCancellation()
        settings.perSubscriptionResultBlock?(id, result)
        switch result {
        case .success(let subscription): found.withLock { $0[id] = subscription }
        case .failure(let error): errors[id] = CKError(any: error)
        }
      }
      if !errors.isEmpty { throw CKError(subscriptions: errors) }
    }

    override func finish(_ error: CKError?) {
      let settings = settings.withLock { $0 }
      settings.fetchSubscriptionCompletionBlock?(found.withLock { $0 }, error)
      settings.fetchSubscriptionsResultBlock?(Self.result(error))
    }
  }
#endif
