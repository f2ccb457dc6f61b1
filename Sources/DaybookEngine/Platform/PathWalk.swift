/// From the path of a database to a path without links: that of a name in a folder.
///
/// The last name is looked at in the open folder, and links there are followed one by one. Whatever the system follows without
/// reading its text (`/proc/self/fd/3`, `/proc/7/root`) leads to a file or folder that need not be called what the text says. But a
/// database is more than its file: what belongs to it has names beside its own. So such a path is one of a database only as long
/// as its text leads to the same; a file that was renamed or replaced since, or that has no name, is not found.
enum PathWalk {
  /// As many links as Linux follows in one path.
  private static let maximumLinkCount = 40

  /// The absolute path without symbolic links. If nothing is there yet, the folder's path with the name, or the target of a
  /// dangling link. That must belong to this user or to root, else EPERM: its owner would choose where a file is made.
  /// EILSEQ when the path is not UTF-8: repaired, it would name another file.
  static func resolve(_ given: String) throws(SystemError) -> String {
    var path = given
    for _ in 0..<maximumLinkCount {
      try SystemCall.check(path)
      let (holder, name) = (directory(holding: path), lastName(of: path))
      if name.isEmpty || name == "." || name == ".." { return try folder(path, SystemCall.status(path).identity) }
      let opened: FolderDescriptor
      do { opened = .init(try SystemCall.enterDirectory(holder, followsLink: true)) } catch {
        // In a sandbox the right to a file need not be one to its folder.
        guard ErrorNumber.kind(of: error.code) == .permission else { throw error }
        if let resolved = try? SystemCall.canonical(path) { return resolved }
        return place(name, in: try SystemCall.canonical(holder))
      }
      let resolved = place(name, in: try folder(holder, FolderCall.status(of: opened.number).identity))
      guard let status = try FolderCall.status(of: name, in: opened.number), status.kind == .link else {
        return SystemCall.spelled(resolved)
      }
      let text: String
      do { text = try FolderCall.target(ofLink: name, in: opened.number) } catch {
        // Replaced since the look at it.
        guard error.code == ErrorNumber.invalid || error.code == ErrorNumber.notFound else { throw error }
        continue
      }
      if OutputWalk.leadsIntoProcess(text, opened) {
        let file = try SystemCall.status(in: opened.number, name, followingLink: true)
        guard file.isRegular else { throw SystemError(code: ErrorNumber.tooManyLinks) }
        try requireSame(text, file.identity)
      } else if !OutputWalk.isTrusted(status.owner), !isMutant("follow-any-dangling-link"), try isDangling(name, opened) {
        throw SystemError(code: ErrorNumber.notPermitted)
      }
      // The first byte: to Swift a slash with a combining mark is another character, to the system a slash.
      path = text.startsWithBytes(of: "/") ? text : holder + "/" + text
    }
    throw SystemError(code: ErrorNumber.tooManyLinks)
  }

  /// The same for a link in an open folder: ENOENT when the folder's path leads to another one by now, in which the name may be
  /// anybody's.
  static func resolve(_ path: String, from folder: SystemFolder) throws(SystemError) -> String {
    let resolved = try resolve(path)
    if let identity = folder.identity { try requireSame(folder.path, identity) }
    return resolved
  }

  /// The path of a folder that is open, by what it was opened with.
  private static func folder(_ path: String, _ identity: FileIdentity) throws(SystemError) -> String {
    let resolved = try SystemCall.canonical(path)
    try requireSame(resolved, identity)
    return resolved
  }

  /// ENOENT when another file or folder has the name.
  private static func requireSame(_ path: String, _ identity: FileIdentity) throws(SystemError) {
    guard try SystemCall.status(path).identity == identity || isMutant("database-of-any-text") else {
      throw SystemError(code: ErrorNumber.notFound)
    }
  }

  private static func isDangling(_ name: String, _ folder: FolderDescriptor) throws(SystemError) -> Bool {
    do { _ = try SystemCall.status(in: folder.number, name, followingLink: true) } catch {
      guard error.code == ErrorNumber.notFound else { throw error }
      return true
    }
    return false
  }

  private static func place(_ name: String, in folder: String) -> String { folder == "/" ? "/" + name : folder + "/" + name }
}
