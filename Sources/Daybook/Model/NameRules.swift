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

  /// The rule for names of one's own: none that only a server gives.
  static func faultOfNewRecordName(_ name: String) -> DatabaseError? {
    if let fault = faultOfRecordName(name) { return fault }
    return name.utf8.first == UInt8(ascii: "_") ? faultOfSystemName(name) : nil
  }

  /// A server's names, like those of users' records, begin with an underscore.
  @inline(__always)
  static func isOfSystem(_ name: ByteView) -> Bool { name.count > 0 && name[0] == UInt8(ascii: "_") }

  static func faultOfSystemName(_ name: String) -> DatabaseError {
    DatabaseError(
      .invalidArguments, "The name of a new record must not begin with an underscore.", facts: .init(name: name))
  }

  /// The rule for all names, also for those that come from elsewhere: ASCII without control characters, 1 to 255 characters.
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
    // Eight bytes at a time, the last word overlapping the one before (row: record-insert).
    let count = bytes.count
    if count < 8 {
      // Missing bytes become letters.
      return isIdentifier(word: UTF8Order.word(of: bytes) | 0x6161_6161_6161_6161 &<< (UInt64(count) &* 8))
    }
    var index = 0
    while index &+ 8 <= count {
      if !isIdentifier(word: bytes.uint64(at: index)) { return false }
      index &+= 8
    }
    return isIdentifier(word: bytes.uint64(at: count &- 8))
  }

  /// Whether all eight bytes are letters, digits or underscores.
  @_transparent
  private static func isIdentifier(word: UInt64) -> Bool {
    let high: UInt64 = 0x8080_8080_8080_8080
    let small = word | 0x2020_2020_2020_2020
    let isLetter = marks(small, from: 0x61, through: 0x7A)
    let isDigit = marks(word, from: 0x30, through: 0x39)
    let isUnderscore = marks(word, from: 0x5F, through: 0x5F)
    return word & high == 0 && (isLetter | isDigit | isUnderscore) & high == high
  }

  /// The high bit of every byte between two, both included. The bytes are ASCII, so no sum leaves its byte.
  @_transparent
  private static func marks(_ word: UInt64, from lower: UInt64, through upper: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    return (word &+ (0x80 &- lower) &* ones) & ~(word &+ (0x7F &- upper) &* ones)
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
  @_transparent
  static func isSoundKey(_ key: ByteView) -> Bool { isIdentifier(key) && !isReserved(key) }

  static func faultOfKey(_ key: String) -> DatabaseError? {
    UTF8Order.withView(of: key) { isSoundKey($0) } ? nil : fault(ofBadKey: key)
  }

  @inline(never)
  static func fault(ofBadKey key: String) -> DatabaseError {
    // CloudKit's other names of system fields, such as ___createTime. By bytes: to compare texts, Swift sorts the marks of a letter, in
    // the square of their number, and the key may be any text.
    if key.utf8.starts(with: "___".utf8) || UTF8Order.withView(of: key, { isIdentifier($0) }) {
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
    UTF8Order.withView(of: text) { bytes in
      let high: UInt64 = 0x8080_8080_8080_8080
      let count = bytes.count
      guard count >= 8 else {
        for index in 0..<count where bytes[index] < 0x20 || bytes[index] >= 0x7F { return false }
        return true
      }
      var index = 0
      while true {
        let word = bytes.uint64(at: index)
        if word & high != 0 || marks(word, from: 0x20, through: 0x7E) & high != high { return false }
        if index == count &- 8 { return true }
        index = min(index &+ 8, count &- 8)
      }
    }
  }
}
