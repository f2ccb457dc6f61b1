import Daybook
import Foundation
import Testing

@testable import DaybookTool

// What a first user met who imported tables of their own for the first time.

@Suite("a first import")
struct FirstImportTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("lib.daybook")
  }

  // MARK: records of another type

  private func importAuthors() throws -> (books: String, dump: String) {
    let authors = try bench.write("id,name\n1,Herbert\n2,Lem\n", to: "authors.csv")
    try bench.good("import", file, authors, "--id", "id")
    let books = try bench.write("id,title\n3,Ubik\n2,Solaris\n1,Dune\n", to: "books.csv")
    return (books, try bench.good("dump", file).output)
  }

  @Test("an import of books with the ids of authors deleted the authors: it is refused", arguments: ["replace", "fail"])
  func otherType(action: String) throws {
    let (books, dump) = try importAuthors()
    let before = try json(bench.good("info", file, "--json").output)["lastSequence"]
    let outcome = bench.run("import", file, books, "--id", "id", "--on-existing", action, "--zone", "_defaultZone")
    #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome.errors)")
    #expect(outcome.errors.contains("line 3: the record _defaultZone/2 is of type Authors, the row of type Books"))
    for way in ["never changes its type", "Nothing was saved", "--type Authors", "--zone ZONE", "--id COLUMN", "skip"] {
      #expect(outcome.errors.contains(way), "\(way): \(outcome.errors)")
    }
    #expect(try bench.good("dump", file).output == dump)
    #expect(try json(bench.good("info", file, "--json").output)["lastSequence"] == before)
    // The ways out.
    try bench.good("import", file, books, "--id", "id", "--zone", "Books")
    try bench.good("import", file, books, "--id", "title")
    #expect(try bench.records(file).count == 2 + 3 + 3 - 2, "names of two zones")
    #expect(try bench.good("get", file, "_defaultZone", "1").output.contains("Herbert"))
    // Rows of the type that is there replace it, as before.
    let more = try bench.write("id,name\n2,Stanislaw Lem\n", to: "more.csv")
    try bench.good("import", file, more, "--id", "id", "--type", "Authors")
    #expect(try bench.good("get", file, "_defaultZone", "2").output.contains("Stanislaw"))
  }

  @Test("--on-existing skip leaves out rows whose record is of another type, and says how many")
  func skippedType() throws {
    let (books, _) = try importAuthors()
    let outcome = try bench.good("import", file, books, "--id", "id", "--on-existing", "skip")
    #expect(outcome.lines.first?.hasPrefix("1 row imported") == true, "\(outcome.output)")
    #expect(outcome.output.contains("2 skipped: a record of the same name was there, 2 of them of another type"))
    #expect(try bench.records(file)["1"]?["name"] == "Herbert" && bench.records(file)["3"]?["title"] == "Ubik")
    let summary = try json(bench.good("import", file, books, "--id", "id", "--on-existing", "skip", "--json").output)
    #expect(summary["skippedCount"] == 3 && summary["otherTypeCount"] == 2)
  }

  @Test("a line of a dump deleted a record of another type, and a dump that contradicts itself the first of its own")
  func dumpOfOtherType() throws {
    let (_, dump) = try importAuthors()
    let lines = try bench.write(dump.replacing("Authors", with: "Books"), to: "books.ndjson")
    let outcome = bench.run("import", file, lines)
    #expect(outcome.status == 1 && outcome.errors.contains("line 1: the record _defaultZone/1 is of type Authors"))
    #expect(outcome.errors.contains("Nothing was saved.") && outcome.errors.contains("--on-existing skip"))
    #expect(!outcome.errors.contains("--zone"), "it does not count for a dump")
    #expect(try bench.good("dump", file).output == dump)
    try bench.good("import", file, lines, "--on-existing", "skip")
    #expect(try bench.good("dump", file).output == dump)
    let both = try bench.write(dump + dump.replacing("Authors", with: "Books"), to: "both.ndjson")
    let new = bench.path("new.daybook")
    let twice = bench.run("import", new, both)
    #expect(twice.status == 1 && twice.errors.contains("line 3: ") && twice.errors.contains("0 rows before it were saved"))
    #expect(try bench.records(new).isEmpty)
  }

  @Test("a dump was read three times where no record of another type could be met")
  func readings() throws {
    let (_, dump) = try importAuthors()
    let ofBooks = dump.replacing("Authors", with: "Books")
    let (authors, books) = (try bench.write(dump, to: "a.ndjson"), try bench.write(ofBooks, to: "b.ndjson"))
    let elsewhere = try bench.write(ofBooks.replacing("_defaultZone", with: "Z"), to: "c.ndjson")
    let database = try Database.open(at: file)
    func isComparing(_ path: String) throws -> Bool {
      let importer = try Importer(InputFile(path: path), format: nil, ImportOptions(), errors: Output.memory())
      return try importer.mayMeetOtherTypes(importer.survey(), database)
    }
    #expect(try !isComparing(authors) && !isComparing(elsewhere) && isComparing(books))
    try database.save(Record(type: "Books", id: Record.ID("9")))
    #expect(try isComparing(authors) && !isComparing(elsewhere))
    try database.close()
  }

  @Test("skipped rows were counted as imported")
  func skipped() throws {
    let rows = try bench.write("id,n\n1,1\n2,2\n", to: "rows.csv")
    try bench.good("import", file, rows, "--id", "id")
    let outcome = try bench.good("import", file, rows, "--id", "id", "--on-existing", "skip")
    #expect(outcome.output.hasPrefix("0 rows imported") && outcome.output.contains("2 skipped"), "\(outcome.output)")
  }

  // MARK: delimiters

  @Test(
    "a table of another delimiter was saved as one column of rubbish",
    arguments: [
      ("a.csv", "name;price\nx;1,5\ny;2,5\n", "semicolon"), ("a.csv", "name\tn\nx\t1\n", "tab"),
      ("a.csv", "name|n\nx|1\n", "'|'"), ("a.tsv", "name,n\nx,1\n", "comma"), ("a.csv", "name;note\nx;\"a;b\"\n", "semicolon"),
    ])
  func otherDelimiter(name: String, text: String, delimiter: String) throws {
    let input = try bench.write(text, to: name)
    let outcome = bench.run("import", file, input)
    #expect(outcome.status == 6 && outcome.errors.contains("line 1: the input has one column"), "\(outcome.errors)")
    #expect(outcome.errors.contains("--delimiter \(delimiter) splits them"), "\(outcome.errors)")
    #expect(outcome.errors.contains("--delimiter \(name == "a.tsv" ? "tab" : "comma") imports one column"))
    #expect(!FileManager.default.fileExists(atPath: file))
    let argument = delimiter == "'|'" ? "|" : delimiter
    try bench.good("import", file, input, "--delimiter", argument, "--id", "name")
    #expect(try bench.records(file)["x"]?.count == 2)
  }

  @Test("one column with semicolons in it is imported where that is meant, and where only the header has them")
  func oneColumn() throws {
    let input = try bench.write("notes; remarks\na; b\n", to: "a.csv")
    #expect(bench.run("import", file, input).status == 6)
    try bench.good("import", file, input, "--delimiter", "comma")
    let prose = try bench.write("notes; remarks\nplain\n", to: "b.csv")
    #expect(try bench.good("import", file, prose).errors.contains("one column"))
    #expect(try bench.records(file).count == 2)
  }

  @Test(
    "a first line that names the delimiter became the header",
    arguments: ["sep=;\r\n", "\u{FEFF}sep=;\n", "sep=\t\n", "sep=,\r"])
  func separatorLine(line: String) throws {
    let delimiter = line.contains("\t") ? "\t" : line.contains(",") ? "," : ";"
    let text = line + "name;n\nx;1\ny;2;3\n".replacing(";", with: delimiter)
    let outcome = bench.run("import", file, try bench.write(text, to: "a.csv"))
    #expect(outcome.status == 6 && outcome.errors.contains("line 4: the row has 3 cells"), "\(outcome.errors)")
    let sound = text.replacing("\(delimiter)3", with: "")
    let outcome2 = try bench.good("import", file, try bench.write(sound, to: "a.csv"), "--id", "name")
    #expect(outcome2.output.hasPrefix("2 rows"))
    #expect(try bench.records(file)["y"] == ["name": "y", "n": 2])
    // An option counts more, and a line that names no delimiter is a row.
    let other = try bench.write("sep=;\nname,n\nz,3\n", to: "b.csv")
    try bench.good("import", file, other, "--id", "name", "--delimiter", "comma")
    #expect(try bench.records(file)["z"]?["n"] == 3)
    try bench.good("import", file, try bench.write("sep=a\nx\n", to: "c.csv"), "--zone", "C")
    #expect(try bench.records(file, zone: "C").values.first == ["sep_a": "x"])
  }

  @Test("a row of too few cells was told to quote its commas, whatever the delimiter, and too few were 1 cells")
  func cells() throws {
    let few = bench.run("import", file, try bench.write("a;b;c\nx\n", to: "a.csv"), "--delimiter", "semicolon")
    #expect(few.errors.contains("line 2: the row has 1 cell, the header 3."), "\(few.errors)")
    #expect(!few.errors.contains("comma") && !few.errors.contains("quotes") && few.errors.contains("semicolon"))
    let many = bench.run("import", file, try bench.write("a;b\nx;y;z\n", to: "b.csv"), "--delimiter", "semicolon")
    #expect(many.errors.contains("the row has 3 cells, the header 2.") && many.errors.contains("with a semicolon in it"))
  }

  // MARK: dates

  @Test("two formats for one column were taken, and no file could have both")
  func formats() throws {
    let input = try bench.write("id,d\na,2024-05-01\nb,02.05.2024\nc,\n", to: "a.csv")
    try bench.good("import", file, input, "--id", "id", "--date", "d=%F", "--date", "d=%d.%m.%Y")
    let records = try bench.records(file)
    let day = Date(timeIntervalSince1970: 1_714_521_600)
    #expect(records["a"]?["d"] == .date(day) && records["b"]?["d"] == .date(day + 86_400) && records["c"]?["d"] == nil)
    let lines = try bench.write("[{\"id\":\"e\",\"d\":\"2024-05-01\"},{\"id\":\"f\",\"d\":\"02.05.2024\"}]", to: "a.json")
    try bench.good("import", file, lines, "--id", "id", "--date", "d=%F", "--date", "d=%d.%m.%Y", "--type", "A")
    #expect(try bench.records(file)["f"]?["d"] == .date(day + 86_400))
    let neither = bench.run(
      "import", file, try bench.write("d\nsoon\n", to: "b.csv"), "--date", "d=%F", "--date", "d=%d.%m.%Y")
    #expect(neither.errors.contains("d is \"soon\", which has neither the format %F nor %d.%m.%Y."), "\(neither.errors)")
  }

  @Test(
    "a cell that is no date was not shown, nor the format, and the 30th of February was said to have another one",
    arguments: [
      ("%F", "01.05.2024", "d is \"01.05.2024\", which does not have the format %F"),
      ("%F", "2024-02-30", "d is \"2024-02-30\", and there is no such day (format %F)."),
      ("iso8601", "2023-02-29", "d is \"2023-02-29\", and there is no such day"), ("%Y %j", "2023 366", "no such day"),
      ("%F %R", "2024-02-03 25:00", "no such time"), ("%F %I %p", "2024-02-03 13 pm", "no such time"),
    ])
  func noDate(format: String, cell: String, words: String) throws {
    for (name, text) in [("a.csv", "d\n\(cell)\n"), ("a.json", "[{\"d\":\"\(cell)\"}]")] {
      let outcome = bench.run("import", file, try bench.write(text, to: name), "--date", "d=\(format)")
      #expect(outcome.status == 6 && outcome.errors.contains(words), "\(outcome.errors)")
      #expect(outcome.errors.contains("row 1: "))
    }
    let long = try bench.write("d\n\(String(repeating: "x", count: 5000))\n", to: "b.csv")
    #expect(bench.run("import", file, long, "--date", "d=%F").errors.utf8.count < 500)
  }

  // MARK: numbers

  @Test("a column of large whole numbers beside fractions became text, which keeps their digits, without a word")
  func wideBesideFraction() throws {
    let input = try bench.write("id,n\na,9007199254740993\nb,0.5\n", to: "a.csv")
    let outcome = try bench.good("import", file, input, "--id", "id")
    #expect(outcome.errors.contains("key n: text, because it has whole numbers beyond 2^53 and fractions"), "\(outcome.errors)")
    #expect(try bench.records(file)["a"]?["n"] == "9007199254740993" && bench.records(file)["b"]?["n"] == "0.5")
    let whole = try bench.write("id,n\nc,9007199254740993\nd,5\n", to: "b.csv")
    #expect(try !bench.good("import", file, whole, "--id", "id", "--type", "A").errors.contains("key n: text"))
    #expect(try bench.records(file)["c"]?["n"] == .int(9_007_199_254_740_993))
    #expect(try bench.good("help", "import").output.contains("beyond 2^53"))
  }

  // MARK: inputs that are no rows

  @Test(
    "a spreadsheet, a database and a page are recognized, whatever their names say",
    arguments: [
      (Array("PK\u{3}\u{4}".utf8) + [0xFF, 0], ".xlsx"), (Array("SQLite format 3\0".utf8) + [0x10], "a SQLite database"),
      (Array("<!DOCTYPE html>\n<p>404</p>\n".utf8), "HTML"), (Array("\u{FEFF} <?xml version=\"1.0\"?>\n<a/>".utf8), "XML"),
      ([0x1F, 0x8B, 8, 0], "gunzip -c"), ([0xD0, 0xCF, 0x11, 0xE0, 0xA1], ".xls"),
    ])
  func foreignInput(bytes: [UInt8], words: String) throws {
    for name in ["a.csv", "a.json", "a"] {
      let outcome = bench.run("import", file, try bench.write(bytes, to: name))
      #expect(outcome.status == 6 && outcome.errors.contains(words), "\(name): \(outcome.errors)")
      #expect(outcome.errors.contains("\(name) is ") && !FileManager.default.fileExists(atPath: file))
    }
  }

  @Test("a database as the input of an import is called one, with what to do")
  func databaseAsInput() throws {
    let other = bench.path("other.daybook")
    try bench.good("put", other, "Z", "n", "--type", "T", "a=1")
    let outcome = bench.run("import", file, other)
    #expect(outcome.status == 6 && outcome.errors.contains("other.daybook is a Daybook database"), "\(outcome.errors)")
    #expect(outcome.errors.contains("daybook dump INPUT | daybook import FILE -"))
    // Text that an option calls a table is one.
    let page = try bench.write("<html>\n<p>\n", to: "page")
    #expect(bench.run("import", file, page).status == 6)
    #expect(try bench.good("import", file, page, "--format", "csv").output.hasPrefix("1 row imported"))
  }

  @Test("an import of one word ended well without a word: it says that there is a header and no rows")
  func headerOnly() throws {
    let outcome = try bench.good("import", file, try bench.write("hello\n", to: "a"))
    #expect(outcome.errors.contains("the input has a header and no rows"), "\(outcome.errors)")
    #expect(try bench.good("import", file, try bench.write("[]", to: "a.json")).errors.contains("the input has no rows"))
    #expect(try !bench.good("import", file, try bench.write("a\n1\n", to: "b")).errors.contains("no rows"))
  }
}
