import Daybook

/// What a sync has done, or why it cannot.
public enum SyncEvent: Sendable {
  /// A sync begins. One ``finished(_:)`` or ``failed(_:)`` follows, whatever happens.
  case started
  /// Changes of the server are in the database.
  case fetched(saved: [Record.ID], deleted: [Record.ID])
  /// The server has changes of the database.
  case sent(saved: [Record.ID], deleted: [Record.ID])
  /// Both sides had changed these records; what was made of them is in the database.
  case resolved([Record.ID])
  /// The server refused a record, or it could not be saved here; the others go on. See ``SyncEngine/quarantine()``.
  case quarantined(QuarantinedRecord)
  /// A zone is gone here, because it was deleted on the server.
  case zoneDeleted(Zone.ID, reason: DatabaseChanges.DeletedZone.Reason)
  /// The next attempt is made after this time, because of this error. Only with ``SyncEngine/start()``, or between the attempts
  /// of one ``SyncEngine/sync()``.
  case waiting(Duration, DatabaseError)
  /// The sync is done: but for what is in quarantine, both sides have what the other one had when it began, and what came since as
  /// far as writers paused.
  case finished(SyncReport)
  /// The sync ended early. What was done stays done, and the next sync goes on from there.
  case failed(DatabaseError)
}

/// What a sync did, in numbers of records.
public struct SyncReport: Sendable, Hashable, Codable {
  /// Saves and deletions that the server accepted.
  public var sent = 0
  /// Saves and deletions of others that are in the database now.
  public var fetched = 0
  /// Records that both sides had changed.
  public var conflicts = 0
  /// Records in quarantine after the sync.
  public var quarantined = 0
  /// Zones that are gone here with all that was in them, because they were deleted on the server.
  public var deletedZones: [Zone.ID] = []

  /// Nothing.
  public init() {}
}

/// What a sync engine does, and what became of its last sync.
public struct SyncStatus: Sendable {
  /// Whether a sync runs.
  public var isSyncing: Bool
  /// Whether ``SyncEngine/start()`` was called, and ``SyncEngine/stop()`` not.
  public var isStarted: Bool
  /// What the last sync did that came to its end.
  public var lastReport: SyncReport?
  /// Why the last sync failed; nil when it did not.
  public var lastError: DatabaseError?
}

/// A change that waits to be sent.
public struct PendingRecord: Sendable, Hashable, Identifiable {
  /// What the server is to be told.
  public enum Change: String, Sendable, Hashable, Codable { case save, delete }

  /// The record.
  public let id: Record.ID
  /// What the server is to be told.
  public let change: Change
  /// The type; of a deleted record that which it had.
  public let type: String
}

/// A record that is not kept equal, because one side refused it.
public struct QuarantinedRecord: Sendable, Hashable, Identifiable {
  /// Which side refused.
  public enum Direction: String, Sendable, Hashable, Codable {
    /// The server refused what is here.
    case sending
    /// What the server has could not be saved here.
    case fetching
  }

  /// The record.
  public let id: Record.ID
  /// Which side refused.
  public let direction: Direction
  /// Why: the error's code.
  public let code: DatabaseError.Code
  /// Why, in words.
  public let message: String
}
