import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook

/// What references do: who points at a record, parents and targets that must exist, limits, circles. Cascades are in
/// CascadeTests.
@Suite("references")
struct ReferenceTests {
  /// A record that points at others.
  static func pointing(
    _ name: String, in zone: Zone.ID, _ targets: [(key: String, target: String, action: Record.Reference.Action)],
    parent: String? = nil
  ) throws -> Record {
    var record = try Record.fresh(name, in: zone)
    for target in targets {
      record[target.key] = Record.Reference(try Record.ID(target.target, in: zone), action: target.action)
    }
    if let parent { record.parent = Record.Reference(try Record.ID(parent, in: zone)) }
    return record
  }

  private static func code<R>(_ result: Result<R, DatabaseError>?) -> DatabaseError.Code? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  // MARK: who points

  @Test("who points at a record: by any field, list or as a child, each once, by name, a page at a time")
  func referencing() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let x = try Record.ID("x", in: zone)
    try database.write { transaction in
      try transaction.save(.fresh("x", in: zone))
      // A neighbour whose name begins like the target's, and one that comes before it.
      try transaction.save(.fresh("x!", in: zone))
      try transaction.save(Self.pointing("near", in: zone, [("to", "x!", .deleteSelf)]))
      try transaction.save(Self.pointing("c", in: zone, [("a", "x", .none), ("b", "x", .deleteSelf)], parent: "x"))
      try transaction.save(Self.pointing("a", in: zone, [("to", "x", .validate)]))
      try transaction.save(Self.pointing("d", in: zone, [("to", "x", .none)]))
      var list = try Record.fresh("b", in: zone)
      list["all"] = [Record.Reference(x), .init(try Record.ID("y", in: zone)), .init(x, action: .deleteSelf)]
      try transaction.save(list)
      #expect(try transaction.referencing(x).map(\.id.name) == ["a", "b", "c", "d"])
    }
    #expect(try database.referencing(x).map(\.id.name) == ["a", "b", "c", "d"])
    #expect(try database.referencing(x, limit: 2).map(\.id.name) == ["a", "b"])
    #expect(try database.referencing(x, after: "b", limit: 2).map(\.id.name) == ["c", "d"])
    #expect(try database.referencing(x, after: "d").isEmpty)
    #expect(try database.referencing(Record.ID("y", in: zone)).map(\.id.name) == ["b"], "a target need not exist")
    let snapshot = try database.snapshot()
    try database.write { transaction in
      var c = try #require(try transaction.record(Record.ID("c", in: zone)))
      c["a"] = nil as Record.Reference?
      c["b"] = nil as Record.Reference?
      try transaction.save(c)
      try transaction.delete(Record.ID("d", in: zone))
    }
    #expect(try database.referencing(x).map(\.id.name) == ["a", "b", "c"], "c is still a child")
    #expect(try snapshot.referencing(x).map(\.id.name) == ["a", "b", "c", "d"])
    let missing = failure { try database.referencing(Record.ID("x", in: Zone.ID("Nowhere"))) }
    #expect(missing?.code == .zoneNotFound)
    try database.expectClean()
    try database.write { try $0.deleteZone(zone) }
    try database.write { try $0.save(Zone(zone)) }
    #expect(try database.referencing(x).isEmpty, "a zone takes its references along")
    try database.expectClean()
  }

  @Test("the same pointers under other keys and values beside them change nothing by target")
  func unchangedReferences() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("x", in: zone)
    var record = try database.write { try $0.save(Self.pointing("a", in: zone, [("old", "x", .validate)])) }
    record["old"] = nil as Record.Reference?
    record["new"] = Record.Reference(try Record.ID("x", in: zone), action: .validate)
    record["title"] = "beside"
    record = try database.write { try $0.save(record) }
    #expect(try database.referencing(Record.ID("x", in: zone)) == [record])
    // A record that points nowhere any more, and then again.
    record["new"] = nil as Record.Reference?
    record = try database.write { try $0.save(record) }
    #expect(try database.referencing(Record.ID("x", in: zone)).isEmpty)
    try database.expectClean()
    record["new"] = [Record.Reference(try Record.ID("x", in: zone))]
    record = try database.write { try $0.save(record) }
    #expect(try database.referencing(Record.ID("x", in: zone)) == [record])
    try database.expectClean()
  }

  @Test("a reference that spells out the zone of its record is one of that zone")
  func ownZoneSpelledOut() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("x", in: zone)
    let json = #"{"id":{"name":"x","zone":{"name":"Library","owner":"__defaultOwner__"}},"action":"deleteSelf"}"#
    let reference = try JSONDecoder().decode(Record.Reference.self, from: Data(json.utf8))
    var record = try Record.fresh("a", in: zone)
    record["to"] = reference
    record.parent = Record.Reference(reference.id)
    let saved = try database.write { try $0.save(record) }
    #expect(saved["to"] as Record.Reference? == reference && saved.parent?.id == reference.id)
    #expect(try database.referencing(reference.id) == [saved])
    // The default zone, spelled out as well.
    let plain = try Record.ID("p", in: Zone.ID("_defaultZone"))
    var other = try Record.fresh("q")
    other["to"] = Record.Reference(plain)
    let savedOther = try database.write { try $0.save(other) }
    #expect(try database.referencing(Record.ID("p")) == [savedOther])
    try database.expectClean()
  }

  @Test("references live through closing, checkpoints and a replay of the log", arguments: [0, 1 << 20])
  func reopening(closeCheckpointByteCount: Int) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a.daybook")
    let zone = try Zone.ID("Library")
    var options = Database.Options()
    options.closeCheckpointByteCount = closeCheckpointByteCount
    for round in 0..<3 {
      let database = try Database.open(at: path, options: options)
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(.fresh("x", in: zone, ["n": .int(Int64(round))]), policy: .changedKeys)
        // Each round changes what the last one wrote, so replay looks at bodies before the checkpoint.
        for number in 0..<40 {
          try transaction.save(
            Self.pointing("r\(number)", in: zone, [("to", round % 2 == 0 ? "x" : "y", .deleteSelf)]), policy: .changedKeys)
        }
        try transaction.delete(Record.ID("r\(round)", in: zone))
      }
      try database.close()
    }
    let database = try Database.open(at: path, options: options)
    #expect(try database.referencing(Record.ID("x", in: zone)).count == 39)
    #expect(try database.referencing(Record.ID("y", in: zone)).isEmpty)
    try database.expectClean()
    let backup = folder.file("b.daybook")
    try database.backup(to: backup)
    try database.close()
    let rebuilt = try Database.rebuild(at: path)
    #expect(rebuilt.isClean, "\(rebuilt.findings)")
    let salvaged = folder.file("c.daybook")
    try Database.salvage(from: path, to: salvaged)
    for copy in [backup, salvaged] {
      let database = try Database.open(at: copy)
      #expect(try database.referencing(Record.ID("x", in: zone)).count == 39)
      try database.expectClean()
      try database.write { try $0.delete(Record.ID("x", in: zone)) }
      #expect(try database.recordCount(in: zone) == 0)
      try database.expectClean()
    }
  }

  @Test("a former version that is corrupt keeps no file from opening, nor its pointers in the tree")
  func corruptFormerVersion() throws {
    let disk = SimulatedDisk(seed: 1)
    let zone = try Zone.ID("Library")
    var database = try Database.open(on: disk) { $0.closeCheckpointByteCount = 0 }
    let saved = try database.write { transaction in
      try transaction.save(Zone(zone))
      for name in ["x", "y"] { try transaction.save(.fresh(name, in: zone)) }
      // A name that ends like the other one's, and points at the same.
      try transaction.save(Self.pointing("aa", in: zone, [("to", "x", .none)]))
      return try transaction.save(Self.pointing("a", in: zone, [("to", "x", .deleteSelf), ("also", "x", .none)], parent: "y"))
    }
    try database.close()
    // After the checkpoint, so that replay meets the version before it.
    database = try Database.open(on: disk) { $0.closeCheckpointByteCount = .max }
    let place = try database.reading { (view) throws(DatabaseError) in
      try view.entry("a", in: try view.existingZone(zone))?.place
    }
    try database.write { transaction in
      var changed = saved
      changed["to"] = Record.Reference(try Record.ID("y", in: zone))
      changed["also"] = nil as Record.Reference?
      changed.parent = nil
      try transaction.save(changed)
    }
    try database.close()
    var bytes = try #require(disk.bytes(of: "test.daybook"))
    bytes[Int(try #require(place).offset) + 60] ^= 1
    let damaged = SimulatedDisk(seed: 2)
    damaged.install(bytes, at: "test.daybook")
    database = try Database.open(on: damaged)
    #expect(try database.referencing(Record.ID("x", in: zone)).map(\.id.name) == ["aa"])
    #expect(try database.referencing(Record.ID("y", in: zone)).map(\.id.name) == ["a"])
    #expect(try database.record(Record.ID("a", in: zone))?.parent == nil)
    try database.write { try $0.delete(Record.ID("y", in: zone)) }
    #expect(try database.recordCount(in: zone) == 3)
    let report = try database.check(.structure)
    #expect(report.findings.allSatisfy { !$0.message.contains("reference") }, "\(report.findings)")
    #expect(!report.isClean, "the damage itself is found")
  }

  @Test("a reader beside the writer moves on with its references")
  func reader() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a.daybook")
    let writer = try Database.open(at: path)
    let zone = try writer.zone("Library")
    let x = try Record.ID("x", in: zone)
    var saved = try writer.write { transaction in
      try transaction.save(.fresh("x", in: zone))
      return try transaction.save(Self.pointing("a", in: zone, [("to", "x", .deleteSelf)], parent: "x"))
    }
    var options = Database.Options()
    options.isReadOnly = true
    try writer.sync()
    let reader = try Database.open(at: path, options: options)
    for round in 0..<3 {
      saved["to"] = round % 2 == 0 ? nil : Record.Reference(x, action: .deleteSelf)
      saved.parent = round == 2 ? nil : Record.Reference(x)
      saved = try writer.write { [saved] in try $0.save(saved) }
      // A second commit proves the first one.
      try writer.write { try $0.setMetadata(Data([UInt8(round)]), forKey: "round") }
      try reader.refresh()
      #expect(try reader.referencing(x).map(\.id.name) == (round == 2 ? [] : ["a"]), "\(round)")
    }
    try reader.expectClean()
    try reader.close()
    try writer.expectClean()
    try writer.close()
  }

  // MARK: targets that must exist

  @Test("a parent and a validated target may come after their child, in one transaction", arguments: [false, true])
  func childFirst(isParent: Bool) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let child = try Self.pointing(
      "child", in: zone, isParent ? [] : [("to", "target", .validate)], parent: isParent ? "target" : nil)
    try database.write { transaction in
      try transaction.save(child)
      try transaction.save(.fresh("target", in: zone))
    }
    #expect(try database.recordCount(in: zone) == 2)
    // And go together, the target first.
    try database.write { transaction in
      try transaction.delete(Record.ID("target", in: zone))
      try transaction.delete(child.id)
    }
    #expect(try database.recordCount(in: zone) == 0)
    try database.expectClean()
  }

  @Test("a child without its parent is refused, and the error names both ends", arguments: [false, true])
  func missingTarget(isParent: Bool) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let sequence = try database.snapshot().sequence
    let child = try Self.pointing(
      "child", in: zone, isParent ? [] : [("to", "target", .validate)], parent: isParent ? "target" : nil)
    let error = failure {
      try database.write { transaction in
        try transaction.save(child)
        try transaction.save(.fresh("bystander", in: zone))
      }
    }
    #expect(error?.code == .referenceViolation)
    #expect(error?.facts.source == child.id && error?.facts.target?.name == "target")
    #expect(error?.facts.name == "child" && error?.facts.key == (isParent ? "parent" : "to"))
    #expect(try database.snapshot().sequence == sequence && database.recordCount(in: zone) == 0)
    // The same transaction is fine once the child is gone, or points elsewhere, or its savepoint was rolled back.
    try database.write { transaction in
      try transaction.save(child)
      try transaction.delete(child.id)
      let again = try transaction.save(child)
      var changed = again
      changed["to"] = nil as Record.Reference?
      changed.parent = nil
      try transaction.save(changed)
      try? transaction.savepoint {
        try transaction.save(Self.pointing("other", in: zone, [], parent: "nobody"))
        throw Intended()
      }
    }
    #expect(try database.recordCount(in: zone) == 1)
    try database.expectClean()
  }

  @Test("a record that others need is not deleted, unless they go too or it comes back", arguments: [false, true])
  func neededTarget(isParent: Bool) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let target = try Record.ID("target", in: zone)
    let child = try Self.pointing(
      "child", in: zone, isParent ? [] : [("to", "target", .validate)], parent: isParent ? "target" : nil)
    try database.write { transaction in
      try transaction.save(.fresh("target", in: zone))
      try transaction.save(child)
    }
    let error = failure { try database.write { try $0.delete(target) } }
    #expect(error?.code == .referenceViolation)
    #expect(error?.facts.source == child.id && error?.facts.target == target && error?.facts.name == "target")
    #expect(error?.facts.key == (isParent ? "parent" : "to"))
    #expect(try database.record(target) != nil)
    try database.write { transaction in
      try transaction.delete(target)
      try transaction.save(.fresh("target", in: zone, type: "Other"))
    }
    #expect(try database.record(target)?.type == "Other")
    try database.write { transaction in
      try transaction.delete(target)
      var changed = try #require(try transaction.record(child.id))
      changed["to"] = Record.Reference(target)
      changed.parent = nil
      try transaction.save(changed)
    }
    #expect(try database.record(target) == nil, "a reference without an action may dangle")
    try database.write { try $0.deleteZone(zone) }
    try database.expectClean()
  }

  @Test("a pointer that dangles already is no obstacle for other changes of its record")
  func danglingBefore() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let child = try Self.pointing("child", in: zone, [], parent: "nobody")
    var saved = try database.writeUnordered { try $0.save(child) }
    #expect(try database.referencesWithoutTarget(in: zone).map(\.target.name) == ["nobody"])
    saved["title"] = "changed"
    saved = try database.write { try $0.save(saved) }
    #expect(saved.parent?.id.name == "nobody")
    try database.put("nobody", in: zone)
    #expect(try database.referencesWithoutTarget(in: zone).isEmpty)
    try database.expectClean()
  }

  @Test("saving a child leaves the change tag of its parent alone")
  func parentTag() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let parent = try database.put("parent", in: zone)
    try database.write { try $0.save(Self.pointing("child", in: zone, [], parent: "parent")) }
    #expect(try database.record(parent.id)?.metadata?.changeTag == parent.metadata?.changeTag)
  }

  // MARK: requests

  @Test("in an atomic request the child without a parent says why, the others that they were in its company")
  func atomicRequest() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let records = try [
      Self.pointing("child", in: zone, [], parent: "missing"), .fresh("a", in: zone),
      Self.pointing("good", in: zone, [], parent: "a"),
    ]
    let result = try database.modify(saving: records)
    #expect(result.saves.map { Self.code($0.result) } == [.referenceViolation, .batchRequestFailed, .batchRequestFailed])
    let error = result.errors[records[0].id]
    #expect(error?.facts.source == records[0].id && error?.facts.target?.name == "missing")
    #expect(try database.recordCount(in: zone) == 0)
    let fine = try database.modify(saving: [records[2], records[1]])
    #expect(fine.errors.isEmpty, "a child may stand before its parent")
    let deletion = try database.modify(deleting: [records[1].id])
    #expect(deletion.deletes.map { Self.code($0.result) } == [.referenceViolation])
    #expect(deletion.errors[records[1].id]?.facts.source == records[2].id)
    let both = try database.modify(deleting: [records[1].id, records[2].id])
    #expect(both.errors.isEmpty)
    try database.expectClean()
  }

  @Test(
    "in a request that is not atomic only those fail that are left without their parent, however indirectly",
    arguments: [false, true])
  func independentRequest(isReversed: Bool) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("there", in: zone)
    var records = try [
      .fresh("root", in: zone), Self.pointing("child", in: zone, [], parent: "root"),
      Self.pointing("grandchild", in: zone, [], parent: "child"),
      Self.pointing("orphan", in: zone, [], parent: "missing"),
      Self.pointing("orphan's child", in: zone, [("to", "orphan", .validate)]),
      Self.pointing("orphan's grandchild", in: zone, [], parent: "orphan's child"),
      // This one meets a conflict, so its child is an orphan, but has a record of that name.
      .fresh("there", in: zone), Self.pointing("child of there", in: zone, [], parent: "there"),
      .fresh("bystander", in: zone),
    ]
    if isReversed { records.reverse() }
    let result = try database.modify(saving: records, atomically: false)
    let expected: [String: DatabaseError.Code] = [
      "orphan": .referenceViolation, "orphan's child": .referenceViolation, "orphan's grandchild": .referenceViolation,
      "there": .serverRecordChanged,
    ]
    #expect(Dictionary(uniqueKeysWithValues: result.errors.map { ($0.key.name, $0.value.code) }) == expected)
    #expect(result.errors[try Record.ID("orphan's child", in: zone)]?.facts.target?.name == "orphan")
    #expect(
      try database.records(in: zone).map(\.id.name)
        == ["bystander", "child", "child of there", "grandchild", "root", "there"])
    for save in result.saves {
      guard case .success(let saved) = save.result else { continue }
      let stored = try database.record(save.id)
      #expect(stored == saved, "results are of the last round")
    }
    try database.expectClean()
  }

  @Test("deletions in a request that is not atomic: who is needed stays, and so does who is needed by that one")
  func independentDeletions() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.write { transaction in
      try transaction.save(.fresh("root", in: zone))
      try transaction.save(Self.pointing("middle", in: zone, [], parent: "root"))
      try transaction.save(Self.pointing("leaf", in: zone, [], parent: "middle"))
      try transaction.save(.fresh("free", in: zone))
    }
    let ids = try ["root", "middle", "free"].map { try Record.ID($0, in: zone) }
    let result = try database.modify(deleting: ids, atomically: false)
    #expect(result.deletes.map { Self.code($0.result) } == [.referenceViolation, .referenceViolation, nil])
    #expect(try database.records(in: zone).map(\.id.name) == ["leaf", "middle", "root"])
    let all = try database.modify(deleting: ids + [Record.ID("leaf", in: zone)], atomically: false)
    #expect(all.errors.isEmpty)
    #expect(try database.recordCount(in: zone) == 0)
    try database.expectClean()
  }

  @Test("a child is saved and its parent deleted in one request: the deletion is refused, and the child is there")
  func savesChildDeletesParent() throws {
    let database = try Database.scratch()
    for zone in [try database.zone("Library"), Zone.ID.default] {
      try database.put("parent", in: zone)
      let (child, orphan) = (
        try Self.pointing("child", in: zone, [("target", "parent", .validate)], parent: "parent"),
        try Self.pointing("orphan", in: zone, [], parent: "nobody")
      )
      let result = try database.modify(
        saving: [child, orphan], deleting: [Record.ID("parent", in: zone)], atomically: false)
      #expect(result.saves.map { Self.code($0.result) } == [nil, .referenceViolation])
      #expect(result.deletes.map { Self.code($0.result) } == [.referenceViolation])
      #expect(try database.records(in: zone).map(\.id.name) == ["child", "parent"])
    }
    // All or nothing: only who is to blame has the reason.
    let zone = try database.zone("Shelf")
    try database.put("parent", in: zone)
    let child = try Self.pointing("child", in: zone, [], parent: "parent")
    let result = try database.modify(saving: [child], deleting: [Record.ID("parent", in: zone)])
    #expect(result.saves.map { Self.code($0.result) } == [.batchRequestFailed])
    #expect(result.deletes.map { Self.code($0.result) } == [.referenceViolation])
    try database.expectClean()
  }

  @Test("the default zone judges each record alone, too")
  func defaultZone() throws {
    let database = try Database.scratch()
    let result = try database.modify(saving: [
      Self.pointing("child", in: .default, [], parent: "missing"), .fresh("a"),
      Self.pointing("b", in: .default, [], parent: "a"),
    ])
    #expect(result.saves.map { Self.code($0.result) } == [.referenceViolation, nil, nil])
    #expect(try database.records(in: .default).map(\.id.name) == ["a", "b"])
    try database.expectClean()
  }

  // MARK: circles and limits

  @Test("a circle is saved in one request, or refused where CloudKit's answers are wanted")
  func circles() throws {
    for dialect in Dialect.allCases {
      let database = try Database.scratch { $0.dialect = dialect }
      let zone = try database.zone("Library")
      let records = try [
        Self.pointing("a", in: zone, [("to", "b", .deleteSelf)]), Self.pointing("b", in: zone, [("to", "c", .validate)]),
        Self.pointing("c", in: zone, [], parent: "a"), Self.pointing("outside", in: zone, [("to", "a", .deleteSelf)]),
        Self.pointing("weak", in: zone, [("to", "weak", .none)]),
        Self.pointing("self", in: zone, [("to", "self", .deleteSelf)]),
      ]
      let isStrict = dialect == .cloudKit
      let alone = try database.modify(saving: records, atomically: false)
      let expected: [DatabaseError.Code?] =
        isStrict
        ? [.invalidArguments, .invalidArguments, .invalidArguments, nil, nil, .invalidArguments]
        : [nil, nil, nil, nil, nil, nil]
      #expect(alone.saves.map { Self.code($0.result) } == expected, "\(dialect)")
      if isStrict {
        #expect(alone.errors[records[0].id]?.message == "Cycle detected in record graph")
        let together = try database.modify(saving: Array(records[0..<3]) + [.fresh("d", in: zone)])
        #expect(
          together.saves.map { Self.code($0.result) }
            == [.invalidArguments, .invalidArguments, .invalidArguments, .batchRequestFailed])
        // Over several requests a circle may close.
        let first = try Record.fresh("a", in: zone)
        #expect(try database.modify(saving: [first]).errors.isEmpty)
        #expect(try database.modify(saving: [records[1], .fresh("c", in: zone)]).errors.isEmpty)
        #expect(try database.modify(saving: [records[0]], policy: .changedKeys).errors.isEmpty)
        #expect(try database.modify(saving: [records[2]], policy: .changedKeys).errors.isEmpty)
      }
      try database.write { transaction in
        for name in ["c", "b"] { try transaction.delete(Record.ID(name, in: zone)) }
      }
      for name in ["a", "outside"] { #expect(try database.record(Record.ID(name, in: zone)) == nil, "\(name) was owned") }
      try database.expectClean()
    }
  }

  @Test("a long line of records is no circle, and judged without recursion")
  func longLine() throws {
    let database = try Database.scratch {
      $0.dialect = .cloudKit
      $0.limits = .unlimited
    }
    let zone = try database.zone("Library")
    var records = try (1..<3000).map { try Self.pointing("r\($0)", in: zone, [("to", "r\($0 - 1)", .deleteSelf)]) }
    records.append(try .fresh("r0", in: zone))
    #expect(try database.modify(saving: records).errors.isEmpty)
    try database.expectClean(.structure)
  }

  @Test("750 records may own themselves to one target where CloudKit's limits hold, else as many as wanted")
  func ownersLimit() throws {
    let zone = try Zone.ID("Library")
    func database(_ change: (inout Database.Options) -> Void) throws -> Database {
      let database = try Database.scratch(change)
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(.fresh("x", in: zone))
        for number in 0..<750 { try transaction.save(Self.pointing("r\(number)", in: zone, [("to", "x", .deleteSelf)])) }
      }
      return database
    }
    let one = try Self.pointing("more", in: zone, [("to", "x", .deleteSelf)])
    let strict = try database { $0.dialect = .cloudKit }
    let error = failure { try strict.write { try $0.save(one) } }
    #expect(error?.code == .limitExceeded && error?.facts.limit == 750 && error?.facts.size == 751)
    #expect(error?.facts.source == one.id && error?.facts.target?.name == "x")
    // Who owns itself to it already may be saved again, and other pointers do not count.
    try strict.write { transaction in
      var known = try #require(try transaction.record(Record.ID("r7", in: zone)))
      known["also"] = Record.Reference(try Record.ID("x", in: zone), action: .deleteSelf)
      try transaction.save(known)
      try transaction.save(Self.pointing("weak", in: zone, [("to", "x", .none)], parent: "x"))
      try transaction.delete(Record.ID("r8", in: zone))
      try transaction.save(one)
    }
    try strict.expectClean()
    let free = try database { _ in }
    try free.write { try $0.save(one) }
    let set = try database { $0.limits.referencesPerTarget = 751 }
    try set.write { try $0.save(one) }
    let two = try Self.pointing("two", in: zone, [("to", "x", .deleteSelf)])
    let result = try set.modify(saving: [two, .fresh("fine", in: zone)], atomically: false)
    #expect(result.saves.map { Self.code($0.result) } == [.limitExceeded, nil])
    try set.expectClean()
  }
}
