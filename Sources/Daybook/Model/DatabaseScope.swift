/// Which of a container's databases it is.
public enum DatabaseScope: String, Hashable, Codable, Sendable, CaseIterable {
  /// Of this user alone; the only one with zones of its own.
  case `private`
  /// Shared by all users; the default zone only.
  case `public`
  /// Zones of other users that are shared with this one; no default zone, and none can be created.
  case shared
}
