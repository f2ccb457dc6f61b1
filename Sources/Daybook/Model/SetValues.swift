// Sets, and lists of types with raw values.

extension Set: RecordValueConvertible where Element: RecordListElement {
  /// The elements as a list: text, bytes, numbers and dates in their order, others in any.
  public var recordValue: Record.Value { Element.recordListValue(Array(self)).sortedList }

  /// Reads a stored list, in which an element may be several times.
  public init?(recordValue: Record.Value) {
    guard let elements = Element.elements(ofRecordList: recordValue) else { return nil }
    self.init(elements)
  }

  /// The list to store, or why there is none.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value { try Array(self).checkedRecordValue().sortedList }
}

extension RecordListElement where Self: RawRepresentable, RawValue: RecordListElement {
  /// The raw values. An enum declares the conformance, and nothing more: `enum Genre: String, RecordListElement`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value {
    RawValue.recordListValue(elements.map(\.rawValue))
  }

  /// Reads raw values; nil when no case has one of them.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    guard let raws = RawValue.elements(ofRecordList: value) else { return nil }
    var elements: [Self] = []
    for raw in raws {
      guard let element = Self(rawValue: raw) else { return nil }
      elements.append(element)
    }
    return elements
  }
}
