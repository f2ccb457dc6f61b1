#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// A lasting wish to be told of changes, saved in a database as records are. What it tells comes from
  /// ``CKDatabase/daybookNotifications(excluding:)``.
  ///
  /// One is made as a ``CKQuerySubscription``, ``CKRecordZoneSubscription`` or ``CKDatabaseSubscription``.
  public class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// The name of a subscription: a database has one of each.
    public typealias ID = String
    /// What a notification shows, and what it has with it.
    public typealias NotificationInfo = CKNotificationInfo

    /// What is watched.
    public enum SubscriptionType: Int, Sendable {
      /// Records that a query finds.
      case query = 1
      /// All of a zone.
      case recordZone = 2
      /// All of a database.
      case database = 3
    }

    /// The name.
    public final let subscriptionID: ID
    private let info: Locked<NotificationInfo?>

    fileprivate init(_ subscriptionID: ID, _ info: NotificationInfo? = nil) {
      self.subscriptionID = subscriptionID
      self.info = Locked(info?.copied)
    }

    /// Another object for the same Daybook subscription.
    public static func from(_ subscription: Subscription) -> CKSubscription {
      switch subscription.target {
      case .query(let query): CKQuerySubscription(subscription, query)
      case .zone(let zone): CKRecordZoneSubscription(subscription, zone)
      case .database: CKDatabaseSubscription(subscription)
      }
    }

    /// The same for Daybook.
    /// - Throws: `invalidArguments` for a predicate or a zone that is none.
    public func daybookSubscription() throws(DatabaseError) -> Subscription {
      throw DatabaseError(.invalidArguments, "A subscription is to a query, a zone or a database.")
    }

    /// What is watched.
    public var subscriptionType: SubscriptionType { .database }

    /// What a notification shows, and what it has with it. Setting it takes a copy.
    public final var notificationInfo: NotificationInfo? {
      get { info.withLock { $0 } }
      set {
        let new = newValue?.copied
        info.withLock { $0 = new }
      }
    }

    fileprivate final var daybookInfo: Subscription.NotificationInfo { notificationInfo?.daybookInfo ?? .init() }

    // MARK: what objects do

    /// Another subscription of the same name, to the same.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Type and name.
    public override var description: String { "<\(type(of: self)): \(subscriptionID)>" }

    /// True.
    public class var supportsSecureCoding: Bool { true }

    /// Writes everything. Of a predicate that is none nothing is written, and there is nothing to read then.
    public final func encode(with coder: NSCoder) {
      guard let known = try? daybookSubscription(), let data = try? JSONEncoder().encode(known) else { return }
      coder.encode(data as NSData, forKey: "daybook.subscription")
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public required init?(coder: NSCoder) {
      guard let known = Self.archived(coder) else { return nil }
      subscriptionID = known.id.name
      info = Locked(NotificationInfo(known.info))
    }

    fileprivate static func archived(_ coder: NSCoder) -> Subscription? {
      coder.bytes(forKey: "daybook.subscription").flatMap { try? JSONDecoder().decode(Subscription.self, from: $0) }
    }
  }

  /// A subscription to changes of the records that a query finds.
  public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// Which changes.
    public struct Options: OptionSet, Hashable, Sendable {
      /// The bits.
      public let rawValue: UInt
      /// Options of these bits.
      public init(rawValue: UInt) { self.rawValue = rawValue }

      /// A record is made.
      public static let firesOnRecordCreation = Options(rawValue: 1)
      /// A record is changed.
      public static let firesOnRecordUpdate = Options(rawValue: 2)
      /// A record is deleted.
      public static let firesOnRecordDeletion = Options(rawValue: 4)
      /// The subscription is deleted when it has fired.
      public static let firesOnce = Options(rawValue: 8)
    }

    /// The type of the records.
    public let recordType: CKRecord.RecordType
    /// Which of them.
    public let predicate: NSPredicate
    /// Which changes.
    public let querySubscriptionOptions: Options
    private let zone = Locked<CKRecordZone.ID?>(nil)
    /// Records of every type, which only Daybook's own subscriptions watch; the type is empty then.
    private let isOfAllTypes: Bool

    /// The only zone; nil for all zones of the database.
    public var zoneID: CKRecordZone.ID? {
      get { zone.withLock { $0 } }
      set { zone.withLock { $0 = newValue } }
    }

    /// A subscription of a random name.
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate, options: Options = []) {
      self.init(recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString, options: options)
    }

    /// A subscription. One that fires on nothing is refused when it is saved, with `invalidArguments`.
    public init(
      recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID, options: Options = []
    ) {
      self.recordType = recordType
      self.predicate = predicate
      querySubscriptionOptions = options
      isOfAllTypes = false
      super.init(subscriptionID)
    }

    fileprivate init(_ subscription: Subscription, _ query: Query) {
      recordType = query.recordType ?? ""
      isOfAllTypes = query.recordType == nil
      predicate = NSPredicate(query.predicate)
      // Bits that are no trigger are none here either: the next one would be `firesOnce`.
      var options = Options(rawValue: UInt(subscription.firesOn.intersection(.all).rawValue))
      if subscription.firesOnce { options.insert(.firesOnce) }
      querySubscriptionOptions = options
      super.init(subscription.id.name, NotificationInfo(subscription.info))
      zoneID = query.zone.map { CKRecordZone.ID($0) }
    }

    /// What is watched: records that a query finds.
    public override var subscriptionType: SubscriptionType { .query }

    /// The same for Daybook.
    public override func daybookSubscription() throws(DatabaseError) -> Subscription {
      var query = Query(recordType, where: try predicate.daybookPredicate())
      if isOfAllTypes { query.recordType = nil }
      if let zoneID { query.zone = try zoneID.daybookID }
      return Subscription(
        .init(subscriptionID), to: query, firesOn: .init(rawValue: Int(querySubscriptionOptions.rawValue & 7)),
        firesOnce: querySubscriptionOptions.contains(.firesOnce), info: daybookInfo)
    }

    /// Another subscription of the same name, to the same.
    public override func copy(with zone: NSZone? = nil) -> Any {
      if isOfAllTypes, let known = try? daybookSubscription() { return CKSubscription.from(known) }
      let copy = CKQuerySubscription(
        recordType: recordType, predicate: predicate, subscriptionID: subscriptionID, options: querySubscriptionOptions)
      copy.zoneID = zoneID
      copy.notificationInfo = notificationInfo
      return copy
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public required convenience init?(coder: NSCoder) {
      guard let known = Self.archived(coder), case .query(let query) = known.target else { return nil }
      self.init(known, query)
    }
  }

  /// A subscription to all that changes in a zone.
  public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    /// The zone.
    public let zoneID: CKRecordZone.ID
    private let type = Locked<CKRecord.RecordType?>(nil)

    /// The only type of records; nil for all.
    public var recordType: CKRecord.RecordType? {
      get { type.withLock { $0 } }
      set { type.withLock { $0 = newValue } }
    }

    /// A subscription of a random name.
    public convenience init(zoneID: CKRecordZone.ID) { self.init(zoneID: zoneID, subscriptionID: UUID().uuidString) }

    /// A subscription.
    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
      self.zoneID = zoneID
      super.init(subscriptionID)
    }

    fileprivate init(_ subscription: Subscription, _ zone: Zone.ID) {
      zoneID = CKRecordZone.ID(zone)
      super.init(subscription.id.name, NotificationInfo(subscription.info))
      recordType = subscription.recordType
    }

    /// What is watched: a zone.
    public override var subscriptionType: SubscriptionType { .recordZone }

    /// The same for Daybook.
    public override func daybookSubscription() throws(DatabaseError) -> Subscription {
      Subscription(.init(subscriptionID), to: try zoneID.daybookID, recordType: recordType, info: daybookInfo)
    }

    /// Another subscription of the same name, to the same.
    public override func copy(with zone: NSZone? = nil) -> Any {
      let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
      copy.recordType = recordType
      copy.notificationInfo = notificationInfo
      return copy
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public required convenience init?(coder: NSCoder) {
      guard let known = Self.archived(coder), case .zone(let zone) = known.target else { return nil }
      self.init(known, zone)
    }
  }

  /// A subscription to all that changes in a database, but for its default zone.
  public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    private let type = Locked<CKRecord.RecordType?>(nil)

    /// The only type of records; nil for all.
    public var recordType: CKRecord.RecordType? {
      get { type.withLock { $0 } }
      set { type.withLock { $0 = newValue } }
    }

    /// A subscription of a random name.
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    /// A subscription.
    public init(subscriptionID: CKSubscription.ID) { super.init(subscriptionID) }

    fileprivate init(_ subscription: Subscription) {
      super.init(subscription.id.name, NotificationInfo(subscription.info))
      recordType = subscription.recordType
    }

    /// The same for Daybook.
    public override func daybookSubscription() throws(DatabaseError) -> Subscription {
      Subscription(toDatabase: .init(subscriptionID), recordType: recordType, info: daybookInfo)
    }

    /// Another subscription of the same name, to the same.
    public override func copy(with zone: NSZone? = nil) -> Any {
      let copy = CKDatabaseSubscription(subscriptionID: subscriptionID)
      copy.recordType = recordType
      copy.notificationInfo = notificationInfo
      return copy
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public required convenience init?(coder: NSCoder) {
      guard let known = Self.archived(coder), case .database = known.target else { return nil }
      self.init(known)
    }
  }

  /// The name before Swift 4.2.
  public typealias CKSubscriptionType = CKSubscription.SubscriptionType
  /// The name before Swift 4.2.
  public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options
#endif
