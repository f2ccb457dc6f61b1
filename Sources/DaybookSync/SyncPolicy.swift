import Daybook

/// Which side wins where both changed a record since they last agreed on it.
///
/// What only one side changed is taken from that side under every policy (``SyncEngine/Configuration/mergesFields``), so the
/// winner matters for the fields that both changed, and for a change here that meets a deletion there.
public enum SyncPolicy: Sendable {
  /// The side whose change is the later one, by ``SyncEngine/Configuration/editDate``; the server's when both are of one moment.
  /// A change wins over a deletion: who deletes can do so again, what was typed is gone.
  case greaterModifiedDateWins
  /// The server's; a deletion there, too.
  case serverRecordWins
  /// What is in this database; a deletion here, too.
  case clientRecordWins
  /// The application decides, for each record by itself. It is asked outside of any transaction and may take its time: when the
  /// record is changed meanwhile, it is asked again.
  ///
  /// What it returns is stored on both sides: usually `conflict.server` with some fields set. Nil deletes the record on both
  /// sides. When it throws, the record stays as it is here, and goes to the quarantine.
  case userTellsWhichWins(@Sendable (SyncConflict) async throws -> Record?)
}

/// A record that both sides changed.
public struct SyncConflict: Sendable, Identifiable {
  /// The record.
  public let id: Record.ID
  /// What both began with; nil where they never agreed on the record, or a compaction has dropped that version.
  public let ancestor: Record?
  /// What is in this database; nil where it is deleted here.
  public let client: Record?
  /// What the server has; nil where it is deleted there.
  public let server: Record?

  /// A conflict.
  public init(id: Record.ID, ancestor: Record?, client: Record?, server: Record?) {
    self.id = id
    self.ancestor = ancestor
    self.client = client
    self.server = server
  }
}
