/// The operating system's disk: names and directories. `SystemFile` does what happens inside a file.
///
/// Relies on a file system whose `rename` is atomic and whose directories can be synced. Every failure becomes a
/// `DiskFailure` with the operation, the path and the errno.
package final class SystemDisk: Disk {
  package init() {}

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    try open(path, mode, rights: 0o644)
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
    try open(path, .createNew, rights: 0o600)
  }

  package func exists(_ path: String) throws(DiskFailure) -> Bool {
    try identity(of: path) != nil
  }

  package func resolve(_ path: String) throws(DiskFailure) -> String {
    if isMutant("link-not-resolved") { return path }
    do { return try SystemCall.resolve(path) } catch {
      if error.code != ErrorNumber.notPermitted { throw DiskFailure(.open, path: path, code: error.code) }
      throw DiskFailure(.open, path: path, kind: .foreign, code: error.code)
    }
  }

  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    do {
      return try SystemCall.status(path).identity
    } catch {
      let failure = DiskFailure(.status, path: path, code: error.code)
      if failure.kind == .notFound { return nil }
      throw failure
    }
  }

  package func rename(_ source: String, to target: String) throws(DiskFailure) {
    try DiskFailure.calling(.rename, source) { () throws(SystemError) in try SystemCall.rename(source, to: target) }
  }

  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try DiskFailure.calling(.rename, source) { () throws(SystemError) in
      try SystemCall.renameWithoutReplacing(source, to: target)
    }
  }

  package func remove(_ path: String) throws(DiskFailure) {
    try DiskFailure.calling(.remove, path) { () throws(SystemError) in try SystemCall.unlink(path) }
  }

  package func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool {
    try DiskFailure.calling(.create, target) { () throws(SystemError) in try SystemCall.clone(source, to: target) }
  }

  package func link(_ source: String, to target: String) throws(DiskFailure) {
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
      let descriptor = try SystemCall.open(path, .readContent)
      defer { SystemCall.close(descriptor) }
      return try SystemCall.attributes(descriptor)
    }
  }

  package func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    try DiskFailure.calling(.protect, path) { () throws(SystemError) in
      let descriptor = try SystemCall.open(path, .readContent)
      defer { SystemCall.close(descriptor) }
      try SystemCall.setAttributes(attributes, of: descriptor)
    }
  }

  package func removeDirectory(_ path: String) throws(DiskFailure) {
    try DiskFailure.calling(.remove, path) { () throws(SystemError) in try SystemCall.removeDirectory(path) }
  }

  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try entries(of: directory, followingLink: true)
  }

  package func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try entries(of: directory, followingLink: false)
  }

  private func entries(of directory: String, followingLink: Bool) throws(DiskFailure) -> [DirectoryEntry] {
    try DiskFailure.calling(.list, directory) { () throws(SystemError) in
      try SystemCall.entries(of: directory, followingLink: followingLink).sorted { $0.name < $1.name }
    }
  }

  package func syncDirectory(holding path: String) throws(DiskFailure) {
    try folder(holding: path).sync(holding: lastName(of: path))
  }

  package func folder(at path: String) throws(DiskFailure) -> any DiskFolder {
    try SystemFolder.open(path, followsLink: false)
  }

  package func folder(holding path: String) throws(DiskFailure) -> any DiskFolder {
    try SystemFolder.open(directory(holding: path), followsLink: true)
  }
}

/// The directory part of a path: "." for a bare name, "/" for a name at the root.
package func directory(holding path: String) -> String {
  // Bytes, not characters: a slash with a combining mark behind it is one character to Swift, and a slash to the system.
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}
