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
/// Always true: what is replaced is a regular file that says the same container and user, in the directory that was opened with the
/// container (`AccountFile`).
///
/// A writer has the other name locked. One that was killed leaves the name without the lock: the next open of the container for
/// writing removes such files, and nothing else.
struct ContainerAccount: Codable, Equatable {
  var version = 1
  var container: String
  var userRecordName: String
  var status: AccountStatus

  /// Reads the file; nil when there is none.
  static func read(_ place: AccountFile) throws(DatabaseError) -> ContainerAccount? {
    guard let file = try open(place) else { return nil }
    defer { file.close() }
    return try read(file, place)
  }

  private static func open(_ place: AccountFile) throws(DatabaseError) -> (any DiskFile)? {
    do throws(DiskFailure) { return try place.open() } catch { throw DatabaseError(error) }
  }

  private static func read(_ file: any DiskFile, _ place: AccountFile) throws(DatabaseError) -> ContainerAccount {
    let bytes: [UInt8]
    let path = place.path
    do throws(DiskFailure) {
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

  /// Throws unless this is a user's account in a container: another one may have been put in its place.
  func requireUser(_ name: String, of container: String, _ place: AccountFile) throws(DatabaseError) {
    if UTF8Order.equal(self.container, container), UTF8Order.equal(userRecordName, name) { return }
    throw DatabaseError(
      .badContainer, "The account file is that of another user or container.",
      facts: .init(path: place.path, expected: "\(name) in \(container)", found: "\(userRecordName) in \(self.container)"))
  }

  /// Writes the file.
  /// - Parameter replaces: whether it replaces the account of the same user, if there is one; false leaves any file, also one that
  ///   another process has made meanwhile.
  func write(to place: AccountFile, replaces: Bool) throws(DatabaseError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let bytes: [UInt8]
    do { bytes = [UInt8](try encoder.encode(self)) } catch { throw DatabaseError(.internalError, cause: error) }
    let content = ByteBuffer(capacity: bytes.count)
    content.append(bytes)
    let present = replaces ? try Self.open(place) : nil
    defer { present?.close() }
    if let present, !isMutant("replace-any-account") {
      try Self.read(present, place).requireUser(userRecordName, of: container, place)
    }
    do throws(DiskFailure) { try place.write(content.view, over: present) } catch {
      if error.kind == .exists, !replaces { return }
      throw DatabaseError(error)
    }
  }
}
