import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Records that no database writes, in files whose checksums are right: told, never a trap, and nothing is learned from them.

@Suite("forged records")
struct ForgedRecordTests {
  /// A record with one field, whose key has these bytes instead.
  private func forge(_ key: [UInt8], in database: Database) throws -> Record.ID {
    let saved = try database.put("x", type: "Movie", ["k": 1])
    var bytes = saved.body.withBytes { $0.array }
    let row = saved.body.layout.fieldsStart + 2
    #expect(bytes[row + 1] == 1 && bytes[row + 6] == UInt8(ascii: "k"))
    bytes[row + 1] = UInt8(key.count)
    bytes.replaceSubrange(row + 6...row + 6, with: key)
    try database.save(forgedBody: bytes)
    return saved.id
  }

  @Test(
    "a key that no record can have is told when its record is saved, and the schema learns nothing of it",
    arguments: [[], [0], [0xFF], Array("1x".utf8), Array("a b".utf8)] as [[UInt8]])
  func keys(key: [UInt8]) throws {
    for policy in SavePolicy.allCases {
      let database = try Database.scratch()
      let id = try forge(key, in: database)
      var record = try #require(try database.record(id))
      record["b"] = 2
      let error = failure { try database.write { try $0.save(record, policy: policy) } }
      #expect(error?.code == .corrupted && error?.facts.name == "x")
      #expect(failure { try database.modify(saving: [record], policy: policy) }?.code == .corrupted)
      let schema = try database.schema()
      #expect(schema.types.flatMap { $0.fields.map(\.key) } == ["k"])
      // Others are saved, and the record can be deleted.
      try database.put("y", type: "Movie", ["k": 2])
      try database.write { try $0.delete(id) }
      #expect(try database.recordCount(in: .default) == 1)
      try database.close()
    }
  }

  @Test("a forged record that is saved to another database is refused there")
  func otherDatabase() throws {
    let (source, target) = (try Database.scratch(seed: 1), try Database.scratch(seed: 2))
    let id = try forge([], in: source)
    let record = try #require(try source.record(id))
    #expect(failure { try target.write { try $0.save(record, policy: .allKeys) } }?.code == .corrupted)
    #expect(try target.recordCount(in: .default) == 0)
    #expect(try target.schema().types.isEmpty)
  }
}
