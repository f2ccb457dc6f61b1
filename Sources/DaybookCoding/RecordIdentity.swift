#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The record that a value is: made from its system fields, or new with its name.
enum RecordIdentity {
  /// A record without fields for a value.
  /// - Parameter checksType: whether system fields of a record of another type are refused; else it keeps its type.
  static func record<T: RecordEncodable>(
    of value: T, in zone: Zone.ID, checksType: Bool
  ) throws(RecordCodingError) -> Record {
    let type = T.recordType
    if let data = value.systemFields {
      let record = try record(systemFields: data)
      guard record.type == type || !checksType else {
        throw RecordCodingError(
          .invalidSystemFields, "The system fields are those of a record of another type.",
          facts: .init(expected: type, found: record.type))
      }
      try checkName(of: value, record)
      return record
    }
    return try record(of: type, id: try newID(value.recordName, in: zone))
  }

  /// A new record of a type.
  static func record(of type: String, id: Record.ID) throws(RecordCodingError) -> Record {
    do { return try Record(type: type, id: id) } catch {
      throw RecordCodingError(.invalidIdentity, "The record type is not valid.", facts: error.facts, cause: error)
    }
  }

  private static func record(systemFields data: Data) throws(RecordCodingError) -> Record {
    do { return try Record(systemFields: data) } catch {
      throw RecordCodingError(.invalidSystemFields, "The system fields are not those of a record.", cause: error)
    }
  }

  private static func newID(_ name: String, in zone: Zone.ID) throws(RecordCodingError) -> Record.ID {
    do { return try Record.ID(name, in: zone) } catch {
      throw RecordCodingError(.invalidIdentity, "The record name is not valid.", facts: error.facts, cause: error)
    }
  }

  /// A value that has got another name than its system fields say would be saved over the record that it was made from.
  private static func checkName<T: RecordEncodable>(of value: T, _ record: Record) throws(RecordCodingError) {
    if TypeMemory.isKnownToHaveNoName(T.self) { return }
    let name = value.recordName
    if record.body.isNamed(name) { return }
    // A name may have been given in small letters.
    if let id = UUID(uuidString: name), id == UUID(uuidString: record.id.name) { return }
    // What nothing names has another name each time.
    guard value.recordName == name else { return }
    throw renamed(record.id, to: name)
  }

  /// The identity alone.
  static func id<T: RecordEncodable>(of value: T, in zone: Zone.ID) throws(RecordCodingError) -> Record.ID {
    if let data = value.systemFields {
      let record = try record(systemFields: data)
      try checkName(of: value, record)
      return record.id
    }
    return try newID(value.recordName, in: zone)
  }

  /// The identity of a value that may be stored already.
  /// - Throws: `invalidIdentity` for a value whose name is another one each time: what it was saved as is not to be found.
  static func storedID(of value: some RecordEncodable, in zone: Zone.ID) throws(RecordCodingError)
    -> Record.ID
  {
    let id = try id(of: value, in: zone)
    if value.systemFields == nil, value.recordName != id.name {
      throw RecordCodingError(
        .invalidIdentity,
        "The value has neither system fields nor a name that stays, so it is not known which record it is.",
        facts: .init(zone: zone, recordType: type(of: value).recordType))
    }
    return id
  }

  /// The error for a value that is saved as one record and has the name of another.
  /// - Parameter name: the other one.
  static func renamed(_ id: Record.ID, to name: String) -> RecordCodingError {
    RecordCodingError(
      .invalidIdentity,
      "A record keeps its name, and the value has got another one; save it as a new value, without system fields, and delete the old one.",
      facts: .init(zone: id.zone, name: id.name, expected: id.name, found: name))
  }
}
