#if !canImport(CloudKit)
  import Daybook
  import Foundation
  import Synchronization

  /// The databases of one user and one identifier. Files of a container are opened when something of it is first asked for; if that
  /// fails, each operation fails with the reason and the next one tries again.
  ///
  /// Two of the same identifier are the same container. Under Daybook's own names it is ``daybookContainer()``.
  public final class CKContainer: NSObject, Sendable {
    /// Where containers are, and what the default one is called.
    public struct Setting: Sendable {
      /// The folder of the files; made when it is missing. Each user has a folder.
      public var directory: URL
      /// The identifier of ``CKContainer/default()``: reverse DNS.
      public var defaultIdentifier: String
      /// How the databases are opened. They answer as CloudKit does (``Dialect/cloudKit``) unless this says otherwise.
      public var options: Database.Options

      /// The folder for applications' data, and a name made of the bundle's identifier or of the program's name.
      public init() {
        let data = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        directory = (data ?? FileManager.default.temporaryDirectory).appendingPathComponent("Daybook", isDirectory: true)
        defaultIdentifier =
          "iCloud." + (Bundle.main.bundleIdentifier ?? "local." + Self.label(ProcessInfo.processInfo.processName))
        options = Database.Options()
        options.dialect = .cloudKit
        // Assets have files, as they have in CloudKit.
        options.inlineAssetByteCount = 0
      }

      /// A text as a label of a reverse DNS name.
      private static func label(_ text: String) -> String {
        let label = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }.prefix(60))
        return "p" + label + "0"
      }
    }

    private final class KnownSetting: Sendable {
      let setting: Setting
      init(_ setting: Setting) { self.setting = setting }
    }

    /// Without a lock, which a thread of the parent might hold when a child is made by `fork`.
    private static let known = unsafe Atomic<Unmanaged<KnownSetting>>(.passRetained(KnownSetting(Setting())))

    /// Set it before the first container is asked for: containers keep the setting that they were made with.
    public static var setting: Setting {
      // Safe: a setting that was stored here is never released, because a thread may be reading it; there are few.
      get { unsafe known.load(ordering: .acquiring).takeUnretainedValue().setting }
      set { unsafe known.store(.passRetained(KnownSetting(newValue)), ordering: .releasing) }
    }

    /// The container that ``Setting/defaultIdentifier`` names.
    public class func `default`() -> CKContainer { CKContainer(identifier: setting.defaultIdentifier) }

    /// The identifier.
    public let containerIdentifier: String?
    /// The database of this user alone.
    public let privateCloudDatabase: CKDatabase
    /// The database that all users share.
    public let publicCloudDatabase: CKDatabase
    /// The database of zones that others share with this user.
    public let sharedCloudDatabase: CKDatabase

    let opening: ContainerOpening
    private let queue: OperationQueue

    /// A container; nothing is opened yet. An identifier that is not reverse DNS is refused with `badContainer` when it is used.
    public init(identifier: String) {
      containerIdentifier = identifier
      opening = ContainerOpening.of(identifier, Self.setting)
      queue = OperationQueue()
      privateCloudDatabase = CKDatabase(opening, .private)
      publicCloudDatabase = CKDatabase(opening, .public)
      sharedCloudDatabase = CKDatabase(opening, .shared)
    }

    /// The database of a scope.
    public func database(with scope: CKDatabase.Scope) -> CKDatabase {
      switch scope {
      case .private: privateCloudDatabase
      case .public: publicCloudDatabase
      case .shared: sharedCloudDatabase
      }
    }

    /// The same container under Daybook's names, opened if it is not open yet.
    /// - Throws: why it cannot be opened.
    public func daybookContainer() throws(DatabaseError) -> Container { try opening.container() }

    /// Runs an operation. Those of a database run on the private one unless they say which.
    public func add(_ operation: CKOperation) {
      if let operation = operation as? CKDatabaseOperation, operation.database == nil {
        operation.database = privateCloudDatabase
      }
      queue.addOperation(operation)
    }

    /// Runs a request off the caller's thread.
    func run(_ body: @escaping @Sendable () -> Void) { queue.addOperation(body) }

    /// Whether both have the same identifier and folder.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKContainer)?.opening === opening }
    /// Equal containers have equal ones.
    public override var hash: Int { ObjectIdentifier(opening).hashValue }
  }
#endif
