import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// A cipher for tests: a stream made of SHA-256 with a fresh nonce, and a keyed sum over everything. It behaves as an
/// authenticated cipher does; do not trust it with a secret.
struct TestCipher: FieldCipher {
  struct Refusal: Error {}
  let key: String
  private static let count = Locked<UInt64>(0)

  private func digest(_ parts: [UInt8]...) -> [UInt8] {
    let bytes = Array(key.utf8) + parts.flatMap { $0 + [UInt8(truncatingIfNeeded: $0.count)] }
    return bytes.withView { SHA256.digest(of: $0) }
  }

  private func stream(_ nonce: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      let block = digest(nonce, [UInt8(truncatingIfNeeded: index / 32), UInt8(truncatingIfNeeded: index / 8192)])
      result.append(byte ^ block[index % 32])
    }
    return result
  }

  func seal(_ plaintext: Data, context: Data) throws -> Data {
    let number = Self.count.withLock { count in
      count += 1
      return count
    }
    let nonce = Array(digest(Array("nonce \(number)".utf8)).prefix(8))
    let body = stream(nonce, [UInt8](plaintext))
    return Data(nonce + digest(nonce, body, [UInt8](context)).prefix(16) + body)
  }

  func open(_ sealed: Data, context: Data) throws -> Data {
    let bytes = [UInt8](sealed)
    guard bytes.count >= 24 else { throw Refusal() }
    let nonce = Array(bytes[..<8])
    let body = Array(bytes[24...])
    guard Array(digest(nonce, body, [UInt8](context)).prefix(16)) == Array(bytes[8..<24]) else { throw Refusal() }
    return Data(stream(nonce, body))
  }
}

/// The second namespace of keys, and what a cipher makes of it.
@Suite("encrypted values")
struct EncryptedValueTests {
  private static let secret = "the words that nobody else may read"

  private static func record(_ name: String = "a", in zone: Zone.ID = .default) throws -> Record {
    var record = try Record.fresh(name, in: zone, ["title": "seen by all"])
    try record.encryptedValues.set(.string(secret), forKey: "text")
    try record.encryptedValues.set(.ints([1, 2, 3]), forKey: "numbers")
    return record
  }

  private static func contains(_ text: String, _ path: String) throws -> Bool {
    try Data(contentsOf: URL(filePath: path)).range(of: Data(text.utf8)) != nil
  }

  @Test("an encrypted value is set beside many plain ones in the time that it takes to copy them", .timeLimit(.minutes(15)))
  func besideManyPlainValues() throws {
    var record = try Record(type: "Note", id: Record.ID("a"))
    for number in 0..<8000 { record["k\(number)"] = number }
    // It was 17 seconds for one of them.
    for number in 0..<90 { record.encryptedValues["e\(number + 10)"] = number }
    #expect(record.keys.count == 8000 && record.encryptedValues.keys == (0..<90).map { "e\($0 + 10)" })
    #expect(record["k7999"] == 7999 && record.encryptedValues["e99"] == 89)
  }

