import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Trees that lead from one record's name to another's body, as an attacker may write them into a file: an error, never an
/// answer.
@Suite("forged trees")
struct ForgedTreeTests {
  private static let alice = "alice"
  private static let bob = "bob"

  /// Two records and a deleted one in each of two zones, all of them alike but for their names.
  private static func people() throws -> (database: Database, zones: [Zone.ID]) {
    let database = try Database.open(on: SimulatedDisk(seed: 1)) { $0.cipher = TestCipher(key: "k") }
    let zones = [try database.zone("Library"), Zone.ID.default, try database.zone("Archive")]
    for zone in zones {
      try database.write { transaction in
        for name in [alice, bob, "carol", "dave"] {
          var record = try Record.fresh(name, in: zone, type: "Person", ["boss": .reference(.init(Record.ID("eve", in: zone)))])
          record.encryptedValues["pin"] = .string("the pin of \(name)")
          try transaction.save(record)
        }
      }
      // Another version, so that there is a history and an ancestor.
      try database.write { transaction in
        for name in [alice, bob] {
          var record = try #require(try transaction.record(Record.ID(name, in: zone)))
          record["n"] = 1
          try transaction.save(record)
        }
        for name in ["carol", "dave"] { try transaction.delete(Record.ID(name, in: zone)) }
      }
      try database.write { try $0.setMetadata(Data(alice.utf8), forKey: alice) }
      try database.write { try $0.setMetadata(Data(bob.utf8), forKey: bob) }
    }
    try database.expectClean()
    return (database, zones)
  }

