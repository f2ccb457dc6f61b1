/// A type whose arrays can be stored as a list. `Array` conforms to ``RecordValueConvertible`` once, through this.
public protocol RecordListElement: RecordValueConvertible {
  /// The list to store; empty lists keep their kind.
  static func recordListValue(_ elements: [Self]) -> Record.Value

  /// The elements of a stored list; nil when it is of another kind or one element is out of range.
  static func elements(ofRecordList value: Record.Value) -> [Self]?
}
