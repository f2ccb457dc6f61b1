/// Contents of assets in files beside the log, each once, under the SHA-256 of its bytes.
///
///     movies.daybook.assets/
///       3a/3a7f…               a content: never written again, read-only, named as `sha256sum` names it
///       ingest-9c1f…-03…       a content on its way in, or a second name that keeps one from going until a commit
///       staged/                copies that were handed out, see `AssetLibrary`
///       holder-9c1f…           says that who holds such names lives, see `AssetHolder`
///       unreferenced           when the collector first saw names that nothing refers to
///       owner                  whose contents these are, see `FolderMark`
///
/// The users who may read the database's file may read its asset files, and nobody else: these have its rights, without those to
/// write. What is not finished is open to its maker alone.
///
/// The store knows bytes and names; the record layer knows which contents are in use. Ingest: `AssetStore+Ingest`. Removal:
/// `AssetStore+Collect`.
///
/// Always true: the bytes of a content are durable before its name is, and a name is durable before the frame that refers to it
/// is written. Only the path ties this to the log's file. The directory is opened for each piece of work, never through a link,
/// and everything in it is reached from there (`DiskFolder`): even if names are replaced in the meantime, work ends in the
/// directory in which it began.
package final class AssetStore: Sendable {
  /// `<file>.assets`.
  package let directory: String
  /// The database's file, which gives everything here its rights.
  let database: String
  package let disk: any Disk
  let random: @Sendable () -> UInt64
  let state = Locked(State(), spansDiskCalls: true)
  /// Held while a directory is made: threads make each once.
  private let making = Monitor()
  /// Held while the note is written that says since when nothing has referred to names.
  let noting = Monitor()
  /// Other processes may write while names are held here.
  let sharesFile: Bool
  private let firstFolderNumber: UInt64?
  /// The database is an unfinished copy: it uses no directory but one that it has made itself.
  let isCopy: Bool
  private let process = processID()

  struct State {
    /// The holders of this store, with the names that they hold: of ingests under way, and of copies that were handed out.
    /// There is one, unless someone has replaced the directory.
    var holders: [(holder: AssetHolder, names: Set<String>)] = []
    /// How many names there have been.
    var nameCount: UInt64 = 0
    /// The database is suspended and holds no locks.
    var isSuspended = false
    /// How often it was suspended, plus how often it was resumed.
    var suspensionCount = 0
    /// The database was closed.
    var isClosed = false
    /// Directories whose owners and rights have been checked.
    var knownDirectories: [String: KnownDirectory] = [:]
    /// Returns rights and owner of the open database file, if one is open.
    var rights: (@Sendable () throws(DiskFailure) -> FileAttributes?)?
    /// Returns the identity of the database file, if one is open.
    var file: (@Sendable () -> FileIdentity?)?
    /// Returns the first page of the database file, if one is open.
    var header: (@Sendable () -> FileHeader)?
    /// The file that is about to take the database's name.
    var nextFile: FileIdentity?
    /// Directories whose own name is known to be durable, each with its identity at that time: someone may remove one, and
    /// another process make it again.
    var durableDirectories: [String: FileIdentity] = [:]
    /// The directory of an unfinished copy, open since it was made.
    var madeRoot: (any DiskFolder)?
    /// How often this store made a directory.
    var madeDirectoryCount = 0
    /// Contents whose name was restored, without a successful sync so far.
    var unsyncedNames: Set<AssetDigest> = []
    /// While a collection runs: the contents that transactions have referred to since it began.
    var rescued: Set<AssetDigest>?
    /// The digests of which the note says since when nothing has referred to them, and `suspensionCount` at that time; nil where that
    /// is not known.
    var noted: (digests: Set<AssetDigest>, suspensionCount: Int)?
    /// A sync failed: what it should have made durable may never become so, even if a second sync succeeds.
    var syncFailure: DiskFailure?
  }

  struct KnownDirectory {
    let identity: FileIdentity?
    /// The users who may own it. Asked each time: file systems give the inode number of a removed file to the next new one.
    let owners: FileOwners
    /// Whether it has been seen with a mark, or with contents.
    var isMarked = false
  }

  static let temporaryPrefix = "ingest-"
  package static let stagingName = "staged"
  static let firstSeenName = "unreferenced"
  static let temporaryFirstSeenPrefix = firstSeenName + ".new-"
  static let clocksKey = "clocks"
  static let pieceByteCount = 1 << 20

  /// - Parameters:
  ///   - path: the database's file.
  ///   - sharesFile: other processes may write while this one has it open.
  ///   - folderNumber: which the directory of contents is marked with, until `follow` says who knows it; nil marks none, and asks
  ///     for none.
  ///   - isCopy: whether the database is an unfinished copy; its directory is marked as one until that has its name.
  package init(
    path: String, disk: any Disk, sharesFile: Bool = false, folderNumber: UInt64? = nil, isCopy: Bool = false,
    random: @escaping @Sendable () -> UInt64
  ) {
    firstFolderNumber = folderNumber
    self.isCopy = isCopy
    directory = path + ".assets"
    database = path
    self.disk = disk
    self.random = random
    self.sharesFile = sharesFile
  }

  deinit {
    // A child's descriptors close by themselves; the parent's description, and its locks, stay.
    if isForked { return }
    for holder in state.withLock({ state in state.holders.map(\.holder) }) { holder.remove() }
  }

  /// A child after `fork` has copies of everything that holds names, and must not release them for its parent.
  package var isForked: Bool { processID() != process }

  /// `.closed` in a child after `fork`, before anything takes a lock.
  package func checkProcess() throws(DiskFailure) {
    if isForked { throw DiskFailure(.open, path: directory, kind: .closed, code: ErrorNumber.badDescriptor) }
  }

  /// Where a content is, or would be.
  package func path(of digest: AssetDigest) -> String { "\(directory)/\(digest.folder)/\(digest.name)" }

  // MARK: reading

  /// Opens a content for reading and checks its size.
  package func open(_ digest: AssetDigest, byteCount: Int) throws(AssetFault) -> any DiskFile {
    let path = path(of: digest)
    let folder: any DiskFolder
    do throws(DiskFailure) {
      try checkProcess()
      folder = try disk.folder(at: directory).folder(digest.folder)
    } catch {
      if error.kind == .notFound { throw .missing(path: path) }
      throw .disk(error)
    }
    return try AssetStore.open(digest, byteCount: byteCount, in: folder)
  }

  /// The same in an open folder.
  static func open(_ digest: AssetDigest, byteCount: Int, in folder: any DiskFolder) throws(AssetFault) -> any DiskFile {
    let path = folder.place(digest.name)
    do throws(DiskFailure) {
      let file = try folder.open(digest.name, .readContent)
      let found = try file.byteCount()
      guard found == byteCount else {
        file.close()
        throw DiskFailure(.status, path: path, kind: .other, code: 0, byteCount: found)
      }
      return file
    } catch {
      if error.kind == .notFound { throw .missing(path: path) }
      if error.kind == .notRegular { throw .changed(path: path, byteCount: byteCount, found: nil) }
      if error.operation == .status, error.code == 0 {
        throw .changed(path: path, byteCount: byteCount, found: error.byteCount)
      }
      throw .disk(error)
    }
  }

  /// Whether a file lies in the directory, under whatever other name: an asset file, the mark, a holder, a note. Asks for the file
  /// of each.
  package func holds(_ file: FileIdentity) throws(DiskFailure) -> Bool {
    guard let root = try root() else { return false }
    for entry in try root.entries() {
      if !entry.isDirectory, try root.identity(of: entry.name) == file { return true }
      guard entry.isDirectory, AssetStore.isOwnFolder(entry.name) || entry.name == AssetStore.stagingName,
        let folder = try root.folderIfAny(entry.name)
      else { continue }
      for inner in try folder.entries() where try folder.identity(of: inner.name) == file { return true }
    }
    return false
  }

  /// Calls `body` with all bytes of a content, piece by piece, and then compares them with the name. Only when this returns are
  /// they known to match.
  /// - Throws: `.missing`, `.changed`, `.disk`; what `body` throws ends the reading.
  package func read<Failure: Error>(
    _ digest: AssetDigest, byteCount: Int, _ body: (ByteView) throws(Failure) -> Void
  ) throws(AssetReading<Failure>) {
    let file: any DiskFile
    do { file = try open(digest, byteCount: byteCount) } catch { throw .fault(error) }
    defer { file.close() }
    try AssetStore.read(file, digest, byteCount: byteCount, body)
  }

  /// The same for an open file.
  package static func read<Failure: Error>(
    _ file: any DiskFile, _ digest: AssetDigest, byteCount: Int, _ body: (ByteView) throws(Failure) -> Void
  ) throws(AssetReading<Failure>) {
    var hash = SHA256()
    let piece = ByteBuffer(capacity: max(1, min(AssetStore.pieceByteCount, byteCount)))
    var offset = 0
    while offset < byteCount {
      do {
        // Safe: the buffer was made for this many bytes.
        piece.count = try unsafe file.read(into: piece.base, count: min(piece.capacity, byteCount - offset), at: offset)
      } catch { throw .fault(.disk(error)) }
      if piece.count == 0 { break }
      hash.update(piece.view)
      do { try body(piece.view) } catch { throw .caller(error) }
      offset += piece.count
    }
    guard offset == byteCount, AssetDigest(hash.finish()) == digest || isMutant("accept-asset-content") else {
      throw .fault(.changed(path: file.path, byteCount: byteCount, found: offset))
    }
  }

  /// Reads all of a content and compares it with its name.
  package func verify(_ digest: AssetDigest, byteCount: Int) throws(AssetFault) {
    do {
      try read(digest, byteCount: byteCount) { (_) throws(Never) in }
    } catch {
      switch error {
      case .fault(let fault): throw fault
      }
    }
  }

  // MARK: names

  /// A new name in the directory. From now on it is in use, and other processes can see that.
  func newTemporary(in root: any DiskFolder) throws(DiskFailure) -> AssetTemporary {
    try newName(AssetStore.temporaryPrefix, in: root, holderIn: root)
  }

  /// The same in the staging folder, for a copy that is handed out.
  package func newStagedCopy(_ digest: AssetDigest) throws(DiskFailure) -> AssetTemporary {
    let root = try makeRoot()
    // A path leads to it: no other user is to know which before it is there.
    return try newName("\(digest.name)-", random(), in: makeFolder(AssetStore.stagingName, in: root), holderIn: root)
  }

  private func newName(
    _ beginning: String, _ number: UInt64? = nil, in folder: any DiskFolder, holderIn root: any DiskFolder
  ) throws(DiskFailure) -> AssetTemporary {
    let attributes = try attributes()
    return try state.withLock { (state) throws(DiskFailure) in
      let index: Int
      if let known = state.holders.firstIndex(where: { $0.holder.folder.identity == root.identity }) {
        index = known
      } else {
        let holder = try AssetHolder.make(
          in: root, like: attributes?.ofBookkeeping,
          mayLock: SuspendedProcess.mayKeepLocks || !state.isSuspended && !state.isClosed,
          random: random)
        index = state.holders.count
        state.holders.append((holder, []))
      }
      state.nameCount += 1
      let holder = state.holders[index].holder
      let name = "\(beginning)\(holder.id)-\(hexDigits(number ?? state.nameCount))"
      state.holders[index].names.insert(name)
      // The same directory, opened once for all names in it: descriptors are scarce.
      let isInRoot = folder === root && !isMutant("folder-for-each-hold")
      return AssetTemporary(holder: holder, folder: isInRoot ? holder.folder : folder, name: name)
    }
  }

  /// Removes a temporary name. If that fails, the name is a leftover, which the collector removes.
  package func release(_ temporary: AssetTemporary) {
    if isForked { return }
    try? temporary.folder.remove(temporary.name)
    drop(temporary)
  }

  /// Gives up a temporary name without removing it. The holder goes with its last name.
  func drop(_ temporary: AssetTemporary) {
    state.withLock { state in
      guard let index = state.holders.firstIndex(where: { $0.holder === temporary.holder }) else { return }
      state.holders[index].names.remove(temporary.name)
      guard state.holders[index].names.isEmpty else { return }
      state.holders.remove(at: index)
      temporary.holder.remove()
    }
  }

  /// Releases the holder's lock while the system may suspend the process, if that must be.
  package func suspend() {
    if isForked { return }
    state.withLock { state in
      guard !state.isSuspended else { return }
      state.isSuspended = true
      state.suspensionCount += 1
      for (holder, _) in state.holders { holder.suspend() }
    }
  }

  package func resume() {
    if isForked { return }
    state.withLock { state in
      guard state.isSuspended else { return }
      state.isSuspended = false
      // What was prepared while suspended was prepared beside other processes, too.
      state.suspensionCount += 1
      for (holder, _) in state.holders { holder.resume() }
    }
  }

  /// The database is closed: locks are released, and copies that were handed out become leftovers.
  package func close() {
    if isForked { return }
    state.withLock { state in
      state.isClosed = true
      state.rights = nil
      state.file = nil
      for (holder, _) in state.holders { holder.remove() }
      state.holders = []
    }
  }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  // MARK: rights

  /// From now on, rights and owners come from the open file, because another file may take its name at any time.
  /// - Parameters:
  ///   - rights: returns nil when the file is closed.
  ///   - file: its identity, for the mark of the directory.
  ///   - header: its first page, for the number in the same mark.
  package func follow(
    rights: @escaping @Sendable () throws(DiskFailure) -> FileAttributes?, file: @escaping @Sendable () -> FileIdentity?,
    header: @escaping @Sendable () -> FileHeader
  ) {
    state.withLock { state in
      state.rights = rights
      state.file = file
      state.header = header
    }
  }

  /// The number in the database's first page that its directory is marked with; nil marks none, and asks for none. Another file, a
  /// restored backup for instance, may have been opened since, and has another one.
  package var folderNumber: UInt64? {
    guard let header = state.withLock({ $0.header }), !isMutant("mark-as-first-file") else { return firstFolderNumber }
    return header().folderNumber
  }

  /// Rights and owner of the database's file as they are now; nil for contents without a database beside them.
  package func attributes() throws(DiskFailure) -> FileAttributes? {
    do throws(DiskFailure) {
      var found: FileAttributes?
      if let rights = state.withLock({ $0.rights }), !isMutant("rights-of-the-name") { found = try rights() }
      if found == nil { found = try disk.attributes(of: database) }
      guard var attributes = found else { return nil }
      attributes.extended = attributes.extended.filter { AccessList.isName($0.key) }
      return attributes
    } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }

  /// Protects a finished content, or a copy of one: nobody may change it, and everyone may read it who may read the database.
  package func protect(_ file: any DiskFile) throws(DiskFailure) {
    if let attributes = try attributes() { try file.setAttributes(attributes.ofContent) } else { try file.makeReadOnly() }
  }

  // MARK: directories

  /// The directory of an unfinished copy; nil as long as it has none.
  package var madeRoot: (any DiskFolder)? { state.withLock { $0.madeRoot } }

  /// The directory as it is now; nil when there is none. `.notRegular` when a link has its name: what that leads to is
  /// somebody else's.
  func root() throws(DiskFailure) -> (any DiskFolder)? {
    try checkProcess()
    do { return try disk.folder(at: directory) } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }

  /// The same, made if there is none.
  func makeRoot() throws(DiskFailure) -> any DiskFolder {
    try checkProcess()
    return try makeFolder(lastName(of: directory), in: disk.folder(holding: directory))
  }

  /// Checks, before contents are put into an existing directory, that its owner may keep them (`FileOwners.trusted`);
  /// otherwise it is left alone, `.foreign`. Once for each open, it loses the rights that the database's file does not give.
  func requireTrustedOwner(_ folder: any DiskFolder) throws(DiskFailure) {
    if let known = state.withLock({ $0.knownDirectories[folder.path] }), known.identity == folder.identity,
      (try? folder.requireOwner(among: known.owners)) != nil
    {
      return
    }
    let attributes = try attributes()
    let owners = FileOwners.trusted(with: attributes)
    // What is in it first, see `narrowRights`.
    if folder.path == directory, (try? folder.requireOwner(among: owners)) != nil { narrowRights(of: folder) }
    try AssetStore.requireTrustedOwner(folder, owners, atMost: attributes?.ofDirectory)
    state.withLock { $0.knownDirectories[folder.path] = KnownDirectory(identity: folder.identity, owners: owners) }
  }

  /// The same where rights and owners are known.
  static func requireTrustedOwner(
    _ folder: any DiskFolder, _ owners: FileOwners, atMost rights: FileAttributes?
  ) throws(DiskFailure) {
    if !isMutant("keep-contents-anywhere") { try folder.requireOwner(among: owners) }
    guard let rights, let less = try folder.attributes().narrowed(to: rights) else { return }
    try folder.setAttributes(less)
  }

  /// Opens a directory, and makes it if there is none, with access only for those who may read the database. `.foreign` when
  /// contents may not be put into it.
  func makeFolder(_ name: String, in holder: any DiskFolder) throws(DiskFailure) -> any DiskFolder {
    try making.withLock { () throws(DiskFailure) in try findOrMakeFolder(name, in: holder) }
  }

  private func findOrMakeFolder(_ name: String, in holder: any DiskFolder) throws(DiskFailure) -> any DiskFolder {
    let path = holder.place(name)
    // Someone may make or remove it between the two calls.
    var attempts = 10
    while true {
      let isRoot = name == lastName(of: directory)
      let isRootOfCopy = isCopy && isRoot
      if let folder = try holder.folderIfAny(name) {
        if isRootOfCopy { try requireMade(folder) }
        try requireTrustedOwner(folder)
        if isRoot { try markOnce(folder) }
        return folder
      }
      // Not for the file that has the name by now.
      if isRoot { _ = try namedFileOfDatabase() }
      let attributes = try attributes()
      // Before it is made: file systems give the inode number of a removed file to the next new one.
      state.withLock { state in
        if !isMutant("trust-remade-directory") { state.durableDirectories[path] = nil }
        state.madeDirectoryCount += 1
      }
      do throws(DiskFailure) {
        let folder = try holder.makeFolder(name, like: attributes?.ofDirectory)
        let owners = FileOwners.trusted(with: attributes)
        // Someone who may write here may have replaced it.
        try folder.requireOwner(among: owners)
        state.withLock { state in
          state.knownDirectories[path] = KnownDirectory(identity: folder.identity, owners: owners)
          if isRootOfCopy { state.madeRoot = folder }
        }
        if isRoot { try markOnce(folder) }
        return folder
      } catch {
        // Another process was faster, or has taken the unfinished folder for a leftover.
        attempts -= 1
        guard [.exists, .notRegular, .notFound].contains(error.kind), attempts > 0 else { throw error }
      }
    }
  }

  /// Marks a directory that is new, and syncs the mark of any other: once for each open. Where a mark stays whose
  /// sync has failed, no content is taken in until the database is opened again.
  private func markOnce(_ folder: any DiskFolder) throws(DiskFailure) {
    if state.withLock({ $0.knownDirectories[folder.path]?.isMarked }) == true { return }
    do throws(DiskFailure) {
      if try !markIfEmpty(folder), folderNumber != nil { try FolderMark.makeDurable(in: folder) }
    } catch {
      var isThere = true
      do { isThere = try folder.identity(of: FolderMark.name) != nil } catch {}
      if isThere, [.sync, .syncDirectory, .remove, .rename].contains(error.operation) { remember(error) }
      throw error
    }
    state.withLock { state in
      if state.knownDirectories[folder.path]?.identity == folder.identity {
        state.knownDirectories[folder.path]?.isMarked = true
      }
    }
  }

  /// Throws `.exists` unless this unfinished copy has made the directory: what another database has there, it would empty.
  private func requireMade(_ root: any DiskFolder) throws(DiskFailure) {
    if isMutant("copy-into-found-folder") { return }
    guard let made = madeRoot, made.identity == root.identity else {
      throw DiskFailure(.makeDirectory, path: root.path, code: ErrorNumber.exists)
    }
  }

  /// Makes a content's name survive power loss, and the directories above it. The directories are synced once for each open,
  /// and again if they were made anew: the process that made them may have died before it synced.
  /// - Throws: `.notFound` when another directory has taken the name of one of these: then no path leads to the content.
  func syncNames(of digest: AssetDigest, in folder: any DiskFolder, of root: any DiskFolder) throws(DiskFailure) {
    if isMutant("skip-asset-directory-sync") { return }
    do throws(DiskFailure) {
      try folder.sync(holding: digest.name)
      try syncName(digest.folder, of: folder, in: root)
      try syncName(lastName(of: directory), of: root, in: disk.folder(holding: directory))
    } catch {
      // A folder that could not be opened was not synced, and the next try may work.
      if error.operation == .syncDirectory { remember(error) }
      throw error
    }
  }

  private func syncName(
    _ name: String, of folder: any DiskFolder, in holder: any DiskFolder
  ) throws(DiskFailure) {
    let path = holder.place(name)
    let (known, count) = state.withLock { ($0.durableDirectories[path], $0.madeDirectoryCount) }
    let identity = try holder.identity(of: name)
    if let own = folder.identity, own != identity {
      throw DiskFailure(.status, path: path, code: ErrorNumber.notFound)
    }
    if let known, known == identity || isMutant("trust-remade-directory") { return }
    try holder.sync(holding: name)
    // Not if another thread has made one since: the sync may have been of the former directory.
    state.withLock { if $0.madeDirectoryCount == count { $0.durableDirectories[path] = identity } }
  }

  func sync(_ file: any DiskFile) throws(DiskFailure) {
    if isMutant("skip-asset-sync") { return }
    do { try file.sync(.full) } catch {
      remember(error)
      throw error
    }
  }

  /// A failed sync is final, as for the log: until the database is opened again, no content is taken in.
  private func remember(_ failure: DiskFailure) { state.withLock { $0.syncFailure = $0.syncFailure ?? failure } }

  func checkSyncs() throws(DiskFailure) {
    if isForked {
      throw DiskFailure(.create, path: directory, kind: .closed, code: ErrorNumber.badDescriptor)
    }
    if let failure = state.withLock({ $0.syncFailure }) { throw failure }
  }
}
