import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Many records in one request: a result for each, zones that succeed or fail as a whole, and the limits.

@Suite("modify: many records in one request")
struct ModifyTests {
  private func code<T>(_ result: Result<T, DatabaseError>?) -> DatabaseError.Code? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  @Test("each record has its result, in the order of the request")
  func results() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("old", in: zone)
    let records = try ["a", "b", "c"].map { try Record.fresh($0, in: zone) }
    let ids = try ["old", "never"].map { try Record.ID($0, in: zone) }
    let sequence = try database.snapshot().sequence
    let result = try database.modify(saving: records, deleting: ids)
    #expect(result.saves.map(\.id) == records.map(\.id) && result.deletes.map(\.id) == ids)
    #expect(result.errors.isEmpty, "deleting what is not there succeeds")
    try result.get()
    for save in result.saves {
      let stored = try database.record(save.id)
      let saved = try save.result.get()
      #expect(saved == stored)
    }
    #expect(try database.snapshot().sequence == sequence + 1, "one request is one commit")
    #expect(try database.recordCount(in: zone) == 3)
    try database.expectClean()
  }

  @Test("in an atomic zone one failure fails all: the culprit says why, the others that they were in its company")
  func atomicZone() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("there", in: zone, ["n": 1])
    try database.put("doomed", in: zone)
    let before = try database.changes(in: zone, since: nil).token
    let sequence = try database.snapshot().sequence
    let records = try ["a", "there", "b"].map { try Record.fresh($0, in: zone) }
    let result = try database.modify(saving: records, deleting: [Record.ID("doomed", in: zone)])
    #expect(result.saves.map { code($0.result) } == [.batchRequestFailed, .serverRecordChanged, .batchRequestFailed])
    #expect(result.deletes.map { code($0.result) } == [.batchRequestFailed])
    #expect(result.errors.count == 4)
    let partial = failure { try result.get() }
    #expect(partial?.code == .partialFailure && partial?.partialErrors.count == 4)
    #expect(result.errors[records[1].id]?.conflict?.server?["n"] == 1)
    #expect(try database.changes(in: zone, since: before).saved.isEmpty)
    #expect(try database.snapshot().sequence == sequence)
    try database.expectClean()
  }

  @Test("two culprits both say why")
  func twoCulprits() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let there = try database.put("there", in: zone)
    try database.put("gone", in: zone)
    var gone = try #require(try database.record(Record.ID("gone", in: zone)))
    gone["n"] = 1
    try database.write { try $0.delete(gone.id) }
    let result = try database.modify(saving: [.fresh("there", in: zone), gone, .fresh("fine", in: zone)])
    #expect(result.saves.map { code($0.result) } == [.serverRecordChanged, .unknownItem, .batchRequestFailed])
    #expect(try database.record(there.id) == there)
  }

  @Test("zones succeed and fail one by one, in one commit")
  func zoneByZone() throws {
    let database = try Database.scratch()
    let good = try database.zone("Good")
    let bad = try database.zone("Bad")
    try database.put("there", in: bad)
    let missing = try Zone.ID("Missing")
    let records = try [
      Record.fresh("a", in: good), .fresh("there", in: bad), .fresh("b", in: good), .fresh("c", in: bad),
      .fresh("d", in: missing), .fresh("e"),
    ]
    let sequence = try database.snapshot().sequence
    let result = try database.modify(saving: records)
    #expect(
      result.saves.map { code($0.result) } == [nil, .serverRecordChanged, nil, .batchRequestFailed, .zoneNotFound, nil])
    #expect(try database.records(in: good).map(\.id.name) == ["a", "b"])
    #expect(try database.records(in: bad).map(\.id.name) == ["there"])
    #expect(try database.recordCount(in: .default) == 1)
    #expect(try database.snapshot().sequence == sequence + 1)
    try database.expectClean()
  }

  @Test("the default zone, a zone without the capability, and a request that says so: each record stands alone")
  func notAtomic() throws {
    let database = try Database.scratch()
    let atomic = try database.zone("Atomic")
    var plain = Zone(try Zone.ID("Plain"))
    plain.capabilities = [.fetchChanges]
    try database.write { [plain] in try $0.save(plain) }
    for (zone, atomically) in [(Zone.ID.default, true), (plain.id, true), (atomic, false)] {
      try database.put("there", in: zone)
      let records = try ["a", "there", "b"].map { try Record.fresh($0, in: zone) }
      let result = try database.modify(saving: records, deleting: [Record.ID("never", in: zone)], atomically: atomically)
      #expect(result.saves.map { code($0.result) } == [nil, .serverRecordChanged, nil], "\(zone)")
      #expect(try database.records(in: zone).map(\.id.name) == ["a", "b", "there"])
    }
    try database.expectClean()
  }

  @Test("the policy is for all records of the request", arguments: SavePolicy.allCases)
  func policies(_ policy: SavePolicy) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("a", in: zone, ["n": 1, "server": 1])
    let result = try database.modify(saving: [.fresh("a", in: zone, ["n": 2])], policy: policy)
    let stored = try #require(try database.record(Record.ID("a", in: zone)))
    #expect(stored["n"] == (policy == .ifServerRecordUnchanged ? 1 : 2) && stored["server"] == (policy == .replace ? nil : 1))
    #expect(result.errors.isEmpty == (policy != .ifServerRecordUnchanged))
  }

  @Test("a record may be named once: twice saved, twice deleted, and both at once are refused as a whole")
  func duplicates() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let record = try Record.fresh("a", in: zone)
    let other = try Record.fresh("b", in: zone)
    let twiceSaved = failure { try database.modify(saving: [other, record, record]) }
    #expect(twiceSaved?.code == .invalidArguments && twiceSaved?.message == "You can't save the same record twice.")
    #expect(twiceSaved?.facts.name == "a")
    let twiceDeleted = failure { try database.modify(deleting: [record.id, record.id]) }
    #expect(twiceDeleted?.code == .invalidArguments)
    let both = failure { try database.modify(saving: [other, record], deleting: [record.id]) }
    #expect(both?.code == .invalidArguments)
    #expect(try database.recordCount(in: zone) == 0)
    let sameNameElsewhere = try database.modify(saving: [record, .fresh("a")])
    #expect(sameNameElsewhere.errors.isEmpty)
  }

  @Test("a request has a limit of records and of bytes, and a fetch one of names")
  func limits() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let records = try (0..<401).map { try Record.fresh("r\($0)", in: zone) }
    let tooMany = failure { try database.modify(saving: records) }
    #expect(tooMany?.code == .limitExceeded && tooMany?.facts.size == 401 && tooMany?.facts.limit == 400)
    let mixed = failure { try database.modify(saving: Array(records.prefix(400)), deleting: [records[400].id]) }
    #expect(mixed?.code == .limitExceeded)
    #expect(try database.recordCount(in: zone) == 0)
    #expect(try database.modify(saving: Array(records.prefix(400))).errors.isEmpty)
    #expect(try database.recordCount(in: zone) == 400)
    let names = failure { try database.records(for: records.map(\.id)) }
    #expect(names?.code == .limitExceeded)
    let found = try database.records(for: Array(records.dropFirst().map(\.id)))
    #expect(found.count == 400 && code(found[records[400].id]) == .unknownItem && code(found[records[1].id]) == nil)
    let large = try (0..<3).map { try Record.fresh("l\($0)", in: zone, ["k": .bytes(Data(count: 900_000))]) }
    let bytes = failure { try database.modify(saving: large) }
    #expect(bytes?.code == .limitExceeded && bytes?.facts.limit == 2_000_000)
    #expect(try database.modify(saving: Array(large.prefix(2))).errors.isEmpty)
    try database.expectClean()
  }

  @Test("limits can be set, or lifted")
  func otherLimits() throws {
    let small = try Database.scratch { $0.limits.itemsPerRequest = 2 }
    let records = try (0..<3).map { try Record.fresh("r\($0)") }
    let error = failure { try small.modify(saving: records) }
    #expect(error?.code == .limitExceeded && small.limits.itemsPerRequest == 2)
    let free = try Database.scratch { $0.limits = .unlimited }
    let many = try (0..<1000).map { try Record.fresh("r\($0)") }
    #expect(try free.modify(saving: many).errors.isEmpty)
  }

  @Test("a record that is too large fails alone, or takes its zone along")
  func tooLargeRecord() throws {
    let database = try Database.scratch { $0.limits.recordByteCount = 1000 }
    let zone = try database.zone("Library")
    let bytes: [String: Record.Value] = ["k": .bytes(Data(count: 2000))]
    let result = try database.modify(
      saving: [.fresh("a", in: zone), .fresh("big", in: zone, bytes), .fresh("a"), .fresh("big", bytes)])
    #expect(result.saves.map { code($0.result) } == [.batchRequestFailed, .limitExceeded, nil, .limitExceeded])
    try database.expectClean()
  }

  @Test("an empty request is no commit")
  func empty() throws {
    let database = try Database.scratch()
    let result = try database.modify()
    #expect(result.saves.isEmpty && result.deletes.isEmpty)
    #expect(try database.snapshot().sequence == 0)
  }

  @Test("a damaged disk fails the request as a whole")
  func wholeFailure() throws {
    let database = try Database.scratch()
    try database.close()
    let error = failure { try database.modify(saving: [.fresh("a")]) }
    #expect(error?.code == .closed)
  }

  @Test("zones are made and deleted with a result for each")
  func zones() throws {
    let database = try Database.scratch()
    let old = try database.zone("Old")
    let new = Zone(try Zone.ID("New"))
    let missing = try Zone.ID("Missing")
    let result = try database.modifyZones(saving: [new, new], deleting: [missing, old, .default])
    #expect(result.saves.map { code($0.result) } == [nil, nil])
    #expect(result.deletes.map { code($0.result) } == [.zoneNotFound, nil, .invalidArguments])
    #expect(try database.zones().map(\.id) == [new.id, .default])
    let partial = failure { try result.get() }
    #expect(partial?.partialZoneErrors.count == 2)
    try database.expectClean()
  }
}
