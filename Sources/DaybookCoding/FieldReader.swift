import Daybook

/// The fields of a record that is read, key by key in the order of the type. Where no option changes a field,
/// `FieldsDecodingContainer` reads the usual kinds from the body itself.
struct FieldReader {
  let record: Record

  init(_ record: Record) { self.record = record }

  /// The value of a field; nil when there is none.
  /// - Throws: `corrupted` when there is one that cannot be read.
  @inline(__always)
  func value(_ field: String) throws(DatabaseError) -> Record.Value? {
    if let value = record[field] as Record.Value? { return value }
    try throwUnreadable(field)
    return nil
  }

  /// A field whose bytes are malformed is not the same as none.
  private func throwUnreadable(_ field: String) throws(DatabaseError) {
    guard let mark = record.body.mark(forKey: field), !mark.isEncrypted else { return }
    do { _ = try record.value(Record.Value.self, forKey: field) } catch {
      if error.code != .unknownItem { throw error }
    }
  }

  /// The encrypted value of a field; nil when there is none.
  /// - Throws: `permissionFailure` for one that the database has no cipher to open.
  func encryptedValue(_ field: String) throws(DatabaseError) -> Record.Value? {
    do { return try record.encryptedValues.value(Record.Value.self, forKey: field) } catch {
      if error.code == .unknownItem { return nil }
      throw error
    }
  }

  /// The names of all fields.
  var fields: [String] { record.keys + record.encryptedValues.keys }

}
