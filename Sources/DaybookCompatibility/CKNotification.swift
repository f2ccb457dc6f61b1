#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Word that a subscription has fired: a hint, several changes may be one. What changed is told by fetching changes.
  ///
  /// Here it comes from ``CKDatabase/daybookNotifications(excluding:)``. Code that takes the dictionary of a push gets it from
  /// ``userInfo``.
  public class CKNotification: NSObject, FromUserInfo, @unchecked Sendable {
    /// What the subscription watches.
    public enum NotificationType: Int, Sendable {
      /// Records that a query finds: a ``CKQueryNotification``.
      case query = 1
      /// A zone: a ``CKRecordZoneNotification``.
      case recordZone = 2
      /// No notification here has this type.
      case readNotification = 3
      /// A database: a ``CKDatabaseNotification``.
      case database = 4
    }

    /// Where a notification comes from.
    struct Place: Sendable {
      let scope: CKDatabase.Scope
      let containerIdentifier: String?
      let userRecordName: String?
    }

    private let notification: SubscriptionNotification
    private let place: Place

    fileprivate init(_ notification: SubscriptionNotification, _ place: Place) {
      self.notification = notification
      self.place = place
    }

    /// Of changes of a query's records of which nothing is known the database is told: they are in it somewhere.
    static func from(_ notification: SubscriptionNotification, _ place: Place) -> CKNotification {
      switch (notification.content, notification.subscription.target) {
      case (.record, _): CKQueryNotification(notification, place)
      case (.zone(let zone), _), (.missed, .zone(let zone)): CKRecordZoneNotification(notification, place, zone)
      case (.database, _), (.missed, _): CKDatabaseNotification(notification, place)
      }
    }

    fileprivate var info: Subscription.NotificationInfo { notification.subscription.info }
    fileprivate final var content: SubscriptionNotification.Content { notification.content }

    /// The same under Daybook's names.
    public final var daybookNotification: SubscriptionNotification { notification }

    /// What has changed: of which class this is.
    public var notificationType: NotificationType { .database }
    /// The subscription that has fired.
    public final var subscriptionID: CKSubscription.ID? { notification.subscription.id.name }
    /// The container of the database; nil for a database that was opened by itself.
    public final var containerIdentifier: String? { place.containerIdentifier }
    /// The user whose subscription it is; nil for a database that was opened by itself.
    public final var subscriptionOwnerUserRecordID: CKRecord.ID? {
      place.userRecordName.map { CKRecord.ID(recordName: $0) }
    }
    /// Which of a container's databases has changed.
    public final var databaseScope: CKDatabase.Scope { place.scope }
    /// Whether the records that a query asked for are not told: too much has changed, or another process has changed it.
    public final var isPruned: Bool {
      if case (.missed, .query) = (content, notification.subscription.target) { true } else { false }
    }

    // MARK: what is shown

    /// The text.
    public final var alertBody: String? { info.alertBody }
    /// The key of a localized text.
    public final var alertLocalizationKey: String? { info.alertLocalizationKey }
    /// What is put into the localized text: the values of the record's fields.
    public final var alertLocalizationArgs: [String]? { Self.some(notification.alertLocalizationArgs) }
    /// The title.
    public final var title: String? { info.title }
    /// The key of a localized title.
    public final var titleLocalizationKey: String? { info.titleLocalizationKey }
    /// What is put into the localized title.
    public final var titleLocalizationArgs: [String]? { Self.some(notification.titleLocalizationArgs) }
    /// The subtitle.
    public final var subtitle: String? { info.subtitle }
    /// The key of a localized subtitle.
    public final var subtitleLocalizationKey: String? { info.subtitleLocalizationKey }
    /// What is put into the localized subtitle.
    public final var subtitleLocalizationArgs: [String]? { Self.some(notification.subtitleLocalizationArgs) }
    /// The image that is shown while the application starts.
    public final var alertLaunchImage: String? { info.alertLaunchImage }
    /// The sound.
    public final var soundName: String? { info.soundName }
    /// The category of actions.
    public final var category: String? { info.category }

    private static func some(_ texts: [String]) -> [String]? { texts.isEmpty ? nil : texts }

    // MARK: the dictionary of a push

    fileprivate static let key = "daybook.notification"

    /// What a handler of pushes takes, for ``init(fromRemoteNotificationDictionary:)``; of use in this process only.
    public final var userInfo: [AnyHashable: Any] { [Self.key: self] }

    /// Class and subscription.
    public override var description: String { "<\(type(of: self)): \(notification.subscription.id)>" }
  }

  /// Initialisers that give an object that is there already, of whichever class it is: only those of protocols can.
  public protocol FromUserInfo {}

  extension FromUserInfo where Self: CKNotification {
    /// The notification of a dictionary that ``CKNotification/userInfo`` has made; nil for any other, and one of another class.
    public init?(fromRemoteNotificationDictionary userInfo: [AnyHashable: Any]) {
      guard let known = userInfo[CKNotification.key] as? Self else { return nil }
      self = known
    }
  }

  /// Records that a query finds have changed.
  public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// What has happened to a record.
    public enum Reason: Int, Sendable {
      /// It was made.
      case recordCreated = 1
      /// It was changed.
      case recordUpdated = 2
      /// It was deleted.
      case recordDeleted = 3
    }

    /// The type: a query.
    public override var notificationType: NotificationType { .query }

    /// What has happened.
    public var queryNotificationReason: Reason {
      guard case .record(let reason, _, _) = content else { return .recordUpdated }
      return switch reason {
      case .created: .recordCreated
      case .updated: .recordUpdated
      case .deleted: .recordDeleted
      }
    }

    /// The record; nil when all of its zone went.
    public var recordID: CKRecord.ID? {
      if case .record(_, let id, _) = content { id.map { CKRecord.ID($0) } } else { nil }
    }

    /// Those of the desired fields that the record has; nil when none were asked for.
    public var recordFields: [String: any CKRecordValueProtocol]? {
      guard case .record(_, _, let fields) = content, !info.desiredKeys.isEmpty else { return nil }
      return fields.compactMapValues(\.object)
    }
  }

  /// Something in a zone has changed.
  public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The zone.
    public let recordZoneID: CKRecordZone.ID?

    fileprivate init(_ notification: SubscriptionNotification, _ place: Place, _ zone: Zone.ID) {
      recordZoneID = CKRecordZone.ID(zone)
      super.init(notification, place)
    }

    /// The type: a zone.
    public override var notificationType: NotificationType { .recordZone }
  }

  /// Something in a database has changed.
  public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {}

  /// The name before Swift 4.2.
  public typealias CKNotificationType = CKNotification.NotificationType
  /// The name before Swift 4.2.
  public typealias CKQueryNotificationReason = CKQueryNotification.Reason

  extension CKDatabase {
    /// What the subscriptions tell of from now on. CloudKit sends it as pushes; what a handler of pushes takes is
    /// ``CKNotification/userInfo``. Ask for a stream for each loop. It ends with the database.
    /// - Parameter origin: commits of this origin are left out. CloudKit leaves those of the same device out.
    /// - Throws: why the database cannot be opened.
    public func daybookNotifications(
      excluding origin: Origin? = nil
    ) throws(DatabaseError) -> AsyncMapSequence<AsyncStream<SubscriptionNotification>, CKNotification> {
      let place = CKNotification.Place(
        scope: databaseScope, containerIdentifier: containerIdentifier, userRecordName: try userRecordName())
      return try daybookDatabase().notifications(excluding: origin).map { CKNotification.from($0, place) }
    }
  }
#endif
