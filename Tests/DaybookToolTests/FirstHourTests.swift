import DaybookEngine
import Foundation
import Testing

@testable import DaybookTool

// What everybody meets who uses the tool for the first time, with good and bad input.

@Suite("the tool in the first hour")
struct FirstHourTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
  }

  @Test("a missing directory is told, and neither it nor a file is made", arguments: ["put", "import"])
  func missingDirectory(command: String) throws {
    let path = bench.path("no/such/a.daybook")
    let input = try bench.write("[{\"a\":1}]", to: "a.json")
    let outcome =
      command == "put" ? bench.run("put", path, "Z", "n", "--type", "T", "a=1") : bench.run("import", path, input)
    #expect(outcome.status == 5 && outcome.errors.contains("The directory of the file does not exist."), "\(outcome.errors)")
    #expect(outcome.errors.contains("Make the directory first") && !outcome.errors.contains("made "))
    #expect(!FileManager.default.fileExists(atPath: bench.path("no")))
  }

  @Test(
    "a directory as FILE is called one",
    arguments: [["info", "D"], ["get", "D", "Z", "n"], ["changes", "D", "Z"], ["check", "D"], ["salvage", "D", "D/out"]])
  func directory(words: [String]) throws {
    let folder = bench.path("folder")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let outcome = bench.run(words.map { $0.replacingOccurrences(of: "D", with: folder) })
    #expect(outcome.status == 5 && outcome.errors.contains("The path is a directory"), "\(outcome.errors)")
    #expect(!outcome.errors.contains("error ") && !outcome.errors.contains("does not touch"), "\(outcome.errors)")
  }

  @Test("a copy onto a file that is there says so, and leaves it as it was", arguments: ["backup", "salvage"])
  func ontoExisting(command: String) throws {
    try bench.good("put", file, "Z", "n", "--type", "T", "a=1")
    let taken = try bench.write("mine", to: "taken")
    let outcome = bench.run(command, file, taken)
    #expect(outcome.status == 5 && outcome.errors.contains("has this name already"), "\(outcome.errors)")
    #expect(outcome.errors.contains("Nothing was written: give another name"))
    #expect(try String(contentsOfFile: taken, encoding: .utf8) == "mine")
  }

  @Test("a zone that is not there is what get and history miss", arguments: ["get", "history"])
  func missingZone(command: String) throws {
    try bench.good("put", file, "Z", "n", "--type", "T", "a=1")
    let outcome = bench.run(command, file, "NoZone", "x")
    #expect(outcome.status == 1 && outcome.errors.contains("There is no zone NoZone"), "\(outcome.errors)")
    #expect(bench.run("get", file, "Z", "x").errors.contains("There is no record Z/x"))
  }

  @Test(
    "malformed JSON has a status of its own, and is told with line, column and row",
    arguments: [
      ("a.json", "[{\"a\":1},{\"a\":}]", "line 1, column 15, row 2: this is not JSON."),
      ("a.json", "[{\"a\":1},\n {\"a\":2} ,  {\"b\" 3}]", "line 2, column 18, row 3: a colon is missing after a key."),
      ("a.ndjson", "{\"a\":1}\n{\"a\":tru}\n", "line 2, column 9, row 2: this is not JSON; true may be meant."),
      ("a.json", "[{\"é\":[\n1,\n2,]}]", "line 3, column 3, row 1: the comma before the end of a list has to go."),
      ("a.json", "{\"a\":1,\n}", "line 2, column 1, row 1: the comma before the end of an object has to go."),
      ("a.json", "[{\"a\":1},\n]", "line 2: the comma before the end of the array has to go."),
    ])
  func malformed(name: String, text: String, words: String) throws {
    let outcome = bench.run("import", file, try bench.write(text, to: name))
    #expect(outcome.status == 6 && outcome.errors.contains(words), "\(outcome.errors)")
  }

  @Test("the place of a fault is the same however the input is cut into pieces", arguments: 1...20)
  func pieces(byteCount: Int) throws {
    let text = "[ {\"a\": 1},\n\n  {\"a\": \"é\"}, {\"b\": nul}]"
    var reader = JSONElementReader(ByteSource(Array(text.utf8), pieceByteCount: byteCount))
    _ = try reader.next()
    _ = try reader.next()
    let error = #expect(throws: ToolError.self) { _ = try reader.next() }
    #expect(error?.message.hasPrefix("line 3, column 25, row 3: ") == true, "\(error?.message ?? "")")
  }

  @Test("cells are split at what --delimiter says, a .tsv at tabs, and one column of semicolons is told")
  func delimiter() throws {
    let text = "name;n;note\nx;1;\"a;b\"\ny;2;c,d\n"
    let input = try bench.write(text, to: "rows.csv")
    let refused = bench.run("import", bench.path("w.daybook"), input)
    #expect(refused.errors.contains("one column, name;n;note, and a semicolon splits it"), "\(refused.errors)")
    for word in ["semicolon", ";"] {
      try? FileManager.default.removeItem(atPath: file)
      let outcome = try bench.good("import", file, input, "--id", "name", "--delimiter", word)
      #expect(!outcome.errors.contains("one column"))
      #expect(try bench.records(file)["x"] == ["name": "x", "n": 1, "note": "a;b"])
      #expect(try bench.records(file)["y"] == ["name": "y", "n": 2, "note": "c,d"])
    }
    let tabs = try bench.write("name\tn\nz\t3\n", to: "rows.tsv")
    try bench.good("import", file, tabs, "--id", "name")
    #expect(try bench.records(file)["z"] == ["name": "z", "n": 3])
    let out = bench.path("out.csv")
    try bench.good("export", file, out, "--delimiter", "semicolon", "--keys", "note", "--type", "Rows")
    let lines = try String(contentsOfFile: out, encoding: .utf8).split(whereSeparator: \.isNewline).map { String($0) }
    #expect(lines.prefix(2) == ["zone;name;type;parent;note", "_defaultZone;x;Rows;;\"a;b\""], "\(lines)")
    for bad in ["x", "\"", "", ";;", "7"] {
      #expect(bench.run("import", file, input, "--delimiter", bad).status == 2, "\(bad)")
    }
    #expect(bench.run("export", file, "-", "--delimiter", "tab").status == 2)
  }

  @Test("watch says when it begins beyond the end of the log")
  func watchBeyond() throws {
    try bench.good("put", file, "Z", "n", "--type", "T", "a=1")
    let outcome = Locked<(status: Int32, errors: String)?>(nil)
    let watcher = Thread { [file] in
      let errors = Output.memory()
      let status = Tool.run(
        arguments: ["watch", file, "--since", "5", "--limit", "1"], output: .memory(), errors: errors)
      outcome.withLock { $0 = (status, errors.text) }
    }
    watcher.start()
    for number in 0..<2000 where outcome.withLock({ $0 == nil }) {
      try bench.good("put", file, "Z", "n", "a=\(number)")
      Thread.sleep(forTimeInterval: 0.02)
    }
    let (status, errors) = try #require(outcome.withLock { $0 })
    #expect(status == 0 && errors.contains("the last commit is "), "\(errors)")
  }

  @Test("an empty file becomes a database, and info never has more live than file")
  func emptyFile() throws {
    let empty = try bench.write("", to: "empty.daybook")
    #expect(bench.run("info", empty).errors.contains("The file is empty"))
    try bench.good("put", empty, "Z", "n", "--type", "T", "a=1")
    let info = try json(bench.good("info", empty, "--json").output)
    guard case .int(let live)? = info["liveByteCount"], case .int(let all)? = info["fileByteCount"] else {
      throw ToolError.usage("no numbers")
    }
    #expect(live <= all)
  }
}
