import Daybook

/// Raw values that only a newer version of the application knows. They were decoded as the fallback, and an update of another property
/// must not store that in their place.
extension EncodingScope {
  /// What a field of the record becomes where it has such values and the property still is their fallback; nil where it has none.
  func keptCases<T: Encodable>(of value: T, _ target: FieldTarget) -> Record.Value? {
    guard target.rule == nil, let stored = fields.record[target.field] as Record.Value? else { return nil }
    switch stored {
    case .strings(var list):
      guard !list.isEmpty, let cases = value as? [any RecordEnum], cases.count == list.count else { return nil }
      for (index, value) in cases.enumerated() where !value.standsFor(.string(list[index])) {
        guard case .string(let text)? = value.storedRawValue else { return nil }
        list[index] = text
      }
      return .strings(list)
    case .ints(var list):
      guard !list.isEmpty, let cases = value as? [any RecordEnum], cases.count == list.count else { return nil }
      for (index, value) in cases.enumerated() where !value.standsFor(.int(list[index])) {
        guard case .int(let number)? = value.storedRawValue else { return nil }
        list[index] = number
      }
      return .ints(list)
    default:
      guard let value = value as? any RecordEnum, value.standsFor(stored) else { return nil }
      return stored
    }
  }
}

extension RecordEnum {
  fileprivate var storedRawValue: Record.Value? { (rawValue as? any RecordValueConvertible)?.recordValue }

  /// Whether no case has a stored raw value, and this is the fallback.
  fileprivate func standsFor(_ stored: Record.Value) -> Bool {
    guard let own = storedRawValue, own.kind == stored.kind, let fallback = Self.fallback, fallback.storedRawValue == own,
      let type = RawValue.self as? any RecordValueConvertible.Type, let raw = type.init(recordValue: stored) as? RawValue
    else { return false }
    return Self(rawValue: raw) == nil
  }
}
