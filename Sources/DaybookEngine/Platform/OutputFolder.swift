/// A folder for outputs, found or made. It stays open, so a link that takes its name later changes nothing.
package final class OutputFolder {
  let descriptor: FolderDescriptor
  package let path: String

  /// Opens the folder at a path; makes it, and those above it, where they are missing. A link must belong to this user or to
  /// root.
  package init(_ path: String, _ rules: OutputRules) throws(OutputFault) {
    self.path = path
    do throws(OutputProblem) {
      descriptor = try Self.open(path, rules, depth: 0)
    } catch { throw OutputFault(error, path: path) }
  }

  private static func open(_ path: String, _ rules: OutputRules, depth: Int) throws(OutputProblem) -> FolderDescriptor {
    let path = OutputWalk.withoutEndingSlashes(path)
    let end: OutputWalk.End
    do { end = try OutputWalk(path, endsInFolder: true).end } catch {
      guard case .system(let failure) = error, failure.code == ErrorNumber.notFound, depth < 255, !path.isEmpty,
        case let holder = directory(holding: path), holder != path
      else { throw error }
      _ = try open(holder, rules, depth: depth + 1)
      end = try OutputWalk(path, endsInFolder: true).end
    }
    guard case .name(let name, let folder, let status) = end else { throw .refused(.otherKind) }
    if status == nil {
      try rules.check(name, in: folder)
      try OutputProblem.on { () throws(SystemError) in
        let (mode, group) = try rules.mode(of: nil, name, in: folder, isFolder: true)
        do throws(SystemError) { try SystemCall.makeDirectory(in: folder.number, name, rights: mode) } catch {
          guard error.code == ErrorNumber.exists else { throw error }
        }
        // It got an unexpected group, or an access control list. Narrow it now, while it is still empty.
        let made = try FolderCall.status(of: name, in: folder.number)
        guard let made, made.kind == .folder, made.owner == SystemCall.effectiveUser else { return }
        guard made.group != group || OutputRules.isForFew(mode) else { return }
        let opened = FolderDescriptor(try FolderCall.openFolderItself(name, in: folder.number, toRead: true))
        var isWide = made.group != group
        if !isWide { isWide = try SystemCall.hasList(opened.number) }
        guard isWide else { return }
        try FolderCall.setRights(made.mode & 0o700, of: opened.number)
      }
    } else if status?.kind != .folder {
      throw .refused(.otherKind)
    }
    let opened = try OutputProblem.on { () throws(SystemError) in
      FolderDescriptor(
        name.isEmpty
          ? try FolderCall.openFolder(".", in: folder.number)
          : try FolderCall.openFolderItself(name, in: folder.number))
    }
    try rules.check(opened)
    return opened
  }
}