  @Test("with a cipher nothing of an encrypted value is in the file, without one it is there to be read")
  func atRest() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    for hasCipher in [true, false] {
      let path = folder.file("\(hasCipher).daybook")
      var options = Database.Options()
      options.cipher = hasCipher ? TestCipher(key: "k") : nil
      options.closeCheckpointByteCount = 0
      var database = try Database.open(at: path, options: options)
      let saved = try database.write { try $0.save(Self.record()) }
      #expect(saved.encryptedValues["text"] == Self.secret && saved["title"] == "seen by all")
      try database.write { transaction in
        var changed = saved
        try changed.encryptedValues.set(.string(Self.secret + " again"), forKey: "text")
        try transaction.save(changed)
      }
      try database.expectClean()
      try database.backup(to: path + ".backup")
      try database.close()
      try Database.salvage(from: path, to: path + ".salvage")
      for copy in ["", ".backup", ".salvage"] {
        #expect(try Self.contains("nobody else", path + copy) != hasCipher, "\(hasCipher) \(copy)")
        #expect(try Self.contains("seen by all", path + copy))
        database = try Database.open(at: path + copy, options: options)
        let read = try #require(try database.record(Record.ID("a")))
        #expect(read.encryptedValues["text"] == Self.secret + " again")
        #expect(read.encryptedValues["numbers"] == [1, 2, 3] && read.encryptedValues.keys == ["numbers", "text"])
        #expect(try database.history(of: read.id).last?.record?.encryptedValues["text"] == Self.secret)
        try database.expectClean()
        try database.close()
      }
    }
  }

  @Test("with another key or none the field says so, and the rest of the record is read", arguments: ["other", nil])
  func wrongKey(key: String?) throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk) { $0.cipher = TestCipher(key: "k") }
    try database.write { try $0.save(Self.record()) }
    try database.close()
    database = try Database.open(on: disk) { $0.cipher = key.map { TestCipher(key: $0) } }
    var record = try #require(try database.record(Record.ID("a")))
    #expect(record["title"] == "seen by all" && record.encryptedValues.keys == ["numbers", "text"])
    #expect(record.encryptedValues["text"] == nil)
    let error = failure { try record.encryptedValues.value(String.self, forKey: "text") }
    #expect(error?.code == .permissionFailure && error?.facts.key == "text" && error?.facts.name == "a")
    #expect((error?.cause is TestCipher.Refusal) == (key != nil))
    // Other fields can be saved, and the sealed ones are kept for an application with the key.
    record["title"] = "changed"
    try database.write { [record] in try $0.save(record) }
    try database.expectClean()
    try database.close()
    database = try Database.open(on: disk) { $0.cipher = TestCipher(key: "k") }
    let again = try #require(try database.record(Record.ID("a")))
    #expect(again["title"] == "changed" && again.encryptedValues["text"] == Self.secret)
  }

  @Test("changes, conflicts and merges are of plain values, whatever the bytes are")
  func plainValues() throws {
    let database = try Database.scratch { $0.cipher = TestCipher(key: "k") }
    let zone = try database.zone("Library")
    let first = try database.write { try $0.save(Self.record(in: zone)) }
    #expect(first.changedKeys.isEmpty && first.encryptedValues.changedKeys.isEmpty)
    #expect(first == (try database.record(first.id)), "equal values, though sealed twice they would differ")
    var mine = first
    var theirs = first
    mine.encryptedValues["text"] = "mine"
    theirs.encryptedValues["numbers"] = [9]
    try database.write { [theirs] in try $0.save(theirs) }
    let conflict = failure { try database.write { [mine] in try $0.save(mine) } }?.conflict
    #expect(conflict?.ancestor?.encryptedValues["numbers"] == [1, 2, 3])
    #expect(conflict?.server?.encryptedValues["numbers"] == [9] && conflict?.client.encryptedValues["text"] == "mine")
    mine.rebase(onto: try #require(conflict?.server))
    let merged = try database.write { [mine] in try $0.save(mine) }
    #expect(merged.encryptedValues["text"] == "mine" && merged.encryptedValues["numbers"] == [9])
    let page = try database.changes(in: zone, since: nil)
    #expect(page.saved.first?.encryptedValues["text"] == "mine")
    let some = try database.records([first.id], desiredKeys: ["text"])[first.id]
    #expect(some?.encryptedValues["text"] == "mine" && some?.encryptedValues.keys == ["text"])
    try database.expectClean()
  }

  @Test("a record moves between databases with ciphers of their own", arguments: ["one", nil], ["two", nil])
  func moving(from: String?, to: String?) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let source = try Database.scratch { $0.cipher = from.map { TestCipher(key: $0) } }
    let saved = try source.write { try $0.save(Self.record()) }
    var options = Database.Options()
    options.cipher = to.map { TestCipher(key: $0) }
    for policy in [SavePolicy.allKeys, .changedKeys] {
      let path = folder.file("\(policy).daybook")
      let target = try Database.open(at: path, options: options)
      if policy == .allKeys { try target.put("a", ["title": "before"]) }
      let moved = try target.write { try $0.save(saved, policy: policy) }
      #expect(moved.encryptedValues["text"] == Self.secret, "\(policy)")
      #expect(try target.record(saved.id)?.encryptedValues["numbers"] == [1, 2, 3])
      try target.expectClean()
      try target.close()
      #expect(try Self.contains("nobody else", path) == (to == nil))
    }
    #expect(try source.record(saved.id)?.encryptedValues["text"] == Self.secret)
  }

  @Test("what was stored before there was a cipher is sealed when its record is saved again, where it is accepted")
  func laterCipher() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    try database.write { try $0.save(Self.record()) }
    try database.close()
    database = try Database.open(on: disk) { options in
      options.cipher = TestCipher(key: "k")
      options.acceptsUnsealedValues = true
    }
    var record = try #require(try database.record(Record.ID("a")))
    #expect(record.encryptedValues["text"] == Self.secret)
    record["title"] = "changed"
    let saved = try database.write { [record] in try $0.save(record) }
    #expect(saved.body.mark(forKey: "text")?.isSealed == true && saved.encryptedValues["text"] == Self.secret)
    try database.expectClean()
  }

  @Test("sealed bytes do not open under another record or key")
  func context() throws {
    let cipher = TestCipher(key: "k")
    let zone = try Zone.ID("Library")
    let id = try Record.ID("a", in: zone)
    let sealed = try cipher.seal(Data([1, 2, 3]), context: FieldSealer.context(id, "text", .bytes))
    #expect(try cipher.open(sealed, context: FieldSealer.context(id, "text", .bytes)) == Data([1, 2, 3]))
    let others = try [
      FieldSealer.context(id, "texts", .bytes), FieldSealer.context(id, "text", .string),
      FieldSealer.context(Record.ID("b", in: zone), "text", .bytes), FieldSealer.context(Record.ID("a"), "text", .bytes),
      FieldSealer.context(Record.ID("a", in: Zone.ID("Library", owner: "x")), "text", .bytes),
    ]
    for other in others { #expect(throws: TestCipher.Refusal.self) { try cipher.open(sealed, context: other) } }
  }

  @Test("a cipher that fails refuses the save, with the key; nothing of the record is stored")
  func failingCipher() throws {
    struct Broken: FieldCipher {
      struct Fault: Error {}
      func seal(_ plaintext: Data, context: Data) throws -> Data { throw Fault() }
      func open(_ sealed: Data, context: Data) throws -> Data { throw Fault() }
    }
    let database = try Database.scratch { $0.cipher = Broken() }
    let error = failure { try database.write { try $0.save(Self.record()) } }
    #expect(error?.code == .permissionFailure && error?.facts.key != nil && error?.cause is Broken.Fault)
    #expect(try database.recordCount(in: .default) == 0)
    try database.put("plain")
    try database.expectClean()
  }

  @Test("system fields carry no encrypted value")
  func systemFields() throws {
    let database = try Database.scratch()
    let saved = try database.write { try $0.save(Self.record()) }
    #expect(saved.systemFields.range(of: Data("nobody else".utf8)) == nil)
    let restored = try Record(systemFields: saved.systemFields)
    #expect(restored.encryptedValues.keys.isEmpty && restored.metadata == saved.metadata)
  }

  @Test(
    "an encrypted value that was removed does not come back with a plain one that was set and removed, or the other way round")
  func removedInBoth() throws {
    let database = try Database.scratch()
    for isPartial in [false, true] {
      var record = try Record.fresh("a\(isPartial)", type: "T\(isPartial)")
      record.encryptedValues["k"] = "secret"
      record["p"] = "plain"
      var saved = try database.write { [record] in try $0.save(record) }
      // A record that was fetched without its values does not know what it removes.
      if isPartial { saved = try #require(try database.records([saved.id], desiredKeys: [])[saved.id]) }
      saved.encryptedValues["k"] = nil as Record.Value?
      saved["k"] = 5
      saved["k"] = nil as Record.Value?
      saved["p"] = nil as Record.Value?
      saved.encryptedValues["p"] = "x"
      saved.encryptedValues["p"] = nil as Record.Value?
      #expect(saved.encryptedValues["k"] == nil as Record.Value? && saved["k"] == nil as Record.Value?)
      #expect(saved.encryptedValues["p"] == nil as Record.Value? && saved["p"] == nil as Record.Value?)
      #expect(saved.encryptedValues.keys.isEmpty && saved.keys.isEmpty)
      #expect(saved.encryptedValues.removedKeys.contains("k") && saved.removedKeys.contains("p"))
      var rebased = saved
      rebased.rebase(onto: try #require(try database.record(saved.id)))
      #expect(rebased.encryptedValues.keys.isEmpty && rebased.keys.isEmpty)
      saved = try database.write { [saved] in try $0.save(saved) }
      #expect(saved.keys.isEmpty && saved.encryptedValues.keys.isEmpty)
      let stored = try #require(try database.record(saved.id))
      #expect(stored.keys.isEmpty && stored.encryptedValues.keys.isEmpty)
    }
    try database.expectClean()
  }
}
