import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// UUIDs as names take 17 bytes in keys. No other name has such a key, and nobody sees any of it but by the order of names.

@Suite("keys of names")
struct NameKeyTests {
  private static func uuid(_ generator: inout SeededGenerator) -> String {
    let (high, low) = (generator.next(), generator.next())
    let bytes =
      (0..<8).map { UInt8(truncatingIfNeeded: high >> UInt64(8 * $0)) }
      + (0..<8).map { UInt8(truncatingIfNeeded: low >> UInt64(8 * $0)) }
    return ([1] + bytes).withView { String(decoding: NameKey.name(of: $0), as: UTF8.self) }
  }

  /// Digit by digit.
  private static func isUUID(_ bytes: [UInt8]) -> Bool {
    let text = bytes.map { Character(UnicodeScalar($0)) }
    let dashes = [8, 13, 18, 23]
    guard text.indices.allSatisfy({ dashes.contains($0) ? text[$0] == "-" : text[$0].isHexDigit }) else { return false }
    return !(text.contains { $0.isUppercase } && text.contains { $0.isLowercase })
  }

  @Test("a UUID comes back from its key, whatever its letters, and is short where they are of one kind")
  func uuids() {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<2000 {
      let name = Self.uuid(&generator)
      for text in [name, name.lowercased()] {
        let key = NameKey.key(of: text)
        #expect(key.count == 17 && key.withView { NameKey.name(of: $0) } == Array(text.utf8))
        #expect(key.withView { key in UTF8Order.withView(of: text) { NameKey.matches(key, $0) } })
        #expect(!key.withView { key in UTF8Order.withView(of: text + "x") { NameKey.matches(key, $0) } })
      }
      // One letter of the other kind, a wrong digit, another dash: a name like any other.
      var bytes = Array(name.utf8)
      let index = Int.random(in: 0..<36, using: &generator)
      bytes[index] = UInt8.random(in: 0x20...0x7E, using: &generator)
      let changed = String(decoding: bytes, as: UTF8.self)
      let key = NameKey.key(of: changed)
      #expect(key.withView { NameKey.name(of: $0) } == bytes)
      #expect((key.count == 17) == Self.isUUID(bytes))
    }
    #expect(NameKey.key(of: "00000000-0000-0000-0000-000000000000") == [1] + [UInt8](repeating: 0, count: 16))
  }

  @Test(
    "records with UUIDs as names are found, listed, paged, deleted, compacted and replayed like others",
    arguments: [false, true])
  func records(isBuffered: Bool) throws {
    var generator = SeededGenerator(seed: 2)
    let disk = SimulatedDisk(seed: 1)
    var names: [String] = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "zero", "0", "g"]
    for _ in 0..<300 {
      let name = Self.uuid(&generator)
      names += [name, Bool.random(using: &generator) ? name.lowercased() : "text of " + name]
    }
    names.sort(by: NameKey.precedes)
    func open() throws -> Database { try Database.open(on: disk) { $0.access = isBuffered ? .buffered : .mapped } }
    var database = try open()
    try database.write { transaction in
      for (index, name) in names.shuffled(using: &generator).enumerated() {
        var record = try Record.fresh(name)
        if index % 3 == 0 { record.parent = Record.Reference(try Record.ID(names[index % 5])) }
        try transaction.save(record)
      }
    }
    let gone = Set(names.indices.filter { $0 % 4 == 1 && $0 >= 5 }.map { names[$0] }.filter { $0.count == 36 })
    try database.write { transaction in
      for name in gone { try transaction.delete(Record.ID(name)) }
      var record = try #require(try transaction.record(Record.ID(names[0])))
      record["n"] = 1
      try transaction.save(record)
    }
    let live = names.filter { !gone.contains($0) }
    for turn in 0..<4 {
      if turn == 2 { try database.compact() }
      if turn == 1 || turn == 3 {
        try database.close()
        database = try open()
      }
      var found: [String] = []
      while true {
        let page = try database.records(in: .default, after: found.last, limit: 50).map(\.id.name)
        found += page
        if page.isEmpty { break }
      }
      #expect(found == live)
      for name in live { #expect(try database.record(Record.ID(name))?.id.name == name) }
      for name in gone {
        #expect(try database.record(Record.ID(name)) == nil)
        #expect(try database.history(of: Record.ID(name)).first?.date != nil)
      }
      let report = try database.check(.deep)
      #expect(report.isClean, "\(report.findings)")
    }
    // A deleted one comes back.
    let back = try #require(gone.first)
    try database.put(back)
    #expect(try database.history(of: Record.ID(back)).count == 2)
    try database.expectClean()
    try database.close()
  }
}
