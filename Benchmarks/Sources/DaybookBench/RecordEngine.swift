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
  func close() throws
}
