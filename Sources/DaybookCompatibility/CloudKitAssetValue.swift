#if !canImport(CloudKit)
  import DaybookCoding
  import Foundation

  /// A value that becomes an asset of its record: for values that are larger than a field may be.
  public protocol CloudKitAssetValue: Codable {
    /// How the content is written: JSON unless said otherwise; property lists are the other two.
    static var preferredContentType: UTType { get }

    /// The name of the file: `Type-id.json` for an `Identifiable` type, with a new UUID for others.
    var filename: String { get }

    /// The content.
    func encoded() throws -> Data

    /// The value of a content.
    static func decoded(from data: Data, type: UTType) throws -> Self
  }

  extension CloudKitAssetValue {
    /// JSON.
    public static var preferredContentType: UTType { .json }

    /// A full stop and the ending of the kind's files.
    public static var filenameSuffix: String { preferredContentType.preferredFilenameExtension.map { ".\($0)" } ?? "" }

    /// The name of the type and a new UUID.
    public var filename: String { "\(String(describing: Self.self))-\(UUID().uuidString)\(Self.filenameSuffix)" }

    /// JSON or a property list, as ``preferredContentType`` says.
    public func encoded() throws -> Data {
      let type = Self.preferredContentType
      if type.conforms(to: .json) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        return try encoder.encode(self)
      }
      guard type.conforms(to: .propertyList) else {
        throw EncodingError.invalidValue(
          self, .init(codingPath: [], debugDescription: "The type has to write the content \(type.identifier) itself."))
      }
      let encoder = PropertyListEncoder()
      encoder.outputFormat = type.conforms(to: .binaryPropertyList) ? .binary : .xml
      return try encoder.encode(self)
    }

    /// Reads JSON or a property list.
    public static func decoded(from data: Data, type: UTType) throws -> Self {
      if type.conforms(to: .json) { return try JSONDecoder().decode(Self.self, from: data) }
      guard type.conforms(to: .propertyList) else {
        throw DecodingError.typeMismatch(
          Self.self, .init(codingPath: [], debugDescription: "The type has to read the content \(type.identifier) itself."))
      }
      do throws(PropertyListLimits.Fault) { try PropertyListLimits.check(data) } catch {
        throw DecodingError.dataCorrupted(
          .init(codingPath: [], debugDescription: "In the property list \(error.reason).", underlyingError: error))
      }
      return try PropertyListDecoder().decode(Self.self, from: data)
    }

    /// The value of a content that may have been written as another kind than is preferred now.
    static func decoded(sniffing data: Data) throws -> Self {
      let preferred = preferredContentType
      let isPlain = preferred.conforms(to: .json) || preferred.conforms(to: .propertyList)
      return try decoded(from: data, type: isPlain ? UTType(sniffing: data) ?? .json : preferred)
    }
  }

  extension CloudKitAssetValue where Self: Identifiable {
    /// The name of the type and the identity.
    public var filename: String { "\(String(describing: Self.self))-\(String(describing: id))\(Self.filenameSuffix)" }
  }
#endif
