#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The record that a value is: made from its system fields, or new with its name.
enum RecordIdentity {
  /// A record without fields for a value.
  static func record<T: RecordEncodable>(of value: T, in zone: Zone.ID) throws(RecordCodingError) -> Record {
    let type = T.recordType
    if let data = value.systemFields {
      let record = try record(systemFields: data)
      guard record.type == type else {
        throw RecordCodingError(
          .invalidSystemFields, "The system fields are those of a record of another type.",
          facts: .init(expected: type, found: record.type))
      }
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

  /// The identity alone.
  static func id(of value: some RecordEncodable, in zone: Zone.ID) throws(RecordCodingError) -> Record.ID {
    if let data = value.systemFields { return try record(systemFields: data).id }
    return try newID(value.recordName, in: zone)
  }
}
