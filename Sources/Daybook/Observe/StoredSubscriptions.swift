#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The subscriptions of a database, as they are kept: one entry of its metadata, under a key that no application can set.
///
///     key    00 "subscriptions"
///     value  JSON: [{"since": the commit that saved it, "subscription": {…}}], by ID
struct StoredSubscriptions: Sendable {
  static let key = "\u{0}subscriptions"

  struct Stored: Codable, Equatable, Sendable {
    /// It tells of commits after this one.
    let since: UInt64
    let subscription: Subscription
  }

  private(set) var list: [Stored] = []
  /// What they were read from.
  private var data: Data?

  /// - Parameter last: what was read before: taken where nothing has changed.
  init(_ view: ReadView, last: StoredSubscriptions? = nil) throws(DatabaseError) {
    guard let data = try view.metadata(forKey: Self.key) else { return }
    if let last, last.data == data {
      self = last
      return
    }
    self.data = data
    do { list = try JSONDecoder().decode([Stored].self, from: data) } catch {
      throw DatabaseError(
        .formatTooNew, "The subscriptions were saved by a later version.", facts: .init(path: view.path), cause: error)
    }
  }

  func write(to context: WriteContext) throws(DatabaseError) {
    if list.isEmpty { return try context.setMetadata(nil, forKey: Self.key) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let data: Data
    do { data = try encoder.encode(list) } catch {
      throw DatabaseError(.invalidArguments, "A subscription cannot be written as JSON.", cause: error)
    }
    try context.setMetadata(data, forKey: Self.key)
  }

  mutating func save(_ subscription: Subscription, since: UInt64) {
    list.removeAll { $0.subscription.id == subscription.id }
    let index = list.firstIndex { subscription.id < $0.subscription.id } ?? list.count
    list.insert(Stored(since: since, subscription: subscription), at: index)
  }

  /// Returns whether it was there.
  mutating func delete(_ id: Subscription.ID) -> Bool {
    let count = list.count
    list.removeAll { $0.subscription.id == id }
    return list.count < count
  }
}

extension Transaction {
  /// Saves a subscription; one with the same ID is replaced. It tells of commits after this one.
  /// - Throws: `invalidArguments` for an ID that is empty or longer than 255 bytes, one that fires on nothing, a query that
  ///   the database does not take, and what the databases of a container do not have: a public one has subscriptions to queries
  ///   only, a shared one to the database only.
  public func save(_ subscription: Subscription) throws(DatabaseError) {
    try context.requireOpen()
    try subscription.check(context.view)
    var stored = try StoredSubscriptions(context.view)
    stored.save(subscription, since: context.view.sequence)
    try stored.write(to: context)
  }

  /// Deletes a subscription.
  /// - Throws: `unknownItem` when there is none.
  public func deleteSubscription(_ id: Subscription.ID) throws(DatabaseError) {
    try context.requireOpen()
    var stored = try StoredSubscriptions(context.view)
    guard stored.delete(id) else {
      throw DatabaseError(.unknownItem, "There is no subscription of this ID.", facts: .init(name: id))
    }
    try stored.write(to: context)
  }
}

extension RecordReader where Self: ~Copyable {
  /// All subscriptions, by ID.
  public func subscriptions() throws(DatabaseError) -> [Subscription] {
    try reading { (view) throws(DatabaseError) in try StoredSubscriptions(view).list.map(\.subscription) }
  }
}

extension Database {
  /// All subscriptions, by ID. Off the caller's thread.
  public func subscriptions() async throws -> [Subscription] { try await queues.read { [self] in try subscriptions() } }

  /// Saves and deletes subscriptions in one commit, each with a result of its own.
  @discardableResult
  public func modifySubscriptions(
    saving subscriptions: [Subscription], deleting ids: [Subscription.ID] = []
  ) throws(DatabaseError) -> ModifySubscriptionsResult {
    try DatabaseError.only { try write { try modifySubscriptions($0, subscriptions, ids) } }
  }

  /// Saves and deletes subscriptions in one commit, each with a result of its own. Off the caller's thread.
  @discardableResult
  public func modifySubscriptions(
    saving subscriptions: [Subscription], deleting ids: [Subscription.ID] = []
  ) async throws -> ModifySubscriptionsResult {
    try await write { [self] in try modifySubscriptions($0, subscriptions, ids) }
  }

  private func modifySubscriptions(
    _ transaction: borrowing Transaction, _ subscriptions: [Subscription], _ ids: [Subscription.ID]
  ) throws(DatabaseError) -> ModifySubscriptionsResult {
    var result = ModifySubscriptionsResult()
    for subscription in subscriptions {
      do throws(DatabaseError) {
        try transaction.save(subscription)
        result.saved[subscription.id] = .success(subscription)
      } catch {
        if error.concernsWholeCommit { throw error }
        result.saved[subscription.id] = .failure(error)
      }
    }
    for id in ids {
      do throws(DatabaseError) {
        try transaction.deleteSubscription(id)
        result.deleted[id] = .success(())
      } catch {
        if error.concernsWholeCommit { throw error }
        result.deleted[id] = .failure(error)
      }
    }
    return result
  }
}

extension Subscription {
  /// Throws what a database does not take.
  fileprivate func check(_ view: ReadView) throws(DatabaseError) {
    func refusal(_ sentence: String) -> DatabaseError {
      DatabaseError(.invalidArguments, sentence, facts: .init(name: id))
    }
    guard (1...255).contains(id.utf8.count) else { throw refusal("The ID of a subscription has 1 to 255 bytes of UTF-8.") }
    let scope = view.database.scope
    switch target {
    case .query(let query):
      if firesOn.isDisjoint(with: .all) { throw refusal("A subscription to a query fires on creation, update or deletion.") }
      if scope == .shared { throw refusal("A shared database has no subscriptions to queries.") }
      _ = try view.prepare(query)
    case .zone(let zone):
      if scope == .public || scope == .shared { throw refusal("Only a private database has subscriptions to zones.") }
      _ = try view.existingZone(zone)
    case .database:
      if scope == .public { throw refusal("A public database has no subscriptions to all of it.") }
    }
    if let recordType, let fault = NameRules.faultOfType(recordType, isNew: false) { throw fault }
  }
}
