/// A zone: the unit of change feeds, of atomic saves, and of deleting much at once.
///
/// A zone is a value; saving it to a database creates it there. The default zone always exists; it has a
/// change feed in ``Dialect/extended``, as every other, and none in ``Dialect/cloudKit``.
public struct Zone: Identifiable, Hashable, Codable, Sendable {
  /// What a zone can do. Custom zones can do everything, the default zone nothing of this.
  public struct Capabilities: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: Int

    /// A set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Changes since a token can be fetched.
    public static let fetchChanges = Capabilities(rawValue: 1)
    /// Several records can be saved all or none.
    public static let atomic = Capabilities(rawValue: 2)
    /// Records with their children can be shared.
    public static let sharing = Capabilities(rawValue: 4)
    /// The zone can be shared as a whole.
    public static let zoneWideSharing = Capabilities(rawValue: 8)
  }

  /// Name and owner of the zone.
  public let id: ID

  /// What the zone can do; a database sets it on zones that it returns.
  public var capabilities: Capabilities

  /// A zone that may be saved. Custom zones get all capabilities, the default zone none.
  public init(_ id: ID) {
    self.id = id
    capabilities = id == .default ? [] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
  }

  init(_ id: ID, capabilities: Capabilities) {
    self.id = id
    self.capabilities = capabilities
  }
}
