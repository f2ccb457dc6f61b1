#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The subscriptions of a database, as they are kept: each an entry of its metadata, under a key that no application can set.
///
///     key    00 "subscription" 00 ID
///     value  JSON: {"since": the commit that saved it, "subscription": {…}}
///
/// One that cannot be read, because a later version saved it or its bytes are damaged, keeps none of the others from being read.
struct StoredSubscriptions: Sendable {
  /// Each batch of commits reads all of them.
  static let maximumCount = 1000
  /// Of the JSON of one.
  static let maximumByteCount = 1 << 16
  private static let prefix = "\u{0}subscription\u{0}"

  static func key(of id: Subscription.ID) -> String { prefix + id.name }

  struct Stored: Codable, Equatable, Sendable {
    /// It tells of commits after this one.
    let since: UInt64
    let subscription: Subscription
  }

  struct Entry: Sendable {
    let id: Subscription.ID
    let place: Place
    fileprivate let data: Data?
    let result: Result<Stored, DatabaseError>

    var stored: Stored? { try? result.get() }
  }

  /// By the bytes of their IDs.
  let entries: [Entry]

  var list: [Stored] { entries.compactMap(\.stored) }

  /// - Parameter last: what was read before: decoded once where nothing has changed.
  init(_ view: ReadView, last: StoredSubscriptions? = nil) throws(DatabaseError) {
    let known = Dictionary((last?.entries ?? []).map { ($0.id, $0) }) { first, _ in first }
    var entries: [Entry] = []
    for (key, place) in try Self.places(view) {
      let id = Subscription.ID(String(decoding: key.dropFirst(Self.prefix.utf8.count), as: UTF8.self))
      entries.append(try Self.entry(id, at: place, view, known[id]))
    }
    self.entries = entries
  }

  /// One of them; nil when there is none.
  static func entry(_ id: Subscription.ID, _ view: ReadView) throws(DatabaseError) -> Entry? {
    guard let place = try view.metadataPlace(forKey: key(of: id)) else { return nil }
    return try entry(id, at: place, view, nil)
  }

  private static func places(_ view: ReadView) throws(DatabaseError) -> [(key: [UInt8], place: Place)] {
    try view.metadataPlaces(withPrefix: Array(prefix.utf8), limit: maximumCount)
  }

  /// Whether there are more than a database takes: only a forged file has that, and those after the last are not read.
  static func hasTooMany(_ view: ReadView) throws(DatabaseError) -> Bool {
    try view.metadataPlaces(withPrefix: Array(prefix.utf8), limit: maximumCount + 1).count > maximumCount
  }

  /// - Throws: what says nothing of the bytes, as `ioFailed` does.
  private static func entry(
    _ id: Subscription.ID, at place: Place, _ view: ReadView, _ known: Entry?
  ) throws(DatabaseError) -> Entry {
    func unreadable(_ data: Data?, _ error: DatabaseError) -> Entry {
      Entry(id: id, place: place, data: data, result: .failure(error.adding { $0.name = id.name }))
    }
    func tooNew(_ cause: (any Error)? = nil) -> DatabaseError {
      DatabaseError(
        .formatTooNew, "The subscription was saved by a later version, or is damaged.", facts: .init(path: view.path),
        cause: cause)
    }
    // Many entries of a forged file may lead to one large value.
    guard Int(place.byteCount) <= maximumByteCount + 2048 else { return unreadable(nil, tooNew()) }
    let data: Data
    do throws(DatabaseError) { data = try view.metadata(at: place, key: key(of: id)) } catch {
      if error.code == .corrupted { return unreadable(nil, error) }
      throw error
    }
    if let known, known.data == data { return Entry(id: id, place: place, data: data, result: known.result) }
    do {
      let stored = try JSONDecoder().decode(Stored.self, from: data)
      guard stored.subscription.id == id else { return unreadable(data, tooNew()) }
      // Each key costs a text in each notification: a forged list would make many of few bytes.
      if !isMutant("read-any-keys"), let fault = stored.subscription.keyFault {
        return unreadable(data, tooNew(fault))
      }
      return Entry(id: id, place: place, data: data, result: .success(stored))
    } catch { return unreadable(data, tooNew(error)) }
  }

  /// Saves one in place of one with the same ID.
  static func save(_ subscription: Subscription, to context: WriteContext) throws(DatabaseError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let data: Data
    do { data = try encoder.encode(Stored(since: context.view.sequence, subscription: subscription)) } catch {
      throw DatabaseError(.invalidArguments, "A subscription cannot be written as JSON.", cause: error)
    }
    guard data.count <= maximumByteCount else {
      throw DatabaseError(
        .limitExceeded, "The subscription is too large.",
        facts: .init(name: subscription.id.name, size: data.count, limit: maximumByteCount))
    }
    let key = key(of: subscription.id)
    if try context.view.metadataPlace(forKey: key) == nil {
      let count = try places(context.view).count
      guard count < maximumCount else {
        throw DatabaseError(
          .limitExceeded, "The database has as many subscriptions as it may have.",
          facts: .init(name: subscription.id.name, size: count, limit: maximumCount))
      }
    }
    try context.setMetadata(data, forKey: key)
  }

  /// Deletes one, also one that cannot be read.
  static func delete(_ id: Subscription.ID, from context: WriteContext) throws(DatabaseError) {
    try context.setMetadata(nil, forKey: key(of: id))
  }

