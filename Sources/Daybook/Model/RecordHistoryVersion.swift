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
  public var changeTag: String {
    switch tag {
    case .number(let number): ChangeTag.text(number)
    case .text(let text): text
    }
  }
  /// The commit, when it is known; an older version knows only its place.
  public let sequence: UInt64?

  /// Most readers of a history look at few tags, so their texts are made when they are asked for (row: use-history-all).
  private enum Tag: Sendable {
    case number(UInt64)
    /// Another server's.
    case text(String)
  }
  private let tag: Tag

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
    tag = .text(changeTag)
    self.sequence = sequence
  }

  /// A version that was saved; nil for a body that never was.
  init?(_ body: RecordBody, sequence: UInt64?) {
    switch body.tag {
    case 0: return nil
    case .max: tag = .text(body.changeTag ?? ChangeTag.text(.max))
    case let number: tag = .number(number)
    }
    content = .saved(Record(body: body))
    date = body.modificationDate
    self.sequence = sequence
  }

  /// A deletion.
  init(_ tombstone: Tombstone, sequence: UInt64?) {
    content = .deleted(.init(id: tombstone.id, type: tombstone.type))
    date = tombstone.date
    tag = .number(tombstone.tag)
    self.sequence = sequence
  }
}
