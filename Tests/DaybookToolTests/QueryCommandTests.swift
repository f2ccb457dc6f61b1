import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("the commands query and explain")
struct QueryCommandTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("films.daybook")
    let database = try Database.open(at: file)
    try database.write { transaction in
      for zone in ["Library", "Archive"] {
        let zone = try Zone.ID(zone)
        try transaction.save(Zone(zone))
        for (name, year) in [("dune", 2021), ("alien", 1979), ("solaris", 1972)] {
          var film = try Record(type: "Movie", id: Record.ID(name, in: zone))
          film["title"] = name.capitalized
          film["year"] = year
          try transaction.save(film)
        }
      }
      try transaction.save(Record(type: "Theater", id: Record.ID("odeon")))
    }
    try database.close()
  }

  private func names(_ outcome: Workbench.Outcome) -> [String] {
    outcome.lines.map { line in
      line.split(separator: "\"zone\":\"").last.map { String($0.split(separator: "\"")[0]) } ?? ""
    }
  }

  @Test("a query prints the lines of dump, by zone and name")
  func lines() throws {
    let all = bench.run("query", file, "Movie")
    #expect(all.status == 0 && all.lines == bench.run("dump", file, "--type", "Movie").lines && all.lines.count == 6)
    let some = bench.run("query", file, "Movie", "year < 2000", "--zone", "Library")
    #expect(some.lines.count == 2 && some.lines[0].contains("\"alien\"") && some.lines[1].contains("\"solaris\""))
    #expect(bench.run("query", file, "Movie", "--where", "year < 2000", "--zone", "Library").output == some.output)
    #expect(bench.run("query", file, "*").lines.count == 7)
    #expect(bench.run("query", file, "Movie", "year > 3000").output.isEmpty)
  }

  @Test("a query is sorted, cut, counted, and has the keys that are asked for")
  func options() throws {
    let sorted = bench.run("query", file, "Movie", "--sort", "-year", "--sort", "title", "--limit", "3", "--keys", "year")
    #expect(
      sorted.lines.count == 3 && sorted.lines.prefix(2).allSatisfy { $0.contains("2021") } && !sorted.output.contains("title"))
    #expect(bench.run("query", file, "Movie", "year < 2000", "--count").output == "4\n")
    #expect(bench.run("query", file, "Movie", "year < 2000", "--count", "--json").output == "{\"count\":4}\n")
    #expect(bench.run("query", file, "Movie", "--limit", "4").lines.count == 4)
    #expect(bench.run("query", file, "Movie", "--metadata", "--limit", "1").output.contains("\"tag\":"))
  }

  @Test("what is wrong with a predicate is shown where it is, with the status of wrong usage")
  func mistakes() throws {
    let outcome = bench.run("query", file, "Movie", "year > AND")
    #expect(outcome.status == 2 && outcome.output.isEmpty)
    #expect(outcome.errors.contains("not well-formed") && outcome.errors.contains("at byte 7: year >  --> AND"))
    #expect(bench.run("query", file, "Movie", "year > 1", "--where", "year > 1").status == 2)
    #expect(bench.run("query", file, "no type").status == 2)
    #expect(bench.run("query", file, "Movie", "--limit", "0").status == 2)
    #expect(bench.run("query", file, "Movie", "--zone", "Nowhere").status != 0)
    #expect(bench.run("query", bench.path("none.daybook"), "Movie").status == 5)
  }

  @Test("explain says how a query is answered, in words and in JSON")
  func explain() throws {
    let words = bench.run("explain", file, "Movie", "year > 2000", "--sort", "year", "--limit", "2")
    #expect(words.status == 0 && words.lines.count == 3)
    #expect(words.lines[0].hasPrefix("scan 6 records of type Movie in 3 zones") && words.lines[2] == "keep the first 2 by year")
    let json = bench.run("query", file, "Movie", "year > 2000", "--explain", "--json")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(
      object["access"] as? String == "scan" && object["recordCount"] as? Int == 6
        && object["filter"] as? String == "year > 2000")
  }
}
