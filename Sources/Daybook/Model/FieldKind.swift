/// The kind byte of a field: the low six bits of the first byte of its entry in a body's field table.
///
/// Lists are their element's kind plus 16. The numbers are on disk.
package enum FieldKind: UInt8, Sendable, Hashable, CaseIterable {
  case string = 1
  case int = 2
  case double = 3
  case bytes = 4
  case date = 5
  case location = 6
  case asset = 7
  case reference = 8
  case strings = 0x11
  case ints = 0x12
  case doubles = 0x13
  case bytesList = 0x14
  case dates = 0x15
  case locations = 0x16
  case assets = 0x17
  case references = 0x18

  /// The name of the kind in archives, dumps and errors.
  package var name: String {
    switch self {
    case .string: "string"
    case .int: "int"
    case .double: "double"
    case .bytes: "bytes"
    case .date: "date"
    case .location: "location"
    case .asset: "asset"
    case .reference: "reference"
    case .strings: "strings"
    case .ints: "ints"
    case .doubles: "doubles"
    case .bytesList: "bytesList"
    case .dates: "dates"
    case .locations: "locations"
    case .assets: "assets"
    case .references: "references"
    }
  }

  package init?(name: String) {
    guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = kind
  }

  /// Whether it is a list.
  package var isList: Bool { rawValue & 0x10 != 0 }

  /// Whether it has doubles in it, of which not all can be stored.
  var holdsDoubles: Bool {
    switch self {
    case .double, .date, .location, .doubles, .dates, .locations: true
    default: false
    }
  }

  /// Whether it is an asset or a list of them.
  @inline(__always) package var isAsset: Bool { self == .asset || self == .assets }

  /// Whether it is a reference or a list of them.
  @inline(__always) package var isReference: Bool { self == .reference || self == .references }
}

/// The first byte of a field's entry: its kind and two flags.
package struct FieldMark: Sendable, Hashable {
  package let rawValue: UInt8

  /// The field belongs to the encrypted values.
  package static let encryptedFlag: UInt8 = 0x80
  /// The bytes of the value are a cipher's output.
  package static let sealedFlag: UInt8 = 0x40

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

/// What can be wrong with the bytes of a record body, of a tombstone or of a zone key.
package enum BodyFault: Error, Hashable, Sendable {
  /// The bytes end before what they announce.
  case truncated
  /// More bytes than announced.
  case trailingBytes
  /// A version or flag that this code does not know.
  case unknownVersion
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
}

extension DatabaseError {
  /// The public form of a fault in bytes from disk.
  package init(_ fault: BodyFault, facts: Facts = Facts()) {
    self.init(.corrupted, "A stored record is damaged.", facts: facts, cause: fault)
  }
}
