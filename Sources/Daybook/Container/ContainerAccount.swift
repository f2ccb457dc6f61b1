#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Who uses a container on this device: a small JSON file beside its databases.
///
///     {"container":"iCloud.com.example.Notes","status":"available","userRecordName":"user-…","version":1}
///
/// The name of the user's record is random, so that each container has another one, and never changes. The file is
/// replaced as a whole: written under another name, synced, renamed, the directory synced. Of two processes that create it
/// at once one wins, and the other takes what is there.
///
/// A writer has the other name locked. One that was killed leaves the name without the lock: the next open of the container for
/// writing removes such files, and nothing else.
struct ContainerAccount: Codable, Equatable {
  var version = 1
  var container: String
  var userRecordName: String
  var status: AccountStatus

  /// Reads the file; nil when there is none.
  static func read(_ path: String, disk: any Disk) throws(DatabaseError) -> ContainerAccount? {
    let bytes: [UInt8]
    do throws(DiskFailure) {
      guard let file = try open(path, disk) else { return nil }
      defer { file.close() }
      let count = try file.byteCount()
      guard count > 0, count < 1 << 16 else { throw DiskFailure(.read, path: path, kind: .other, code: 0, byteCount: count) }
      // Not mapped: a process that cuts the file short meanwhile would end this one.
      let buffer = ByteBuffer(capacity: count)
      // Safe: the buffer was made for this many bytes.
      buffer.count = try unsafe file.read(into: buffer.base, count: count, at: 0)
      bytes = buffer.view.array
    } catch { throw DatabaseError(error) }
    do {
      let account = try JSONDecoder().decode(ContainerAccount.self, from: Data(bytes))
      guard account.version == 1 else {
        throw DatabaseError(.formatTooNew, facts: .init(path: path, expected: "version 1", found: "version \(account.version)"))
      }
      // It is a record's name, and is in every record that is saved.
      if let fault = NameRules.faultOfRecordName(account.userRecordName) { throw fault }
      return account
    } catch let error as DatabaseError where error.code == .formatTooNew {
      throw error
    } catch {
      throw DatabaseError(.corrupted, "The account file of a container is damaged.", facts: .init(path: path), cause: error)
    }
  }

  /// The file, through a link in the last place of its path, if there is one; nil when there is none.
  private static func open(_ path: String, _ disk: any Disk) throws(DiskFailure) -> (any DiskFile)? {
    do throws(DiskFailure) {
      let resolved = try disk.resolve(path)
      return try disk.folder(holding: resolved).open(lastName(of: resolved), .readContent)
    } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
  }

  /// Writes the file.
  /// - Parameter replaces: false leaves a file that another process has made meanwhile.
  func write(_ path: String, replaces: Bool, disk: any Disk) throws(DatabaseError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let bytes: [UInt8]
    do { bytes = [UInt8](try encoder.encode(self)) } catch { throw DatabaseError(.internalError, cause: error) }
    let content = ByteBuffer(capacity: bytes.count)
    content.append(bytes)
    do throws(DiskFailure) {
      let resolved = try disk.resolve(path)
      let (folder, name) = (try disk.folder(holding: resolved), lastName(of: resolved))
      // For whom the replaced file was readable, this one is.
      var attributes: FileAttributes?
      if replaces, let present = try ContainerAccount.open(path, disk) {
        defer { present.close() }
        attributes = try present.attributes()
      }
      let (file, temporary) = try ContainerAccount.createTemporary(for: name, in: folder, like: attributes)
      defer { file.close() }
      do throws(DiskFailure) {
        try file.write(content.view, at: 0)
        try file.sync(.full)
        if replaces {
          try folder.rename(temporary, to: folder, name)
        } else {
          try folder.renameWithoutReplacing(temporary, to: folder, name)
        }
      } catch {
        if (try? folder.identity(of: temporary)) == file.identity { try? folder.remove(temporary) }
        throw error
      }
      try folder.sync(holding: name)
    } catch {
      if error.kind == .exists, !replaces { return }
      throw DatabaseError(error)
    }
  }
}

// MARK: the other name

extension ContainerAccount {
  private static let suffix = ".new"

  /// A file that is locked, under a name of its own for each writer, so that two do not write into one file.
  private static func createTemporary(
    for name: String, in folder: any DiskFolder, like attributes: FileAttributes?
  ) throws(DiskFailure) -> (file: any DiskFile, name: String) {
    // Once is enough, unless another process locks each before we do.
    for _ in 0..<100 {
      let name = "\(name).\(UUID().uuidString)\(suffix)"
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
      if (try? folder.identity(of: name)) == file.identity { try? folder.remove(name) }
      file.close()
    }
    throw DiskFailure(.lock, path: folder.place(name), kind: .other, code: ErrorNumber.again)
  }

  /// Removes what killed writers have left. What could not be removed now is there for the next open.
  static func removeLeftovers(of path: String, in directory: String, disk: any Disk) {
    guard let folder = try? disk.folder(holding: path) else { return }
    let owners = FileOwners.ofUser(andOf: try? disk.attributes(of: path))
    let start = String(Substring(path.utf8.dropFirst(directory.utf8.count + 1))) + "."
    for entry in (try? disk.entries(of: directory)) ?? [] {
      guard !entry.isDirectory, entry.name.hasPrefix(start), entry.name.hasSuffix(suffix),
        UUID(uuidString: String(entry.name.dropFirst(start.count).dropLast(suffix.count))) != nil
      else { continue }
      // Of anything but a regular file this makes an error. A writer has it locked.
      guard let file = try? folder.open(entry.name, .readContent) else { continue }
      defer { file.close() }
      if (try? file.tryLock(.writer, .shared)) == true { try? folder.remove(entry.name, ownedBy: owners) }
    }
  }
}
