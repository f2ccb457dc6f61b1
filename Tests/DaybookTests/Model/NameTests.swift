import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("names of records, types, keys and zones")
struct NameTests {
  @Test("a sound record name is accepted", arguments: ["a", "dune", "A B-c.d/e:f", String(repeating: "x", count: 255)])
  func soundRecordName(_ name: String) throws {
    #expect(try Record.ID(name).name == name)
  }

  @Test(
    "a bad record name is refused",
    arguments: ["", "é", "e\u{301}", "a\u{0}b", "a\nb", "\u{7F}", "سلام", "👍", String(repeating: "x", count: 256)])
  func badRecordName(_ name: String) throws {
    let error = try #require(throws: DatabaseError.self) { _ = try Record.ID(name) }
    #expect(error.code == .invalidArguments)
    #expect(throws: DatabaseError.self) { _ = try Record.ID(existing: name) }
    let zone = #"{"name":"_defaultZone","owner":"__defaultOwner__"}"#
    let text = try String(decoding: JSONEncoder().encode([name]), as: UTF8.self).dropFirst().dropLast()
    #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode(Record.ID.self, from: Data(#"{"name":\#(text),"zone":\#(zone)}"#.utf8))
    }
  }

  @Test("a new record has a name of its own")
  func randomName() {
    #expect(Record.ID() != Record.ID())
    #expect(NameRules.faultOfRecordName(Record.ID().name) == nil)
  }

  @Test("types follow the rule of identifiers", arguments: ["A", "Movie_2", "movie", String(repeating: "a", count: 255)])
  func soundType(_ type: String) throws {
    #expect(try Record(type: type).type == type)
  }

  @Test(
    "a bad type is refused",
    arguments: [
      "", "_A", "1A", "A B", "É", "Users", "cloudkit.share", "A.b", "\u{212A}ind", String(repeating: "a", count: 256),
    ])
  func badType(_ type: String) {
    #expect(throws: DatabaseError.self) { _ = try Record(type: type) }
  }

  @Test(
    "a bad or reserved key is refused, at once by set, at save after a subscript",
    arguments: [
      "", "_a", "1a", "a b", "é", "a\u{301}", "\u{212A}", "👍", "recordID", "creationDate", "etag", "parent", "share",
      "recordName", "recordType", "modificationDate", "modifiedByDevice", "recordChangeTag", "___x",
      String(repeating: "k", count: 256),
    ])
  func badKey(_ key: String) throws {
    var record = try Record(type: "Movie")
    let error = #expect(throws: DatabaseError.self) { try record.set(1, forKey: key) }
    #expect(error?.code == .invalidArguments)
    try record.validateForSave()
    record[key] = "x"
    #expect(record.keys.isEmpty && record.changedKeys.isEmpty)
    #expect(throws: DatabaseError.self) { try record.validateForSave() }
  }

  @Test(
    "a bad or reserved key that was set by mistake and removed again leaves no trace",
    arguments: ["recordName", "parent", "_a", "é", ""])
  func takenBack(_ key: String) throws {
    var record = try Record(type: "Movie", id: Record.ID("a"))
    record["title"] = "Dune"
    let before = record
    record[key] = "x"
    record[key] = nil as String?
    record.encryptedValues[key] = "x"
    record.encryptedValues[key] = nil as Record.Value?
    try record.validateForSave()
    #expect(record == before && record.changedKeys == ["title"] && record.removedKeys.isEmpty)
    let database = try Database.scratch()
    let saved = try database.write { [record] in try $0.save(record) }
    #expect(saved.keys == ["title"])
    // Another mistake is not forgiven with it.
    record["creationDate"] = 1
    record[key] = nil as String?
    #expect(throws: DatabaseError.self) { try record.validateForSave() }
  }

  @Test("zone names may be any text", arguments: ["Library", "مكتبة", "e\u{301}", "\u{E9}", "👩‍👩‍👧‍👦", "a/b c", " "])
  func soundZone(_ name: String) throws {
    let zone = try Zone.ID(name)
    #expect(zone.name.utf8.elementsEqual(name.utf8))
    let again = try JSONDecoder().decode(Zone.ID.self, from: JSONEncoder().encode(zone))
    #expect(again == zone)
    let back = try zone.withKey { view in Result { try Zone.ID(key: view) } }.get()
    #expect(back == zone)
    #expect(zone.withKey { zone.matches(key: $0) && Zone.ID.isSound(key: $0) })
    let other = try Zone.ID(name, owner: "_someone")
    #expect(other != zone && !other.withKey { zone.matches(key: $0) })
    #expect(try other.withKey { view in Result { try Zone.ID(key: view) } }.get() == other)
  }

  @Test(
    "a bad zone name is refused",
    arguments: ["", "_x", "_defaultZone2", "a\u{0}", String(repeating: "x", count: 256), String(repeating: "👩‍👩‍👧‍👦", count: 50)])
  func badZone(_ name: String) throws {
    #expect(throws: DatabaseError.self) { _ = try Zone.ID(name) }
    let text = try String(decoding: JSONEncoder().encode(name), as: UTF8.self)
    #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode(Zone.ID.self, from: Data(#"{"name":\#(text)}"#.utf8))
    }
  }

  @Test("a zone name may have 255 characters of several bytes")
  func longZone() throws {
    _ = try Zone.ID(String(repeating: "👍", count: 255))
    _ = try Zone.ID(String(repeating: "e\u{301}", count: 255))
    #expect(throws: DatabaseError.self) { _ = try Zone.ID(String(repeating: "👍", count: 256)) }
  }

  @Test("an owner is printable ASCII")
  func owners() throws {
    #expect(try Zone.ID("a").owner == "__defaultOwner__")
    #expect(try Zone.ID("a", owner: "__defaultOwner__") == Zone.ID("a"))
    for owner in ["", "é", "a\u{0}", String(repeating: "o", count: 256)] {
      #expect(throws: DatabaseError.self) { _ = try Zone.ID("a", owner: owner) }
    }
  }

  @Test("canonically equal names of other bytes are different zones")
  func canonicalEquivalence() throws {
    let composed = try Zone.ID("\u{E9}")
    let decomposed = try Zone.ID("e\u{301}")
    #expect(composed.name == decomposed.name, "Swift's own comparison calls them equal")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(decomposed < composed)
  }

  @Test("the default zone has its key and no capabilities")
  func defaultZone() throws {
    #expect(try Zone.ID("_defaultZone") == .default)
    #expect(Zone.ID.default.key == Zone.ID.defaultKey.array)
    #expect(Zone(.default).capabilities.isEmpty)
    #expect(try Zone(Zone.ID("a")).capabilities.contains(.fetchChanges))
  }

  @Test(
    "bytes that are no zone key are refused",
    arguments: [[], [0], [65], [65, 0, 0], [0xFF, 0], [65, 0, 0xC3]] as [[UInt8]])
  func badKeys(_ bytes: [UInt8]) {
    let result = UTF8Order.withView(of: bytes) { view in Result { try Zone.ID(key: view) } }
    #expect(throws: BodyFault.self) { try result.get() }
    #expect(!UTF8Order.withView(of: bytes) { Zone.ID.isSound(key: $0) })
  }
}
