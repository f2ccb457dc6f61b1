/// The seam between the engine and the world: what the engine asks of a disk, and nothing more.
///
/// Three disks stand behind it: the operating system's (`SystemDisk`), plain memory (`MemoryDisk`, for
/// `Database.inMemory()`), and the simulated one of DaybookTesting, which forgets what was not synced. The engine cannot
/// tell them apart. All of it is off the path of a mapped read: such reads go through `DiskFile.base`.
package protocol Disk: AnyObject, Sendable {
  /// Opens a file. A missing file is `.notFound`, an existing one in mode `.createNew` is `.exists`.
  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile
  func exists(_ path: String) throws(DiskFailure) -> Bool
  /// The absolute path, without symbolic links, of what a path leads to; of what a link leads to when nothing is there
  /// yet, if the link is this user's or root's (`.foreign`). A later change of the working directory or of a link leads nowhere
  /// else.
  func resolve(_ path: String) throws(DiskFailure) -> String
  /// The identity of the file that the path names now; nil when it names none.
  func identity(of path: String) throws(DiskFailure) -> FileIdentity?
  /// Atomically makes `target` name what `source` names. A directory moves with all that it holds, to a name that is free.
  func rename(_ source: String, to target: String) throws(DiskFailure)
  /// Makes `target` name what `source` names; `.exists`, and both stay as they are, when `target` names a file already.
  /// Whether `target` is free is decided at the moment it is taken. A crash in between may leave both names.
  func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure)
  func remove(_ path: String) throws(DiskFailure)
  /// Makes creations, renames and removals in the directory that holds `path` survive power loss.
  func syncDirectory(holding path: String) throws(DiskFailure)

  // What copies that take a file's place need: `FileAttributes.swift`.

  /// Creates a file that only its owner may touch. Like `.createNew` else.
  /// - Parameter byteCount: what it will hold at most, if that is known: a disk in memory reserves no more.
  func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile
  /// Makes a directory that only its owner may enter.
  func makePrivateDirectory(_ path: String) throws(DiskFailure)
  /// The attributes of a file or a directory, not through a link in the last component.
  func attributes(of path: String) throws(DiskFailure) -> FileAttributes
  /// Gives a file or a directory its attributes, or less than that where the system refuses a part. Not through a link either.
  func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure)

  // What assets need beyond the one file of the log.

  /// Creates a file that will hold no more than so many bytes: a disk in memory reserves no more. Like `.createNew` else.
  func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile
  /// Makes `target` a copy of `source` that shares its blocks until one of them changes; false where that cannot be.
  /// Then nothing has been made.
  func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool
  /// Gives the file that `source` names a second name; `.exists` when `target` is taken.
  func link(_ source: String, to target: String) throws(DiskFailure)
  /// Makes a directory; `.exists` when the name is taken. Durable when the directory that holds it has been synced.
  func makeDirectory(_ path: String) throws(DiskFailure)
  /// Removes a directory that holds nothing.
  func removeDirectory(_ path: String) throws(DiskFailure)
  /// What a directory holds, by name; `.notFound` when there is none.
  func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry]
  /// The same of a directory itself: `.notRegular` for a link that leads to one.
  func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry]

  // Directories that are opened, so that names in them are reached by no path: `DiskFolder.swift`.

  /// Opens a directory; not through a link in the last component of its path. `.notFound` when there is none.
  func folder(at path: String) throws(DiskFailure) -> any DiskFolder
  /// The directory that holds a path, through links. It need not be one that may be listed.
  func folder(holding path: String) throws(DiskFailure) -> any DiskFolder
  /// The same disk, with the directory that holds a path kept open: every name in it is reached from there, until `letGoOfFolder`. So a database stays in its directory, whatever happens to the names above it.
  func keepingFolder(holding path: String) throws(DiskFailure) -> any Disk
  /// Closes the directory that is kept; names in it are reached by their paths again.
  func letGoOfFolder()
}

/// Disks without links.
extension Disk {
  package func keepingFolder(holding path: String) throws(DiskFailure) -> any Disk { self }
  package func letGoOfFolder() {}

  package func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try entries(of: directory)
  }
}

/// How hard a sync pushes. `barrier` orders writes without emptying the drive's cache where the platform can do so
/// (Apple's `F_BARRIERFSYNC`); elsewhere it is the same as `full`.
package enum SyncLevel: Sendable { case full, barrier }

extension Disk {
  /// A disk without links and without a working directory.
  package func resolve(_ path: String) throws(DiskFailure) -> String { path }
}
