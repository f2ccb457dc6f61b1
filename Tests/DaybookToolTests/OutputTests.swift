import Daybook
import DaybookEngine
import Foundation
import Testing

@testable import DaybookTool

// Where outputs go: what is replaced, what is written to, what is refused, and who may read it then.

@Suite("outputs")
struct OutputTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
    _ = try bench.write([UInt8](repeating: 1, count: 80_000), to: "one.bin")
    try bench.good("put", file, "Films", "dune", "--type", "Film", "title=Dune", "poster:asset=\(bench.path("one.bin"))")
  }

  /// The calls that write a file under a name, and what they put there.
  private func calls(_ path: String) -> [[String]] {
    [
      ["export", file, path, "--force"], ["export", file, path, "--format", "csv", "--force"],
      ["export", file, path, "--format", "cloudkit-json", "--force"],
      ["pages", file, "-o", path], ["map", file, "-o", path], ["report", file, "-o", path],
    ]
  }

  private func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path)) }

  @Test("another database was replaced by a drawing of pages, and by an export with --force")
  func otherDatabase() throws {
    let other = bench.path("other.daybook")
    try bench.good("put", other, "Films", "alien", "--type", "Film", "title=Alien")
    try Plants.link(bench.path("link.csv"), to: "other.daybook")
    let before = try Plants.traces(in: bench.directory.path)
    for path in [other, bench.path("link.csv")] {
      for call in calls(path) {
        let outcome = bench.run(call)
        #expect(
          outcome.status == 5 && outcome.errors.contains("is a database, and is not replaced"), "\(call): \(outcome.errors)")
      }
    }
    #expect(try Plants.traces(in: bench.directory.path) == before)
    // Also one whose first page is damaged: it can be salvaged.
    var bytes = try Data(contentsOf: URL(filePath: other))
    bytes[3] ^= 1
    try bytes.write(to: URL(filePath: other))
    #expect(bench.run("pages", file, "-o", other).status == 5)
    #expect(try Data(contentsOf: URL(filePath: other)) == bytes)
    // A drawing for standard output made a file called -.
    let drawing = try bench.good("pages", file, "-o", "-").output
    #expect(drawing.hasPrefix("<svg") && drawing.contains("</svg>") && !drawing.contains("KEYS"))
  }

  @Test("an output that is the database or a part of it, by whatever name, is refused before anything is touched")
  func database() throws {
    let content = try #require(
      try FileManager.default.subpathsOfDirectory(atPath: file + ".assets").first { $0.utf8.count > 60 })
    try Plants.hardLink(bench.path("second.ndjson"), to: file)
    try Plants.link(bench.path("link.ndjson"), to: "a.daybook")
    try Plants.link(bench.path("chain.ndjson"), to: bench.path("link.ndjson"))
    try Plants.link(bench.path("here"), to: bench.directory.path)
    try Plants.hardLink(bench.path("content.ndjson"), to: file + ".assets/" + content)
    try Plants.link(bench.path("contents"), to: file + ".assets")
    let before = try Plants.traces(in: bench.directory.path)
    for path in [
      file, bench.path("second.ndjson"), bench.path("link.ndjson"), bench.path("chain.ndjson"), bench.path("here/a.daybook"),
      file + ".assets/x.ndjson", file + ".assets/" + content, bench.path("content.ndjson"), bench.path("contents/x.csv"),
      file + ".compacted", file + ".unfinished", file + ".compacted.new", file + ".unfinished.new",
      file + ".unfinished.assets", bench.path("here/a.daybook.discarded-3"),
    ] {
      for call in calls(path) {
        let outcome = bench.run(call)
        #expect(
          outcome.status == 2 && outcome.errors.contains("the database itself or a part of it"), "\(call): \(outcome.errors)")
      }
    }
    for folder in [
      file + ".assets", bench.path("contents"), file + ".assets/new/deep", bench.path("contents/../a.daybook.assets/"),
    ] {
      let outcome = bench.run("export", file, bench.path("out.ndjson"), "--assets", folder, "--force")
      #expect(outcome.status == 2, "\(folder): \(outcome.errors)")
    }
    #expect(try Plants.traces(in: bench.directory.path) == before)
    #expect(bench.run("check", file, "--deep").status == 0)
    // What only looks like one of its names is another file.
    try bench.good("export", file, bench.path("a.daybook.assets.ndjson"))
  }

  @Test("standard output that leads into the database is refused", .enabled(if: ProgramUnderTest.url != nil))
  func standardOutput() throws {
    let before = try Plants.trace(file)
    for call in [["dump", file], ["export", file, "-"], ["export", file, "/dev/stdout"], ["info", file]] {
      let run = try ProgramRun.start(call, script: "\"$@\" >> '\(file)'")
      #expect(run.status == 2 && run.errors.contains("the database itself"), "\(call): \(run.errors)")
    }
    #expect(try Plants.trace(file) == before)
  }

  @Test(
    "no stream and no descriptor of any command leads into the database, its mark or its contents",
    .enabled(if: ProgramUnderTest.url != nil))
  func descriptors() throws {
    let content = try #require(
      try FileManager.default.subpathsOfDirectory(atPath: file + ".assets").first { $0.utf8.count > 60 })
    _ = try bench.write("[{\"n\":\"a\"}]", to: "in.json")
    let before = try Plants.traces(in: bench.directory.path)
    let calls = [
      ["check", file], ["put", file, "Films", "b", "--type", "Film", "a=1"], ["delete", file, "Films", "dune"],
      ["backup", file, bench.path("out")], ["salvage", file, bench.path("out")], ["compact", file],
      ["assets", file, "collect"],
      ["import", file, bench.path("in.json"), "--zone", "Films", "--type", "Film", "--id", "n"], ["dump", file],
    ]
    // Only root may write to a content.
    let places = [file, file + ".assets/owner"] + (Plants.isRoot ? [file + ".assets/" + content] : [])
    for place in places {
      for call in place == file ? calls : [["dump", file], ["check", file]] {
        for script in ["\"$@\" >> '\(place)'", "\"$@\" 2>> '\(place)'"] {
          let run = try ProgramRun.start(call, script: script)
          #expect(run.status == 2, "\(call) \(script): \(run.errors)")
        }
      }
      let run = try ProgramRun.start(["export", file, "/dev/fd/3"], script: "\"$@\" 3<> '\(place)'")
      #expect(run.status == 2 && run.errors.contains("the database itself"), "\(place): \(run.errors)")
    }
    #expect(try Plants.traces(in: bench.directory.path) == before)
    #expect(try ProgramRun.start(["dump", file], script: "\"$@\" > '\(bench.path("dump"))' 2>&1").status == 0)
  }

  @Test("an export over a file whose list shuts its group out shows its group nothing")
  func replacedList() throws {
    let path = bench.path("out.csv")
    for isListed in [false, true] {
      try Data("old".utf8).write(to: URL(filePath: path))
      try Plants.setMode(0o640, of: path)
      var attributes = try SystemDisk().attributes(of: path)
      if isListed {
        // setfacl -m g::---,u:4711:r FILE: the mode still says that the group may read.
        attributes.extended[AccessList.posixName] =
          [2, 0, 0, 0] + [1, 0, 6, 0, 255, 255, 255, 255] + [2, 0, 4, 0, 0x67, 0x12, 0, 0] + [4, 0, 0, 0, 255, 255, 255, 255]
          + [16, 0, 4, 0, 255, 255, 255, 255] + [32, 0, 0, 0, 255, 255, 255, 255]
        try SystemDisk().setAttributes(attributes, of: path)
      }
      let hasList = try SystemDisk().attributes(of: path).extended[AccessList.posixName] != nil
      try bench.good("export", file, path, "--force")
      #expect(try SystemDisk().attributes(of: path).mode & 0o077 == (hasList ? 0 : 0o040))
    }
  }

  #if os(Linux)
    @Test("a second mount of /proc is one, too: a link there leads to the open file, not to its text")
    func secondProcesses() throws {
      let mounted = bench.path("processes")
      try FileManager.default.createDirectory(atPath: mounted, withIntermediateDirectories: false)
      func call(_ program: String, _ arguments: String...) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
      }
      guard Plants.isRoot, (try? call("/bin/mount", "-t", "proc", "proc", mounted)) == 0 else { return }
      defer { _ = try? call("/bin/umount", mounted) }
      let log = bench.path("log")
      try Data("before\n".utf8).write(to: URL(filePath: log))
      let handle = try #require(FileHandle(forUpdatingAtPath: log))
      try handle.seekToEnd()
      try FileManager.default.removeItem(atPath: log)
      let planted = log + " (deleted)"
      try Data("theirs".utf8).write(to: URL(filePath: planted))
      let outcome = bench.run("export", file, mounted + "/self/fd/\(handle.fileDescriptor)")
      try handle.seek(toOffset: 0)
      #expect(String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self).contains("Films"), "\(outcome.errors)")
      #expect(FileManager.default.contents(atPath: planted) == Data("theirs".utf8))
      #expect(bench.run("dump", mounted + "/self/fd/\(handle.fileDescriptor)").status != 0)
    }

    @Test("a link of /proc to an open file leads to that file, whatever has its name, and into no other process")
    func linksOfProcesses() throws {
      let log = bench.path("log")
      for path in ["/proc/\(getpid())/fd/N", "/proc/self/fd/../fd/N", "/proc/self/task/\(getpid())/fd/N"] {
        for isNamed in [true, false] {
          try Data("before\n".utf8).write(to: URL(filePath: log))
          let handle = try #require(FileHandle(forUpdatingAtPath: log))
          try handle.seekToEnd()
          if !isNamed { try FileManager.default.removeItem(atPath: log) }
          let outcome = bench.run("export", file, path.replacing("N", with: "\(handle.fileDescriptor)"))
          try handle.seek(toOffset: 0)
          let text = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
          #expect(outcome.status == 0 && text.hasPrefix("before\n") && text.contains("Films"), "\(path): \(outcome.errors)")
          #expect(try names().allSatisfy { !$0.contains("deleted") })
        }
      }
      // A folder that was removed is not the one that has its name now.
      let folder = bench.path("folder")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let opened = unsafe open(folder, O_RDONLY)
      defer { close(opened) }
      let given = "/proc/\(getpid())/fd/\(opened)"
      try bench.good("export", file, bench.path("out.ndjson"), "--assets", given, "--force")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
      try FileManager.default.removeItem(atPath: folder)
      let planted = folder + " (deleted)"
      try FileManager.default.createDirectory(atPath: planted, withIntermediateDirectories: false)
      #expect(bench.run("export", file, bench.path("out.ndjson"), "--assets", given, "--force").status == 5)
      #expect(try FileManager.default.contentsOfDirectory(atPath: planted).isEmpty)
      try FileManager.default.removeItem(atPath: planted)
      // Another process's: whatever that has under the number is not ours.
      let other = Process()
      other.executableURL = URL(filePath: "/bin/sleep")
      other.arguments = ["60"]
      try Data("theirs".utf8).write(to: URL(filePath: log))
      other.standardOutput = FileHandle(forUpdatingAtPath: log)
      try other.run()
      defer { other.terminate() }
      let before = try Plants.trace(log)
      let outcome = bench.run("export", file, "/proc/\(other.processIdentifier)/fd/1")
      #expect(outcome.status == 5, "\(outcome.errors)")
      #expect(try Plants.trace(log) == before)
    }
  #endif

  @Test("a pipe is written to and stays one; one that nobody reads is refused at once")
  func pipes() throws {
    let pipe = bench.path("pipe")
    try Plants.pipe(pipe)
    for call in calls(pipe) {
      let outcome = bench.run(call)
      #expect(outcome.status == 5 && outcome.errors.contains("Nobody reads"), "\(outcome.errors)")
    }
    for call in calls(pipe) {
      // Open for both, so that nobody waits for the other end.
      let reader = try #require(FileHandle(forUpdatingAtPath: pipe))
      try bench.good("dump", file)
      #expect(bench.run(call).status == 0)
      let text = String(decoding: reader.availableData, as: UTF8.self)
      #expect(text.contains(call[0] == "map" ? "commits" : "Films"), "\(call)")
      try reader.close()
    }
    #expect(try Plants.trace(pipe).kind == FileAttributeType.typeUnknown || !Plants.trace(pipe).isPlain)
    #expect(try names() == ["a.daybook", "a.daybook.assets", "one.bin", "pipe"])
  }

  @Test("a device is written to and stays one")
  func devices() throws {
    for call in calls("/dev/null") { #expect(bench.run(call).status == 0) }
    #expect(try !Plants.trace("/dev/null").isPlain)
    guard Plants.isRoot else { return }
    let device = bench.path("null")
    try Plants.device(device)
    for call in calls(device) { #expect(bench.run(call).status == 0) }
    #expect(try !Plants.trace(device).isPlain)
  }

  @Test("an empty file of another user becomes no database: its owner would own what is put into it")
  func emptyFileOfAnother() throws {
    guard Plants.isRoot else { return }
    let empty = try bench.write("", to: "empty.daybook")
    try Plants.give(empty, to: Plants.stranger)
    // Not through the bench, which checks the database that was written.
    let errors = Output.memory()
    let arguments = ["put", empty, "Z", "n", "--type", "T", "a=1"]
    #expect(Tool.run(arguments: arguments, output: Output.memory(), errors: errors) != 0)
    #expect(errors.text.contains("belongs to another user"), "\(errors.text)")
    #expect(try FileManager.default.attributesOfItem(atPath: empty)[.size] as? Int == 0)
  }

  @Test("/dev/stdout and /dev/fd/N are what has that number already", .enabled(if: ProgramUnderTest.url != nil))
  func numbers() throws {
    let dump = try bench.good("dump", file).output
    for path in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
      #expect(try ProgramRun.start(["export", file, path]).output == dump, "\(path)")
    }
    let out = bench.path("three")
    let run = try ProgramRun.start(["export", file, "/dev/fd/7"], script: "echo before > '\(out)'; \"$@\" 7>> '\(out)'")
    #expect(run.status == 0 && run.output.isEmpty)
    #expect(try String(contentsOfFile: out, encoding: .utf8) == "before\n" + dump)
    // Into the shell's own pipe.
    #expect(try ProgramRun.start(["export", file, "/dev/stdout"], script: "\"$@\" | cat").output == dump)
    #expect(bench.run("export", file, "/dev/fd/987654").status == 5)
  }

  @Test("a file is replaced when all is written, and an output that fails leaves the old one and nothing else")
  func replacing() throws {
    let out = try bench.write("old", to: "out.ndjson")
    let before = try names()
    #expect(bench.run("export", file, out, "--assets", file + ".assets", "--force").status == 2)
    _ = try bench.write("in the way", to: "folder")
    #expect(bench.run("export", file, out, "--assets", bench.path("folder"), "--force").status == 5)
    #expect(bench.run("export", file, out, "--zone", "nowhere", "--force").status == 2)
    #expect(try String(contentsOfFile: out, encoding: .utf8) == "old")
    #expect(try names() == before.union(["folder"]))
    // While it is being written the name has the old one, and the new one is nobody else's.
    let database = try Database.open(at: file)
    var output: Output? = try Output.named(out, database.outputRules())
    try output?.line(String(repeating: "x", count: 1 << 17))
    #expect(try String(contentsOfFile: out, encoding: .utf8) == "old")
    let temporary = try #require(try names().subtracting(before).first { $0.hasPrefix(".daybook-") })
    // What takes the temporary name meanwhile is not given the real one, nor removed.
    try FileManager.default.removeItem(atPath: bench.path(temporary))
    _ = try bench.write("planted", to: temporary)
    output = nil
    #expect(try String(contentsOfFile: bench.path(temporary), encoding: .utf8) == "planted")
    try FileManager.default.removeItem(atPath: bench.path(temporary))
    try database.close()
    try bench.good("export", file, out, "--force")
    #expect(try String(contentsOfFile: out, encoding: .utf8) == bench.good("dump", file).output)
    #expect(try names() == before.union(["folder"]))
    #expect(bench.run("export", file, bench.directory.path).errors.contains("is a directory"))
    #expect(bench.run("export", file, bench.path("folder/x")).status == 5)
  }

  @Test("a link of one's own is written through and stays one; a link of somebody else's is refused")
  func links() throws {
    let (link, target) = (bench.path("link.ndjson"), bench.path("target.ndjson"))
    try Plants.link(link, to: "target.ndjson")
    let dump = try bench.good("dump", file).output
    for _ in 0..<2 {
      try bench.good("export", file, link, "--force")
      #expect(try Plants.trace(link).kind == .typeSymbolicLink)
      #expect(try String(contentsOfFile: target, encoding: .utf8) == dump)
    }
    try Plants.link(bench.path("circle"), to: "circle")
    #expect(bench.run("export", file, bench.path("circle")).status == 5)
    let folder = bench.path("folder")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Plants.link(bench.path("toFolder"), to: "folder")
    try bench.good("export", file, bench.path("toFolder/out.ndjson"), "--assets", bench.path("toFolder/"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
    guard Plants.isRoot else { return }
    let victim = try bench.write("precious", to: "victim")
    for name in ["foreign.ndjson", "foreign.csv", "nowhere.csv"] {
      try Plants.link(bench.path(name), to: name == "nowhere.csv" ? bench.path("new") : victim)
      try Plants.give(bench.path(name), to: Plants.stranger)
      for call in calls(bench.path(name)) {
        let outcome = bench.run(call)
        #expect(outcome.status == 5 && outcome.errors.contains("link of another user's"), "\(outcome.errors)")
      }
    }
    try Plants.link(bench.path("foreignFolder"), to: folder)
    try Plants.give(bench.path("foreignFolder"), to: Plants.stranger)
    #expect(bench.run("export", file, "-", "--assets", bench.path("foreignFolder")).errors.contains("link of another user's"))
    try Plants.pipe(bench.path("foreignPipe"))
    try Plants.give(bench.path("foreignPipe"), to: Plants.stranger)
    let reader = try #require(FileHandle(forUpdatingAtPath: bench.path("foreignPipe")))
    #expect(bench.run("export", file, bench.path("foreignPipe")).errors.contains("of another user's"))
    try reader.close()
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious" && !names().contains("new"))
  }

  @Test("contents take the place of regular files only, and are led nowhere by a link under their name")
  func contents() throws {
    let folder = bench.path("contents")
    try bench.good("export", file, bench.path("o.ndjson"), "--assets", folder, "--force")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
    let victim = try bench.write("precious", to: "victim")
    try FileManager.default.removeItem(atPath: folder + "/" + name)
    try Plants.link(folder + "/" + name, to: victim)
    #expect(bench.run("export", file, bench.path("o.ndjson"), "--assets", folder, "--force").status == 5)
    try FileManager.default.removeItem(atPath: folder + "/" + name)
    // The name that it was once written under, and one that is there already.
    try Plants.link(folder + "/" + name + ".new", to: victim)
    try Data("half".utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
    try bench.good("export", file, bench.path("o.ndjson"), "--assets", folder, "--force")
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)).count == 80_000)
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
  }

  @Test("outputs of a private database are private from their first moment", arguments: [0o600, 0o640, 0o644])
  func rights(mode: Int) throws {
    try Plants.setMode(mode, of: file)
    let mask = Int(umask(0))
    _ = umask(mode_t(mask))
    let (wanted, wantedOfFolder) = (mode & ~mask, (mode | (mode & 0o444) >> 2 | 0o100) & ~mask)
    for (index, call) in calls(bench.path("out")).enumerated() {
      var call = call
      call[call[2] == "-o" ? 3 : 2] += "\(index)"
      try #require(bench.run(call).status == 0)
      #expect(try Plants.trace(bench.path("out\(index)")).mode == wanted, "\(call)")
    }
    let folder = bench.path("new/contents")
    try bench.good("export", file, bench.path("o.ndjson"), "--assets", folder, "--force")
    for path in [bench.path("new"), folder] { #expect(try Plants.trace(path).mode == wantedOfFolder, "\(path)") }
    for trace in try Plants.traces(in: folder).values { #expect(trace.mode == wanted) }
    // Before it has its name, too.
    let database = try Database.open(at: file)
    let output = try Output.named(bench.path("out9"), database.outputRules())
    try output.line(String(repeating: "x", count: 1 << 17))
    let temporary = try #require(try names().first { $0.hasPrefix(".daybook-") })
    #expect(try Plants.trace(bench.path(temporary)).mode == wanted)
    try output.finish()
    try database.close()
    // What it replaces is not made wider, and not narrower than it was without need.
    let narrow = try bench.write("old", to: "narrow.ndjson")
    try Plants.setMode(0o600, of: narrow)
    try bench.good("export", file, narrow, "--force")
    #expect(try Plants.trace(narrow).mode == 0o600)
    let wide = try bench.write("old", to: "wide.ndjson")
    try Plants.setMode(0o666, of: wide)
    try bench.good("export", file, wide, "--force")
    #expect(try Plants.trace(wide).mode == wanted)
  }

  @Test("what standard input brings is kept under no name", .enabled(if: ProgramUnderTest.url != nil))
  func spool() throws {
    let program: URL = try #require(ProgramUnderTest.url)
    let temporary = bench.path("temporary")
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
    let process = Process()
    process.executableURL = program
    process.arguments = ["import", bench.path("new.daybook"), "-"]
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": temporary]) { _, new in new }
    let input = Pipe()
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    // More than a pipe holds: when it is written, most of it has been read and kept.
    let row = "{\"secret\":\"\(String(repeating: "s", count: 1000))\"}\n"
    for _ in 0..<1000 { try input.fileHandleForWriting.write(contentsOf: Data(row.utf8)) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    #expect(try bench.records(bench.path("new.daybook")).count == 1000)
  }

  @Test("an import reads a pipe by its name", .enabled(if: ProgramUnderTest.url != nil))
  func inputs() throws {
    let pipe = bench.path("rows")
    try Plants.pipe(pipe)
    let lines = "for n in 1 2 3; do echo '{\"n\":'$n'}'; done"
    let run = try ProgramRun.start(["import", bench.path("new.daybook"), pipe], script: "{ \(lines); } > '\(pipe)' & \"$@\"")
    #expect(run.status == 0 && !run.hung && run.output.contains("3 rows imported"), "\(run.errors)")
    let second = try ProgramRun.start(["import", bench.path("second.daybook"), "/dev/stdin"], script: "{ \(lines); } | \"$@\"")
    #expect(second.status == 0 && second.output.contains("3 rows imported"), "\(second.errors)")
    #expect(bench.run("import", bench.path("third.daybook"), bench.directory.path).errors.contains("is a directory"))
  }

  @Test("a pipe under the name of a database is refused at once by every command", .enabled(if: ProgramUnderTest.url != nil))
  func pipeAsDatabase() throws {
    let pipe = bench.path("pipe.daybook")
    try Plants.pipe(pipe)
    for call in [
      ["info", pipe], ["dump", pipe], ["check", pipe, "--rebuild"], ["salvage", pipe, bench.path("out")], ["compact", pipe],
      ["put", pipe, "Z", "n", "--type", "T"], ["assets", pipe, "collect"], ["watch", pipe],
    ] {
      let run = try ProgramRun.start(call)
      #expect(!run.hung && run.status == 5 && run.errors.contains("not a regular file"), "\(call): \(run.errors)")
    }
  }
}
