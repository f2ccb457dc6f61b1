/// The record types of a database, their fields and indexes, and the kinds of values that each field has ever had.
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

  /// An index of one field, by which queries find and order records of its type without looking at all of them.
  public struct Index: Hashable, Codable, Sendable {
    /// The key of the field.
    public var key: String
    /// What its entries are made of.
    public var kind: IndexKind

    /// An index of a field.
    public init(key: String, kind: IndexKind = .value) {
      self.key = key
      self.kind = kind
    }

    private enum CodingKeys: String, CodingKey { case key, kind }

    /// One of values need not say so.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      key = try container.decode(String.self, forKey: .key)
      kind = try container.decodeIfPresent(IndexKind.self, forKey: .kind) ?? .value
    }

    /// As it is read.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(key, forKey: .key)
      if kind != .value { try container.encode(kind, forKey: .kind) }
    }
  }

  /// One record type.
  public struct RecordType: Hashable, Codable, Sendable {
    /// Its name.
    public var name: String
    /// Its fields.
    public var fields: [Field]
    /// Its indexes.
    public var indexes: [Index]

    /// A record type.
    public init(name: String, fields: [Field] = [], indexes: [Index] = []) {
      self.name = name
      self.fields = fields
      self.indexes = indexes
    }

    private enum CodingKeys: String, CodingKey { case name, fields, indexes }

    /// A type without indexes need not say so.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      fields = try container.decode([Field].self, forKey: .fields)
      indexes = try container.decodeIfPresent([Index].self, forKey: .indexes) ?? []
    }

    /// As it is read.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(fields, forKey: .fields)
      if !indexes.isEmpty { try container.encode(indexes, forKey: .indexes) }
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
