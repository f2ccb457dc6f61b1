import DaybookEngine

extension Subscription {
  /// The name of a subscription: 1 to 255 bytes of UTF-8 where it is saved.
  ///
  /// Compared, hashed and ordered by these bytes, as the database keeps it: a composed and a decomposed "é" are two. A literal
  /// is one: `"new dramas"`.
  public struct ID: Sendable {
    /// The text.
    public let name: String

    /// The ID of a text.
    public init(_ name: String) { self.name = name }
  }
}

extension Subscription.ID: Hashable, Comparable {
  /// Whether both have the same bytes.
  public static func == (first: Self, second: Self) -> Bool { UTF8Order.equal(first.name, second.name) }

  /// Ordered by bytes.
  public static func < (first: Self, second: Self) -> Bool { UTF8Order.compare(first.name, second.name) < 0 }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { UTF8Order.combine(name, into: &hasher) }
}

extension Subscription.ID: ExpressibleByStringInterpolation {
  /// The ID of a literal.
  public init(stringLiteral name: String) { self.init(name) }
}

extension Subscription.ID: CustomStringConvertible {
  /// The text, as it may be shown.
  public var description: String { ShownText.escaped(name) }
}

extension Subscription.ID: Codable {
  /// Decodes the text.
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }

  /// Encodes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}
