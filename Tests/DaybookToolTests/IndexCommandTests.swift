import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("the command index")
struct IndexCommandTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("films.daybook")
    let database = try Database.open(at: file)
    try database.write { transaction in
      for number in 0..<40 {
        var film = try Record(type: "Movie", id: Record.ID("m\(number)"))
        film["year"] = 1980 + number
        film["title"] = .string("The film number \(number)")
        film["at"] = .location(Location(latitude: Double(number), longitude: 10))
        try transaction.save(film)
      }
    }
    try database.close()
  }

  @Test("an option that makes or drops an index is refused without TYPE and KEY, and not ignored")
  func nameless() throws {
    for options in [["--new"], ["--drop"], ["--kind", "text"], ["--kinds", "queryable"]] {
      let run = bench.run(["index", file] + options)
      #expect(run.status == 2 && run.output.isEmpty, "\(options)")
      #expect(run.errors.contains("An index is named by TYPE and KEY."))
      #expect(run.errors.contains("daybook index FILE [TYPE] [KEY]"))
    }
  }

  @Test("an index is made, listed, used and dropped")
  func life() throws {
    #expect(try bench.good("index", file, "--json").output == "[]\n")
    let made = try bench.good("index", file, "Movie", "year", "--kinds", "queryable").output
    #expect(made.contains("Movie") && made.contains("year") && made.contains("complete") && made.contains("40"))
    #expect(try bench.good("explain", file, "Movie", "year == 1999").output.contains("index of Movie.year, 1 entries"))
    #expect(try bench.good("query", file, "Movie", "year == 1999").output.contains("\"m19\""))
    let listed = try bench.good("info", file, "--json").output
    #expect(listed.contains(#""indexes":[{"type":"Movie","key":"year","kind":"value","state":"complete","entryCount":40}]"#))
    #expect(try bench.good("info", file).output.contains("index     Movie.year  40 entries"))
    #expect(try bench.good("check", file, "--deep").status == 0)
    _ = try bench.good("index", file, "Movie", "year", "--drop")
    #expect(try bench.good("index", file, "--json").output == "[]\n")
    #expect(try bench.good("explain", file, "Movie", "year == 1999").output.contains("scan"))
  }

  @Test("indexes of words and of places are made by their kind, shown, used and dropped one by one")
  func kinds() throws {
    _ = try bench.good("index", file, "Movie", "title", "--kind", "text")
    _ = try bench.good("index", file, "Movie", "title", "--kind", "value")
    let made = try bench.good("index", file, "Movie", "at", "--kinds", "location").lines
    let rows = made.map { $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") }
    #expect(
      rows == [
        "TYPE KEY KIND STATE ENTRIES", "Movie at location complete 40", "Movie title value complete 40",
        "Movie title text complete 120",
      ])
    #expect(
      try bench.good("explain", file, "Movie", "self CONTAINS '7'").output.contains("text index of Movie.title, 1 entries"))
    let near = "distanceToLocation:fromLocation:(at, location(7, 10)) < 20"
    #expect(try bench.good("explain", file, "Movie", near).output.contains("location index of Movie.at"))
    #expect(try bench.good("explain", file, "Movie", near, "--json").output.contains(#""indexKind":"location""#))
    #expect(try bench.good("query", file, "Movie", near).output.contains("\"m7\""))
    #expect(try bench.good("info", file).output.contains("index     Movie.title (text)  120 entries"))
    #expect(try bench.good("types", file, "--fields").output.contains("text, value"))
    let json = try bench.good("types", file, "--fields", "--json").output
    #expect(
      try JSONDecoder().decode(Schema.self, from: Data(json.utf8))["Movie"]?.indexes.map(\.kind) == [.text, .value, .location])
    _ = try bench.good("index", file, "Movie", "title", "--drop", "--kind", "text")
    #expect(try bench.good("index", file).lines.count == 3)
    _ = try bench.good("index", file, "Movie", "title", "--drop")
    #expect(try bench.good("index", file).lines.count == 2)
    #expect(try bench.good("check", file, "--deep").status == 0)
    #expect(bench.run("index", file, "Movie", "at", "--drop", "--kind", "text").status == 2)
  }

  @Test("index --drop printed nothing")
  func dropped() throws {
    try bench.good("index", file, "Movie", "title", "--kinds", "queryable,searchable")
    #expect(
      try bench.good("index", file, "Movie", "title", "--drop").lines == [
        "dropped the value index of Movie.title, 40 entries", "dropped the text index of Movie.title, 120 entries",
      ])
    try bench.good("index", file, "Movie", "year")
    let json = try bench.good("index", file, "Movie", "year", "--drop", "--json").output
    #expect(json.contains(#""type":"Movie","key":"year","kind":"value""#))
    try bench.good("index", file, "Movie", "year")
    let unknown = bench.run("index", file, "Movi", "yaer", "--drop")
    #expect(unknown.status == 2 && unknown.output.isEmpty)
    #expect(unknown.errors.contains("no such index of Movi.yaer. Did you mean Movie.year?"), "\(unknown.errors)")
  }

  @Test("an index of a system field is refused by name", arguments: ["recordChangeTag", "___etag"])
  func systemKeys(key: String) {
    let outcome = bench.run("index", file, "Movie", key)
    #expect(outcome.status == 2 && outcome.errors.contains("The key is reserved for the system."))
    #expect(outcome.errors.contains("key: \(key)"))
  }

  @Test("the dates that the database keeps have an index, by their own names")
  func dates() throws {
    let made = try bench.good("index", file, "Movie", "modificationDate")
    #expect(made.output.contains("modificationDate") && !made.errors.contains("Did you mean"), "\(made.errors)")
    let plan = try bench.good("explain", file, "Movie", "modificationDate < CAST(0, 'NSDate')").output
    #expect(plan.contains("index of Movie.modificationDate"), "\(plan)")
    let alias = bench.run("index", file, "Movie", "___createTime")
    #expect(alias.status == 2 && alias.errors.contains("its key is creationDate"), "\(alias.errors)")
  }

  @Test("an index of the name was refused as reserved; it says that records are looked up by name without one")
  func nameKey() throws {
    let outcome = bench.run("index", file, "Movie", "recordName")
    #expect(
      outcome.status == 2 && outcome.errors.contains("Records are looked up by name without an index"), "\(outcome.errors)")
    let id = bench.run("index", file, "Movie", "id")
    #expect(id.status == 2 && id.errors.contains("has the key id. Did you mean recordName?"), "\(id.errors)")
  }

  @Test("explain says which index of a field that is asked for is not used, and why")
  func unused() throws {
    try bench.good("index", file, "Movie", "year")
    let words = try bench.good("explain", file, "Movie", "year == 1999 OR title == 'x'").output
    #expect(words.contains("value index of year is not used: the other side of OR asks for something else\n"), "\(words)")
    let plan = try json(bench.good("explain", file, "Movie", "NOT year == 1999", "--json").output)
    #expect(plan["unused"] == [["key": "year", "kind": "value", "reason": "negation"]] && plan["warnings"] == [])
  }

  @Test("what names no index is refused as wrong usage")
  func refused() {
    #expect(bench.run("index", file, "Movie").status == 2)
    #expect(bench.run("index", file, "--drop").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--drop").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--kinds", "fast").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--kind", "words").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--kind", "text", "--kinds", "location").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--kinds", "").status == 2)
    #expect(bench.run("index", file, "Movie", "recordName").status != 0)
    #expect(bench.run("index", bench.path("none.daybook"), "Movie", "year").status != 0)
  }
}
