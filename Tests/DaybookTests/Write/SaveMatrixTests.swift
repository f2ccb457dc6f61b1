import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Every cell of the table of policies and server states, what a conflict carries, which keys travel, and what a save
// refuses whatever the policy.

@Suite("saving: policies and what the server has")
struct SaveMatrixTests {
  /// The rows of the table.
  enum State: String, CaseIterable {
    case noTagMissing, noTagExists, sameTag, otherTag, tagMissing
  }

  /// A server with title, year and director, and a client that changed the title and removed the year.
  private struct Bench {
    let database: Database
    let zone: Zone.ID
    let id: Record.ID
    /// What the client sends; the version it was read with, if any.
    var client: Record
    var base: Record?
    /// What is stored when the client comes.
    var server: Record?

    init(_ state: State) throws {
      database = try .scratch()
      zone = try database.zone("Library")
      id = try Record.ID("dune", in: zone)
      client = try Record(type: "Movie", id: id)
      if state == .noTagMissing || state == .noTagExists {
        client["title"] = "Dune II"
        client["note"] = "mine"
        client["year"] = nil as Int?
      }
      if state != .noTagMissing {
        let first = try Record.fresh("dune", in: zone, type: "Movie", ["title": "Dune", "year": 1984, "lang": "en"])
        server = try database.write { try $0.save(first) }
      }
      if state == .sameTag || state == .otherTag || state == .tagMissing {
        base = server
        client = server!
        client["title"] = "Dune II"
        client["note"] = "mine"
        client["year"] = nil as Int?
      }
      if state == .otherTag || state == .noTagExists {
        var other = server!
        other["lang"] = "fr"
        other["director"] = "Villeneuve"
        server = try database.write { [other] in try $0.save(other) }
      }
      if state == .tagMissing {
        try database.write { try $0.delete(id) }
        server = nil
      }
    }
  }

