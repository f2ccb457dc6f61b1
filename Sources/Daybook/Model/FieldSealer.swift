#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A cipher as bodies use it: with the context of a field.
struct FieldSealer: Sendable {
  let cipher: any FieldCipher
  /// Values that were stored without a cipher count, too.
  let acceptsUnsealed: Bool

  /// Zone key, 0, record name, 0, key, 0, kind. No part but the kind can hold a zero but the zone's own, between name and owner.
  static func context(_ id: Record.ID, _ key: String, _ kind: FieldKind) -> Data {
    Data(id.zone.key + [0] + Array(id.name.utf8) + [0] + Array(key.utf8) + [0, kind.rawValue])
  }

  func seal(_ plain: ByteView, _ id: Record.ID, _ key: String, _ kind: FieldKind) throws(DatabaseError) -> [UInt8] {
    do { return [UInt8](try cipher.seal(Data(plain.array), context: Self.context(id, key, kind))) } catch {
      throw DatabaseError(
        .permissionFailure, "The cipher could not seal an encrypted value.",
        facts: .init(zone: id.zone, name: id.name, key: key), cause: error)
    }
  }

  func open(_ sealed: ByteView, _ id: Record.ID, _ key: String, _ kind: FieldKind) throws -> [UInt8] {
    [UInt8](try cipher.open(Data(sealed.array), context: Self.context(id, key, kind)))
  }
}
