import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("the shell", .enabled(if: ProgramUnderTest.url != nil, "the program was not built beside the tests"))
struct ShellTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
    try bench.good("put", file, "Library", "dune", "--type", "Movie", "title=Dune", "year=2021")
  }

  private func run(_ lines: String, _ options: [String] = [], file: String? = nil) throws -> ProgramRun {
    let input = try bench.write(lines, to: "lines")
    return try ProgramRun.start(["shell", file ?? self.file] + options, script: "\"$@\" < '\(input)'")
  }

  @Test("lines are commands for the one file, with quotes, comments and a last line without an end")
  func lines() throws {
    let run = try run(
      """
      # what is there
      types

      get Library dune
      query Movie 'year > 2000 AND title == "Dune"' --limit 5 --count
      help get
      zones --json
      get Library "dune" --json
      """)
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    #expect(run.output.contains("Movie") && run.output.contains("Usage: daybook get") && run.output.contains("\"year\""))
  }

  @Test("without --write nothing is changed, and the status is that of the first line that was not done")
  func readOnly() throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: file))
    let changes = """
      put Library dune year=1
      delete Library dune
      compact
      index Movie year
      check --rebuild
      assets collect
      import \(bench.path("lines"))
      """
    let refused = try run(changes + "\nget Library none\n")
    #expect(refused.status == 2)
    #expect(refused.errors.components(separatedBy: "would change the database").count == 8, "\(refused.errors)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
    #expect(try run("get Library none\nput Library dune year=1\n").status == 1)
    let allowed = try run("put Library dune year=1\nget Library dune\nindex\nquit\nzones\n", ["--write"])
    #expect(allowed.status == 0 && allowed.output.contains("1") && !allowed.output.contains("CAPABILITIES"))
    #expect(try bench.records(file)["dune"]?["year"] == .int(1))
    #expect(try bench.good("check", file, "--deep").output.hasPrefix("clean:"))
  }

  @Test("what is no line is told in words, and the next one is read")
  func faults() throws {
    let run = try run(
      "get Library 'dune\nget Library dune\\\nshell\nwatch\ndemo\nfrobnicate\nimport -\nquit now\ntypes\n", ["--write"])
    #expect(run.status == 2 && run.output.contains("Movie"))
    for sentence in [
      "A quote is not closed", "Nothing follows the backslash", "no command shell here", "no command watch here",
      "no command demo here", "no command frobnicate here", "cannot be imported", "no command quit here",
    ] { #expect(run.errors.contains(sentence), "\(sentence): \(run.errors)") }
    #expect(try self.run("types\n", file: bench.path("none.daybook")).status == 5)
    let input = try bench.write(Array("get Library \u{FF}".utf8) + [0xFF, 0x0A] + Array("types\n".utf8), to: "bytes")
    let raw = try ProgramRun.start(["shell", file], script: "\"$@\" < '\(input)'")
    #expect(raw.status == 2 && raw.errors.contains("not UTF-8") && raw.output.contains("Movie"))
    for script in ["\"$@\" <&-", "\"$@\" </"] {
      let closed = try ProgramRun.start(["shell", file], script: script)
      #expect(closed.status == 5 || closed.status == 0, "\(closed.errors)")
    }
  }

  @Test("words are divided as shells do")
  func words() throws {
    for (line, words) in [
      ("", []), ("  a\tb  ", ["a", "b"]), ("'a b' \"c d\"", ["a b", "c d"]), ("''", [""]), ("a'b'\"c\"d", ["abcd"]),
      ("\\'a \\\\", ["'a", "\\"]), ("\"a\\\"b\"", ["a\"b"]), ("'a\\b'", ["a\\b"]), ("e\u{301} é", ["e\u{301}", "é"]),
      ("\"it's\"", ["it's"]),
    ] as [(String, [String])] {
      #expect(try CommandWords.words(of: line) == words, "\(line)")
    }
    for line in ["'", "\"a", "\\", "\"\\"] { #expect(throws: CommandWords.Fault.self) { try CommandWords.words(of: line) } }
  }
}
