import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Who can write the file but has no key makes nothing up: what the cipher did not seal is refused.
@Suite("unsealed values")
struct UnsealedValueTests {
  private static let id = try! Record.ID("a")

  private static func open(_ disk: SimulatedDisk, key: String? = "k", accepts: Bool = false) throws -> Database {
    try Database.open(on: disk) { options in
      options.cipher = key.map { TestCipher(key: $0) }
      options.acceptsUnsealedValues = accepts
    }
  }

  /// A database with a sealed value, and one that an attacker without the key has put in another's place.
  private static func forged(type: String = "Note") throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 1)
    var database = try open(disk)
    var record = try Record.fresh("a", type: type, ["title": "seen by all"])
    record.encryptedValues["pin"] = "1234"
    record.encryptedValues["kept"] = "sealed"
    try database.write { [record] in try $0.save(record) }
    try database.close()
    database = try open(disk, key: nil)
    record = try #require(try database.record(id))
    record.encryptedValues["pin"] = "0000"
    try database.write { [record] in try $0.save(record) }
    try database.close()
    return disk
  }

  private static func expectRefused(_ record: Record?, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let record else { return #expect(Bool(false), "the record is there", sourceLocation: sourceLocation) }
    #expect(record.encryptedValues["pin"] == nil as Record.Value?, sourceLocation: sourceLocation)
    #expect(record.encryptedValues.keys.contains("pin"), sourceLocation: sourceLocation)
    let error = failure { try record.encryptedValues.value(String.self, forKey: "pin") }
    #expect(error?.code == .permissionFailure, sourceLocation: sourceLocation)
    #expect(error?.facts.zone == record.id.zone && error?.facts.name == "a", sourceLocation: sourceLocation)
    #expect(error?.facts.key == "pin", sourceLocation: sourceLocation)
    // The rest of the record is what it was.
    #expect(record["title"] == "seen by all" && record.encryptedValues["kept"] == "sealed", sourceLocation: sourceLocation)
  }

  @Test("an encrypted value that was written without the key is refused wherever its record is read")
  func everyDoor() throws {
    let database = try Self.open(try Self.forged())
    Self.expectRefused(try database.record(Self.id))
    Self.expectRefused(try database.records([Self.id])[Self.id])
    Self.expectRefused(try database.records([Self.id], desiredKeys: ["pin", "kept", "title"])[Self.id])
    Self.expectRefused(try database.records(in: .default).first)
    Self.expectRefused(try database.records(in: .default, ofType: "Note").first)
    Self.expectRefused(try database.changes(in: .default, since: nil).saved.first)
    Self.expectRefused(try database.snapshot().record(Self.id))
    let versions = try database.history(of: Self.id)
    Self.expectRefused(versions.first?.record)
    #expect(versions.last?.record?.encryptedValues["pin"] == "1234")
    try database.write { Self.expectRefused(try $0.record(Self.id)) }
    try database.expectClean()
    try database.close()
  }

  @Test("a save of other fields does not vouch for a refused value, whatever the policy", arguments: SavePolicy.allCases)
  func savedBeside(policy: SavePolicy) throws {
    let disk = try Self.forged()
    var database = try Self.open(disk)
    var record = try #require(try database.record(Self.id))
    record["more"] = 1
    let saved = try database.write { [record] in try $0.save(record, policy: policy) }
    Self.expectRefused(saved)
    #expect(saved.body.mark(forKey: "pin")?.isSealed == false)
    try database.close()
    database = try Self.open(disk)
    record = try #require(try database.record(Self.id))
    Self.expectRefused(record)
    // What the application sets again is sealed, and counts.
    record.encryptedValues["pin"] = "5678"
    let repaired = try database.write { [record] in try $0.save(record, policy: policy) }
    #expect(repaired.encryptedValues["pin"] == "5678" && repaired.body.mark(forKey: "pin")?.isSealed == true)
    try database.expectClean()
    try database.close()
  }

  @Test("a refused value does not get into another database, sealed there or not", arguments: ["other", nil])
  func moved(key: String?) throws {
    let source = try Self.open(try Self.forged())
    let record = try #require(try source.record(Self.id))
    for accepts in [false, true] {
      let target = try Self.open(SimulatedDisk(seed: 2), key: key, accepts: accepts)
      let error = failure { try target.write { try $0.save(record, policy: .allKeys) } }
      #expect(error?.code == .permissionFailure && error?.facts.key == "pin" && error?.facts.name == "a")
      #expect(try target.recordCount(in: .default) == 0)
      try target.close()
    }
    try source.close()
  }

  @Test("a database that gets its cipher later accepts what it has, seals it when it is saved, and needs no acceptance then")
  func migration() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Self.open(disk, key: nil)
    try database.write { transaction in
      for name in ["a", "b"] {
        var record = try Record.fresh(name, ["title": "seen by all"])
        record.encryptedValues["pin"] = "1234"
        try transaction.save(record)
      }
    }
    try database.close()
    database = try Self.open(disk, accepts: true)
    try database.write { transaction in
      for record in try transaction.records(in: .default) {
        #expect(record.encryptedValues["pin"] == "1234")
        let saved = try transaction.save(record)
        #expect(saved.body.mark(forKey: "pin")?.isSealed == true)
      }
    }
    try database.compact()
    try database.close()
    let bytes = try #require(disk.bytes(of: "test.daybook"))
    #expect(bytes.contains("seen by all") && !bytes.contains("1234"))
    database = try Self.open(disk)
    for record in try database.records(in: .default) { #expect(record.encryptedValues["pin"] == "1234") }
    try database.expectClean()
    try database.close()
  }

  @Test("compaction, backup and salvage keep the bytes as they are, with the key and without", arguments: ["k", nil])
  func copies(key: String?) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    func options(_ key: String?) -> Database.Options {
      var options = Database.Options()
      options.cipher = key.map { TestCipher(key: $0) }
      return options
    }
    let path = folder.file("a.daybook")
    for (writer, pin) in [("k", "1234"), (nil, "0000")] as [(String?, String)] {
      let database = try Database.open(at: path, options: options(writer))
      try database.write { transaction in
        var record = try transaction.record(Self.id) ?? Record.fresh("a", ["title": "seen by all"])
        record.encryptedValues["pin"] = .string(pin)
        if writer != nil { record.encryptedValues["kept"] = "sealed" }
        try transaction.save(record)
      }
      try database.close()
    }
    let database = try Database.open(at: path, options: options(key))
    try database.backup(to: folder.file("backup"))
    try database.compact()
    try database.close()
    try Database.salvage(from: folder.file("backup"), to: folder.file("salvage"))
    for copy in [path, folder.file("backup"), folder.file("salvage")] {
      for reader in ["k", nil] {
        let database = try Database.open(at: copy, options: options(reader))
        let record = try #require(try database.record(Self.id))
        if reader != nil {
          Self.expectRefused(record)
        } else {
          #expect(record.encryptedValues["pin"] == "0000" && record.encryptedValues["kept"] == nil as Record.Value?)
        }
        try database.expectClean()
        try database.close()
      }
    }
  }

  @Test("sealed bytes that were given the mark of a plain field are not opened for everybody")
  func sealedAsPlain() throws {
    let database = try Database.scratch { $0.cipher = TestCipher(key: "k") }
    var record = try Record.fresh("a")
    record.encryptedValues["pin"] = "1234"
    let saved = try database.write { [record] in try $0.save(record) }
    var bytes = saved.body.withBytes { $0.array }
    let row = saved.body.layout.fieldsStart + 2
    bytes[row] &= ~FieldMark.encryptedFlag
    try database.save(forgedBody: bytes)
    let read = try #require(try database.record(Self.id))
    #expect(read.keys == ["pin"] && read["pin"] == nil as Record.Value?)
    #expect(failure { try read.value(String.self, forKey: "pin") }?.code == .corrupted)
    try database.close()
  }
}

extension [UInt8] {
  fileprivate func contains(_ text: String) -> Bool { Data(self).range(of: Data(text.utf8)) != nil }
}
