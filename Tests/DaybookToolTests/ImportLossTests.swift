import Foundation
import Testing

@testable import Daybook
@testable import DaybookTool

/// What an import took from the database, or from its input, without being asked to.
@Suite("what an import keeps")
struct ImportLossTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  private struct Turned: FieldCipher {
    func seal(_ plaintext: Data, context: Data) throws -> Data { Data(plaintext.map { $0 ^ 0x5A }) }
    func open(_ sealed: Data, context: Data) throws -> Data { Data(sealed.map { $0 ^ 0x5A }) }
  }

  private func open(_ path: String) throws -> Database {
    var options = Database.Options()
    options.cipher = Turned()
    return try Database.open(at: path, options: options)
  }

  private func saveCard(_ path: String) throws {
    let database = try open(path)
    var record = try Record(type: "Card", id: Record.ID("c1"))
    record["title"] = "visa"
    record.encryptedValues["pin"] = "1234"
    try database.save(record)
    try database.close()
  }

  private func pin(_ path: String) throws -> String? {
    let database = try open(path)
    defer { try? database.close() }
    return try database.record(Record.ID("c1"))?.encryptedValues["pin"]
  }

  @Test("encrypted values of which the input does not say what they are stay", arguments: ["dump", "edited", "csv", "gone"])
  func sealed(input: String) throws {
    let file = bench.path("a.daybook")
    try saveCard(file)
    let dump = try bench.good("dump", file).output
    switch input {
    case "dump": try bench.good("import", file, try bench.write(dump, to: "in.ndjson"))
    case "edited": try bench.good("import", file, try bench.write(dump.replacing("visa", with: "other"), to: "in.ndjson"))
    case "csv": try bench.good("import", file, try bench.write("id,title\nc1,other\n", to: "card.csv"), "--id", "id")
    default:
      // A line that does not name the value says that there is none.
      let line = #"{"zone":"_defaultZone","name":"c1","type":"Card","fields":{}}"#
      try bench.good("import", file, try bench.write(line, to: "in.ndjson"))
    }
    #expect(try pin(file) == (input == "gone" ? nil : "1234"))
  }

  @Test("what changes --json and cloudkit-json print is not taken for rows", arguments: [false, true])
  func otherForms(isCloudKit: Bool) throws {
    let (file, copy) = (bench.path("a.daybook"), bench.path("copy.daybook"))
    try bench.good("import", file, try bench.write("id,n\na,1\nb,2\n", to: "t.csv"), "--id", "id")
    let printed =
      isCloudKit
      ? try bench.good("dump", file, "--format", "cloudkit-json") : try bench.good("changes", file, "_defaultZone", "--json")
    let input = try bench.write(printed.output, to: "in.json")
    let refused = bench.run("import", copy, input)
    #expect(refused.status == 6 && refused.errors.contains(isCloudKit ? "cloudkit-json" : "daybook changes --json"))
    #expect(!FileManager.default.fileExists(atPath: copy))
    // --format says that they are rows; and a row that only has some of the keys is one.
    try bench.good("import", copy, input, "--format", "json")
    let rows = #"{"saved":[],"deleted":[],"token":"x"}"# + "\n" + #"{"recordName":"a","recordType":"T","fields":{}}"#
    try bench.good("import", bench.path("rows.daybook"), try bench.write(rows, to: "rows.ndjson"))
  }

  @Test("two texts of an import never become one record, and names come back from an export as they were")
  func names() throws {
    let file = bench.path("n.daybook")
    let table = try bench.write("id,title\n\"é\",a\n%C3%A9,b\n_x,c\n%5Fx,d\n100%,e\n%C3%A9,f\n", to: "n.csv")
    let outcome = try bench.good("import", file, table, "--id", "id", "--type", "T")
    #expect(!outcome.output.contains("replaced") && outcome.output.contains("3 without a usable name"), "\(outcome.output)")
    #expect(try bench.records(file).keys.sorted() == ["%5Fx", "%C3%A9", "100%", "row-2", "row-4", "row-6"])
    #expect(try bench.records(file)["%C3%A9"]?["title"] == .string("a"))
    let csv = bench.path("back.csv")
    try bench.good("export", file, csv)
    let again = try bench.good("import", file, csv, "--id", "name", "--type", "T", "--on-existing", "update")
    #expect(again.output.contains("6 updated a record"), "\(again.output)")
    #expect(try bench.records(file).count == 6)
  }

  @Test("a container's database comes back from its dump with its user")
  func users() throws {
    let folder = bench.path("container")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let container = try Container.open("iCloud.example.app", in: folder)
    var user = try container.privateDatabase.userRecord()
    user["nickname"] = "ann"
    try container.privateDatabase.save(user)
    try container.close()
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix("private.daybook") }
    let file = folder + "/" + (try #require(paths.first))
    let dump = try bench.good("dump", file).output
    #expect(dump.contains("Users"))
    let copy = bench.path("copy.daybook")
    try bench.good("import", copy, try bench.write(dump, to: "users.ndjson"))
    #expect(try bench.good("dump", copy).output == dump)
    #expect(try bench.good("import", file, try bench.write(dump, to: "again.ndjson")).output.contains("without a change"))
  }

  @Test("CSV says whose zone a row is of where there are several owners, and has no column name twice")
  func columns() throws {
    let file = bench.path("o.daybook")
    let database = try Database.open(at: file)
    let (own, other) = (try Zone.ID("Z"), try Zone.ID("Z", owner: "_bob"))
    for (index, zone) in [own, other].enumerated() {
      var record = try Record(type: "T", id: Record.ID("r1", in: zone))
      record["name"] = "n\(index)"
      try database.write {
        try $0.save(Zone(zone))
        try $0.save(record)
      }
    }
    try database.close()
    let rows = try bench.good("export", file, "-", "--format", "csv").output.split(separator: "\r\n").map(String.init)
    #expect(rows == ["zone,owner,recordName,type,parent,name", "Z,__defaultOwner__,r1,T,,n0", "Z,_bob,r1,T,,n1"])
  }

  @Test(
    "a query without a limit prints each record once, also when there are more than a page",
    arguments: ["recordName", "-b", "b", ""])
  func pages(order: String) throws {
    let file = bench.path("p.daybook")
    var table = "id,b\n"
    for number in 0..<25_000 { table += "r\(number),\(number * 7919 % 25_000)\n" }
    try bench.good("import", file, try bench.write(table, to: "p.csv"), "--id", "id", "--type", "T")
    func query(_ limit: String) throws -> [Substring] {
      let outcome =
        order.isEmpty
        ? try bench.good("query", file, "T", "b >= 1000", "--keys", "b", "--limit", limit)
        : try bench.good("query", file, "T", "b >= 1000", "--keys", "b", "--limit", limit, "--sort", order)
      return outcome.output.split(separator: "\n")
    }
    let lines = try query("1000000")
    #expect(lines.count == 24_000)
    #expect(Set(lines).count == 24_000)
    #expect(try query("12345") == Array(lines.prefix(12_345)))
  }

  @Test("dates of a CSV export are read again as they were", arguments: ["iso8601"])
  func dates(pattern: String) throws {
    var table = "id,t\n"
    for number in 0..<1000 {
      table += "r\(number),2021-10-22T18:30:\(10 + number % 50).\(String(1000 + number).dropFirst())Z\n"
    }
    let (file, copy) = (bench.path("d.daybook"), bench.path("d2.daybook"))
    try bench.good("import", file, try bench.write(table, to: "d.csv"), "--id", "id", "--date", "t=\(pattern)")
    let database = try Database.open(at: file)
    for number in 0..<1000 {
      var record = try Record(type: "Exact", id: Record.ID("x\(number)"))
      record["t"] = Date(timeIntervalSinceReferenceDate: Double(number) * 654_321.123_456_7 - 1e8)
      try database.save(record)
    }
    try database.close()
    let csv = bench.path("out.csv")
    try bench.good("export", file, csv)
    #expect(try String(contentsOfFile: csv, encoding: .utf8).contains(",2021-10-22T18:30:22.012Z\r\n"))
    try bench.good("import", copy, csv, "--id", "name", "--date", "t=\(pattern)")
    let (old, new) = (try bench.records(file), try bench.records(copy))
    #expect(old.count == 2000)
    for (name, record) in old { #expect(new[name]?["t"] == record["t"], "\(name)") }
  }

  @Test("a dump that comes back unchanged writes nothing, also where a record has a small asset")
  func unchangedAsset() throws {
    let (file, content) = (bench.path("a.daybook"), try bench.write("poster", to: "poster"))
    try bench.good(
      "put", file, "Z", "n", "--type", "T", "poster:asset=\(content)", #"more:assets=[{"byteCount":1,"content":"AA=="}]"#)
    let dump = try bench.good("dump", file).output
    let outcome = try bench.good("import", file, try bench.write(dump, to: "in.ndjson"))
    #expect(outcome.output.contains("1 of them without a change"), "\(outcome.output)")
    #expect(try bench.good("history", file, "Z", "n", "--json").output.split(separator: "\"tag\"").count == 3)
    let other = dump.replacing("AA==", with: "AQ==")
    #expect(bench.run("import", file, try bench.write(other, to: "other.ndjson")).status == 6)
  }

  @Test("records that go with another one are not told as missing when they are named, too")
  func cascade() throws {
    let file = bench.path("g.daybook")
    try bench.good("put", file, "Z", "owner", "--type", "T", "n=1")
    let line =
      #"{"zone":"Z","name":"owned","type":"T","fields":{"r":{"type":"reference","value":{"name":"owner","action":"deleteSelf"}}}}"#
    try bench.good("import", file, try bench.write(line + "\n" + line.replacing("owned", with: "third"), to: "r.ndjson"))
    let outcome = try bench.good("delete", file, "Z", "owner", "owned", "owner")
    #expect(outcome.errors.isEmpty, "\(outcome.errors)")
    #expect(outcome.output.contains("deleted 3 records, 1 of them because they go"), "\(outcome.output)")
  }

  @Test("an import that updates leaves the values alone that a row does not have")
  func updated() throws {
    let file = bench.path("u.daybook")
    try bench.good("put", file, "_defaultZone", "a", "--type", "T", "x=1", "y=2", "z=3")
    let table = try bench.write("id,x,y\na,10,\nb,20,5\n", to: "u.csv")
    let outcome = try bench.good("import", file, table, "--id", "id", "--type", "T", "--on-existing", "update")
    #expect(outcome.output.contains("1 updated a record"), "\(outcome.output)")
    let records = try bench.records(file)
    #expect(records["a"] == ["id": .string("a"), "x": .int(10), "y": .int(2), "z": .int(3)])
    #expect(records["b"]?["y"] == .int(5))
  }

  @Test("a file that is read again as an asset is no change")
  func sameFile() throws {
    let (file, content) = (bench.path("f.daybook"), try bench.write(String(repeating: "x", count: 100_000), to: "poster"))
    let again = try bench.write(String(repeating: "x", count: 100_000), to: "again")
    try bench.good("put", file, "Z", "n", "--type", "T", "poster:asset=\(content)")
    #expect(try bench.good("put", file, "Z", "n", "poster:asset=\(again)").errors.contains("nothing changed"))
    let other = try bench.write(String(repeating: "y", count: 100_000), to: "other")
    #expect(try !bench.good("put", file, "Z", "n", "poster:asset=\(other)").errors.contains("nothing changed"))
    let table = try bench.write("id,file\nn,other\n", to: "files.csv")
    let outcome = try bench.good(
      "import", file, table, "--id", "id", "--zone", "Z", "--type", "T", "--asset", "poster=file", "--on-existing", "update")
    #expect(outcome.output.contains("1 updated"), "\(outcome.output)")
    let repeated = try bench.good(
      "import", file, table, "--id", "id", "--zone", "Z", "--type", "T", "--asset", "poster=file", "--on-existing", "update")
    #expect(repeated.output.contains("without a change"), "\(repeated.output)")
  }

  @Test("put --remove takes an encrypted value away")
  func removed() throws {
    let file = bench.path("e.daybook")
    try saveCard(file)
    let outcome = try bench.good("put", file, "_defaultZone", "c1", "--remove", "pin")
    #expect(!outcome.errors.contains("nothing changed"), "\(outcome.errors)")
    #expect(try pin(file) == nil)
    #expect(try bench.good("dump", file).output.contains("visa"))
  }
}
