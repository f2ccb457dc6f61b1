import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

/// What a database knows of its record types: learned with each save, listed, given to others, held to where it is locked.
@Suite("schema")
struct SchemaTests {
  /// One value of each kind.
  private static func value(_ kind: FieldKind) throws -> Record.Value {
    let target = Record.Reference(try Record.ID("x"))
    return switch kind {
    case .string: .string("a")
    case .int: .int(1)
    case .double: .double(1.5)
    case .bytes: .bytes(Data([1]))
    case .date: .date(Date(timeIntervalSinceReferenceDate: 1))
    case .location: .location(Location(latitude: 1, longitude: 2))
    case .asset: .asset(Asset(data: Data([1])))
    case .reference: .reference(target)
    case .strings: .strings(["a"])
    case .ints: .ints([1])
    case .doubles: .doubles([1])
    case .bytesList: .bytesList([Data()])
    case .dates: .dates([Date(timeIntervalSinceReferenceDate: 1)])
    case .locations: .locations([Location(latitude: 1, longitude: 2)])
    case .assets: .assets([Asset(data: Data([1]))])
    case .references: .references([target])
    }
  }

  @Test(
    "a field is known with its first save, with each kind that it has had, and stays when its records go",
    arguments: FieldKind.allCases)
  func learning(kind: FieldKind) throws {
    let database = try Database.scratch()
    #expect(try database.schema() == Schema())
    try database.put("empty", type: "Bare")
    #expect(try database.schema() == Schema(types: [.init(name: "Bare")]))
    try database.put("a", ["k": Self.value(kind)])
    let expected = Schema.Kind(rawValue: kind.name)
    #expect(try database.schema()["Note"]?["k"]?.kinds == [try #require(expected)])
    let other: FieldKind = kind == .string ? .ints : .string
    try database.put("b", ["k": Self.value(other)])
    let kinds = try #require(try database.schema()["Note"]?["k"]?.kinds)
    #expect(Set(kinds.map(\.rawValue)) == [kind.name, other.name])
    try database.write { transaction in
      for name in ["a", "b", "empty"] { try transaction.delete(Record.ID(name)) }
    }
    #expect(try database.schema().types.map(\.name) == ["Bare", "Note"])
    try database.expectClean()
  }

