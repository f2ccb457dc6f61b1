#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
public struct FileIdentityDiscovery: IdentityDiscovery {
  /// The file.
  public let fileURL: URL

  /// Identities from a file.
  public init(fileURL: URL) { self.fileURL = fileURL }

  /// All users in the file, in its order.
  /// - Throws: `ioFailed` when it cannot be read, `invalidArguments` when it is no such list.
  public func allIdentities() async throws -> [UserIdentity] {
    try await Self.queues.read { try read() }
  }

  /// Reading waits for the disk, and the caller's thread does not.
  private static let queues = WorkQueues()

  private func read() throws(DatabaseError) -> [UserIdentity] {
    let data: Data
    do { data = try Data(contentsOf: fileURL) } catch {
      throw DatabaseError(.ioFailed, "The file of identities cannot be read.", facts: .init(path: fileURL.path), cause: error)
    }
    do { return try JSONDecoder().decode([UserIdentity].self, from: data) } catch {
      throw DatabaseError(
        .invalidArguments, "The file is no list of identities.", facts: .init(path: fileURL.path), cause: error)
    }
  }

  /// The first in the file for each lookup.
  public func identities(for lookups: [UserLookup]) async throws -> [UserLookup: UserIdentity] {
    let all = try await allIdentities()
    var found: [UserLookup: UserIdentity] = [:]
    for lookup in lookups {
      found[lookup] = all.first { identity in
        switch lookup {
        case .emailAddress(let address): identity.emailAddress?.lowercased() == address.lowercased()
        case .phoneNumber(let number): identity.phoneNumber.map(Self.digits) == Self.digits(number)
        case .userRecordName(let name): UTF8Order.equal(identity.userRecordName, name)
        }
      }
    }
    return found
  }

  private static func digits(_ number: String) -> String {
    String(number.filter { $0.isASCII && $0.isNumber || $0 == "+" })
  }
}
