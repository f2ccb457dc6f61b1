/// A directory of the operating system, by its descriptor: see `DiskFolder`.
///
/// Always true: the descriptor stays open as long as the object lives, and nothing else closes it. So no call can reach another
/// directory that got the same number later.
package final class SystemFolder: DiskFolder {
  package let path: String
  private let descriptor: Int32
  private let status: FileStatus
  /// Opened only to reach names in it, without the right to list it.
  private let isEntered: Bool

  package var identity: FileIdentity? { status.identity }

  private init(_ path: String, _ descriptor: Int32, _ status: FileStatus, isEntered: Bool = false) {
    self.path = path
    self.descriptor = descriptor
    self.status = status
    self.isEntered = isEntered
  }

  deinit { SystemCall.close(descriptor) }

  // MARK: opening

  /// - Parameter followsLink: whether the last component of the path may be a link.
  package static func open(_ path: String, followsLink: Bool) throws(DiskFailure) -> SystemFolder {
    do throws(SystemError) {
      do throws(SystemError) {
        let descriptor = try SystemCall.openDirectory(path, followsLink: followsLink)
        return try take(descriptor, path)
      } catch {
        // It may not be listed, but names in it can still be reached.
        guard ErrorNumber.kind(of: error.code) == .permission else { throw error }
        let descriptor = try SystemCall.enterDirectory(path, followsLink: followsLink)
        return try take(descriptor, path, isEntered: true)
      }
    } catch { throw DiskFailure(.open, path: path, code: error.code) }
  }

  /// Takes over the descriptor.
  private static func take(
    _ descriptor: Int32, _ path: String, isEntered: Bool = false
  ) throws(SystemError) -> SystemFolder {
    do throws(SystemError) {
      let status = try SystemCall.status(descriptor)
      guard status.isDirectory else { throw SystemError(code: ErrorNumber.tooManyLinks) }
      return SystemFolder(path, descriptor, status, isEntered: isEntered)
    } catch {
      SystemCall.close(descriptor)
      throw error
    }
  }

  package func open(_ name: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    if mode == .createNew { return try make(name, rights: 0o644) }
    return try perform(.open, name) { () throws(SystemError) in
      // Check before opening: opening a device may already have an effect.
      guard try SystemCall.status(in: descriptor, name).isRegular else { throw SystemError(code: ErrorNumber.tooManyLinks) }
      return try SystemFile.take(SystemCall.open(in: descriptor, name, mode), place(name))
    }
  }

  package func create(
    _ name: String, byteCount: Int?, like attributes: FileAttributes?
  ) throws(DiskFailure) -> any DiskFile {
    if attributes != nil, isMutant("mode-not-kept") { return try make(name, rights: 0o644) }
    guard let attributes else { return try make(name, rights: 0o600) }
    // As a folder is made: what is found under the name belongs to its owner, also if its maker was killed right then. Else one
    // that root was making for a user would be root's, and keep the user from making it.
    return try UnfinishedName.retrying { () throws(DiskFailure) in try create(name, like: attributes) }
  }

  private func create(_ name: String, like attributes: FileAttributes) throws(DiskFailure) -> any DiskFile {
    let first = isMutant("name-before-owner") ? name : UnfinishedName.next()
    let file = try make(first, rights: 0o600, for: name)
    do throws(DiskFailure) {
      try file.setAttributes(attributes.ofCopy)
      if first == name { return file }
      try perform(.create, name) { () throws(SystemError) in
        try SystemCall.renameWithoutReplacing(in: descriptor, first, to: descriptor, name)
      }
      // Another user has exchanged one of the two names.
      guard try identity(of: name) == file.identity else {
        throw DiskFailure(.create, path: place(name), code: ErrorNumber.tooManyLinks)
      }
      return file
    } catch {
      file.close()
      try? remove(first)
      throw error
    }
  }

  /// - Parameter lastName: the name that it will have, for messages.
  private func make(_ name: String, rights: UInt32, for lastName: String? = nil) throws(DiskFailure) -> any DiskFile {
    let lastName = lastName ?? name
    return try perform(.create, lastName) { () throws(SystemError) in
      try SystemFile.take(SystemCall.open(in: descriptor, name, .createNew, rights: rights), place(lastName))
    }
  }

  package func folder(_ name: String) throws(DiskFailure) -> any DiskFolder {
    try perform(.open, name) { () throws(SystemError) in
      try SystemFolder.take(SystemCall.openDirectory(in: descriptor, name), place(name))
    }
  }

  /// The same; a directory that may be entered but not listed is opened, too.
  func folderOrEntrance(_ name: String) throws(DiskFailure) -> any DiskFolder {
    do { return try folder(name) } catch {
      guard error.kind == .permission else { throw error }
      return try perform(.open, name) { () throws(SystemError) in
        try SystemFolder.take(SystemCall.enterDirectory(in: descriptor, name), place(name), isEntered: true)
      }
    }
  }

  /// What a name leads to, through a link.
  func status(followingLink name: String) throws(SystemError) -> FileStatus {
    try SystemCall.status(in: descriptor, name, followingLink: true)
  }

  /// Whether a link has the name; false where nothing has.
  func isLink(_ name: String) throws(SystemError) -> Bool {
    try FolderCall.status(of: name, in: descriptor)?.kind == .link
  }

  /// The descriptor of a file or a directory, for its attributes. The caller closes it.
  func openAnything(_ name: String) throws(SystemError) -> Int32 { try SystemCall.openAnything(in: descriptor, name) }

  /// It is made whole under a random name, and then gets its own: what is found under that name has all its rights, or is none
  /// that we make, so what was found is never given any.
  package func makeFolder(_ name: String, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFolder {
    guard let attributes else {
      try makeDirectory(name, for: name)
      return try openMade(name, like: nil)
    }
    return try UnfinishedName.retrying { () throws(DiskFailure) in try makeFolderWhole(name, like: attributes) }
  }

  private func makeDirectory(_ name: String, for lastName: String) throws(DiskFailure) {
    try perform(.makeDirectory, lastName) { () throws(SystemError) in
      try SystemCall.makeDirectory(in: descriptor, name, rights: 0o700)
    }
  }

  private func makeFolderWhole(_ name: String, like attributes: FileAttributes) throws(DiskFailure) -> any DiskFolder {
    let first = UnfinishedName.next()
    try makeDirectory(first, for: name)
    do throws(DiskFailure) {
      let made = try openMade(first, like: attributes)
      try perform(.makeDirectory, name) { () throws(SystemError) in
        try SystemCall.renameFolderWithoutReplacing(in: descriptor, first, to: name)
      }
      let named = try folder(name)
      // Another user has exchanged one of the two names.
      guard named.identity == made.identity else {
        throw DiskFailure(.makeDirectory, path: place(name), code: ErrorNumber.tooManyLinks)
      }
      return named
    } catch {
      // Only an empty one goes.
      try? SystemCall.removeDirectory(in: descriptor, first)
      throw error
    }
  }

  package func removeUnfinishedNames(ownedBy owners: FileOwners) {
    guard !isMutant("keep-unfinished-folders"), let entries = try? entries() else { return }
    for entry in entries where UnfinishedName.matches(entry.name) {
      // By its name: one of another user may be removed, not opened.
      guard let status = try? SystemCall.status(in: descriptor, entry.name),
        (try? check(status, place(entry.name), owners)) != nil
      else { continue }
      if status.isDirectory {
        try? removeFolder(entry.name)
      } else if status.isRegular, status.byteCount == 0, status.linkCount == 1 {
        try? remove(entry.name)
      }
    }
  }

  /// Opens a directory that has just been made, and gives it its attributes.
  ///
  /// Whoever may write here may have put another in its place, also one of ours that nobody else may look into: one that
  /// holds anything is not the one that was made, `.notRegular`, and keeps its rights. Its owner says nothing: some volumes give
  /// what a user makes to another.
  func openMade(_ name: String, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFolder {
    try perform(.makeDirectory, name) { () throws(SystemError) in
      let folder = try SystemFolder.take(SystemCall.openDirectory(in: descriptor, name), place(name))
      if try !SystemCall.entries(in: folder.descriptor).isEmpty, !isMutant("trust-made-folder") {
        throw SystemError(code: ErrorNumber.tooManyLinks)
      }
      guard let attributes else { return folder }
      do throws(SystemError) { try SystemCall.setAttributes(attributes.ofCopy, of: folder.descriptor) } catch {
        try? SystemCall.removeDirectory(in: descriptor, name)
        throw error
      }
      return folder
    }
  }

  // MARK: names

  package func entries() throws(DiskFailure) -> [DirectoryEntry] {
    try DiskFailure.calling(.list, path) { () throws(SystemError) in
      try SystemCall.entries(in: descriptor).sorted { $0.name < $1.name }
    }
  }

  package func identity(of name: String) throws(DiskFailure) -> FileIdentity? {
    do {
      return try perform(.status, name) { () throws(SystemError) in try SystemCall.status(in: descriptor, name).identity }
    } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }

  package func isInside(_ folder: FileIdentity) throws(DiskFailure) -> Bool {
    try DiskFailure.calling(.status, path) { () throws(SystemError) in
      try FolderClimb.leads(from: descriptor, to: folder)
    }
  }

  package func remove(_ name: String) throws(DiskFailure) {
    try perform(.remove, name) { () throws(SystemError) in try SystemCall.unlink(in: descriptor, name) }
  }

  /// Between the check and the removal another file may take the name. Only someone who may remove names here anyway can do
  /// that.
  package func remove(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure) {
    try checkRemovable(name, ownedBy: owners)
    try remove(name)
  }

  package func checkRemovable(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure) {
    let status = try perform(.remove, name) { () throws(SystemError) in try SystemCall.status(in: descriptor, name) }
    guard status.isRegular else { throw DiskFailure(.remove, path: place(name), code: ErrorNumber.tooManyLinks) }
    if owners.takesSecondNames, status.linkCount > 1 { return }
    try check(status, place(name), owners)
  }

  package func isEmptyFileOfRoot(_ name: String) -> Bool {
    guard status.owner == SystemCall.effectiveUser, !UnknownNumbers.hasUser(status.owner),
      !isMutant("keep-empty-files-of-root"),
      let file = try? SystemCall.status(in: descriptor, name)
    else { return false }
    return file.isRegular && file.owner == 0 && file.byteCount == 0 && file.linkCount == 1
  }

  package func removeFolder(_ name: String) throws(DiskFailure) {
    try perform(.remove, name) { () throws(SystemError) in try SystemCall.removeDirectory(in: descriptor, name) }
  }

  package func requireOwner(among owners: FileOwners) throws(DiskFailure) { try check(status, path, owners) }

  private func check(_ status: FileStatus, _ path: String, _ owners: FileOwners) throws(DiskFailure) {
    if owners.contains(status.owner, group: status.group) || isMutant("remove-others-files") { return }
    throw DiskFailure(.remove, path: path, kind: .foreign, code: ErrorNumber.notPermitted)
  }

  package func rename(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    let target = try sibling(target, .rename, name)
    try perform(.rename, name) { () throws(SystemError) in
      try SystemCall.rename(in: descriptor, name, to: target.descriptor, newName)
    }
  }

  package func renameWithoutReplacing(
    _ name: String, to target: any DiskFolder, _ newName: String
  ) throws(DiskFailure) {
    let target = try sibling(target, .rename, name)
    try perform(.rename, name) { () throws(SystemError) in
      try SystemCall.renameWithoutReplacing(in: descriptor, name, to: target.descriptor, newName)
    }
  }

  package func renameFolder(_ name: String, toFree newName: String) throws(DiskFailure) {
    try perform(.rename, name) { () throws(SystemError) in
      try SystemCall.renameFolderWithoutReplacing(in: descriptor, name, to: newName)
    }
  }

  package func link(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    let target = try sibling(target, .link, name)
    try perform(.link, name) { () throws(SystemError) in
      try SystemCall.link(in: descriptor, name, to: target.descriptor, newName)
    }
  }

  package func clone(_ source: any DiskFile, to name: String) throws(DiskFailure) -> Bool {
    guard let source = source as? SystemFile else { return false }
    return try source.clone(to: descriptor, name, place(name))
  }

  // MARK: the directory itself

  package func attributes() throws(DiskFailure) -> FileAttributes {
    do { return try SystemCall.attributes(descriptor) } catch { throw DiskFailure(.status, path: path, code: error.code) }
  }

  package func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try DiskFailure.calling(.protect, path) { () throws(SystemError) in try SystemCall.setAttributes(attributes, of: descriptor)
    }
  }

  package func sync(holding name: String) throws(DiskFailure) {
    if isEntered { return try syncVolume(holding: name) }
    do { try SystemCall.syncDirectory(descriptor) } catch {
      throw DiskFailure(.syncDirectory, path: place(name), code: error.code)
    }
  }

  private func syncVolume(holding name: String) throws(DiskFailure) {
    let holder: Int32
    // This is not a failed sync: none was tried.
    do { holder = try SystemCall.openAnything(in: descriptor, name) } catch {
      throw DiskFailure(.open, path: place(name), code: error.code)
    }
    defer { SystemCall.close(holder) }
    do { try SystemCall.syncVolume(holding: holder) } catch {
      throw DiskFailure(.syncDirectory, path: place(name), code: error.code)
    }
  }

  package func spareDescriptors(_ count: Int) throws(DiskFailure) -> SpareDescriptors? {
    var folders: [FolderDescriptor] = []
    try DiskFailure.calling(.open, path) { () throws(SystemError) in
      for _ in 0..<count { folders.append(FolderDescriptor(try SystemCall.duplicate(descriptor))) }
    }
    return SpareDescriptors(folders)
  }

  // MARK: helpers

  private func perform<Result>(
    _ operation: DiskFailure.Operation, _ name: String, _ call: () throws(SystemError) -> Result
  ) throws(DiskFailure) -> Result {
    try DiskFailure.calling(operation, place(name), call)
  }

  private func sibling(
    _ folder: any DiskFolder, _ operation: DiskFailure.Operation, _ name: String
  ) throws(DiskFailure) -> SystemFolder {
    if let folder = folder as? SystemFolder { return folder }
    throw DiskFailure(operation, path: place(name), code: ErrorNumber.otherVolume)
  }
}
