#if !canImport(CloudKit)
  import Daybook
  import DaybookCoding
  import Foundation

  let systemFieldsKey = "cloudKitSystemFields"
  let identifierKey = "cloudKitIdentifier"

  /// Why a value did not become a record.
  public enum CloudKitRecordEncodingError: Error, LocalizedError, Sendable {
    /// No field can hold the value of this key.
    case unsupportedValueForKey(String)
    /// The system fields are not those of a record, or of a record of another type.
    case systemFieldsDecode(String)
    /// A value is larger than a field may be; a ``CloudKitAssetValue`` may be larger.
    case dataFieldTooLarge(key: String, size: Int)

    /// What happened, in a sentence.
    public var errorDescription: String? {
      switch self {
      case .unsupportedValueForKey(let key): "No field can hold the value of the key \(key)."
      case .systemFieldsDecode(let reason): "The system fields cannot be used: \(reason)"
      case .dataFieldTooLarge(let key, let size):
        "The value of the key \(key) has \(size) bytes, which is more than a field may have; make it an asset."
      }
    }
  }

  /// Makes records of values. Nothing is saved by encoding, and no file is read before the record is saved.
  ///
  /// What becomes of which type is as in DaybookCoding: nested values are JSON, `UUID`s are texts, an optional that is nil removes the
  /// field. An encoder may be used by several threads at once unless its zone is changed.
  public class CloudKitRecordEncoder {
    /// The zone of records that are new; values with system fields stay in theirs.
    public var zoneID: CKRecordZone.ID?

    // Where a library has classes of these names itself, a call means its: code that imports it compiles.
    /// An encoder.
    @_disfavoredOverload
    public init(zoneID: CKRecordZone.ID? = nil) { self.zoneID = zoneID }

    /// The record of a value.
    /// - Throws: ``CloudKitRecordEncodingError``, and what the type's own code throws.
    public func encode(_ value: any Encodable) throws -> CKRecord {
      let record = try Self.record(of: value, zoneID)
      let layer = FieldLayer()
      var options = RecordCodingOptions()
      options.layer = layer
      options.rules = [systemFieldsKey: .ignored]
      // CloudKitCodable allows less than a million bytes.
      options.limits.recordByteCount = 999_999
      do throws(RecordCodingError) {
        let zone = (try? record.recordID.zoneID.daybookID) ?? .default
        let fields = try CodingFields.record(of: value, zone: zone, options: options)
        CodingFields.put(fields, into: record, layer)
      } catch { throw Self.error(error, record.recordType) }
      return record
    }

    /// A record without fields.
    private static func record(of value: any Encodable, _ zoneID: CKRecordZone.ID?) throws -> CKRecord {
      let known = value as? any CloudKitRecordRepresentable
      let type = known?.cloudKitRecordType ?? String(describing: Swift.type(of: value))
      guard let data = known?.cloudKitSystemFields else {
        let name = known?.cloudKitIdentifier ?? UUID().uuidString
        return CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: zoneID ?? .default))
      }
      guard let record = CKRecord(archivedSystemFields: data) else {
        throw CloudKitRecordEncodingError.systemFieldsDecode("they are not those of a record.")
      }
      guard record.recordType == type else {
        throw CloudKitRecordEncodingError.systemFieldsDecode("they are of the type \(record.recordType), and not \(type).")
      }
      return record
    }

    private static func error(_ error: RecordCodingError, _ type: String) -> any Error {
      switch error.code {
      case .tooLarge: CloudKitRecordEncodingError.dataFieldTooLarge(key: error.facts.key ?? type, size: error.facts.size ?? 0)
      case .other: error.cause ?? error
      default:
        if let own = error.cause as? CloudKitRecordEncodingError {
          own
        } else {
          CloudKitRecordEncodingError.unsupportedValueForKey(error.path.joined(separator: "."))
        }
      }
    }
  }
#endif
