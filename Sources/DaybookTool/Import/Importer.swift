import Daybook

/// What an import did.
struct ImportReport {
  var rowCount = 0
  /// Records that are new.
  var newCount = 0
  /// Rows that met a record of the same name, and how many of these were the same already.
  var replacedCount = 0
  var unchangedCount = 0
  var skippedCount = 0
  /// Rows whose name had to be made up, and the first of them.
  var unnamedCount = 0
  /// Encrypted values that only a cipher could open.
  var sealedCount = 0
}

/// Brings rows into a database: reads the input once to see what is in it, once to save it.
///
/// Always true: nothing is written before the whole input was read without fault; a batch is one transaction, so a
/// process that dies leaves whole batches.
struct Importer {
  static let rowsPerBatch = 1000

  /// What the first reading found.
  enum Content {
    case empty
    /// Rows of somebody's own making.
    case rows(ImportPlan)
    /// Lines of a dump.
    case records(rowCount: Int)
  }

  private let input: InputFile
  private let format: InputFile.Format?
  private let options: ImportOptions
  private let errors: Output

  init(_ input: InputFile, format: InputFile.Format?, _ options: ImportOptions, errors: Output) throws(ToolError) {
    self.input = input
    // An input without a single row has no format, whatever its name says.
    let found = try input.format()
    self.format = found == nil ? nil : format ?? found
    self.options = options
    self.errors = errors
  }

  // MARK: the first reading

  func survey() throws -> Content {
    guard let format else { return .empty }
    let source = try input.source()
    var bar = ProgressBar("reading", on: errors)
    let content = try format == .csv ? surveyCSV(source, &bar) : surveyJSON(source, &bar)
    try bar.clear()
    return content
  }

  private func surveyCSV(_ source: ByteSource, _ bar: inout ProgressBar) throws -> Content {
    var reader = CSVReader(source)
    guard try reader.next() else { return .empty }
    var survey = ImportSurvey(header: reader, options)
    while try reader.next() {
      try survey.observe(reader)
      if survey.rowCount & 0xFFF == 0 { try bar.update(source.offset, of: source.byteCount) }
    }
    return .rows(try ImportPlan(survey, options))
  }

  private func surveyJSON(_ source: ByteSource, _ bar: inout ProgressBar) throws -> Content {
    var reader = JSONElementReader(source)
    var survey = ImportSurvey(options)
    var recordCount = 0
    var sealedCount = 0
    while let (row, line) = try reader.next() {
      if recordCount > 0 || (survey.rowCount == 0 && RecordLine.isRecordLine(row)) {
        recordCount += 1
        _ = try Self.record(row, line, sealedCount: &sealedCount)
      } else {
        try survey.observe(row, line: line)
      }
      if (recordCount + survey.rowCount) & 0xFFF == 0 { try bar.update(source.offset, of: source.byteCount) }
    }
    if recordCount > 0 { return .records(rowCount: recordCount) }
    return .rows(try ImportPlan(survey, options))
  }

  private static func record(_ row: JSONValue, _ line: Int, sealedCount: inout Int) throws(ToolError) -> Record {
    do { return try RecordLine.record(row, sealedCount: &sealedCount) } catch {
      switch error {
      case let fault as RecordLine.Fault: throw .badRow(line: line, fault.reason)
      case let error as DatabaseError: throw badRow(line, error)
      default: throw .badRow(line: line, "\(error)")
      }
    }
  }

