#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Encrypts the encrypted values of records at rest. ``Database/Options/cipher`` takes one; without it they are stored as they
/// are, and only their place in the model is special.
///
/// An authenticated cipher fits (AES-GCM, ChaCha20-Poly1305): `context` is its associated data. It names the record, the key
/// and the kind of the value, so that sealed bytes cannot be moved to another field or record. It does not name the version,
/// so someone who can write the file can put back an older value of the same field.
///
/// A value is encrypted (sealed) when it is saved, and decrypted (opened) when it is read, by any thread. Everything between
/// works on plain values: what was changed, conflicts, merges, equality. A field that a save does not change keeps its bytes.
///
/// Someone who can write the file cannot forge a value: unencrypted values are refused like those that do not decrypt, unless
/// ``Database/Options/acceptsUnsealedValues`` says otherwise. A removed field cannot be told from one that never existed.
public protocol FieldCipher: Sendable {
  /// The sealed form of a value's bytes. The same bytes may be sealed differently each time.
  func seal(_ plaintext: Data, context: Data) throws -> Data
  /// The bytes that were sealed.
  /// - Throws: when the key is another one, or bytes or context are not those that were sealed.
  func open(_ sealed: Data, context: Data) throws -> Data
}

extension RecordBody {
  /// Unencrypted values are refused: the database has a cipher, and was not told that it got it later.
  var refusesUnsealedValues: Bool { services?.sealer.map { !$0.acceptsUnsealed } ?? false }

  /// Why an encrypted value reads as nil: no cipher, one that cannot open it, or a value that none has sealed.
  func openingFault(forKey key: String) -> DatabaseError? {
    UTF8Order.withView(of: key) { keyView in
      withField(keyView) { (mark, bytes) -> DatabaseError? in
        guard mark.isEncrypted, let kind = mark.kind else { return nil }
        guard mark.isSealed else {
          guard refusesUnsealedValues else { return nil }
          return DatabaseError(
            .permissionFailure, "The encrypted value was stored without a cipher.",
            facts: .init(zone: zoneID, name: name, key: key))
        }
        guard let sealer = services?.sealer else {
          return DatabaseError(
            .permissionFailure, "The encrypted value cannot be opened without its cipher.",
            facts: .init(zone: zoneID, name: name, key: key))
        }
        do { _ = try sealer.open(bytes, id, key, kind) } catch {
          return DatabaseError(
            .permissionFailure, "The cipher cannot open the encrypted value.",
            facts: .init(zone: zoneID, name: name, key: key), cause: error)
        }
        return nil
      }
    }
  }
}
