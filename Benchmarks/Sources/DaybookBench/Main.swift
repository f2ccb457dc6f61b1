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
    let request = try Request(arguments)
    if request.wantsHelp { return print(Request.help) }
    let parent = request.directory ?? NSTemporaryDirectory()
    let directory = parent + (parent.hasSuffix("/") ? "" : "/") + "daybook-bench-\(ProcessInfo.processInfo.processIdentifier)"
    let keys = KeyValueRows(in: directory + "/keys", recordCount: request.recordCount)
    let records = RecordRows(in: directory + "/records", recordCount: request.recordCount)
    let uses = UseRows(in: directory + "/uses", recordCount: request.recordCount)
    let coding = CodingRows(in: directory + "/coding", recordCount: request.recordCount)
    let queries = QueryRows(in: directory + "/queries", recordCount: request.recordCount)
    var rows = keys.rows() + records.rows() + uses.rows() + coding.rows() + queries.rows()
    if let tool = request.toolPath { rows.append(uses.importCSV(tool: tool)) }
    if request.wantsList {
      for row in rows where request.selects(row.name) { print("\(row.name): \(row.summary)") }
      return
    }
    try FileManager.default.createDirectory(atPath: directory + "/uses", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    if let report = request.report { return try run(report, request, in: directory) }
    let (measured, failed) = try measure(selected(rows, by: request), request, in: directory)
    try keys.close()
    try records.close()
    try coding.close()
    try queries.close()
    try write(Report.json(measured.flatMap { $0 }), to: request.jsonPath)
    try write(Data(Comparison.table(measured).utf8), to: request.tablePath)
    let summaries = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0.summary) })
    try write(Data(BarPlot.document(measured, summaries: summaries).utf8), to: request.plotPath)
    if !failed.isEmpty { throw BenchmarkFault("not measured: \(failed.joined(separator: ", "))") }
  }

  private static func run(_ report: Request.Report, _ request: Request, in directory: String) throws {
    switch report {
    case .space: try SpaceReport.run(in: directory, recordCount: request.recordCount)
    case .large: try LargeReport.run(in: directory, recordCount: request.recordCount)
    case .largeKeys: try LargeReport.run([.keys], in: directory, recordCount: request.recordCount)
    case .largeRecords: try LargeReport.run([.records], in: directory, recordCount: request.recordCount)
    case .largeZones: try LargeReport.run([.zones], in: directory, recordCount: request.recordCount)
    case .idle: try IdleReport.run(in: directory)
    case .latency: try LatencyReport.run(in: directory, recordCount: request.recordCount)
    case .growth:
      let outcomes = try GrowthReport.run(
        in: directory, recordCount: request.recordCount, repetitionCount: request.repetitionCount)
      try write(Report.json(outcomes), to: request.jsonPath)
      try write(Data(GrowthReport.table(outcomes).utf8), to: request.tablePath)
      try write(Data(GrowthPlot.document(outcomes).utf8), to: request.plotPath)
    }
  }

  private static func selected(_ rows: [Row], by request: Request) throws -> [Row] {
    var rows = rows.filter { request.selects($0.name) }
    if rows.isEmpty { throw BenchmarkFault("no such row; --list names them") }
    if let engines = request.engines {
      for index in rows.indices {
        rows[index].contenders.removeAll { !engines.contains($0.engine) }
        rows[index].floors.removeAll { !engines.contains($0.engine) }
      }
    }
    return rows
  }

  /// - Returns: what was measured, and the names of rows that failed: an hour's work is not lost with one of them.
  private static func measure(
    _ rows: [Row], _ request: Request, in directory: String
  ) throws -> (measured: [[Outcome]], failed: [String]) {
    try Workload.check()
    // What one engine left in the page cache must not be written while the next is measured.
    let runner = Runner(
      recordCount: request.recordCount, repetitionCount: request.repetitionCount, settle: { sync() },
      device: DeviceWrites(of: directory))
    print("\(request.recordCount) records, \(request.repetitionCount) interleaved runs each, medians\n")
    print(Report.head)
    var (measured, failed): ([[Outcome]], [String]) = ([], [])
    for row in rows {
      do { measured.append(try runner.measure(row)) } catch {
        failed.append(row.name)
        FileHandle.standardError.write(Data("daybook-bench: \(row.name): \(error)\n".utf8))
        continue
      }
      for line in Report.lines(measured[measured.count - 1]) { print(line) }
      fflush(nil)
    }
    return (measured, failed)
  }

  private static func write(_ data: Data, to path: String?) throws {
    if let path { try data.write(to: URL(fileURLWithPath: path)) }
  }
}
