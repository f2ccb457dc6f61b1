/// Copies of a store for backup and salvage: one content at a time, each verified.
extension AssetStore {
  /// Takes a content over from another store, durably under its name when this returns.
  ///
  /// - Parameter links: whether a second name of the same file will do, where the file system supports one. It takes no space,
  ///   but damage to one is damage to both.
  /// - Throws: `.missing` when the other store does not have it, `.changed` when its bytes differ.
  package func take(
    _ digest: AssetDigest, byteCount: Int, from source: AssetStore, links: Bool
  ) throws(AssetFault) {
    if links, try link(digest, byteCount: byteCount, from: source) { return }
    let file = try source.open(digest, byteCount: byteCount)
    defer { file.close() }
    _ = try ingest(.file(file), byteCount: byteCount, named: digest)
  }

  /// False when the file system gives no second name, or something else has the name here: then a copy is made.
  private func link(_ digest: AssetDigest, byteCount: Int, from source: AssetStore) throws(AssetFault) -> Bool {
    let root: any DiskFolder
    let folder: any DiskFolder
    do throws(DiskFailure) {
      root = try makeRoot()
      folder = try makeFolder(digest.folder, in: root)
    } catch { throw .disk(error) }
    var isLinked = true
    do throws(DiskFailure) {
      try source.disk.folder(at: source.directory).folder(digest.folder).link(digest.name, to: folder, digest.name)
    } catch {
      // Another volume, or one without links. If it is something worse, making a copy will fail, too.
      guard error.kind == .exists else { return false }
      isLinked = false
    }
    // Verify the file that has the name here, not the one there: another file may have taken that name by now.
    let file: any DiskFile
    do throws(AssetFault) {
      file = try AssetStore.open(digest, byteCount: byteCount, in: folder)
      if isLinked, !mayShare(file, of: source) {
        file.close()
        try? folder.remove(digest.name)
        return false
      }
      do throws(AssetReading<Never>) {
        try AssetStore.read(file, digest, byteCount: byteCount) { (_) throws(Never) in }
      } catch {
        file.close()
        switch error {
        case .fault(let fault): throw fault
        }
      }
    } catch {
      guard isLinked else { return false }
      try? folder.remove(digest.name)
      guard case .changed(_, let byteCount, let found) = error else { throw error }
      throw .changed(path: source.path(of: digest), byteCount: byteCount, found: found)
    }
    defer { file.close() }
    do throws(DiskFailure) {
      try sync(file)
      try syncNames(of: digest, in: folder, of: root)
    } catch { throw .disk(error) }
    return true
  }

  /// Whether a copy may have a content's own file. Of another user, who may write to the original, it could be changed later, in
  /// the copy too.
  private func mayShare(_ file: any DiskFile, of source: AssetStore) -> Bool {
    if isMutant("share-anybodys-content") { return true }
    // Where that cannot be known, a copy is always right.
    guard let attributes = try? source.attributes() else { return false }
    guard let found = try? file.attributes() else { return false }
    return found.mode & 0o022 == 0 && FileOwners.keepers(of: attributes).contains(found.owner, group: found.group)
  }

  // MARK: whole directories

  /// Gives a directory of assets the name that belongs to another database file. If that directory exists already, the contents
  /// are moved into it, durably, and replace what has their names: ours were verified.
  /// - Returns: the directory, if it took a free name; that name is not durable yet. Nil if its contents went into another
  ///   directory.
  /// - Parameters:
  ///   - made: the directory that has the name `source`; if another one has it by now, nothing is done, `.notRegular`.
  ///   - owners: the users whose directory is accepted; it loses the rights that ours does not give.
  ///   - number: random, for the name of a mark that is being made.
  /// - Throws: `.notRegular` when `target` is a link, `.foreign` when it belongs to another user, `.exists` when something took
  ///   the name meanwhile.
  package static func move(
    _ made: any DiskFolder, _ source: String, to target: String, in holder: any DiskFolder, trusted owners: FileOwners,
    number: UInt64
  ) throws(DiskFailure) -> (any DiskFolder)? {
    let folder = try holder.folder(source)
    guard folder.identity == made.identity || isMutant("give-swapped-folder") else {
      throw DiskFailure(.rename, path: holder.place(source), code: ErrorNumber.tooManyLinks)
    }
    if let there = try holder.folderIfAny(target) {
      let attributes = try folder.attributes()
      try requireTrustedOwner(there, owners, atMost: attributes)
      // What another database has there stays its own: the copy keeps its contents among them, and removes nothing.
      var isFree = isMutant("take-found-folder")
      if try FolderMark.read(in: there) == .nothing { isFree = try isEmpty(there) }
      if isFree, case .mark(var mark) = try FolderMark.read(in: folder) {
        mark.folder = there.identity?.inode
        mark.isUnfinished = false
        var rights = try there.attributes()
        rights.mode = rights.mode & 0o666 | 0o600
        try mark.write(in: there, like: rights, number: number)
      }
      try merge(folder, into: there, owners)
      // The mark last: what is left of a copy that dies here is known for that.
      try removeMark(of: folder, ownedBy: owners)
      try holder.removeFolder(source)
      try holder.sync(holding: target)
      return nil
    }
    // Another user may have put an empty one there since the look, with rights of his own: it is not replaced.
    try holder.renameFolder(source, toFree: target)
    if let identity = folder.identity, try holder.identity(of: target) != identity {
      throw DiskFailure(.rename, path: holder.place(target), code: ErrorNumber.tooManyLinks)
    }
    return folder
  }

