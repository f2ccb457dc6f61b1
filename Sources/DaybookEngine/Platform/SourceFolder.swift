/// A folder below which an input may name files: found once, through links, and open from then on. A user who can rename folders on
/// the way to it leads no reader to other files by putting another in its place.
///
/// Threads: any at any time.
package final class SourceFolder: Sendable {
  /// Its path without links.
  package let path: String
  private let folder: FolderDescriptor

  package init(_ path: String) throws(DiskFailure) {
    let (folder, resolved) = try DiskFailure.calling(.open, path) { () throws(SystemError) in
      let folder = FolderDescriptor(try FolderCall.openFolder(path))
      let resolved = try SystemCall.canonical(path)
      // Moved meanwhile: then the path is that of another one.
      guard try SystemCall.status(resolved).identity == FolderCall.status(of: folder.number).identity else {
        throw SystemError(code: ErrorNumber.notFound)
      }
      return (folder, resolved)
    }
    (self.folder, self.path) = (folder, resolved)
  }

  /// The state of a file below the folder, reached without links.
  /// - Parameter names: those of the folders on the way, then that of the file.
  /// - Throws: `.notRegular` when a name on the way is a link, or the last one no regular file.
  package func state(of names: [String]) throws(DiskFailure) -> SourceState {
    let all = ([path == "/" ? "" : path] + names).joined(separator: "/")
    return try DiskFailure.calling(.status, all) { () throws(SystemError) in
      var folder = isMutant("walk-to-source-again") ? FolderDescriptor(try FolderCall.openFolder(path)) : folder
      for name in names.dropLast() {
        guard try SystemCall.status(in: folder.number, name).isDirectory else {
          throw SystemError(code: ErrorNumber.tooManyLinks)
        }
        folder = FolderDescriptor(try FolderCall.openFolderItself(name, in: folder.number))
      }
      guard let name = names.last else { throw SystemError(code: ErrorNumber.tooManyLinks) }
      return try SourceState(SystemCall.status(in: folder.number, name))
    }
  }
}
