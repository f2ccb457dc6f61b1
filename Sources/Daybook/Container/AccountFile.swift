#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Where the account of a container is: a name in a directory that stays open.
///
/// A link in its place is followed at the open of the container, once, as one in the place of a database is. From then on the
/// file is what it has led to: what takes the name later is opened itself or refused, so no other user says what is read or replaced.
struct AccountFile {
  /// Keeps the directory of the file: the container's, if there was no link.
  private let disk: any Disk
  private let folder: any DiskFolder
  private let name: String

  init(of id: String, in container: ContainerFolder) throws(DiskFailure) {
    let path = try container.disk.resolve(ContainerName.accountPath(id, in: container.path))
    disk = try container.disk.keepingFolder(holding: path)
    folder = try disk.folder(holding: path)
    name = lastName(of: path)
  }

  var path: String { folder.place(name) }

  /// Nil when there is none; an error for anything but a regular file.
  func open() throws(DiskFailure) -> (any DiskFile)? {
    do throws(DiskFailure) { return try folder.open(name, .readContent) } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }

  /// Writes the file as a whole.
  /// - Parameter present: the file that is replaced, open since it was read; nil for a name that has to be free (`.exists`).
  func write(_ content: ByteView, over present: (any DiskFile)?) throws(DiskFailure) {
    // For whom the replaced file was readable, this one is.
    let (file, temporary) = try createTemporary(like: present?.attributes())
    defer { file.close() }
    do throws(DiskFailure) {
      try file.write(content, at: 0)
      try file.sync(.full)
      if let present {
        // Another file, or a link, may have taken the name since.
        guard try folder.identity(of: name) == present.identity || isMutant("replace-any-account") else {
          throw DiskFailure(.rename, path: path, code: ErrorNumber.tooManyLinks)
        }
        try folder.rename(temporary, to: folder, name)
      } else {
        try folder.renameWithoutReplacing(temporary, to: folder, name)
      }
    } catch {
      folder.remove(temporary, ifStill: file)
      throw error
    }
    try folder.sync(holding: name)
  }

  // MARK: the other name

  private static let suffix = ".new"

  /// A file that is locked, under a name of its own for each writer, so that two do not write into one file.
  private func createTemporary(like attributes: FileAttributes?) throws(DiskFailure) -> (file: any DiskFile, name: String) {
    // Once is enough, unless another process locks each before we do.
    for _ in 0..<100 {
      let name = "\(name).\(UUID().uuidString)\(Self.suffix)"
      let file: any DiskFile
      if let attributes {
        file = try folder.create(name, byteCount: nil, like: attributes)
      } else {
        file = try folder.open(name, .createNew)
      }
      do throws(DiskFailure) {
        // Before it was locked, another open may have taken it for a leftover.
        if try file.tryLock(.writer, .exclusive), try folder.identity(of: name) == file.identity { return (file, name) }
      } catch {
        file.close()
        try? folder.remove(name)
        throw error
      }
      folder.remove(name, ifStill: file)
      file.close()
    }
    throw DiskFailure(.lock, path: path, kind: .other, code: ErrorNumber.again)
  }

  /// Removes what killed writers have left. What could not be removed now is there for the next open.
  func removeLeftovers() {
    let owners = FileOwners.ofUser(andOf: try? disk.attributes(of: path))
    for entry in (try? folder.entries()) ?? [] where !entry.isDirectory && isTemporary(entry.name) {
      // Of anything but a regular file this makes an error. A writer has it locked.
      guard let file = try? folder.open(entry.name, .readContent) else { continue }
      defer { file.close() }
      if (try? file.tryLock(.writer, .shared)) == true { try? folder.remove(entry.name, ownedBy: owners) }
    }
  }

  /// By bytes: to Swift a mark that is combined with a full stop makes another character of it.
  private func isTemporary(_ found: String) -> Bool {
    let (bytes, start, suffix) = (found.utf8, "\(name).".utf8, Self.suffix.utf8)
    guard bytes.starts(with: start), bytes.count > start.count + suffix.count, bytes.suffix(suffix.count).elementsEqual(suffix)
    else { return false }
    return UUID(uuidString: String(decoding: bytes.dropFirst(start.count).dropLast(suffix.count), as: UTF8.self)) != nil
  }
}
