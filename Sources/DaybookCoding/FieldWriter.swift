#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The fields of a record that is made: what all encoding containers write through, key by key in the order of the type.
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

  // Values of one kind, when they come in the order that the record expects; false when they do not. Such a record is new.

  @inline(__always) mutating func takes(_ number: Int64, _ field: String) -> Bool { record.takes(number, forKey: field) }
  @inline(__always) mutating func takes(_ number: Double, _ field: String) -> Bool { record.takes(number, forKey: field) }
  @inline(__always) mutating func takes(_ text: String, _ field: String) -> Bool { record.takes(text, forKey: field) }
  @inline(__always) mutating func takes(_ date: Date, _ field: String) -> Bool { record.takes(date, forKey: field) }
  @inline(__always) mutating func takes(_ bytes: Data, _ field: String) -> Bool { record.takes(bytes, forKey: field) }
  @inline(__always) mutating func takes(_ texts: [String], _ field: String) -> Bool { record.takes(texts, forKey: field) }

  private func isThere(_ value: Record.Value, _ field: String) -> Bool {
    guard let known = record[field] as Record.Value? else { return false }
    switch (known, value) {
    case (.asset(let stored), .asset(let new)): return Self.isSame(stored, new)
    case (.assets(let stored), .assets(let new)):
      return stored.count == new.count && zip(stored, new).allSatisfy { Self.isSame($0, $1) }
    default: break
    }
    // One and 1.0 are equal, and are stored in two ways.
    return known.kind == value.kind && known == value
  }

  private static func isSame(_ stored: Asset, _ new: Asset) -> Bool {
    // A decoded URL leads to a copy of the content: it has not become another one.
    if stored == new || stored.isContent(of: new) { return true }
    // What was encoded has no SHA-256 yet. To look at as many bytes is less than to write them.
    guard !new.isStored, new.fileURL == nil, stored.byteCount == new.byteCount, let content = try? new.content() else {
      return false
    }
    return stored.isContent(content)
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

  /// Takes back a field that was written, be it plain or encrypted.
  mutating func takeBack(_ field: String) throws(DatabaseError) {
    if record[field] as Record.Value? != nil { try record.set(nil, forKey: field) }
    if record.encryptedValues[field] as Record.Value? != nil { try record.encryptedValues.set(nil, forKey: field) }
  }

  /// Removes what flattened values no longer have.
  mutating func clear(_ flattened: FlattenedFields) throws(DatabaseError) { try flattened.clear(&record, of: record) }

  /// Sets or removes an encrypted value.
  mutating func writeEncrypted(_ value: Record.Value?, _ field: String) throws(DatabaseError) {
    if keepsEqualValues {
      let known = record.encryptedValues[field] as Record.Value?
      if known == value, known?.kind == value?.kind { return }
    }
    try record.encryptedValues.set(value, forKey: field)
  }

  mutating func setParent(_ parent: Record.Reference?) {
    if keepsEqualValues, record.parent == parent { return }
    record.parent = parent
  }

  var id: Record.ID { record.id }

  /// Whether this is the record's name. Its identity would be made for the question (row: coding-encode).
  func isNamed(_ name: String) -> Bool { record.body.isNamed(name) }
}
