import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("import")
struct ImportTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private var file: String { bench.path("test.daybook") }

  @Test("a dirty JSON file becomes records as the rules say")
  func dirty() throws {
    let input = try bench.write(DirtyFilms.json, to: "films.json")
    let outcome = try bench.good("import", file, input, "--zone", "Library", "--id", "Title")
    #expect(outcome.output.contains("8 rows imported into zone Library as Films"))
    for words in [
      "US Gross → US_Gross_2", "parent → parent_2", "Title: whole numbers and text become text",
      "Rating: whole numbers and decimal numbers become decimal numbers", "line 6: no usable name; the record is row-4",
      "row-8", "1 replaced a record", "2 without a usable name", "emoji 👨‍👩‍👧‍👦 → emoji__",
    ] { #expect((outcome.errors + outcome.output).contains(words), "\(words)") }
    let records = try bench.records(file, zone: "Library")
    #expect(
      Set(records.keys) == [
        "Am%C3%A9lie", "1776", "e%CC%81tude", "row-4", "%5Fhidden", RecordNames.name(for: "كفرناحوم"), "row-8",
      ])
    // The later row of the name is the record: what only the earlier one had is gone.
    #expect(records["Am%C3%A9lie"] == ["Title": "Amélie", "Rating": .double(8.4), "emoji__": "👍🏽"])
    #expect(records["1776"]?["Title"] == .string("1776"))
    #expect(records["1776"]?["Rating"]?.kind == .double && records["1776"]?["Rating"] == .double(7))
    #expect(records["1776"]?["Seen"] == .int(0) && records["1776"]?["Tags"] == .strings([]))
    #expect(records["1776"]?["Released"] == .string("Nov 17 1972") && records["1776"]?["US_Gross_2"] == nil)
    #expect(records["e%CC%81tude"]?["Votes"] == .int(9_007_199_254_740_993))
    #expect(records["e%CC%81tude"]?["Title"] == .string("e\u{301}tude"))
    #expect(records["row-4"]?["Cast"] == .string("[\"nobody\",null]"))
    #expect(records["row-8"]?["Scores"] == .doubles([1, 2.5]) && records["row-8"]?["Matrix"] == .string("[[1],[2]]"))
  }

  @Test("a dump with a reference to a record that a server has named was not read back")
  func namesOfServers() throws {
    let database = try Database.open(at: file)
    var record = try Record(type: "Note", id: Record.ID("n"))
    record["author"] = Record.Reference(try Record.ID(existing: "_3f9a0c"))
    try database.save(record)
    try database.close()
    let lines = try bench.good("dump", file).output
    let copy = bench.path("copy.daybook")
    try bench.good("import", copy, bench.write(lines, to: "lines.ndjson"))
    #expect(try bench.good("dump", copy).output == lines)
  }

  @Test("without --id every row is a record of its own, called by a UUID")
  func uuids() throws {
    let input = try bench.write(DirtyFilms.json, to: "films.json")
    try bench.good("import", file, input)
    try bench.good("import", file, input)
    let records = try bench.records(file, zone: "_defaultZone")
    #expect(records.count == 2 * DirtyFilms.rowCount)
    #expect(records.keys.allSatisfy { UUID(uuidString: $0) != nil })
  }

  @Test("--strict refuses the first key of several kinds, with row, line and key, and nothing is saved")
  func strict() throws {
    let input = try bench.write("[{\"a\": 1},\n {\"a\": 2, \"b\": \"x\"},\n {\"a\": \"y\"}]", to: "rows.json")
    let outcome = bench.run("import", file, input, "--strict")
    #expect(outcome.status == 6)
    #expect(outcome.errors.contains("line 3") && outcome.errors.contains("row 3") && outcome.errors.contains("a holds text"))
    #expect(!FileManager.default.fileExists(atPath: file))
    let numbers = try bench.write("[{\"a\": 1.5},{\"a\": 7}]", to: "numbers.json")
    #expect(bench.run("import", file, numbers, "--strict").status == 6)
    let sound = try bench.write("[{\"a\": true, \"b\": [1]},{\"a\": 7, \"b\": []},{\"a\":null}]", to: "sound.json")
    try bench.good("import", file, sound, "--strict")
  }

  @Test("--strict let a word pass in a column of numbers of a CSV file")
  func strictCells() throws {
    for (name, text) in [("word.csv", "a,n\nx,1990\nx,\nx,soon\n"), ("number.csv", "a,n\nx,soon\nx,\nx,1990\n")] {
      let outcome = bench.run("import", file, try bench.write(text, to: name), "--strict")
      #expect(outcome.status == 6 && outcome.errors.contains("line 4: row 3: n holds"), "\(outcome.errors)")
      #expect(outcome.errors.contains("whole numbers") && outcome.errors.contains("text"))
    }
    #expect(!FileManager.default.fileExists(atPath: file))
    // Numbers are numbers, and what options read is not looked at for its kind.
    let sound = try bench.write("a,n,day\nx,7,2021\ny,7.5,\nz,,1999\n", to: "sound.csv")
    try bench.good("import", file, sound, "--strict", "--date", "day=%Y")
  }

  @Test("--date reads a column as dates, by the name that the input has for it")
  func dates() throws {
    let input = try bench.write(DirtyFilms.json, to: "films.json")
    try bench.good("import", file, input, "--id", "Title", "--date", "Released=%b %d %Y")
    let records = try bench.records(file)
    #expect(records["1776"]?["Released"] == .date(Date(timeIntervalSince1970: 90_806_400)))
    #expect(records["e%CC%81tude"]?["Released"] == nil)
  }

  @Test("a date of another format refuses the input with its line, before anything is saved")
  func wrongDate() throws {
    for (name, text) in [("a.json", "[{\"d\":\"2020-01-01\"},\n{\"d\":\"soon\"}]"), ("a.csv", "d\n2020-01-01\n\nsoon\n")] {
      let outcome = bench.run("import", file, try bench.write(text, to: name), "--date", "d=%F")
      #expect(outcome.status == 6 && outcome.errors.contains(name == "a.csv" ? "line 4" : "line 2"))
    }
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test("CSV: numbers only where every cell is one, empty cells are absent, NA is a text")
  func csv() throws {
    let text =
      "\u{FEFF}id,zip,height,mixed,cc,note\r\n1,01234,1.5,1,NA,\"two\r\nlines, \"\"quoted\"\"\"\r\n\r\n2,99999,2,x,,\r\n"
    try bench.good("import", file, try bench.write(text, to: "rows.csv"), "--id", "id", "--type", "Row")
    let records = try bench.records(file)
    #expect(
      records["1"] == [
        "id": .int(1), "zip": "01234", "height": .double(1.5), "mixed": "1", "cc": "NA",
        "note": "two\r\nlines, \"quoted\"",
      ])
    #expect(records["2"] == ["id": .int(2), "zip": "99999", "height": .double(2), "mixed": "x"])
    #expect(records["2"]?["height"]?.kind == .double && records["1"]?["id"]?.kind == .int)
  }

  @Test("--location makes one key of two columns, and a key of that name steps aside")
  func location() throws {
    let csv = try bench.write("name,lat,lon,location\na,1.5,-2,here\nb,,,\n", to: "places.csv")
    let outcome = try bench.good("import", file, csv, "--location", "lat,lon", "--id", "name")
    #expect(outcome.errors.contains("location → location_2"))
    let records = try bench.records(file)
    #expect(records["a"] == ["name": "a", "location": .location(Location(latitude: 1.5, longitude: -2)), "location_2": "here"])
    #expect(records["b"] == ["name": "b"])
    let json = try bench.write("[{\"n\":\"c\",\"lat\":1,\"lon\":\"2.5\"}]", to: "places.json")
    try bench.good("import", file, json, "--location", "lat,lon", "--id", "n")
    #expect(try bench.records(file)["c"]?["location"] == .location(Location(latitude: 1, longitude: 2.5)))
  }

  @Test(
    "half a place, or one that is no number, refuses the input with its line",
    arguments: [("a.csv", "lat,lon\n1,2\n1,\n", 3), ("a.csv", "lat,lon\n1,north\n", 2), ("a.json", "[{\"lat\":1}]", 1)])
  func wrongPlace(name: String, text: String, line: Int) throws {
    let outcome = bench.run("import", file, try bench.write(text, to: name), "--location", "lat,lon")
    #expect(outcome.status == 6 && outcome.errors.contains("line \(line)"), "\(outcome.errors)")
  }

  @Test("an option that names a column that is not there says which there are")
  func unknownColumn() throws {
    let input = try bench.write("name,lat\na,1\n", to: "rows.csv")
    for option in [["--id", "nam"], ["--date", "nam=%Y"], ["--location", "lat,lon"]] {
      let outcome = bench.run(["import", file, input] + option)
      #expect(outcome.status == 2 && outcome.errors.contains("name, lat"))
    }
  }

  @Test("--on-existing says what becomes of a row whose record exists")
  func onExisting() throws {
    let first = try bench.write("id,a,b\n1,x,y\n2,x,y\n", to: "first.csv")
    let second = try bench.write("id,a,c\n2,z,w\n3,z,w\n", to: "second.csv")
    try bench.good("import", file, first, "--id", "id")
    let skipped = try bench.good("import", file, second, "--id", "id", "--on-existing", "skip", "--type", "First")
    #expect(skipped.output.contains("1 skipped"))
    #expect(try bench.records(file)["2"]?["a"] == "x" && bench.records(file)["3"]?["a"] == "z")
    let failed = bench.run("import", file, second, "--id", "id", "--on-existing", "fail", "--type", "First")
    #expect(failed.status == 1 && failed.errors.contains("line 2"))
    let replaced = try bench.good("import", file, second, "--id", "id", "--type", "First")
    #expect(replaced.output.contains("2 replaced"))
    #expect(try bench.records(file)["2"] == ["id": .int(2), "a": "z", "c": "w"])
    #expect(try bench.records(file)["1"] == ["id": .int(1), "a": "x", "b": "y"])
    let again = try bench.good("import", file, second, "--id", "id", "--type", "First")
    #expect(again.output.contains("2 of them without a change"))
  }

  @Test(
    "a bad row names its line and nothing is saved",
    arguments: [
      ("a.csv", "a,b\n1,2\n3\n", 3), ("a.csv", "a,b\n1,2\n\"x\ny\",2\n1,2,3\n", 5), ("a.csv", "a,b\n1,\"2\n", 2),
      ("a.json", "[{\"a\":1},\n{\"a\":}\n]", 2), ("a.json", "[{\"a\":1},\n[1]\n]", 2), ("a.ndjson", "{\"a\":1}\n\n7\n", 3),
      ("a.ndjson", "{\"zone\":\"Z\",\"name\":\"n\",\"type\":\"T\",\"fields\":{}}\n{\"a\":1}\n", 2),
      ("a.ndjson", "{\"zone\":\"Z\",\"name\":\"n\",\"type\":\"T\",\"fields\":{\"k\":{\"type\":\"int\"}}}\n", 1),
      (
        "a.ndjson",
        "{\"zone\":\"Z\",\"name\":\"n\",\"type\":\"T\",\"fields\":{\"k\":null,\"n\":{\"type\":\"int\",\"value\":1}}}\n", 1
      ),
      ("a.ndjson", "{\"zone\":\"Z\",\"name\":\"n\",\"type\":\"T\",\"fields\":{\"k\":{\"type\":\"int\",\"value\":\"x\"}}}\n", 1),
    ])
  func badRow(name: String, text: String, line: Int) throws {
    let outcome = bench.run("import", file, try bench.write(text, to: name))
    #expect(outcome.status == 6 && outcome.errors.contains("line \(line)"), "\(outcome.errors)")
    #expect(outcome.output.isEmpty && !FileManager.default.fileExists(atPath: file))
  }

  @Test("invalid UTF-8 is refused with its line, in CSV and in JSON")
  func invalidUTF8() throws {
    let csv = try bench.write(Array("a\nx\n".utf8) + [0xFF] + Array("\n".utf8), to: "a.csv")
    let json = try bench.write(Array("[{\"a\":\"x\"},\n{\"a\":\"".utf8) + [0xC3, 0x28] + Array("\"}]".utf8), to: "a.json")
    for (input, line) in [(csv, 3), (json, 2)] {
      let outcome = bench.run("import", file, input)
      let place = input == csv ? "line \(line): " : "line \(line), column 7, row 2: "
      #expect(outcome.status == 6 && outcome.errors.contains(place + "the text is not valid UTF-8"), "\(outcome.errors)")
    }
  }

  @Test("--acknowledge prints how many rows are durable, batch by batch")
  func acknowledge() throws {
    let rows = (1...2500).map { "{\"n\":\($0)}" }.joined(separator: "\n")
    let outcome = try bench.good("import", file, try bench.write(rows, to: "rows.ndjson"), "--acknowledge")
    #expect(outcome.lines == ["1000", "2000", "2500"])
    #expect(outcome.errors.contains("2,500 rows imported"))
    #expect(try bench.records(file).count == 2500)
    let log = try json(bench.good("log", file, "--json", "--kind", "commit").output)
    guard case .array(let commits) = log else { throw ToolError.usage("not a list") }
    #expect(commits.compactMap { $0["savedCount"] }.filter { $0 != 0 } == [1000, 1000, 500])
  }

  @Test("a dump that is imported gives an equal dump, with every kind of value")
  func dumpRoundTrip() throws {
    let films = try bench.write(DirtyFilms.json, to: "films.json")
    try bench.good("import", file, films, "--zone", "Films", "--id", "Title", "--date", "Released=%b %d %Y")
    let cities = try bench.write(CitiesExtract.csv, to: "cities.csv")
    try bench.good("import", file, cities, "--zone", "Zoë 地図", "--location", "lat,lon")
    let database = try Database.open(at: file)
    try database.write { transaction in
      var everything = try LineTests.everything()
      everything.parent = nil
      try transaction.save(Zone(everything.id.zone))
      try transaction.save(everything)
    }
    try database.close()
    let dump = try bench.good("dump", file).output
    #expect(dump.split(separator: "\n").count == 7 + CitiesExtract.rowCount + 1)
    let copy = bench.path("copy.daybook")
    let lines = try bench.write(dump, to: "dump.ndjson")
    try bench.good("import", copy, lines)
    #expect(try bench.good("dump", copy).output == dump)
    // Taking it in again changes nothing and writes nothing.
    let before = try json(bench.good("info", copy, "--json").output)["lastSequence"]
    let again = try bench.good("import", copy, lines)
    #expect(again.output.contains("without a change"))
    #expect(try json(bench.good("info", copy, "--json").output)["lastSequence"] == before)
  }

  @Test("children many batches before their parents, owners and encrypted values come through a dump; who is missing is told")
  func references() throws {
    let bench = try Workbench()
    let zone = try Zone.ID("Library")
    let path = bench.path("a.daybook")
    do {
      let database = try Database.open(at: path)
      try database.write { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(Record(type: "Shelf", id: Record.ID("z", in: zone)))
        for number in 0..<2500 {
          var record = try Record(type: "Book", id: Record.ID("b\(number)", in: zone))
          record.parent = Record.Reference(try Record.ID("z", in: zone))
          record["owner"] = Record.Reference(try Record.ID("z", in: zone), action: .deleteSelf)
          record.encryptedValues["note"] = "note \(number)"
          try transaction.save(record)
        }
      }
      try database.close()
    }
    let dump = try bench.good("dump", path)
    let lines = try bench.write(dump.output, to: "a.ndjson")
    let copy = bench.path("b.daybook")
    let imported = try bench.good("import", copy, lines)
    #expect(!imported.output.contains("not there"))
    #expect(try bench.good("dump", copy).output == dump.output)
    // The shelf does not become another type of record.
    let line = dump.lines[2500].replacing("Shelf", with: "Rack")
    #expect(bench.run("import", copy, try bench.write(line + "\n", to: "z.ndjson")).status == 1)
    #expect(try bench.good("dump", copy).output == dump.output)
    // Without the shelf the books say whom they miss.
    let books = try bench.write(dump.lines.dropLast().joined(separator: "\n"), to: "books.ndjson")
    let partial = try bench.good("import", bench.path("c.daybook"), books)
    #expect(partial.output.contains("1 needed as a parent or validated, and not there"))
    #expect(partial.errors.contains("Library/b0 needs Library/z, which is not there"))
    let json = try bench.good("import", bench.path("c.daybook"), books, "--json")
    #expect(json.output.contains(#""missingTargetCount":1"#))
  }

  @Test("sealed values are marked in a dump, and an import counts what it leaves out")
  func sealedValues() throws {
    struct Scrambler: FieldCipher {
      func seal(_ plaintext: Data, context: Data) -> Data { Data(plaintext.map { $0 ^ 0x5A }) }
      func open(_ sealed: Data, context: Data) -> Data { Data(sealed.map { $0 ^ 0x5A }) }
    }
    let bench = try Workbench()
    let path = bench.path("a.daybook")
    do {
      var options = Database.Options()
      options.cipher = Scrambler()
      let database = try Database.open(at: path, options: options)
      try database.write { transaction in
        var record = try Record(type: "Note", id: Record.ID("a"))
        record["title"] = "open"
        record.encryptedValues["text"] = "closed"
        try transaction.save(record)
      }
      try database.close()
    }
    let dump = try bench.good("dump", path)
    #expect(dump.output.contains(#""encrypted":{"text":{"type":"sealed","value":null}}"#) && !dump.output.contains("closed"))
    let imported = try bench.good("import", bench.path("b.daybook"), try bench.write(dump.output, to: "a.ndjson"))
    #expect(imported.output.contains("1 sealed value left out"))
  }

  @Test("an input without a row is no fault", arguments: [("e.json", ""), ("e.json", "[]"), ("e.csv", "a,b\n"), ("e", " \n")])
  func empty(name: String, text: String) throws {
    let outcome = try bench.good("import", file, try bench.write(text, to: name), "--id", "a")
    #expect(outcome.output.contains("0 rows"))
  }

  @Test("what the input is follows from its name, its first byte, or --format")
  func formats() throws {
    try bench.good("import", file, try bench.write("[a],b\n1,2\n", to: "rows"), "--format", "csv", "--zone", "A")
    try bench.good("import", file, try bench.write("[a],b\n1,2\n", to: "rows.csv"), "--zone", "B")
    try bench.good("import", file, try bench.write("  [{\"a\":1}]", to: "rows"), "--zone", "C")
    try bench.good("import", file, try bench.write("x\n7\n", to: "rows"), "--zone", "D")
    let zones = try json(bench.good("zones", file, "--json").output)
    guard case .array(let list) = zones else { throw ToolError.usage("not a list") }
    #expect(list.filter { $0["recordCount"] == 1 }.count == 4)
  }

  @Test("--json tells what an import did")
  func jsonSummary() throws {
    let input = try bench.write(DirtyFilms.json, to: "films.json")
    let summary = try json(bench.good("import", file, input, "--id", "Title", "--json").output)
    #expect(summary["rowCount"] == 8 && summary["newCount"] == 7 && summary["replacedCount"] == 1)
    #expect(summary["unnamedCount"] == 2 && summary["type"] == "Films" && summary["mappings"]?["US Gross"] == "US_Gross_2")
  }

  @Test("a record that is too large names its line, and what came before stays")
  func tooLarge() throws {
    let rows = (1...1500).map { "{\"n\":\($0)}" }.joined(separator: "\n")
    let text = rows + "\n{\"n\":0,\"text\":\"" + String(repeating: "x", count: 1_100_000) + "\"}\n"
    let outcome = bench.run("import", file, try bench.write(text, to: "rows.ndjson"))
    #expect(outcome.status == 6 && outcome.errors.contains("line 1501:") && outcome.errors.contains("1000 rows"))
    #expect(try bench.records(file).count == 1000)
  }
}
