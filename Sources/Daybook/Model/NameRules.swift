/// Which names records, types, keys, zones and owners may have.
///
/// Each rule answers with the error to throw, or nil when the name is good: an initialiser throws it at once, a
/// subscript keeps it until the record is saved. The rules count bytes, so that what is accepted does not depend on
/// the Unicode tables of the system; only a zone's 255 characters do.
enum NameRules {
  static let maximumByteCount = 255
  static let maximumZoneCharacterCount = 255
  static let maximumZoneByteCount = 1020

  /// ASCII without control characters, 1 to 255 characters, no leading underscore.
  static func faultOfRecordName(_ name: String) -> DatabaseError? {
    let byteCount = name.utf8.count
    if byteCount == 0 {
      return DatabaseError(.invalidArguments, "A record name must not be empty.")
    }
    if byteCount > maximumByteCount {
      return DatabaseError(
        .invalidArguments, "A record name has more than 255 characters.",
        facts: .init(size: byteCount, limit: maximumByteCount))
    }
    if name.utf8.first == UInt8(ascii: "_") {
      return DatabaseError(
        .invalidArguments, "A record name must not begin with an underscore.", facts: .init(name: name))
    }
    if !isPrintableASCII(name) {
      return DatabaseError(
        .invalidArguments, "A record name must consist of printable ASCII characters.", facts: .init(name: name))
    }
    return nil
  }

  /// Letters, digits and underscores after a first letter; 1 to 255 of them.
  private static func isIdentifier(_ name: String) -> Bool {
    UTF8Order.withView(of: name) { bytes in
      guard bytes.count >= 1, bytes.count <= maximumByteCount else { return false }
      for index in 0..<bytes.count {
        let byte = bytes[index]
        let isLetter = (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
        let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
        if !isLetter && (index == 0 || !(isDigit || byte == UInt8(ascii: "_"))) { return false }
      }
      return true
    }
  }

  /// The rule of identifiers, and none of the names that belong to the system.
  static func faultOfKey(_ key: String) -> DatabaseError? {
    if !isIdentifier(key) {
      return DatabaseError(
        .invalidArguments,
        "A key must begin with a letter and go on with letters, digits and underscores, at most 255 in all.",
        facts: .init(key: key))
    }
    // All reserved names begin with one of seven letters and few keys do, so most are done here.
    switch key.utf8.first {
    case UInt8(ascii: "c"), UInt8(ascii: "e"), UInt8(ascii: "l"), UInt8(ascii: "m"), UInt8(ascii: "p"),
      UInt8(ascii: "r"), UInt8(ascii: "s"):
      break
    default: return nil
    }
    if key.utf8.count < 4 { return nil }
    switch key {
    case "creationDate", "creatorUserRecordID", "etag", "lastModifiedUserRecordID", "modificationDate",
      "modifiedByDevice", "recordChangeTag", "recordID", "recordType", "recordName", "parent", "share":
      return DatabaseError(.invalidArguments, "The key is reserved for the system.", facts: .init(key: key))
    default:
      return nil
    }
  }

  /// The rule of identifiers. A new record cannot have a type of the system, one that a server made can.
  static func faultOfType(_ type: String, isNew: Bool) -> DatabaseError? {
    if type == "Users" || type.utf8.starts(with: "cloudkit.".utf8) {
      guard isNew else {
        return type.utf8.count <= maximumByteCount && isPrintableASCII(type)
          ? nil
          : DatabaseError(
            .invalidArguments, "The record type is not a valid name.", facts: .init(recordType: type))
      }
      return DatabaseError(
        .invalidArguments, "Records of a system type cannot be created.", facts: .init(recordType: type))
    }
    if !isIdentifier(type) {
      return DatabaseError(
        .invalidArguments,
        "A record type must begin with a letter and go on with letters, digits and underscores, at most 255 in all.",
        facts: .init(recordType: type))
    }
    return nil
  }

  /// 1 to 255 characters, at most 1020 bytes, no NUL, no leading underscore but that of the default zone.
  static func faultOfZoneName(_ name: String) -> DatabaseError? {
    let byteCount = name.utf8.count
    if byteCount == 0 {
      return DatabaseError(.invalidArguments, "A zone name must not be empty.")
    }
    // Bytes first: counting the characters of a huge string is slow.
    if byteCount > maximumZoneByteCount || name.count > maximumZoneCharacterCount {
      return DatabaseError(
        .invalidArguments, "A zone name has more than 255 characters or 1020 bytes.",
        facts: .init(size: byteCount, limit: maximumZoneByteCount))
    }
    if name.utf8.contains(0) {
      return DatabaseError(.invalidArguments, "A zone name must not contain NUL.")
    }
    if name.utf8.first == UInt8(ascii: "_"), name != Zone.ID.defaultName {
      return DatabaseError(
        .invalidArguments, "A zone name must not begin with an underscore.", facts: .init(name: name))
    }
    return nil
  }

  /// Printable ASCII, 1 to 255 characters.
  static func faultOfOwner(_ owner: String) -> DatabaseError? {
    let byteCount = owner.utf8.count
    if byteCount >= 1, byteCount <= maximumByteCount, isPrintableASCII(owner) { return nil }
    return DatabaseError(
      .invalidArguments, "The owner of a zone must be 1 to 255 printable ASCII characters.",
      facts: .init(size: byteCount, limit: maximumByteCount))
  }

  static func isPrintableASCII(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }
}
