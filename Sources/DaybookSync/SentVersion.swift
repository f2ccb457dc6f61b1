#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the server was told of a record, and has not answered: written down before each request, and removed in the transaction that
/// writes down the answer.
///
/// Where an answer is lost, the server's version may be one of these, and then no other device has changed the record: what is here now is
/// newer. One request after the other may be lost, so there may be several.
///
///     each      1 byte: 0 a deletion, 1 a save with its fields
struct SentVersion: Equatable, Sendable {
  /// What all fields were; nil for a deletion.
  let fields: [FieldName: FieldDigest]?

  /// More are not kept: the oldest go.
  static let limit = 8

  static func data(of versions: [SentVersion]) -> Data {
    var writer = StateWriter()
    for version in versions.suffix(limit) {
      writer.append(version.fields == nil ? 0 : 1, byteCount: 1)
      if let fields = version.fields { writer.append(fields) }
    }
    return Data(writer.bytes)
  }

  /// Nil for bytes that are none.
  static func list(_ data: Data) -> [SentVersion]? {
    var reader = StateReader(data)
    var versions: [SentVersion] = []
    while !reader.isAtEnd {
      switch reader.number(byteCount: 1) {
      case 0?: versions.append(SentVersion(fields: nil))
      case 1?:
        guard let fields = reader.fields() else { return nil }
        versions.append(SentVersion(fields: fields))
      default: return nil
      }
    }
    return versions
  }
}
