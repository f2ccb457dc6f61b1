import Daybook
import Foundation
import Synchronization
import Testing

@testable import DaybookTool

@Suite("commands")
struct CommandTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private var file: String { bench.path("test.daybook") }

  /// A database with a zone of three records, one of them changed, and one deleted.
  private func fill() throws {
    try bench.good("put", file, "Library", "dune", "--type", "Movie", "title=Dune", "year=1984", "rating=8.0")
    try bench.good("put", file, "Library", "alien", "--type", "Movie", "title=Alien", "year=1979")
    try bench.good("put", file, "Library", "lem", "--type", "Author", "name=Stanisław Lem", "born:date=1921-09-12")
    try bench.good("put", file, "Library", "dune", "year=2021", "--remove", "rating")
    try bench.good("put", file, "Library", "gone", "--type", "Movie")
    try bench.good("delete", file, "Library", "gone")
  }

  // MARK: the command line itself

  @Test("help names every command, and every command has a help")
  func help() throws {
    let overview = try bench.good("help").output
    for command in Commands.all where !command.isHidden {
      #expect(overview.contains("\n  \(command.name) "))
      let text = try bench.good("help", command.name).output
      #expect(text.contains("Usage: daybook \(command.name)"))
      for option in command.options { #expect(text.contains(option.name)) }
      #expect(try bench.good(command.name, "--help").output == text)
      #expect(text.split(separator: "\n").allSatisfy { $0.count <= 130 })
    }
    #expect(!overview.contains("demo-writer"))
    #expect(try bench.good("--version").output == "daybook \(Tool.version) (file format 1)\n")
    #expect(bench.run([]).status == 2)
  }

  @Test("what only trials run is told on request, and in no other list")
  func hiddenCommands() throws {
    let hidden = Commands.all.filter(\.isHidden).map(\.name)
    #expect(hidden.count == 7 && hidden.allSatisfy { $0.hasPrefix("trial-") || $0 == "demo-writer" })
    let everything = try bench.good("help", "--all").output
    for command in Commands.all { #expect(everything.contains("\n  \(command.name) ")) }
    #expect(everything.contains("may change or go without notice"))
    var lists = try [bench.good("help").output, bench.run([]).errors, bench.good("--help").output]
    for shell in ["bash", "zsh", "fish"] {
      let script = try bench.good("completions", shell).output
      #expect(script.contains(shell == "fish" ? "-l all" : "--all"))
      lists.append(script)
    }
    for list in lists { for name in hidden { #expect(!list.contains(name)) } }
    // A slip leads to no command that people should not run.
    #expect(!bench.run("trial-writr").errors.contains("trial-writer"))
    // Whoever knows its name is told what it takes.
    for name in hidden { #expect(try bench.good("help", name).output.contains("Usage: daybook \(name)")) }
  }

  @Test("completions know every command", arguments: ["bash", "zsh", "fish"])
  func completions(shell: String) throws {
    let script = try bench.good("completions", shell).output
    for command in Commands.all where !command.isHidden { #expect(script.contains(command.name)) }
    #expect(bench.run("completions", "tcsh").status == 2)
  }

  @Test(
    "wrong usage is told with what would be right",
    arguments: [
      (["dmp", "x"], "dump"), (["dump"], "FILE is missing"), (["dump", "x", "--zoen", "Z"], "--zone"),
      (["dump", "x", "--format", "xml"], "ndjson"), (["dump", "x", "y"], "too many"), (["dump", "x", "--zone"], "value"),
      (["import", "x"], "INPUT"), (["changes", "x", "Z", "--limit", "0"], "above zero"),
      (["changes", "x", "Z", "--since", "!"], "token"),
      (["put", "x", "Z", "n", "novalue"], "KEY=VALUE"), (["put", "x", "Z", "n", "k:integer=1"], "int"),
      (["delete", "x", "Z"], "--whole-zone"),
      (["help", "impotr"], "import"), (["dump", "x", "--metadata=1"], "no value"),
      (["dump", "x", "--zone", "A", "--zone", "B"], "twice"),
    ])
  func usage(arguments: [String], words: String) {
    let outcome = bench.run(arguments)
    #expect(outcome.status == 2 && outcome.errors.contains(words), "\(outcome.errors)")
    #expect(outcome.output.isEmpty)
  }

  @Test("a file that is missing or no database is told by its exit status")
  func badFiles() throws {
    let text = try bench.write("hello, this is a text and not a database", to: "text")
    let long = try bench.write([UInt8](repeating: 7, count: 10_000), to: "long")
    for command in [["dump"], ["info"], ["zones"], ["check"], ["log"], ["pages"], ["types"], ["get", "Z", "n"]] {
      let rest = command.dropFirst()
      #expect(bench.run([command[0], bench.path("nothing")] + rest).status == 5)
      #expect(bench.run([command[0], text] + rest).status == 3)
      #expect(bench.run([command[0], long] + rest).status == 3)
      #expect(bench.run([command[0], bench.directory.path] + rest).status != 0)
    }
    #expect(bench.run("import", file, bench.path("nothing")).status == 5)
    #expect(bench.run("delete", file, "Z", "n").status == 5)
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test("a database that is being written is locked for writing, and open for reading")
  func locked() throws {
    try fill()
    let database = try Database.open(at: file)
    #expect(bench.run("dump", file).status == 0)
    #expect(Tool.run(arguments: ["put", file, "Library", "x", "--type", "T"], output: .memory(), errors: .memory()) == 4)
    try database.close()
  }

  // MARK: reading

  @Test("A14: records are listed by zone and type, with names and who saved them when")
  func dashboard() throws {
    try fill()
    let types = try json(bench.good("types", file, "--json").output)
    #expect(
      types == [
        ["type": "Author", "zone": "Library", "recordCount": 1], ["type": "Movie", "zone": "Library", "recordCount": 2],
      ])
    #expect(try bench.good("types", file).output.contains("Movie"))
    let lines = try bench.good("dump", file, "--type", "Movie", "--metadata").lines.map { try json($0) }
    #expect(lines.compactMap { $0["name"]?.text } == ["alien", "dune"])
    for line in lines {
      #expect(line["tag"]?.text?.isEmpty == false)
      #expect(line["created"]?["date"] != nil && line["modified"]?["time"]?.text?.hasSuffix("Z") == true)
    }
    let text = try bench.good("dump", file, "--format", "text", "--metadata").output
    #expect(text.contains("Library/lem  Author") && text.contains("Stanisław Lem") && text.contains("1921-09-12T00:00:00Z"))
  }

  @Test("A9: zones lists every zone, the default one too")
  func zones() throws {
    try fill()
    let zones = try json(bench.good("zones", file, "--json").output)
    guard case .array(let list) = zones else { throw ToolError.usage("not a list") }
    #expect(list.compactMap { $0["name"]?.text } == ["Library", "_defaultZone"])
    #expect(list.compactMap { $0["recordCount"] } == [3, 0])
    #expect(try bench.good("zones", file).output.contains("_defaultZone"))
  }

  @Test("types --fields lists the schema, in JSON as another database takes it")
  func typeFields() throws {
    let path = bench.path("schema.daybook")
    do {
      let database = try Database.open(at: path)
      try database.write { transaction in
        var note = try Record(type: "Note", id: Record.ID("a"))
        note["title"] = "a"
        note.encryptedValues["pin"] = 4
        try transaction.save(note)
        var other = try Record(type: "Note", id: Record.ID("b"))
        other["title"] = 7
        try transaction.save(other)
        try transaction.save(Record(type: "Bare", id: Record.ID("c")))
        try transaction.delete(Record.ID("c"))
      }
      try database.close()
    }
    let rows = try bench.good("types", path, "--fields").lines.dropFirst().map { line in
      line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    #expect(rows == ["Bare", "Note pin int (encrypted)", "Note title string, int"])
    let json = try bench.good("types", path, "--fields", "--json").output
    let schema = try JSONDecoder().decode(Schema.self, from: Data(json.utf8))
    #expect(schema.types.map(\.name) == ["Bare", "Note"])
    #expect(
      schema["Note"]?.fields == [
        .init(key: "pin", kinds: [.int], isEncrypted: true), .init(key: "title", kinds: [.string, .int]),
      ])
  }

  @Test("dump is ordered by zone and name, and --zone selects")
  func dump() throws {
    for (zone, name) in [("b", "2"), ("a", "9"), ("b", "10"), ("_defaultZone", "x"), ("a", "1")] {
      try bench.good("put", file, zone, name, "--type", "T")
    }
    let names = try bench.good("dump", file).lines.map { line in
      let line = try json(line)
      return "\(line["zone"]?.text ?? "")/\(line["name"]?.text ?? "")"
    }
    #expect(names == ["_defaultZone/x", "a/1", "a/9", "b/10", "b/2"])
    #expect(try bench.good("dump", file, "--zone", "b").lines.count == 2)
    #expect(bench.run("dump", file, "--zone", "nowhere").status == 2)
  }

  @Test("dump reads more than a page, and CloudKit's form a line a record")
  func longDump() throws {
    let rows = (0..<450).map { "{\"n\":\($0)}" }.joined(separator: "\n")
    try bench.good("import", file, try bench.write(rows, to: "rows.ndjson"))
    let names = try bench.good("dump", file).lines.compactMap { try json($0)["name"]?.text }
    #expect(names.count == 450 && names == names.sorted() && Set(names).count == 450)
    let lines = try bench.good("dump", file, "--format", "cloudkit-json").lines
    #expect(try lines.count == 450 && json(lines[0])["fields"]?["n"]?["type"] == "INT64")
  }

  @Test("get prints a record, and its exit status says when there is none")
  func get() throws {
    try fill()
    #expect(try bench.good("get", file, "Library", "dune").output.contains("title  string  Dune"))
    let line = try json(bench.good("get", file, "Library", "dune", "--json").output)
    #expect(line["fields"]?["year"] == ["type": "int", "value": 2021])
    #expect(bench.run("get", file, "Library", "nothing").status == 1)
    #expect(bench.run("get", file, "Nowhere", "dune").status == 1)
    #expect(bench.run("get", file, "Library", "_x").status == 1)
  }

  @Test("info has the numbers that scripts ask for")
  func info() throws {
    try fill()
    let info = try json(bench.good("info", file, "--json").output)
    for key in [
      "fileByteCount", "liveByteCount", "deadByteCount", "recordCount", "zones", "types", "indexes", "checkpoints",
      "lastSequence", "formatVersion",
    ] { #expect(info[key] != nil, "\(key)") }
    #expect(info["recordCount"] == 3 && info["wasClosed"] == true && info["formatVersion"] == 1)
    let size = try #require(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
    #expect(info["fileByteCount"] == .count(size))
    #expect(try bench.good("info", file).output.contains("3 records"))
  }

  // MARK: writing

  @Test("put reads kinds from values, or takes the one that is named")
  func put() throws {
    try bench.good(
      "put", file, "Z", "n", "--type", "T", "a=1", "b=1.5", "c=true", "d=x=y", "e=", "f=-7", "g:string=1984",
      "h:double=7", "i:location=29.6,35.4", "j:reference=other", "k:strings=[\"a\",\"b\"]", "l:bytes=AP8=",
      "m:date=2021-10-22T18:30:00+02:00", "n:ints=[]", "o:double=inf", "p= 1", "q=007")
    let record = try #require(try bench.records(file)["n"])
    let expected: [String: Record.Value] = [
      "a": .int(1), "b": .double(1.5), "c": .int(1), "d": "x=y", "e": "", "f": .int(-7), "g": "1984", "h": .double(7),
      "i": .location(Location(latitude: 29.6, longitude: 35.4)),
      "j": .reference(Record.Reference(try Record.ID("other", in: Zone.ID("Z")))), "k": .strings(["a", "b"]),
      "l": .bytes(Data([0, 255])), "m": .date(Date(timeIntervalSince1970: 1_634_920_200)), "n": .ints([]),
      "o": .double(.infinity), "p": .int(1), "q": "007",
    ]
    #expect(record == expected)
    #expect(expected.allSatisfy { record[$0.key]?.kind == $0.value.kind })
    for word in ["x:int=1.5", "x:date=yesterday", "x:location=1", "x:bytes=*", "x:ints=[\"a\"]", "parent=1", "a b=1"] {
      #expect(bench.run("put", file, "Z", "n", word).status == 2, "\(word)")
    }
    #expect(bench.run("put", file, "Z", "new").errors.contains("--type"))
    #expect(bench.run("put", file, "Z", "n", "--type", "Other").status == 2)
  }

  @Test("delete says what was not there")
  func delete() throws {
    try fill()
    let outcome = try bench.good("delete", file, "Library", "dune", "nothing")
    #expect(outcome.output.contains("deleted 1 record") && outcome.errors.contains("nothing"))
    #expect(bench.run("delete", file, "Library", "nothing").status == 1)
    #expect(bench.run("delete", file, "Nowhere", "--whole-zone").status == 2)
    #expect(try bench.good("delete", file, "Library", "--whole-zone").output.contains("2 records"))
    #expect(try bench.records(file).isEmpty)
  }

  // MARK: changes, versions, structure

  @Test("A21: changes since a token are those after it, once each")
  func changes() throws {
    try fill()
    let first = try json(bench.good("changes", file, "Library", "--json").output)
    guard case .array(let saved)? = first["saved"], let token = first["token"]?.text else {
      throw ToolError.usage("no list of records and no token")
    }
    #expect(saved.compactMap { $0["name"]?.text } == ["alien", "lem", "dune"])
    #expect(first["deleted"] == [["name": "gone", "type": "Movie"]] && first["moreComing"] == false)
    #expect(try bench.good("changes", file, "Library", "--since", token).lines.count == 1)
    try bench.good("put", file, "Library", "lem", "died:date=2006-03-27")
    try bench.good("delete", file, "Library", "alien")
    let lines = try bench.good("changes", file, "Library", "--since", token).lines
    #expect(lines.dropLast() == ["saved    lem  Author", "deleted  alien  Movie"])
    #expect(lines.last?.hasPrefix("token    ") == true)
    let limited = try bench.good("changes", file, "Library", "--limit", "2").lines
    #expect(limited.count == 4 && limited[2].hasPrefix("more"))
    #expect(bench.run("changes", file, "Nowhere").status == 2)
    try bench.good("delete", file, "Library", "--whole-zone")
    try bench.good("put", file, "Library", "n", "--type", "T")
    #expect(bench.run("changes", file, "Library", "--since", token).status == 1)
  }

  @Test("history lists the versions of a record, newest first, and what each changed")
  func history() throws {
    try fill()
    let text = try bench.good("history", file, "Library", "dune").output
    #expect(text.contains("changed") && text.contains("made") && text.contains("rating = (removed)"))
    #expect(text.range(of: "2021").map { $0.lowerBound < (text.range(of: "1984")?.lowerBound ?? text.startIndex) } == true)
    guard case .array(let versions) = try json(bench.good("history", file, "Library", "gone", "--json").output) else {
      throw ToolError.usage("not a list")
    }
    #expect(versions.count == 2 && versions[0]["deleted"] != nil && versions[1]["record"]?["name"] == "gone")
    #expect(bench.run("history", file, "Library", "nothing").status == 1)
    #expect(bench.run("history", file, "Nowhere", "nothing").status == 1)
  }

  @Test("log lists frames, each where the one before it ends")
  func log() throws {
    try fill()
    guard case .array(let frames) = try json(bench.good("log", file, "--json").output) else {
      throw ToolError.usage("not a list")
    }
    let numbers = frames.compactMap { frame -> Int64? in if case .int(let number)? = frame["number"] { number } else { nil } }
    #expect(numbers.count == frames.count && zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
    #expect(frames.last?["kind"] == "closed")
    let text = try bench.good("log", file, "--kind", "commit").lines
    #expect(text.count == 7 && text[0].contains("SEQUENCE") && text[1].contains("saved 1"))
  }

  @Test("pages tells of every tree and draws it")
  func pages() throws {
    try bench.good("import", file, try bench.write(CitiesExtract.csv, to: "c.csv"), "--zone", "A & <B>")
    guard case .array(let trees) = try json(bench.good("pages", file, "--json").output) else {
      throw ToolError.usage("not a list")
    }
    #expect(trees.contains { $0["tree"] == "by name" && $0["keyCount"] == .count(CitiesExtract.rowCount) })
    #expect(try bench.good("pages", file).output.contains("A & <B>: by name"))
    // Every live byte of the file is said to be somewhere: the log and the trees are all of it but the header.
    let info = try json(bench.good("info", file, "--json").output)
    guard case .int(let live)? = info["liveByteCount"], case .int(let log)? = info["liveByteCountOfLog"],
      case .array(let parts)? = info["liveByteCountsOfTrees"]
    else { throw ToolError.usage("no numbers") }
    let pages = parts.reduce(Int64(0)) { sum, part in if case .int(let count)? = part["byteCount"] { sum + count } else { sum }
    }
    #expect(log > 0 && pages > 0 && 4096 + log + pages == live)
    #expect(try bench.good("info", file).output.contains("bytes each: log "))
    #expect(try bench.good("pages", file, "--tree").output.contains("LEVEL"))
    let picture = bench.path("tree.svg")
    try bench.good("pages", file, "-o", picture)
    let svg = try String(contentsOfFile: picture, encoding: .utf8)
    #expect(svg.hasPrefix("<svg") && svg.hasSuffix("</svg>\n") && svg.contains("A &amp; &lt;B&gt;"))
  }

  @Test("check is clean after all that, and finds a flipped byte")
  func check() throws {
    try fill()
    #expect(try bench.good("check", file, "--deep").output.hasPrefix("clean:"))
    #expect(try json(bench.good("check", file, "--json").output)["isClean"] == true)
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let position = try #require(bytes.firstRange(of: Array("Alien".utf8))).lowerBound
    bytes[position] ^= 1
    let damaged = try bench.write(bytes, to: "damaged.daybook")
    let outcome = bench.run("check", damaged)
    #expect(outcome.status == 1 || outcome.status == 3)
    #expect(!(outcome.output + outcome.errors).contains("clean"))
  }

  @Test("put takes an asset from a file, and says so when there is none")
  func putAsset() throws {
    let photo = try bench.write("a picture", to: "photo.bin")
    try bench.good("put", file, "Library", "dune", "--type", "Movie", "poster:asset=\(photo)")
    #expect(try bench.good("get", file, "Library", "dune").output.contains("poster"))
    #expect(bench.run("put", file, "Library", "dune", "poster:asset=\(photo).none").status == 5)
    #expect(try bench.good("check", file, "--deep").output.hasPrefix("clean:"))
  }

  @Test("a backup gives the same dump, and salvage of a sound file too")
  func copies() throws {
    try fill()
    let whole = try bench.good("dump", file).output
    let (copy, saved) = (bench.path("copy.daybook"), bench.path("saved.daybook"))
    #expect(try bench.good("backup", file, copy, "--verify").output.hasSuffix(", verified\n"))
    #expect(try bench.good("dump", copy).output == whole)
    #expect(bench.run("backup", file, copy).status == 5)
    #expect(try bench.good("salvage", file, saved).output.hasPrefix("complete:"))
    #expect(try bench.good("dump", saved).output == whole)
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let position = try #require(bytes.firstRange(of: Array("Alien".utf8))).lowerBound
    bytes[position] ^= 1
    let damaged = try bench.write(bytes, to: "damaged.daybook")
    let outcome = bench.run("salvage", damaged, bench.path("rest.daybook"), "--json")
    #expect(outcome.status == 1)
    #expect(try json(outcome.output)["isComplete"] == false)
    #expect(outcome.output.contains("\"lostSequences\":[{"))
    #expect(bench.run("salvage", bench.path("none"), bench.path("x")).status == 5)
  }

  @Test("check --rebuild makes damaged trees again from the log")
  func rebuild() throws {
    let rows = (0..<3000).map { "{\"name\":\"n\($0)\",\"text\":\"value-\($0)-\"}" }.joined(separator: "\n")
    try bench.good("import", file, try bench.write(rows, to: "rows.ndjson"), "--id", "name", "--zone", "Z")
    let whole = try bench.good("dump", file).output
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    // The first leaf of a frame of pages: its second byte of kind and level, at a multiple of 4096.
    let page = try #require(
      stride(from: 4096, to: bytes.count - 4096, by: 4096).first { offset in
        bytes[offset + 8] == 2 && bytes[offset + 9] == 0 && bytes[offset + 18..<offset + 24].allSatisfy { $0 == 0 }
          && bytes[offset..<offset + 8].contains { $0 != 0 }
      })
    bytes[page + 2000] ^= 1
    let damaged = try bench.write(bytes, to: "damaged.daybook")
    #expect(bench.run("check", damaged).status == 1)
    #expect(try bench.good("check", damaged, "--rebuild").output.hasPrefix("all trees were rebuilt"))
    #expect(try bench.good("check", damaged, "--deep").output.hasPrefix("clean:"))
    #expect(try bench.good("dump", damaged).output == whole)
    #expect(try json(bench.good("check", damaged, "--rebuild", "--json").output)["wasRebuilt"] == true)
    #expect(bench.run("check", bench.path("none.daybook"), "--rebuild").status == 5)
  }

  @Test("the reads of a corrupt file print what they can, then say what is lost")
  func corrupt() throws {
    let rows = (0..<3000).map { "{\"name\":\"n\($0)\",\"text\":\"value-\($0)-\"}" }.joined(separator: "\n")
    try bench.good("import", file, try bench.write(rows, to: "rows.ndjson"), "--id", "name", "--zone", "Z")
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let position = try #require(bytes.firstRange(of: Array("value-1500-".utf8))).lowerBound
    bytes[position] ^= 1
    let damaged = try bench.write(bytes, to: "damaged.daybook")
    let outcome = bench.run("dump", damaged)
    #expect(outcome.status == 3 && !outcome.errors.isEmpty)
    #expect(!outcome.output.contains("value-1501-") || !outcome.output.contains("value-1500"))
    #expect(outcome.output.contains("value-10-"), "\(outcome.errors)")
    let whole = try Set(bench.good("dump", file).lines)
    #expect(outcome.lines.allSatisfy { whole.contains($0) })
  }

  @Test("a file that was cut short is no smaller database: reads and check say so, nothing is written, salvage is incomplete")
  func cutShort() throws {
    let rows = (0..<3000).map { "{\"name\":\"n\($0)\",\"text\":\"value-\($0)-\"}" }.joined(separator: "\n")
    try bench.good("import", file, try bench.write(rows, to: "rows.ndjson"), "--id", "name", "--zone", "Z")
    try bench.good("backup", file, bench.path("backup.daybook"))
    try bench.good("compact", file)
    for name in ["test.daybook", "backup.daybook"] {
      let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: bench.path(name))))
      let cut = try bench.write(Array(bytes[..<(bytes.count * 7 / 10)]), to: "cut-" + name)
      let check = bench.run("check", cut)
      #expect(check.status == 1 && check.output.contains("the file was cut short"), "\(check.output)")
      let dump = bench.run("dump", cut)
      #expect(dump.status == 3 && dump.errors.contains("cut short"), "\(dump.errors)")
      #expect(bench.run("info", cut).output.contains("cut short"))
      #expect(bench.run("compact", cut).status == 3)
      #expect(bench.run("backup", cut, bench.path("again-" + name)).status == 3)
      #expect(Array(try Data(contentsOf: URL(fileURLWithPath: cut))).count == bytes.count * 7 / 10)
      let salvage = bench.run("salvage", cut, bench.path("out-" + name))
      #expect(salvage.status == 1 && salvage.output.contains("incomplete"), "\(salvage.output)")
      #expect(try bench.records(bench.path("out-" + name)).count > 1000)
    }
  }

  @Test("watch prints a line for each commit")
  func watch() throws {
    try fill()
    let past = try bench.good("watch", file, "--since", "0", "--limit", "6").lines
    #expect(past.count == 6 && past[0].hasPrefix("commit 1") && past[5].contains("deleted 1"))
    let watcher = Watcher(file)
    // Watching begins at some moment; commits go on until two were seen.
    let database = try Database.open(at: file)
    for number in 0..<2000 where watcher.outcome == nil {
      try database.write(origin: "test") { transaction in
        var record = try Record(type: "T", id: Record.ID("r\(number)", in: Zone.ID("Library")))
        record["n"] = number
        try transaction.save(record)
      }
      Thread.sleep(forTimeInterval: 0.05)
    }
    try database.close()
    let (status, text) = try #require(watcher.outcome)
    let lines = try text.split(separator: "\n").map { try json(String($0)) }
    #expect(status == 0 && lines.count == 2)
    #expect(lines.allSatisfy { $0["kind"] == "commit" && $0["origin"] == "test" && $0["savedCount"] == 1 })
  }

  @Test("export writes lines that import takes, and CSV that others read")
  func export() throws {
    try fill()
    let lines = bench.path("out.ndjson")
    try bench.good("export", file, lines)
    #expect(try String(contentsOfFile: lines, encoding: .utf8) == bench.good("dump", file).output)
    #expect(try bench.good("export", file, "-").output == bench.good("dump", file).output)
    let csv = bench.path("out.csv")
    try bench.good("export", file, csv, "--zone", "Library")
    let text = try String(contentsOfFile: csv, encoding: .utf8)
    let rows = text.components(separatedBy: "\r\n")
    #expect(rows[0] == "zone,recordName,type,parent,born,name,title,year")
    #expect(rows[2] == "Library,dune,Movie,,,,Dune,2021" && rows[3].contains("1921-09-12T00:00:00Z"))
    #expect(bench.run("export", file, "/nowhere/out.csv").status == 5)
    let copy = bench.path("copy.daybook")
    try bench.good("import", copy, csv, "--id", "recordName")
    #expect(try bench.records(copy)["dune"]?["title"] == "Dune")
  }
}

/// `watch` on a thread of its own, because it sleeps.
private final class Watcher: Sendable {
  private let state = Mutex<(status: Int32, text: String)?>(nil)

  init(_ file: String) {
    Thread.detachNewThread { [self] in
      let output = Output.memory()
      let status = Tool.run(arguments: ["watch", file, "--limit", "2", "--json"], output: output, errors: .memory())
      state.withLock { $0 = (status, output.text) }
    }
  }

  /// Nil while it watches.
  var outcome: (status: Int32, text: String)? { state.withLock { $0 } }
}
