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
}

/// Disks without links.
extension Disk {
  package func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try entries(of: directory)
  }
}

/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
  package let name: String
  package let isDirectory: Bool
  package init(name: String, isDirectory: Bool) {
    self.name = name
    self.isDirectory = isDirectory
  }
}

/// `readContent` is for reading names that others may have planted: it never waits for anybody, and what is no regular file,
/// be it a pipe, a device or a link, is `.notRegular`.
package enum OpenMode: Sendable {
  case readOnly, readWrite, createNew, readContent

  package var mayWrite: Bool { self == .readWrite || self == .createNew }
}

/// How hard a sync pushes. `barrier` orders writes without emptying the drive's cache where the platform can do so
/// (Apple's `F_BARRIERFSYNC`); elsewhere it is the same as `full`.
package enum SyncLevel: Sendable { case full, barrier }

/// What tells one file from another while both exist.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// The bytes of the file that locks are taken on; they lie far behind any content.
package enum LockByte: Int, Sendable {
  case writer = 0x4000_0000_0000_0000
  case readers = 0x4000_0000_0000_0001
  /// Shared by those who wait for the writer's byte, so that its holder knows.
  case waiting = 0x4000_0000_0000_0002
}

package enum LockStrength: Sendable { case shared, exclusive }

/// One open description of a file. Write-back errors are reported once per description, so the commit path has its own.
///
/// Threads: all calls may come from any thread at any time.
package protocol DiskFile: AnyObject, Sendable {
  var path: String { get }
  var identity: FileIdentity { get }
  func byteCount() throws(DiskFailure) -> Int
  /// Writes all the bytes or throws; short writes and interruptions are dealt with inside.
  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure)
  /// Reads up to `count` bytes into `target`; fewer only at the end of the file.
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int
  /// The first byte from `offset` on that the file has a block for, as far as its file system tells: what lies before it is a
  /// hole, and reads as zeros. `Int.max` when nothing but a hole follows; `offset` where nobody tells.
  func contentStart(from offset: Int) -> Int
  func sync(_ level: SyncLevel) throws(DiskFailure)
  func truncate(to byteCount: Int) throws(DiskFailure)
  /// Copies bytes of another file to the same offset of this one without moving them through the process; where the file
  /// system can, the two share the blocks. Returns how many; nil when the two files are not of a kind that can do it.
  func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int?
  /// Takes everybody's right to change the file. Descriptions that are open keep theirs.
  func makeReadOnly() throws(DiskFailure)
  /// How many names lead to the file.
  func linkCount() throws(DiskFailure) -> Int
  /// A path that leads to it now, if the system knows one: the file, or a folder above it, may have been renamed since.
  func presentPath() throws(DiskFailure) -> String?
  func attributes() throws(DiskFailure) -> FileAttributes
  /// Gives the file its attributes, or less than that where the system refuses a part.
  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure)

  /// Where byte 0 of the file is in memory once `map` has been called. It never moves while the file is open.
  var base: UnsafeRawPointer { get }
  /// Makes `base ..< base + end` readable. `end` must not lie beyond the end of the file.
  func map(through end: Int) throws(DiskFailure)
  /// How far the file can ever be mapped. What is kept for each page of a file takes room for so much of it.
  var mappableByteCount: Int { get }

  /// Takes a lock without waiting; false when somebody else holds it. Locks belong to this description.
  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool
  /// Whether another description holds a lock on a byte. Takes none.
  func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool
  func unlock(_ byte: LockByte)
  /// Gives back descriptor, mapping and locks. Further calls throw; closing twice is allowed.
  func close()
  /// Closes a file whose name is gone or another's by now. Where nobody else has it open, what it held goes back to the disk
  /// piece by piece, so that syncs of other files need not wait for all of it.
  /// - Parameter goesOn: asked before each piece; after false the rest goes at once.
  func closeRemoved(_ goesOn: () -> Bool)
}

extension Disk {
  /// A disk without links and without a working directory.
  package func resolve(_ path: String) throws(DiskFailure) -> String { path }
}

extension DiskFile {
  package var mappableByteCount: Int { 1 << 40 }
  package func contentStart(from offset: Int) -> Int { offset }
  package func presentPath() throws(DiskFailure) -> String? { path }
  package func closeRemoved(_ goesOn: () -> Bool) { close() }
}

/// A disk said no. `code` is the system's errno (or the simulated one), `kind` what the engine does about it.
package struct DiskFailure: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Operation: String, Sendable {
    case open, create, read, write, sync, truncate, map, lock, rename, remove, syncDirectory, status
    case link, makeDirectory, list, protect
  }
  /// `foreign`: it belongs to another user, and is left alone though it could be removed. `notUTF8`: a path that no text can hold.
  package enum Kind: Sendable {
    case notFound, exists, full, permission, tooLarge, closed, notRegular, foreign, notUTF8, other
  }

  package let operation: Operation
  package let path: String
  package let kind: Kind
  package let code: Int32
  package let offset: Int?
  package let byteCount: Int?

  package init(
    _ operation: Operation, path: String, kind: Kind, code: Int32, offset: Int? = nil, byteCount: Int? = nil
  ) {
    self.operation = operation
    self.path = path
    self.kind = kind
    self.code = code
    self.offset = offset
    self.byteCount = byteCount
  }

  package var description: String {
    var text = "\(operation.rawValue) of \(path) failed with code \(code)"
    if let offset { text += " at byte \(offset)" }
    if let byteCount { text += " for \(byteCount) bytes" }
    return text
  }
}

extension DirectoryEntry {
  /// What a directory holds, for disks that keep whole paths in a table.
  package static func entries(
    of directory: String, files: some Sequence<String>, directories: some Sequence<String>
  ) -> [DirectoryEntry] {
    func name(_ path: String) -> String? {
      guard path.hasPrefix(directory + "/") else { return nil }
      let rest = path.dropFirst(directory.count + 1)
      return rest.isEmpty || rest.contains("/") ? nil : String(rest)
    }
    let all =
      files.compactMap { path in name(path).map { DirectoryEntry(name: $0, isDirectory: false) } }
      + directories.compactMap { path in name(path).map { DirectoryEntry(name: $0, isDirectory: true) } }
    return all.sorted { $0.name < $1.name }
  }
}

extension DirectoryEntry {
  /// What moves when a directory gets another name.
  package static func moves<Content>(
    of source: String, to target: String, files: [String: Content], directories: Set<String>
  ) -> (
    files: [(source: String, target: String, content: Content)], directories: [(source: String, target: String)]
  ) {
    func moved(_ path: String) -> String? {
      path == source ? target : path.hasPrefix(source + "/") ? target + path.dropFirst(source.count) : nil
    }
    return (
      files.sorted { $0.key < $1.key }.compactMap { path, content in moved(path).map { (path, $0, content) } },
      directories.sorted().compactMap { path in moved(path).map { (path, $0) } }
    )
  }
}