  private static func merge(
    _ source: any DiskFolder, into target: any DiskFolder, _ owners: FileOwners
  ) throws(DiskFailure) {
    for entry in try source.entries() where !FolderMark.isOwnName(entry.name) {
      let name = entry.name
      if entry.isDirectory {
        let inner = try source.folder(name)
        let attributes = try inner.attributes()
        let there: any DiskFolder
        do { there = try target.makeFolder(name, like: attributes) } catch {
          guard error.kind == .exists else { throw error }
          there = try target.folder(name)
        }
        try requireTrustedOwner(there, owners, atMost: attributes)
        try merge(inner, into: there, owners)
        try source.removeFolder(name)
      } else {
        try source.rename(name, to: target, name)
        // If both were names of one file, the rename did nothing.
        if try source.identity(of: name) != nil { try source.remove(name) }
        try target.sync(holding: name)
      }
    }
  }

  /// From now on the directory is no copy's that is being made. If that fails, it is one of a copy that has its name: no
  /// copy looks for leftovers there.
  package func markFinished(_ folder: any DiskFolder) {
    guard case .mark(var mark)? = try? FolderMark.read(in: folder) else { return }
    mark.isUnfinished = false
    try? mark.write(in: folder, like: try? attributes()?.ofBookkeeping, number: random())
  }

  /// A random number, for a name.
  package func newNumber() -> UInt64 { random() }

  private static func removeMark(of folder: any DiskFolder, ownedBy owners: FileOwners) throws(DiskFailure) {
    for entry in try folder.entries() where !entry.isDirectory && FolderMark.isOwnName(entry.name) {
      try folder.remove(entry.name, ownedBy: owners)
    }
  }

  /// Removes, durably, the directory that a copy had given its last name when it died, or failed, before its file had its own.
  /// No other file uses it: its mark says so.
  /// - Parameters:
  ///   - number: the file's number for its directory.
  ///   - file: the file, which is a leftover, and goes after this.
  package static func removeMoved(
    _ name: String, in holder: any DiskFolder, of number: UInt64, _ file: FileIdentity, ownedBy owners: FileOwners
  ) throws(DiskFailure) {
    guard number != 0, !isMutant("leave-moved-folders"), let root = try holder.folderIfAny(name),
      case .mark(let mark) = try FolderMark.read(in: root), mark.database == number, mark.folder == root.identity?.inode,
      root.identity == nil || mark.files == [file.inode]
    else { return }
    try removeAll(name, in: holder, ownedBy: owners, ifStill: root)
    // Before the file: that alone can tell whose directory this was.
    try holder.sync(holding: name)
  }

  /// Removes the directory of a copy that died. One that is not marked as unfinished is no leftover whatever its name is,
  /// `.exists`, unless nothing is in it.
  package static func removeUnfinished(
    _ name: String, in holder: any DiskFolder, ownedBy owners: FileOwners
  ) throws(DiskFailure) {
    holder.removeUnfinishedNames(ownedBy: owners.orOfRoot)
    guard let root = try holder.folderIfAny(name) else { return }
    let isLeftover =
      switch try FolderMark.read(in: root) {
      case .nothing: try isEmpty(root)
      case .unreadable: false
      case .mark(let mark): mark.isUnfinished
      }
    guard isLeftover || isMutant("remove-marked-folders") else { throw stranger(root.path) }
    try removeAll(name, in: holder, ownedBy: owners, ifStill: root)
  }

  /// Removes a directory of assets with all that it holds, if there is one. Removes only what this library makes: regular files
  /// with its own kinds of names that belong to the database's owner, to this user or to root. Follows no link. A content of another
  /// user is removed if it has other names: then a backup has linked it, and its owner loses nothing.
  /// - Throws: `.notRegular`, `.exists` or `.foreign` when it is a link, or holds something that no database puts there; the
  ///   failure names that. Then nothing was changed.
  package static func removeAll(
    _ directory: String, on disk: any Disk, ownedBy owners: FileOwners = .ofUser(andOf: nil)
  ) throws(DiskFailure) {
    try removeAll(lastName(of: directory), in: disk.folder(holding: directory), ownedBy: owners)
  }

