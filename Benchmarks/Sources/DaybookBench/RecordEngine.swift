import Foundation

/// An open database of records. Every method is one whole loop.
protocol RecordEngine: AnyObject {
  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws
  /// Reads random records, changes two fields, saves them.
  func save(_ count: Int, among recordCount: UInt64, round: UInt64, perTransaction: Int) throws
  /// Returns a sum that needs all ten values of every record, as Swift values.
  /// - Parameter ownSnapshots: each fetch reads the newest state; else all read one.
  func fetchTenFields(_ count: Int, among recordCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64
  func fetchOneField(_ count: Int, among recordCount: UInt64, round: UInt64, ownSnapshots: Bool) throws -> UInt64
  /// One field of a hundred random records, so many times, each time in one snapshot.
  func fetchHundreds(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64
  /// Learns where every thousandth change is.
  func prepareChanges() throws
  /// Pages of 1000 changes from random places: names and one field, or names and all ten.
  func changes(_ pageCount: Int, round: UInt64, areWhole: Bool) throws -> UInt64
  /// Returns the last count; of a type when there is one.
  func count(_ count: Int, type: String?) throws -> UInt64
  /// Pages of up to 1000 records of a type, in the order of their names, from random places: names and one field.
  func pages(_ pageCount: Int, ofType type: String, round: UInt64) throws -> UInt64
  /// All records in the order of their names, all ten fields.
  func scan() throws -> UInt64
  func compact() throws
  func close() throws
}

/// A kind of database and the promise it is opened with.
struct RecordKind: Hashable {
  let isDaybook: Bool
  let isSynced: Bool
  /// How SQLite keeps the records: which of them is best depends on the row.
  var table = SQLiteTable.rowID

  enum SQLiteTable: String {
    /// A row has a number, the name is an index.
    case rowID
    /// The table is the tree of names: a fetch and a scan descend once, other indexes lead there by name.
    case withoutRowID = "without rowid"
    /// Row ids, and an index by type in no further order.
    case typeAlone = "type alone"
    /// Row ids, and a table of how many records there are of each type.
    case counted = "counters"
  }

  static let daybook = RecordKind(isDaybook: true, isSynced: false)
  static let typeAlone = RecordKind(isDaybook: false, isSynced: false, table: .typeAlone)
  static let counted = RecordKind(isDaybook: false, isSynced: false, table: .counted)
  static let unsynced = [daybook, RecordKind(isDaybook: false, isSynced: false)]
  static let synced = [RecordKind(isDaybook: true, isSynced: true), RecordKind(isDaybook: false, isSynced: true)]
  /// With both tables that SQLite may be best with.
  static let allUnsynced = unsynced + [RecordKind(isDaybook: false, isSynced: false, table: .withoutRowID)]

  var engine: String { isDaybook ? "daybook" : "sqlite" }
  var variant: String { variant(isSynced ? "full" : "unsynced") }
  /// A folder's name, of which each table has another.
  var folder: String { table == .rowID ? engine : "\(engine)-\(table.rawValue.replacing(" ", with: "-"))" }

  func variant(_ way: String) -> String { table == .rowID ? way : "\(way), \(table.rawValue)" }

  /// - Parameter leavesLog: what is written stays in the log, for 64 MB at least.
  func open(in directory: String, leavesLog: Bool = false) throws -> any RecordEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return isDaybook
      ? try DaybookRecords(directory + "/records.daybook", isSynced: isSynced, leavesLog: leavesLog)
      : try SQLiteRecords(directory + "/records.sqlite", isSynced: isSynced, table, leavesLog: leavesLog)
  }
}
