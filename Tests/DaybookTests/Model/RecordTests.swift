import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("records: edits, merging, metadata")
struct RecordTests {
  private func movie() throws -> Record {
    var record = try Record(type: "Movie", id: Record.ID("dune"))
    record["title"] = "Dune"
    record["year"] = 2021
    return record
  }

  @Test("changes and removals are remembered until saved")
  func changes() throws {
    var record = try movie()
    #expect(record.changedKeys == ["title", "year"] && record.metadata == nil)
    record = try record.stored()
    #expect(record.changedKeys.isEmpty && record.metadata?.changeTag == "1")
    record["year"] = nil
    record["new"] = 1
    #expect(record.changedKeys == ["year", "new"])
    #expect(record.removedKeys == ["year"])
    #expect(record.keys == ["new", "title"])
    #expect(record["year"] == nil)
  }

  @Test("a copy is a value of its own")
  func valueSemantics() throws {
    let first = try movie().stored()
    var second = first
    second["title"] = "Other"
    #expect(first["title"] == "Dune" && second["title"] == "Other")
    #expect(first != second)
    second["title"] = "Dune"
    #expect(first == second, "equality is about what a record holds")
  }

  @Test("changed keys are merged into what the server has")
  func mergeChanged() throws {
    let base = try movie().stored()
    var server = base
    server["director"] = "Villeneuve"
    server["year"] = 2022
    server = try server.stored(tag: 2, date: 2000, onto: base)
    var client = base
    client["title"] = "Dune 2"
    client["year"] = nil
    let merged = try client.stored(tag: 3, date: 3000, onto: server)
    #expect(merged["title"] == "Dune 2" && merged["year"] == nil && merged["director"] == "Villeneuve")
    #expect(merged.metadata?.creationDate == Date(timeIntervalSinceReferenceDate: 1000))
    #expect(merged.metadata?.modificationDate == Date(timeIntervalSinceReferenceDate: 3000))
    #expect(merged.metadata?.creatorUserID == "me")
  }

  @Test("all keys overwrite, and keys that only the server has stay")
  func mergeAll() throws {
    let base = try movie().stored()
    var server = base
    server["director"] = "Villeneuve"
    server["year"] = 1984
    server["title"] = nil
    server = try server.stored(tag: 2, onto: base)
    var client = base
    client["note"] = "x"
    let merged = try client.stored(tag: 3, onto: server, .allKeys)
    #expect(merged["title"] == "Dune" && merged["year"] == 2021)
    #expect(merged["director"] == "Villeneuve" && merged["note"] == "x")
    let changedOnly = try client.stored(tag: 3, onto: server, .changedKeys)
    #expect(changedOnly["title"] == nil && changedOnly["year"] == 1984 && changedOnly["note"] == "x")
  }

  @Test("merging agrees with dictionaries, step by step", arguments: [UInt64(11), 12, 13, 14])
  func mergeModel(_ seed: UInt64) throws {
    var state = seed
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    func edit(_ record: inout Record, _ model: inout [String: Int]) -> [String: Int?] {
      var changes: [String: Int?] = [:]
      for _ in 0..<random(6) {
        let key = "k\(random(12))"
        let value: Int? = random(3) == 0 ? nil : random(1000)
        record[key] = value
        model[key] = value
        changes[key] = .some(value)
      }
      return changes
    }
    func dictionary(_ record: Record) -> [String: Int] {
      Dictionary(uniqueKeysWithValues: record.keys.map { ($0, record[$0] ?? -1) })
    }
    var server = try Record(type: "T").stored()
    var serverModel: [String: Int] = [:]
    for step in 1..<300 {
      var client = server
      var clientModel = serverModel
      _ = edit(&server, &serverModel)
      server = try server.stored(tag: UInt64(2 * step), onto: client)
      let changes = edit(&client, &clientModel)
      #expect(dictionary(client) == clientModel)
      let sendsAll = random(2) == 0
      var expected = serverModel
      if sendsAll { expected.merge(clientModel) { $1 } }
      for (key, value) in changes { expected[key] = value }
      server = try client.stored(tag: UInt64(2 * step + 1), onto: server, sendsAll ? .allKeys : .changedKeys)
      serverModel = expected
      #expect(dictionary(server) == expected)
      #expect(throws: Never.self) { try server.body.withBytes { view in Result { try RecordBody(copying: view) } }.get() }
    }
  }

