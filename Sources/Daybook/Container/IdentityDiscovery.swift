#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Who a user is to others.
public struct UserIdentity: Hashable, Codable, Sendable {
  /// The name of the user's record in the container.
  public var userRecordName: String
  /// How the user wants to be called.
  public var name: String?
  /// An address that the user can be found by.
  public var emailAddress: String?
  /// A number that the user can be found by.
  public var phoneNumber: String?

  /// An identity.
  public init(userRecordName: String, name: String? = nil, emailAddress: String? = nil, phoneNumber: String? = nil) {
    self.userRecordName = userRecordName
    self.name = name
    self.emailAddress = emailAddress
    self.phoneNumber = phoneNumber
  }
}

/// What a user is looked up by.
public enum UserLookup: Hashable, Sendable {
  /// An address; letters may be upper or lower case.
  case emailAddress(String)
  /// A number; only its digits and a leading plus sign count.
  case phoneNumber(String)
  /// The name of the user's record.
  case userRecordName(String)
}

/// Finds other users. Address books and directories are the system's, so an application brings what it has;
/// ``FileIdentityDiscovery`` reads a list from a file.
public protocol IdentityDiscovery: Sendable {
  /// The identities that are known, by what they were looked up with; unknown ones are left out.
  func identities(for lookups: [UserLookup]) async throws -> [UserLookup: UserIdentity]
  /// All users who can be found.
  func allIdentities() async throws -> [UserIdentity]
}

/// Identities from a JSON file: a list of `{"userRecordName","name"?,"emailAddress"?,"phoneNumber"?}`. Read at each question.
///
/// The file is a regular one, or a link to one, and has at most 64 MB: a pipe is not waited for, and a device not read.
public struct FileIdentityDiscovery: IdentityDiscovery {
  /// Some 500,000 identities: each question decodes all of them.
  static let maximumByteCount = 64 << 20

  /// The file.
  public let fileURL: URL

  /// Identities from a file.
  public init(fileURL: URL) { self.fileURL = fileURL }

  /// All users in the file, in its order.
  /// - Throws: `ioFailed` when it cannot be read or is no regular file, `limitExceeded` for one of more than 64 MB,
  ///   `invalidArguments` when it is no such list.
  public func allIdentities() async throws -> [UserIdentity] {
    try await Self.queues.read { try read() }
  }

  /// Reading waits for the disk, and the caller's thread does not.
  private static let queues = WorkQueues()

  private func read() throws(DatabaseError) -> [UserIdentity] {
    let data = try content()
    do { return try JSONDecoder().decode([UserIdentity].self, from: data) } catch {
      throw DatabaseError(
        .invalidArguments, "The file is no list of identities.", facts: .init(path: fileURL.path), cause: error)
    }
  }

  private func content() throws(DatabaseError) -> Data {
    guard fileURL.isFileURL else {
      throw DatabaseError(.invalidArguments, "The URL must be a file URL.", facts: .init(found: fileURL.scheme ?? ""))
    }
    do throws(DiskFailure) {
      let file = try SystemDisk.openSource(fileURL.path)
      defer { file.close() }
      let byteCount = try file.byteCount()
      guard byteCount <= Self.maximumByteCount else {
        throw DiskFailure(.read, path: fileURL.path, kind: .tooLarge, code: 0, byteCount: byteCount)
      }
      // Not mapped, and no more than this, whatever becomes of the file meanwhile.
      let buffer = ByteBuffer(capacity: max(1, byteCount))
      // Safe: the buffer was made for this many bytes.
      buffer.count = try unsafe file.read(into: buffer.base, count: byteCount, at: 0)
      // Safe: Data copies the bytes.
      return unsafe Data(buffer.view.buffer)
    } catch {
      let facts = DatabaseError.Facts(
        path: fileURL.path, size: error.byteCount, limit: error.kind == .tooLarge ? Self.maximumByteCount : nil)
      if error.kind == .tooLarge { throw DatabaseError(.limitExceeded, "The file of identities is too large.", facts: facts) }
      throw DatabaseError(.ioFailed, "The file of identities cannot be read.", facts: facts, cause: error)
    }
  }

  /// The first in the file for each lookup.
  public func identities(for lookups: [UserLookup]) async throws -> [UserLookup: UserIdentity] {
    let all = try await allIdentities()
    var found: [UserLookup: UserIdentity] = [:]
    for lookup in lookups {
      found[lookup] = all.first { identity in
        switch lookup {
        case .emailAddress(let address): identity.emailAddress.map { Self.isSame($0, address) } ?? false
        case .phoneNumber(let number): identity.phoneNumber.map { Self.isSameNumber($0, number) } ?? false
        case .userRecordName(let name): UTF8Order.equal(identity.userRecordName, name)
        }
      }
    }
    return found
  }

  /// No address is longer, and comparing texts may take the square of their length.
  private static let longestAddress = 1024

  private static func isSame(_ first: String, _ second: String) -> Bool {
    first.utf8.count <= longestAddress && second.utf8.count <= longestAddress && first.lowercased() == second.lowercased()
  }

  /// What has no digits is no number, and the same as none.
  private static func isSameNumber(_ first: String, _ second: String) -> Bool {
    let (first, second) = (digits(first), digits(second))
    return first == second && first.contains { $0 != UInt8(ascii: "+") }
  }

  /// The digits, after a plus sign if one comes before them.
  private static func digits(_ number: String) -> [UInt8] {
    var found: [UInt8] = []
    for byte in number.utf8 {
      let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      if isDigit || byte == UInt8(ascii: "+") && found.isEmpty { found.append(byte) }
    }
    return found
  }
}
