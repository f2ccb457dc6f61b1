import Daybook
import Foundation
import Testing

@testable import DaybookTool

// Random commands in a folder where somebody else has planted things: links, pipes, second names, names that are no names.
//
// DAYBOOK_HOSTILE_ROUNDS sets the number of rounds, DAYBOOK_HOSTILE_SEED the first seed; a failure prints its own. Where the tests
// run as root, what is planted belongs to another user, and every other round calls the program as the user nobody.

@Suite(
  "hostile names, links and modes", .enabled(if: ProgramUnderTest.url != nil, "the program was not built beside the tests"))
struct HostileTests {
  private static func number(_ name: String, _ usual: Int) -> Int {
    Int(ProcessInfo.processInfo.environment[name] ?? "") ?? usual
  }

  private static let seeds: Range<Int> = {
    let first = number("DAYBOOK_HOSTILE_SEED", 1)
    return first..<first + max(1, number("DAYBOOK_HOSTILE_ROUNDS", 6))
  }()

  @Test("strangers' files stay as they are, the database stays whole, nothing is wider than it, nobody waits", arguments: seeds)
  func round(seed: Int) throws {
    let round = try HostileRound(seed)
    for _ in 0..<4 {
      try round.plant()
      let call = round.call()
      let run = try ProgramRun.start(call, as: round.user)
      let story = "seed \(seed): \(call) among \(round.plants) ended with \(run.status): \(run.output)\(run.errors)"
      #expect(!run.hung, "\(story)")
      #expect((0...5).contains(run.status), "\(story)")
      #expect(Plants.rawControls(in: run.output + run.errors).isEmpty, "\(story)")
      #expect(try round.findings() == [], "\(story)")
    }
  }
}

/// A folder with a private database, a stranger's folder beside it, and what the stranger plants.
private final class HostileRound {
  private let bench: Workbench
  private var generator: Seeded
  /// Who calls the program; nil: whoever runs the tests.
  let user: UInt32?
  private let home: String
  private let strange: String
  private let file: String
  private let content: String
  private let dump: String
  private let strangers: [String: Plants.Trace]
  /// What was there before the program was called for the first time, and what was planted since.
  private var known: Set<Int>
  private(set) var plants: [String] = []

  private static let canBeNobody: Bool = {
    guard Plants.isRoot, FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else { return false }
    let run = try? ProgramRun.start(["--version"], as: Plants.nobody)
    return run?.status == 0
  }()

