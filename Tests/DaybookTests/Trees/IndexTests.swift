import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Indexes: what is in them through saves, reopening, compaction and copies; defining, building and dropping them.

extension Database {
  func declareIndex(_ key: String, ofType type: String = "Note") throws {
    try write { try $0.declare(Schema(types: [.init(name: type, indexes: [.init(key: key)])])) }
  }

  /// The entries of the only index of a zone, as names in its order.
  func indexedNames(in zone: Zone.ID = .default) throws -> [String] {
    try reading { (view) throws(DatabaseError) -> [String] in
      let trees = try view.existingZone(zone)
      return try view.asDatabaseError { () throws(PageFault) in
        var found: [String] = []
        let key = ByteBuffer(capacity: 256)
        var cursor = view.reader.cursor(in: trees.indexes)
        while try cursor.next() {
          cursor.key(into: key)
          found.append(String(decoding: NameKey.name(of: IndexKey.nameKey(in: key.view) ?? key.view), as: UTF8.self))
        }
        return found
      }
    }
  }

  func indexRoot(of zone: Zone.ID = .default) throws -> TreeRoot {
    try reading { (view) throws(DatabaseError) in try view.existingZone(zone).indexes }
  }
}

@Suite("indexes")
struct IndexTests {
  @Test("entries follow what is saved, changed and deleted, over a replay, a compaction, a backup and a salvage")
  func follows() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    try database.declareIndex("n")
    try database.put("a", ["n": 3])
    try database.put("b", ["n": 1, "x": "text"])
    try database.put("c", ["x": "none"])
    try database.put("d", ["n": .ints([2, 5, 2])])
    try database.put("other", type: "Other", ["n": 0])
    #expect(try database.indexedNames() == ["b", "d", "a", "d", "c"])
    try database.put("a", ["n": 0])
    try database.put("c", ["n": "text"])
    try database.write { try $0.delete(Record.ID("b")) }
    let expected = ["a", "d", "d", "c"]
    #expect(try database.indexedNames() == expected)
    #expect(try database.indexes() == [IndexState(recordType: "Note", key: "n", isComplete: true, entryCount: 4)])
    try database.expectClean()
    database = try Database.open(on: disk.killed())
    #expect(try database.indexedNames() == expected)
    try database.compact()
    #expect(try database.indexedNames() == expected)
    try database.put("e", ["n": 4])
    try database.put("e", ["n": -4])
    try database.expectClean()
    let now = ["e"] + expected
    try database.backup(to: "copy.daybook", disk: disk)
    let copy = try Database.open(at: "copy.daybook", options: .simulated(seed: 3), disk: disk)
    #expect(try copy.indexedNames() == now)
    try copy.expectClean()
    try copy.close()
    try database.close()
  }

  @Test("a salvage has the indexes, complete, whatever was lost")
  func salvage() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for number in 0..<20 { try database.put("r\(number)", ["n": .int(Int64(number % 7))]) }
    try database.createIndex(on: "n", ofType: "Note")
    try database.declareIndex("m")
    try database.dropIndex(on: "m", ofType: "Note")
    for number in 10..<30 { try database.put("r\(number)", ["n": .int(Int64(number % 5))]) }
    try database.close()
    _ = try Database.salvage(from: "test.daybook", to: "saved.daybook", options: .simulated(seed: 2), disk: disk)
    let saved = try Database.open(at: "saved.daybook", options: .simulated(seed: 3), disk: disk)
    #expect(try saved.indexes() == [IndexState(recordType: "Note", key: "n", isComplete: true, entryCount: 30)])
    try saved.expectClean()
    try saved.close()
  }

  @Test("a copy that is made in the middle of a build goes on with it; a salvaged one has all of it")
  func copiesOfUnfinished() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    let zones = [Zone.ID.default, try database.zone("A"), try database.zone("B")]
    for number in 0..<30 { try database.put("r\(number)", in: zones[number % 3], ["n": .int(Int64(number))]) }
    try database.write { transaction in
      _ = try transaction.context.defineIndex(on: "n", ofType: "Note")
      _ = try transaction.context.buildIndex(transaction.context.view.indexes()[0], limit: 14)
    }
    for number in 20..<40 { try database.put("r\(number)", in: zones[number % 3], ["n": .int(Int64(number + 100))]) }
    try database.backup(to: "copy.daybook", disk: disk)
    let dead = disk.afterKill()
    _ = try Database.salvage(from: "test.daybook", to: "saved.daybook", options: .simulated(seed: 2), disk: dead)
    let saved = try Database.open(at: "saved.daybook", options: .simulated(seed: 4), disk: dead)
    #expect(try saved.indexes() == [IndexState(recordType: "Note", key: "n", isComplete: true, entryCount: 40)])
    try saved.expectClean()
    try saved.close()
    let copy = try Database.open(at: "copy.daybook", options: .simulated(seed: 3), disk: disk)
    #expect(try copy.indexes() == database.indexes() && copy.indexes().map(\.isComplete) == [false])
    try copy.expectClean()
    for each in [database, copy] {
      try each.buildIndexes()
      #expect(try each.indexes().map(\.entryCount) == [40])
      try each.expectClean()
      try each.close()
    }
  }

  @Test("an update whose indexed values stay touches no index")
  func untouched() throws {
    // A checkpoint would move the tree.
    let database = try Database.scratch {
      $0.checkpoint.minimumLogByteCount = 64 << 20
      $0.checkpoint.maximumLogByteCount = 64 << 20
    }
    try database.declareIndex("n")
    try database.declareIndex("list")
    for number in 0..<300 { try database.put("r\(number)", ["n": .int(Int64(number)), "list": .strings(["a", "b"])]) }
    let before = try database.indexRoot()
    #expect(before.count == 900)
    for number in 0..<300 { try database.put("r\(number)", ["other": "changed", "n": .double(Double(number))]) }
    #expect(try database.indexRoot() == before)
    try database.expectClean()
  }

  @Test("a database without indexes has cells as before; a zone that goes takes its entries along")
  func cells() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Z")
    func rootCount() throws -> Int {
      try database.reading { (view) throws(DatabaseError) in
        try view.asDatabaseError { () throws(PageFault) in
          try zone.withKeyView { (key) throws(PageFault) in
            try view.reader.catalogValue(key, in: view.root(Roots.catalog))?.rootCount ?? 0
          }
        }
      }
    }
    try database.put("a", in: zone, ["n": 1])
    #expect(try rootCount() == ZoneTree.storedCount)
    try database.createIndex(on: "n", ofType: "Note")
    #expect(try rootCount() == ZoneTree.count)
    try database.expectClean()
    try database.dropIndex(on: "n", ofType: "Note")
    #expect(try rootCount() == ZoneTree.storedCount && database.indexes().isEmpty)
    try database.createIndex(on: "n", ofType: "Note")
    try database.write { try $0.deleteZone(zone) }
    #expect(try database.indexes().map(\.entryCount) == [0])
    try database.zone("Z")
    try database.put("b", in: zone, ["n": 1])
    #expect(try database.indexedNames(in: zone) == ["b"])
    try database.expectClean()
  }

  @Test("an index is built on what is there, in parts between which others write; a kill and a cancel leave what is built")
  func build() throws {
    var disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    let zones = [Zone.ID.default, try database.zone("A"), try database.zone("B")]
    var model: [Record.ID: Int64] = [:]
    var random = SeededGenerator(seed: 9)
    func put() throws {
      let id = try Record.ID("r\(Int.random(in: 0..<60, using: &random))", in: zones.randomElement(using: &random) ?? .default)
      if Int.random(in: 0..<5, using: &random) == 0 {
        try database.write { try $0.delete(id) }
        model[id] = nil
      } else {
        let value = Int64.random(in: 0..<9, using: &random)
        try database.put(id.name, in: id.zone, ["n": .int(value)])
        model[id] = value
      }
    }
    for _ in 0..<200 { try put() }
    #expect(failure { try database.createIndex(on: "n", ofType: "Note") { _, _ in false } }?.code == .operationCancelled)
    #expect(try database.indexes().map(\.isComplete) == [false])
    try database.expectClean()
    var partCount = 0
    while try database.indexes().contains(where: { !$0.isComplete }) {
      partCount += 1
      for _ in 0..<6 { try put() }
      try database.write { transaction in
        _ = try transaction.context.buildIndex(transaction.context.view.indexes()[0], limit: 9)
      }
      try database.expectClean()
      if partCount % 2 == 0 {
        disk = disk.killed()
        database = try Database.open(on: disk)
      }
      if partCount % 5 == 0 { try database.compact() }
    }
    #expect(partCount > 3)
    for zone in zones {
      let expected = model.filter { $0.key.zone == zone }.sorted { ($0.value, $0.key.name) < ($1.value, $1.key.name) }
      #expect(try database.indexedNames(in: zone) == expected.map(\.key.name))
    }
    try database.createIndex(on: "n", ofType: "Note")
    try database.expectClean()
  }

  @Test("an index of words over long texts is built in parts that fit into memory, resumed after a cancel and a kill")
  func longTexts() throws {
    // What 66,000 notes of 600 words are to 512 MB, these are to one.
    var options = Database.Options.simulated(seed: 1)
    options.checkpoint.memoryByteCount = 1 << 20
    options.durability = .relaxed
    var disk = SimulatedDisk(seed: 1)
    var database = try Database.open(at: "test.daybook", options: options, disk: disk)
    let count = 1200
    func words(_ note: Int) -> [String] { (0..<60).map { "w\(($0 * 7919 + note * 104_729) % 5003)" } }
    for first in stride(from: 0, to: count, by: 50) {
      try database.write { transaction in
        for number in first..<first + 50 {
          var note = try Record.fresh("n\(number)")
          note["text"] = words(number).joined(separator: " ")
          try transaction.save(note)
        }
      }
    }
    var parts: [Int] = []
    let stopped = failure {
      try database.setIndex(.searchable, on: "text", ofType: "Note") { done, _ in
        parts.append(done)
        return parts.count < 3
      }
    }
    #expect(stopped?.code == .operationCancelled)
    try #require(parts.count == 3)
    #expect(parts[2] > parts[1] && parts[1] > 0)
    try database.sync()
    disk = disk.afterKill()
    database = try Database.open(at: "test.daybook", options: options, disk: disk)
    #expect(try database.indexes().map(\.isComplete) == [false])
    let before = parts[2]
    parts = []
    try database.buildIndexes { done, _ in
      parts.append(done)
      // The turn of another writer.
      return (try? database.put("other\(parts.count)", ["text": .string("between parts")])) != nil
    }
    #expect(parts.count > 3 && parts.last == count)
    // What was built before the kill was not built again.
    #expect(before > 0 && parts[parts.count - 2] <= count - before, "\(before) \(parts)")
    #expect(try database.indexes().map(\.isComplete) == [true])
    for number in [0, 1, 600, count - 1] {
      let word = words(number)[7]
      let query = Query("Note", where: .field("text").tokens(word))
      #expect(try database.explain(query).access == .index)
      let expected = (0..<count).filter { words($0).contains(word) }
      #expect(try database.count(query) == expected.count && expected.contains(number))
    }
    #expect(try database.count(Query("Note", where: .field("text").tokens("parts"))) == parts.count)
    try database.expectClean()
    // A replay makes the same entries.
    try database.sync()
    let again = try Database.open(at: "test.daybook", options: options, disk: disk.afterKill())
    #expect(try again.indexes() == database.indexes())
    try again.expectClean()
    try again.close()
    try database.close()
  }

  @Test("an index is not built without a record that cannot be read: the call says so, and queries do without")
  func unreadable() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for number in 0..<40 { try database.put("r\(number)", ["n": .int(Int64(number))]) }
    let place = try database.reading { (view) throws(DatabaseError) in
      try view.entry("r7", in: try view.existingZone(.default))?.place
    }
    let offset = try Int(#require(place).offset) + Int(#require(place).byteCount) - 1
    try database.close()
    #expect(disk.corrupt("test.daybook", at: offset))
    let reopened = try Database.open(on: disk)
    #expect(failure { try reopened.setIndex(.queryable, on: "n", ofType: "Note") }?.code == .corrupted)
    #expect(try reopened.indexes().map(\.isComplete) == [false] && reopened.indexes().map(\.entryCount) == [0])
    #expect(failure { try reopened.records(Query("Note", where: .field("n") == 7)) }?.code == .corrupted)
    try reopened.put("r9", ["n": 100])
    #expect(try reopened.indexedNames() == ["r9"])
  }

  @Test("a record that rotted before a replay builds its index again is not hidden by the index")
  func unreadableInReplay() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    for number in 0..<40 { try database.put("r\(number)", ["n": .int(Int64(number))]) }
    let place = try database.reading { (view) throws(DatabaseError) in
      try view.entry("r7", in: try view.existingZone(.default))?.place
    }
    let offset = try Int(#require(place).offset) + Int(#require(place).byteCount) - 1
    try database.close()
    database = try Database.open(on: disk)
    try database.setIndex(.queryable, on: "n", ofType: "Note")
    #expect(try database.records(Query("Note", where: .field("n") == 7)).count == 1)
    let later = disk.killed()
    #expect(later.corrupt("test.daybook", at: offset))
    var again = try Database.open(on: later)
    for _ in 0..<2 {
      #expect(try again.indexes().map(\.isComplete) == [false])
      #expect(failure { try again.records(Query("Note", where: .field("n") == 7)) }?.code == .corrupted)
      try again.close()
      again = try Database.open(on: later)
    }
    // It goes, and is not made again while the record cannot be read.
    try again.setIndex([], on: "n", ofType: "Note")
    #expect(failure { try again.setIndex(.queryable, on: "n", ofType: "Note") }?.code == .corrupted)
  }

  @Test("an index is set by its kinds, and taken away by none")
  func kinds() throws {
    let database = try Database.scratch()
    for number in 0..<40 { try database.put("r\(number)", ["n": .int(Int64(number))]) }
    try database.setIndex([.queryable, .sortable], on: "n", ofType: "Note")
    #expect(try database.explain(Query("Note", where: .field("n") == 7)).index == "n")
    try database.setIndex([.searchable, .location], on: "n", ofType: "Note")
    #expect(try database.indexes().map(\.kind) == [.value, .location, .text])
    #expect(try database.indexes().map(\.entryCount) == [40, 0, 0])
    #expect(try database.dropIndex(on: "n", ofType: "Note", kinds: [.location]))
    #expect(try !database.dropIndex(on: "n", ofType: "Note", kinds: [.location]))
    #expect(try database.indexes().map(\.kind) == [.value, .text])
    let unknown = IndexKinds(rawValue: 1 << 20)
    #expect(failure { try database.setIndex(unknown, on: "n", ofType: "Note") }?.code == .invalidArguments)
    try database.setIndex([], on: "n", ofType: "Note")
    #expect(try database.indexes().isEmpty && database.indexRoot().count == 0)
    try database.expectClean()
  }

  @Test(
    "entries of places and of words follow what is saved, over builds, kills, compactions and copies",
    arguments: [IndexKind.location, .text])
  func otherKinds(kind: IndexKind) throws {
    func value(_ number: Int) -> Record.Value {
      kind == .text
        ? .string("Word\(number) and the others") : .location(Location(latitude: Double(number), longitude: 179.9))
    }
    func query(_ number: Int) -> Query {
      kind == .text
        ? Query("Note", where: .field("n").tokens("wörd\(number)"))
        : Query("Note", where: .field("n").near(Location(latitude: Double(number), longitude: -179.9), within: 40))
    }
    var random = SeededGenerator(seed: 12)
    var model: [String: Int] = [:]
    func put(_ database: Database) throws {
      let (name, number) = ("r\(Int.random(in: 0..<40, using: &random))", Int.random(in: 0..<9, using: &random))
      if number == 8 {
        try database.write { try $0.delete(Record.ID(name)) }
        model[name] = nil
      } else {
        try database.put(name, ["n": value(number)])
        model[name] = number
      }
    }
    func check(_ database: Database) throws {
      for number in 0..<8 {
        #expect(try database.explain(query(number)).indexKind == kind)
        #expect(
          try Set(database.records(query(number)).map(\.id.name)) == Set(model.filter { $0.value == number }.map(\.key)))
      }
      try database.expectClean()
    }
    var disk = SimulatedDisk(seed: 1)
    func open() throws -> Database { try Database.open(on: disk) { $0.prefersIndexes = true } }
    var database = try open()
    for _ in 0..<80 { try put(database) }
    try database.write { _ = try $0.context.defineIndex(on: "n", ofType: "Note", kind: kind) }
    while try database.indexes().contains(where: { !$0.isComplete }) {
      try put(database)
      try database.write { _ = try $0.context.buildIndex($0.context.view.indexes()[0], limit: 7) }
      try database.expectClean()
      disk = disk.killed()
      database = try open()
    }
    try check(database)
    for _ in 0..<40 { try put(database) }
    disk = disk.killed()
    database = try open()
    try check(database)
    try database.compact()
    for _ in 0..<40 { try put(database) }
    try check(database)
    try database.backup(to: "copy.daybook", disk: disk)
    try database.close()
    var options = Database.Options.simulated(seed: 4)
    options.prefersIndexes = true
    _ = try Database.salvage(from: "test.daybook", to: "saved.daybook", options: options, disk: disk)
    for name in ["copy.daybook", "saved.daybook"] {
      let copy = try Database.open(at: name, options: options, disk: disk)
      #expect(try copy.indexes().map(\.kind) == [kind] && copy.indexes().map(\.isComplete) == [true])
      try check(copy)
      try copy.close()
    }
  }

  @Test("definitions have the bytes that files have")
  func definitionBytes() {
    let buffer = ByteBuffer()
    for (kind, byte) in [(IndexKind.value, 1), (.location, 2), (.text, 3)] as [(IndexKind, UInt8)] {
      buffer.truncate(to: 0)
      var definition = IndexDefinition(
        number: 7, kind: kind, type: Array("T".utf8), key: Array("key".utf8), isComplete: false, sinceSequence: 5,
        sinceOrdinal: 6)
      definition.zoneKey = [65, 0]
      definition.sequence = 3
      definition.ordinal = 4
      definition.append(to: buffer)
      #expect(
        buffer.view.array
          == [
            7, 0, byte, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 84, 3, 107, 101, 121,
            65, 0,
          ])
      #expect(IndexDefinition(buffer.view) == definition && definition.kind == kind)
    }
  }

  @Test(
    "an index of a kind, or of tables, that a later version has is passed over by all but those who are to keep it",
    arguments: [(9, 1), (1, 2), (3, 2)] as [(UInt8, UInt8)])
  func laterKinds(kind: UInt8, version: UInt8) throws {
    var disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    for number in 0..<30 { try database.put("r\(number)", ["n": .int(Int64(number))]) }
    try database.write { transaction in
      let context = transaction.context
      let bytes = ByteBuffer()
      IndexDefinition(
        number: 5, kind: .value, type: Array("Note".utf8), key: [110], isComplete: true, sinceSequence: 0, sinceOrdinal: 0
      ).append(to: bytes)
      var definition = bytes.view.array
      definition[2] = kind
      definition[3] = version
      try context.start()
      let operation = context.changes.beginOperation()
      context.changes.payload.append(definition)
      try context.endOperation(operation, .defineIndex)
    }
    let query = Query("Note", where: .field("n") == 7)
    for _ in 0..<2 {
      #expect(try database.indexes().isEmpty && database.schema()["Note"]?.indexes == [])
      #expect(try database.explain(query).access == .scan && database.records(query).count == 1)
      try database.buildIndexes()
      try database.put("r7", ["n": 7])
      try database.expectClean()
      disk = disk.killed()
      database = try Database.open(on: disk)
    }
    // Beside one of a known kind; and it can go.
    if kind != 1 {
      try database.createIndex(on: "n", ofType: "Note")
      #expect(try database.explain(query).access == .index && database.records(query).count == 1)
    }
    try database.compact()
    try database.expectClean()
    #expect(try database.dropIndex(on: "n", ofType: "Note"))
    #expect(try database.reading { (view) throws(DatabaseError) in try view.indexes().count } == 0)
  }

  @Test("what is rolled back is forgotten: an index that was defined, and one that was dropped")
  func rollback() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1])
    struct Stop: Error {}
    for isWhole in [true, false] {
      try? database.write { transaction in
        do {
          try transaction.savepoint {
            try transaction.declare(Schema(types: [.init(name: "Movie", indexes: [.init(key: "n")])]))
            try transaction.save(.fresh("m", type: "Movie", ["n": 1]))
            throw Stop()
          }
        } catch { if isWhole { throw error } }
        try transaction.save(.fresh("m", type: "Movie", ["n": 2]))
      }
      try database.expectClean()
      #expect(try database.indexes().isEmpty && database.indexedNames().isEmpty)
    }
    try database.createIndex(on: "n", ofType: "Movie")
    #expect(try database.indexedNames() == ["m"])
    try? database.write { transaction in
      _ = try transaction.context.dropIndex(on: "n", ofType: "Movie")
      try transaction.save(.fresh("m2", type: "Movie", ["n": 2]))
      throw Stop()
    }
    try database.put("m3", type: "Movie", ["n": 0])
    #expect(try database.indexedNames() == ["m3", "m"])
    try database.expectClean()
  }

  @Test("a schema takes its indexes along as JSON; one without says nothing of them")
  func json() throws {
    let database = try Database.scratch()
    let indexed = Schema.RecordType(
      name: "A", fields: [.init(key: "x", kinds: [.int])], indexes: [.init(key: "x"), .init(key: "x", kind: .text)])
    try database.write { try $0.declare(Schema(types: [indexed, .init(name: "B")])) }
    let schema = try database.schema()
    #expect(schema["A"]?.indexes == [.init(key: "x"), .init(key: "x", kind: .text)] && schema["B"]?.indexes == [])
    let data = try JSONEncoder().encode(schema)
    let other = try Database.scratch()
    try other.write { try $0.declare(JSONDecoder().decode(Schema.self, from: data)) }
    #expect(try other.schema() == schema && other.indexes().map(\.isComplete) == [true, true])
    #expect(String(decoding: data, as: UTF8.self).contains(#""indexes":[{"key":"x"},{""#))
    let plain = try JSONEncoder().encode(Schema(types: [.init(name: "B")]))
    #expect(!String(decoding: plain, as: UTF8.self).contains("indexes"))
  }

  @Test("a schema that a database has learned is one that another takes: a key with an index does not become encrypted")
  func encryptedLater() throws {
    let database = try Database.scratch()
    try database.put("n", ["x": 1])
    try database.createIndex(on: "secret", ofType: "Note")
    try database.createIndex(on: "x", ofType: "Note")
    func save() throws {
      var record = try Record.fresh("s")
      record.encryptedValues["secret"] = "x"
      try database.save(record)
    }
    let error = failure { try save() }
    #expect(error?.code == .invalidArguments && error?.facts.key == "secret")
    func take() throws -> Schema {
      let other = try Database.scratch(seed: 7)
      let schema = try database.schema()
      try other.write { try $0.declare(schema) }
      #expect(try other.schema() == schema)
      return schema
    }
    #expect(try take()["Note"]?.indexes == [.init(key: "secret"), .init(key: "x")])
    try database.dropIndex(on: "secret", ofType: "Note")
    try save()
    #expect(failure { try database.createIndex(on: "secret", ofType: "Note") }?.code == .invalidArguments)
    // A file from when the order of these made a difference.
    try database.write { transaction in
      let context = transaction.context
      try context.start()
      let operation = context.changes.beginOperation()
      IndexDefinition(
        number: 9, kind: .value, type: Array("Note".utf8), key: Array("secret".utf8), isComplete: true,
        sinceSequence: context.changes.sequence, sinceOrdinal: context.changes.ordinal
      ).append(to: context.changes.payload)
      try context.endOperation(operation, .defineIndex)
    }
    #expect(try database.indexes().map(\.key) == ["secret", "x"])
    #expect(try take()["Note"]?.indexes == [.init(key: "x")])
    var again = try #require(try database.record(Record.ID("s")))
    again.encryptedValues["secret"] = "y"
    again["more"] = 1
    try database.save(again)
  }

  @Test("an index is built once, not again at each open")
  func builtOnce() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    try database.write { transaction in
      for number in 0..<2000 {
        var record = try Record.fresh("r\(number)")
        record["n"] = number
        try transaction.save(record)
      }
    }
    try database.setIndex([.sortable], on: "n", ofType: "Note")
    try database.close()
    database = try Database.open(on: disk)
    #expect(database.lastRecovery.replayedCommitCount == 0)
    #expect(try database.indexes().map(\.entryCount) == [2000])
    try database.put("one more", ["n": 1])
    try database.close()
    database = try Database.open(on: disk)
    #expect(database.lastRecovery.replayedCommitCount == 1)
    try database.expectClean()
  }

  @Test("what cannot be indexed is refused: encrypted values, names that are none, a thirty-third of a type")
  func refused() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      var record = try Record.fresh("s")
      record.encryptedValues["secret"] = "x"
      try transaction.save(record)
    }
    #expect(failure { try database.createIndex(on: "secret", ofType: "Note") }?.code == .invalidArguments)
    #expect(failure { try database.createIndex(on: "recordName", ofType: "Note") }?.code == .invalidArguments)
    #expect(failure { try database.createIndex(on: "n", ofType: "") }?.code == .invalidArguments)
    for number in 0..<32 { try database.createIndex(on: "k\(number)", ofType: "Note") }
    #expect(failure { try database.createIndex(on: "more", ofType: "Note") }?.code == .limitExceeded)
    try database.expectClean()
  }

  @Test("an index that another process has dropped, or begun to build, is made by who asks for it, whatever was seen before")
  func droppedByAnother() throws {
    let disk = SimulatedDisk(seed: 4)
    let mine = try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction }
    let other = try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
    for number in 0..<20 { try mine.put("r\(number)", ["n": .int(Int64(number))]) }
    try mine.setIndex(.queryable, on: "n", ofType: "Note")
    for isBegun in [false, true] {
      for builds in [false, true] where isBegun || !builds {
        try other.setIndex([], on: "n", ofType: "Note")
        if isBegun {
          let cut = failure { try other.setIndex(.queryable, on: "n", ofType: "Note") { _, _ in false } }
          #expect(cut?.code == .operationCancelled)
        }
        if builds { try mine.buildIndexes() } else { try mine.setIndex(.queryable, on: "n", ofType: "Note") }
        try other.refresh()
        for database in [mine, other] {
          #expect(try database.indexes().map(\.isComplete) == [true] && database.indexes().map(\.entryCount) == [20])
        }
      }
    }
    try mine.close()
    try other.close()
  }

  @Test("an index that is dropped while it is built does not seem to be there", arguments: [false, true])
  func droppedMeanwhile(hasAnother: Bool) throws {
    let database = try Database.scratch()
    for number in 0..<20 { try database.put("r\(number)", ["n": .int(Int64(number)), "m": 1]) }
    var hasDropped = false
    let error = failure {
      try database.setIndex(.queryable, on: "n", ofType: "Note") { _, _ in
        if hasDropped { return true }
        hasDropped = true
        try? database.setIndex([], on: "n", ofType: "Note")
        // It gets the number of the one that was dropped.
        if hasAnother { try? database.setIndex(.queryable, on: "m", ofType: "Note") }
        return true
      }
    }
    #expect(error?.code == .operationCancelled && error?.facts.key == "n")
    #expect(try database.indexes().map(\.key) == (hasAnother ? ["m"] : []))
    try database.expectClean()
  }
}
