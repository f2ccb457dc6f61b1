import Foundation

/// `daybook-bench`: Daybook beside SQLite, LMDB, RocksDB and LevelDB, in one run.
@main
enum Main {
  static func main() {
    do { try run(Array(CommandLine.arguments.dropFirst())) } catch {
      FileHandle.standardError.write(Data("daybook-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ arguments: [String]) throws {
    if arguments.first == Child.option { return try Child.main(arguments.dropFirst()) }
    let wish = try Wish(arguments)
    if wish.wantsHelp { return print(Wish.help) }
    let parent = wish.directory ?? NSTemporaryDirectory()
    let directory = parent + (parent.hasSuffix("/") ? "" : "/") + "daybook-bench-\(ProcessInfo.processInfo.processIdentifier)"
    let keys = KeyValueRows(in: directory + "/keys", recordCount: wish.recordCount)
    let records = RecordRows(in: directory + "/records", recordCount: wish.recordCount)
    let rows = keys.rows() + records.rows()
    if wish.wantsList {
      for row in rows where wish.selects(row.name) { print("\(row.name): \(row.summary)") }
      return
    }
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    if let report = wish.report { return try run(report, wish, in: directory) }
    let measured = try measure(selected(rows, by: wish), wish, in: directory)
    try keys.close()
    try records.close()
    try write(Report.json(measured.flatMap { $0 }), to: wish.jsonPath)
    try write(Data(Comparison.table(measured).utf8), to: wish.tablePath)
    let summaries = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0.summary) })
    try write(Data(BarPlot.document(measured, summaries: summaries).utf8), to: wish.plotPath)
  }

  private static func run(_ report: Wish.Report, _ wish: Wish, in directory: String) throws {
    switch report {
    case .space: try SpaceReport.run(in: directory, recordCount: wish.recordCount)
    case .large: try LargeReport.run(in: directory, recordCount: wish.recordCount)
    case .largeKeys: try LargeReport.run([.keys], in: directory, recordCount: wish.recordCount)
    case .largeRecords: try LargeReport.run([.records], in: directory, recordCount: wish.recordCount)
    case .largeZones: try LargeReport.run([.zones], in: directory, recordCount: wish.recordCount)
    case .latency: try LatencyReport.run(in: directory, recordCount: wish.recordCount)
    case .growth:
      let outcomes = try GrowthReport.run(
        in: directory, recordCount: wish.recordCount, repetitionCount: wish.repetitionCount)
      try write(Report.json(outcomes), to: wish.jsonPath)
      try write(Data(GrowthReport.table(outcomes).utf8), to: wish.tablePath)
      try write(Data(GrowthPlot.document(outcomes).utf8), to: wish.plotPath)
    }
  }

  private static func selected(_ rows: [Row], by wish: Wish) throws -> [Row] {
    var rows = rows.filter { wish.selects($0.name) }
    if rows.isEmpty { throw BenchmarkFault("no such row; --list names them") }
    if let engines = wish.engines {
      for index in rows.indices {
        rows[index].contenders.removeAll { !engines.contains($0.engine) }
        rows[index].floors.removeAll { !engines.contains($0.engine) }
      }
    }
    return rows
  }

  private static func measure(_ rows: [Row], _ wish: Wish, in directory: String) throws -> [[Outcome]] {
    try Workload.check()
    // What one engine left in the page cache must not be written while the next is measured.
    let runner = Runner(
      recordCount: wish.recordCount, repetitionCount: wish.repetitionCount, settle: { sync() },
      device: DeviceWrites(of: directory))
    print("\(wish.recordCount) records, \(wish.repetitionCount) interleaved runs each, medians\n")
    print(Report.head)
    return try rows.map { row in
      let outcomes = try runner.measure(row)
      for line in Report.lines(outcomes) { print(line) }
      fflush(nil)
      return outcomes
    }
  }

  private static func write(_ data: Data, to path: String?) throws {
    if let path { try data.write(to: URL(fileURLWithPath: path)) }
  }
}
