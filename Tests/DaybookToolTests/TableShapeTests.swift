import Daybook
import Foundation
import Testing

@testable import DaybookTool

// Tables that are split at another character than their author meant, and members that JSON has twice: told before anything is saved.

@Suite("shapes of imported tables")
struct TableShapeTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("lib.daybook")
  }

  private func refused(_ text: String, _ name: String = "a.csv", _ options: String...) throws -> String {
    let outcome = bench.run(["import", file, try bench.write(text, to: name)] + options)
    #expect(outcome.status == 6 && outcome.output.isEmpty, "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: file))
    return outcome.errors
  }

  // MARK: delimiters

  @Test(
    "a table of semicolons whose header has quotes was told to double its quotes",
    arguments: [
      "\"name\";\"price\"\n\"x\";\"1,5\"\n", "name;\"price\"\nx;\"1\"\n", "\"name\";price\r\nx;1\r\ny;2\r\n",
      "\"na;me\";price\n\"x\";1\n",
    ])
  func quotedHeader(text: String) throws {
    let errors = try refused(text)
    #expect(errors.contains("line 1: ") && errors.contains("--delimiter semicolon"), "\(errors)")
    #expect(!errors.contains("Double the quotes") && !errors.contains("double the quotes"))
    try bench.good("import", file, bench.path("a.csv"), "--delimiter", "semicolon")
    #expect(try bench.records(file).values.allSatisfy { $0.count == 2 })
  }

  @Test("a comma table whose values have semicolons is imported, and is told of its quotes where they are wrong")
  func semicolonsInValues() throws {
    let errors = try refused("name,tags\nx,\"a\";b\n")
    #expect(errors.contains("line 2: text after a closing quote") && errors.contains("Double the quotes"), "\(errors)")
    #expect(!errors.contains("--delimiter"))
    let input = try bench.write("name,tags\nx,a;b\ny,\"c;d\"\n", to: "b.csv")
    #expect(try !bench.good("import", file, input, "--id", "name").errors.contains("delimiter"))
    #expect(try bench.records(file)["y"]?["tags"] == "c;d")
  }

  @Test("one column whose quoted name has a semicolon was told that a semicolon splits it")
  func quotedName() throws {
    let input = try bench.write("\"notes; remarks\"\n\"a; b\"\nc\n", to: "a.csv")
    #expect(try !bench.good("import", file, input).errors.contains("delimiter"))
  }

  @Test("a table of semicolons with a comma in its header and in each row was split at the commas and saved")
  func bothSplit() throws {
    let text = "name;size, cm\nx;1,5\ny;2,25\n"
    let errors = try refused(text)
    #expect(errors.contains("--delimiter semicolon") && errors.contains("--delimiter comma"), "\(errors)")
    try bench.good("import", file, bench.path("a.csv"), "--delimiter", "semicolon", "--id", "name")
    #expect(try bench.records(file)["x"]?["size__cm"] == "1,5")
    let other = bench.path("other.daybook")
    try bench.good("import", other, bench.path("a.csv"), "--delimiter", "comma")
  }

  // MARK: decimal commas

  @Test("a number with a decimal comma was two cells, and nothing said which column it was in")
  func decimalComma() throws {
    let errors = try refused("name,price,n\nx,1.5,1\ny,-2,75,3\n")
    #expect(errors.contains("line 3: the row has 4 cells, the header 3."), "\(errors)")
    #expect(errors.contains("in the column price a decimal comma") && errors.contains("write a point"), "\(errors)")
    // Which of them it is cannot be told.
    #expect(try refused("a,b\n1,2,5\n").contains("in the column a or b a decimal comma"))
    let unsure = try refused("a,b,c\nx,1,2,5,7\n")
    #expect(unsure.contains("decimal comma") && !unsure.contains("column"), "\(unsure)")
    let none = try refused("a,b\nx,y,z\n")
    #expect(!none.contains("decimal comma") && none.contains("with a comma in it needs quotes"))
  }

  @Test("numbers with decimal commas became text, and nothing said so")
  func textOfNumbers() throws {
    let input = try bench.write("name;price;size\nx;1,5;1,5\ny;7;2\nz;-0,25;large\n", to: "a.csv")
    let outcome = try bench.good("import", file, input, "--delimiter", "semicolon", "--id", "name")
    #expect(outcome.errors.contains("key price: text") && outcome.errors.contains("decimal comma"), "\(outcome.errors)")
    #expect(outcome.errors.components(separatedBy: "key price").count == 2)
    #expect(!outcome.errors.contains("key size"))
    #expect(try bench.records(file)["x"]?["price"] == "1,5")
    let other = bench.path("other.daybook")
    let strict = bench.run("import", other, input, "--delimiter", "semicolon", "--strict")
    #expect(strict.status == 6 && strict.errors.contains("price"), "\(strict.errors)")
    #expect(strict.errors.contains("decimal comma"))
  }

  @Test("thousands with commas were taken for decimal commas, and a point in their place was advised")
  func thousands() throws {
    let input = try bench.write("city,population\nA,\"12,345\"\nB,\"7,890\"\n", to: "a.csv")
    let outcome = try bench.good("import", file, input, "--id", "city", "--strict")
    #expect(!outcome.errors.contains("decimal"), "\(outcome.errors)")
    #expect(try bench.records(file)["A"]?["population"] == "12,345")
    #expect(outcome.errors.contains("key population: text, because its numbers have commas"), "nothing was told")
    let mixed = try bench.write("city,share\nA,\"1,345\"\nB,\"0,890\"\n", to: "b.csv")
    #expect(try bench.good("import", bench.path("other.daybook"), mixed).errors.contains("decimal comma"))
  }

  @Test("a space in front of a quoted cell was answered with advice to quote the cell")
  func spaceBeforeQuote() throws {
    let input = try bench.write("note, \"x;y\"\n1,2\n", to: "a.csv")
    let outcome = bench.run("import", file, input)
    #expect(outcome.status == 6 && outcome.errors.contains("Leave out the spaces in front of it"), "\(outcome.errors)")
    let inside = bench.run("import", file, try bench.write("note,x \"y\"\n1,2\n", to: "b.csv"))
    #expect(inside.errors.contains("Quote the whole cell") && !inside.errors.contains("spaces"), "\(inside.errors)")
  }

  // MARK: members

  @Test("of a member that JSON has twice the last one counted: it is refused with its place")
  func repeatedMember() throws {
    let row = try refused("{\"a\":1}\n{\"a\":1,\"b\":2,\"a\":null}\n", "a.ndjson")
    #expect(row.contains("line 2, column 14, row 2: the key a is there twice"), "\(row)")
    let nested = try refused("[{\"a\": {\"b\": [{\"c\": 1,\n  \"c\": 2}]}}]", "a.json")
    #expect(nested.contains("line 2, column 3, row 1: the key c is there twice"), "\(nested)")
    let many = (0..<100).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(try refused("{\(many),\"k99\":1}\n", "a.ndjson").contains("the key k99 is there twice"))
    // One letter in two ways of writing it is two keys, as everywhere.
    try bench.good("import", file, try bench.write("{\"e\u{301}\":1,\"\u{e9}\":2}\n", to: "b.ndjson"))
    let fields = #""n":{"type":"int","value":1},"n":{"type":"int","value":2}"#
    let line = #"{"zone":"_defaultZone","name":"a","type":"T","fields":{\#(fields)}}"#
    let dump = bench.run("import", file, try bench.write(line + "\n", to: "c.ndjson"))
    #expect(dump.status == 6 && dump.errors.contains("the key n is there twice"), "\(dump.errors)")
  }
}
