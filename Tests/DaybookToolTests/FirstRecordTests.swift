import Daybook
import Foundation
import Testing

@testable import DaybookTool

// What a first user met who made, read and looked for records of their own for the first time.

@Suite("first records")
struct FirstRecordTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
    try bench.good("put", file, "Library", "r1", "--type", "Book", "title=Dune", "a=1", "b=2")
  }

  private var lastSequence: JSONValue? {
    get throws { try json(bench.good("info", file, "--json").output)["lastSequence"] }
  }

  @Test("nested values of Codable types were a number of bytes")
  func nestedValues() throws {
    func bytes(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
    let long = "[\"\(String(repeating: "x", count: 5000))\"]"
    try bench.good(
      "put", file, "Library", "r1", "o:bytes=\(bytes("{\"city\":\"Ulm\"}"))", "l:bytes=\(bytes(long))",
      "n:bytes=\(bytes("{no"))", "p:bytes=\(bytes("plain"))", "s:bytesList=[\"\(bytes("[1]"))\",\"\(bytes("x"))\"]")
    let lines = try bench.good("get", file, "Library", "r1").lines
    func line(_ key: String) -> String { lines.first { $0.hasPrefix("  \(key) ") } ?? "" }
    #expect(line("o").hasSuffix("14 bytes, {\"city\":\"Ulm\"}"), "\(line("o"))")
    #expect(line("l").contains("5004 bytes, [\"xxx") && line("l").hasSuffix("…") && line("l").count < 250)
    #expect(line("n").hasSuffix("3 bytes") && line("p").hasSuffix("5 bytes"))
    #expect(line("s").hasSuffix("[3 bytes, [1], 1 byte]"), "\(line("s"))")
  }

  @Test(
    "an empty name of an output was called a missing file or directory",
    arguments: [
      (["backup", "F", ""], "OUT"), (["export", "F", ""], "OUT"), (["salvage", "F", ""], "OUT"),
      (["import", "F", ""], "INPUT"), (["get", "", "Z", "n"], "FILE"),
    ])
  func emptyPath(words: [String], name: String) throws {
    let outcome = bench.run(words.map { $0 == "F" ? file : $0 })
    #expect(outcome.status == 2 && outcome.errors.contains("\(name) is empty: give the path of a file."), "\(outcome.errors)")
  }

  @Test("put made a misspelt zone without the question that other commands ask")
  func misspeltZone() throws {
    let outcome = try bench.good("put", file, "Librry", "r1", "--type", "Book", "title=Dune")
    #expect(outcome.errors.contains("made zone Librry. Did you mean Library?\n"), "\(outcome.errors)")
    #expect(try bench.good("put", file, "Films", "r1", "--type", "Book", "title=Dune").errors.contains("made zone Films\n"))
  }

  @Test("put wrote a version that changed nothing, and did not say that there is no such field")
  func nothingChanged() throws {
    let before = try lastSequence
    let removed = try bench.good("put", file, "Library", "r1", "--remove", "nothing")
    #expect(removed.errors.contains("no record of type Book has the key nothing."), "\(removed.errors)")
    #expect(removed.errors.contains("nothing changed, and no version was written") && removed.output.contains("title"))
    #expect(try bench.good("put", file, "Library", "r1", "title=Dune").errors.contains("nothing changed"))
    #expect(try lastSequence == before)
    // Of the type, but not of this record.
    try bench.good("put", file, "Library", "r2", "--type", "Book", "pages=412")
    #expect(
      try bench.good("put", file, "Library", "r1", "--remove", "pages", "a=2").errors
        == "daybook: Library/r1 does not have the key pages.\n")
    // Another kind of the same number is a change.
    #expect(try !bench.good("put", file, "Library", "r1", "a:double=2").errors.contains("nothing changed"))
    #expect(try bench.good("put", file, "Library", "r1", "--remove", "a").errors.isEmpty)
    #expect(try bench.records(file)["r1"]?["a"] == nil)
  }

  @Test("a date of another form is told with one that is right", arguments: FieldKind.allCases)
  func exampleOfKind(kind: FieldKind) throws {
    if kind == .date {
      let outcome = bench.run("put", file, "Library", "r1", "added:date=01.05.2024")
      #expect(outcome.status == 2 && outcome.errors.contains("For example added:date=2024-05-01"), "\(outcome.errors)")
    }
    if kind == .asset || kind == .string { return }
    let refused = bench.run("put", file, "Library", "r1", "k:\(kind.name)=\u{1}")
    guard let advice = refused.errors.split(separator: "\n").last, advice.hasPrefix("  For example ") else { return }
    let example = advice.dropFirst("  For example ".count)
    // The example is right itself.
    let word = example.replacing("'", with: "").split(separator: ", or ")[0]
    try bench.good("put", file, "Library", "r1", String(word))
  }

  @Test("a key of one letter was asked to be every other of one letter")
  func shortNames() throws {
    let errors = try bench.good("put", file, "Library", "r1", "d=1").errors
    #expect(errors.contains("made key d of type Book.") && !errors.contains("Did you mean"), "\(errors)")
    #expect(bench.run("query", file, "Book", "A = 1").errors.contains("Did you mean a?"))
    #expect(bench.run("query", file, "Book", "tilte = 'x'").errors.contains("Did you mean title?"))
  }

  @Test(
    "a text without quotes, and what SQL says, are told with what is meant",
    arguments: [
      ("title = Dune", "text needs quotes: 'Dune'"), ("title = Dune Messiah", "text needs quotes: 'Dune'"),
      ("title CONTAINS Dune", "text needs quotes: 'Dune'"), ("title IS NULL", "== nil asks whether a field is absent"),
      ("title is not null", "== nil asks whether a field is absent"),
    ])
  func predicates(text: String, words: String) throws {
    let outcome = bench.run("query", file, "Book", text)
    #expect(outcome.status == 2 && outcome.errors.contains(words), "\(outcome.errors)")
  }

  @Test("LIKE with the wildcard of SQL found nothing without a word")
  func wildcards() throws {
    let outcome = try bench.good("query", file, "Book", "title LIKE '%un%'")
    #expect(outcome.output.isEmpty && outcome.errors.contains("the wildcards of LIKE are * and ?"), "\(outcome.errors)")
    for sound in ["title LIKE '*un*'", "title LIKE '100%*'", "title = '%'"] {
      #expect(try !bench.good("query", file, "Book", sound).errors.contains("wildcards"), "\(sound)")
    }
  }

  @Test("put says of what type a record is in words that suit every type")
  func typeInWords() throws {
    let errors = bench.run("put", file, "Library", "r1", "--type", "Article", "a=1").errors
    #expect(errors.contains("Library/r1 is of type Book, and a record never changes its type."), "\(errors)")
  }
}
