import Daybook

/// The types that the lines of a dump have, by their zones.
struct DumpTypes {
  private var types: [Zone.ID: Set<String>] = [:]
  private var count = 0
  /// A dump of more zones and types may have any.
  private static let maximumCount = 4096

  mutating func add(_ record: Record) {
    if count <= Self.maximumCount, types[record.id.zone, default: []].insert(record.type).inserted { count += 1 }
  }

  /// Whether a line may have the name of a record of another type.
  func mayDiffer(from stored: [String], in zone: Zone.ID) -> Bool {
    if stored.isEmpty { return false }
    if count > Self.maximumCount { return true }
    guard let types = types[zone] else { return false }
    return types.union(stored).count > 1
  }
}

/// A record never changes its type, so a row of one type does not replace a record of another that has its name.
extension Importer {
  /// Refuses an import with such a row before anything is saved.
  ///
  /// Reads the input once more, but only where such a record can be there: where a zone has, or gets, records of several types. The first
  /// reading cannot compare: it is over before the database is opened, so that a faulty input touches none. What comes between this and the second reading, and
  /// lines of one dump that contradict each other, are refused by `ImportSession`.
  func requireTypes(_ content: Content, in database: Database) throws {
    guard let format, options.onExisting != .skip, try mayMeetOtherTypes(content, database) else { return }
    let source = input.source()
    var rows = try RowReader(source, format, content, assets: options.assetFolder, delimiter: options.delimiter)
    var report = ImportReport()
    var bar = ProgressBar("comparing", on: errors)
    let snapshot = try database.snapshot()
    while let row = try rows.next(&report) {
      if let existing = try snapshot.record(row.record.id), existing.type != row.record.type {
        try bar.clear()
        throw Self.otherType(existing, than: row, isDump: content.isRecords, "Nothing was saved. ")
      }
      if report.rowCount & 0xFFF == 0 { try bar.update(source.offset, of: source.byteCount) }
    }
    try bar.clear()
  }

  func mayMeetOtherTypes(_ content: Content, _ database: Database) throws -> Bool {
    switch content {
    case .empty: return false
    case .records(let types):
      return try database.zones().contains { types.mayDiffer(from: try database.recordTypes(in: $0.id).map(\.type), in: $0.id) }
    case .rows(let plan):
      guard options.nameColumn != nil, try database.zones().contains(where: { $0.id == plan.zone }) else { return false }
      return try database.recordTypes(in: plan.zone).contains { $0.type != plan.type }
    }
  }

  /// - Parameter saved: what of the import is in the database; empty where others say so.
  static func otherType(
    _ existing: Record, than row: RowReader.Row, isDump: Bool, _ saved: String = ""
  ) -> ToolError {
    let ways =
      isDump
      ? "--on-existing skip leaves such lines out; `daybook delete` makes room for them."
      : "--zone ZONE puts the rows beside it, --id COLUMN gives them other names, --on-existing skip leaves out those whose "
        + "record exists; --type \(existing.type) replaces it, if they are the same things."
    return ToolError(
      .finding,
      "line \(row.line): the record \(existing.id) is of type \(existing.type), the row of type \(row.record.type), "
        + "and a record never changes its type.", advice: saved + ways)
  }
}
