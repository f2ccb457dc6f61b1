/// A report of a commit.
public enum CommitNotice: Hashable, Sendable {
  /// What one commit did.
  public struct Commit: Hashable, Sendable {
    /// The commit's number: one more than the last, unless an older file was put under the name.
    public let sequence: UInt64
    /// Who made it, when it said so.
    public let origin: Origin?
    /// The zones in which anything changed, in order.
    public let zones: [Zone.ID]
    /// The records that were saved.
    public let saved: [Record.ID]
    /// The records that were deleted, cascades included; those that went with their zone are counted in ``deletedZones``.
    public let deleted: [Record.ID]
    /// The zones that were deleted, also those of which there is a new one since.
    public let deletedZones: [DeletedZone]

    /// What one commit did.
    public init(
      sequence: UInt64, origin: Origin? = nil, zones: [Zone.ID] = [], saved: [Record.ID] = [],
      deleted: [Record.ID] = [], deletedZones: [DeletedZone] = []
    ) {
      self.sequence = sequence
      self.origin = origin
      self.zones = zones
      self.saved = saved
      self.deleted = deleted
      self.deletedZones = deletedZones
    }
  }

  /// A zone that was deleted, and how much went with it. A deletion takes the same time whatever the zone has, so the records
  /// are counted and not named; whoever needs their names asks a snapshot from before.
  public struct DeletedZone: Hashable, Sendable {
    /// The zone.
    public let id: Zone.ID
    /// Why.
    public let reason: DatabaseChanges.DeletedZone.Reason
    /// How many records it had.
    public let recordCount: Int
    /// How many of each type; nil where that could not be read.
    public let types: [String: Int]?

    /// A zone that was deleted.
    public init(
      id: Zone.ID, reason: DatabaseChanges.DeletedZone.Reason = .deleted, recordCount: Int, types: [String: Int]? = nil
    ) {
      self.id = id
      self.reason = reason
      self.recordCount = recordCount
      self.types = types
    }
  }

  /// A commit.
  case commit(Commit)
  /// Commits that were not reported one by one, because another process made them, one changed too much, or the consumer was
  /// too slow; both numbers included. Fetch changes.
  ///
  /// Also where an older file was put under the name, as a backup that is restored: then `from` is at or below a number that was
  /// reported: commits from there on may be gone, and others have their numbers, or will.
  case missed(from: UInt64, to: UInt64)

  /// The commit's number; of missed ones the last.
  public var sequence: UInt64 {
    switch self {
    case .commit(let commit): commit.sequence
    case .missed(_, let to): to
    }
  }

  /// The commit; nil when commits were missed.
  public var commit: Commit? {
    if case .commit(let commit) = self { commit } else { nil }
  }

  /// Who made the commit, when it is known.
  public var origin: Origin? { commit?.origin }
  /// The zones in which anything changed; empty when commits were missed.
  public var zones: [Zone.ID] { commit?.zones ?? [] }
  /// The records that were saved; empty when commits were missed.
  public var saved: [Record.ID] { commit?.saved ?? [] }
  /// The records that were deleted; empty when commits were missed.
  public var deleted: [Record.ID] { commit?.deleted ?? [] }
  /// The zones that were deleted; empty when commits were missed.
  public var deletedZones: [DeletedZone] { commit?.deletedZones ?? [] }
}