  private static func badRow(_ line: Int, _ error: DatabaseError) -> ToolError {
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
    let source = try input.source()
    var rows = try RowReader(source, format, content)
    var session = ImportSession(options.onExisting, mayMeetRecords: options.nameColumn != nil || content.isRecords)
    var bar = ProgressBar("saving", on: errors)
    var isAtEnd = false
    while !isAtEnd {
      let durable = session.report
      do {
        try database.write { transaction in
          for _ in 0..<Self.rowsPerBatch {
            guard let row = try rows.next(&session.report) else {
              isAtEnd = true
              break
            }
            try session.save(row, transaction)
          }
        }
      } catch let error as ToolError {
        try bar.clear()
        throw ToolError(
          error.status, error.message,
          advice: [error.advice, "\(durable.rowCount) rows before it were saved."].compactMap { $0 }
            .joined(separator: " "))
      }
      if session.report.rowCount > durable.rowCount { try acknowledge(session.report.rowCount) }
      try bar.update(source.offset, of: source.byteCount)
    }
    try bar.clear()
    try tellUnnamed(rows)
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

  /// Reads rows as records.
  private struct RowReader {
    struct Row {
      let record: Record
      let line: Int
    }

    // One of the two is there; optional chaining moves it in place, where an enum would copy its buffers.
    private var csv: CSVReader?
    private var json: JSONElementReader?
    /// Nil for lines of a dump.
    private let plan: ImportPlan?
    private var names = RandomNames()
    private(set) var firstUnnamed: [(number: Int, line: Int)] = []
    private(set) var unnamedCount = 0

    init(_ source: ByteSource, _ format: InputFile.Format, _ content: Content) throws {
      if case .rows(let plan) = content { self.plan = plan } else { plan = nil }
      switch format {
      case .csv:
        csv = CSVReader(source)
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
        return Row(record: try Importer.record(value, line, sealedCount: &report.sealedCount), line: line)
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

  /// Puts records into transactions and counts what became of them.
  private struct ImportSession {
    var report = ImportReport()
    private let onExisting: ImportOptions.OnExisting
    /// False when every name is a new UUID: then nothing needs to be looked up.
    private let mayMeetRecords: Bool
    private var knownZones: Set<Zone.ID> = [.default]

    init(_ onExisting: ImportOptions.OnExisting, mayMeetRecords: Bool) {
      self.onExisting = onExisting
      self.mayMeetRecords = mayMeetRecords
    }

    mutating func save(_ row: RowReader.Row, _ transaction: borrowing Transaction) throws {
      do {
        if !knownZones.contains(row.record.id.zone) {
          try transaction.save(Zone(row.record.id.zone))
          knownZones.insert(row.record.id.zone)
        }
        guard mayMeetRecords, let existing = try transaction.record(row.record.id) else {
          try transaction.save(row.record)
          report.newCount += 1
          return
        }
        switch onExisting {
        case .skip: report.skippedCount += 1
        case .fail:
          throw ToolError(
            .finding, "line \(row.line): there is a record of this name already: \(row.record.id.name)",
            advice: "--on-existing replace or skip says what to do with such rows.")
        case .replace:
          report.replacedCount += 1
          try replace(existing, with: row.record, transaction)
        }
      } catch let error as DatabaseError {
        switch error.code {
        case .invalidArguments, .limitExceeded, .valueTooLarge, .referenceViolation:
          throw Importer.badRow(row.line, error)
        default: throw error
        }
      }
    }

    private mutating func replace(
      _ existing: Record, with record: Record, _ transaction: borrowing Transaction
    ) throws {
      guard existing.type == record.type else {
        // A record never changes its type, so this is another record of the same name.
        try transaction.delete(existing.id)
        try transaction.save(record)
        return
      }
      var merged = existing
      try merged.takeOver(record)
      if merged.hasChanges { try transaction.save(merged) } else { report.unchangedCount += 1 }
    }
  }
}

extension Importer.Content {
  fileprivate var isRecords: Bool {
    if case .records = self { true } else { false }
  }

  fileprivate var isEmpty: Bool {
    if case .empty = self { true } else { false }
  }
}

extension Record {
  /// Becomes the other record in all but identity and metadata: its values, and no others. What is the same already
  /// does not count as changed.
  mutating func takeOver(_ other: Record) throws(DatabaseError) {
    for key in keys where other[key] as Value? == nil { try set(nil, forKey: key) }
    for key in encryptedValues.keys where other.encryptedValues[key] as Value? == nil {
      try encryptedValues.set(nil, forKey: key)
    }
    for key in other.keys {
      let value: Value? = other[key]
      if !Self.isSame(self[key], value) { try set(value, forKey: key) }
    }
    for key in other.encryptedValues.keys {
      let value: Value? = other.encryptedValues[key]
      if !Self.isSame(encryptedValues[key], value) { try encryptedValues.set(value, forKey: key) }
    }
    if parent != other.parent { parent = other.parent }
  }

  /// Equal and of one kind: 7 and 7.0 are equal, but not the same.
  private static func isSame(_ first: Value?, _ second: Value?) -> Bool {
    first?.kind == second?.kind && first == second
  }
}
