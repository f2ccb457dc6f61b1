/// An open directory. Work with names inside it goes through this object, never through a path.
///
/// Each call walks a path anew, and anyone who may write to a directory on the way can put a link there between two calls. An
/// open directory stays the same one, whatever happens to its name. So names below a directory that others may write to are
/// reached like this:
///
///     disk.folder(holding: "/srv/a.daybook")      by its path, through links: the database's own directory
///       └─ folder("a.daybook.assets")             itself, never through a link
///            └─ folder("3a")
///                 └─ open("3a7f…", .readContent)  a regular file, never a link; nobody waits for a pipe
///
/// A name is one component: "", ".", ".." and names with a slash are refused. Anything of another kind than was asked for,
/// above all a link, is `.notRegular`, and the failure names its path. The directory stays open as long as the object lives.
///
/// Threads: all calls may come from any thread at any time.
package protocol DiskFolder: AnyObject, Sendable {
  /// The path by which it was opened, for messages and for paths that leave the library.
  var path: String { get }
  /// Nil on a disk that knows folders only by their paths; such a disk has no links.
  var identity: FileIdentity? { get }

  /// Opens a regular file, or makes one in mode `.createNew`.
  func open(_ name: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile
  /// Makes a file that gets its attributes before its name and never has wider rights; nil: only its owner may use it.
  /// `.exists` when the name is taken.
  /// - Parameter byteCount: the most that it will hold, if known; a disk in memory reserves no more.
  func create(_ name: String, byteCount: Int?, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFile
  /// Opens a directory in this one; `.notFound` when there is none.
  func folder(_ name: String) throws(DiskFailure) -> any DiskFolder
  /// Makes a directory that gets its attributes before it has its name; nil: only its owner may use it. `.exists` when the
  /// name is taken; what has it is left as it is.
  func makeFolder(_ name: String, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFolder
  /// What it holds, by name.
  func entries() throws(DiskFailure) -> [DirectoryEntry]
  /// The identity of what has a name, not of what a link leads to; nil when the name is free.
  func identity(of name: String) throws(DiskFailure) -> FileIdentity?

  /// Whether it is a directory of this identity, or lies in it. False on a disk that knows folders only by their paths.
  func isInside(_ folder: FileIdentity) throws(DiskFailure) -> Bool

  /// Removes a name of anything but a directory.
  func remove(_ name: String) throws(DiskFailure)
  /// Removes the name of a regular file that belongs to one of `owners`. Anything else stays: `.notRegular`, `.foreign`; see
  /// also `FileOwners.orOfSecondNames`.
  func remove(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure)
  /// Throws what `remove(_:ownedBy:)` would throw, and removes nothing.
  func checkRemovable(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure)
  /// Whether a name is that of a file without a byte that belongs to root, in a directory of this user: what root had made there for
  /// him, and not given to him yet, when it died. By the name alone: he may not open such a file, but remove it.
  func isEmptyFileOfRoot(_ name: String) -> Bool
  /// Removes an empty directory.
  func removeFolder(_ name: String) throws(DiskFailure)
  /// `.foreign` when the directory itself belongs to none of `owners`.
  func requireOwner(among owners: FileOwners) throws(DiskFailure)

  /// Atomically makes a name in `target` name what `name` names here.
  func rename(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure)
  /// As `Disk.renameWithoutReplacing`.
  func renameWithoutReplacing(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure)
  /// Gives a directory another name in this one; `.exists` when that is taken, also by an empty directory.
  func renameFolder(_ name: String, toFree newName: String) throws(DiskFailure)
  /// Gives what `name` names a second name, without following a link; `.exists` when that is taken. Another disk or volume is
  /// refused.
  func link(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure)
  /// Makes `name` a copy of a file that shares its blocks until one of the two changes. False, and nothing is made, where that
  /// is impossible.
  func clone(_ source: any DiskFile, to name: String) throws(DiskFailure) -> Bool

  /// Its own attributes.
  func attributes() throws(DiskFailure) -> FileAttributes
  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure)
  /// Removes what `create` and `makeFolder` of a process that died have left here, if it belongs to one of `owners`.
  func removeUnfinishedNames(ownedBy owners: FileOwners)
  /// Makes creations, renames and removals in it survive power loss. A directory that may be entered but not opened cannot be
  /// synced by itself; then its whole volume is synced, through the file with the name.
  /// - Parameter name: one of its names, for failures.
  func sync(holding name: String) throws(DiskFailure)
  /// Takes so many descriptors; nil on a disk without any.
  func spareDescriptors(_ count: Int) throws(DiskFailure) -> SpareDescriptors?
}

extension DiskFolder {
  package func isInside(_ folder: FileIdentity) throws(DiskFailure) -> Bool { false }
  package func isEmptyFileOfRoot(_ name: String) -> Bool { false }
  package func spareDescriptors(_ count: Int) throws(DiskFailure) -> SpareDescriptors? { nil }

  /// The path of a name in it.
  package func place(_ name: String) -> String {
    switch path {
    case ".": name
    case "/": "/" + name
    default: path + "/" + name
    }
  }

  /// Takes the name away from a file that was made here and is not wanted, unless another file has it by now. What cannot be
  /// removed stays, as a leftover.
  package func remove(_ name: String, ifStill file: any DiskFile) {
    if (try? identity(of: name)) == file.identity { try? remove(name) }
  }

  /// The directory with a name, or nil.
  package func folderIfAny(_ name: String) throws(DiskFailure) -> (any DiskFolder)? {
    do { return try folder(name) } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }
}

/// Disks that keep whole paths in a table, and those that forward to one.
extension Disk {
  package func folder(at path: String) throws(DiskFailure) -> any DiskFolder {
    guard try exists(path) else { throw DiskFailure(.open, path: path, code: ErrorNumber.notFound) }
    return PathFolder(path, on: self)
  }

  package func folder(holding path: String) throws(DiskFailure) -> any DiskFolder {
    PathFolder(directory(holding: path), on: self)
  }
}

/// The last component of a path.
package func lastName(of path: String) -> String {
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
  return String(path[path.utf8.index(after: slash)...])
}
