#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// How a record keeps its fields: all containers write through the one and read through the other, key by key in the order of the
/// type. Where no option changes a field, `FieldsDecodingContainer` reads the usual kinds from the body itself.

/// The fields of a record that is made.
struct FieldWriter {
  private(set) var record: Record
  /// Values that the record has already are not changes of it.
  let keepsEqualValues: Bool

  init(_ record: Record, keepsEqualValues: Bool) {
    self.record = record
    self.keepsEqualValues = keepsEqualValues
  }

  /// Sets a field.
  @inline(__always)
  mutating func write(_ value: consuming Record.Value, _ field: String) throws(DatabaseError) {
    if keepsEqualValues, isThere(value, field) { return }
    try record.set(value, forKey: field)
  }

  /// Sets or removes a field of a new record; false when the record refuses the key or the value.
  @inline(__always)
  mutating func isWritten(_ value: consuming Record.Value?, _ field: String) -> Bool {
    do throws(DatabaseError) { try record.set(value, forKey: field) } catch { return false }
    return true
  }

  private func isThere(_ value: Record.Value, _ field: String) -> Bool {
    guard let known = record[field] as Record.Value? else { return false }
    // One and 1.0 are equal, and are stored in two ways.
    return known.kind == value.kind && known == value
  }

  /// Removes a field. Also of a new record: saved over an older one, it takes the field away there.
  @inline(__always)
  mutating func remove(_ field: String) throws(DatabaseError) {
    if keepsEqualValues, record[field] as Record.Value? == nil { return }
    do { try record.set(nil, forKey: field) } catch {
      // A name that no field can have: there is none to take away.
      if record[field] as Record.Value? != nil { throw error }
    }
  }

  /// Removes the fields whose names begin so and that may go.
  mutating func removeAll(prefix: String, where mayGo: (String) -> Bool) throws(DatabaseError) {
    for key in record.keys where key.utf8.starts(with: prefix.utf8) && mayGo(key) { try record.set(nil, forKey: key) }
  }

  mutating func setParent(_ parent: Record.Reference?) { record.parent = parent }

  var id: Record.ID { record.id }
}

/// The fields of a record that is read.
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

  /// The names of all fields.
  var fields: [String] { record.keys }

  /// Whether there is a field of this name or one that begins with it and an underscore.
  func hasField(_ field: String, orBelow prefix: String) -> Bool {
    (record[field] as Record.Value?) != nil || record.keys.contains { $0.utf8.starts(with: prefix.utf8) }
  }
}
