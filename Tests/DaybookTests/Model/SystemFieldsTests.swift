import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// An application keeps a record's system fields beside its own copy of the data, and saves it later as the same record.

@Suite("system fields through a database")
struct SystemFieldsTests {
  @Test("a record from its system fields is the same record to the database, also after reopening")
  func roundTrip() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk) {
      $0.userID = "anna"
      $0.deviceID = "phone"
    }
    let zone = try database.zone("Zoë 👋")
    try database.put("parent", in: zone)
    var original = try Record.fresh("a", in: zone, ["title": "Dune", "year": 1965])
    original.parent = Record.Reference(try Record.ID("parent", in: zone))
    let saved = try database.write { [original] in try $0.save(original) }
    let data = saved.systemFields
    try database.close()
    database = try .open(on: disk, seed: 2)

    var rebuilt = try Record(systemFields: data)
    #expect(rebuilt.id == saved.id && rebuilt.type == saved.type && rebuilt.metadata == saved.metadata)
    #expect(rebuilt.parent == saved.parent && rebuilt.keys.isEmpty && rebuilt.changedKeys.isEmpty)
    rebuilt["title"] = "Dune Messiah"
    rebuilt["year"] = nil as Int?
    let next = try database.write { [rebuilt] in try $0.save(rebuilt) }
    #expect(next.values == ["title": "Dune Messiah"] && next.parent == saved.parent)
    #expect(next.metadata?.creatorUserID == "anna")

    let stale = failure { try database.write { [rebuilt] in try $0.save(rebuilt) } }
    #expect(stale?.code == .serverRecordChanged && stale?.conflict?.ancestor == saved)
    #expect(stale?.conflict?.server == next)
    try database.expectClean()
  }

  @Test("system fields of a record that was deleted meanwhile find no item; of one never saved they insert")
  func deletedAndNew() throws {
    let database = try Database.scratch()
    let saved = try database.put("a", ["n": 1])
    try database.write { try $0.delete(saved.id) }
    var rebuilt = try Record(systemFields: saved.systemFields)
    rebuilt["n"] = 2
    let error = failure { try database.write { [rebuilt] in try $0.save(rebuilt) } }
    #expect(error?.code == .unknownItem)
    var new = try Record(systemFields: Record.fresh("new").systemFields)
    new["n"] = 1
    let inserted = try database.write { [new] in try $0.save(new) }
    #expect(inserted["n"] == 1)
  }
}
