import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Text of all the world in values, zones and metadata: kept byte by byte, never normalised, never mixed up.

@Suite("text")
struct TextTests {
  private static let texts = [
    "", "plain", "Zoë", "Zoe\u{308}", "ﬁ", "fi", "\u{212B}", "\u{C5}", "A\u{30A}", "שלום עולם", "مرحبا بالعالم",
    "\u{202E}rtl\u{202C}",
    "e\u{301}\u{327}", "e\u{327}\u{301}", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "日本語", "한글", "\u{1112}\u{1161}\u{11AB}", "한", "नमस्ते", "\u{0}",
    "a\u{0}b", "\u{FEFF}bom", "\u{10FFFF}", "line\nbreak\ttab", String(repeating: "é", count: 5000),
  ]

  @Test("texts come back byte by byte, alone and in lists, after a restart too")
  func values() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    try database.write { transaction in
      for (index, text) in Self.texts.enumerated() {
        try transaction.save(.fresh("r\(index)", ["t": .string(text), "l": .strings([text, text])]))
      }
      try transaction.save(.fresh("all", ["l": .strings(Self.texts)]))
    }
    for _ in 0..<2 {
      for (index, text) in Self.texts.enumerated() {
        let record = try #require(try database.record(Record.ID("r\(index)")))
        let found: String? = record["t"]
        #expect(found.map { Array($0.utf8) } == Array(text.utf8))
        #expect(record["t"] as Record.Value? == .string(text))
        for other in Self.texts where Array(other.utf8) != Array(text.utf8) {
          #expect(record["t"] as Record.Value? != .string(other), "equal only by bytes: \(text) \(other)")
        }
      }
      let all: [String]? = try database.record(Record.ID("all"))?["l"]
      #expect(all?.map { Array($0.utf8) } == Self.texts.map { Array($0.utf8) })
      try database.expectClean()
      try database.close()
      database = try .open(on: disk, seed: 2)
    }
  }

  @Test("texts that look or count as equal name different zones")
  func zoneNames() throws {
    let disk = SimulatedDisk(seed: 1)
    var database = try Database.open(on: disk)
    let names = Self.texts.filter { !$0.isEmpty && !$0.utf8.contains(0) && $0.count <= 255 }
    let ids = try names.map { try Zone.ID($0) }
    #expect(Set(ids).count == names.count)
    try database.write { transaction in
      for (index, id) in ids.enumerated() {
        try transaction.save(Zone(id))
        try transaction.save(.fresh("r", in: id, ["n": .int(Int64(index))]))
        try transaction.setMetadata(Data([UInt8(index)]), forKey: id.name)
      }
    }
    for _ in 0..<2 {
      #expect(try database.zones().map(\.id) == (ids + [.default]).sorted())
      for (index, id) in ids.enumerated() {
        #expect(try database.record(Record.ID("r", in: id))?["n"] == index)
        #expect(try database.metadata(forKey: id.name) == Data([UInt8(index)]))
        let found = try database.zones().first { $0.id == id }
        #expect(found.map { Array($0.id.name.utf8) } == Array(id.name.utf8))
        let token = try ChangeToken(data: database.changes(in: id, since: nil).token.data)
        #expect(try database.changes(in: id, since: token).saved.isEmpty)
        for other in ids where other != id {
          let error = failure { try database.changes(in: other, since: token) }
          #expect(error?.code == .invalidArguments)
        }
      }
      try database.close()
      database = try .open(on: disk, seed: 2)
    }
    try database.write { transaction in for id in ids.dropFirst(3) { try transaction.deleteZone(id) } }
    #expect(try database.zones().map(\.id) == (ids.prefix(3) + [.default]).sorted())
    try database.expectClean()
  }

  @Test("record names, types and keys are ASCII: letters that only look alike are refused, not folded")
  func asciiNames() throws {
    for name in ["é", "\u{430}", "a\u{301}", "💥", "a\u{0}", "tab\t", "ａ"] {
      let record = failure { try Record.ID(name) }
      let type = failure { try Record(type: name) }
      var holder = try Record(type: "Note")
      let key = failure { try holder.set(1, forKey: name) }
      #expect([record, type, key].allSatisfy { $0?.code == .invalidArguments }, "\(name)")
    }
    let database = try Database.scratch()
    try database.put("a b/c?#%~", ["k": 1])
    try database.put("A B/C?#%~", ["k": 2])
    #expect(try database.records(in: .default).map(\.id.name) == ["A B/C?#%~", "a b/c?#%~"])
  }

  @Test("an origin is told apart by its bytes")
  func origins() {
    #expect(Origin("Zoë") != Origin("Zoe\u{308}") && Origin("Zoë") == Origin("Zoë"))
    #expect(Set([Origin("Zoë"), Origin("Zoe\u{308}")]).count == 2)
  }
}
