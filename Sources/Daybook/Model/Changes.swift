#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

/// One version of a record, as its history has it.
public struct RecordHistoryVersion: Sendable, Identifiable {
  /// What a version is.
  public enum Content: Sendable {
    /// The record as it was saved.
    case saved(Record)
    /// The record was deleted.
    case deleted(ZoneChanges.DeletedRecord)
  }

  /// The record, or its deletion.
  public let content: Content
  /// When.
  public let date: Date
  /// The change tag of the save or of the deletion; unique within a record's history.
  public let changeTag: String
  /// The commit, when it is known; an older version knows only its place.
  public let sequence: UInt64?

  /// The change tag.
  public var id: String { changeTag }

  /// The record, unless this is a deletion.
  public var record: Record? {
    if case .saved(let record) = content { record } else { nil }
  }

  /// One version of a record.
  public init(content: Content, date: Date, changeTag: String, sequence: UInt64? = nil) {
    self.content = content
    self.date = date
    self.changeTag = changeTag
    self.sequence = sequence
  }
}
