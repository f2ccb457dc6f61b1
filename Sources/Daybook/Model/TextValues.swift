#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Types without a kind of their own that are stored as text. CloudKit has none of them either; as text they are the same on
// every platform, can be read by people, and, but for decimals, keep their equality.

/// Types that are stored as text, alone and in lists.
private protocol TextValue: RecordListElement {
  var recordText: String { get }
  init?(recordText: String)
}

extension TextValue {
  fileprivate static func texts(_ elements: [Self]) -> Record.Value { .strings(elements.map(\.recordText)) }

  fileprivate static func elements(_ value: Record.Value) -> [Self]? {
    guard case .strings(let texts) = value else { return nil }
    var elements: [Self] = []
    for text in texts {
      guard let element = Self(recordText: text) else { return nil }
      elements.append(element)
    }
    return elements
  }
}

extension UUID: RecordListElement, TextValue {
  fileprivate var recordText: String { uuidString }
  fileprivate init?(recordText: String) { self.init(uuidString: recordText) }

  /// `.string`, of 36 capital letters, digits and dashes.
  public var recordValue: Record.Value { .string(recordText) }
  /// Reads `.string` in the form of a UUID, of small or capital letters.
  public init?(recordValue: Record.Value) {
    guard case .string(let text) = recordValue else { return nil }
    self.init(recordText: text)
  }
  /// `.strings`.
  public static func recordListValue(_ elements: [UUID]) -> Record.Value { texts(elements) }
  /// Reads `.strings`; nil when one of them is no UUID.
  public static func elements(ofRecordList value: Record.Value) -> [UUID]? { elements(value) }
}

extension URL: RecordListElement, TextValue {
  fileprivate var recordText: String { absoluteString }
  fileprivate init?(recordText: String) { self.init(string: recordText) }

  /// `.string`, the whole URL. That of a file is refused: its path says nothing elsewhere. ``Asset`` keeps a file's content.
  public var recordValue: Record.Value { .string(recordText) }
  /// Reads `.string` in the form of a URL.
  public init?(recordValue: Record.Value) {
    guard case .string(let text) = recordValue else { return nil }
    self.init(recordText: text)
  }
  /// `.strings`.
  public static func recordListValue(_ elements: [URL]) -> Record.Value { texts(elements) }
  /// Reads `.strings`; nil when one of them is no URL.
  public static func elements(ofRecordList value: Record.Value) -> [URL]? { elements(value) }

  /// The value to store.
  /// - Throws: `invalidArguments` for the URL of a file.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value {
    if isFileURL {
      throw DatabaseError(.invalidArguments, "The URL of a file is not stored; an Asset keeps the file's content.")
    }
    return recordValue
  }
}

extension Decimal: RecordListElement, TextValue {
  fileprivate var recordText: String { "\(self)" }
  fileprivate init?(recordText: String) {
    // `Decimal(string:)` reads as far as it can: what it leaves over would be lost without a word.
    guard Decimal.isNumber(recordText) else { return nil }
    self.init(string: recordText)
    if isNaN { return nil }
  }

  /// A sign, digits with a point among or before them, an exponent; nothing else.
  private static func isNumber(_ text: String) -> Bool {
    var rest = Substring(text)
    func takesDigits() -> Bool {
      let digits = rest.prefix { $0.isASCII && $0.isWholeNumber }
      rest = rest.dropFirst(digits.count)
      return !digits.isEmpty
    }
    func take(_ characters: String) -> Bool {
      guard let first = rest.first, characters.contains(first) else { return false }
      rest.removeFirst()
      return true
    }
    _ = take("+-")
    let hasWhole = takesDigits()
    let hasFraction = take(".") && takesDigits()
    guard hasWhole || hasFraction else { return false }
    if take("eE") {
      _ = take("+-")
      if !takesDigits() { return false }
    }
    return rest.isEmpty
  }

  /// `.string`, exact, with a point, whatever the user's language. It is compared and sorted as text.
  public var recordValue: Record.Value { .string(recordText) }
  /// Reads `.string` in the form of a number, and `.int`. A `.double` is no decimal: it is rarely the number that it shows.
  public init?(recordValue: Record.Value) {
    switch recordValue {
    case .string(let text): self.init(recordText: text)
    case .int(let number): self.init(number)
    default: return nil
    }
  }
  /// `.strings`.
  public static func recordListValue(_ elements: [Decimal]) -> Record.Value { texts(elements) }
  /// Reads `.strings` and `.ints`; nil when one of them is no number.
  public static func elements(ofRecordList value: Record.Value) -> [Decimal]? {
    if case .ints(let list) = value { return list.map { Decimal($0) } }
    return elements(value)
  }

  /// The value to store.
  /// - Throws: `invalidArguments` for a NaN.
  public func checkedRecordValue() throws(DatabaseError) -> Record.Value {
    if isNaN { throw DatabaseError(.invalidArguments, "A value that is not a number (NaN) cannot be stored.") }
    return recordValue
  }
}
