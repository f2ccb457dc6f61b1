import Daybook
import Foundation
import Testing

@testable import DaybookTool

// Names that somebody else chose, on their way to a terminal, a table, a log and a spreadsheet.

@Suite("names that are shown")
struct ShownNameTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  /// A database whose zones, texts and own name hold everything that must not reach a terminal.
  private func fill() throws -> String {
    let file = bench.path("e\u{1B}[2Jvil\n\u{202E}.daybook")
    for name in Plants.names {
      try bench.good("put", file, name, "n", "--type", "T", "text=\(name)", "list:strings=[\"\\u001b\"]")
    }
    return file
  }

  @Test("listings, dumps, errors and advice show no raw control or mark of direction, each name on its line")
  func listings() throws {
    let file = try fill()
    let evil = Plants.names[0]
    for call in [
      ["info", file], ["zones", file], ["types", file], ["types", file, "--fields"], ["dump", file],
      ["dump", file, "--format", "text"],
      ["dump", file, "--format", "cloudkit-json"], ["get", file, evil, "n"], ["get", file, evil, "none"],
      ["history", file, evil, "n"],
      ["changes", file, evil], ["changes", file, "\u{1B}none"], ["log", file], ["pages", file], ["pages", file, "--tree"],
      ["map", file], ["report", file],
      ["check", file, "--deep"], ["watch", file, "--since", "0", "--limit", "3"], ["dump", file, "--zone", "\u{1B}none"],
      ["\u{1B}command"], ["dump", file, "--\u{1B}option"], ["put", file, evil, "n", "\u{1B}"],
      ["put", file, "\u{1B}", "\u{1B}", "--type", "T"],
      ["put", file, evil, "n", "\u{1B}=1"], ["put", file, evil, "n", "a:\u{1B}=1"], ["delete", file, evil, "\u{1B}"],
      ["backup", file, bench.path("\u{1B}copy")], ["backup", file, bench.path("\u{1B}copy")],
      ["info", bench.path("\u{1B}none")],
      ["export", file, bench.path("\u{1B}out.csv")], ["export", file, bench.path("\u{1B}/\n/out.csv")],
      ["delete", file, evil, "--whole-zone"], ["salvage", file, bench.path("\u{1B}saved")],
    ] {
      let outcome = bench.run(call)
      #expect(Plants.rawControls(in: outcome.output + outcome.errors).isEmpty, "\(call)")
      // A message is one line, its advice another.
      #expect(outcome.errors.split(separator: "\n").count <= 3, "\(outcome.errors)")
    }
    #expect(try bench.good("zones", file).lines.count == Plants.names.count + 1)
    for call in [["zones", file, "--json"], ["info", file, "--json"], ["dump", file, "--json"], ["pages", file, "--json"]] {
      let outcome = bench.run(call)
      #expect(Plants.rawControls(in: outcome.output).isEmpty, "\(call)")
    }
  }

  @Test("a table stays aligned whatever its cells hold")
  func table() throws {
    let lines = try bench.good("zones", try fill()).lines
    let column = try #require(lines[0].range(of: "RECORDS")).upperBound
    let width = lines[0].distance(from: lines[0].startIndex, to: column)
    for line in lines.dropFirst() { #expect(line.prefix(width).last?.isNumber == true, "\(line)") }
  }

  @Test("JSON stays JSON, and reads back to the very names")
  func json() throws {
    let file = try fill()
    let zones = try DaybookToolTests.json(bench.good("zones", file, "--json").output)
    guard case .array(let list) = zones else { throw ToolError.usage("not a list") }
    #expect(Set(list.compactMap { $0["name"]?.text }) == Set(Plants.names + ["_defaultZone"]))
    let decoded = try #require(
      try JSONSerialization.jsonObject(with: Data(bench.good("zones", file, "--json").output.utf8)) as? [[String: Any]])
    #expect(Set(decoded.compactMap { $0["name"] as? String }) == Set(Plants.names + ["_defaultZone"]))
    var bytes: [UInt8] = []
    JSONText.append("\u{9B}\u{7F}\u{202E}\u{2028}é\"\\\n", to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == #""\u009b\u007f\u202e\u2028é\"\\\n""#)
    let copy = bench.path("copy.daybook")
    try bench.good("import", copy, bench.write(bench.good("dump", file).output, to: "dump.ndjson"))
    #expect(try bench.good("dump", copy).output == bench.good("dump", file).output)
  }

  @Test("headers and names of an import are told without their controls")
  func headers() throws {
    let rows = "na\u{1B}[31mme,\"two\nlines\",\u{202E}x\nn\u{1B},1,2\n"
    let input = try bench.write(rows, to: "in\u{1B}put.csv")
    for call in [
      ["import", bench.path("a.daybook"), input], ["import", bench.path("a.daybook"), input, "--id", "\u{1B}"],
      ["import", bench.path("a.daybook"), input, "--date", "two\nlines=%Y"],
      ["import", bench.path("a.daybook"), input, "--id", "na\u{1B}[31mme"],
      ["import", bench.path("a.daybook"), bench.path("\u{1B}none.csv")],
      ["import", bench.path("a.daybook"), input, "--asset", "k=two\nlines"],
    ] {
      let outcome = bench.run(call)
      #expect(Plants.rawControls(in: outcome.output + outcome.errors).isEmpty, "\(call): \(outcome.errors.debugDescription)")
      #expect(!(outcome.output + outcome.errors).isEmpty)
    }
  }

  @Test("a drawing is XML whatever the zones are called")
  func drawing() throws {
    let file = try fill()
    try bench.good("map", file, "-o", bench.path("out.svg"))
    try bench.good("pages", file, "-o", bench.path("out.svg"))
    let text = try String(contentsOfFile: bench.path("out.svg"), encoding: .utf8)
    #expect(Plants.rawControls(in: text).isEmpty && text.contains("two\\nlines"))
  }

  @Test("CSV is exact, and with --no-formulas nothing in it is a formula")
  func formulas() throws {
    let file = bench.path("a.daybook")
    let values = ["=1+2", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-7", "-1.5e3", "- x", "plain", "a=b", "\u{1B}"]
    for (index, value) in values.enumerated() {
      try bench.good(
        "put", file, "=zone", "n\(String(format: "%02d", index))", "--type", "T", "text:string=\(value)", "number:int=-7")
    }
    func cells(_ call: [String]) throws -> [String: [String]] {
      var options = call
      options.append(contentsOf: ["--format", "csv"])
      let outcome = bench.run(options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      var reader = CSVReader(ByteSource(Array(outcome.output.utf8)))
      var rows: [String: [String]] = [:]
      while try reader.next() { rows[reader.text(1)] = (0..<reader.cellCount).map { reader.text($0) } }
      return rows
    }
    let exact = try cells(["export", file, "-"])
    let neutral = try cells(["export", file, "-", "--no-formulas"])
    for (index, value) in values.enumerated() {
      let name = "n\(String(format: "%02d", index))"
      #expect(exact[name] == ["=zone", name, "T", "", "-7", value])
      let isFormula = index < 4 || value == "- x"
      // Whoever splits at tabs finds a cell of its own behind one.
      let plain = ["\t=1": "'\t'=1", "\r=1": "'\r'=1"][value] ?? (isFormula ? "'" + value : value)
      #expect(neutral[name] == ["'=zone", name, "T", "", "-7", plain])
    }
    #expect(bench.run("export", file, "-", "--no-formulas").status == 2)
    // A terminal gets no control; every other output the cell as it is.
    var bytes: [UInt8] = []
    let record = try Record(type: "T", id: Record.ID("n", in: Zone.ID("\u{1B}[31m\n")))
    try CSVExport(keys: [], isShown: true).append(record, to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "\\u{1B}[31m\\n,n,T,\r\n")
  }

  // MARK: bytes that are no text

  @Test("an argument that is not UTF-8 is refused with its bytes shown, and no other file is made")
  func arguments() throws {
    let errors = Output.memory()
    let word = Array(bench.path("caf").utf8) + [0xE9] + Array("\u{1B}.daybook".utf8)
    let words = [Array("daybook".utf8), Array("put".utf8), word] + ["Z", "n", "--type", "T"].map { Array($0.utf8) }
    #expect(Tool.run(words: words, output: .memory(), errors: errors) == 2)
    #expect(errors.text.contains("caf\\xE9\\u{1B}.daybook"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path).isEmpty)
    let good = words.map { $0 == word ? Array(bench.path("café.daybook").utf8) : $0 }
    #expect(Tool.run(words: good, output: .memory(), errors: .memory()) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path) == ["café.daybook"])
  }

  @Test("the program refuses such an argument, and a folder of such a name", .enabled(if: ProgramUnderTest.url != nil))
  func program() throws {
    let folder = bench.directory.path
    let run = try ProgramRun.start(["put"], script: "cd '\(folder)'; \"$@\" \"$(printf 'caf\\351')\" Z n --type T")
    #expect(run.status == 2 && run.errors.contains("caf\\xE9"))
    let inside = try ProgramRun.start(
      ["put", "x.daybook", "Z", "n", "--type", "T"],
      script: "cd '\(folder)'; d=$(printf 'd\\351'); mkdir \"$d\"; cd \"$d\"; \"$@\"; s=$?; ls -A; exit $s")
    #expect(inside.status == 5 && inside.output.isEmpty && inside.errors.contains("not valid UTF-8"), "\(inside.errors)")
    // Through a link whose own name is sound.
    let link = try ProgramRun.start(
      ["put", bench.path("link/x.daybook"), "Z", "n", "--type", "T"],
      script: "cd '\(folder)'; ln -s \"$(printf 'd\\351')\" link; \"$@\"")
    #expect(link.status == 5 && link.errors.contains("not valid UTF-8"), "\(link.errors)")
    // Nothing beside it, under the name that a repair would give.
    let names = try ProgramRun.start([], script: "ls -A '\(folder)' | wc -l; ls -A '\(folder)'/d* | wc -l")
    #expect(
      names.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } == ["2", "0"], "\(names.output)")
  }

  @Test("errors of the library read on one line, and keep the names as they are in their facts")
  func libraryErrors() throws {
    let name = "a\u{1B}[2J\n\u{202E}b"
    let database = try Database.open(at: bench.path("a.daybook"))
    do {
      _ = try database.changes(in: Zone.ID(name), since: nil)
      Issue.record("there is no such zone")
    } catch {
      for text in ["\(error)", error.localizedDescription, error.facts.description] {
        #expect(Plants.rawControls(in: text).isEmpty && !text.contains("\n"))
      }
      #expect(error.facts.zone?.name ?? error.facts.name == name)
      #expect("\(error)".contains(#"a\u{1B}[2J\n\u{202E}b"#))
    }
    let cause = DatabaseError(.ioFailed, cause: DatabaseError(.ioFailed, facts: .init(path: "x\u{9B}")))
    #expect("\(cause)".contains(#"x\u{9B}"#) && Plants.rawControls(in: "\(cause)").isEmpty)
    try database.close()
  }
}
