import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTool

/// Records and tables that somebody wrote to fill a disk, to take all memory, or to run in a spreadsheet.
@Suite("hostile data")
struct HostileDataTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  // MARK: tables of all keys

  @Test("records with keys of their own each are not made a table of rows times keys, and the error says how to go on")
  func wideTable() throws {
    let file = bench.path("a.daybook")
    var lines = ""
    for row in 0..<30 {
      let fields = (0..<20).map { "\"k\(row)_\($0)\":1" }.joined(separator: ",")
      lines += "{\"name\":\"r\(row)\",\(fields)}\n"
    }
    try bench.good("import", file, try bench.write(lines, to: "in.ndjson"), "--id", "name", "--type", "T")
    let out = bench.path("out.csv")
    // Not so many that it matters.
    #expect(bench.run("export", file, out).status == 0)
    #expect(try String(contentsOfFile: out, encoding: .utf8).split(separator: "\r\n").count == 31)
    try FileManager.default.removeItem(atPath: out)
    // What an export of ten times as many would say.
    var table = CSVExport.Table()
    for row in 0..<1200 { table.add((0..<90).map { "k\(row)_\($0)" }) }
    do throws(ToolError) {
      try table.check()
      Issue.record("108,000 columns of 1,200 rows")
    } catch {
      #expect(error.status == .usage && error.message.contains("129,600,000 cells"), "\(error.message)")
      #expect(error.advice?.contains("--keys") == true)
    }
    // As wide, but filled; and few cells, though empty.
    var full = CSVExport.Table()
    for _ in 0..<20_000 { full.add((0..<100).map { "k\($0)" }) }
    try full.check()
    var small = CSVExport.Table()
    for row in 0..<900 { small.add(["k\(row)"]) }
    try small.check()

    let chosen = try bench.good("export", file, "-", "--format", "csv", "--keys", "k7_3,name,k0_0").output
      .split(separator: "\r\n").map { String($0) }
    #expect(chosen.first == "zone,recordName,type,parent,k7_3,name,k0_0")
    #expect(chosen.count == 31 && chosen.contains("_defaultZone,r7,T,,1,r7,"), "\(chosen.prefix(9))")
    for bad in ["", "a,,b", "a,a"] { #expect(bench.run("export", file, "-", "--format", "csv", "--keys", bad).status == 2) }
    #expect(bench.run("export", file, "-", "--keys", "name").status == 2)
  }

  // MARK: cells that run

  @Test(
    "with --no-formulas nothing in a cell is one, wherever a spreadsheet splits it",
    arguments: [
      ("a;=1", "a;'=1"), ("a; =1", "a; '=1"), ("a;\"=1\"", "a;\"'=1\""), ("x\t@SUM(A1)", "x\t'@SUM(A1)"), ("a\n+1", "a\n'+1"),
      ("a\r-1", "a\r'-1"), (";=1", ";'=1"), ("\"=1", "\"'=1"), (" =1", " '=1"), ("\u{FF1D}1", "'\u{FF1D}1"),
      ("\u{FF0B}1", "'\u{FF0B}1"), ("a;\u{FF20}b", "a;'\u{FF20}b"), ("a=b;c=d", "a=b;c=d"), ("1 - 2", "1 - 2"), ("-7", "-7"),
      ("-1.5e3", "-1.5e3"), ("-inf", "-inf"), ("", ""), ("\u{FEFF}x", "\u{FEFF}x"), ("e@mail", "e@mail"),
    ])
  func formulas(cell: String, neutral: String) {
    #expect(CSVExport.withoutFormulas(cell) == neutral)
    // Whoever splits at semicolons, tabs and line ends, and drops blanks and quotes, finds no formula.
    for piece in CSVExport.withoutFormulas(cell).split(whereSeparator: { ";\t\r\n".contains($0) }) {
      let start = piece.drop { $0 == " " || $0 == "\"" }
      #expect(!["=", "+", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF20}"].contains { start.hasPrefix($0) }, "\(piece)")
    }
  }

  // MARK: rows without end

  @Test("a row of nothing but separators ends with an error that names its line", arguments: [",", "\"\","])
  func separators(cell: String) throws {
    let row = Array(String(repeating: cell, count: 2000).utf8)
    var reader = CSVReader(ByteSource(Array("a,b\n".utf8) + row, pieceByteCount: 64), maximumByteCount: 4000)
    #expect(try reader.next())
    let error = #expect(throws: ToolError.self) { try reader.next() }
    #expect(error?.message.hasPrefix("line 2:") == true, "\(error?.message ?? "")")
  }

  @Test("a table of more columns than a record has fields is refused before any of them costs something")
  func columns() throws {
    let header = String(repeating: ",", count: 70_000)
    let input = try bench.write(header + "\n" + header + "\n", to: "in.csv")
    let outcome = bench.run("import", bench.path("a.daybook"), input)
    #expect(outcome.status == 6 && outcome.errors.contains("70,001 columns"), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: bench.path("a.daybook")))
  }

  // MARK: encrypted values

  @Test("an import says that it saves encrypted values as they are, and what an application with a cipher has to do")
  func unsealed() throws {
    let line =
      #"{"zone":"_defaultZone","name":"a","type":"T","fields":{},"encrypted":{"pin":{"type":"string","value":"1"},"#
      + #""old":{"type":"sealed","value":null}}}"# + "\n"
    let input = try bench.write(line, to: "in.ndjson")
    let file = bench.path("a.daybook")
    let outcome = try bench.good("import", file, input)
    #expect(outcome.errors.contains("1 encrypted value saved") && outcome.errors.contains("acceptsUnsealedValues"))
    #expect(outcome.output.contains("1 sealed value left out"))
    #expect(try bench.good("import", bench.path("b.daybook"), input, "--json").output.contains(#""unsealedCount":1"#))
    // Nothing is saved the second time, and nothing said.
    #expect(try !bench.good("import", file, input).errors.contains("encrypted"))
    #expect(try bench.good("help", "import").output.contains("acceptsUnsealedValues"))
  }

  // MARK: names that something else has

  @Test("what has a name that belongs to Daybook is told: what it is, whose, and what to do")
  func plantedNames() throws {
    let file = bench.path("a.daybook")
    try bench.good("put", file, "Z", "n", "--type", "T")
    #expect(try !bench.good("info", file).output.contains("blocked"))
    try FileManager.default.createDirectory(atPath: file + ".compacted", withIntermediateDirectories: false)
    let outcome = bench.run("compact", file)
    #expect(outcome.status == 5 && outcome.errors.contains("a.daybook.compacted"), "\(outcome.errors)")
    #expect(outcome.errors.contains("It is a directory of yours.") && outcome.errors.contains("move it away"))
    // And before anybody asks for it: the one by itself is blocked, too.
    let info = try bench.good("info", file)
    #expect(info.output.contains("blocked") && info.output.contains("a.daybook.compacted"), "\(info.output)")
    #expect(try bench.good("info", file, "--json").output.contains(#""compactionObstacle":""#))
    try FileManager.default.removeItem(atPath: file + ".compacted")
    try FileManager.default.createSymbolicLink(atPath: file + ".compacted.new", withDestinationPath: "nothing")
    #expect(bench.run("compact", file).errors.contains("It is a symbolic link of yours."))
    #expect(try bench.good("info", file).output.contains("blocked"))
    try FileManager.default.removeItem(atPath: file + ".compacted.new")
    try bench.good("compact", file)
    #expect(try !bench.good("info", file).output.contains("blocked"))
  }

  @Test("a folder of assets that is another database's is told by info, with what to do, until it is taken over")
  func anothersFolder() throws {
    for name in ["a.daybook", "b.daybook"] {
      _ = try bench.write(String(repeating: name, count: 20_000), to: name + ".jpg")
      let rows = try bench.write("id,picture\nn,\(name).jpg\n", to: "rows.csv")
      try bench.good("import", bench.path(name), rows, "--type", "T", "--id", "id", "--asset", "file=picture")
    }
    let file = bench.path("a.daybook")
    #expect(try !bench.good("info", file).output.contains("no assets are removed"))
    try FileManager.default.removeItem(atPath: file + ".assets")
    try FileManager.default.moveItem(atPath: bench.path("b.daybook.assets"), toPath: file + ".assets")
    let info = try bench.good("info", file).output
    #expect(
      info.contains("no assets are removed") && info.contains("another database") && info.contains("--take-over"), "\(info)")
    #expect(try bench.good("info", file, "--json").output.contains(#""collectionObstacle":""#))
    #expect(bench.run("assets", file, "collect").status != 0)
    try bench.good("assets", file, "collect", "--take-over")
    #expect(try !bench.good("info", file).output.contains("no assets are removed"))
  }

  // MARK: contents under false names

  @Test("a record that claims another content's SHA-256 for its own bytes does not keep that one out of an export")
  func falseDigest() throws {
    let file = bench.path("a.daybook")
    let content = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
    var options = Database.Options()
    options.inlineAssetByteCount = 1000
    let database = try Database.open(at: file, options: options)
    var honest = try Record(type: "T", id: Record.ID("zzz"))
    honest["file"] = Asset(data: content)
    let name = try #require((try database.write { try $0.save(honest) }["file"] as Asset?)?.sha256)
    var forged = try Record(type: "T", id: Record.ID("aaa"))
    forged["file"] = Asset(data: Data("small".utf8))
    let saved = try database.write { try $0.save(forged) }
    var bytes = saved.body.withBytes { $0.array }
    let own = Array("small".utf8).withView { SHA256.digest(of: $0) }
    let start = try #require((0..<bytes.count - 32).first { Array(bytes[$0..<$0 + 32]) == own })
    bytes.replaceSubrange(start..<start + 32, with: [UInt8](content).withView { SHA256.digest(of: $0) })
    try database.write { transaction in
      let context = transaction.context
      try context.start()
      let operation = context.changes.beginOperation()
      context.changes.payload.append(bytes)
      try context.endOperation(operation, .saveRecord)
    }
    try database.close()
    let outcome = bench.run("export", file, bench.path("out.ndjson"), "--assets", bench.path("out"))
    #expect(outcome.status == 3 && outcome.errors.contains("aaa"), "\(outcome.errors)")
    #expect(try Data(contentsOf: bench.directory.appendingPathComponent("out/\(name)")) == content)
  }
}
