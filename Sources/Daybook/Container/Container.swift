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
/// databases. Of several processes one writes; the others open it with `Options.isReadOnly`, or take turns in opening it.
/// A directory holds the containers of one user; somebody else needs another directory.
public final class Container: Sendable {
  /// The identifier: a name in reverse DNS.
  public let id: String
  /// Where the files are.
  public let directory: String
  /// The database of this user alone.
  public let privateDatabase: Database
  /// The database of everybody.
  public let publicDatabase: Database
  /// The database of zones that others share with this user.
  public let sharedDatabase: Database
  /// The name of the user's record: the same in all databases and zones of this container, another one in each container.
  public let userRecordName: String

  private let account: AccountState
  private let disk: any Disk
  private let openCount = Locked(1)

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
        .invalidArguments, "A container lies at a file URL.", facts: .init(found: directory.scheme ?? ""))
    }
    return try open(id, in: directory.path, options: options)
  }

  package static func open(
    _ id: String, in directory: String, options: Database.Options, disk: any Disk
  ) throws(DatabaseError) -> Container {
    if let fault = ContainerName.fault(id) { throw fault }
    return try ContainerRegistry.shared.container(id, in: directory, disk: disk) { () throws(DatabaseError) in
      try Container(id, in: directory, options: options, disk: disk)
    }
  }

  private init(
    _ id: String, in directory: String, options: Database.Options, disk: any Disk
  ) throws(DatabaseError) {
    let path = ContainerName.accountPath(id, in: directory)
    var known = try ContainerAccount.read(path, disk: disk)
    if known == nil, !options.isReadOnly {
      let digits = [options.random(), options.random()].map { number in
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
      }
      let new = ContainerAccount(container: id, userRecordName: "user-" + digits.joined(), status: .available)
      try new.write(path, replaces: false, disk: disk)
      known = try ContainerAccount.read(path, disk: disk)
    }
    guard let known else {
      throw DatabaseError(.badContainer, "There is no such container in the directory.", facts: .init(path: path, name: id))
    }
    guard UTF8Order.equal(known.container, id) else {
      throw DatabaseError(
        .badContainer, "The directory has this container under another spelling.",
        facts: .init(path: path, expected: known.container, found: id))
    }
    let account = AccountState(known.status)
    var options = options
    if options.userID == nil { options.userID = known.userRecordName }
    func database(_ scope: DatabaseScope) throws(DatabaseError) -> Database {
      options.role = ContainerRole(scope, userRecordName: known.userRecordName, account: account)
      return try Database.open(at: ContainerName.path(of: scope, id, in: directory), options: options, disk: disk)
    }
    self.id = id
    self.directory = directory
    self.disk = disk
    self.account = account
    userRecordName = known.userRecordName
    privateDatabase = try database(.private)
    publicDatabase = try database(.public)
    sharedDatabase = try database(.shared)
  }

  deinit { account.finish() }

  /// The database of a scope.
  public func database(_ scope: DatabaseScope) -> Database {
    switch scope {
    case .private: privateDatabase
    case .public: publicDatabase
    case .shared: sharedDatabase
    }
  }

  /// Closes the three databases, unless somebody else in this process has the container open: the last one closes.
  public func close() throws(DatabaseError) {
    let isLast = openCount.withLock { count in
      count -= 1
      return count == 0
    }
    guard isLast else { return }
    var first: DatabaseError?
    ContainerRegistry.shared.close(self) {
      account.finish()
      for scope in DatabaseScope.allCases {
        do throws(DatabaseError) { try database(scope).close() } catch { first = first ?? error }
      }
    }
    if let first { throw first }
  }

  /// One more has opened it; false when it is closed already.
  func retain() -> Bool {
    openCount.withLock { count in
      if count <= 0 { return false }
      count += 1
      return true
    }
  }

  func isOn(_ other: any Disk) -> Bool { disk === other }

  // MARK: the account

  /// Whether there is an account to write with.
  public func accountStatus() -> AccountStatus { account.status }

  /// Each new status of the account, from now on; ends when the container is closed.
  public func accountStatusChanges() -> AsyncStream<AccountStatus> { account.changes() }

  /// Says what has become of the account: the application or its system knows, the library does not. It is kept for the next
  /// opening. At anything but `available` writing throws `notAuthenticated`, `managedAccountRestricted` or
  /// `accountTemporarilyUnavailable`.
  public func setAccountStatus(_ status: AccountStatus) throws(DatabaseError) {
    let path = ContainerName.accountPath(id, in: directory)
    if privateDatabase.options.isReadOnly { throw DatabaseError(.readOnly, facts: .init(path: path)) }
    try ContainerAccount(container: id, userRecordName: userRecordName, status: status)
      .write(path, replaces: true, disk: disk)
    account.set(status)
  }

  /// Looks whether another process has changed the status of the account.
  @discardableResult
  public func refreshAccountStatus() throws(DatabaseError) -> AccountStatus {
    if let known = try ContainerAccount.read(ContainerName.accountPath(id, in: directory), disk: disk) {
      account.set(known.status)
    }
    return account.status
  }

  // MARK: zones of others

  /// Makes a zone of another user part of the shared database: what accepting a share comes to. Shares and participants
  /// themselves are no part of this library.
  /// - Throws: `invalidArguments` for a zone of this user.
  public func addSharedZone(_ id: Zone.ID) throws(DatabaseError) {
    guard !id.hasDefaultOwner else {
      throw DatabaseError(.invalidArguments, "A shared zone belongs to another user.", facts: .init(zone: id))
    }
    do {
      try sharedDatabase.write { transaction in
        transaction.context.mayShapeZones = true
        try transaction.save(Zone(id))
      }
    } catch let error as DatabaseError {
      throw error
    } catch { throw DatabaseError(.internalError, cause: error) }
  }

  /// Gives up a zone that another user shared, with all that is known of it here.
  public func removeSharedZone(_ id: Zone.ID) throws(DatabaseError) {
    do {
      try sharedDatabase.write { transaction in
        transaction.context.mayShapeZones = true
        try transaction.deleteZone(id)
      }
    } catch let error as DatabaseError {
      throw error
    } catch { throw DatabaseError(.internalError, cause: error) }
  }
}

