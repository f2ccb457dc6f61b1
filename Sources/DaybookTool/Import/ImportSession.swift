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
  /// Of these: rows whose record is of another type.
  var otherTypeCount = 0
  /// Rows that are in the database now.
  var importedCount: Int { rowCount - skippedCount }
  /// Rows whose name had to be made up, and the first of them.
  var unnamedCount = 0
  /// Encrypted values that only a cipher could open.
  var sealedCount = 0
  /// Encrypted values that were saved as they are, because the tool has no cipher.
  var unsealedCount = 0
  /// Records that need a parent or a validated target that is not there; one for each such target.
  var missingTargets: [Database.MissingTarget] = []
}

/// Puts records into transactions and counts what became of them.
struct ImportSession {
  var report = ImportReport()
  private let onExisting: ImportOptions.OnExisting
  /// False when every name is a new UUID: then nothing needs to be looked up.
  private let mayMeetRecords: Bool
  private let isDump: Bool
  private(set) var knownZones: Set<Zone.ID> = [.default]

  init(_ onExisting: ImportOptions.OnExisting, mayMeetRecords: Bool, isDump: Bool) {
    self.onExisting = onExisting
    self.mayMeetRecords = mayMeetRecords
    self.isDump = isDump
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
        report.unsealedCount += row.record.encryptedValues.keys.count
        return
      }
      let isOfOtherType = existing.type != row.record.type
      switch onExisting {
      case .skip:
        report.skippedCount += 1
        if isOfOtherType { report.otherTypeCount += 1 }
      case _ where isOfOtherType: throw Importer.otherType(existing, than: row, isDump: isDump)
      case .fail:
        throw ToolError(
          .finding, "line \(row.line): there is a record of this name already: \(row.record.id.name)",
          advice: "--on-existing replace, update or skip says what to do with such rows.")
      case .replace, .update:
        report.replacedCount += 1
        try change(existing, row, transaction)
      }
    } catch let error as DatabaseError {
      switch error.code {
      case .invalidArguments, .limitExceeded, .valueTooLarge, .referenceViolation:
        throw Importer.badRow(row.line, error)
      default: throw error
      }
    }
  }

  private mutating func change(
    _ existing: Record, _ row: RowReader.Row, _ transaction: borrowing Transaction
  ) throws {
    let record = row.record
    var merged = existing
    if onExisting == .replace { try merged.removeOthers(than: record, keepingEncrypted: row.unsaidKeys) }
    try merged.takeOver(record)
    if merged.hasChanges {
      try transaction.save(merged)
      report.unsealedCount += record.encryptedValues.keys.count
    } else {
      report.unchangedCount += 1
    }
  }
}
