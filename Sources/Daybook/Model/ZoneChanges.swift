/// One page of the changes of a zone.
///
/// Each record appears once, in its current state. Apply the page, then keep its token; a repeated page is harmless.
public struct ZoneChanges: Sendable {
  /// A record that is gone.
  public struct DeletedRecord: Hashable, Sendable {
    /// Name and zone.
    public let id: Record.ID
    /// The type it had.
    public let type: String

    /// A record that is gone.
    public init(id: Record.ID, type: String) {
      self.id = id
      self.type = type
    }
  }

  /// Records that were made or changed, oldest change first.
  public var saved: [Record]
  /// Records that were deleted.
  public var deleted: [DeletedRecord]
  /// Where the next page begins.
  public var token: ChangeToken
  /// Whether there is another page now.
  public var moreComing: Bool

  /// One page of changes.
  public init(saved: [Record] = [], deleted: [DeletedRecord] = [], token: ChangeToken, moreComing: Bool = false) {
    self.saved = saved
    self.deleted = deleted
    self.token = token
    self.moreComing = moreComing
  }
}
