/// One page of the changes of a database: which zones to look into, and which are gone. The default zone never
/// appears.
public struct DatabaseChanges: Sendable {
  /// A zone that is gone.
  public struct DeletedZone: Hashable, Sendable {
    /// Why a zone is gone.
    public enum Reason: String, Hashable, Codable, Sendable, CaseIterable {
      /// An application deleted it.
      case deleted
      /// The user deleted it in the system's settings: delete the local data and do not send it again.
      case purged
      /// The user reset the encrypted data: make the zone again and send the local data again.
      case encryptedDataReset
    }

    /// The zone.
    public let id: Zone.ID
    /// Why it is gone.
    public let reason: Reason

    /// A zone that is gone.
    public init(id: Zone.ID, reason: Reason = .deleted) {
      self.id = id
      self.reason = reason
    }
  }

  /// Zones that were made or whose records changed.
  public var changed: [Zone.ID]
  /// Zones that are gone.
  public var deleted: [DeletedZone]
  /// Where the next page begins.
  public var token: ChangeToken
  /// Whether there is another page now.
  public var moreComing: Bool

  /// One page of changes.
  public init(changed: [Zone.ID] = [], deleted: [DeletedZone] = [], token: ChangeToken, moreComing: Bool = false) {
    self.changed = changed
    self.deleted = deleted
    self.token = token
    self.moreComing = moreComing
  }
}