  /// The subscriptions to a zone and to queries in it, which go with it.
  static func ofZone(_ zone: Zone.ID, _ view: ReadView) throws(DatabaseError) -> [Stored] {
    try StoredSubscriptions(view).list.filter { stored in
      switch stored.subscription.target {
      case .query(let query): query.zone == zone
      case .zone(let own): own == zone
      case .database: false
      }
    }
  }
}

extension Transaction {
  /// Saves a subscription; one with the same ID is replaced. It tells of commits after this one.
  /// - Throws: `invalidArguments` for an ID that is empty or longer than 255 bytes, one that fires on nothing or on what is no
  ///   trigger, a query that the database does not take, and what the databases of a container do not have: a public one has
  ///   subscriptions to queries only, a shared one to the database only. `limitExceeded` for more than 1,000 subscriptions, one
  ///   of more than 65,536 bytes as JSON, and for more than 64 keys in a list of its ``Subscription/info`` or one of more than
  ///   255 bytes.
  public func save(_ subscription: Subscription) throws(DatabaseError) {
    try context.requireOpen()
    try subscription.check(context.view)
    try StoredSubscriptions.save(subscription, to: context)
  }

  /// Deletes a subscription, also one that cannot be read. Those to a zone, and to queries in it, go with the zone.
  /// - Throws: `unknownItem` when there is none.
  public func deleteSubscription(_ id: Subscription.ID) throws(DatabaseError) {
    try context.requireOpen()
    guard (1...255).contains(id.name.utf8.count), try context.view.metadataPlace(forKey: StoredSubscriptions.key(of: id)) != nil
    else { throw DatabaseError(.unknownItem, "There is no subscription of this ID.", facts: .init(name: id.name)) }
    try StoredSubscriptions.delete(id, from: context)
  }
}

extension RecordReader where Self: ~Copyable {
  /// All subscriptions that can be read, by ID. A check names those that cannot.
  public func subscriptions() throws(DatabaseError) -> [Subscription] {
    try reading { (view) throws(DatabaseError) in try StoredSubscriptions(view).list.map(\.subscription) }
  }

  /// The subscription of this ID; nil when there is none.
  /// - Throws: `formatTooNew` for one that a later version saved, `corrupted` for one whose bytes fail their checksum.
  public func subscription(_ id: Subscription.ID) throws(DatabaseError) -> Subscription? {
    guard (1...255).contains(id.name.utf8.count) else { return nil }
    return try reading { (view) throws(DatabaseError) in
      try StoredSubscriptions.entry(id, view)?.result.get().subscription
    }
  }
}

extension Database {
  /// All subscriptions that can be read, by ID. Off the caller's thread.
  public func subscriptions() async throws -> [Subscription] { try await queues.read { [self] in try subscriptions() } }

  /// The subscription of this ID; nil when there is none. Off the caller's thread.
  public func subscription(_ id: Subscription.ID) async throws -> Subscription? {
    try await queues.read { [self] in try subscription(id) }
  }

  /// Saves and deletes subscriptions in one commit, each with a result of its own. Of several of one ID the last is saved.
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
    // Each ID has one result, so only one of it is saved: of two, one might be and the other not.
    var last: [Subscription.ID: Int] = [:]
    for (index, subscription) in subscriptions.enumerated() { last[subscription.id] = index }
    var result = ModifySubscriptionsResult()
    for (index, subscription) in subscriptions.enumerated() where last[subscription.id] == index {
      do throws(DatabaseError) {
        try transaction.save(subscription)
        result.saved[subscription.id] = .success(subscription)
      } catch {
        if error.concernsWholeCommit { throw error }
        result.saved[subscription.id] = .failure(error)
      }
    }
    for id in ids where result.deleted[id] == nil {
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
      DatabaseError(.invalidArguments, sentence, facts: .init(name: id.name))
    }
    guard (1...255).contains(id.name.utf8.count) else { throw refusal("The ID of a subscription has 1 to 255 bytes of UTF-8.") }
    guard firesOn.isSubset(of: .all) else {
      throw DatabaseError(
        .invalidArguments, "A subscription fires on creation, update and deletion, and on nothing else.",
        facts: .init(name: id.name, found: "\(firesOn.rawValue)"))
    }
    if let keyFault { throw keyFault }
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

  /// Why the lists of keys are not taken; nil where they are. Each key of these makes a text of each notification.
  fileprivate var keyFault: DatabaseError? {
    let lists = [
      ("alertLocalizationArgs", info.alertLocalizationArgs), ("titleLocalizationArgs", info.titleLocalizationArgs),
      ("subtitleLocalizationArgs", info.subtitleLocalizationArgs), ("desiredKeys", info.desiredKeys),
    ]
    func refusal(_ sentence: String, _ list: String, _ size: Int, _ limit: Int) -> DatabaseError {
      DatabaseError(.limitExceeded, sentence, facts: .init(name: id.name, key: list, size: size, limit: limit))
    }
    for (list, keys) in lists {
      if keys.count > NotificationInfo.maximumKeyCount {
        return refusal("A subscription has too many keys in a list.", list, keys.count, NotificationInfo.maximumKeyCount)
      }
      for key in keys where key.utf8.count > NotificationInfo.maximumKeyByteCount {
        return refusal(
          "A key in a subscription is too long.", list, key.utf8.count, NotificationInfo.maximumKeyByteCount)
      }
    }
    return nil
  }
}