  /// - Parameter known: if another directory has the name by now, it stays.
  package static func removeAll(
    _ name: String, in holder: any DiskFolder, ownedBy owners: FileOwners, ifStill known: (any DiskFolder)? = nil
  ) throws(DiskFailure) {
    guard let root = try holder.folderIfAny(name) else { return }
    if let known, known.identity != root.identity { return }
    try root.requireOwner(among: owners)
    var files: [String] = []
    var folders: [(name: String, identity: FileIdentity?, files: [String])] = []
    let fileOwners = owners.orOfRoot
    let contentOwners = fileOwners.orOfSecondNames
    root.removeUnfinishedNames(ownedBy: fileOwners)
    for entry in try root.entries() {
      guard entry.isDirectory else {
        guard isOwnFile(entry.name) else { throw stranger(root.place(entry.name)) }
        try root.checkRemovable(entry.name, ownedBy: fileOwners)
        files.append(entry.name)
        continue
      }
      guard isOwnFolder(entry.name) else { throw stranger(root.place(entry.name)) }
      let folder = try root.folder(entry.name)
      try folder.requireOwner(among: owners)
      var names: [String] = []
      for inner in try folder.entries() {
        guard !inner.isDirectory, isOwnFile(inner.name, in: entry.name) else { throw stranger(folder.place(inner.name)) }
        try folder.checkRemovable(inner.name, ownedBy: entry.name == stagingName ? fileOwners : contentOwners)
        names.append(inner.name)
      }
      folders.append((entry.name, folder.identity, names))
    }
    for file in files where !FolderMark.isOwnName(file) { try root.remove(file, ownedBy: fileOwners) }
    // Opened again, because not so many folders are kept open.
    for (name, identity, files) in folders {
      let folder = try root.folder(name)
      guard folder.identity == identity else { throw stranger(folder.path) }
      for file in files { try folder.remove(file, ownedBy: name == stagingName ? fileOwners : contentOwners) }
      try root.removeFolder(name)
    }
    // The mark last, and durably so: what is left when this is interrupted is known for what it is.
    let marks = files.filter(FolderMark.isOwnName)
    if let mark = marks.first, !isMutant("remove-mark-first") { try root.sync(holding: mark) }
    for mark in marks { try root.remove(mark, ownedBy: fileOwners) }
    if let identity = root.identity, try holder.identity(of: name) != identity { throw stranger(root.path) }
    try holder.removeFolder(name)
  }

  private static func stranger(_ path: String) -> DiskFailure {
    DiskFailure(.remove, path: path, kind: .exists, code: ErrorNumber.notEmpty)
  }

  /// Whether a folder of this name holds contents or copies of them.
  static func isOwnFolder(_ name: String) -> Bool {
    name == stagingName || name.utf8.count == 2 && name.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }

  /// Whether the directory of contents, or a folder in it, may hold an entry.
  static func isOwn(_ entry: DirectoryEntry, in folder: String) -> Bool {
    if entry.isDirectory { return isOwnFolder(entry.name) && !isOwnFolder(folder) }
    return isOwnFolder(folder) ? isOwnFile(entry.name, in: folder) : isOwnFile(entry.name)
  }

  private static func isOwnFile(_ name: String) -> Bool {
    isTemporaryName(name) || AssetHolder.id(ofFile: name) != nil || name == firstSeenName || isTemporaryFirstSeen(name)
      || FolderMark.isOwnName(name)
  }

  private static func isOwnFile(_ name: String, in folder: String) -> Bool {
    folder == stagingName ? isStagedName(name) : AssetDigest(name: name)?.folder == folder
  }

  /// Whether a name has exactly the form of those that ingests are given.
  static func isTemporaryName(_ name: String) -> Bool {
    isMutant("remove-similar-names")
      ? name.hasPrefix(temporaryPrefix) : name.hasPrefix(temporaryPrefix) && AssetHolder.holder(ofTemporary: name) != nil
  }

  /// The same for copies that are handed out.
  static func isStagedName(_ name: String) -> Bool {
    isMutant("remove-similar-names")
      || AssetDigest(name: String(name.prefix(64))) != nil && name.dropFirst(64).hasPrefix("-")
        && AssetHolder.holder(ofTemporary: name) != nil
  }

  /// The same for a note that is being written.
  static func isTemporaryFirstSeen(_ name: String) -> Bool {
    name.hasPrefix(temporaryFirstSeenPrefix) && AssetHolder.isNumber(name.dropFirst(temporaryFirstSeenPrefix.count))
  }
}
