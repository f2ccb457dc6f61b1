#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The databases that belong together: a private, a public and a shared one, in one directory, with one user.
///
/// ```swift
/// let container = try Container.open("iCloud.com.example.Notes", in: directory)
/// try container.privateDatabase.write { transaction in try transaction.save(Zone(Zone.ID("Notes"))) }
/// ```
///
/// What each database may do is CloudKit's: zones of one's own only in the private one; in the public one the default zone
/// and no encrypted values; in the shared one the zones of others and nothing else. Without an account nothing can be
/// written; what is here can still be read.
///
/// An application may open several containers, and one container several times: all who open it in one process share its
/// databases, also with code that kept only one of them. Of several processes one writes; the others open it with
/// `Options.isReadOnly`, or open it one after the other. A directory has the containers of one user; another user needs another
/// directory.
///
/// The directory is opened once, and all of the container is reached below it. One that is renamed meanwhile is still this
/// container's, and one that is made again under its path has another container.
public final class Container: Sendable {
  /// The identifier: a name in reverse DNS.
  public let id: String
  /// Where the files are: the path that the first opening was given.
  public let directory: String
  /// The database of this user alone.
  public let privateDatabase: Database
  /// The database that all users share.
  public let publicDatabase: Database
  /// The database of zones that others share with this user.
  public let sharedDatabase: Database
  /// The name of the user's record: the same in all databases and zones of this container, another one in each container.
  public let userRecordName: String

  /// The open directory; nil on disks that know directories by their paths alone.
  package var folderIdentity: FileIdentity? { shared.folder.identity }

  private let shared: OpenContainer
  private let hasClosed = Locked(false)

  /// Opens a container, and creates what is missing of it in a directory that exists.
  ///
  /// - Parameter options: for all three databases. Where the container is open already in this process, the options of the
  ///   first opening count. `userID` is the user's record name unless it is set.
  /// - Throws: `badContainer` when the identifier is none in reverse DNS, or the directory has this container under another
  ///   spelling; what opening a database throws.
  public static func open(
    _ id: String, in directory: String, options: Database.Options = .init()
  ) throws(DatabaseError) -> Container {
    try open(id, in: directory, options: options, disk: SystemDisk())
  }

  /// Opens a container in the directory at a file URL.
  public static func open(
    _ id: String, in directory: URL, options: Database.Options = .init()
  ) throws(DatabaseError) -> Container {
    guard directory.isFileURL else {
      throw DatabaseError(
        .invalidArguments, "The URL must be a file URL.", facts: .init(found: directory.scheme ?? ""))
    }
    return try open(id, in: directory.path, options: options)
  }

  package static func open(
    _ id: String, in directory: String, options: Database.Options, disk: any Disk
  ) throws(DatabaseError) -> Container {
    if let fault = ContainerName.fault(id) { throw fault }
    return try ContainerRegistry.shared.open(id, in: directory, options: options, disk: disk)
  }

  init(_ shared: OpenContainer, _ databases: OpenContainer.Databases) {
    self.shared = shared
    id = shared.id
    directory = shared.directory
    userRecordName = shared.userRecordName
    privateDatabase = databases.private
    publicDatabase = databases.public
    sharedDatabase = databases.shared
  }

  deinit {
    // A child after `fork` leaves it to its parent.
    if (try? shared.checkProcess()) == nil { return }
    if !hasClosed.withLock({ $0 }) { ContainerRegistry.shared.lose(shared) }
  }

  /// The database of a scope.
  public func database(_ scope: DatabaseScope) -> Database {
    switch scope {
    case .private: privateDatabase
    case .public: publicDatabase
    case .shared: sharedDatabase
    }
  }

  /// Closes the three databases, unless the container is open elsewhere in this process: the last `close` closes. Does nothing
  /// the second time.
  ///
  /// If a container is released without `close`, each database closes with its last reference, as other databases do.
  public func close() throws(DatabaseError) {
    try ContainerRegistry.shared.checkCaller(shared)
    let isFirst = hasClosed.withLock { hasClosed in
      defer { hasClosed = true }
      return !hasClosed
    }
    if isFirst { try ContainerRegistry.shared.close(shared) }
  }

  /// Whether this opening was closed, or is about to be.
  package var isClosed: Bool { hasClosed.withLock { $0 } }

  // MARK: the account

  /// Whether there is an account to write with.
  public func accountStatus() -> AccountStatus { shared.account.status }

  /// Each new status of the account, from now on and in the order of the changes; ends when the container is closed.
  public func accountStatusChanges() -> AsyncStream<AccountStatus> { shared.account.changes() }

  /// Says what has become of the account: the application or its system knows, the library does not. It is kept for the next
  /// opening. At anything but `available` writing throws `notAuthenticated`, `managedAccountRestricted` or
  /// `accountTemporarilyUnavailable`.
  /// - Throws: `closed` after the last `close`; `badContainer`, `corrupted` or `ioFailed` when something else than this user's
  ///   account has taken the place of its file, which stays as it is.
  public func setAccountStatus(_ status: AccountStatus) throws(DatabaseError) { try shared.setAccountStatus(status) }

  /// Looks whether another process has changed the status of the account.
  /// - Throws: as ``setAccountStatus(_:)``.
  @discardableResult
  public func refreshAccountStatus() throws(DatabaseError) -> AccountStatus { try shared.refreshAccountStatus() }

  // MARK: zones of others

  /// Makes a zone of another user part of the shared database: what accepting a share comes to. Shares and participants
  /// themselves are no part of this library.
  /// - Throws: `invalidArguments` for a zone of this user.
  public func addSharedZone(_ id: Zone.ID) throws(DatabaseError) {
    guard !id.hasDefaultOwner else {
      throw DatabaseError(.invalidArguments, "A shared zone belongs to another user.", facts: .init(zone: id))
    }
    try DatabaseError.only {
      try sharedDatabase.write { transaction in
        transaction.context.mayShapeZones = true
        try transaction.save(Zone(id))
      }
    }
  }

  /// Gives up a zone that another user shared, with all that is known of it here.
  public func removeSharedZone(_ id: Zone.ID) throws(DatabaseError) {
    try DatabaseError.only {
      try sharedDatabase.write { transaction in
        transaction.context.mayShapeZones = true
        try transaction.deleteZone(id)
      }
    }
  }
}
