import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// One door for reads: what a database can read, a snapshot and a transaction can, in the same words and with the same answers.

@Suite("reads through databases, snapshots and transactions")
struct RecordReaderTests {
  private let zone: Zone.ID
  init() throws { zone = try Zone.ID("Library") }

  private func filled(_ change: (inout Database.Options) -> Void = { _ in }) throws -> Database {
    let database = try Database.scratch(seed: 1, change)
    try database.write { transaction in
      try transaction.save(Zone(zone))
      for name in ["a", "b", "c"] { try transaction.save(.fresh(name, in: zone, ["n": 1])) }
      var map = try Record.fresh("m", in: zone, type: "Map")
      map["title"] = .reference(.init(id: try Record.ID("a", in: zone), action: .none))
      map["file"] = Asset(data: Data([1, 2, 3]))
      try transaction.save(map)
      try transaction.setMetadata(Data([7]), forKey: "state")
    }
    try database.write { try $0.delete(Record.ID("c", in: zone)) }
    return database
  }

  /// Every read there is, as one text each.
  private func answers(_ reader: borrowing some RecordReader & ~Copyable) throws -> [String] {
    let (a, m) = (try Record.ID("a", in: zone), try Record.ID("m", in: zone))
    func told(_ error: DatabaseError?) -> String { "\(error?.code as Any)" }
    let nowhere = try Zone.ID("Nowhere")
    var texts: [String] = []
    texts.append("\(try reader.record(a) as Any)")
    texts.append("\(try reader.records([a, Record.ID("c", in: zone)]).keys.map(\.name))")
    let results = try reader.records(for: [a, Record.ID("c", in: zone), Record.ID("x", in: nowhere)])
    texts.append("\(results.map { "\($0.name) \(told(error($1.get)))" }.sorted())")
    texts.append("\(try reader.recordPage(in: zone, ofType: "Note", after: nil, limit: 10).records.map(\.id.name))")
    texts.append("\(try reader.referencing(a).map(\.id.name))")
    texts.append("\(try reader.recordCount(in: zone)) \(try reader.recordCount(in: zone, ofType: "Map"))")
    texts.append("\(try reader.recordTypes(in: zone).map { "\($0.type) \($0.count)" })")
    texts.append("\(try reader.history(of: Record.ID("c", in: zone)).map(\.changeTag))")
    texts.append("\(try reader.zones().map(\.id.name))")
    texts.append("\(try reader.schema().types.map(\.name))")
    texts.append("\(try reader.metadata(forKey: "state") as Any)")
    let page = try reader.changes(in: zone, since: nil, limit: 2)
    texts.append("\(page.savedNames) \(page.moreComing) \(try reader.changeCount(in: zone, since: page.token))")
    texts.append("\(try reader.databaseChanges(since: nil).changed)")
    texts.append("\(Array(try Data(contentsOf: reader.asset("file", of: m))))")
    texts.append(told(error { try reader.userRecord() }))
    texts.append(told(error { try reader.recordCount(in: nowhere) }))
    texts.append(told(error { try reader.records(in: zone, limit: 0) }))
    return texts
  }

  private func error<R>(_ body: () throws -> R) -> DatabaseError? {
    do { _ = try body() } catch { return error as? DatabaseError }
    return nil
  }

  @Test("all three answer every read alike")
  func alike() throws {
    let database = try filled()
    let answers = try answers(database)
    #expect(try self.answers(try database.snapshot()) == answers)
    #expect(try database.read { try self.answers($0) } == answers)
    #expect(try database.write { try self.answers($0) } == answers)
  }

  @Test("every read has an asynchronous twin")
  func twins() async throws {
    let database = try await Task { try filled() }.value
    let a = try Record.ID("a", in: zone)
    #expect(try await database.record(a) != nil)
    #expect(try await database.records([a]).count == 1)
    #expect(try await database.records(for: [a]).count == 1)
    #expect(try await database.records(in: zone).count == 3)
    #expect(try await database.referencing(a).count == 1)
    #expect(try await database.recordCount(in: zone) == 3)
    #expect(try await database.recordTypes(in: zone).count == 2)
    #expect(try await database.history(of: a).count == 1)
    #expect(try await database.zones().count == 2)
    #expect(try await database.schema().types.count == 2)
    #expect(try await database.metadata(forKey: "state") == Data([7]))
    let page = try await database.changes(in: zone, since: nil)
    #expect(try await database.changeCount(in: zone, since: page.token) == 0)
    #expect(try await database.databaseChanges(since: nil).changed == [zone])
    #expect(try await !database.asset("file", of: Record.ID("m", in: zone)).path.isEmpty)
    await #expect(throws: DatabaseError.self) { try await database.userRecord() }
  }

