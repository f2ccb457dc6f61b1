import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// The file as the private database of a container.
extension RecordTrial {
  /// Without an account nothing can be written, and everything can be read; in the other databases nothing is different.
  func changeAccount() throws {
    guard let container, !syncMayHaveFailed, openers.contains(where: { $0 === container.privateDatabase }) else { return }
    stepCount += 1
    let status = pick(AccountStatus.allCases)
    try container.setAccountStatus(status)
    let expected: DatabaseError.Code? =
      switch status {
      case .available: nil
      case .noAccount: .notAuthenticated
      case .restricted: .managedAccountRestricted
      case .couldNotDetermine, .temporarilyUnavailable: .accountTemporarilyUnavailable
      }
    let found = try codeOf { try container.privateDatabase.write { _ in } }
    try require(found == expected, "writing with the account \(status): \(String(describing: found))")
    try compareAll()
    try container.setAccountStatus(.available)
    let again = try Container.open(Self.containerID, in: "/trial", options: .init(), disk: disk)
    try require(
      again.privateDatabase === container.privateDatabase && again.userRecordName == container.userRecordName,
      "who opens a container again has another one")
    let zone = try codeOf { try again.publicDatabase.write { try $0.save(Zone(Zone.ID("Mine"))) } }
    try require(zone == .badDatabase, "a zone of one's own in the public database: \(String(describing: zone))")
    try again.publicDatabase.write { transaction in
      let id = try Record.ID("count")
      var record = try transaction.record(id) ?? Record(type: "Count", id: id)
      record["n"] = (record["n"] ?? 0) + 1
      try transaction.save(record)
    }
    try again.close()
    note(.account)
  }
}
