import Daybook
import DaybookEngine

/// Reads rows as records.
struct RowReader {
  struct Row {
    let record: Record
    let line: Int
    /// The keys of encrypted values that the record has, or may have, and of which the input does not say what they are; nil for all.
    var unsaidKeys: [String]?
  }

  // One of the two is there; optional chaining moves it in place, where an enum would copy its buffers.
  private var csv: CSVReader?
  private var json: JSONElementReader?
  /// Nil for lines of a dump.
  private let plan: ImportPlan?
  /// Where the contents of a dump's assets are.
  private let assetFolder: SourceFolder?
  private var names = RowNames()
  private(set) var firstUnnamed: [(number: Int, line: Int)] = []
  private(set) var unnamedCount = 0

  init(
    _ source: ByteSource, _ format: InputFile.Format, _ content: Importer.Content, assets folder: SourceFolder? = nil,
    delimiter: Delimiter = .comma
  ) throws {
    assetFolder = folder
    if case .rows(let plan) = content { self.plan = plan } else { plan = nil }
    switch format {
    case .csv:
      csv = CSVReader(source, delimiter: delimiter)
      _ = try csv?.next()
    case .json: json = JSONElementReader(source)
    }
  }

  mutating func next(_ report: inout ImportReport) throws -> Row? {
    if try csv?.next() == true, let csv, let plan {
      report.rowCount += 1
      return note(try plan.row(csv, number: report.rowCount, names: &names), csv.line, &report)
    }
    guard let (value, line) = try json?.next() else { return nil }
    report.rowCount += 1
    guard let plan else {
      let record = try Importer.record(value, line, sealedCount: &report.sealedCount, assets: assetFolder)
      return Row(record: record, line: line, unsaidKeys: RecordLine.sealedKeys(of: value))
    }
    return note(try plan.row(value, number: report.rowCount, line: line, names: &names), line, &report)
  }

  private mutating func note(_ row: ImportPlan.Row, _ line: Int, _ report: inout ImportReport) -> Row {
    if row.isUnnamed {
      unnamedCount += 1
      report.unnamedCount += 1
      if firstUnnamed.count < 10 { firstUnnamed.append((report.rowCount, line)) }
    }
    return Row(record: row.record, line: line)
  }
}
