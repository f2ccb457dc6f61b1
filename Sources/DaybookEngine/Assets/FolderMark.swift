/// Says whose contents a directory contains: a small file among them, `owner`.
///
///     database 0123456789abcdef     the number of the database's folder, from the first page of its file (FORMAT.md §2)
///     folder 1310722                the inode of this directory, where the disk tells
///     file 1310719                  those of the database's file: two while a compaction exchanges it
///     unfinished                    only in the directory of a copy that is not finished
///
/// A user who may rename in the directory above could give another database's directory this one's name, and have a collection
/// empty it; a file may be moved without its directory, and a copy of a file has the number of its original. So nothing is
/// removed from a directory unless all of this agrees:
///
///     no mark, and nothing else there        it is new: it is marked before its first content
///     no mark                                unknown: an archive has lost the mark
///     another number                         another database's
///     our number, this directory, our file   ours
///     our number, another directory          this one was copied, with its file: ours, and marked again
///     our number, this directory, not our file    the file was copied: the original may still use it
///
/// Always true: a mark is durable before anything else is put into its directory, and it is the last to go. One that was found is
/// synced before it is relied on, because its maker's sync may have failed, or never have come. It is made under a name that
/// no user can foresee, `owner.new-` and 16 digits, and replaces nothing there. A file of its own survives what archives, copies
/// and simple volumes do to extended attributes.
package struct FolderMark: Equatable, Sendable {
  package static let name = "owner"
  private static let temporaryPrefix = name + ".new-"
  /// A longer file is no mark.
  private static let limit = 1024

  package var database: UInt64
  package var folder: UInt64?
  package var files: [UInt64]
  package var isUnfinished: Bool

  package init(database: UInt64, folder: UInt64?, files: [UInt64], isUnfinished: Bool = false) {
    self.database = database
    self.folder = folder
    self.files = files
    self.isUnfinished = isUnfinished
  }

  /// What a directory has under the name of the mark.
  package enum Found: Equatable, Sendable {
    case nothing
    case mark(FolderMark)
    /// Something that this version cannot read.
    case unreadable
  }

  static func isOwnName(_ name: String) -> Bool { name == FolderMark.name || isTemporaryName(name) }

  /// Whether a name is one under which a mark is made: several may be making one.
  static func isTemporaryName(_ name: String) -> Bool {
    name.hasPrefix(temporaryPrefix) && AssetHolder.isNumber(name.dropFirst(temporaryPrefix.count))
  }

  package var text: String {
    var text = "database \(hexDigits(database))\n"
    if let folder { text += "folder \(folder)\n" }
    if !files.isEmpty { text += "file " + files.map(String.init).joined(separator: " ") + "\n" }
    if isUnfinished { text += "unfinished\n" }
    return text
  }

  package init?(text: String) {
    self.init(database: 0, folder: nil, files: [])
    var hasDatabase = false
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      switch (parts.first, parts.count) {
      case ("database", 2):
        guard parts[1].utf8.count == 16, let number = UInt64(parts[1], radix: 16) else { return nil }
        database = number
        hasDatabase = true
      case ("folder", 2):
        guard let number = UInt64(parts[1]) else { return nil }
        folder = number
      case ("file", 2...3):
        files = parts.dropFirst().compactMap { UInt64($0) }
        guard files.count == parts.count - 1 else { return nil }
      case ("unfinished", 1): isUnfinished = true
      default: return nil
      }
    }
    if !hasDatabase { return nil }
  }

  package static func read(in folder: any DiskFolder) throws(DiskFailure) -> Found {
    let file: any DiskFile
    do { file = try folder.open(name, .readContent) } catch {
      switch error.kind {
      case .notFound: return .nothing
      case .notRegular: return .unreadable
      default: throw error
      }
    }
    defer { file.close() }
    let byteCount = try file.byteCount()
    guard byteCount <= limit else { return .unreadable }
    let buffer = ByteBuffer(capacity: limit)
    // Safe: the buffer was made for this many bytes.
    buffer.count = try unsafe file.read(into: buffer.base, count: byteCount, at: 0)
    guard let mark = FolderMark(text: String(decoding: buffer.view.array, as: UTF8.self)) else { return .unreadable }
    return .mark(mark)
  }

  /// Gives a directory its first mark, durably, unless it has one. Threads and processes may do so at once, each under a
  /// temporary name of its own.
  ///
  /// If the sync of the name fails, the mark goes again: who found it could not know that it may be lost. If that fails, too,
  /// the failure is the one of the removal.
  func writeFirst(in folder: any DiskFolder, like attributes: FileAttributes?, number: UInt64) throws(DiskFailure) {
    let temporary = FolderMark.temporaryPrefix + hexDigits(number)
    let file = try write(as: temporary, in: folder, like: attributes)
    defer { file.close() }
    do throws(DiskFailure) { try folder.renameWithoutReplacing(temporary, to: folder, FolderMark.name) } catch {
      try? folder.remove(temporary)
      // Another one was faster; a collection takes such names for leftovers.
      if try folder.identity(of: FolderMark.name) == nil { throw error }
      return try FolderMark.makeDurable(in: folder)
    }
    if isMutant("skip-mark-sync") { return }
    do throws(DiskFailure) { try folder.sync(holding: FolderMark.name) } catch {
      // A second line of defence: an open also syncs a mark that it finds.
      if try folder.identity(of: FolderMark.name) == file.identity {
        try FolderMark.takeBack(as: temporary, in: folder)
      }
      throw error
    }
  }

  /// Removes a mark that was not synced. Another process may have synced it, and put an asset file beside it: then it stays.
  private static func takeBack(as temporary: String, in folder: any DiskFolder) throws(DiskFailure) {
    try folder.renameWithoutReplacing(name, to: folder, temporary)
    if try AssetStore.isEmpty(folder) {
      try folder.remove(temporary)
    } else {
      try folder.renameWithoutReplacing(temporary, to: folder, name)
    }
  }

  /// Syncs a mark that was found, if there is one, and its name.
  static func makeDurable(in folder: any DiskFolder) throws(DiskFailure) {
    do throws(DiskFailure) {
      let file = try folder.open(name, .readContent)
      defer { file.close() }
      try file.sync(.full)
    } catch {
      // No mark: then there are asset files, and a collection says so.
      guard [.notFound, .notRegular].contains(error.kind) else { throw error }
      return
    }
    try folder.sync(holding: name)
  }

  private func write(
    as temporary: String, in folder: any DiskFolder, like attributes: FileAttributes?
  ) throws(DiskFailure) -> any DiskFile {
    let buffer = ByteBuffer(capacity: FolderMark.limit)
    buffer.append(utf8: text)
    let file = try folder.create(temporary, byteCount: buffer.count, like: attributes)
    do throws(DiskFailure) {
      try file.write(buffer.view, at: 0)
      if !isMutant("skip-mark-sync") { try file.sync(.full) }
    } catch {
      file.close()
      try? folder.remove(temporary)
      throw error
    }
    return file
  }

  /// Marks a directory, durably; at every moment it has the mark of before or this one.
  /// - Parameter number: random, for a name that no user can foresee.
  package func write(in folder: any DiskFolder, like attributes: FileAttributes?, number: UInt64) throws(DiskFailure) {
    let temporary = FolderMark.temporaryPrefix + hexDigits(number)
    let file = try write(as: temporary, in: folder, like: attributes)
    defer { file.close() }
    do throws(DiskFailure) { try folder.rename(temporary, to: folder, FolderMark.name) } catch {
      try? folder.remove(temporary)
      throw error
    }
    if !isMutant("skip-mark-sync") { try folder.sync(holding: FolderMark.name) }
  }
}
