/// The first byte of a field's entry: its kind and two flags.
package struct FieldMark: Sendable, Hashable {
  package let rawValue: UInt8

  /// The field belongs to the encrypted values.
  package static let encryptedFlag: UInt8 = 0x80
  /// The bytes of the value are a cipher's output.
  package static let sealedFlag: UInt8 = 0x40

  @usableFromInline @_transparent
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package init(_ kind: FieldKind, isEncrypted: Bool, isSealed: Bool = false) {
    rawValue = kind.rawValue | (isEncrypted ? Self.encryptedFlag : 0) | (isSealed ? Self.sealedFlag : 0)
  }

  /// Nil when the byte names no kind.
  package var kind: FieldKind? { FieldKind(rawValue: rawValue & 0x3F) }
  /// A plain reference, or a list of them.
  var isReference: Bool { !isEncrypted && kind?.isReference == true }
  package var isEncrypted: Bool { rawValue & Self.encryptedFlag != 0 }
  package var isSealed: Bool { rawValue & Self.sealedFlag != 0 }
}
