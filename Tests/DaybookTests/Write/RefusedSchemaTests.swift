import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// What was refused teaches nothing, and what is declared makes sense as a whole.
@Suite("the schema of what was refused")
struct RefusedSchemaTests {
  /// A database in which one more record may not belong to "owner".
  private func database() throws -> Database {
    let database = try Database.scratch { $0.limits.referencesPerTarget = 1 }
    try database.put("owner")
    try database.put("first", ["owner": .reference(.init(Record.ID("owner"), action: .deleteSelf))])
    return database
  }

  private func refused() throws -> Record {
    try .fresh(
      "second", type: "Ghost", ["note": "plain", "owner": .reference(.init(Record.ID("owner"), action: .deleteSelf))])
  }

  @Test("a save that is refused teaches no fields, when its transaction goes on")
  func insideTransaction() throws {
    let database = try database()
    let before = try database.schema()
    try database.write { transaction in
      #expect(failure { try transaction.save(refused()) }?.code == .limitExceeded)
      #expect(failure { try transaction.save(refused()) }?.code == .limitExceeded)
    }
    #expect(try database.schema() == before && database.statistics().lastSequence == 2)
    try database.write { transaction in
      _ = failure { try transaction.save(refused()) }
      try transaction.save(.fresh("third", type: "Other", ["a": 1]))
    }
    #expect(try database.schema()["Ghost"] == nil && database.schema()["Other"] != nil)
    // The key is still free for either namespace.
    var record = try Record.fresh("fourth", type: "Ghost")
    record.encryptedValues["note"] = "secret"
    try database.write { [record] in try $0.save(record) }
    #expect(try database.schema()["Ghost"]?["note"]?.isEncrypted == true)
    try database.expectClean()
  }

  @Test("a record that is refused in a request teaches no fields, and the others of the request do")
  func insideRequest() throws {
    let database = try database()
    let result = try database.modify(saving: [refused(), .fresh("third", type: "Other", ["a": 1])], atomically: false)
    #expect(result.errors.map(\.value.code) == [.limitExceeded])
    #expect(try database.schema()["Ghost"] == nil && database.schema()["Other"]?["a"] != nil)
    try database.expectClean()
  }

  @Test("a save whose asset is gone teaches no fields")
  func missingAsset() throws {
    let database = try Database.scratch()
    let gone = Asset(digest: [UInt8](repeating: 9, count: 32), byteCount: 100_000, source: .elsewhere(nil))
    try database.write { transaction in
      var record = try Record.fresh("a", type: "Ghost", ["note": "plain"])
      record["file"] = gone
      #expect(failure { try transaction.save(record) } != nil)
      try transaction.save(.fresh("b"))
    }
    #expect(try database.schema().types.map(\.name) == ["Note"])
    try database.expectClean()
  }

  @Test("one declaration cannot make a key both plain and encrypted, in one entry after another or in two types of one name")
  func bothNamespaces() throws {
    let plain = Schema.Field(key: "a", kinds: [.string])
    let encrypted = Schema.Field(key: "a", kinds: [.string], isEncrypted: true)
    for fields in [[plain, encrypted], [encrypted, plain]] {
      for types in [
        [Schema.RecordType(name: "T", fields: fields)],
        [Schema.RecordType(name: "T", fields: [fields[0]]), Schema.RecordType(name: "T", fields: [fields[1]])],
      ] {
        let database = try Database.scratch()
        try database.write { transaction in
          let error = failure {
            try transaction.declare(Schema(types: [.init(name: "Before", fields: [plain])] + types))
          }
          #expect(error?.code == .invalidArguments && error?.facts.recordType == "T" && error?.facts.key == "a")
          try transaction.save(.fresh("a"))
        }
        // All of a declaration is rolled back when a part is refused.
        #expect(try database.schema().types.map(\.name) == ["Note"])
        try database.put("b", type: "T", ["a": "x"])
        try database.expectClean()
      }
    }
  }

  @Test("two kinds of one key in one declaration are for the extended dialect")
  func twoKinds() throws {
    let schema = Schema(
      types: [.init(name: "T", fields: [.init(key: "a", kinds: [.string]), .init(key: "a", kinds: [.int])])])
    let strict = try Database.scratch { $0.dialect = .cloudKit }
    let error = failure { try strict.write { try $0.declare(schema) } }
    #expect(error?.code == .invalidArguments && error?.facts.recordType == "T" && error?.facts.key == "a")
    #expect(try strict.schema().types.isEmpty)
    let lenient = try Database.scratch()
    try lenient.write { try $0.declare(schema) }
    #expect(try lenient.schema()["T"]?["a"]?.kinds == [.string, .int])
    try lenient.expectClean()
  }
}
