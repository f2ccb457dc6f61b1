#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
