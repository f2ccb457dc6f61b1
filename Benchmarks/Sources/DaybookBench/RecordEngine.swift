import Foundation

/// An open database of records. Every method is one whole loop.
protocol RecordEngine: AnyObject {
  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws
  /// Reads random records, changes two fields, saves them.
  func save(_ count: Int, among recordCount: UInt64, round: UInt64, perTransaction: Int) throws
  /// Returns a sum that needs all ten values of every record, as Swift values.
  func fetchTenFields(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64
  func fetchOneField(_ count: Int, among recordCount: UInt64, round: UInt64) throws -> UInt64
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
  /// SQLite's index by type holds the names too, as Daybook's does.
  var isTypeOrdered = true

  static let typeAlone = RecordKind(isDaybook: false, isSynced: false, isTypeOrdered: false)
  static let unsynced = [RecordKind(isDaybook: true, isSynced: false), RecordKind(isDaybook: false, isSynced: false)]
  static let synced = [RecordKind(isDaybook: true, isSynced: true), RecordKind(isDaybook: false, isSynced: true)]

  var engine: String { isDaybook ? "daybook" : "sqlite" }
  var variant: String { !isTypeOrdered ? "unsynced, type alone" : isSynced ? "full" : "unsynced" }

  /// - Parameter leavesLog: what is written stays in the log, for 64 MB at least.
  func open(in directory: String, leavesLog: Bool = false) throws -> any RecordEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return isDaybook
      ? try DaybookRecords(directory + "/records.daybook", isSynced: isSynced, leavesLog: leavesLog)
      : try SQLiteRecords(
        directory + "/records.sqlite", isSynced: isSynced, isTypeOrdered: isTypeOrdered, leavesLog: leavesLog)
  }
}
