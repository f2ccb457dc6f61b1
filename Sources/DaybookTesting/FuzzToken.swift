import Daybook
import DaybookEngine
import Foundation

/// Tokens: what decodes has the bytes that it came from, and a database answers or refuses.
///
///     byte 0    0: the rest as it is; 1: behind the mark, with a correct checksum; else as 1, with the UUID and lineage
///               of the database in place
package enum FuzzToken {
  private static let database: (Database, ChangeToken, ChangeToken)? = {
    let disk = FuzzForging.disk()
    disk.install(FuzzForging.bases[0], at: "a.daybook")
    var options = FuzzForging.options(seed: 3)
    options.isReadOnly = true
    guard let database = try? Database.open(at: "a.daybook", options: options, disk: disk),
      let zone = try? database.changes(in: Zone.ID("L"), since: nil).token,
      let all = try? database.databaseChanges(since: nil).token
    else { return nil }
    return (database, zone, all)
  }()

  package static func run(_ input: [UInt8]) throws {
    guard let mode = input.first, let (database, zoneToken, databaseToken) = database else { return }
    var bytes = Array(input.dropFirst())
    if mode != 0 { bytes = [0x44, 0x54, 2] + bytes }
    if mode > 1, bytes.count >= 28 {
      let own = [UInt8]((bytes[3] == 1 ? zoneToken : databaseToken).data)
      bytes.replaceSubrange(4..<(mode > 2 ? 28 : 20), with: own[4..<(mode > 2 ? 28 : 20)])
    }
    if mode != 0 { bytes = FuzzRecords.checksummed(bytes) }
    guard let token = try? ChangeToken(data: Data(bytes)) else { return }
    try require([UInt8](token.data) == bytes, "a token that was decoded has other bytes: \([UInt8](token.data)), \(bytes)")
    let again = try ChangeToken(data: token.data)
    try require(again == token && again.hashValue == token.hashValue, "a token differs from itself")
    _ = try? database.databaseChanges(since: token)
    for zone in try database.zones() {
      let count = try? database.changeCount(in: zone.id, since: token)
      var page = try? database.changes(in: zone.id, since: token, limit: 10)
      try require((count == nil) == (page == nil), "a token is good for one question and not for the other")
      var found = 0
      while let present = page {
        found += present.saved.count + present.deleted.count
        try require(found <= 1000, "a feed without end")
        page = present.moreComing ? try database.changes(in: zone.id, since: present.token, limit: 10) : nil
      }
      if let count { try require(found == count, "\(count) changes were promised, \(found) came") }
    }
  }
}
