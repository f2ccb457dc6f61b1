#if !canImport(CloudKit)
  import Foundation

  /// The protocols of CloudKitCodable: one value, one record.

  /// A type whose values are records.
  public protocol CloudKitRecordRepresentable {
    /// What the database knows about the value's record, from when it was decoded; nil for a value that is new. It is never a
    /// field. With it, the value is encoded as a change of that record.
    var cloudKitSystemFields: Data? { get }

    /// The type of the record: the name of the Swift type unless said otherwise.
    var cloudKitRecordType: String { get }

    /// The name of the record: a new UUID unless said otherwise. A value with ``cloudKitSystemFields`` has its name from there.
    var cloudKitIdentifier: String { get }
  }

  extension CloudKitRecordRepresentable {
    /// The name of the Swift type.
    public var cloudKitRecordType: String { String(describing: type(of: self)) }
    /// A new UUID.
    public var cloudKitIdentifier: String { UUID().uuidString }
  }

  /// A type whose values become records.
  public protocol CustomCloudKitEncodable: CloudKitRecordRepresentable & Encodable {}
  /// A type whose values are made from records.
  public protocol CustomCloudKitDecodable: CloudKitRecordRepresentable & Decodable {}
  /// A type whose values become records and are made from them.
  public protocol CustomCloudKitCodable: CustomCloudKitEncodable & CustomCloudKitDecodable {}

  /// An enum whose raw value is a field, and which a newer version of the application may have given more cases.
  public protocol CloudKitEnum {
    /// The case for unknown raw values; nil refuses them.
    static var cloudKitFallbackCase: Self? { get }
  }

  extension CloudKitEnum where Self: CaseIterable {
    /// The first case.
    public static var cloudKitFallbackCase: Self? { allCases.first }
  }

  /// Such an enum with texts.
  public protocol CloudKitStringEnum: Codable, RawRepresentable, CloudKitEnum where RawValue == String {}
  /// Such an enum with whole numbers.
  public protocol CloudKitIntEnum: Codable, RawRepresentable, CloudKitEnum where RawValue == Int {}
#endif
