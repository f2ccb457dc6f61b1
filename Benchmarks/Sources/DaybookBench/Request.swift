import Foundation

/// What the command line asks for.
struct Request {
  static let help = """
    usage: daybook-bench [rows] [--records N] [--runs N] [--engines names] [--directory path] [--json path]
                         [--plot path] [--table path] [--tool path] [--growth] [--list]

      rows            names or beginnings of names: kv, record, kv-get; all when left out
      --records N     how many keys and records the databases hold (100000)
      --runs N        repetitions of each measurement (3)
      --engines a,b   only these: daybook, sqlite, lmdb, rocksdb, leveldb, floor
      --directory P   where the databases are made, and removed at the end (the system's temporary directory)
      --json P        write the results as JSON too
      --plot P        write the results as SVG too
      --tool P        the built `daybook`, for the row use-import-csv, which is left out without
      --table P       write the ratios against the best peer as a Markdown table too
      --growth        instead of rows: how cost grows from 10,000 records to N, with the expected curves
      --list          name the rows
      space           instead of rows: all keys updated ten times over; file, live and device bytes after each round
      latency         instead of rows: durable commits while the checkpointer and the compactor are at work
      idle            instead of rows: what an open database does while it is not used
      large           instead of rows: N keys, N records and N / 100 zones made, changed, read, compacted, opened; with memory;
                      large-keys, large-records and large-zones are its parts
    """

  enum Report: String {
    case space, latency, idle, large, growth
    case largeKeys = "large-keys"
    case largeRecords = "large-records"
    case largeZones = "large-zones"
  }

  var recordCount = 100_000
  var repetitionCount = 3
  var names: [String] = []
  var engines: [String]?
  var directory: String?
  var jsonPath: String?
  var plotPath: String?
  var tablePath: String?
  var toolPath: String?
  var wantsGrowth = false
  var wantsList = false
  var wantsHelp = false

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--records": recordCount = try Request.number(rest.popFirst(), of: argument, atLeast: 1000)
      case "--runs": repetitionCount = try Request.number(rest.popFirst(), of: argument, atLeast: 1)
      case "--engines": engines = try Request.text(rest.popFirst(), of: argument).split(separator: ",").map(String.init)
      case "--directory": directory = try Request.text(rest.popFirst(), of: argument)
      case "--json": jsonPath = try Request.text(rest.popFirst(), of: argument)
      case "--plot": plotPath = try Request.text(rest.popFirst(), of: argument)
      case "--table": tablePath = try Request.text(rest.popFirst(), of: argument)
      case "--tool": toolPath = try Request.text(rest.popFirst(), of: argument)
      case "--growth": wantsGrowth = true
      case "--list": wantsList = true
      case "--help", "-h": wantsHelp = true
      case _ where argument.hasPrefix("-"): throw BenchmarkFault("unknown option \(argument); --help names them")
      default: names.append(argument)
      }
    }
  }

  /// A report of its own, instead of rows.
  var report: Report? { wantsGrowth ? .growth : names.count == 1 ? Report(rawValue: names[0]) : nil }

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
