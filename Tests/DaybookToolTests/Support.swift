import Daybook
import Foundation
import Testing

@testable import DaybookTool

/// A directory of its own for one test, and commands run in this process.
final class Workbench {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-tool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// What a command line did.
  struct Outcome {
    let status: Int32
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n").map { String($0) } }
  }

  /// The path of a file of the directory.
  func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

  /// Writes a file and returns its path.
  func write(_ text: String, to name: String) throws -> String {
    try write(Array(text.utf8), to: name)
  }

  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: directory.appendingPathComponent(name))
    return path(name)
  }

  /// Runs a command line. A database that it wrote is checked, as after every test that writes.
  @discardableResult
  func run(_ arguments: String...) -> Outcome { run(arguments) }

  func run(_ arguments: [String]) -> Outcome {
    let output = Output.memory()
    let errors = Output.memory()
    let status = Tool.run(arguments: arguments, output: output, errors: errors)
    // By bytes: an argument may be a letter of many marks.
    let name = arguments.first ?? ""
    if ["import", "put", "delete"].contains(where: { $0.equalsBytes(of: name) }), arguments.count > 1,
      FileManager.default.fileExists(atPath: arguments[1])
    {
      let report = Output.memory()
      let clean = Tool.run(arguments: ["check", arguments[1], "--deep"], output: report, errors: report)
      #expect(clean == 0, "\(report.text)")
    }
    return Outcome(status: status, output: output.text, errors: errors.text)
  }

  /// Runs a command line that has to end well.
  @discardableResult
  func good(_ arguments: String...) throws -> Outcome {
    let outcome = run(arguments)
    try #require(outcome.status == 0, "\(arguments): \(outcome.errors)")
    return outcome
  }

  /// The values of all records of a database, by name, as the tool prints them.
  func records(_ path: String, zone: String? = nil) throws -> [String: [String: Record.Value]] {
    var options = Database.Options()
    options.isReadOnly = true
    let database = try Database.open(at: path, options: options)
    var result: [String: [String: Record.Value]] = [:]
    for id in try database.zones().map(\.id) where zone == nil || id.name == zone {
      for record in try database.records(in: id) {
        var values: [String: Record.Value] = [:]
        for key in record.keys { values[key] = record[key] as Record.Value? }
        result[record.id.name] = values
      }
    }
    return result
  }
}

/// A small generator, so that a failing seed repeats.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// Parses a line of output.
func json(_ text: String) throws -> JSONValue { try JSONParser.parse(text) }
