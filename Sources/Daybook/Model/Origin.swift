/// Who made a commit, in the writer's own words: a sync engine leaves its own commits out, an application tells windows apart.
public struct Origin: Hashable, Codable, Sendable, RawRepresentable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The name.
  public let rawValue: String

  /// An origin of a name.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// An origin of a name.
  public init(_ name: String) { rawValue = name }

  /// An origin of a name.
  public init(stringLiteral value: String) { rawValue = value }

  /// The name.
  public var description: String { rawValue }

  /// Whether both names have the same bytes.
  public static func == (first: Origin, second: Origin) -> Bool { UTF8Order.equal(first.rawValue, second.rawValue) }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { UTF8Order.combine(rawValue, into: &hasher) }
}
