import Foundation

/// What applications do beside getting and saving records one by one. Every method is one whole loop on a database of its own.
protocol UseEngine: AnyObject {
  /// Saves `count` records of `fieldCount` integers in one transaction.
  func insertWide(_ count: Int, fieldCount: Int) throws
  /// Fetches random ones, all fields. Returns a sum of all.
  func fetchWide(_ count: Int, among recordCount: Int, fieldCount: Int, round: UInt64) throws -> UInt64
  /// Changes records that are there, each in a savepoint of its own, all in one transaction.
  func savepoints(_ count: Int, among recordCount: Int) throws
  /// Saves new records in a transaction that is rolled back.
  func rollBack(_ count: Int) throws
  /// Saves one record in a commit of its own.
  func saveOne(_ number: Int) throws
  /// Saves one record with a value of so many bytes.
  func insertLarge(byteCount: Int) throws
  /// Reads it, changes eight of its bytes, saves it; a commit each.
  func changeLarge(_ count: Int, byteCount: Int) throws
  /// Saves one record again and again; every version stays.
  func makeVersions(_ count: Int) throws
  /// Reads the newest versions of it. Returns a sum of their values.
  func versions(limit: Int) throws -> UInt64
  func makeZones(_ count: Int) throws
  /// Returns the bytes of their names.
  func listZones() throws -> UInt64
  /// Copies the database while it is open, synced.
  func backUp(to path: String) throws
  /// Changes a field of random records.
  func change(_ count: Int, among recordCount: Int, round: UInt64, perTransaction: Int) throws
  /// What another thread reads a field of one record with, by its number.
  func makeReader() throws -> (_ number: Int) throws -> UInt64
  /// Saves so many records from as many tasks, a commit each, and waits for all of them.
  func saveFromTasks(_ numbers: Range<Int>) throws
  func compact() throws
  func close() throws
}

extension RecordKind {
  /// - Parameter fieldCount: how many fields the records have, at most: SQLite has a column for each.
  func openUse(in directory: String, fieldCount: Int = 10) throws -> any UseEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return isDaybook
      ? try DaybookUse(directory + "/use.daybook", isSynced: isSynced)
      : try SQLiteUse(directory + "/use.sqlite", isSynced: isSynced, table, fieldCount: fieldCount)
  }
}
