/// A stored request to be told of changes: of records that a query finds, of a zone, or of the whole database.
///
/// ```swift
/// try database.write { transaction in
///   try transaction.save(
///     Subscription("new dramas", to: Query("Movie", where: .field("genre") == "Drama"), firesOn: .creation))
/// }
/// for await notification in database.notifications() { … }
/// ```
///
/// It is saved in the database, as records are: in a transaction, durable with its commit, and there again when the file is
/// opened. ``Database/notifications(excluding:)`` tells of what it asks for. Saving another one with the same ID replaces it.
public struct Subscription: Hashable, Sendable, Identifiable {
  /// What is watched.
  public enum Target: Hashable, Sendable {
    /// Records of a type that a predicate accepts. Order and limit of the query mean nothing here; without a zone it is all zones,
    /// in ``Dialect/cloudKit`` too.
    case query(Query)
    /// All that changes in a zone.
    case zone(Zone.ID)
    /// All that changes in any zone but the default one, as in ``Database/databaseChanges(since:limit:)``.
    case database
  }

  /// Which changes of its records a query asks for.
  public struct Trigger: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Triggers of these bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A record is made that the predicate accepts.
    public static let creation = Trigger(rawValue: 1)
    /// A record is changed, and the predicate accepts it as it is then.
    public static let update = Trigger(rawValue: 2)
    /// A record is deleted that the predicate accepted. Also, once, when a zone is deleted that had records of the type: which of them
    /// the predicate accepted is not known then. Without a type every deletion of a zone counts.
    public static let deletion = Trigger(rawValue: 4)
    /// All of them.
    public static let all: Trigger = [.creation, .update, .deletion]
  }

  /// Its name: there is one subscription of each.
  public let id: ID
  /// What is watched.
  public var target: Target
  /// Of a zone or the database: only records of this type; nil for all.
  public var recordType: String?
  /// Of a query: which changes of its records. At least one.
  public var firesOn: Trigger
  /// Of a query: whether it is deleted when it has fired.
  public var firesOnce: Bool
  /// What a notification shows and has with it.
  public var info: NotificationInfo

  /// To changes of records that a query finds.
  public init(
    _ id: ID, to query: Query, firesOn: Trigger = .all, firesOnce: Bool = false, info: NotificationInfo = .init()
  ) {
    self.init(id: id, target: .query(query), recordType: nil, firesOn: firesOn, firesOnce: firesOnce, info: info)
  }

  /// To all that changes in a zone.
  public init(_ id: ID, to zone: Zone.ID, recordType: String? = nil, info: NotificationInfo = .init()) {
    self.init(id: id, target: .zone(zone), recordType: recordType, firesOn: .all, firesOnce: false, info: info)
  }

  /// To all that changes in the database, but in the default zone.
  public init(toDatabase id: ID, recordType: String? = nil, info: NotificationInfo = .init()) {
    self.init(id: id, target: .database, recordType: recordType, firesOn: .all, firesOnce: false, info: info)
  }

  private init(
    id: ID, target: Target, recordType: String?, firesOn: Trigger, firesOnce: Bool, info: NotificationInfo
  ) {
    self.id = id
    self.target = target
    self.recordType = recordType
    self.firesOn = firesOn
    self.firesOnce = firesOnce
    self.info = info
  }
}

extension Subscription {
  /// What a notification shows to people, and what it has with it. The database only hands it on.
  public struct NotificationInfo: Hashable, Codable, Sendable {
    /// Keys in one of its lists.
    static let maximumKeyCount = 64
    /// Bytes of one of them: no field has a longer one.
    static let maximumKeyByteCount = 255

    /// The text.
    public var alertBody: String?
    /// The key of a localized text, and the fields whose values are put into it.
    public var alertLocalizationKey: String?
    /// The fields whose values are put into the localized text.
    public var alertLocalizationArgs: [String] = []
    /// The title.
    public var title: String?
    /// The key of a localized title.
    public var titleLocalizationKey: String?
    /// The fields whose values are put into the localized title.
    public var titleLocalizationArgs: [String] = []
    /// The subtitle.
    public var subtitle: String?
    /// The key of a localized subtitle.
    public var subtitleLocalizationKey: String?
    /// The fields whose values are put into the localized subtitle.
    public var subtitleLocalizationArgs: [String] = []
    /// The sound.
    public var soundName: String?
    /// The image that is shown while the application starts.
    public var alertLaunchImage: String?
    /// The fields that a notification of a record has with it.
    public var desiredKeys: [String] = []
    /// Whether the number at the application's icon goes up.
    public var shouldBadge = false
    /// Whether the application is told in the background, and people are shown nothing for that.
    public var shouldSendContentAvailable = false
    /// Whether an extension of the application may change what is shown.
    public var shouldSendMutableContent = false
    /// The category of actions.
    public var category: String?
    /// Notifications with the same one replace each other.
    public var collapseIDKey: String?

