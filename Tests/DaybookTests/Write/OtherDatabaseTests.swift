import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Records that come from elsewhere: older versions, other databases, pages in any order.

@Suite("records of other databases and versions")
struct OtherDatabaseTests {
  @Test("restoring the first version over the second leaves what the first had, and keeps the creation")
  func restore() throws {
    let database = try Database.scratch { $0.userID = "anna" }
    var record = try Record.fresh("a", ["x": 1])
    record.encryptedValues["secret"] = "s"
    let first = try database.save(record)
    var second = first
    second["y"] = 2
    second["x"] = nil as Int?
    second.encryptedValues["other"] = "o"
    second.parent = Record.Reference(try Record.ID("p"))
    try database.save([second, .fresh("p")])
    let old = try #require(try database.history(of: first.id).last?.record)
    let restored = try database.save(old, policy: .replace)
    #expect(restored.keys == ["x"] && restored.encryptedValues.keys == ["secret"] && restored.parent == nil)
    #expect(restored.encryptedValues["secret"] == "s")
    #expect(restored.creationDate == first.creationDate && restored.metadata?.creatorUserID == "anna")
    #expect(try database.record(first.id) == restored)
    #expect(try database.history(of: first.id).count == 3)
    try database.delete(Record.ID("p"))
    // The others leave "y" there.
    second.parent = nil
    try database.save(second, policy: .changedKeys)
    #expect(try database.save(old, policy: .allKeys).keys == ["x", "y"])
    try database.expectClean()
  }

  @Test("a record of another database is refused with the policy that would save it")
  func otherDatabase() throws {
    let (first, second) = (try Database.scratch(), try Database.scratch())
    let record = try first.save(.fresh("a", ["x": 1]))
    let error = failure { try second.save(record) }
    #expect(error?.code == .unknownItem && error?.message.contains("allKeys") == true)
    #expect(try second.save(record, policy: .allKeys)["x"] == 1)
  }

  @Test("450 children arrive pages before their parent, and the end says that nothing is missing")
  func anyOrder() async throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let parent = try Record.ID("parent", in: zone)
    var children: [Record] = []
    for number in 0..<450 {
      var child = try Record.fresh("child\(number)", in: zone)
      child.parent = Record.Reference(parent)
      children.append(child)
    }
    let page = Array(children[..<150])
    #expect(failure { try database.write { try $0.save(page) } }?.code == .referenceViolation)
    for start in stride(from: 0, to: 450, by: 150) {
      let page = Array(children[start..<start + 150])
      try await database.writeUnordered(origin: "server") { transaction in try transaction.save(page) }
    }
    let missing = try await database.referencesWithoutTarget(in: zone)
    #expect(missing == [.init(source: try Record.ID("child0", in: zone), target: parent)])
    try await database.writeUnordered { transaction in try transaction.save(.fresh("parent", in: zone)) }
    let none = try await database.referencesWithoutTarget(in: zone)
    #expect(none.isEmpty)
    _ = try { try database.expectClean() }()
  }

  @Test("the version at a change tag is the base of a merge")
  func versionAtTag() throws {
    let database = try Database.scratch()
    let versions = try (0..<5).map { try database.put("a", ["n": .int($0)]) }
    for version in versions {
      #expect(try database.record(version.id, withChangeTag: version.changeTag ?? "") == version)
    }
    try database.delete(versions[0].id)
    #expect(try database.record(versions[0].id, withChangeTag: versions[2].changeTag ?? "") == versions[2])
    #expect(try database.record(versions[0].id, withChangeTag: "another") == nil)
    #expect(try database.read { try $0.record(Record.ID("nobody"), withChangeTag: "another") } == nil)
  }

  @Test("a zone's deletion tells the stream of commits how much went with it")
  func deletedZone() async throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try await database.save([.fresh("a", in: zone), .fresh("b", in: zone), .fresh("m", in: zone, type: "Movie")] as [Record])
    let stream = database.commits()
    _ = try {
      try database.deleteZone(zone)
      try database.close()
    }()
    var notices: [CommitNotice] = []
    for await notice in stream { notices.append(notice) }
    #expect(
      notices.first?.deletedZones
        == [.init(id: zone, reason: .deleted, recordCount: 3, types: ["Note": 2, "Movie": 1])])
    #expect(notices.first?.deleted == [] && notices.first?.zones == [zone])
    #expect(notices.first.map { "\($0)" }?.contains("Library with 3 records") == true)
  }
}
