import Daybook
import DaybookCoding
import Foundation
import Testing

// Defaults beside the fields of a newer version that begin as theirs do.

@Suite("defaults beside flattened fields")
struct DefaultBelowTests {
  struct Home: Codable, Equatable {
    var street: String?
    var zip: String
  }
  struct Holder: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["home": .flattened, "home.zip": .default("1")]
    var recordName = "f"
    var home: Home?
  }

  @Test("a flattened value that became nil came back with its default, where a newer version had stored a field in it")
  func nilStays() throws {
    let database = try Database.inMemory()
    try database.save(Holder(home: Home(street: "s", zip: "9")))
    try database.update(Record.ID("f")) { try $0.set("A", forKey: "home_country") }
    try database.update(Holder.self, "f") { $0.home = nil }
    #expect(try database.fetch(Holder.self, "f")?.home == nil)
    #expect(try database.record(Record.ID("f"))?["home_country"] == "A")
    // With a field of its own, or the mark, it is there.
    try database.update(Record.ID("f")) { try $0.set("s", forKey: "home_street") }
    #expect(try database.fetch(Holder.self, "f")?.home == Home(street: "s", zip: "1"))
    try database.update(Record.ID("f")) {
      try $0.set(nil, forKey: "home_street")
      try $0.set(1, forKey: "home")
    }
    #expect(try database.fetch(Holder.self, "f")?.home == Home(street: nil, zip: "1"))
  }

  struct Show: RecordCodable, Equatable {
    enum Kind: String, Codable { case film, series }
    static let fieldRules: [String: FieldRule] = ["kinds": .default(["film"]), "flags": .default(.ints([1]))]
    var recordName = "s"
    var kinds: [Kind] = []
    var flags: [Bool] = []
  }

  @Test("the default of a list of enums was not found beside a newer version's field that begins alike")
  func lists() throws {
    var options = RecordCodingOptions()
    options.nested = .flattened
    var record = try Record(type: "Show", id: Record.ID("s"))
    record["kinds_new"] = 1
    record["flags_new"] = 1
    #expect(try RecordDecoder(options: options).decode(Show.self, from: record) == Show(kinds: [.film], flags: [true]))
  }
}