  init(_ seed: Int) throws {
    bench = try Workbench()
    generator = Seeded(UInt64(seed))
    user = seed % 2 == 0 && Self.canBeNobody ? Plants.nobody : nil
    home = bench.path("home")
    strange = bench.path("stranger")
    for folder in [home, strange, strange + "/folder"] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }
    for name in ["precious", "shared", "folder/inner", "folder/ab"] {
      try Data("belongs to the stranger: \(name)".utf8).write(to: URL(fileURLWithPath: strange + "/" + name))
    }
    try Plants.setMode(0o600, of: strange + "/precious")
    try Plants.setMode(0o666, of: strange + "/shared")
    file = home + "/" + (Plants.names.randomElement(using: &generator) ?? "") + ".daybook"
    let large = try bench.write([UInt8](repeating: 7, count: 80_000), to: "large")
    for name in Plants.names { try bench.good("put", file, name, "n", "--type", "T", "text=\(name)", "file:asset=\(large)") }
    content = try #require(
      try FileManager.default.subpathsOfDirectory(atPath: file + ".assets").first { $0.utf8.count > 60 })
    try Plants.setMode(0o600, of: file)
    dump = try bench.good("dump", file).output
    let traces = try Plants.traces(in: bench.directory.path)
    for (path, trace) in traces where trace.kind == .typeDirectory && path.hasPrefix(file) {
      try Plants.setMode(0o700, of: path)
    }
    for (path, trace) in traces where trace.kind == .typeRegular && path.hasPrefix(file) && path != file {
      try Plants.setMode(0o400, of: path)
    }
    try Plants.setMode(0o1777, of: home)
    if Plants.isRoot {
      for path in traces.keys where path.hasPrefix(strange) { try Plants.give(path, to: Plants.stranger) }
      if let user { for path in traces.keys where path.hasPrefix(home) { try Plants.give(path, to: user) } }
    }
    strangers = try Plants.traces(in: strange)
    known = Set(try Plants.traces(in: home).values.map(\.inode))
  }

  private func chosen(_ choices: [String]) -> String { choices.randomElement(using: &generator) ?? "" }

  /// Names that a command is told to write to.
  private var outputs: [String] {
    ["out.csv", "out.ndjson", "o\u{1B}[31mut\n.svg", "contents", "copy.daybook", String(repeating: "l", count: 250)].map {
      home + "/" + $0
    }
  }

  /// Names that a command derives from those it is told.
  private var derived: [String] {
    let copy = home + "/copy.daybook"
    return [
      file + ".compacted", file + ".unfinished", file + ".new", file + ".discarded-2", file + ".assets/staged",
      file + ".assets/unreferenced",
      file + ".assets/ingest-0000000000000001", file + ".assets/zz", copy + ".assets", copy + ".unfinished",
      copy + ".unfinished.assets",
      home + "/contents/" + (content.split(separator: "/").last.map { String($0) } ?? ""), home + "/out.csv.new",
    ]
  }

  /// Puts one to three things somewhere.
  func plant() throws {
    plants = []
    for _ in 0..<Int.random(in: 1...3, using: &generator) {
      let isOutput = Bool.random(using: &generator)
      let path = chosen(isOutput ? outputs : derived)
      var kinds = [
        "dangling link", "link to the database", "pipe", "folder", "file", "wide file", "second name of the database",
      ]
      // One's own link to a stranger's file is followed on purpose.
      if Plants.isRoot || !isOutput {
        kinds += ["link to a file", "link to a shared file", "link to a folder", "link to nothing of theirs"]
      }
      if Plants.isRoot { kinds += ["device", "second name of a shared file"] }
      let kind = chosen(kinds)
      do { try plant(kind, at: path) } catch {
        // Something is there already, or the folder is not.
        continue
      }
      plants.append("\(kind) at \((path as NSString).lastPathComponent.debugDescription)")
      if Plants.isRoot, !kind.hasPrefix("second name") { try Plants.give(path, to: Plants.stranger) }
      known.formUnion(try Plants.traces(in: home).values.map(\.inode))
    }
  }

  private func plant(_ kind: String, at path: String) throws {
    // Not by way of a link that was planted before: that would be the tests' own writing.
    guard try Plants.trace((path as NSString).deletingLastPathComponent).kind == .typeDirectory,
      (try? Plants.trace(path)) == nil
    else { throw ToolError.usage("taken") }
    switch kind {
    case "dangling link": try Plants.link(path, to: home + "/nothing here")
    case "link to the database": try Plants.link(path, to: file)
    case "link to a file": try Plants.link(path, to: strange + "/precious")
    case "link to a shared file": try Plants.link(path, to: strange + "/shared")
    case "link to a folder": try Plants.link(path, to: strange + "/folder")
    case "link to nothing of theirs": try Plants.link(path, to: strange + "/new")
    case "pipe": try Plants.pipe(path)
    case "device": try Plants.device(path)
    case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    case "second name of the database": try Plants.hardLink(path, to: file)
    case "second name of a shared file": try Plants.hardLink(path, to: strange + "/shared")
    default:
      try Data("planted".utf8).write(to: URL(fileURLWithPath: path))
      try Plants.setMode(kind == "file" ? 0o600 : 0o666, of: path)
    }
  }

  func call() -> [String] {
    let out = chosen(outputs)
    let calls = [
      ["export", file, out, "--force"], ["export", file, out, "--format", "csv", "--force"],
      ["export", file, out, "--assets", chosen(outputs), "--force"], ["export", file, out],
      ["export", file, out, "--format", "cloudkit-json", "--force"], ["pages", file, "-o", out], ["backup", file, out],
      ["backup", file, out, "--copy-assets", "--verify"], ["salvage", file, out], ["compact", file],
      ["assets", file, "collect", "--grace", "0"], ["assets", file], ["check", file, "--deep"], ["check", file, "--rebuild"],
      ["info", file], ["dump", out], ["import", out, file], ["info", out], ["zones", file], ["dump", file, "--format", "text"],
      ["get", file, chosen(Plants.names), "n"],
    ]
    return calls.randomElement(using: &generator) ?? []
  }

  /// What is not as it has to be.
  func findings() throws -> [String] {
    var findings: [String] = []
    let now = try Plants.traces(in: strange)
    for path in Set(now.keys).union(strangers.keys).sorted() where now[path] != strangers[path] {
      findings.append(
        "\(path) was \(strangers[path].map { "\($0)" } ?? "not there"), is \(now[path].map { "\($0)" } ?? "gone")")
    }
    let check = bench.run("check", file, "--deep")
    if check.status != 0 { findings.append("the database: \(check.output)\(check.errors)") }
    if bench.run("dump", file).output != dump { findings.append("the records are others") }
    let mine = Int(user ?? UInt32(geteuid()))
    for (path, trace) in try Plants.traces(in: home) where trace.isPlain && !known.contains(trace.inode) && trace.owner == mine
    {
      if trace.mode & 0o077 != 0 { findings.append("\(path.debugDescription) has the mode \(String(trace.mode, radix: 8))") }
    }
    return findings
  }
}