    /// Nothing is shown, and nothing goes with it.
    public init() {}
  }
}

extension Subscription: Codable {
  private enum CodingKeys: String, CodingKey { case id, query, zone, recordType, firesOn, firesOnce, info }

  /// Reads what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let target: Target =
      if let query = try container.decodeIfPresent(Query.self, forKey: .query) {
        .query(query)
      } else if let zone = try container.decodeIfPresent(Zone.ID.self, forKey: .zone) {
        .zone(zone)
      } else {
        .database
      }
    self.init(
      id: try container.decode(ID.self, forKey: .id), target: target,
      recordType: try container.decodeIfPresent(String.self, forKey: .recordType),
      firesOn: Trigger(rawValue: try container.decode(Int.self, forKey: .firesOn)),
      firesOnce: try container.decode(Bool.self, forKey: .firesOnce),
      info: try container.decode(NotificationInfo.self, forKey: .info))
  }

  /// Encodes the query or the zone, and what goes with it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    switch target {
    case .query(let query): try container.encode(query, forKey: .query)
    case .zone(let zone): try container.encode(zone, forKey: .zone)
    case .database: break
    }
    try container.encodeIfPresent(recordType, forKey: .recordType)
    try container.encode(firesOn.rawValue, forKey: .firesOn)
    try container.encode(firesOnce, forKey: .firesOnce)
    try container.encode(info, forKey: .info)
  }
}

/// Word that a subscription has fired. It is a hint: several changes may be one notification, and what changed is told by
/// ``Database/changes(in:since:limit:desiredKeys:)`` with the token of the last look.
public struct SubscriptionNotification: Hashable, Sendable {
  /// What has happened to a record.
  public enum Reason: String, Hashable, Codable, Sendable {
    /// It was made.
    case created
    /// It was changed.
    case updated
    /// It was deleted.
    case deleted
  }

  /// What is known of the change.
  public enum Content: Hashable, Sendable {
    /// Of a query: a record, with those of the desired fields that it has. It has no ID where it went with its zone.
    case record(Reason, Record.ID?, fields: [String: Record.Value])
    /// Of a zone: something in it.
    case zone(Zone.ID)
    /// Of the database: something in it.
    case database
    /// Something that may concern the subscription, of which nothing is known here: commits of another process, too many for a
    /// slow consumer, or one that changed too much. Fetch changes.
    case missed
  }

  /// The subscription that has fired.
  public let subscription: Subscription
  /// What is known of the change.
  public let content: Content
  /// The last commit that it tells of; nil where that is not known.
  public let sequence: UInt64?
  /// The values that are put into the localized text, as texts; empty ones for fields that the record does not have.
  public let alertLocalizationArgs: [String]
  /// The values that are put into the localized title.
  public let titleLocalizationArgs: [String]
  /// The values that are put into the localized subtitle.
  public let subtitleLocalizationArgs: [String]

  /// - Parameter record: what the fields are of.
  init(_ subscription: Subscription, _ content: Content, sequence: UInt64?, of record: Record? = nil) {
    self.subscription = subscription
    self.content = content
    self.sequence = sequence
    // A key that is there again shares its text.
    var made: [String: String] = [:]
    func texts(_ keys: [String]) -> [String] {
      keys.map { key in
        if let text = made[key] { return text }
        let text = record?[key].map(Self.text) ?? ""
        made[key] = text
        return text
      }
    }
    alertLocalizationArgs = texts(subscription.info.alertLocalizationArgs)
    titleLocalizationArgs = texts(subscription.info.titleLocalizationArgs)
    subtitleLocalizationArgs = texts(subscription.info.subtitleLocalizationArgs)
  }

  private static func text(_ value: Record.Value) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    default: value.description
    }
  }
}

/// What became of each subscription of a modification.
public struct ModifySubscriptionsResult: Sendable {
  /// The saves by ID.
  public var saved: [Subscription.ID: Result<Subscription, DatabaseError>] = [:]
  /// The deletions by ID.
  public var deleted: [Subscription.ID: Result<Void, DatabaseError>] = [:]

  /// The outcomes of a modification.
  public init() {}

  /// The errors of all subscriptions that failed.
  public var errors: [Subscription.ID: DatabaseError] {
    var errors: [Subscription.ID: DatabaseError] = [:]
    for (id, result) in saved { if case .failure(let error) = result { errors[id] = error } }
    for (id, result) in deleted { if case .failure(let error) = result { errors[id] = error } }
    return errors
  }
}
