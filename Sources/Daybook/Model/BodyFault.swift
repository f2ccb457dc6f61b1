/// What can be wrong with the bytes of a record body, of a tombstone or of a zone key.
package enum BodyFault: Error, Hashable, Sendable {
  /// The bytes end before what they announce.
  case truncated
  /// More bytes than announced.
  case trailingBytes
  /// A version, or a flag of a tombstone, that this code does not know.
  case unknownVersion
  /// Flags that contradict one another, or the fields.
  case badFlags
  /// A length that contradicts another.
  case badLength
  case badZoneKey
  case badName
  case badType
  case badKey
  /// The field table is not in strictly ascending order of keys.
  case keysOutOfOrder
  case unknownKind
  case notUTF8
  /// A value whose bytes are not of its kind.
  case badValue
  /// The number of a declaration that the file does not have.
  case unknownDeclaration
}
