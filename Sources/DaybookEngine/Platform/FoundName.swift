/// What has a name, in words: for messages about names that somebody else has taken.
package enum FoundName {
  /// Whether a directory has the name. Itself, not what a link leads to.
  package static func isDirectory(_ path: String) -> Bool { (try? FolderCall.status(of: path))?.kind == .folder }

  /// "a directory of user 1001"; nil when nothing has the name, or nobody can tell. Itself, not what a link leads to.
  package static func description(of path: String) -> String? {
    guard let status = try? FolderCall.status(of: path) else { return nil }
    let kind =
      switch status.kind {
      case .regular: "a file"
      case .folder: "a directory"
      case .link: "a symbolic link"
      case .pipe: "a pipe"
      case .characterDevice: "a device"
      case .other: "a socket or a device"
      }
    if UnknownNumbers.hasUser(status.owner) { return "\(kind) of a user whom this namespace does not know" }
    return status.owner == SystemCall.effectiveUser ? "\(kind) of yours" : "\(kind) of user \(status.owner)"
  }
}
