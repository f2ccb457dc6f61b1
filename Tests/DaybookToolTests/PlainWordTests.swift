import Daybook
import Foundation
import Testing

@testable import DaybookTool

// What the tool says to its user, who need not know of frames, logs and locks.

@Suite("the tool in plain words")
struct PlainWordTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
  }

  // MARK: a file that is in use

  @Test("a file that an application has open is called in use, not a crash", arguments: ["info", "check"])
  func inUse(command: String) throws {
    try bench.good("put", file, "Z", "n", "--type", "T", "a=1")
    #expect(!bench.run(command, file).output.contains("in use"))
    let database = try Database.open(at: file)
    for number in 1...3 { try database.save(Record(type: "T", id: Record.ID("r\(number)", in: Zone.ID("Z")))) }
    let outcome = bench.run(command, file)
    #expect(
      outcome.status == 0 && outcome.output.contains("in use: another process has it open for writing"), "\(outcome.output)")
    #expect(!outcome.output.contains("not closed"))
    #expect(try json(bench.run(command, file, "--json").output)["isOpenElsewhere"] == true)
    try database.close()
    let closed = bench.run(command, file)
    #expect(!closed.output.contains("in use") && !closed.output.contains("not closed"), "\(closed.output)")
    #expect(try json(bench.run(command, file, "--json").output)["isOpenElsewhere"] == false)
  }

  @Test("a file that no process has open, and none has closed, says both that may be", arguments: ["info", "check"])
  func notClosed(command: String) throws {
    try bench.good("put", file, "Z", "n", "--type", "T", "a=1")
    let database = try Database.open(at: file)
    try database.save(Record(type: "T", id: Record.ID("r", in: Zone.ID("Z"))))
    let copy = try bench.write(Array(try Data(contentsOf: URL(fileURLWithPath: file))), to: "copy.daybook")
    try database.close()
    let outcome = bench.run(command, copy)
    #expect(outcome.output.contains("not closed: its last writer ended without a close, or is between two transactions"))
  }

  // MARK: a damaged byte

  /// A file of 30 records, of which five were changed; one byte of the change of n2 is another.
  private func damaged() throws -> String {
    let rows = (0..<30).map { "n\($0),title number \($0)" }.joined(separator: "\n")
    let input = try bench.write("name,title\n\(rows)\n", to: "rows.csv")
    try bench.good("import", file, input, "--id", "name", "--zone", "Library", "--type", "Movie")
    for number in 1...5 { try bench.good("put", file, "Library", "n\(number)", "title=changed \(number)") }
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let word = Array("changed 2".utf8)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: word) })
    bytes[place + 3] ^= 0xFF
    return try bench.write(bytes, to: "damaged.daybook")
  }

  @Test(
    "one damaged byte is one damaged commit: the file is not called cut short, and nothing is counted that was not looked at")
  func damagedByte() throws {
    let damaged = try damaged()
    for command in [["info", damaged], ["check", damaged], ["dump", damaged]] {
      let outcome = bench.run(command)
      #expect(!(outcome.output + outcome.errors).contains("cut short"), "\(command): \(outcome)")
    }
    #expect(bench.run("info", damaged).output.contains("damaged   commit 4 is damaged"))
    let check = bench.run("check", damaged)
    #expect(check.status == 1 && check.output.contains("commit 4 is damaged, and was acknowledged"))
    #expect(!check.output.contains("0 records") && !check.output.contains("0 zones"), "\(check.output)")
    #expect(check.errors.contains("Commits before it can be read as they are, those after it can be copied."))
    #expect(try json(bench.run("check", damaged, "--json").output)["missingByteCount"] == 0)
  }

  @Test("salvage says what is lost, what became of it, and what was copied")
  func salvaged() throws {
    let (damaged, out) = (try damaged(), bench.path("out.daybook"))
    let outcome = bench.run("salvage", damaged, out)
    #expect(outcome.status == 1)
    #expect(
      outcome.lines == [
        "lost: a part of commit 4; what else it changed was copied",
        "  a record that was changed there is as it was before, and one that was made there is missing",
        "incomplete: copied 30 records in 2 zones, of 6 whole commits",
      ], "\(outcome.output)")
    #expect(try bench.records(out)["n2"]?["title"] == "title number 2")
    #expect(try bench.records(out)["n3"]?["title"] == "changed 3")
  }

  @Test("a damaged file that is too short, too, is called both")
  func damagedAndCut() throws {
    let damaged = try damaged()
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: damaged)))
    let least = try #require(bytes.lastIndex { $0 != 0 })
    let cut = try bench.write(Array(bytes[..<(least - 200)]), to: "cut.daybook")
    let check = bench.run("check", cut)
    #expect(check.output.contains("commit 4 is damaged") && check.output.contains("cut short"), "\(check.output)")
  }

  // MARK: names

  @Test("put tells of a type and a key that are new, with what they are close to")
  func newNames() throws {
    #expect(
      try bench.good("put", file, "Library", "dune", "--type", "Movie", "title=Dune", "year=2021").errors
        == "made \(file)\nmade zone Library\n")
    #expect(try bench.good("put", file, "Library", "dune", "title=Dune 2").errors.isEmpty)
    let type = try bench.good("put", file, "Library", "alien", "--type", "Movei", "title=Alien").errors
    #expect(type.contains("made type Movei. Did you mean Movie?"), "\(type)")
    let key = try bench.good("put", file, "Library", "dune", "titel=Dune").errors
    #expect(key.contains("made key titel of type Movie. Did you mean title?"), "\(key)")
    let other = try bench.good("put", file, "Library", "dune", "rating=5").errors
    #expect(other == "made key rating of type Movie.\n", "\(other)")
    let removed = try bench.good("put", file, "Library", "dune", "--remove", "yaer").errors
    #expect(removed.contains("no record of type Movie has the key yaer. Did you mean year"), "\(removed)")
  }

  @Test("a misspelt key got an index, and queries by it were not warned of any more: it is refused unless --new asks for it")
  func indexNames() throws {
    try bench.good("put", file, "Library", "dune", "--type", "Movie", "title=Dune", "year=2021")
    #expect(try bench.good("index", file, "Movie", "year").errors.isEmpty)
    let key = bench.run("index", file, "Movie", "yaer")
    #expect(key.status == 2 && key.output.isEmpty)
    #expect(key.errors.contains("no record of type Movie has the key yaer. Did you mean year?"), "\(key.errors)")
    #expect(key.errors.contains("No index was made.") && key.errors.contains("--new makes one"), "\(key.errors)")
    let type = bench.run("index", file, "Movei", "year").errors
    #expect(type.contains("there is no record of type Movei. Did you mean Movie?"), "\(type)")
    #expect(try bench.good("index", file).lines.count == 2)
    #expect(try bench.good("index", file, "Movie", "yaer", "--new").output.contains("yaer"))
    #expect(try bench.good("query", file, "Movie", "yaer == 1").errors.contains("has the key yaer. Did you mean year?"))
    // One that is there is completed, or left as it is.
    #expect(try bench.good("index", file, "Movie", "yaer").errors.isEmpty)
  }

  // MARK: a column with one n/a

  @Test("a column of numbers that one cell makes text says which cell")
  func exception() throws {
    let rows = (1...9).map { "\($0),\($0 == 6 ? "n/a" : "\($0).5"),\($0 % 2 == 0 ? "x" : "7"),t\($0)" }
    let input = try bench.write((["id,price,mixed,title"] + rows).joined(separator: "\n") + "\n", to: "a.csv")
    let outcome = try bench.good("import", file, input, "--id", "id")
    #expect(
      outcome.errors.contains(
        "key price: text, because 1 of 9 cells is no number, that of row 6, line 7; empty cells would leave numbers"),
      "\(outcome.errors)")
    #expect(outcome.errors.contains("key mixed: text, because 4 of 9 cells are no numbers, the first of row 2, line 3"))
    #expect(!outcome.errors.contains("key title") && !outcome.errors.contains("key id"))
    #expect(try bench.records(file)["1"]?["price"] == "1.5")
    // With the row named: what --strict says.
    let strict = bench.run("import", bench.path("b.daybook"), input, "--strict")
    #expect(strict.status == 6 && strict.errors.contains("row 2"), "\(strict.errors)")
  }

  // MARK: a file that is there

  @Test("export leaves a file that is there as it was, and replaces it with --force", arguments: ["out.ndjson", "out.csv"])
  func existing(name: String) throws {
    try bench.good("put", file, "Library", "dune", "--type", "Movie", "title=Dune")
    let out = try bench.write("mine", to: name)
    let outcome = bench.run("export", file, out)
    #expect(outcome.status == 5 && outcome.errors.contains("is there already, and has content."), "\(outcome.errors)")
    #expect(outcome.errors.contains("--force") && outcome.output.isEmpty)
    #expect(try String(contentsOfFile: out, encoding: .utf8) == "mine")
    try bench.good("export", file, out, "--force")
    #expect(try String(contentsOfFile: out, encoding: .utf8).contains("Dune"))
    // An empty one, as mktemp makes it, has nothing to lose.
    let empty = try bench.write("", to: "empty-" + name)
    try bench.good("export", file, empty)
    #expect(try String(contentsOfFile: empty, encoding: .utf8).contains("Dune"))
  }
}
