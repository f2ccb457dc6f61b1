import Daybook
import DaybookEngine
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
    #expect(words.lines[0].hasPrefix("scan 6 records of type Movie in 2 zones") && words.lines[2] == "keep the first 2 by year")
    let json = bench.run("query", file, "Movie", "year > 2000", "--sort", "year", "--explain", "--json")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(
      object["access"] as? String == "scan" && object["recordCount"] as? Int == 6
        && object["filter"] as? String == "year > 2000")
  }

  @Test("explain had no order by name, though query sorted by it, a zone after the other")
  func explainOfNames() throws {
    let words = bench.run("explain", file, "Movie", "year > 2000")
    // Not of one without a record of the type.
    #expect(words.lines.filter { $0.hasPrefix("scan") }.count == 2, "a plan for each zone: \(words.output)")
    #expect(words.lines.filter { $0.hasPrefix("keep the first 10000 by recordName") }.count == 2)
    #expect(bench.run("explain", file, "None", "year > 2000").lines.filter { $0.hasPrefix("scan") }.count == 1)
    #expect(bench.run("query", file, "Movie", "year > 2000", "--explain").output == words.output)
    let plan = try json(bench.good("explain", file, "Movie", "--zone", "Library", "--json").output)
    #expect(plan["sort"] == ["recordName"] && plan["zones"] == ["Library"])
    // A count needs no order, and no pages.
    let count = try json(bench.good("query", file, "Movie", "--count", "--explain", "--json").output)
    #expect(count["sort"] == [] && count["limit"] == nil)
  }

  @Test("a misspelt type or key found nothing, and nothing was said")
  func misspelt() throws {
    let type = bench.run("query", file, "Movi")
    #expect(type.status == 0 && type.output.isEmpty)
    #expect(type.errors.contains("no record of type Movi. Did you mean Movie?"))
    let key = bench.run("query", file, "Movie", "yaer > 2000 AND title != 'x' OR yaer < 3", "--count")
    #expect(key.status == 0 && key.output == "0\n")
    #expect(key.errors == "daybook: no record of type Movie has the key yaer. Did you mean year?\n")
    let all = bench.run("query", file, "*", "self CONTAINS 'x' OR TITEL == 'y'")
    #expect(all.errors == "daybook: no record has the key TITEL. Did you mean title?\n")
    let sort = bench.run("explain", file, "Movie", "--sort", "zzz")
    #expect(sort.errors == "daybook: no record of type Movie has the key zzz.\n")
    let zone = bench.run("query", file, "Theater", "--zone", "Library")
    #expect(zone.status == 0 && zone.errors == "daybook: there is no record of type Theater in zone Library.\n")
  }

  @Test("warnings are told once for all plans of explain, and are members of its JSON; fields has the option that is meant")
  func warnings() throws {
    let words = bench.run("explain", file, "Movie", "yaer > 2000")
    #expect(words.errors == "daybook: no record of type Movie has the key yaer. Did you mean year?\n")
    #expect(!words.output.contains("yaer. Did"))
    let plan = try json(bench.run("explain", file, "Movie", "year = '2021'", "--zone", "Library", "--json").output)
    guard case .array(let warnings)? = plan["warnings"] else { throw ToolError.usage("no warnings") }
    #expect(warnings.count == 1 && warnings[0]["reason"] == "otherKind" && warnings[0]["name"] == "year")
    #expect(warnings[0]["kinds"] == ["int"] && warnings[0]["constant"] == "string")
    let option = bench.run("query", file, "Movie", "--fields", "title")
    #expect(option.status == 2 && option.errors.contains("There is no option --fields; --keys is one."), "\(option.errors)")
  }

  @Test("a list that is compared with one of its elements found nothing, and nothing was said")
  func lists() throws {
    try bench.good("put", file, "Library", "dune", "genres:strings=[\"Drama\"]")
    let outcome = bench.run("query", file, "Movie", "genres = 'Drama'")
    #expect(outcome.status == 0 && outcome.output.isEmpty)
    #expect(
      outcome.errors.contains("genres is of the kind strings, and a list is compared as a whole: ANY genres"),
      "\(outcome.errors)")
    let found = bench.run("query", file, "Movie", "ANY genres = 'Drama'")
    #expect(found.lines.count == 1 && found.errors.isEmpty)
  }

  @Test(
    "what a query names and the database knows is not warned of",
    arguments: [
      ["Movie", "year > 2000 AND recordName != 'x' AND creationDate < now()"], ["Theater"], ["*", "title == 'x'"],
      ["Movie", "self CONTAINS 'dune'", "--sort", "-title"],
    ])
  func known(words: [String]) { #expect(bench.run(["query", file] + words).errors.isEmpty) }

  @Test("subscriptions are listed with what they watch and what they tell")
  func subscriptions() throws {
    #expect(bench.run("subscriptions", file).lines == ["SUBSCRIPTION  TO  FIRES ON"])
    #expect(bench.run("subscriptions", file, "--json").output == "[]\n")
    let database = try Database.open(at: file)
    var info = Subscription.NotificationInfo()
    info.alertBody = "New"
    try database.write { transaction in
      let query = Query("Movie", where: .field("year") > 2000, in: try Zone.ID("Library"))
      try transaction.save(Subscription("new", to: query, firesOn: [.creation, .update], firesOnce: true, info: info))
      try transaction.save(Subscription("zone\u{1B}", to: try Zone.ID("Archive"), recordType: "Movie"))
      try transaction.save(Subscription(toDatabase: "all"))
    }
    try database.close()
    let table = bench.run("subscriptions", file)
    #expect(table.status == 0 && table.lines.count == 4)
    #expect(table.lines[1].hasPrefix("all ") && table.lines[1].contains("database"))
    #expect(table.lines[2].contains("query Movie where year > 2000 in Library"))
    #expect(table.lines[2].hasSuffix("creation, update, once"))
    #expect(table.lines[3].contains("zone Archive, only Movie") && Plants.rawControls(in: table.output).isEmpty)
    guard case .array(let list) = try json(bench.run("subscriptions", file, "--json").output) else {
      throw ToolError.usage("no array")
    }
    #expect(list.map { $0["target"] } == ["database", "query", "zone"])
    #expect(list[1]["predicate"] == "year > 2000" && list[1]["firesOn"] == ["creation", "update"])
    #expect(list[1]["recordType"] == "Movie" && list[1]["zone"] == "Library" && list[1]["firesOnce"] == true)
    #expect(list[1]["info"]?["alertBody"] == "New" && list[2]["recordType"] == "Movie")
    #expect(bench.run("subscriptions", bench.path("none.daybook")).status == 5)
  }

  @Test("watch --query prints the result, then what becomes of it")
  func watchResult() throws {
    let whole = bench.run("watch", file, "--query", "year < 2000", "--type", "Movie", "--zone", "Library", "--limit", "1")
    #expect(whole.status == 0 && whole.lines.count == 3 && whole.lines[0].hasSuffix("2 records"))
    #expect(whole.lines[1].hasPrefix("  inserted  0  {") && whole.lines[1].contains("\"alien\""))

    let outcome = Locked<(status: Int32, text: String)?>(nil)
    let watcher = Thread { [file] in
      let output = Output.memory()
      let status = Tool.run(
        arguments: [
          "watch", file, "--query", "year < 2000", "--type", "Movie", "--zone", "Library", "--sort", "-year", "--limit", "2",
          "--json",
        ], output: output, errors: .memory())
      outcome.withLock { $0 = (status, output.text) }
    }
    watcher.start()
    // Watching begins at some moment: changes are made and taken back until one was seen.
    let database = try Database.open(at: file)
    let zone = try Zone.ID("Library")
    for number in 0..<400 where outcome.withLock({ $0 == nil }) {
      try database.write { transaction in
        var film = try Record(type: "Movie", id: Record.ID(number.isMultiple(of: 2) ? "solaris" : "stalker", in: zone))
        film["year"] = number.isMultiple(of: 2) ? 1990 + number % 9 : 1960 + number % 30
        try transaction.save(film, policy: .changedKeys)
      }
      Thread.sleep(forTimeInterval: 0.15)
    }
    try database.close()
    let (status, text) = try #require(outcome.withLock { $0 })
    let lines = try text.split(separator: "\n").map { try json(String($0)) }
    #expect(status == 0 && lines.count == 2)
    guard case .array(let first)? = lines[0]["inserted"], case .array(let inserted)? = lines[1]["inserted"],
      case .array(let moved)? = lines[1]["moved"], case .array(let updated)? = lines[1]["updated"],
      case .int(let before)? = lines[0]["count"], case .int(let after)? = lines[1]["count"]
    else { throw ToolError.usage("not the members of a difference") }
    #expect(first.count == before && first.allSatisfy { $0["record"]?["type"] == "Movie" && $0["index"] != nil })
    #expect(Int(after) == first.count + inserted.count && inserted.count + moved.count + updated.count > 0)
  }

  @Test("watch refuses options that do not go together")
  func watchMistakes() throws {
    #expect(bench.run("watch", file, "--type", "Movie").errors.contains("--type goes with --query"))
    #expect(bench.run("watch", file, "--query", "year > 1", "--since", "1").status == 2)
    #expect(bench.run("watch", file, "--query", "year >").status == 2)
    // As query has it.
    #expect(bench.run("watch", file, "--query", "year > 1", "--zone", "Nowhere").status == 2)
  }
}
