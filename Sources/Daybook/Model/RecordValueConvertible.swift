#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A Swift type that a field can hold: text, numbers, Booleans, bytes, dates, places, assets, references, lists.
///
/// A type of your own conforms by naming one value, for instance an enum its raw text:
///
/// ```swift
/// struct Isbn: RecordValueConvertible {
///   var text: String
///   var recordValue: Record.Value { .string(text) }
///   init?(recordValue: Record.Value) {
///     guard let text = String(recordValue: recordValue) else { return nil }
///     self.text = text
///   }
/// }
/// ```
/// An enum with raw values only has to declare the conformance: its raw value is stored.
public protocol RecordValueConvertible: SendableMetatype {
  /// The value to store.
  var recordValue: Record.Value { get }

  /// Reads a stored value; nil when it is of another kind or out of range.
  init?(recordValue: Record.Value)

  /// The value to store, or why there is none. The default is ``recordValue``; only types with values beyond a
  /// record's range, such as `UInt64`, need more.
  ///
  /// - Throws: `invalidArguments` when the value has no exact stored form.
  func checkedRecordValue() throws(DatabaseError) -> Record.Value
}

extension RecordValueConvertible {
  /// The value to store.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value { recordValue }
}

extension RecordValueConvertible where Self: RawRepresentable, RawValue: RecordValueConvertible {
  /// The raw value.
  public var recordValue: Record.Value { rawValue.recordValue }

  /// Reads a raw value; nil when no case has it.
  public init?(recordValue: Record.Value) {
    guard let raw = RawValue(recordValue: recordValue) else { return nil }
    self.init(rawValue: raw)
  }

  /// The raw value to store, or why there is none.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value { try rawValue.checkedRecordValue() }
}

extension Record.Value: RecordValueConvertible {
  /// The value itself.
  public var recordValue: Record.Value { self }
  /// The value itself.
  public init?(recordValue: Record.Value) { self = recordValue }
}

extension Array: RecordValueConvertible where Element: RecordListElement {
  /// The list to store.
  public var recordValue: Record.Value { Element.recordListValue(self) }

  /// Reads a stored list; nil when it is of another kind or one element is out of range.
  public init?(recordValue: Record.Value) {
    guard let elements = Element.elements(ofRecordList: recordValue) else { return nil }
    self = elements
  }

  /// The list to store, or why there is none.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value {
    let list = recordValue
    // Only whole numbers beyond Int64 become a list of doubles without being doubles; they are refused one by one.
    if case .doubles = list {
      for element in self { _ = try element.checkedRecordValue() }
    }
    return list
  }
}

extension String: RecordListElement {
  /// `.string`.
  public var recordValue: Record.Value { .string(self) }
  /// Reads `.string`.
  public init?(recordValue: Record.Value) {
    guard case .string(let value) = recordValue else { return nil }
    self = value
  }
  /// `.strings`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .strings(elements) }
  /// Reads `.strings`.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    if case .strings(let list) = value { list } else { nil }
  }
}

extension Data: RecordListElement {
  /// `.bytes`.
  public var recordValue: Record.Value { .bytes(self) }
  /// Reads `.bytes`.
  public init?(recordValue: Record.Value) {
    guard case .bytes(let value) = recordValue else { return nil }
    self = value
  }
  /// `.bytesList`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .bytesList(elements) }
  /// Reads `.bytesList`.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    if case .bytesList(let list) = value { list } else { nil }
  }
}

extension Date: RecordListElement {
  /// `.date`.
  public var recordValue: Record.Value { .date(self) }
  /// Reads `.date`.
  public init?(recordValue: Record.Value) {
    guard case .date(let value) = recordValue else { return nil }
    self = value
  }
  /// `.dates`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .dates(elements) }
  /// Reads `.dates`.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    if case .dates(let list) = value { list } else { nil }
  }
}

extension Location: RecordListElement {
  /// `.location`.
  public var recordValue: Record.Value { .location(self) }
  /// Reads `.location`.
  public init?(recordValue: Record.Value) {
    guard case .location(let value) = recordValue else { return nil }
    self = value
  }
  /// `.locations`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .locations(elements) }
  /// Reads `.locations`.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    if case .locations(let list) = value { list } else { nil }
  }
}

extension Asset: RecordListElement {
  /// `.asset`.
  public var recordValue: Record.Value { .asset(self) }
  /// Reads `.asset`.
  public init?(recordValue: Record.Value) {
    guard case .asset(let value) = recordValue else { return nil }
    self = value
  }
  /// `.assets`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .assets(elements) }
  /// Reads `.assets`.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    if case .assets(let list) = value { list } else { nil }
  }
}

extension Record.Reference: RecordListElement {
  /// `.reference`.
  public var recordValue: Record.Value { .reference(self) }
  /// Reads `.reference`.
  public init?(recordValue: Record.Value) {
    guard case .reference(let value) = recordValue else { return nil }
    self = value
  }
  /// `.references`.
  public static func recordListValue(_ elements: [Self]) -> Record.Value { .references(elements) }
  /// Reads `.references`.
  public static func elements(ofRecordList value: Record.Value) -> [Self]? {
    if case .references(let list) = value { list } else { nil }
  }
}
