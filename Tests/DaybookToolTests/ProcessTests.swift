import Daybook
import Foundation
import Testing

@testable import DaybookTool

/// What only a process of its own can show: pipes, kills, the demo.
@Suite("the program", .enabled(if: ProgramUnderTest.url != nil, "the program was not built beside the tests"))
struct ProcessTests {
  let bench: Workbench
  private let program: URL

  init() throws {
    bench = try Workbench()
    program = try #require(ProgramUnderTest.url)
  }

  private func start(_ arguments: [String], input: FileHandle? = nil) throws -> (Process, FileHandle) {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = input ?? FileHandle.nullDevice
    try process.run()
    return (process, output.fileHandleForReading)
  }

  @Test("the demo holds")
  func demo() throws {
    let (process, output) = try start(["demo"])
    let text = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("Everything held.") && text.contains("killed") && !text.contains("✗"))
  }

  @Test("a file that may grow no further is an error, and nothing is left of the copy")
  func fileSize() throws {
    let file = bench.path("test.daybook")
    try bench.good("put", file, "Z", "a", "--type", "T", "text=\(String(repeating: "a", count: 20_000))")
    // Blocks of 1024 bytes in one shell, of 512 in another.
    let run = try ProgramRun.start(["backup", file, bench.path("copy")], script: "ulimit -f 8; \"$@\"")
    #expect(run.status == 5, "\(run.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path).allSatisfy { !$0.hasPrefix("copy") })
    try bench.good("backup", file, bench.path("copy"))
  }

  @Test("standard input is imported, and spooled files are removed")
  func standardInput() throws {
    let rows = try bench.write((0..<5000).map { "{\"n\":\($0)}" }.joined(separator: "\n"), to: "rows")
    let file = bench.path("test.daybook")
    let (process, output) = try start(["import", file, "-"], input: FileHandle(forReadingAtPath: rows))
    let text = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && text.contains("5,000 rows imported into zone _defaultZone as Row"))
    #expect(try bench.records(file).count == 5000)
  }

  @Test("a standard input that is closed or a directory is told in words, and no database is made")
  func closedInput() throws {
    let file = bench.path("test.daybook")
    for script in ["\"$@\" <&-", "\"$@\" </"] {
      let run = try ProgramRun.start(["import", file, "-"], script: script)
      #expect(run.status == 5)
      let advice = "It is closed, a directory, or failed: give it a file or a pipe, as in `daybook import FILE - < INPUT`."
      #expect(run.errors == "daybook: Standard input cannot be read.\n  \(advice)\n")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
  }

  @Test("an import that is killed leaves whole batches, and every acknowledged row", arguments: 0..<5)
  func killed(seed: UInt64) throws {
    var generator = Seeded(seed)
    let rows = try bench.write(
      (1...40_000).map { "{\"n\":\($0),\"text\":\"\(String(repeating: "x", count: 100))\"}" }.joined(separator: "\n"),
      to: "rows.ndjson")
    let file = bench.path("test.daybook")
    let (process, output) = try start(["import", file, rows, "--id", "n", "--acknowledge"])
    var seen: [UInt8] = []
    let stop = Int.random(in: 1...20, using: &generator)
    while seen.count(where: { $0 == 0x0A }) < stop {
      guard let piece = try output.read(upToCount: 64), !piece.isEmpty else { break }
      seen.append(contentsOf: piece)
    }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    seen.append(contentsOf: try output.readToEnd() ?? Data())
    let acknowledged = String(decoding: seen, as: UTF8.self).split(separator: "\n").last.flatMap { Int($0) } ?? 0
    #expect(bench.run("check", file, "--deep").status == 0)
    let records = try bench.records(file)
    #expect(records.count >= acknowledged && records.count % 1000 == 0, "\(records.count) of \(acknowledged)")
    #expect((1...max(1, records.count)).allSatisfy { records.isEmpty || records["\($0)"] != nil })
  }
}

/// The program `daybook`, which is built beside the tests.
enum ProgramUnderTest {
  static let url: URL? = {
    let places = [Bundle.main.executableURL, Bundle.main.bundleURL].compactMap { $0?.deletingLastPathComponent() }
    return places.map { $0.appendingPathComponent("daybook") }.first {
      FileManager.default.isExecutableFile(atPath: $0.path)
    }
  }()
}
