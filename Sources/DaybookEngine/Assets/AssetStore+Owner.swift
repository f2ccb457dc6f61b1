/// Whose directory has the name of the contents': decided by its mark (`FolderMark`), before anything is removed there.
extension AssetStore {
  /// Why nothing is removed from a directory.
  package enum NotOurs: Sendable, Equatable {
    /// It has contents and no mark that can be read.
    case unmarked
    /// It is marked as another database's.
    case ofAnother
    /// It is marked with our number, and for another file: one of the two is a copy.
    case ofAnotherFile
    /// The name that the directory belongs to leads to another file than ours, or to none. That database saves its assets there.
    case nameLeadsElsewhere
  }

  /// Nil when the directory is this database's.
  func notOurs(_ root: any DiskFolder) throws(DiskFailure) -> NotOurs? {
    guard let folderNumber, !isMutant("collect-anywhere") else { return nil }
    if try nameLeadsElsewhere() { return .nameLeadsElsewhere }
    // The file of an early build, which had no number.
    if folderNumber == 0 { return .unmarked }
    switch try FolderMark.read(in: root) {
    case .nothing:
      if isMutant("collect-unmarked") { return nil }
      if try AssetStore.isEmpty(root) { return nil }
      // A first save beside it may have made the mark, and the content after it, between the two looks.
      return try FolderMark.read(in: root) == .nothing ? .unmarked : notOurs(root)
    case .unreadable: return .unmarked
    case .mark(let mark):
      guard mark.database == folderNumber else { return .ofAnother }
      guard let inode = root.identity?.inode, mark.folder == inode, !isMutant("collect-for-copies") else { return nil }
      guard let file = try fileInode() else { return .ofAnotherFile }
      return mark.files.contains(file) ? nil : .ofAnotherFile
    }
  }

  /// Whether the open file has lost its name: it was replaced or removed. What the directory has by then is not only ours, whatever
  /// its mark says.
  package func nameLeadsElsewhere() throws(DiskFailure) -> Bool {
    isMutant("collect-without-name") ? false : try namedFile() != .ours
  }

  private func namedFile() throws(DiskFailure) -> NamedFile {
    let (file, firstPage) = state.withLock { ($0.file, $0.header) }
    guard let identity = file?(), let header = firstPage?() else { return .ours }
    return try disk.namedFile(database, besides: identity, header)
  }

  /// Throws when a directory that is made or marked now would be another database's: the open file has lost its name to that, or to none.
  func namedFileOfDatabase() throws(DiskFailure) -> NamedFile {
    let named = try namedFile()
    if named.isOfSameDatabase || isMutant("make-folder-without-name") { return named }
    throw .nameLost(.makeDirectory, path: directory, to: named)
  }

  /// Why nothing would be removed from the directory as it is now, and where it is; nil when something would, or nothing is there.
  package func collectionObstacle() -> (reason: NotOurs, path: String)? {
    guard let root = try? root(), let reason = try? notOurs(root) else { return nil }
    return (reason, root.path)
  }

  /// Marks a directory that is this database's, unless its mark says all that there is to say. Called with the file lock.
  package func renewMark(of inventory: Inventory) throws(DiskFailure) {
    guard let root = inventory.root, let mark = try newMark(of: root), try FolderMark.read(in: root) != .mark(mark) else {
      return
    }
    try mark.write(in: root, like: try attributes()?.ofBookkeeping, number: random())
  }

  /// Makes a directory this database's, whosever it was.
  package func takeOver(_ root: any DiskFolder) throws(DiskFailure) {
    try requireTrustedOwner(root)
    try newMark(of: root)?.write(in: root, like: try attributes()?.ofBookkeeping, number: random())
  }

  /// Marks a directory in which nothing is: it has just been made, or its maker died.
  /// - Returns: false when there was something, or a mark.
  func markIfEmpty(_ root: any DiskFolder) throws(DiskFailure) -> Bool {
    var tryCount = 0
    while try FolderMark.read(in: root) == .nothing, try AssetStore.isEmpty(root),
      let mark = try newMark(of: root, byName: true)
    {
      do throws(DiskFailure) {
        try mark.writeFirst(in: root, like: try attributes()?.ofBookkeeping, number: random())
        try followFile(mark, in: root)
        return true
      } catch {
        // A collection without a grace time may have removed what is made here.
        tryCount += 1
        guard error.kind == .notFound, tryCount < 8 else { throw error }
      }
    }
    return false
  }

  /// A compaction of another process may have exchanged the file between the look at it and the mark. It found no mark to renew.
  private func followFile(_ first: FolderMark, in root: any DiskFolder) throws(DiskFailure) {
    for _ in 0..<8 {
      guard let mark = try newMark(of: root, byName: true), mark.files != first.files,
        try FolderMark.read(in: root) == .mark(first)
      else { return }
      try mark.write(in: root, like: try attributes()?.ofBookkeeping, number: random())
    }
  }

  /// The mark of this database for a directory; nil where contents have no database.
  /// - Parameter byName: of the file that has the database's name, and not of the one that is open here. Without the file lock
  ///   another process may have compacted since, and the system gives the number of the old file to the next one that is made; or a
  ///   copy of this database, which has a number of its own, was put there.
  private func newMark(of root: any DiskFolder, byName: Bool = false) throws(DiskFailure) -> FolderMark? {
    guard var folderNumber else { return nil }
    var files: [UInt64] = []
    var file = try fileInode()
    if byName, !isMutant("mark-open-file"), case .newer(let identity, let header) = try namedFileOfDatabase() {
      file = identity.inode
      folderNumber = header.folderNumber
    }
    if folderNumber == 0 { return nil }
    if root.identity != nil, let file {
      files = [file]
      if let next = state.withLock({ $0.nextFile?.inode }), next != file { files.append(next) }
    }
    return FolderMark(database: folderNumber, folder: root.identity?.inode, files: files, isUnfinished: isCopy)
  }

  private func fileInode() throws(DiskFailure) -> UInt64? {
    if let file = state.withLock({ $0.file }), let identity = file() { return identity.inode }
    return try disk.identity(of: database)?.inode
  }

  static func isEmpty(_ root: any DiskFolder) throws(DiskFailure) -> Bool {
    try root.entries().allSatisfy { UnfinishedName.matches($0.name) || !$0.isDirectory && FolderMark.isOwnName($0.name) }
  }

  // MARK: another file takes the database's place

  /// A compaction is about to give another file the database's name: the directory belongs to both until that is done.
  package func fileWillBeReplaced(by next: FileIdentity) throws(DiskFailure) {
    state.withLock { $0.nextFile = next }
    if let root = try? root() { try renewMarkIfOurs(root) }
  }

  /// The exchange is done, or was given up. If the mark cannot be written now, the next collection does it.
  package func fileWasReplaced() {
    state.withLock { $0.nextFile = nil }
    guard let root = try? root() else { return }
    try? renewMarkIfOurs(root)
    narrowRights(of: root)
  }

  private func renewMarkIfOurs(_ root: any DiskFolder) throws(DiskFailure) {
    if isMutant("compact-without-mark") { return }
    guard try notOurs(root) == nil, case .mark(let found) = try FolderMark.read(in: root),
      let mark = try newMark(of: root), mark != found
    else { return }
    try mark.write(in: root, like: try attributes()?.ofBookkeeping, number: random())
  }
}
