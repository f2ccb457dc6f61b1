#if !canImport(CloudKit)
  import DaybookCoding
  import Foundation

  /// The protocols of NestedCloudKitCodable: one value, the record of each value below it.

  /// A type whose values are records.
  public protocol CKRecordRepresentable {
    /// The type of the record.
    var cloudKitRecordType: String { get }

    /// The name of the record, unique in its zone: values of one name are one record.
    var cloudKitIdentifier: String { get }

    /// Properties that are not written; none unless said otherwise.
    func ignoredProperties() -> [String]

    /// What the references of properties do: `deleteSelf` unless said otherwise.
    func cloudKitReferenceActions() -> [String: CKRecord.Reference.Action]
  }

  extension CKRecordRepresentable {
    /// None.
    public func ignoredProperties() -> [String] { [] }
    /// None: each has the default.
    public func cloudKitReferenceActions() -> [String: CKRecord.Reference.Action] { [:] }
  }

  /// A type whose values become records.
  public typealias CKEncodable = CKRecordRepresentable & Encodable
  /// A type whose values are made from records: DaybookCoding follows their references.
  public typealias CKDecodable = CKRecordRepresentable & RecordDecodable
  /// A type whose values become records and are made from them.
  public typealias CKCodable = CKEncodable & CKDecodable

  /// Why values did not become records, or records values.
  public struct CKCodableError: Error, LocalizedError, CustomStringConvertible, Sendable {
    /// What happened.
    public enum ErrorType: String, Sendable, Hashable {
      /// The database failed.
      case cloudkitError
      /// Two different values have the same identifier, or a value would have to contain itself.
      case cloudkitInconsistence
      /// A record that is referred to does not exist.
      case recordNotFound
      /// A field cannot hold the value, or has another one.
      case typeMismatch
    }

    /// What happened.
    public let errorType: ErrorType
    /// Where: the properties from the value down.
    public let path: [String]
    /// The record that is missing.
    public let recordID: CKRecord.ID?
    /// The error underneath.
    public let cause: (any Error)?
    private let sentence: String

    /// An error, as tests make them.
    public init(_ errorType: ErrorType) {
      self.errorType = errorType
      path = []
      recordID = nil
      cause = nil
      sentence = "\(errorType.rawValue)."
    }

    init(_ error: RecordCodingError) {
      errorType =
        switch error.code {
        case .recordNotFound: .recordNotFound
        case .database: .cloudkitError
        case .cycle, .conflictingValues: .cloudkitInconsistence
        default: .typeMismatch
        }
      path = error.path
      recordID = error.facts.target.map { CKRecord.ID($0) }
      cause = error.code == .database ? error.cause.map { CKError(any: $0) } : error
      sentence = error.message
    }

    /// The sentence and the path.
    public var description: String { path.isEmpty ? sentence : "\(sentence) (\(path.joined(separator: ".")))" }
    /// The same.
    public var errorDescription: String? { description }
  }

  extension CKCodableError: Equatable {
    /// Whether both say that the same happened.
    public static func == (first: CKCodableError, second: CKCodableError) -> Bool { first.errorType == second.errorType }
  }
#endif