  @Test("rebase keeps the own changes and takes everything else")
  func rebase() throws {
    let base = try movie().stored()
    var server = base
    server["year"] = 2022
    server["director"] = "Villeneuve"
    server = try server.stored(tag: 7, onto: base)
    var client = base
    client["title"] = nil
    client["note"] = "x"
    client.rebase(onto: server)
    #expect(client.metadata?.changeTag == "7")
    #expect(client["year"] == 2022 && client["director"] == "Villeneuve")
    #expect(client.changedKeys == ["title", "note"] && client["title"] == nil && client["note"] == "x")
    try client.validateForSave()
    client.rebase(onto: try Record(type: "Movie"))
    #expect(throws: DatabaseError.self) { try client.validateForSave() }
  }

  @Test("a key is encrypted or plain, never both")
  func encrypted() throws {
    var record = try movie()
    record.encryptedValues["secret"] = "x"
    #expect(record["secret"] == nil && record.keys == ["title", "year"])
    #expect(record.encryptedValues.keys == ["secret"] && record.encryptedValues.changedKeys == ["secret"])
    #expect(throws: DatabaseError.self) { try record.set(1, forKey: "secret") }
    record = try record.stored()
    #expect(record.encryptedValues["secret"] == "x" && record["secret"] == nil)
    #expect(throws: DatabaseError.self) { try record.encryptedValues.set(1, forKey: "title") }
    #expect(throws: DatabaseError.self) { try record.encryptedValues.set(.asset(Asset(data: Data())), forKey: "a") }
    record["secret"] = nil
    #expect(record.encryptedValues["secret"] == "x")
    record.encryptedValues["title"] = 1
    #expect(throws: DatabaseError.self) { try record.validateForSave() }
    record.encryptedValues["title"] = nil
    record.encryptedValues["secret"] = nil
    let saved = try record.stored(tag: 2, onto: record)
    #expect(saved.encryptedValues.keys.isEmpty && saved["title"] == "Dune")
  }

  @Test("encrypted values of one record can be given to another")
  func copiedFields() throws {
    var first = try movie()
    first.encryptedValues["a"] = 1
    var second = try Record(type: "Movie")
    second.encryptedValues["b"] = 2
    second["plain"] = 3
    second.encryptedValues = first.encryptedValues
    #expect(second.encryptedValues.keys == ["a"] && second.keys == ["plain"])
  }

  @Test("a parent is in the same zone, without an action")
  func parents() throws {
    let zone = try Zone.ID("Library")
    var record = try Record(type: "Movie", id: Record.ID("a", in: zone))
    let parent = Record.Reference(try Record.ID("p", in: zone))
    record.parent = parent
    #expect(record.parent == parent && record.changedKeys.isEmpty && record.hasChanges)
    let stored = try record.stored()
    #expect(stored.parent == parent)
    record = stored
    record.parent = nil
    #expect(record.parent == nil)
    #expect(try record.stored(tag: 2, onto: stored).parent == nil)
    record.parent = Record.Reference(try Record.ID("p"))
    #expect(throws: DatabaseError.self) { try record.validateForSave() }
    record.parent = Record.Reference(parent.id, action: .deleteSelf)
    #expect(throws: DatabaseError.self) { try record.validateForSave() }
    record.parent = parent
    try record.validateForSave()
    record["r"] = Record.Reference(try Record.ID("elsewhere"))
    #expect(throws: DatabaseError.self) { try record.validateForSave() }
  }

  @Test("system fields carry identity and metadata only")
  func systemFields() throws {
    let zone = try Zone.ID("Zoë 👍")
    var record = try Record(type: "Movie", id: Record.ID("dune", in: zone))
    record["title"] = "Dune"
    record.parent = Record.Reference(try Record.ID("p", in: zone))
    for original in [record, try record.stored(tag: 12345)] {
      let data = original.systemFields
      let restored = try Record(systemFields: data)
      #expect(restored.id == original.id && restored.type == "Movie" && restored.metadata == original.metadata)
      #expect(restored.keys.isEmpty && restored.changedKeys.isEmpty)
      #expect(restored.parent == (original.metadata == nil ? nil : original.parent))
      #expect(restored.systemFields == data)
      for index in 0..<data.count {
        var flipped = data
        flipped[index] ^= 0x10
        let error = #expect(throws: DatabaseError.self) { _ = try Record(systemFields: flipped) }
        #expect(error?.code == .invalidArguments)
        #expect(throws: DatabaseError.self) { _ = try Record(systemFields: data.prefix(index)) }
      }
    }
  }

