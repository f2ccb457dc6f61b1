#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The encoder of a value within JSON text: a struct, a dictionary, a list with nil, of several kinds or of lists.
///
/// **What is within JSON has one form, which no option and no rule changes**: dates are seconds since 2001, bytes Base64, numbers
/// that are none texts, and every other type is what its own `encode(to:)` makes of it, also a place, an ID, a `Record.Value`, a type
/// that is `RecordValueConvertible`, and one that would be a record of its own elsewhere. So ``FieldDecoder`` reads JSON without
/// asking what it was written with, and a value is the same in a struct and in a list. A file cannot lie here.
struct JSONSlotEncoder: Encoder {
  let slot: JSONSlot
  let scope: EncodingScope
  let step: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(step) }
  var userInfo: [CodingUserInfoKey: Any] { scope.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if !slot.becomeObject() { scope.fail(isFilled) }
    return KeyedEncodingContainer(JSONObjectContainer<Key>(slot: slot, scope: scope, step: step))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if !slot.becomeArray() { scope.fail(isFilled) }
    return JSONArrayContainer(slot: slot, scope: scope, step: step)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  private var isFilled: RecordCodingError {
    RecordCodingError(.unsupportedValue, "The type encoded two values in the place of one.", path: pathTexts(step))
  }

  fileprivate func fill(_ content: JSONSlot.Content) throws { if !slot.fill(content) { throw isFilled } }

  fileprivate func fill(integer number: some FixedWidthInteger) throws {
    if let number = Int64(exactly: number) { return try fill(.int(number)) }
    if let number = UInt64(exactly: number) { return try fill(.unsigned(number)) }
    throw RecordCodingError(
      .unsupportedValue, "A whole number must lie in the range of Int64.", path: pathTexts(step),
      facts: .init(expected: "Int64"))
  }
}

extension JSONSlotEncoder: SingleValueEncodingContainer {
  func encodeNil() throws { try fill(.null) }
  func encode(_ value: Bool) throws { try fill(.bool(value)) }
  func encode(_ value: String) throws {
    try checkText(value)
    try fill(.string(value))
  }
  func encode(_ value: Double) throws { try fill(.double(value)) }
  func encode(_ value: Float) throws { try fill(.double(Double(value))) }
  func encode(_ value: Int) throws { try fill(.int(Int64(value))) }
  func encode(_ value: Int8) throws { try fill(.int(Int64(value))) }
  func encode(_ value: Int16) throws { try fill(.int(Int64(value))) }
  func encode(_ value: Int32) throws { try fill(.int(Int64(value))) }
  func encode(_ value: Int64) throws { try fill(.int(value)) }
  func encode(_ value: Int128) throws { try fill(integer: value) }
  func encode(_ value: UInt) throws { try fill(integer: value) }
  func encode(_ value: UInt8) throws { try fill(.int(Int64(value))) }
  func encode(_ value: UInt16) throws { try fill(.int(Int64(value))) }
  func encode(_ value: UInt32) throws { try fill(.int(Int64(value))) }
  func encode(_ value: UInt64) throws { try fill(integer: value) }
  func encode(_ value: UInt128) throws { try fill(integer: value) }

  func encode<T: Encodable>(_ value: T) throws {
    if T.self == Date.self {
      let date = value as! Date
      try checkDate(date)
      try fill(.double(date.timeIntervalSinceReferenceDate))
    } else if T.self == Data.self {
      try fill(.string((value as! Data).base64EncodedString()))
    } else if T.self == URL.self {
      let url = value as! URL
      if url.isFileURL { throw noContent }
      try checkText(url.absoluteString)
      try fill(.string(url.absoluteString))
    } else if T.self == Decimal.self {
      try fill(.string(DecimalText.text(of: value as! Decimal)))
    } else if T.self == Asset.self {
      throw noContent
    } else {
      let groupCount = unorderedGroupCount(T.self)
      if groupCount > 0 { slot.unorderedGroupCount = groupCount }
      try scope.checkHidesNothing(value, step)
      try scope.nesting(step) { try value.encode(to: self) }
      // A type without a single key asks for no container.
      if case .empty = slot.content { try fill(.object) }
    }
  }

  private var noContent: RecordCodingError {
    RecordCodingError(
      .unsupportedValue, "A file cannot lie in JSON; it needs a field of its own, for instance of a flattened value.",
      path: pathTexts(step))
  }
}

/// The members of a JSON object.
private struct JSONObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let slot: JSONSlot
  let scope: EncodingScope
  let step: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(step) }

  private func member(_ key: any CodingKey, isNew: Bool = true) -> JSONSlotEncoder {
    let member = JSONSlotEncoder(
      slot: slot.member(key.stringValue, isNew: isNew), scope: scope, step: scope.step(key, after: step))
    member.checkName(key.stringValue)
    return member
  }

  func encodeNil(forKey key: Key) throws { try member(key).encodeNil() }
  func encode(_ value: Bool, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: String, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Double, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Float, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int8, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int16, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int32, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int64, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int128, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: UInt, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: UInt8, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: UInt16, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: UInt32, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: UInt64, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: UInt128, forKey key: Key) throws { try member(key).encode(value) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try member(key).encode(value) }

  // A nested container may be asked for again, to go on with it.
  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { member(key, isNew: false).container(keyedBy: keyType) }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    member(key, isNew: false).unkeyedContainer()
  }
  func superEncoder() -> any Encoder { checked(member(PlainKey.superKey)) }
  func superEncoder(forKey key: Key) -> any Encoder { checked(member(key)) }
  private func checked(_ encoder: JSONSlotEncoder) -> JSONSlotEncoder {
    scope.checkSuper(encoder.step)
    return encoder
  }
}

/// The elements of a JSON array.
private struct JSONArrayContainer: UnkeyedEncodingContainer {
  let slot: JSONSlot
  let scope: EncodingScope
  let step: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(step) }
  var count: Int { slot.elements.count }

  private func element() -> JSONSlotEncoder {
    let key = PlainKey(intValue: count)
    return JSONSlotEncoder(slot: slot.append(), scope: scope, step: scope.step(key, after: step))
  }

  func encodeNil() throws { try element().encodeNil() }
  func encode(_ value: Bool) throws { try element().encode(value) }
  func encode(_ value: String) throws { try element().encode(value) }
  func encode(_ value: Double) throws { try element().encode(value) }
  func encode(_ value: Float) throws { try element().encode(value) }
  func encode(_ value: Int) throws { try element().encode(value) }
  func encode(_ value: Int8) throws { try element().encode(value) }
  func encode(_ value: Int16) throws { try element().encode(value) }
  func encode(_ value: Int32) throws { try element().encode(value) }
  func encode(_ value: Int64) throws { try element().encode(value) }
  func encode(_ value: Int128) throws { try element().encode(value) }
  func encode(_ value: UInt) throws { try element().encode(value) }
  func encode(_ value: UInt8) throws { try element().encode(value) }
  func encode(_ value: UInt16) throws { try element().encode(value) }
  func encode(_ value: UInt32) throws { try element().encode(value) }
  func encode(_ value: UInt64) throws { try element().encode(value) }
  func encode(_ value: UInt128) throws { try element().encode(value) }
  func encode<T: Encodable>(_ value: T) throws { try element().encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: keyType)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
  func superEncoder() -> any Encoder {
    let encoder = element()
    scope.checkSuper(encoder.step)
    return encoder
  }
}
