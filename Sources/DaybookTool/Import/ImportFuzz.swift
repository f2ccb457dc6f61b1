import Daybook
import DaybookEngine

/// What the fuzzer asks of the readers: an input is the same whether it comes in one piece or in many, what was read and
/// written is read again as the same, and every row becomes a record or an error that names its line.
package enum ImportFuzz {
  private static func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw Forgery.Finding(message()) }
  }

  /// Byte 0: how long the pieces are, and which options the import gets; the rest is the input.
  package static func csv(_ input: [UInt8]) throws {
    let mode = Int(input.first ?? 0)
    let bytes = Array(input.dropFirst())
    let (rows, fault) = readCSV(bytes, pieceByteCount: 1 << 18)
    let (pieces, pieceFault) = readCSV(bytes, pieceByteCount: 1 + mode & 15)
    try require(
      rows == pieces && fault == pieceFault,
      "CSV in pieces of \(1 + mode & 15): \(pieces) \(pieceFault ?? ""), whole \(rows) \(fault ?? "")")
    // Written with every cell in quotes, the rows are the same.
    var quoted: [UInt8] = []
    for row in rows {
      for (index, cell) in row.enumerated() {
        if index > 0 { quoted.append(UInt8(ascii: ",")) }
        quoted.append(UInt8(ascii: "\""))
        for byte in cell { quoted += byte == UInt8(ascii: "\"") ? [byte, byte] : [byte] }
        quoted.append(UInt8(ascii: "\""))
      }
      quoted.append(0x0A)
    }
    // A row of one empty cell is an empty line, also in quotes.
    let (again, secondFault) = readCSV(quoted, pieceByteCount: 1 << 18)
    try require(
      secondFault == nil && again == rows, "CSV that was written anew reads as \(again) \(secondFault ?? ""), was \(rows)")
    let options = try options(mode, columns: rows.first.map { $0.map { String(decoding: $0, as: UTF8.self) } } ?? [])
    try records(of: bytes, .csv, options)
  }

  private static func readCSV(_ bytes: [UInt8], pieceByteCount: Int) -> (rows: [[[UInt8]]], fault: String?) {
    var rows: [[[UInt8]]] = []
    var reader = CSVReader(ByteSource(bytes, pieceByteCount: pieceByteCount))
    do throws(ToolError) {
      while try reader.next() { rows.append((0..<reader.cellCount).map { Array(reader.bytes[reader.range($0)]) }) }
      return (rows, nil)
    } catch { return (rows, error.message) }
  }

  /// Byte 0 as in `csv`.
  package static func json(_ input: [UInt8]) throws {
    let mode = Int(input.first ?? 0)
    let bytes = Array(input.dropFirst())
    let (rows, fault) = readJSON(bytes, pieceByteCount: 1 << 18)
    let (pieces, pieceFault) = readJSON(bytes, pieceByteCount: 1 + mode & 15)
    try require(
      rows == pieces && fault == pieceFault,
      "JSON in pieces of \(1 + mode & 15): \(pieceFault ?? "no fault"), whole \(fault ?? "no fault")")
    var columns: [String] = []
    for row in rows {
      let text = row.json
      do throws(JSONParser.Fault) {
        try Self.compare(try JSONParser.parse(text), row, text)
      } catch { throw Forgery.Finding("JSON that was written does not parse: \(error.reason) \(text)") }
      if case .object(let members) = row { columns += members.map(\.key) }
      try recordLine(row)
    }
    try records(of: bytes, .json, try options(mode, columns: columns))
  }

  private static func compare(_ again: JSONValue, _ row: JSONValue, _ text: String) throws(JSONParser.Fault) {
    if again != row { throw JSONParser.Fault(line: 1, reason: "it reads as another value") }
  }

  private static func readJSON(_ bytes: [UInt8], pieceByteCount: Int) -> (rows: [JSONValue], fault: String?) {
    var rows: [JSONValue] = []
    var reader = JSONElementReader(ByteSource(bytes, pieceByteCount: pieceByteCount))
    do throws(ToolError) {
      while let (row, _) = try reader.next() { rows.append(row) }
      return (rows, nil)
    } catch { return (rows, error.message) }
  }

  /// A line of a dump: what it says is said again by the record that it became.
  private static func recordLine(_ row: JSONValue) throws {
    var sealedCount = 0
    guard RecordLine.isRecordLine(row), let record = try? Importer.record(row, 1, sealedCount: &sealedCount) else { return }
    var line: [UInt8] = []
    do throws(DatabaseError) { try RecordLine.append(record, to: &line) } catch { return }
    let text = String(decoding: line, as: UTF8.self)
    let again: Record
    do { again = try Importer.record(try JSONParser.parse(text), 1, sealedCount: &sealedCount) } catch {
      throw Forgery.Finding("a line that was written does not read: \(text) \(error)")
    }
    try require(again.id == record.id && again.type == record.type, "a line reads as another record: \(text)")
    var second: [UInt8] = []
    try RecordLine.append(again, to: &second)
    try require(line == second, "a line that was read and written differs: \(text), \(String(decoding: second, as: UTF8.self))")
  }

  // MARK: rows to records

  private static func options(_ mode: Int, columns: [String]) throws -> ImportOptions {
    var options = ImportOptions()
    options.isStrict = mode & 16 != 0
    if mode & 32 != 0 { options.nameColumn = columns.first }
    if mode & 64 != 0, columns.count > 2 { options.location = (columns[1], columns[2]) }
    if mode & 128 != 0, let last = columns.last { options.dates = [(last, DateFormats([try DatePattern("%Y-%m-%d")]))] }
    return options
  }

  /// Both readings of an import, without the database: the survey, the plan, and a record for each row.
  private static func records(of bytes: [UInt8], _ format: InputFile.Format, _ options: ImportOptions) throws {
    do {
      let content = try survey(bytes, format, options)
      if case .rows(let plan) = content {
        // A key is tried as a name, as what the name becomes, and behind a number that another column took.
        try require(
          plan.keyAttemptCount <= 4 * plan.columns.count + 4,
          "\(plan.columns.count) columns took \(plan.keyAttemptCount) attempts at keys")
      }
      var rows = try RowReader(ByteSource(bytes), format, content)
      var report = ImportReport()
      while let row = try rows.next(&report) {
        for key in row.record.keys {
          try require((row.record[key] as Record.Value?) != nil, "an imported value does not read")
        }
        var line: [UInt8] = []
        try RecordLine.append(row.record, to: &line)
      }
    } catch let error as ToolError {
      try require(!error.message.isEmpty, "an error without words")
    }
  }

  private static func survey(
    _ bytes: [UInt8], _ format: InputFile.Format, _ options: ImportOptions
  ) throws -> Importer.Content {
    let source = ByteSource(bytes)
    if format == .csv {
      var reader = CSVReader(source)
      guard try reader.next() else { return .empty }
      var survey = ImportSurvey(header: reader, options)
      while try reader.next() { try survey.observe(reader) }
      return .rows(try ImportPlan(survey, options))
    }
    var reader = JSONElementReader(source)
    var survey = ImportSurvey(options)
    while let (row, line) = try reader.next() { try survey.observe(row, line: line) }
    return .rows(try ImportPlan(survey, options))
  }
}
