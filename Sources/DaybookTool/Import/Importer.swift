import Daybook
import DaybookEngine

/// Brings rows into a database: reads the input once to see what is in it, once to save it.
///
/// Always true: nothing is written before the whole input was read without fault, and no row meets a record of another type; a
/// batch is one transaction, so a process that dies leaves whole batches.
struct Importer {
  static let rowsPerBatch = 1000

  /// What the first reading found.
  enum Content {
    case empty
    /// Rows of somebody's own making.
    case rows(ImportPlan)
    /// Lines of a dump.
    case records(DumpTypes)
  }

  let input: InputFile
  let format: InputFile.Format?
  let options: ImportOptions
  let errors: Output
  /// Whether an option says what the input is: then what other commands print is rows, too.
  private let hasFormat: Bool

  init(_ input: InputFile, format: InputFile.Format?, _ options: ImportOptions, errors: Output) throws(ToolError) {
    self.input = input
    if let fault = ForeignInput.fault(in: try input.beginning(), name: input.name, hasFormat: format != nil) { throw fault }
    // An input without a single row has no format, whatever its name says.
    let found = try input.format()
    self.format = found == nil ? nil : format ?? found
    self.options = options
    self.errors = errors
    hasFormat = format != nil
  }

  // MARK: the first reading

  func survey() throws -> Content {
    guard let format else { return .empty }
    let source = input.source()
    var bar = ProgressBar("reading", on: errors)
    let content = try format == .csv ? surveyCSV(source, &bar) : surveyJSON(source, &bar)
    try bar.clear()
    return content
  }

  private func surveyCSV(_ source: ByteSource, _ bar: inout ProgressBar) throws -> Content {
    var reader = CSVReader(source, delimiter: options.delimiter)
    do {
      guard try reader.next() else { return .empty }
      if reader.cellCount == 1 { try tellOfOneColumn(reader) } else { try checkIsSplitOnce(reader) }
      // Each column costs memory for its kinds and its key before the first row is read.
      guard reader.cellCount <= Self.maximumColumnCount else {
        throw ToolError.badRow(
          line: reader.line,
          "there are \(Wording.count(reader.cellCount)) columns, and a record has \(Wording.count(Self.maximumColumnCount)) fields at most.",
          advice: "Is the first row the one with the names of the columns?")
      }
      var survey = ImportSurvey(header: reader, options)
      while try reader.next() {
        try survey.observe(reader)
        if survey.rowCount & 0xFFF == 0 { try bar.update(source.offset, of: source.byteCount) }
      }
      return .rows(try ImportPlan(survey, options))
    } catch let error as ToolError { throw withDelimiter(error, reader.delimiter) }
  }

  private func surveyJSON(_ source: ByteSource, _ bar: inout ProgressBar) throws -> Content {
    var reader = JSONElementReader(source)
    var survey = ImportSurvey(options)
    var recordCount = 0
    var sealedCount = 0
    var types = DumpTypes()
    while let (row, line) = try reader.next() {
      if recordCount > 0 || (survey.rowCount == 0 && RecordLine.isRecordLine(row)) {
        recordCount += 1
        types.add(try Self.record(row, line, sealedCount: &sealedCount, assets: options.assetFolder))
      } else {
        if !hasFormat, let fault = ForeignInput.fault(in: row, line: line) { throw fault }
        try survey.observe(row, line: line)
      }
      if (recordCount + survey.rowCount) & 0xFFF == 0 { try bar.update(source.offset, of: source.byteCount) }
    }
    if recordCount > 0 { return .records(types) }
    return .rows(try ImportPlan(survey, options))
  }

  /// As many fields as a record may have.
  static let maximumColumnCount = 65_535

  static func record(
    _ row: JSONValue, _ line: Int, sealedCount: inout Int, assets folder: SourceFolder? = nil
  ) throws(ToolError) -> Record {
    do { return try RecordLine.record(row, sealedCount: &sealedCount, assets: folder) } catch {
      switch error {
      case let fault as RecordLine.Fault: throw .badRow(line: line, fault.reason)
      case let error as DatabaseError: throw badRow(line, error)
      default: throw .badRow(line: line, "\(error)")
      }
    }
  }

  static func badRow(_ line: Int, _ error: DatabaseError) -> ToolError {
    let facts = error.facts.description
    return .badRow(line: line, facts.isEmpty ? error.message : "\(error.message) (\(facts))")
  }

  // MARK: the second reading

  /// Saves the rows.
  ///
  /// - Parameter acknowledge: called after each batch with the number of rows that are durable.
  func save(
    _ content: Content, into database: Database, acknowledge: (Int) throws -> Void = { _ in }
  ) throws -> ImportReport {
    guard let format, !content.isEmpty else { return ImportReport() }
    let source = input.source()
    var rows = try RowReader(
      source, format, content, assets: options.assetFolder, delimiter: options.delimiter)
    var session = ImportSession(
      options.onExisting, mayMeetRecords: options.nameColumn != nil || content.isRecords, isDump: content.isRecords)
    var bar = ProgressBar("saving", on: errors)
    var isAtEnd = false
    while !isAtEnd {
      let durable = session.report
      do {
        // A dump is in the order of names: children may stand before their parents, many batches apart.
        try database.writeUnordered { transaction in
          for _ in 0..<Self.rowsPerBatch {
            guard let row = try rows.next(&session.report) else {
              isAtEnd = true
              break
            }
            try session.save(row, transaction)
          }
        }
      } catch {
        try bar.clear()
        let problem = ToolError(untyped: error)
        // Whether the transaction that failed is there is not known after some errors.
        let lost = (error as? DatabaseError)?.code == .outcomeUnknown ? "" : "; of the transaction that failed nothing was"
        throw ToolError(
          problem.status, problem.message,
          advice: [problem.advice, "\(durable.importedCount) rows before it were saved\(lost)."].compactMap { $0 }
            .joined(separator: " "))
      }
      if session.report.rowCount > durable.rowCount { try acknowledge(session.report.rowCount) }
      try bar.update(source.offset, of: source.byteCount)
    }
    try bar.clear()
    try tellUnnamed(rows)
    if content.isRecords {
      for zone in session.knownZones.sorted() {
        session.report.missingTargets += try database.referencesWithoutTarget(in: zone)
      }
      for missing in session.report.missingTargets.prefix(10) {
        try errors.line("\(missing.source) needs \(missing.target), which is not there")
      }
    }
    return session.report
  }

  private func tellUnnamed(_ rows: RowReader) throws {
    for row in rows.firstUnnamed {
      try errors.line("line \(row.line): no usable name; the record is row-\(row.number)")
    }
    if rows.unnamedCount > rows.firstUnnamed.count {
      try errors.line("… and \(rows.unnamedCount - rows.firstUnnamed.count) more rows without a usable name")
    }
  }
}

extension Importer.Content {
  var isRecords: Bool {
    if case .records = self { true } else { false }
  }

  fileprivate var isEmpty: Bool {
    if case .empty = self { true } else { false }
  }
}
