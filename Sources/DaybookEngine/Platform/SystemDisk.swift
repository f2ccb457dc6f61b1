/// The operating system's disk: names and directories. `SystemFile` does what happens inside a file.
///
/// Relies on a file system whose `rename` is atomic and whose directories can be synced. Every failure becomes a
/// `DiskFailure` with the operation, the path and the errno.
///
/// A disk of a database keeps the directory of that database open (`keepingFolder`). Names in it are then reached from there, by
/// no path: renaming a directory above it, or putting another in its place, leads none of them elsewhere.
package final class SystemDisk: Disk {
  /// The directory that is kept open, and its path.
  private let kept: Locked<SystemFolder?>

  package init() { kept = Locked(nil) }

  private init(keeping folder: SystemFolder) { kept = Locked(folder) }

  package func keepingFolder(holding path: String) throws(DiskFailure) -> any Disk {
    if isMutant("walk-the-path-again") { return self }
    // A container keeps the directory that its databases keep, too.
    if let folder = keptFolder(at: directory(holding: path)) { return SystemDisk(keeping: folder) }
    do {
      return SystemDisk(keeping: try SystemFolder.open(directory(holding: path), followsLink: true))
    } catch {
      // In a sandbox the right to a file need not be one to its folder.
      guard error.kind == .permission else { throw error }
      return self
    }
  }

  package func letGoOfFolder() { kept.withLock { $0 = nil } }

  /// The directory that is kept, if it was opened by this path: byte by byte, as to Swift two directories may have equal paths.
  private func keptFolder(at path: String) -> SystemFolder? {
    guard let folder = kept.withLock({ $0 }), path.utf8.elementsEqual(folder.path.utf8) else { return nil }
    return folder
  }

  /// The kept directory and the name in it, for a path that leads there.
  private func place(_ path: String) -> (folder: SystemFolder, name: String)? {
    guard let folder = keptFolder(at: directory(holding: path)) else { return nil }
    let name = lastName(of: path)
    return name.isEmpty || name == "." || name == ".." ? nil : (folder, name)
  }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    if let place = place(path) { return try place.folder.open(place.name, mode) }
    return try open(path, mode, rights: 0o644)
  }

  private func open(_ path: String, _ mode: OpenMode, rights: UInt32) throws(DiskFailure) -> any DiskFile {
    let operation: DiskFailure.Operation = mode == .createNew ? .create : .open
    let descriptor: Int32
    do { descriptor = try SystemCall.open(path, mode, rights: rights) } catch {
      throw DiskFailure(operation, path: path, code: error.code)
    }
    return try SystemDisk.file(descriptor, path, operation)
  }

  /// Opens an application's file, which may be anything by now: through links, and without waiting. Only a regular file is
  /// opened, because opening a device may already have an effect; anything else is `.notRegular`.
  package static func openSource(_ path: String) throws(DiskFailure) -> any DiskFile {
    let descriptor = try DiskFailure.calling(.open, path) { () throws(SystemError) in
      guard try SystemCall.status(path).isRegular else {
        throw SystemError(code: ErrorNumber.tooManyLinks)
      }
      return try SystemCall.openSource(path)
    }
    return try file(descriptor, path, .open)
  }

  /// Refuses anything but a regular file: a pipe or a device is neither a database nor a content.
  private static func file(
    _ descriptor: Int32, _ path: String, _ operation: DiskFailure.Operation
  ) throws(DiskFailure) -> any DiskFile {
    do { return try SystemFile.take(descriptor, path) } catch {
      throw DiskFailure(operation, path: path, code: error.code)
    }
  }

  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile { try open(path, .createNew) }

  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    if let place = place(path) { return try place.folder.create(place.name, byteCount: byteCount, like: nil) }
    return try open(path, .createNew, rights: 0o600)
  }

  package func exists(_ path: String) throws(DiskFailure) -> Bool {
    try identity(of: path) != nil
  }

  package func resolve(_ path: String) throws(DiskFailure) -> String {
    if isMutant("link-not-resolved") { return path }
    do throws(SystemError) {
      guard let place = place(path) else { return try PathWalk.resolve(path) }
      // The path of a directory that is kept has no links any more; only the name may be one.
      return try place.folder.isLink(place.name) ? try PathWalk.resolve(path, from: place.folder) : path
    } catch {
      if error.code != ErrorNumber.notPermitted { throw DiskFailure(.open, path: path, code: error.code) }
      throw DiskFailure(.open, path: path, kind: .foreign, code: error.code)
    }
  }

  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    do throws(SystemError) {
      if let place = place(path) { return try place.folder.status(followingLink: place.name).identity }
      return try SystemCall.status(path).identity
    } catch {
      let failure = DiskFailure(.status, path: path, code: error.code)
      if failure.kind == .notFound { return nil }
      throw failure
    }
  }

  package func rename(_ source: String, to target: String) throws(DiskFailure) {
    if let from = place(source), let to = place(target) { return try from.folder.rename(from.name, to: to.folder, to.name) }
    try DiskFailure.calling(.rename, source) { () throws(SystemError) in try SystemCall.rename(source, to: target) }
  }

  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    if let from = place(source), let to = place(target) {
      return try from.folder.renameWithoutReplacing(from.name, to: to.folder, to.name)
    }
    try DiskFailure.calling(.rename, source) { () throws(SystemError) in
      try SystemCall.renameWithoutReplacing(source, to: target)
    }
  }

  package func remove(_ path: String) throws(DiskFailure) {
    if let place = place(path) { return try place.folder.remove(place.name) }
    try DiskFailure.calling(.remove, path) { () throws(SystemError) in try SystemCall.unlink(path) }
  }

  package func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool {
    try DiskFailure.calling(.create, target) { () throws(SystemError) in try SystemCall.clone(source, to: target) }
  }

  package func link(_ source: String, to target: String) throws(DiskFailure) {
    if let from = place(source), let to = place(target) { return try from.folder.link(from.name, to: to.folder, to.name) }
    try DiskFailure.calling(.link, source) { () throws(SystemError) in try SystemCall.link(source, to: target) }
  }

  package func makeDirectory(_ path: String) throws(DiskFailure) {
    try DiskFailure.calling(.makeDirectory, path) { () throws(SystemError) in try SystemCall.makeDirectory(path) }
  }

  package func makePrivateDirectory(_ path: String) throws(DiskFailure) {
    try DiskFailure.calling(.makeDirectory, path) { () throws(SystemError) in try SystemCall.makeDirectory(path, rights: 0o700)
    }
  }

  package func attributes(of path: String) throws(DiskFailure) -> FileAttributes {
    try DiskFailure.calling(.status, path) { () throws(SystemError) in
      let descriptor = try descriptor(path)
      defer { SystemCall.close(descriptor) }
      return try SystemCall.attributes(descriptor)
    }
  }

  package func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    try DiskFailure.calling(.protect, path) { () throws(SystemError) in
      let descriptor = try descriptor(path)
      defer { SystemCall.close(descriptor) }
      try SystemCall.setAttributes(attributes, of: descriptor)
    }
  }

  /// Opens a file or a directory, not through a link.
  private func descriptor(_ path: String) throws(SystemError) -> Int32 {
    guard let place = place(path) else { return try SystemCall.open(path, .readContent) }
    return try place.folder.openAnything(place.name)
  }

  package func removeDirectory(_ path: String) throws(DiskFailure) {
    if let place = place(path) { return try place.folder.removeFolder(place.name) }
    try DiskFailure.calling(.remove, path) { () throws(SystemError) in try SystemCall.removeDirectory(path) }
  }

  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try entries(of: directory, followingLink: true)
  }

  package func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try entries(of: directory, followingLink: false)
  }

  private func entries(of directory: String, followingLink: Bool) throws(DiskFailure) -> [DirectoryEntry] {
    if let folder = keptFolder(at: directory) { return try folder.entries() }
    return try DiskFailure.calling(.list, directory) { () throws(SystemError) in
      try SystemCall.entries(of: directory, followingLink: followingLink).sorted { $0.name < $1.name }
    }
  }

  package func syncDirectory(holding path: String) throws(DiskFailure) {
    try folder(holding: path).sync(holding: lastName(of: path))
  }

  package func folder(at path: String) throws(DiskFailure) -> any DiskFolder {
    if let place = place(path) { return try place.folder.folderOrEntrance(place.name) }
    return try SystemFolder.open(path, followsLink: false)
  }

  package func folder(holding path: String) throws(DiskFailure) -> any DiskFolder {
    if let place = place(path) { return place.folder }
    return try SystemFolder.open(directory(holding: path), followsLink: true)
  }
}

/// The directory part of a path: "." for a bare name, "/" for a name at the root.
package func directory(holding path: String) -> String {
  // Bytes, not characters: a slash with a combining mark behind it is one character to Swift, and a slash to the system.
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}