  private static func value(_ key: [UInt8], in root: TreeRoot, _ changes: StoreTransaction) throws -> [UInt8] {
    try key.withView { (key) throws in try #require(try changes.value(key, in: root)).array }
  }

  private static func put(
    _ key: [UInt8], _ value: [UInt8], in root: inout TreeRoot, _ changes: StoreTransaction
  ) throws {
    try key.withView { (key) throws(LogFault) in
      try value.withView { (value) throws(LogFault) in _ = try changes.put(key, value, in: &root) }
    }
  }

  private static func journalKey(_ type: String, _ sequence: UInt64, _ ordinal: UInt32) -> [UInt8] {
    let key = ByteBuffer(capacity: 32)
    UTF8Order.withView(of: type) { ChangeKey.set(key, type: $0, sequence: sequence, ordinal: ordinal) }
    return key.view.array
  }

  private static func expectTold(_ what: String, _ body: () throws -> Void) {
    let error = failure(of: body)
    #expect(error?.code == .corrupted && error?.facts.offset != nil, "\(what): \(String(describing: error))")
  }

  @Test("a lineage that begins at no commit keeps no file from being opened, and is told by the check")
  func lineage() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk) { $0.closeCheckpointByteCount = 0 }
    try database.put("a")
    try database.write { transaction in
      try transaction.setMetadata(Data([1]), forKey: "forged")
      let changes = transaction.context.changes
      var root = changes.roots[Roots.lineages]
      try Self.put([255, 255, 255], [UInt8](repeating: 1, count: 8), in: &root, changes)
      changes.roots[Roots.lineages] = root
    }
    try database.close()
    let again = try Database.open(on: disk, seed: 2)
    #expect(try again.record(Record.ID("a")) != nil)
    #expect(try !again.check(.deep).isClean)
    _ = try? again.put("b")
    _ = try? again.changes(in: Zone.ID("Z"), since: nil)
    try again.close()
  }

  @Test("a name that leads to another record is told at every door, and nothing of the other one is shown", arguments: 0..<3)
  func byName(index: Int) throws {
    let (database, zones) = try Self.people()
    let zone = zones[index]
    let id = try Record.ID(Self.alice, in: zone)
    let before = try #require(try database.record(id))
    let old = try #require(try database.history(of: id).last?.record)
    try database.forge(zone) { trees, changes in
      let other = try Self.value(Array(Self.bob.utf8), in: trees.byName, changes)
      try Self.put(Array(Self.alice.utf8), other, in: &trees.byName, changes)
    }
    Self.expectTold("record") { _ = try database.record(id) }
    Self.expectTold("records") { _ = try database.records([id]) }
    Self.expectTold("some keys") { _ = try database.records([id], desiredKeys: ["n"]) }
    Self.expectTold("snapshot") { _ = try database.snapshot().record(id) }
    Self.expectTold("page") { _ = try database.records(in: zone) }
    Self.expectTold("referencing") { _ = try database.referencing(Record.ID("eve", in: zone)) }
    Self.expectTold("history") { _ = try database.history(of: id) }
    Self.expectTold("request") { _ = try database.records(for: [id])[id]?.get() }
    Self.expectTold("transaction") { try database.write { _ = try $0.record(id) } }
    for policy in SavePolicy.allCases {
      Self.expectTold("save") { try database.write { _ = try $0.save(before, policy: policy) } }
      Self.expectTold("conflict") { try database.write { _ = try $0.save(old, policy: policy) } }
    }
    Self.expectTold("deletion") { try database.write { try $0.delete(id) } }
    Self.expectTold("compaction") { try database.compact() }
    #expect(failure { try database.record(id) }?.facts.name == Self.alice)
    // Who is asked for by the right name answers.
    #expect(
      try database.record(Record.ID(Self.bob, in: zone))?.encryptedValues["pin"] == "the pin of bob")
    #expect(try !database.check().isClean)
    try database.close()
  }

  @Test("a record of another zone under the same name is told")
  func otherZone() throws {
    let (database, zones) = try Self.people()
    for (own, other) in [(zones[0], zones[1]), (zones[1], zones[2]), (zones[2], zones[0])] {
      let name = Array(Self.alice.utf8)
      var entry: [UInt8] = []
      try database.forge(other) { trees, changes in entry = try Self.value(name, in: trees.byName, changes) }
      let saved = entry
      let id = try Record.ID(Self.alice, in: own)
      try database.forge(own) { trees, changes in
        entry = try Self.value(name, in: trees.byName, changes)
        try Self.put(name, saved, in: &trees.byName, changes)
      }
      Self.expectTold("record") { _ = try database.record(id) }
      Self.expectTold("page") { _ = try database.records(in: own) }
      Self.expectTold("compaction") { try database.compact() }
      let sound = entry
      try database.forge(own) { trees, changes in try Self.put(name, sound, in: &trees.byName, changes) }
      #expect(try database.record(id) != nil)
    }
    try database.expectClean()
    try database.close()
  }

  @Test("a change journal that leads to another zone's record or tombstone is told, in every feed", arguments: [false, true])
  func changeJournal(isDeleted: Bool) throws {
    let (database, zones) = try Self.people()
    for (own, other) in [(zones[0], zones[1]), (zones[1], zones[2]), (zones[2], zones[0])] {
      var key: [UInt8] = []
      func find(_ trees: ZoneTrees, _ changes: StoreTransaction) throws -> [UInt8] {
        if isDeleted {
          let position = try Self.value(Array("carol".utf8), in: trees.tombstones, changes).withView {
            ($0.uint64(at: 0), $0.uint32(at: 8))
          }
          key = Self.journalKey("", position.0, position.1)
        } else {
          let entry = try #require(
            try Self.value(Array(Self.alice.utf8), in: trees.byName, changes).withView { RecordEntry($0) })
          key = Self.journalKey("Person", entry.sequence, entry.ordinal)
        }
        return try Self.value(key, in: trees.changeJournal, changes)
      }
      var foreign: [UInt8] = []
      try database.forge(other) { trees, changes in foreign = try find(trees, changes) }
      let value = foreign
      var sound: [UInt8] = []
      try database.forge(own) { trees, changes in
        sound = try find(trees, changes)
        try Self.put(key, value, in: &trees.changeJournal, changes)
      }
      Self.expectTold("changes") { _ = try database.changes(in: own, since: nil) }
      Self.expectTold("changes of some keys") { _ = try database.changes(in: own, since: nil, desiredKeys: ["n"]) }
      Self.expectTold("snapshot") { _ = try database.snapshot().changes(in: own, since: nil) }
      if isDeleted {
        Self.expectTold("history") { _ = try database.history(of: Record.ID("carol", in: own)) }
        Self.expectTold("compaction") { try database.compact() }
      }
      let entry = sound
      try database.forge(own) { trees, changes in try Self.put(key, entry, in: &trees.changeJournal, changes) }
    }
    try database.expectClean()
    try database.close()
  }

  @Test("a tombstone's place that holds another record's is told")
  func tombstone() throws {
    let (database, zones) = try Self.people()
    try database.forge(zones[0]) { trees, changes in
      let other = try Self.value(Array("dave".utf8), in: trees.tombstones, changes)
      try Self.put(Array("carol".utf8), other, in: &trees.tombstones, changes)
    }
    Self.expectTold("history") { _ = try database.history(of: Record.ID("carol", in: zones[0])) }
    Self.expectTold("compaction") { try database.compact() }
    try database.close()
  }

  /// What may be wrong between the name of a deleted record and its deletion in the log.
  enum BrokenDeletion: CaseIterable { case tombstone, journal, missing, living }

  @Test(
    "a deletion whose entries are malformed, or lead to what is none, is told with the page, in place of a history or a link that ends",
    arguments: BrokenDeletion.allCases)
  func deletion(broken: BrokenDeletion) throws {
    let (database, zones) = try Self.people()
    let id = try Record.ID("carol", in: zones[0])
    #expect(try database.history(of: id).count == 2)
    try database.forge(zones[0]) { trees, changes in
      let tombstone = try Self.value(Array("carol".utf8), in: trees.tombstones, changes)
      let position = tombstone.withView { ($0.uint64(at: 0), $0.uint32(at: 8)) }
      let key = Self.journalKey("", position.0, position.1)
      let entry = try Self.value(key, in: trees.changeJournal, changes)
      switch broken {
      case .tombstone: try Self.put(Array("carol".utf8), tombstone + [0], in: &trees.tombstones, changes)
      case .journal: try Self.put(key, entry + [0], in: &trees.changeJournal, changes)
      case .missing:
        try key.withView { (key) throws(LogFault) in _ = try changes.remove(key, from: &trees.changeJournal) }
      case .living:
        let living = ByteBuffer(capacity: 16)
        ChangeEntry.append(try #require(entry.withView { ChangeEntry($0) }).place, isDeleted: false, to: living)
        try Self.put(key, living.view.array, in: &trees.changeJournal, changes)
      }
    }
    // The trees are in the file, so that their pages have a place there.
    try database.store.checkpoint()
    for (what, body) in [
      ("history", { () throws -> Void in _ = try database.history(of: id) }),
      ("new life", { try database.write { _ = try $0.save(Record(type: "Person", id: id)) } }),
      ("compaction", { try database.compact() }),
    ] {
      let error = failure(of: body)
      #expect(error?.code == .corrupted, "\(what): \(String(describing: error))")
      let offset = try #require(error?.facts.offset, "\(what): \(String(describing: error))")
      #expect(offset > 0 && offset % Page.byteCount == 0, "\(what): \(offset)")
    }
    #expect(try !database.check().isClean)
    try database.close()
  }

  @Test("a record that stands among those of another type is told")
  func byType() throws {
    let (database, zones) = try Self.people()
    try database.forge(zones[0]) { trees, changes in
      let entry = try #require(
        try Self.value(Array(Self.bob.utf8), in: trees.byName, changes).withView { RecordEntry($0) })
      let value = try Self.value(Self.journalKey("Person", entry.sequence, entry.ordinal), in: trees.changeJournal, changes)
      try Self.put(Self.journalKey("Robot", entry.sequence, entry.ordinal), value, in: &trees.changeJournal, changes)
    }
    Self.expectTold("page of a type") { _ = try database.records(in: zones[0], ofType: "Robot") }
    #expect(try database.records(in: zones[0], ofType: "Person").count == 2)
    #expect(try !database.check().isClean)
    try database.close()
  }

  @Test("metadata of the application under another key, or a record in its place, is told")
  func metadata() throws {
    let (database, zones) = try Self.people()
    var place: [UInt8] = []
    try database.forge(zones[1]) { trees, changes in
      let entry = try #require(
        try Self.value(Array(Self.alice.utf8), in: trees.byName, changes).withView { RecordEntry($0) })
      let bytes = ByteBuffer(capacity: Place.encodedByteCount)
      bytes.append(uint64: entry.place.offset)
      bytes.append(uint32: entry.place.byteCount)
      place = bytes.view.array
    }
    let record = place
    for forged in [nil, record] {
      try database.forge(zones[1]) { _, changes in
        let root = changes.roots[Roots.metadata]
        let value = try forged ?? Self.value(Array(Self.bob.utf8), in: root, changes)
        try Self.put(Array(Self.alice.utf8), value, in: &changes.roots[Roots.metadata], changes)
      }
      Self.expectTold("metadata") { _ = try database.metadata(forKey: Self.alice) }
      Self.expectTold("compaction") { try database.compact() }
      #expect(try database.metadata(forKey: Self.bob) == Data(Self.bob.utf8))
    }
    try database.close()
  }
}