  @Test("each policy meets each state as the table says", arguments: State.allCases, SavePolicy.allCases)
  func cell(_ state: State, _ policy: SavePolicy) throws {
    let bench = try Bench(state)
    let before = try bench.database.snapshot().sequence
    var saved: Record?
    let error = failure { saved = try bench.database.write { try $0.save(bench.client, policy: policy) } }
    let stored = try bench.database.record(bench.id)
    switch (state, policy) {
    case (.noTagExists, .ifServerRecordUnchanged), (.otherTag, .ifServerRecordUnchanged):
      #expect(error?.code == .serverRecordChanged && stored == bench.server)
      let conflict = try #require(error?.conflict)
      #expect(conflict.client == bench.client && conflict.client.changedKeys == bench.client.changedKeys)
      #expect(conflict.server == bench.server)
      #expect(conflict.ancestor == bench.base)
      #expect(
        error?.message.hasPrefix(
          state == .otherTag ? "The record changed since it was read." : "A record to insert already exists; ") == true)
    case (.tagMissing, .ifServerRecordUnchanged):
      #expect(error?.code == .unknownItem && stored == nil)
      #expect(error?.facts.name == "dune" && error?.facts.zone == bench.zone)
    case (.noTagMissing, _):
      #expect(stored?.values == ["title": "Dune II", "note": "mine"])
    case (.tagMissing, _):
      #expect(stored?.values == ["title": "Dune II", "note": "mine", "lang": "en"], "an insert writes everything")
    case (.noTagExists, .replace):
      #expect(stored?.values == ["title": "Dune II", "note": "mine"])
    case (.otherTag, .replace):
      #expect(stored?.values == ["title": "Dune II", "note": "mine", "lang": "en"], "as the client has it, and nothing else")
    case (.noTagExists, .changedKeys), (.noTagExists, .allKeys):
      #expect(stored?.values == ["title": "Dune II", "note": "mine", "lang": "fr", "director": "Villeneuve"])
    case (.sameTag, _):
      #expect(stored?.values == ["title": "Dune II", "note": "mine", "lang": "en"])
    case (.otherTag, .changedKeys):
      #expect(stored?.values == ["title": "Dune II", "note": "mine", "lang": "fr", "director": "Villeneuve"])
    case (.otherTag, .allKeys):
      #expect(
        stored?.values == ["title": "Dune II", "note": "mine", "lang": "en", "director": "Villeneuve"],
        "all local keys, and those that only the server has stay")
    }
    if error == nil {
      let result = try #require(saved)
      #expect(result == stored && result.changedKeys.isEmpty)
      #expect(result.metadata?.changeTag != bench.server?.metadata?.changeTag)
      #expect(result.metadata?.changeTag != bench.base?.metadata?.changeTag)
      if let server = bench.server { #expect(result.metadata?.creationDate == server.metadata?.creationDate) }
      if state == .tagMissing { #expect(result.metadata?.creationDate != bench.base?.metadata?.creationDate) }
    } else {
      #expect(try bench.database.snapshot().sequence == before, "a refused save commits nothing")
    }
    try bench.database.expectClean()
  }

  @Test("merging into the server's record and saving it again ends a conflict")
  func resolution() throws {
    let bench = try Bench(.otherTag)
    let error = failure { try bench.database.write { try $0.save(bench.client) } }
    let conflict = try #require(error?.conflict)
    var merged = try #require(conflict.server)
    for key in conflict.client.changedKeys { merged[key] = conflict.client[key] as Record.Value? }
    let first = try bench.database.write { try $0.save(merged) }
    #expect(first.values == ["title": "Dune II", "note": "mine", "lang": "fr", "director": "Villeneuve"])
    var rebased = conflict.client
    rebased["stars"] = 5
    rebased.rebase(onto: first)
    let second = try bench.database.write { try $0.save(rebased) }
    #expect(second["stars"] == 5 && second["director"] == "Villeneuve")
  }

  @Test("the ancestor is the version that the client has, however many came after it")
  func oldAncestor() throws {
    let database = try Database.scratch()
    let first = try database.put("a", ["n": 0])
    for number in 1...50 { try database.put("a", ["n": .int(Int64(number))]) }
    var client = first
    client["mine"] = 1
    let error = failure { try database.write { try $0.save(client) } }
    #expect(error?.conflict?.ancestor == first)
    #expect(error?.conflict?.server?["n"] == 50)
  }

  @Test("the ancestor is known across a deletion")
  func ancestorOfAnEarlierLife() throws {
    let database = try Database.scratch()
    let first = try database.put("a", ["n": 0])
    try database.write { try $0.delete(first.id) }
    let second = try database.put("a", ["n": 1])
    var client = first
    client["mine"] = 1
    let error = failure { try database.write { try $0.save(client) } }
    #expect(error?.code == .serverRecordChanged)
    #expect(error?.conflict?.ancestor == first && error?.conflict?.server == second)
  }

  @Test("a tag that this database never gave is a conflict without an ancestor")
  func foreignTag() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 0])
    let metadata = Record.Metadata(changeTag: "from elsewhere", creationDate: .distantPast, modificationDate: .distantPast)
    var client = try Record(type: "Note", id: Record.ID("a"), metadata: metadata, values: ["n": 7])
    client["n"] = 8
    let error = failure { try database.write { try $0.save(client) } }
    #expect(error?.code == .serverRecordChanged && error?.conflict?.ancestor == nil)
    let saved = try database.write { try $0.save(client, policy: .changedKeys) }
    #expect(saved["n"] == 8 && saved.metadata?.changeTag != "from elsewhere")
  }

  @Test("the type of a record never changes, whatever the policy", arguments: SavePolicy.allCases)
  func typeIsImmutable(_ policy: SavePolicy) throws {
    let database = try Database.scratch()
    try database.put("a", type: "Movie", ["n": 0])
    let error = failure { try database.write { try $0.save(.fresh("a", type: "Book"), policy: policy) } }
    #expect(error?.code == .invalidArguments)
    #expect(error?.facts.expected == "Movie" && error?.facts.found == "Book" && error?.facts.name == "a")
    #expect(try database.record(Record.ID("a"))?.type == "Movie")
    try database.write { try $0.delete(Record.ID("a")) }
    try database.put("a", type: "Book")
    #expect(try database.recordTypes(in: .default).map(\.type) == ["Book"], "a new life may have another type")
    try database.expectClean()
  }

  @Test("every save has a tag of its own, those that went back included")
  func tags() throws {
    let database = try Database.scratch()
    var tags: Set<String> = []
    func save(_ transaction: borrowing Transaction, _ number: Int64) throws {
      let saved = try transaction.save(.fresh("a", ["n": .int(number)]), policy: .changedKeys)
      let isNew = tags.insert(saved.metadata?.changeTag ?? "").inserted
      #expect(isNew)
    }
    try database.write { try save($0, 0) }
    for number in 0..<20 as Range<Int64> {
      try? database.write { transaction in
        try save(transaction, number)
        try? transaction.savepoint {
          try save(transaction, number)
          throw Intended()
        }
        try save(transaction, number)
        if number % 2 == 0 { throw Intended() }
      }
    }
  }

  @Test("a client that holds a save that went back meets a conflict, not a silent overwrite")
  func abandonedSave() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 0])
    var abandoned: Record?
    try? database.write { transaction in
      abandoned = try transaction.save(.fresh("a", ["n": 1]), policy: .changedKeys)
      throw Intended()
    }
    try database.put("a", ["n": 2])
    var client = try #require(abandoned)
    client["n"] = 3
    let error = failure { try database.write { try $0.save(client) } }
    #expect(error?.code == .serverRecordChanged && error?.conflict?.server?["n"] == 2)
  }

  // MARK: what is refused

  @Test("a record that is too large names its longest key, and nothing is committed")
  func tooLarge() throws {
    let database = try Database.scratch { $0.limits.recordByteCount = 1000 }
    var record = try Record.fresh("a", ["short": "x", "long": .bytes(Data(count: 2000)), "list": .strings(["a", "b"])])
    let plain = failure { try database.write { try $0.save(record) } }
    #expect(plain?.code == .limitExceeded && plain?.facts.key == "long" && plain?.facts.limit == 1000)
    #expect(plain?.facts.size == record.encodedByteCount && plain?.facts.name == "a")
    record["long"] = nil as Record.Value?
    record.encryptedValues["secret"] = .bytes(Data(count: 3000))
    let encrypted = failure { try database.write { try $0.save(record) } }
    #expect(encrypted?.facts.key == "secret")
    #expect(try database.snapshot().sequence == 0)
    #expect(try database.record(record.id) == nil)
  }

  @Test("the limit counts keys and values as encodedByteCount does, those of the server included")
  func limitIsExact() throws {
    let id = Record.ID()
    var record = try Record(type: "Note", id: id)
    record["k"] = .bytes(Data(count: 500))
    let size = record.encodedByteCount
    let database = try Database.scratch { $0.limits.recordByteCount = size }
    let saved = try database.write { [record] in try $0.save(record) }
    var more = saved
    more["k"] = .bytes(Data(count: 501))
    let byOne = failure { try database.write { [more] in try $0.save(more) } }
    #expect(byOne?.code == .limitExceeded && byOne?.facts.size == size + 1)
    var other = try Record(type: "Note", id: id)
    other["x"] = 1
    let together = failure { try database.write { [other] in try $0.save(other, policy: .changedKeys) } }
    #expect(together?.code == .limitExceeded && together?.facts.key == "k", "the server's key is the long one")
    #expect(try database.record(id) == saved)
  }

  @Test("what a subscript could not set is refused at save, and the transaction goes on")
  func refusals() throws {
    let database = try Database.scratch()
    var notANumber = try Record.fresh("nan")
    notANumber["x"] = Double.nan
    var reserved = try Record.fresh("reserved")
    reserved["recordID"] = "x"
    var crossing = try Record.fresh("crossing")
    crossing["to"] = Record.Reference(try Record.ID("b", in: Zone.ID("Elsewhere")))
    let refused = [notANumber, reserved, crossing]
    try database.write { transaction in
      for record in refused {
        let error = failure { try transaction.save(record) }
        #expect(error?.code == .invalidArguments && error?.facts.key != nil, "\(record.id)")
      }
      try transaction.save(.fresh("fine", ["x": 1]))
    }
    #expect(try database.records(in: .default).map(\.id.name) == ["fine"])
    try database.expectClean()
  }

  @Test("a save without changes gives a new tag and keeps everything else")
  func touch() throws {
    let database = try Database.scratch { $0.userID = "anna" }
    var record = try Record.fresh("a", ["n": 1])
    record.encryptedValues["secret"] = "s"
    record.parent = Record.Reference(try Record.ID("p"))
    try database.put("p")
    let first = try database.write { [record] in try $0.save(record) }
    let second = try database.write { try $0.save(first) }
    #expect(second.metadata?.changeTag != first.metadata?.changeTag)
    #expect(second["n"] == 1 && second.encryptedValues["secret"] == "s" && second.parent == record.parent)
    #expect(second.metadata?.creationDate == first.metadata?.creationDate)
  }

  @Test("what was handed out does not change when the database does")
  func values() throws {
    let database = try Database.scratch()
    var mine = try Record.fresh("a", ["n": 1])
    let saved = try database.write { [mine] in try $0.save(mine) }
    mine["n"] = 2
    let read = try #require(try database.record(mine.id))
    try database.put("a", ["n": 3])
    #expect(saved["n"] == 1 && read["n"] == 1 && saved == read)
    #expect(try database.record(mine.id)?["n"] == 3)
  }

  @Test("all kinds of values come back as they were saved, empty lists with their kind")
  func kinds() throws {
    let database = try Database.scratch()
    let target = try Record.ID("b")
    let values: [String: Record.Value] = [
      "string": "مرحبا 👋", "int": .int(.min), "double": .double(-.infinity), "zero": .double(-0.0),
      "bytes": .bytes(Data([0, 255])), "date": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
      "location": .location(Location(latitude: 1.5, longitude: -2, timestamp: .distantPast)),
      "reference": .reference(.init(target, action: .deleteSelf)), "strings": .strings([]), "ints": .ints([]),
      "doubles": .doubles([1, .infinity]), "bytesList": .bytesList([Data()]), "dates": .dates([.distantFuture]),
      "locations": .locations([]), "references": .references([.init(target), .init(target)]),
    ]
    try database.put("b")
    try database.put("a", values)
    let stored = try #require(try database.record(Record.ID("a")))
    #expect(stored.values == values)
    #expect((stored["zero"] as Double?)?.sign == .plus)
    try database.expectClean()
  }
}
