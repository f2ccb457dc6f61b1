#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A folder for asset files that are handed out, for this user alone.
///
///     $TMPDIR/                 open: others may write here, too
///       daybook-9c1f…/         made below it under a random name, mode 0700, and open from then on
///         03ab…                a content; no other user can have put it there
///         77d0…/dune.json      one that must have a certain name
///
/// Every file is made below the open folder, new and through no link: whatever takes the folder's name afterwards gets nothing. It
/// goes with this object, and what is in it, too; in a child after `fork` it stays its parent's.
package final class StagingFolder: Sendable {
  private let holder: any DiskFolder
  private let name: String
  package let folder: any DiskFolder
  private let process = processID()

  /// - Parameter directory: nil for the system's folder of temporary files.
  package init(in directory: String? = nil) throws(DiskFailure) {
    let directory = directory ?? FileManager.default.temporaryDirectory.path
    name = "daybook-" + StagingFolder.newName()
    // As a path of something in it: the directory itself may be reached through links, as the system does.
    holder = try SystemDisk().folder(holding: directory + "/" + name)
    folder = try holder.makeFolder(name, like: nil)
    // Where others may rename, one of them may have exchanged it for an empty one of his own.
    try folder.requireOwner(among: .ofUser(andOf: nil))
  }

  deinit { remove() }

  private static func newName() -> String { hexDigits(.random(in: 0 ... .max)) }

  /// Whether the folder still has its name, so that a path leads to what is made here.
  package var hasName: Bool { (try? holder.identity(of: name)) == folder.identity }

  /// A new file with a content, for its owner alone.
  /// - Parameters:
  ///   - name: what it is called, then in a folder of its own; nil for any name.
  ///   - isReadOnly: whether its owner may not write it either.
  package func newFile(_ content: Data, name: String? = nil, isReadOnly: Bool = false) throws(DiskFailure) -> URL {
    let place = name == nil ? folder : try folder.makeFolder(StagingFolder.newName(), like: nil)
    let name = name ?? StagingFolder.newName()
    let buffer = ByteBuffer(capacity: max(1, content.count))
    buffer.append([UInt8](content))
    let file = try place.create(name, byteCount: content.count, like: nil)
    defer { file.close() }
    do throws(DiskFailure) {
      try file.write(buffer.view, at: 0)
      if isReadOnly { try file.makeReadOnly() }
    } catch {
      try? place.remove(name)
      throw error
    }
    return URL(filePath: place.place(name))
  }

  /// Removes all that was made here. What is called by the folder's name by now, and is another one, stays.
  package func remove() {
    if process != processID() { return }
    for entry in (try? folder.entries()) ?? [] {
      guard entry.isDirectory else {
        try? folder.remove(entry.name)
        continue
      }
      guard let inner = try? folder.folder(entry.name) else { continue }
      for file in (try? inner.entries()) ?? [] { try? inner.remove(file.name) }
      try? folder.removeFolder(entry.name)
    }
    if hasName { try? holder.removeFolder(name) }
  }
}

/// Files for values and objects that have files, and do not say when they are done with them: they are there until the
/// process ends.
package enum StagedFiles {
  private struct Folders {
    /// By the bytes of the directory's path; the empty one is the system's folder of temporary files.
    var byDirectory: [[UInt8]: StagingFolder] = [:]
    /// Files that all who ask for a content get, by directory and SHA-256, with the state that they had.
    var shared: [[[UInt8]]: (url: URL, state: SourceState)] = [:]

    /// The folder in a directory, which is made if there is none; another one if the last has lost its name.
    mutating func folder(in directory: URL?) throws -> StagingFolder {
      let key = Array((directory?.path ?? "").utf8)
      if let known = byDirectory[key], known.hasName { return known }
      if let directory { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
      let new = try StagingFolder(in: directory?.path)
      byDirectory[key] = new
      return new
    }
  }

  private static let folders = PerProcess { () -> Locked<Folders> in
    ProcessEnd.perform { StagedFiles.removeAll() }
    return Locked(Folders())
  }

  /// A new file with a content: its receiver may change it, and no other user could have put it there.
  /// - Parameters:
  ///   - name: what it is called; nil for any name.
  ///   - directory: made if there is none; nil is the system's folder of temporary files.
  package static func newFile(
    _ content: Data, name: String? = nil, in directory: URL? = nil
  ) throws(DatabaseError) -> URL {
    do {
      return try folders.value.withLock { (folders) throws in try folders.folder(in: directory).newFile(content, name: name) }
    } catch { throw cannotBeWritten(directory, error) }
  }

  /// A file with a content, for reading: the same for all who ask for it, so that a list that is decoded again makes no files again. One
  /// that was changed, or is gone, is not handed out any more.
  /// - Parameters:
  ///   - digest: the SHA-256 of the content, which is known to be its own.
  ///   - directory: as for a new file.
  package static func sharedFile(
    _ content: Data, _ digest: [UInt8], in directory: URL? = nil
  ) throws(DatabaseError) -> URL {
    do {
      return try folders.value.withLock { (folders) throws in
        let key = [Array((directory?.path ?? "").utf8), digest]
        if let known = folders.shared[key], (try? Asset.state(of: known.url)) == known.state { return known.url }
        let url = try folders.folder(in: directory).newFile(content, isReadOnly: true)
        folders.shared[key] = (url, try Asset.state(of: url))
        return url
      }
    } catch { throw cannotBeWritten(directory, error) }
  }

  private static func cannotBeWritten(_ directory: URL?, _ error: any Error) -> DatabaseError {
    let path = (error as? DiskFailure)?.path ?? directory?.path
    return DatabaseError(.ioFailed, "A file cannot be written.", facts: .init(path: path), cause: error)
  }

  private static func removeAll() {
    let all = folders.value.withLock { folders in
      defer { folders = Folders() }
      return Array(folders.byDirectory.values)
    }
    for folder in all { folder.remove() }
  }
}
