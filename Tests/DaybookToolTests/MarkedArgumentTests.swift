import Daybook
import Foundation
import Testing

@testable import DaybookTool

/// Arguments that are a letter under 400,000 marks. To compare two such texts, or to find a character in one, Swift sorts the
/// marks, in the square of their number: the commands took minutes.
@Suite("arguments of many marks", .timeLimit(.minutes(15)))
struct MarkedArgumentTests {
  private static let marks = String(repeating: "\u{301}\u{323}", count: 200_000)
  private static let marked = "e" + marks

  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
    try bench.good("put", file, "Z", "a", "--type", "T", "n=1")
  }

  @Test("no command, option or word of an option is one")
  func words() {
    let (marked, option) = (Self.marked, "--" + Self.marked)
    for arguments in [
      [marked], ["-" + Self.marks], [option], ["help", marked], ["completions", marked], ["get", file, "Z", "a", option],
      ["get", file, "Z", "a", option + "=x"], ["get", file, "Z", "a", "-" + Self.marks],
      ["export", file, "-", "--format", marked], ["export", file, "-", "--format", "csv", "--delimiter", marked],
      ["index", file, "T", "n", "--kind", marked], ["index", file, "T", "n", "--kinds", "queryable," + marked],
      ["assets", file, marked], ["put", file, "Z", "a", marked], ["put", file, "Z", "a", "n:" + marked + "=1"],
    ] {
      #expect(bench.run(arguments).status == 2, "\(arguments.map { $0.unicodeScalars.prefix(20) })")
    }
  }

  @Test("a value of a record is one, and is printed")
  func value() throws {
    try bench.good("put", file, "Z", "a", "text=" + Self.marked)
    #expect(try bench.records(file)["a"]?["text"] == .string(Self.marked))
    #expect(try bench.good("get", file, "Z", "a").output.utf8.count > Self.marks.utf8.count)
    try bench.good("query", file, "T", "--keys", Self.marked)
  }

  @Test("no file, zone, type or key is one")
  func names() {
    let marked = Self.marked
    for arguments in [
      ["get", file, "Z", marked], ["get", file, marked, "a"], ["get", marked, "Z", "a"], ["query", file, marked],
      ["query", file, "T", "--sort", marked], ["query", file, "T", marked], ["import", file, file, "--assets", marked],
      ["import", file, marked], ["import", bench.path("b.daybook"), file, "--id", marked], ["export", file, marked],
      ["put", file, "Z", "a", marked + "=1"], ["put", file, "Z", marked, "--type", "T"],
      ["put", file, "Z", "b", "--type", marked], ["delete", file, "Z", marked], ["index", file, marked, "n"],
      ["index", file, "T", marked],
    ] {
      #expect(bench.run(arguments).status != 0, "\(arguments.map { $0.unicodeScalars.prefix(20) })")
    }
  }
}