/// The containers that are open in this process. While one is being opened or closed, others who want it wait; nobody waits
/// for another one.
final class ContainerRegistry: @unchecked Sendable {
  static let shared = ContainerRegistry()

  private enum Entry {
    case busy
    case open(Weak)
  }

  private struct Weak {
    weak var container: Container?
  }

  // Guarded by the monitor.
  private let monitor = Monitor()
  private var entries: [String: Entry] = [:]

  /// The open container, or a new one.
  func container(
    _ id: String, in directory: String, disk: any Disk, make: () throws(DatabaseError) -> Container
  ) throws(DatabaseError) -> Container {
    let key = Self.key(id, directory, disk)
    if let known = claim(key) { return known }
    do throws(DatabaseError) {
      let new = try make()
      settle(key, .open(Weak(container: new)))
      return new
    } catch {
      settle(key, nil)
      throw error
    }
  }

  /// The container under a key; nil when there is none, and then the key is busy.
  private func claim(_ key: String) -> Container? {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      switch entries[key] {
      case .busy:
        monitor.wait()
      case .open(let entry):
        if let known = entry.container, known.retain() { return known }
        entries[key] = .busy
        return nil
      case nil:
        entries[key] = .busy
        return nil
      }
    }
  }

  private func settle(_ key: String, _ entry: Entry?) {
    monitor.lock()
    entries[key] = entry
    monitor.broadcast()
    monitor.unlock()
  }

  /// Closes a container that nobody uses any more; whoever wants it meanwhile waits, and makes a new one.
  func close(_ container: Container, _ body: () -> Void) {
    monitor.lock()
    let key = entries.first { entry in
      if case .open(let weak) = entry.value { weak.container === container } else { false }
    }?.key
    if let key { entries[key] = .busy }
    monitor.unlock()
    body()
    if let key { settle(key, nil) }
  }

  private static func key(_ id: String, _ directory: String, _ disk: any Disk) -> String {
    // Another way to write the directory finds the files locked: safe, if not as kind.
    let path = disk is SystemDisk ? URL(filePath: directory).standardizedFileURL.path : "\(ObjectIdentifier(disk)) \(directory)"
    return path + "/" + id
  }
}
