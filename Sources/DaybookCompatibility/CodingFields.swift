#if !canImport(CloudKit)
  import Daybook
  import DaybookCoding
  import Foundation

  import class DaybookEngine.Locked

  /// What both pairs of coders have in common: values become the fields of a Daybook record by DaybookCoding, and those become
  /// the fields of a record object. What DaybookCoding does not know, files that were not looked at yet and assets of values, a
  /// `FieldLayer` adds.
  enum CodingFields {
    /// A value for DaybookCoding: its keys are the fields.
    private struct Encoded: RecordEncodable {
      static let recordType = "Value"
      let value: any Encodable
      var recordName: String { "value" }
      func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    private struct Decoded<Value: Decodable>: RecordDecodable {
      let value: Value
      init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
    }

    /// A Daybook record with the fields of a value as its changes; identity and type mean nothing.
    static func record(
      of value: any Encodable, zone: Zone.ID, options: RecordCodingOptions
    ) throws(RecordCodingError) -> Record { try RecordEncoder(zone: zone, options: options).encode(Encoded(value: value)) }

    /// The value that a Daybook record's fields make.
    static func value<T: Decodable>(
      _ type: T.Type, of record: Record, options: RecordCodingOptions
    ) throws(RecordCodingError) -> T {
      try RecordDecoder(options: options).decode(Decoded<T>.self, from: record).value
    }

    /// Puts the fields of an encoded value into a record object.
    static func put(_ fields: Record, into record: CKRecord, _ layer: FieldLayer) {
      for key in fields.changedKeys.sorted() {
        switch fields[key] as Record.Value? {
        case .asset(let asset)?: record.setObject(layer.file(of: asset), forKey: key)
        case .assets(let list)?: record.setObject(list.map { layer.file(of: $0) }, forKey: key)
        case let value: record.setObject(value?.object, forKey: key)
        }
      }
    }

    /// The Daybook record of a record object, for a decoder: what could not be saved as it is may still be read.
    static func fields(of record: CKRecord, _ layer: FieldLayer) throws(DatabaseError) -> Record {
      let content = record.content
      var fields: Record
      switch content.base {
      case .success(let known): fields = known
      case .failure: fields = try Record(type: "Value")
      }
      for key in content.changedKeys(isEncrypted: false) {
        guard let object = content.object(FieldSlot(key)) else {
          try fields.set(nil, forKey: key)
          continue
        }
        let value: Record.Value? =
          switch object {
          case let asset as CKAsset: .asset(layer.asset(of: asset))
          case let list as [CKAsset] where !list.isEmpty: .assets(list.map { layer.asset(of: $0) })
          default: try FieldContent(object).daybookValue
          }
        try fields.set(value, forKey: key)
      }
      return fields
    }
  }

  /// What these names add to the rules of DaybookCoding. Files are not looked at before a record is saved, so a mark takes the place
  /// of the asset on its way between the record object and the value; no other code sees it.
  final class FieldLayer: CodingLayer, Sendable {
    typealias Reference = @Sendable (_ value: Any, _ field: String) throws -> Record.Value?

    private let files = Locked<[Data: CKAsset]>([:])
    private let reference: Reference?

    /// Models have places as texts.
    private let readsPlacesAsTexts: Bool

    /// - Parameters:
    ///   - reference: the value of a field for a value that is a record of its own.
    ///   - readsPlacesAsTexts: a place is a text where one is asked for.
    init(reference: Reference? = nil, readsPlacesAsTexts: Bool = false) {
      self.reference = reference
      self.readsPlacesAsTexts = readsPlacesAsTexts
    }

    // MARK: files

    private func mark(for file: CKAsset) -> Asset {
      let text = Data(UUID().uuidString.utf8)
      files.withLock { $0[text] = file }
      return Asset(data: text)
    }

    /// The asset object for an asset that may be a mark.
    func file(of asset: Asset) -> CKAsset {
      if asset.sha256 == nil, let text = asset.data, let file = files.withLock({ $0[text] }) { return file }
      return CKAsset(asset)
    }

    /// The asset for an asset object, whose file may be gone.
    func asset(of file: CKAsset) -> Asset { (try? file.daybookAsset) ?? mark(for: file) }

    // MARK: values

    func fieldValue(of value: Any, forKey field: String) throws -> Record.Value? {
      if let made = try reference?(value, field) { return made }
      switch value {
      case let url as URL: return url.isFileURL ? .asset(mark(for: CKAsset(fileURL: url.absoluteURL))) : nil
      case let list as [URL] where !list.isEmpty && list.allSatisfy(\.isFileURL):
        return .assets(list.map { mark(for: CKAsset(fileURL: $0.absoluteURL)) })
      case let value as any CloudKitAssetValue: return .asset(mark(for: CKAsset(fileURL: try Self.file(of: value, field))))
      default: return nil
      }
    }

    /// A file with the content of a value, under its name in a folder of its own.
    private static func file(of value: any CloudKitAssetValue, _ field: String) throws -> URL {
      let name = value.filename
      // The name may be made of an identity that came from anywhere.
      guard !name.isEmpty, name.utf8.count < 256, name != ".", name != "..",
        !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
      else { throw CloudKitRecordEncodingError.unsupportedValueForKey(field) }
      return try StagedFiles.newFile(value.encoded(), name: name)
    }

    func value<T>(of type: T.Type, from value: Record.Value, _ path: [any CodingKey]) throws -> T? {
      switch value {
      case .asset(let asset): return try self.value(type, of: file(of: asset), path)
      // A cast of nil to T would be a value where T is an optional.
      case .string(let text):
        guard let enumeration = type as? any CloudKitStringEnum.Type else { return nil }
        return try Self.text(text, enumeration, path) as? T
      case .int(let number):
        guard let enumeration = type as? any CloudKitIntEnum.Type else { return nil }
        return try Self.number(number, enumeration, path) as? T
      // As CloudKitCodable has written them.
      case .bytes(let data) where T.self == UUID.self: return try JSONDecoder().decode(UUID.self, from: data) as? T
      default: return nil
      }
    }

    func text(of value: Record.Value) -> String? {
      guard readsPlacesAsTexts, case .location(let place) = value else { return nil }
      return LocationTexts.text(place)
    }

    private func value<T>(_ type: T.Type, of file: CKAsset, _ path: [any CodingKey]) throws -> T? {
      if T.self == URL.self {
        guard let url = file.fileURL else {
          throw DecodingError.valueNotFound(
            type, .init(codingPath: path, debugDescription: "The content of the asset is not here."))
        }
        return url as? T
      }
      guard let type = type as? any CloudKitAssetValue.Type else { return nil }
      return try type.decoded(sniffing: file.content) as? T
    }

    private static func text<E: CloudKitStringEnum>(_ text: String, _ type: E.Type, _ path: [any CodingKey]) throws -> E {
      if let value = E(rawValue: text) ?? E.cloudKitFallbackCase { return value }
      throw DecodingError.typeMismatch(type, .init(codingPath: path, debugDescription: "No case has the raw value."))
    }

    private static func number<E: CloudKitIntEnum>(_ number: Int64, _ type: E.Type, _ path: [any CodingKey]) throws -> E {
      if let value = Int(exactly: number).flatMap({ E(rawValue: $0) }) ?? E.cloudKitFallbackCase { return value }
      throw DecodingError.typeMismatch(type, .init(codingPath: path, debugDescription: "No case has the raw value."))
    }
  }
#endif