  @Test("a server's record has metadata and no changes")
  func serverRecord() throws {
    let metadata = Record.Metadata(
      changeTag: "not base 36!", creationDate: .distantPast, creatorUserID: "a", modificationDate: .distantFuture,
      lastModifiedUserID: nil, modifiedByDevice: nil)
    let record = try Record(
      type: "Users", id: Record.ID("u"), metadata: metadata, values: ["a": 1], encryptedValues: ["b": "x"])
    #expect(record.metadata == metadata && record.changedKeys.isEmpty)
    #expect(record["a"] == 1 && record.encryptedValues["b"] == "x")
  }

  @Test("desired keys leave the rest away")
  func desiredKeys() throws {
    let body = try movie().stored().body
    #expect(Record(body: body, desiredKeys: []).keys.isEmpty)
    let some = Record(body: body, desiredKeys: ["year", "nope"])
    #expect(some.keys == ["year"] && some["year"] == 2021 && some.metadata?.changeTag == "1")
  }

  @Test("equal records hash alike; another tag, type or name is another record")
  func equality() throws {
    let first = try movie().stored()
    let again = try movie().stored()
    #expect(first == again && first.hashValue == again.hashValue)
    #expect(first != (try movie()))
    #expect(first != (try movie().stored(tag: 2)))
    var number = try movie()
    number["year"] = 2021.0
    #expect(try number.stored() == first, "numbers compare by value")
  }

  @Test("tokens are the words of all texts")
  func tokens() throws {
    var record = try movie()
    record["title"] = " Dune  Part\tTwo\n"
    record["cast"] = ["Timothée C", "زندايا"]
    #expect(record.allTokens() == ["Timothée", "C", "زندايا", "Dune", "Part", "Two"])
  }

  @Test("change tags are numbers inside and short texts outside")
  func tags() {
    for number in [1, 35, 36, UInt64.max - 1] {
      #expect(ChangeTag.number(ChangeTag.text(number)) == number)
      #expect(ChangeTag.text(number).utf8.count <= 13)
    }
    for text in ["", "0", "01", "A", "+1", "é", "zzzzzzzzzzzzzzzz"] { #expect(ChangeTag.number(text) == nil) }
  }
}

@Suite("change tokens and errors")
struct ChangeTokenTests {
  private func samples() throws -> [ChangeToken] {
    let id = UUID()
    return [
      ChangeToken(.init(databaseID: id, lineage: .max, state: 7, sequence: 7, ordinal: 3)),
      ChangeToken(.init(databaseID: id, lineage: 1, state: 7, sequence: 7, zone: .default, zoneEpoch: 9)),
      ChangeToken(
        .init(databaseID: id, lineage: 1, state: 7, sequence: .max, zone: try Zone.ID("é👍", owner: "x"), zoneEpoch: 9)),
      ChangeToken(wrapping: Data("AQAAAWZ".utf8)), ChangeToken(wrapping: Data()),
    ]
  }

  @Test("a token survives its bytes and an archive")
  func roundTrip() throws {
    let tokens = try samples()
    #expect(Set(tokens).count == tokens.count)
    for token in tokens {
      #expect(try ChangeToken(data: token.data) == token)
      #expect(try JSONDecoder().decode(ChangeToken.self, from: JSONEncoder().encode(token)) == token)
      #expect(try ChangeToken(data: token.data).parts == token.parts)
    }
  }

  @Test("bytes that are no token are refused")
  func malformed() throws {
    for token in try samples() {
      let data = token.data
      for index in 0..<data.count {
        var flipped = data
        flipped[index] ^= 0x01
        let error = #expect(throws: DatabaseError.self) { _ = try ChangeToken(data: flipped) }
        #expect(error?.code == .invalidArguments)
        #expect(throws: DatabaseError.self) { _ = try ChangeToken(data: data.prefix(index)) }
      }
      #expect(throws: DatabaseError.self) { _ = try ChangeToken(data: data + [0]) }
    }
  }

  @Test("an error is one pointer wide and tells its facts")
  func errors() {
    #expect(MemoryLayout<DatabaseError>.size == MemoryLayout<Int>.size)
    #expect(DatabaseError.Code.serverRecordChanged.rawValue == 14)
    #expect(DatabaseError.Code.participantAlreadyInvited.rawValue == 37)
    #expect(DatabaseError.Code.allCases.prefix(37).map(\.rawValue) == Array(1...37))
    let error = DatabaseError(.corrupted, facts: .init(path: "a.daybook", offset: 4096), cause: BodyFault.truncated)
    #expect("\(error)" == "corrupted: The file is damaged. (path: a.daybook, offset: 4096) Cause: truncated")
    var looked = ""
    dump(error, to: &looked)
    #expect(looked.contains("path: a.daybook") && looked.contains("corrupted"))
  }
}
