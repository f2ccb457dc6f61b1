#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// What a notification shows to people, and what it has with it. The database only hands it on.
  public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let info: Locked<Subscription.NotificationInfo>

    /// Nothing is shown, and nothing goes with it.
    public override init() { info = Locked(.init()) }

    /// What is shown, and what goes with it.
    public convenience init(
      alertBody: String? = nil,
      alertLocalizationKey: String? = nil,
      alertLocalizationArgs: [CKRecord.FieldKey] = [],
      title: String? = nil,
      titleLocalizationKey: String? = nil,
      titleLocalizationArgs: [CKRecord.FieldKey] = [],
      subtitle: String? = nil,
      subtitleLocalizationKey: String? = nil,
      subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
      alertLaunchImage: String? = nil,
      soundName: String? = nil,
      desiredKeys: [CKRecord.FieldKey] = [],
      shouldBadge: Bool = false,
      shouldSendContentAvailable: Bool = false,
      shouldSendMutableContent: Bool = false,
      category: String? = nil,
      collapseIDKey: String? = nil
    ) {
      self.init()
      self.alertBody = alertBody
      self.alertLocalizationKey = alertLocalizationKey
      self.alertLocalizationArgs = alertLocalizationArgs
      self.title = title
      self.titleLocalizationKey = titleLocalizationKey
      self.titleLocalizationArgs = titleLocalizationArgs
      self.subtitle = subtitle
      self.subtitleLocalizationKey = subtitleLocalizationKey
      self.subtitleLocalizationArgs = subtitleLocalizationArgs
      self.alertLaunchImage = alertLaunchImage
      self.soundName = soundName
      self.desiredKeys = desiredKeys
      self.shouldBadge = shouldBadge
      self.shouldSendContentAvailable = shouldSendContentAvailable
      self.shouldSendMutableContent = shouldSendMutableContent
      self.category = category
      self.collapseIDKey = collapseIDKey
    }

    /// The same as Daybook has it; nil where nothing is said.
    convenience init?(_ info: Subscription.NotificationInfo) {
      if info == .init() { return nil }
      self.init()
      self.info.withLock { $0 = info }
    }

    /// The same for Daybook.
    var daybookInfo: Subscription.NotificationInfo { info.withLock { $0 } }

    /// The text.
    public var alertBody: String? {
      get { info.withLock { $0.alertBody } }
      set { info.withLock { $0.alertBody = newValue } }
    }

    /// The key of a localized text.
    public var alertLocalizationKey: String? {
      get { info.withLock { $0.alertLocalizationKey } }
      set { info.withLock { $0.alertLocalizationKey = newValue } }
    }

    /// The fields whose values are put into the localized text.
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
      get { info.withLock { $0.alertLocalizationArgs.isEmpty ? nil : $0.alertLocalizationArgs } }
      set { info.withLock { $0.alertLocalizationArgs = newValue ?? [] } }
    }

    /// The title.
    public var title: String? {
      get { info.withLock { $0.title } }
      set { info.withLock { $0.title = newValue } }
    }

    /// The key of a localized title.
    public var titleLocalizationKey: String? {
      get { info.withLock { $0.titleLocalizationKey } }
      set { info.withLock { $0.titleLocalizationKey = newValue } }
    }

    /// The fields whose values are put into the localized title.
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
      get { info.withLock { $0.titleLocalizationArgs.isEmpty ? nil : $0.titleLocalizationArgs } }
      set { info.withLock { $0.titleLocalizationArgs = newValue ?? [] } }
    }

    /// The subtitle.
    public var subtitle: String? {
      get { info.withLock { $0.subtitle } }
      set { info.withLock { $0.subtitle = newValue } }
    }

    /// The key of a localized subtitle.
    public var subtitleLocalizationKey: String? {
      get { info.withLock { $0.subtitleLocalizationKey } }
      set { info.withLock { $0.subtitleLocalizationKey = newValue } }
    }

    /// The fields whose values are put into the localized subtitle.
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
      get { info.withLock { $0.subtitleLocalizationArgs.isEmpty ? nil : $0.subtitleLocalizationArgs } }
      set { info.withLock { $0.subtitleLocalizationArgs = newValue ?? [] } }
    }

    /// The image that is shown while the application starts.
    public var alertLaunchImage: String? {
      get { info.withLock { $0.alertLaunchImage } }
      set { info.withLock { $0.alertLaunchImage = newValue } }
    }

    /// The sound.
    public var soundName: String? {
      get { info.withLock { $0.soundName } }
      set { info.withLock { $0.soundName = newValue } }
    }

    /// The fields that a notification of a record has with it.
    public var desiredKeys: [CKRecord.FieldKey]? {
      get { info.withLock { $0.desiredKeys.isEmpty ? nil : $0.desiredKeys } }
      set { info.withLock { $0.desiredKeys = newValue ?? [] } }
    }

    /// Whether the number at the application's icon goes up.
    public var shouldBadge: Bool {
      get { info.withLock { $0.shouldBadge } }
      set { info.withLock { $0.shouldBadge = newValue } }
    }

    /// Whether the application is told in the background.
    public var shouldSendContentAvailable: Bool {
      get { info.withLock { $0.shouldSendContentAvailable } }
      set { info.withLock { $0.shouldSendContentAvailable = newValue } }
    }

    /// Whether an extension of the application may change what is shown.
    public var shouldSendMutableContent: Bool {
      get { info.withLock { $0.shouldSendMutableContent } }
      set { info.withLock { $0.shouldSendMutableContent = newValue } }
    }

    /// The category of actions.
    public var category: String? {
      get { info.withLock { $0.category } }
      set { info.withLock { $0.category = newValue } }
    }

    /// The field whose value is the same for notifications that replace each other.
    public var collapseIDKey: String? {
      get { info.withLock { $0.collapseIDKey } }
      set { info.withLock { $0.collapseIDKey = newValue } }
    }

    // MARK: what objects do

    /// Another object that says the same.
    var copied: CKNotificationInfo {
      let copy = CKNotificationInfo()
      let info = daybookInfo
      copy.info.withLock { $0 = info }
      return copy
    }

    /// Another object that says the same.
    public func copy(with zone: NSZone? = nil) -> Any { copied }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes everything.
    public func encode(with coder: NSCoder) {
      guard let data = try? JSONEncoder().encode(daybookInfo) else { return }
      coder.encode(data as NSData, forKey: "daybook.notificationInfo")
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      guard let data = coder.bytes(forKey: "daybook.notificationInfo"),
        let known = try? JSONDecoder().decode(Subscription.NotificationInfo.self, from: data)
      else { return nil }
      self.init()
      info.withLock { $0 = known }
    }
  }
#endif
