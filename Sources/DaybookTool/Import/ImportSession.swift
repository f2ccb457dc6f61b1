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
          advice: "--on-existing replace or skip says what to do with such rows.")
      case .replace:
        report.replacedCount += 1
        try replace(existing, with: row, transaction)
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
    _ existing: Record, with row: RowReader.Row, _ transaction: borrowing Transaction
  ) throws {
    let record = row.record
    var merged = existing
    try merged.takeOver(record, keepingEncrypted: row.unsaidKeys)
    if merged.hasChanges {
      try transaction.save(merged)
      report.unsealedCount += record.encryptedValues.keys.count
    } else {
      report.unchangedCount += 1
    }
  }
}

extension Record {
  /// Becomes the other record in all but identity and metadata: its values, and no others. What is the same already
  /// does not count as changed.
  /// - Parameter unsaid: the keys of encrypted values of which the other does not say what they are: those stay. Nil for all.
  mutating func takeOver(_ other: Record, keepingEncrypted unsaid: [String]?) throws(DatabaseError) {
    // Nothing is looked for by its key: that is to walk from the front each time.
    let (plain, encrypted) = (other.fieldValues(), other.fieldValues(isEncrypted: true))
    let (ownPlain, ownEncrypted) = (fieldValues(), fieldValues(isEncrypted: true))
    // What goes, goes first: the other may have its key in the other namespace.
    for key in Self.keys(ownPlain, without: plain) { try set(nil, forKey: key) }
    for key in Self.keys(ownEncrypted, without: encrypted) {
      // One that takes the key for a plain value is refused by the schema, and not here.
      let isUnsaid = unsaid.map { $0.contains { UTF8Order.equal($0, key) } } ?? true
      if !isUnsaid || plain.contains(where: { UTF8Order.equal($0.key, key) }) { try encryptedValues.set(nil, forKey: key) }
    }
    for field in Self.fields(plain, otherThan: ownPlain) { try set(field.value, forKey: field.key) }
    for field in Self.fields(encrypted, otherThan: ownEncrypted) { try encryptedValues.set(field.value, forKey: field.key) }
    if parent != other.parent { parent = other.parent }
  }

  private typealias FieldList = [(key: String, value: Value?)]

  /// The keys of fields that the others have no value for.
  private static func keys(_ fields: FieldList, without others: FieldList) -> [String] {
    let kept = Set(others.lazy.filter { $0.value != nil }.map { Array($0.key.utf8) })
    return fields.map(\.key).filter { !kept.contains(Array($0.utf8)) }
  }

  /// Those of which the others do not have the same value.
  private static func fields(_ fields: FieldList, otherThan others: FieldList) -> FieldList {
    var known: [[UInt8]: Value] = [:]
    for (key, value) in others { known[Array(key.utf8)] = value }
    return fields.filter { !isSame(known[Array($0.key.utf8)], $0.value) }
  }

  /// Equal and of one kind: 7 and 7.0 are equal, but not the same.
  private static func isSame(_ first: Value?, _ second: Value?) -> Bool {
    first?.kind == second?.kind && first == second
  }
}
