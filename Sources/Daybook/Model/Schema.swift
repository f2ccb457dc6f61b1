/// The record types of a database, their fields, and the kinds of values that each field has ever had.
///
/// It grows with what is saved and never shrinks: deleting the last record with a field leaves the field known. Encode it
/// as JSON to give it to another database (``Transaction/declare(_:)``). Everything is in order of the names' bytes.
public struct Schema: Hashable, Codable, Sendable {
  /// A kind of value.
  public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
    // The names of the cases of `Record.Value`.
    /// A value of one of the eight kinds.
    case string, int, double, bytes, date, location, asset, reference
    /// A list of values of one kind.
    case strings, ints, doubles, bytesList, dates, locations, assets, references
  }

  /// One field of a record type.
  public struct Field: Hashable, Codable, Sendable {
    /// The key.
    public var key: String
    /// The kinds that it has had; in ``Dialect/cloudKit`` one.
    public var kinds: [Kind]
    /// Whether it belongs to the encrypted values.
    public var isEncrypted: Bool

    /// A field.
    public init(key: String, kinds: [Kind], isEncrypted: Bool = false) {
      self.key = key
      self.kinds = kinds
      self.isEncrypted = isEncrypted
    }
  }

  /// One record type.
  public struct RecordType: Hashable, Codable, Sendable {
    /// Its name.
    public var name: String
    /// Its fields.
    public var fields: [Field]

    /// A record type.
    public init(name: String, fields: [Field] = []) {
      self.name = name
      self.fields = fields
    }

    /// The field with a key; nil when there is none.
    public subscript(key: String) -> Field? { fields.first { UTF8Order.equal($0.key, key) } }
  }

  /// The record types.
  public var types: [RecordType]

  /// A schema.
  public init(types: [RecordType] = []) { self.types = types }

  /// The record type with a name; nil when there is none.
  public subscript(name: String) -> RecordType? { types.first { UTF8Order.equal($0.name, name) } }
}

/// What happens to a type, field or kind that the database has not seen yet.
public enum SchemaMode: String, Hashable, Codable, Sendable, CaseIterable {
  /// It is learned with the save, as in CloudKit's development environment.
  case justInTime
  /// The save is refused with `invalidArguments`, as in CloudKit's production environment.
  case locked
}

/// The kinds of one field as bits: bit 0 to 7 the eight kinds, 8 to 15 lists of them, 16 more for encrypted values.
struct KindBits: Equatable {
  static let plain = KindBits(rawValue: 0x0000_FFFF)
  static let encrypted = KindBits(rawValue: 0xFFFF_0000)
  var rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  init(_ kind: FieldKind, isEncrypted: Bool) {
    let bit = UInt32(kind.rawValue & 0x0F) - 1 + (kind.isList ? 8 : 0) + (isEncrypted ? 16 : 0)
    rawValue = 1 << bit
  }

  func contains(_ other: KindBits) -> Bool { rawValue & other.rawValue == other.rawValue }
  func intersects(_ other: KindBits) -> Bool { rawValue & other.rawValue != 0 }
  func union(_ other: KindBits) -> KindBits { KindBits(rawValue: rawValue | other.rawValue) }

  /// The kinds of one of the two namespaces.
  func kinds(isEncrypted: Bool) -> [FieldKind] {
    FieldKind.allCases.filter { contains(KindBits($0, isEncrypted: isEncrypted)) }
  }

  /// For facts of errors: "string or int", "encrypted string".
  var description: String {
    [false, true].flatMap { isEncrypted in
      kinds(isEncrypted: isEncrypted).map { (isEncrypted ? "encrypted " : "") + $0.name }
    }.joined(separator: " or ")
  }
}
