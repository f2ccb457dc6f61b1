/// Some records of one type, and where the next ones begin.
public struct RecordPage: Sendable {
  /// In the order in which they were last saved, the earliest first.
  public var records: [Record]
  /// Where the next page begins; nil behind the last record.
  public var next: RecordCursor?
}