  @Test("reads inside a transaction count and list what it has done, while its feeds tell what was committed")
  func inside() throws {
    let database = try filled()
    let token = try database.changes(in: zone, since: nil).token
    try database.write { transaction in
      try transaction.save(.fresh("d", in: zone, type: "Film"))
      let fresh = try Zone.ID("Fresh")
      try transaction.save(Zone(fresh))
      #expect(try transaction.recordTypes(in: zone).map(\.type) == ["Film", "Map", "Note"])
      #expect(try transaction.zones().map(\.id.name).contains("Fresh"))
      #expect(try transaction.schema().types.map(\.name).contains("Film"))
      #expect(try transaction.records(for: [Record.ID("d", in: zone)]).values.allSatisfy { (try? $0.get()) != nil })
      #expect(try transaction.changeCount(in: zone, since: token) == 0)
      #expect(try transaction.changes(in: zone, since: token).token == token)
      #expect(try transaction.databaseChanges(since: nil).changed == [zone])
      #expect(error { try transaction.changes(in: fresh, since: nil) }?.code == .zoneNotFound)
    }
    #expect(try database.changeCount(in: zone, since: token) == 1)
  }

  @Test("a transaction's feed shows the commits that its records show, also those that wait for their sync")
  func unsynced() throws {
    let database = try filled()
    let token = try database.changes(in: zone, since: nil).token
    let (_, ticket) = try database.perform(nil) { try $0.save(.fresh("waiting", in: zone)) }
    #expect(try database.record(Record.ID("waiting", in: zone)) == nil, "not visible yet")
    var inside: ChangeToken?
    try database.write { transaction in
      #expect(try transaction.record(Record.ID("waiting", in: zone)) != nil)
      let page = try transaction.changes(in: zone, since: token)
      #expect(page.savedNames == ["waiting"])
      inside = page.token
      // Outside nothing of it is there yet, and the token is still no reason to start over.
      let outside = try database.changes(in: zone, since: page.token)
      #expect(outside.saved.isEmpty && outside.token == page.token)
      try transaction.save(.fresh("next", in: zone))
    }
    try database.wait(ticket)
    #expect(try database.changes(in: zone, since: inside).savedNames == ["next"])
    try database.expectClean()
  }

  @Test("a transaction that is kept after its closure refuses every call, and changes nothing")
  func escaped() throws {
    let database = try filled()
    var kept: Transaction?
    try database.write { kept = $0 }
    let transaction = try #require(kept)
    let a = try Record.ID("a", in: zone)
    func check() throws {
      let calls: [() throws -> Void] = [
        { _ = try transaction.record(a) }, { _ = try transaction.recordCount(in: zone) },
        { _ = try transaction.zones() }, { _ = try transaction.changes(in: zone, since: nil) },
        { try transaction.save(.fresh("late")) }, { try transaction.save(Zone(Zone.ID("Late"))) },
        { try transaction.delete(a) }, { try transaction.deleteZone(zone) },
        { try transaction.setMetadata(nil, forKey: "state") }, { try transaction.savepoint {} },
        { try transaction.forgetDeletions(through: 1) }, { try transaction.declare(Schema()) },
      ]
      for call in calls { #expect(error(call)?.code == .invalidArguments) }
    }
    try check()
    // Also while another one goes on.
    try database.write { other in
      try other.save(.fresh("other"))
      try check()
    }
    #expect(try database.record(Record.ID("late")) == nil && database.recordCount(in: zone) == 3)
    try database.expectClean()
  }

  @Test("a transaction may be used in local functions, stored closures and lazy sequences")
  func shapes() throws {
    let database = try filled()
    try database.write { transaction in
      func nested(_ name: String) throws { try transaction.save(.fresh(name)) }
      try nested("1")
      let stored = { (name: String) throws in try transaction.save(.fresh(name)) }
      _ = try stored("2")
      var names: [String?] = []
      for saved in ["3", "4"].lazy.map({ name in try? transaction.save(.fresh(name)) }) { names.append(saved?.id.name) }
      #expect(names == ["3", "4"])
    }
    #expect(try database.records(in: .default).map(\.id.name) == ["1", "2", "3", "4"])
  }
}
