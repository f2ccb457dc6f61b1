import DaybookTesting
import Foundation
import Testing

@testable import Daybook

/// References as values: what a record says of other records comes back as it was said. What a reference does is in
/// ReferenceTests.
@Suite("references as values")
struct ReferenceValueTests {
  @Test("a reference keeps its action, through the database and through the file", arguments: Record.Reference.Action.allCases)
  func actions(action: Record.Reference.Action) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let zone = try Zone.ID("Library")
    let target = try Record.ID("target", in: zone)
    let reference = Record.Reference(target, action: action)
    let id = try Record.ID("a", in: zone)
    do {
      let database = try Database.open(at: path)
      try database.zone("Library")
      try database.put("target", in: zone)
      var record = try Record.fresh("a", in: zone)
      record["to"] = reference
      let saved = try database.write { try $0.save(record) }
      #expect(saved["to"] as Record.Reference? == reference)
      try database.close()
    }
    let database = try Database.open(at: path)
    let read = try #require(try database.record(id))
    #expect(read["to"] as Record.Reference? == reference)
    #expect(read["to"] as Record.Value? == .reference(reference))
    #expect((read["to"] as Record.Reference?)?.id.zone == zone)
    #expect((read["to"] as Record.Reference?)?.action == action)
    try database.expectClean()
  }

  @Test("a list keeps its order, its actions and the same reference twice")
  func list() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    for name in ["x", "y"] { try database.put(name, in: zone) }
    let x = try Record.ID("x", in: zone)
    let y = try Record.ID("y", in: zone)
    let list: [Record.Reference] = [
      .init(x, action: .deleteSelf), .init(y), .init(x, action: .deleteSelf), .init(x, action: .validate), .init(x),
    ]
    var record = try Record.fresh("a", in: zone)
    record["all"] = list
    record["none"] = [Record.Reference]()
    let saved = try database.write { try $0.save(record) }
    for version in [saved, try #require(try database.record(record.id))] {
      #expect(version["all"] as [Record.Reference]? == list)
      #expect(version["none"] as [Record.Reference]? == [])
    }
    let page = try database.changes(in: zone, since: nil)
    #expect(page.saved.last?["all"] as [Record.Reference]? == list)
    try database.expectClean()
  }

  @Test("a reference may dangle, point to its own record, and be replaced or removed")
  func changes() throws {
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record["to"] = Record.Reference(try Record.ID("nobody"))
    record["self"] = Record.Reference(record.id)
    var saved = try database.write { try $0.save(record) }
    #expect((saved["to"] as Record.Reference?)?.id.name == "nobody")
    #expect((saved["self"] as Record.Reference?)?.id == record.id)
    saved["to"] = Record.Reference(try Record.ID("somebody"), action: .deleteSelf)
    saved["self"] = nil as Record.Reference?
    saved = try database.write { try $0.save(saved) }
    #expect(saved["to"] as Record.Reference? == .init(try Record.ID("somebody"), action: .deleteSelf))
    #expect(saved.keys == ["to"])
    // An unchanged record keeps it.
    saved = try database.write { try $0.save(saved) }
    #expect(saved["to"] as Record.Reference? == .init(try Record.ID("somebody"), action: .deleteSelf))
    try database.expectClean()
  }

  @Test("a parent comes back, changes and goes")
  func parent() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    for name in ["one", "two"] { try database.put(name, in: zone) }
    let one = Record.Reference(try Record.ID("one", in: zone))
    let two = Record.Reference(try Record.ID("two", in: zone))
    var record = try Record.fresh("a", in: zone)
    record.parent = one
    var saved = try database.write { try $0.save(record) }
    #expect(saved.parent == one)
    #expect(try database.record(record.id)?.parent == one)
    saved["title"] = "child"
    saved = try database.write { try $0.save(saved) }
    #expect(saved.parent == one)
    saved.parent = two
    saved = try database.write { try $0.save(saved) }
    #expect(try database.record(record.id)?.parent == two)
    saved.parent = nil
    saved = try database.write { try $0.save(saved) }
    #expect(saved.parent == nil)
    #expect(try database.record(record.id)?.parent == nil)
    #expect(saved["title"] as String? == "child")
    try database.expectClean()
  }

  @Test("a reference into another zone is refused at save", arguments: ["single", "list", "parent"])
  func otherZone(way: String) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.zone("Attic")
    let elsewhere = Record.Reference(try Record.ID("x", in: Zone.ID("Attic")))
    let here = Record.Reference(try Record.ID("x", in: zone))
    try database.put("x", in: zone)
    var record = try Record.fresh("a", in: zone)
    switch way {
    case "single": record["to"] = elsewhere
    case "list": record["to"] = [here, elsewhere]
    default: record.parent = elsewhere
    }
    let error = failure { try database.write { _ = try $0.save(record) } }
    #expect(error?.code == .invalidArguments)
    #expect(error?.message == "ZoneId provided doesn't match target zone.")
    #expect(error?.facts.key == (way == "parent" ? "parent" : "to"))
    #expect(error?.facts.target == elsewhere.id)
    #expect(try database.record(record.id) == nil)
    // In the request its neighbours are not touched.
    let result = try database.modify(saving: [record, try .fresh("b", in: zone)], atomically: false)
    #expect(result.errors.keys.map(\.name) == ["a"])
    switch way {
    case "parent": record.parent = here
    default: record["to"] = here
    }
    try database.write { _ = try $0.save(record) }
    try database.expectClean()
  }

  @Test("a parent with an action is refused, and encrypted values hold no references")
  func refusals() throws {
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record.parent = Record.Reference(try Record.ID("x"), action: .deleteSelf)
    #expect(failure { try database.write { _ = try $0.save(record) } }?.facts.key == "parent")
    var other = try Record.fresh("b")
    other.encryptedValues["to"] = Record.Reference(try Record.ID("x"))
    let error = failure { try database.write { _ = try $0.save(other) } }
    #expect(error?.code == .invalidArguments)
    #expect(error?.facts.key == "to")
  }
}
