import Foundation

/// `daybook-bench`: Daybook beside LMDB and SQLite, in one run.
@main
enum Main {
  static func main() {
    do { try run(Array(CommandLine.arguments.dropFirst())) } catch {
      FileHandle.standardError.write(Data("daybook-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ arguments: [String]) throws {
    let wish = try Wish(arguments)
    if wish.wantsHelp { return print(Wish.help) }
    let parent = wish.directory ?? NSTemporaryDirectory()
    let directory = parent + (parent.hasSuffix("/") ? "" : "/") + "daybook-bench-\(ProcessInfo.processInfo.processIdentifier)"
    if let report = wish.report {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      switch report {
      case .space: try SpaceReport.run(in: directory, recordCount: wish.recordCount)
      case .latency: try LatencyReport.run(in: directory, recordCount: wish.recordCount)
      }
      return
    }
    let keys = KeyValueRows(in: directory + "/keys", recordCount: wish.recordCount)
    let records = RecordRows(in: directory + "/records", recordCount: wish.recordCount)
    var rows = (keys.rows() + records.rows()).filter { wish.selects($0.name) }
    if wish.wantsList {
      for row in rows { print("\(row.name): \(row.summary)") }
      return
    }
    if let engines = wish.engines {
      rows = rows.map { row in
        var row = row
        row.contenders.removeAll { !engines.contains($0.engine) }
        return row
      }
    }
    if rows.isEmpty { throw BenchmarkFault("no such row; --list names them") }
    try Workload.check()

    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    // What one engine left in the page cache must not be written while the next is measured.
    let runner = Runner(recordCount: wish.recordCount, repetitionCount: wish.repetitionCount, settle: { sync() })
    var outcomes: [Outcome] = []
    print("\(wish.recordCount) records, \(wish.repetitionCount) interleaved runs each, medians\n")
    print(Report.head)
    for row in rows {
      let measured = try runner.measure(row)
      outcomes += measured
      for line in Report.lines(measured) { print(line) }
      fflush(nil)
    }
    try keys.close()
    try records.close()
    if let path = wish.jsonPath { try Report.json(outcomes).write(to: URL(fileURLWithPath: path)) }
  }
}

/// What the command line asks for.
private struct Wish {
  static let help = """
    usage: daybook-bench [rows] [--records N] [--runs N] [--engines names] [--directory path] [--json path] [--list]

      space           instead of rows: all keys updated ten times over; file, live and device bytes after each round
      latency         instead of rows: durable commits while the checkpointer and the compactor are at work
      rows            names or beginnings of names: kv, record, kv-get; all when left out
      --records N     how many keys and records the databases hold (100000)
      --runs N        repetitions of each measurement (3)
      --engines a,b   only these: daybook, lmdb, sqlite, floor
      --directory P   where the databases are made, and removed at the end (the system's temporary directory)
      --json P        write the results as JSON too
      --list          name the rows
    """

  var recordCount = 100_000
  var repetitionCount = 3
  var names: [String] = []
  var engines: [String]?
  var directory: String?
  var jsonPath: String?
  var wantsList = false
  var wantsHelp = false

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--records": recordCount = try Wish.number(rest.popFirst(), of: argument, atLeast: 1000)
      case "--runs": repetitionCount = try Wish.number(rest.popFirst(), of: argument, atLeast: 1)
      case "--engines": engines = try Wish.text(rest.popFirst(), of: argument).split(separator: ",").map(String.init)
      case "--directory": directory = try Wish.text(rest.popFirst(), of: argument)
      case "--json": jsonPath = try Wish.text(rest.popFirst(), of: argument)
      case "--list": wantsList = true
      case "--help", "-h": wantsHelp = true
      case _ where argument.hasPrefix("-"): throw BenchmarkFault("unknown option \(argument); --help names them")
      default: names.append(argument)
      }
    }
  }

  enum Report: String { case space, latency }
  /// A report of its own, instead of rows.
  var report: Report? { names.count == 1 ? Report(rawValue: names[0]) : nil }

  func selects(_ row: String) -> Bool {
    names.isEmpty || names.contains { row.hasPrefix($0) }
  }

  private static func text(_ value: String?, of option: String) throws -> String {
    guard let value else { throw BenchmarkFault("\(option) needs a value") }
    return value
  }

  private static func number(_ value: String?, of option: String, atLeast least: Int) throws -> Int {
    guard let number = Int(try text(value, of: option).filter { $0 != "_" }), number >= least else {
      throw BenchmarkFault("\(option) needs a number of at least \(least)")
    }
    return number
  }
}
