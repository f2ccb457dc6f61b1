#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value in an archive: `{"type": "string", "value": "Dune"}`, so that decoding needs no guess.
extension Record.Value: Codable {
  private enum CodingKeys: String, CodingKey { case type, value }

  /// Decodes the kind, then the value of it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .type)
    guard let kind = FieldKind(name: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: container, debugDescription: "There is no kind of value of this name.")
    }
    switch kind {
    case .string: self = .string(try container.decode(String.self, forKey: .value))
    case .int: self = .int(try container.decode(Int64.self, forKey: .value))
    case .double: self = .double(try container.decode(Double.self, forKey: .value))
    case .bytes: self = .bytes(try container.decode(Data.self, forKey: .value))
    case .date: self = .date(try container.decode(Date.self, forKey: .value))
    case .location: self = .location(try container.decode(Location.self, forKey: .value))
    case .asset: self = .asset(try container.decode(Asset.self, forKey: .value))
    case .reference: self = .reference(try container.decode(Record.Reference.self, forKey: .value))
    case .strings: self = .strings(try container.decode([String].self, forKey: .value))
    case .ints: self = .ints(try container.decode([Int64].self, forKey: .value))
    case .doubles: self = .doubles(try container.decode([Double].self, forKey: .value))
    case .bytesList: self = .bytesList(try container.decode([Data].self, forKey: .value))
    case .dates: self = .dates(try container.decode([Date].self, forKey: .value))
    case .locations: self = .locations(try container.decode([Location].self, forKey: .value))
    case .assets: self = .assets(try container.decode([Asset].self, forKey: .value))
    case .references: self = .references(try container.decode([Record.Reference].self, forKey: .value))
    }
  }

  /// Encodes the kind and the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind.name, forKey: .type)
    switch self {
    case .string(let value): try container.encode(value, forKey: .value)
    case .int(let value): try container.encode(value, forKey: .value)
    case .double(let value): try container.encode(value, forKey: .value)
    case .bytes(let value): try container.encode(value, forKey: .value)
    case .date(let value): try container.encode(value, forKey: .value)
    case .location(let value): try container.encode(value, forKey: .value)
    case .asset(let value): try container.encode(value, forKey: .value)
    case .reference(let value): try container.encode(value, forKey: .value)
    case .strings(let value): try container.encode(value, forKey: .value)
    case .ints(let value): try container.encode(value, forKey: .value)
    case .doubles(let value): try container.encode(value, forKey: .value)
    case .bytesList(let value): try container.encode(value, forKey: .value)
    case .dates(let value): try container.encode(value, forKey: .value)
    case .locations(let value): try container.encode(value, forKey: .value)
    case .assets(let value): try container.encode(value, forKey: .value)
    case .references(let value): try container.encode(value, forKey: .value)
    }
  }
}
