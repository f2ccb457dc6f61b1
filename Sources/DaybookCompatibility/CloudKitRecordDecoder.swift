#if !canImport(CloudKit)
  import Daybook
  import DaybookCoding
  import Foundation

  /// Makes values of records. A decoder may be used by several threads at once.
  public final class CloudKitRecordDecoder: Sendable {
    // Where a library has classes of these names itself, a call means its: code that imports it compiles.
    /// A decoder.
    @_disfavoredOverload
    public init() {}

    /// The value of a record. A type with `cloudKitSystemFields` gets those of the record, one with `cloudKitIdentifier` its name.
    ///
    /// References are not followed: see ``CKRecordDecoder``.
    /// - Throws: `DecodingError`, and what the type's own code throws.
    public func decode<T: Decodable>(_ type: T.Type, from record: CKRecord) throws -> T {
      let layer = FieldLayer()
      var options = RecordCodingOptions()
      options.layer = layer
      options.checksRecordType = false
      do throws(RecordCodingError) {
        return try CodingFields.value(type, of: Self.fields(of: record, layer), options: options)
      } catch { throw Self.error(error) }
    }

    private static func fields(of record: CKRecord, _ layer: FieldLayer) throws(RecordCodingError) -> Record {
      do throws(DatabaseError) {
        var fields = try CodingFields.fields(of: record, layer)
        try fields.set(.bytes(record.archivedSystemFields), forKey: systemFieldsKey)
        try fields.set(.string(record.recordID.recordName), forKey: identifierKey)
        return fields
      } catch { throw RecordCodingError(.database, "The record cannot be read.", facts: error.facts, cause: error) }
    }

    private static func error(_ error: RecordCodingError) -> any Error {
      if let cause = error.cause as? DecodingError { return cause }
      if error.code == .other, let cause = error.cause { return cause }
      let path = error.path.map { Key(stringValue: $0) }
      return DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: error.message, underlyingError: error))
    }

    private struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
  }
#endif
