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

extension Int: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension Int8: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension Int16: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension Int32: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension Int64: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(self) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension UInt8: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension UInt16: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension UInt32: RecordListElement {
  /// `.int`.
  public var recordValue: Record.Value { .int(Int64(self)) }
  /// Reads `.int` when it fits.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.ints`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .ints(elements.map { Int64($0) }) }
  /// Reads `.ints` when all fit.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension UInt: RecordListElement {
  /// `.int`; beyond `Int64.max` the nearest `.double`, which compares rightly but is refused as a field's value.
  public var recordValue: Record.Value { Int64(exactly: self).map { .int($0) } ?? .double(Double(self)) }
  /// Reads `.int` when it is not negative.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.int`, or `invalidArguments` beyond `Int64.max`.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value {
    guard let number = Int64(exactly: self) else { throw .numberTooLarge }
    return .int(number)
  }
  /// `.ints`; beyond `Int64.max` the nearest `.doubles`, which are refused as a field's value.
  public static func recordListValue(_ elements: [Self]) -> Record.Value {
    let numbers = elements.compactMap { Int64(exactly: $0) }
    return numbers.count == elements.count ? .ints(numbers) : .doubles(elements.map { Double($0) })
  }
  /// Reads `.ints` when none is negative.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension UInt64: RecordListElement {
  /// `.int`; beyond `Int64.max` the nearest `.double`, which compares rightly but is refused as a field's value.
  public var recordValue: Record.Value { Int64(exactly: self).map { .int($0) } ?? .double(Double(self)) }
  /// Reads `.int` when it is not negative.
  public init?(recordValue: Record.Value) {
    guard case .int(let number) = recordValue else { return nil }
    self.init(exactly: number)
  }
  /// `.int`, or `invalidArguments` beyond `Int64.max`.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value {
    guard let number = Int64(exactly: self) else { throw .numberTooLarge }
    return .int(number)
  }
  /// `.ints`; beyond `Int64.max` the nearest `.doubles`, which are refused as a field's value.
  public static func recordListValue(_ elements: [Self]) -> Record.Value {
    let numbers = elements.compactMap { Int64(exactly: $0) }
    return numbers.count == elements.count ? .ints(numbers) : .doubles(elements.map { Double($0) })
  }
  /// Reads `.ints` when none is negative.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? { wholeNumbers(of: value) }
}

extension FixedWidthInteger {
  /// The elements of a list of whole numbers; nil when one does not fit.
  fileprivate static func wholeNumbers(of value: Record.Value) -> [Self]? {
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

extension DatabaseError {
  fileprivate static var numberTooLarge: DatabaseError {
    DatabaseError(.invalidArguments, "A whole number above 9223372036854775807 cannot be stored.")
  }
}
