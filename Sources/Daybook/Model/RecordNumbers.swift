/// Numbers and Booleans as values of a field.
///
/// Doubles read whole numbers, whole numbers read no doubles (not even 1.0), Booleans read 0 and 1 only. A whole
/// number that does not fit the type asked for reads as nil.

extension Bool: RecordValueConvertible {
  /// `.int` 0 or 1.
  public var recordValue: Record.Value { .int(self ? 1 : 0) }
  /// Reads `.int` 0 or 1.
  public init?(recordValue: Record.Value) {
    switch recordValue {
    case .int(0): self = false
    case .int(1): self = true
    default: return nil
    }
  }
}

extension Double: RecordListElement {
  /// `.double`.
  public var recordValue: Record.Value { .double(self) }
  /// Reads `.double`, and `.int` rounded to the nearest double.
  public init?(recordValue: Record.Value) {
    switch recordValue {
    case .double(let number): self = number
    case .int(let number): self = Double(number)
    default: return nil
    }
  }
  /// `.doubles`.
  public static func recordListValue(_ elements: [Double]) -> Record.Value { .doubles(elements) }
  /// Reads `.doubles` and `.ints`.
  public static func elements(ofRecordList value: Record.Value) -> [Double]? {
    switch value {
    case .doubles(let list): list
    case .ints(let list): list.map { Double($0) }
    default: nil
    }
  }
}

extension Float: RecordListElement {
  /// `.double`.
  public var recordValue: Record.Value { .double(Double(self)) }
  /// Reads `.double` and `.int`, rounded to the nearest float.
  public init?(recordValue: Record.Value) {
    guard let number = Double(recordValue: recordValue) else { return nil }
    self = Float(number)
  }
  /// `.doubles`.
  public static func recordListValue(_ elements: [Float]) -> Record.Value { .doubles(elements.map { Double($0) }) }
  /// Reads `.doubles` and `.ints`.
  public static func elements(ofRecordList value: Record.Value) -> [Float]? {
    Double.elements(ofRecordList: value)?.map { Float($0) }
  }
}

extension RecordListElement where Self: FixedWidthInteger {
  /// `.int`; beyond `Int64.max` the nearest `.double`, which compares rightly but is refused as a field's value.
  @inlinable public var recordValue: Record.Value {
    Int64(exactly: self).map { .int($0) } ?? .double(Double(self))
  }
  /// Reads `.int` when it fits.
  @inlinable public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.int`, or `invalidArguments` beyond `Int64.max`.
  @inlinable public func checkedRecordValue() throws(DatabaseError) -> Record.Value {
    guard let number = Int64(exactly: self) else { throw .numberTooLarge }
    return .int(number)
  }
  /// `.ints`; when one is beyond `Int64.max` the nearest `.doubles`, which are refused as a field's value.
  @inlinable public static func recordListValue(_ elements: [Self]) -> Record.Value {
    var numbers: [Int64] = []
    numbers.reserveCapacity(elements.count)
    for element in elements {
      guard let number = Int64(exactly: element) else { return .doubles(elements.map { Double($0) }) }
      numbers.append(number)
    }
    return .ints(numbers)
  }
  /// Reads `.ints` when all fit.
  @inlinable public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    guard case .ints(let list) = value else { return nil }
    var result: [Self] = []
    result.reserveCapacity(list.count)
    for number in list {
      guard let element = Self(exactly: number) else { return nil }
      result.append(element)
    }
    return result
  }
}

extension Int: RecordListElement {}
extension Int8: RecordListElement {}
extension Int16: RecordListElement {}
extension Int32: RecordListElement {}
extension Int64: RecordListElement {}
extension UInt: RecordListElement {}
extension UInt8: RecordListElement {}
extension UInt16: RecordListElement {}
extension UInt32: RecordListElement {}
extension UInt64: RecordListElement {}

extension DatabaseError {
  @usableFromInline static var numberTooLarge: DatabaseError {
    DatabaseError(.invalidArguments, "A whole number above 9223372036854775807 cannot be stored.")
  }
}
