import DaybookEngine

/// What all who have a container open in this process share: the user, the account, and the databases that are open.
///
///     Container ──► Database ──► ContainerRole ──► OpenContainer ┄┄► Database
///         └───────────────────────────────────────────┘    (weak)
///
/// A container is one opening; it keeps its databases, and each database keeps this object. So the next
/// open of the container finds a database that is referenced alone, and one without references closes by itself.
///
/// Always true: a scope is in `openScopes` from before its file is opened until it has been closed, in whatever way. The number
/// tells openings apart: one that was closed may be referenced for long, and be released while the next one is open.
package final class OpenContainer: @unchecked Sendable {
  struct Databases {
    let `private`: Database
    let `public`: Database
    let shared: Database
  }

  private struct Weak {
    weak var database: Database?
  }

  let id: String
  /// As the first opening gave it.
  let directory: String
  /// The directory itself.
  let folder: ContainerFolder
  let key: ContainerFolder.Key
  let userRecordName: String
  let account: AccountState
  /// In a child after `fork` it is its parent's.
  let process = processID()
  /// Those of the first opening.
  private let options: Database.Options
  /// The account's file and its status change together.
  private let accountTurn = Monitor()
  /// Nil once the container is closed. Guarded by the turn.
  private var accountFile: AccountFile?

  // Guarded by the monitor of the registry.
  private var databases: [DatabaseScope: Weak] = [:]
  private var openScopes: [DatabaseScope: Int] = [:]
  private var lastOpeningNumber = 0
  /// Openings that have not been closed or lost.
  var openingCount = 0
  /// A container was released without having been closed; its databases may still be referenced.
  var hasLostOpening = false

  /// Reads who the user is, and decides it when the directory has no account file yet.
  init(
    _ id: String, in directory: String, _ folder: ContainerFolder, key: ContainerFolder.Key, options: Database.Options
  ) throws(DatabaseError) {
    let file: AccountFile
    do throws(DiskFailure) { file = try AccountFile(of: id, in: folder) } catch {
      guard error.kind == .notFound, options.isReadOnly else { throw DatabaseError(error) }
      throw Self.missing(id, error.path)
    }
    var known = try ContainerAccount.read(file)
    if known == nil, !options.isReadOnly {
      let digits = [options.random(), options.random()].map { number in
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
      }
      let new = ContainerAccount(container: id, userRecordName: "user-" + digits.joined(), status: .available)
      try new.write(to: file, replaces: false)
      known = try ContainerAccount.read(file)
    }
    guard let known else { throw Self.missing(id, file.path) }
    guard UTF8Order.equal(known.container, id) else {
      throw DatabaseError(
        .badContainer, "The directory has this container under another spelling.",
        facts: .init(path: file.path, expected: known.container, found: id))
    }
    self.id = id
    self.directory = directory
    self.folder = folder
    self.key = key
    accountFile = file
    userRecordName = known.userRecordName
    account = AccountState(known.status)
    var options = options
    if options.userID == nil { options.userID = known.userRecordName }
    self.options = options
  }

  static func missing(_ id: String, _ path: String) -> DatabaseError {
    DatabaseError(.badContainer, "There is no such container in the directory.", facts: .init(path: path, name: id))
  }

  deinit { if process == processID() { account.finish() } }

  /// Throws in a child process after `fork`, before anything takes a lock.
  func checkProcess() throws(DatabaseError) {
    if process == processID() { return }
    throw DatabaseError(
      .closed, "A container cannot be used in a child process after fork; open it there.",
      facts: .init(path: directory, name: id))
  }

  // MARK: databases

  /// The three databases; those that are not open any more are opened. One caller at a time.
  func openDatabases(_ monitor: Monitor) throws(DatabaseError) -> Databases {
    Databases(
      private: try database(.private, monitor), public: try database(.public, monitor),
      shared: try database(.shared, monitor))
  }

  private func database(_ scope: DatabaseScope, _ monitor: Monitor) throws(DatabaseError) -> Database {
    let (known, number) = claim(scope, monitor)
    if let known { return known }
    var options = options
    options.role = ContainerRole(scope, number, of: self)
    do throws(DatabaseError) {
      let new = try Database.open(
        at: ContainerName.path(of: scope, id, in: folder.path), options: options, disk: folder.disk)
      monitor.withLock { databases[scope] = Weak(database: new) }
      return new
    } catch {
      monitor.withLock { openScopes[scope] = nil }
      throw error
    }
  }

  /// The open database of a scope; nil when there is none, and then the scope is the caller's to open, under a number.
  private func claim(_ scope: DatabaseScope, _ monitor: Monitor) -> (known: Database?, number: Int) {
    monitor.lock()
    defer { monitor.unlock() }
    while let number = openScopes[scope] {
      if let known = databases[scope]?.database { return (known, number) }
      // Its last reference has just gone, and its file is being closed.
      monitor.wait()
    }
    lastOpeningNumber += 1
    openScopes[scope] = lastOpeningNumber
    databases[scope] = nil
    return (nil, lastOpeningNumber)
  }

  /// A database has closed its file: by `close`, or with its last reference.
  func databaseIsClosed(_ scope: DatabaseScope, _ number: Int) {
    if process != processID() { return }
    ContainerRegistry.shared.monitor.withLock {
      if openScopes[scope] == number { openScopes[scope] = nil }
      ContainerRegistry.shared.monitor.broadcast()
    }
  }

  /// Throws where the caller is within a transaction of one of the databases: before anything is closed, not half way.
  func checkCaller(_ monitor: Monitor) throws(DatabaseError) {
    let open = monitor.withLock { DatabaseScope.allCases.compactMap { databases[$0]?.database } }
    for database in open { try database.checkCaller() }
  }

  /// Closes what is open. One caller at a time.
  func closeDatabases(_ monitor: Monitor) throws(DatabaseError) {
    account.finish()
    var first: DatabaseError?
    // References are released outside the monitor: the last one closes the database, which takes the monitor.
    let open = monitor.withLock { DatabaseScope.allCases.compactMap { databases[$0]?.database } }
    for database in open {
      do throws(DatabaseError) { try database.close() } catch { first = first ?? error }
    }
    accountTurn.withLock { accountFile = nil }
    folder.letGo()
    if let first { throw first }
  }

  // MARK: the account

  /// Removes what writers of the account file that were killed have left beside it.
  func removeLeftovers() {
    if options.isReadOnly { return }
    accountTurn.withLock { accountFile?.removeLeftovers() }
  }

  func setAccountStatus(_ status: AccountStatus) throws(DatabaseError) {
    try checkProcess()
    try accountTurn.withLock { () throws(DatabaseError) in
      let file = try openAccountFile()
      if options.isReadOnly { throw DatabaseError(.readOnly, facts: .init(path: file.path)) }
      try ContainerAccount(container: id, userRecordName: userRecordName, status: status).write(to: file, replaces: true)
      account.change(to: status)
    }
    account.deliver()
  }

  func refreshAccountStatus() throws(DatabaseError) -> AccountStatus {
    try checkProcess()
    try accountTurn.withLock { () throws(DatabaseError) in
      let file = try openAccountFile()
      if let known = try ContainerAccount.read(file) {
        try known.requireUser(userRecordName, of: id, file)
        account.change(to: known.status)
      }
    }
    account.deliver()
    return account.status
  }

  /// The account's file; with the turn.
  private func openAccountFile() throws(DatabaseError) -> AccountFile {
    if let accountFile { return accountFile }
    throw DatabaseError(.closed, "The container is closed.", facts: .init(path: directory, name: id))
  }
}
