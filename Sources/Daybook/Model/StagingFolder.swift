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
  /// - Parameter name: what it is called, then in a folder of its own; nil for any name.
  package func newFile(_ content: Data, name: String? = nil) throws(DiskFailure) -> URL {
    let place = name == nil ? folder : try folder.makeFolder(StagingFolder.newName(), like: nil)
    let name = name ?? StagingFolder.newName()
    let buffer = ByteBuffer(capacity: max(1, content.count))
    buffer.append([UInt8](content))
    let file = try place.create(name, byteCount: content.count, like: nil)
    defer { file.close() }
    do { try file.write(buffer.view, at: 0) } catch {
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
  /// By the bytes of the directory's path; the empty one is the system's folder of temporary files.
  private static let folders = PerProcess { () -> Locked<[[UInt8]: StagingFolder]> in
    ProcessEnd.perform { StagedFiles.removeAll() }
    return Locked([:])
  }

  /// A new file with a content: its receiver may change it, and no other user could have put it there.
  /// - Parameters:
  ///   - name: what it is called; nil for any name.
  ///   - directory: made if there is none; nil is the system's folder of temporary files.
  package static func newFile(
    _ content: Data, name: String? = nil, in directory: URL? = nil
  ) throws(DatabaseError) -> URL {
    do {
      return try folders.value.withLock { (folders) throws in
        let key = Array((directory?.path ?? "").utf8)
        if let known = folders[key], known.hasName { return try known.newFile(content, name: name) }
        if let directory { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
        let new = try StagingFolder(in: directory?.path)
        folders[key] = new
        return try new.newFile(content, name: name)
      }
    } catch {
      let path = (error as? DiskFailure)?.path ?? directory?.path
      throw DatabaseError(.ioFailed, "A file cannot be written.", facts: .init(path: path), cause: error)
    }
  }

  private static func removeAll() {
    let all = folders.value.withLock { folders in
      defer { folders = [:] }
      return Array(folders.values)
    }
    for folder in all { folder.remove() }
  }
}
