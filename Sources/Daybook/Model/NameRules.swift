import DaybookEngine

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
  @inline(__always)
  private static func isIdentifier(_ bytes: ByteView) -> Bool {
    guard bytes.count >= 1, bytes.count <= maximumByteCount else { return false }
    let first = bytes[0] | 0x20
    guard first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") else { return false }
    var index = 1
    while index < bytes.count {
      // One bit for each of the 128 ASCII characters: the digits below 64, letters and the underscore above.
      let byte = bytes[index]
      let members: UInt64 = byte < 64 ? 0x03FF_0000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
      guard byte < 128, members &>> UInt64(byte & 63) & 1 != 0 else { return false }
      index &+= 1
    }
    return true
  }

  /// Whether a key belongs to the system. Hardly two of the names are equally long, so a key is compared with one or two.
  @inline(__always)
  private static func isReserved(_ key: ByteView) -> Bool {
    switch key.count {
    case 4: UTF8Order.equal(key, "etag")
    case 5: UTF8Order.equal(key, "share")
    case 6: UTF8Order.equal(key, "parent")
    case 8: UTF8Order.equal(key, "recordID")
    case 10: UTF8Order.equal(key, "recordType") || UTF8Order.equal(key, "recordName")
    case 12: UTF8Order.equal(key, "creationDate")
    case 15: UTF8Order.equal(key, "recordChangeTag")
    case 16: UTF8Order.equal(key, "modificationDate") || UTF8Order.equal(key, "modifiedByDevice")
    case 19: UTF8Order.equal(key, "creatorUserRecordID")
    case 24: UTF8Order.equal(key, "lastModifiedUserRecordID")
    default: false
    }
  }

  /// The rule of identifiers, and none of the names that belong to the system.
  @inline(__always)
  static func isSoundKey(_ key: ByteView) -> Bool { isIdentifier(key) && !isReserved(key) }

  static func faultOfKey(_ key: String) -> DatabaseError? {
    UTF8Order.withView(of: key) { isSoundKey($0) } ? nil : fault(ofBadKey: key)
  }

  @inline(never)
  static func fault(ofBadKey key: String) -> DatabaseError {
    if UTF8Order.withView(of: key, { isIdentifier($0) }) {
      return DatabaseError(.invalidArguments, "The key is reserved for the system.", facts: .init(key: key))
    }
    return DatabaseError(
      .invalidArguments,
      "A key must begin with a letter and go on with letters, digits and underscores, at most 255 in all.",
      facts: .init(key: key))
  }

  /// The type of users' records.
  static let userType = "Users"

  private static func isSystemType(_ type: ByteView) -> Bool {
    UTF8Order.equal(type, "Users") || (type.count >= 9 && UTF8Order.equal(type.prefix(9), "cloudkit."))
  }

  /// The rule of identifiers. A new record cannot have a type of the system, one that a server made can.
  static func faultOfType(_ type: String, isNew: Bool) -> DatabaseError? {
    if UTF8Order.withView(of: type, { isSystemType($0) }) {
      guard isNew else {
        return type.utf8.count <= maximumByteCount && isPrintableASCII(type)
          ? nil
          : DatabaseError(
            .invalidArguments, "The record type is not a valid name.", facts: .init(recordType: type))
      }
      return DatabaseError(
        .invalidArguments, "Records of a system type cannot be created.", facts: .init(recordType: type))
    }
    if UTF8Order.withView(of: type, { !isIdentifier($0) }) {
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
