#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Subscriptions: requests with completion handlers and those that are awaited.
  extension CKDatabase {
    /// Saves a subscription; one of the same name is replaced.
    @preconcurrency
    public func save(
      _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try save(subscription) } }

    /// Fetches a subscription.
    @preconcurrency
    public func fetch(
      withSubscriptionID subscriptionID: CKSubscription.ID,
      completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try fetchSubscription(subscriptionID) } }

    /// All subscriptions.
    @preconcurrency
    public func fetchAllSubscriptions(completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void) {
      answer(completionHandler) { [self] in try fetchSubscriptions(nil).map { try $0.result.get() } }
    }

    /// Deletes a subscription.
    @preconcurrency
    public func delete(
      withSubscriptionID subscriptionID: CKSubscription.ID,
      completionHandler: @escaping @Sendable (CKSubscription.ID?, (any Error)?) -> Void
    ) { answer(completionHandler) { [self] in try delete(subscriptionID) } }

    /// Saves a subscription; one of the same name is replaced.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
      try await result { [self] in try save(subscription) }
    }

    /// Fetches a subscription.
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
      try await result { [self] in try fetchSubscription(subscriptionID) }
    }

    /// Fetches subscriptions, each with a result.
    public func subscriptions(
      for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
      try await result { [self] in
        Dictionary(try fetchSubscriptions(ids).map { ($0.id, $0.result) }) { first, _ in first }
      }
    }

    /// All subscriptions.
    public func allSubscriptions() async throws -> [CKSubscription] {
      try await result { [self] in try fetchSubscriptions(nil).map { try $0.result.get() } }
    }

    /// Deletes a subscription.
    @discardableResult
    public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
      try await result { [self] in try delete(subscriptionID) }
    }

    /// Saves and deletes subscriptions, each with a result. Of IDs that Swift takes for equal, as a composed and a decomposed "é",
    /// the dictionaries have one; ``CKModifySubscriptionsOperation`` tells each.
    public func modifySubscriptions(
      saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
      saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
      deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
      try await result { [self] in
        let done = try changeSubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
        return (
          Dictionary(done.saves.map { ($0.subscription.subscriptionID, $0.result) }) { _, last in last },
          Dictionary(done.deletes.map { ($0.id, $0.result) }) { first, _ in first }
        )
      }
    }

    // MARK: what they do alike, on the thread that they chose

    /// Subscriptions by name, each with a result; nil for all.
    func fetchSubscriptions(
      _ ids: [CKSubscription.ID]?
    ) throws(DatabaseError) -> [(id: CKSubscription.ID, result: Result<CKSubscription, any Error>)] {
      let database = try daybookDatabase()
      guard let ids else { return try database.subscriptions().map { ($0.id.name, .success(CKSubscription.from($0))) } }
      return ids.map { id in
        do throws(DatabaseError) {
          if let known = try database.subscription(.init(id)) { return (id, .success(CKSubscription.from(known))) }
          throw DatabaseError(.unknownItem, "There is no subscription of this ID.", facts: .init(name: id))
        } catch { return (id, .failure(CKError(error))) }
      }
    }

    private func fetchSubscription(_ id: CKSubscription.ID) throws -> CKSubscription {
      try fetchSubscriptions([id])[0].result.get()
    }

    private func save(_ subscription: CKSubscription) throws -> CKSubscription {
      try changeSubscriptions(saving: [subscription], deleting: []).saves[0].result.get()
    }

    private func delete(_ id: CKSubscription.ID) throws -> CKSubscription.ID {
      try changeSubscriptions(saving: [], deleting: [id]).deletes[0].result.get()
      return id
    }

    /// What became of subscriptions that were to be saved and deleted, in order.
    struct SubscriptionModification: Sendable {
      var saves: [(subscription: CKSubscription, result: Result<CKSubscription, any Error>)] = []
      var deletes: [(id: CKSubscription.ID, result: Result<Void, any Error>)] = []

      /// The error of the whole request; nil when every item succeeded.
      var error: CKError? {
        var errors: [CKSubscription.ID: CKError] = [:]
        for (subscription, result) in saves {
          if let error = result.failure { errors[subscription.subscriptionID] = CKError(any: error) }
        }
        for (id, result) in deletes { if let error = result.failure { errors[id] = CKError(any: error) } }
        return errors.isEmpty ? nil : CKError(subscriptions: errors)
      }
    }

    /// Saves and deletes subscriptions in one commit.
    func changeSubscriptions(
      saving subscriptions: [CKSubscription], deleting ids: [CKSubscription.ID]
    ) throws(DatabaseError) -> SubscriptionModification {
      var refused: [Int: DatabaseError] = [:]
      var sound: [Subscription] = []
      for (index, subscription) in subscriptions.enumerated() {
        do throws(DatabaseError) { sound.append(try subscription.daybookSubscription()) } catch { refused[index] = error }
      }
      let result = try daybookDatabase().modifySubscriptions(saving: sound, deleting: ids.map { .init($0) })
      var answer = SubscriptionModification()
      for (index, subscription) in subscriptions.enumerated() {
        let saved =
          refused[index].map { .failure($0) } ?? result.saved[.init(subscription.subscriptionID)]
          ?? .failure(DatabaseError(.internalError))
        answer.saves.append((subscription, saved.map { _ in subscription }.mapError { CKError($0) as any Error }))
      }
      for id in ids {
        let deleted = result.deleted[.init(id)] ?? .failure(DatabaseError(.internalError))
        answer.deletes.append((id, deleted.mapError { CKError($0) as any Error }))
      }
      return answer
    }
  }
#endif