  @Test("a shape is learned once: nothing more is written for it, in this open or the next")
  func once() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    func declarationCount() throws -> Int {
      var count = 0
      let pin = try database.store.beginRead()
      defer { database.store.endRead(pin) }
      try database.store.forEachCommit(through: pin) { _ in
      } _: { (commit) throws(StoreError) in
        for index in 0..<commit.count where try commit.operation(index).kind == OperationKind.declareFields.rawValue {
          count += 1
        }
      }
      return count
    }
    try database.put("a", ["x": 1, "y": "one"])
    #expect(try declarationCount() == 1)
    for number in 0..<20 as Range<Int64> { try database.put("r\(number)", ["x": .int(number), "y": "more"]) }
    try database.put("b", ["y": "a subset"])
    #expect(try declarationCount() == 1)
    try database.close()
    database = try Database.open(on: disk)
    try database.put("c", ["x": 3, "y": "again"])
    #expect(try declarationCount() == 1)
    try database.put("d", ["x": "another kind", "y": "again"])
    #expect(try declarationCount() == 2)
    // A merge brings the server's fields along; they are known.
    try database.put("a", ["z": 1])
    #expect(try declarationCount() == 3)
    #expect(try database.schema()["Note"]?.fields.map(\.key) == ["x", "y", "z"])
    try database.expectClean()
  }

  @Test("what a transaction learned goes back with it, and is learned again")
  func goingBack() throws {
    let database = try Database.scratch()
    try? database.write { transaction in
      try transaction.save(.fresh("a", ["x": 1]))
      #expect(try transaction.schema()["Note"] != nil)
      throw Intended()
    }
    #expect(try database.schema() == Schema())
    try database.write { transaction in
      try? transaction.savepoint {
        try transaction.save(.fresh("a", ["x": 1]))
        throw Intended()
      }
      try transaction.save(.fresh("b", ["x": 1]))
    }
    #expect(try database.schema()["Note"]?["x"]?.kinds == [.int])
    try database.expectClean()
    // The third way: the references are at fault.
    let error = failure {
      try database.write { try $0.save(ReferenceTests.pointing("c", in: .default, [("to", "missing", .validate)])) }
    }
    #expect(error?.code == .referenceViolation)
    #expect(try database.schema()["Note"]?["to"] == nil)
    try database.put("missing")
    try database.write { try $0.save(ReferenceTests.pointing("c", in: .default, [("to", "missing", .validate)])) }
    #expect(try database.schema()["Note"]?["to"]?.kinds == [.reference])
    try database.expectClean()
    try database.write { try $0.delete(Record.ID("c")) }
    let result = try database.modify(saving: [.fresh("d", type: "New", ["q": 1]), .fresh("b", ["w": 1])], atomically: false)
    #expect(result.errors.count == 1)
    try database.expectClean()
  }

  @Test("the schema lives through closing, crashes, rebuilding, backup and salvage")
  func copies() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a.daybook")
    let zone = try Zone.ID("Library")
    var database = try Database.open(at: path)
    try database.write { transaction in
      try transaction.save(Zone(zone))
      try transaction.save(.fresh("a", in: zone, ["x": 1, "gone": "later"]))
    }
    try database.write { transaction in
      var record = try #require(try transaction.record(Record.ID("a", in: zone)))
      record["gone"] = nil
      try record.encryptedValues.set(.string("secret"), forKey: "pin")
      try transaction.save(record)
    }
    let schema = try database.schema()
    #expect(schema["Note"]?.fields.map(\.key) == ["gone", "pin", "x"] && schema["Note"]?["pin"]?.isEncrypted == true)
    try database.backup(to: folder.file("b.daybook"))
    try database.close()
    #expect(try Database.rebuild(at: path).isClean)
    try Database.salvage(from: path, to: folder.file("c.daybook"))
    for name in ["a", "b", "c"] {
      database = try Database.open(at: folder.file("\(name).daybook"))
      #expect(try database.schema() == schema, "\(name)")
      try database.expectClean()
      try database.close()
    }
  }

  @Test("a salvage knows the fields of its records also where the commit that declared them is lost")
  func salvageWithoutDeclaration() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a.daybook")
    var options = Database.Options()
    options.closeCheckpointByteCount = .max
    let database = try Database.open(at: path, options: options)
    try database.put("first", ["x": 1, "y": .strings([])])
    try database.put("second", ["x": 2, "y": .strings(["b"])])
    try database.put("third", ["x": 3, "y": .strings([])])
    try database.close()
    var bytes = try [UInt8](Data(contentsOf: URL(filePath: path)))
    // Inside the payload of the first commit.
    bytes[4096 + 96 + 30] ^= 0xFF
    try Data(bytes).write(to: URL(filePath: path))
    let report = try Database.salvage(from: path, to: folder.file("b.daybook"))
    #expect(!report.isComplete && report.recordCount >= 2)
    let salvaged = try Database.open(at: folder.file("b.daybook"))
    #expect(try salvaged.schema()["Note"]?.fields.map(\.key) == ["x", "y"])
    try salvaged.expectClean()
  }

  @Test("a schema goes to another database as JSON, which then holds its records to it")
  func export() throws {
    let source = try Database.scratch()
    try source.put("a", type: "Movie", ["title": "Dune", "year": 2021, "cast": .strings([])])
    try source.put("b", type: "Movie", ["year": 1.5])
    try source.write { transaction in
      var note = try Record.fresh("n", type: "Diary")
      try note.encryptedValues.set(.string("dear"), forKey: "text")
      try transaction.save(note)
    }
    let schema = try source.schema()
    let json = try JSONEncoder().encode(schema)
    let decoded = try JSONDecoder().decode(Schema.self, from: json)
    #expect(decoded == schema)

    let target = try Database.scratch { $0.schema = .locked }
    try target.write { try $0.declare(decoded) }
    #expect(try target.schema() == schema)
    let sequence = try target.snapshot().sequence
    try target.write { try $0.declare(decoded) }
    #expect(try target.snapshot().sequence == sequence, "nothing new, no commit")
    try target.put("a", type: "Movie", ["title": "Dune", "year": 2])
    try target.put("b", type: "Movie", ["year": 2.5])

    let type = failure { try target.put("c", type: "Book") }
    #expect(type?.code == .invalidArguments && type?.facts.recordType == "Book" && type?.facts.name == "c")
    let field = failure { try target.put("c", type: "Movie", ["pages": 3]) }
    #expect(field?.code == .invalidArguments && field?.facts.key == "pages" && field?.facts.found == "int")
    let kind = failure { try target.put("c", type: "Movie", ["title": 3]) }
    #expect(kind?.code == .invalidArguments && kind?.facts.expected == "string" && kind?.facts.found == "int")
    #expect(kind?.facts.recordType == "Movie" && kind?.facts.key == "title")
    let encrypted = failure { try target.put("c", type: "Diary", ["text": "plain"]) }
    #expect(encrypted?.code == .invalidArguments && encrypted?.facts.expected == "encrypted string")
    #expect(try target.recordCount(in: .default) == 2)
    #expect(try target.schema() == schema)
    try target.expectClean()
  }

  @Test("what is wrong in a schema that is given is refused")
  func badSchemas() throws {
    let database = try Database.scratch()
    try database.put("a", ["x": 1])
    let bad: [Schema.RecordType] = [
      .init(name: "9lives"), .init(name: "Note", fields: [.init(key: "recordName", kinds: [.int])]),
      .init(name: "Note", fields: [.init(key: "x", kinds: [.int], isEncrypted: true)]),
      .init(name: "Note", fields: [.init(key: "secret", kinds: [.asset], isEncrypted: true)]),
    ]
    for type in bad {
      let error = failure { try database.write { try $0.declare(Schema(types: [type])) } }
      #expect(error?.code == .invalidArguments, "\(type)")
    }
    #expect(try database.schema()["Note"]?.fields.map(\.key) == ["x"])
    try database.expectClean()
  }

  @Test("where CloudKit's answers are wanted a field keeps its first kind, and an empty list tells none")
  func firstKind() throws {
    let database = try Database.scratch { $0.dialect = .cloudKit }
    let empty = failure { try database.put("a", ["tags": .strings([])]) }
    #expect(empty?.code == .invalidArguments && empty?.message == "cannot use an empty list to initialize a new field")
    #expect(empty?.facts.key == "tags")
    #expect(try database.schema() == Schema())
    try database.put("a", ["tags": .strings(["x"]), "n": 1])
    try database.put("a", ["tags": .strings([])])
    let number = failure { try database.put("b", ["n": 1.5]) }
    #expect(number?.code == .invalidArguments && number?.facts.expected == "int" && number?.facts.found == "double")
    let other = try database.put("b", type: "Other", ["n": 1.5])
    #expect(other["n"] == 1.5, "another type's field is another field")
    let several = failure {
      try database.write {
        try $0.declare(Schema(types: [.init(name: "New", fields: [.init(key: "k", kinds: [.int, .double])])]))
      }
    }
    #expect(several?.code == .invalidArguments)
    let result = try database.modify(saving: [.fresh("c", ["n": "text"]), .fresh("d", ["n": 4])], atomically: false)
    #expect(result.errors.keys.map(\.name) == ["c"])
    try database.expectClean()
  }

  @Test("a key is encrypted or plain for all records of its type", arguments: Dialect.allCases)
  func namespaces(dialect: Dialect) throws {
    let database = try Database.scratch { $0.dialect = dialect }
    try database.put("a", ["plain": "x"])
    var record = try Record.fresh("b")
    try record.encryptedValues.set(.string("y"), forKey: "plain")
    let error = failure { try database.write { [record] in try $0.save(record) } }
    #expect(error?.code == .invalidArguments && error?.facts.key == "plain" && error?.facts.expected == "string")
    #expect(error?.facts.found == "encrypted string")
    // Also the record itself does not turn a plain value into an encrypted one.
    var known = try #require(try database.record(Record.ID("a")))
    known["plain"] = nil
    try known.encryptedValues.set(.string("z"), forKey: "plain")
    #expect(failure { try database.write { [known] in try $0.save(known) } }?.code == .invalidArguments)
    try database.write { transaction in
      var secret = try Record.fresh("c")
      try secret.encryptedValues.set(.string("s"), forKey: "secret")
      try transaction.save(secret)
    }
    #expect(failure { try database.put("d", ["secret": 1]) }?.code == .invalidArguments)
    // What asks for fields and indexes them asks here.
    try database.read { snapshot in
      try snapshot.reading { (view) throws(DatabaseError) in
        try view.requireQueryable("plain", ofType: "Note")
        try view.requireQueryable("unknown", ofType: "Note")
      }
    }
    let asked = failure {
      try database.reading { (view) throws(DatabaseError) in try view.requireQueryable("secret", ofType: "Note") }
    }
    #expect(asked?.code == .invalidArguments && asked?.facts.key == "secret")
    try database.expectClean()
  }

  @Test("shapes that differ in one kind, one key or the cut between keys have numbers of their own")
  func shapes() throws {
    func shape(_ type: String, _ values: [String: Record.Value], encrypted: [String: Record.Value] = [:]) throws -> UInt64 {
      let database = try Database.scratch()
      return try database.write { transaction in
        var record = try Record.fresh("a", type: type, values)
        for (key, value) in encrypted { try record.encryptedValues.set(value, forKey: key) }
        let body = try transaction.save(record).body
        return body.withBytes { KnownShapes.shape(of: $0, body.layout) }
      }
    }
    let all = try [
      shape("A", [:]), shape("B", [:]), shape("A", ["ab": 1, "c": 1]), shape("A", ["a": 1, "bc": 1]),
      shape("A", ["ab": 1, "c": "1"]),
      shape("A", ["ab": 1]), shape("A", ["ab": 1], encrypted: ["c": 1]), shape("Aab", ["c": 1]), shape("A", ["abc": 1]),
      shape("A", ["ab": .ints([]), "c": 1]),
    ]
    #expect(Set(all).count == all.count)
    #expect(try shape("A", ["ab": 1, "c": 1]) == shape("A", ["ab": 77, "c": -5]), "values do not matter")
  }
}
