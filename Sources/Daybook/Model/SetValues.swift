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

extension Record.Value {
  /// The same list in an order that depends on its elements only: a set that is saved again is no other value.
  fileprivate var sortedList: Record.Value {
    switch self {
    case .strings(let list): .strings(list.sorted { UTF8Order.compare($0, $1) < 0 })
    case .ints(let list): .ints(list.sorted())
    case .doubles(let list): .doubles(list.sorted())
    case .dates(let list): .dates(list.sorted())
    case .bytesList(let list): .bytesList(list.sorted { $0.lexicographicallyPrecedes($1) })
    case .references(let list):
      .references(list.sorted { UTF8Order.compare($0.id.description, $1.id.description) < 0 })
    default: self
    }
  }
}
