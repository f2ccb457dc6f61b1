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
    guard let kind = Self.allCases.first(where: { $0.name.equalsBytes(of: name) }) else { return nil }
    self = kind
  }

  /// Whether it is a list.
  package var isList: Bool { rawValue & 0x10 != 0 }

  /// The kind of a list's elements; of what is no list the kind itself.
  package var element: FieldKind { FieldKind(rawValue: rawValue & 0x0F) ?? self }

  /// Whether it has doubles in it, of which not all can be stored.
  var holdsDoubles: Bool {
    switch self {
    case .double, .date, .location, .doubles, .dates, .locations: true
    default: false
    }
  }

  /// Whether it is an asset or a list of them.
  @_transparent package var isAsset: Bool { self == .asset || self == .assets }

  /// Whether it is a reference or a list of them.
  @_transparent package var isReference: Bool { self == .reference || self == .references }
}

extension DatabaseError {
  /// The public form of a fault in bytes from disk.
  package init(_ fault: BodyFault, facts: Facts = Facts()) {
    self.init(.corrupted, "A stored record is damaged.", facts: facts, cause: fault)
  }
}
