import Daybook

/// The encoder of a value whose keys are fields: the value itself, or one that is flattened into it.
struct FieldsEncoder: Encoder {
  let scope: EncodingScope
  /// Nil for the value itself.
  let above: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(above) }
  var userInfo: [CodingUserInfoKey: Any] { scope.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    scope.ruleCheck?.seeKeys(type, of: above)
    if above == nil { scope.seeKeysOfRecord(type) }
    return KeyedEncodingContainer(FieldsEncodingContainer<Key>(scope: scope, above: above))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    scope.fail(notKeyed)
    return JSONSlotEncoder(slot: JSONSlot(), scope: scope, step: above).unkeyedContainer()
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { FieldsSingleValueContainer(encoder: self) }

  fileprivate var notKeyed: RecordCodingError {
    RecordCodingError(.unsupportedValue, "A record is made from a value that has keys.", path: pathTexts(above))
  }
}

/// A type that stands for another one and encodes that in its place.
private struct FieldsSingleValueContainer: SingleValueEncodingContainer {
  let encoder: FieldsEncoder
  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() throws { throw encoder.notKeyed }
  func encode(_ value: Bool) throws { throw encoder.notKeyed }
  func encode(_ value: String) throws { throw encoder.notKeyed }
  func encode(_ value: Double) throws { throw encoder.notKeyed }
  func encode(_ value: Float) throws { throw encoder.notKeyed }
  func encode(_ value: Int) throws { throw encoder.notKeyed }
  func encode(_ value: Int8) throws { throw encoder.notKeyed }
  func encode(_ value: Int16) throws { throw encoder.notKeyed }
  func encode(_ value: Int32) throws { throw encoder.notKeyed }
  func encode(_ value: Int64) throws { throw encoder.notKeyed }
  func encode(_ value: Int128) throws { throw encoder.notKeyed }
  func encode(_ value: UInt) throws { throw encoder.notKeyed }
  func encode(_ value: UInt8) throws { throw encoder.notKeyed }
  func encode(_ value: UInt16) throws { throw encoder.notKeyed }
  func encode(_ value: UInt32) throws { throw encoder.notKeyed }
  func encode(_ value: UInt64) throws { throw encoder.notKeyed }
  func encode(_ value: UInt128) throws { throw encoder.notKeyed }
  func encode<T: Encodable>(_ value: T) throws {
    // The record has the rules of the type that is asked for it, not those of the value.
    try encoder.scope.checkHidesNothing(value, encoder.above, isInPlace: true)
    if encoder.above == nil, TypeMemory.isOfEnum(value) { encoder.scope.encodesEnum() }
    try encoder.scope.nesting(encoder.above) { try value.encode(to: encoder) }
  }
}

/// The container whose keys are fields. `encodeIfPresent` is told of nil, which takes the field away.
struct FieldsEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let scope: EncodingScope
  let above: PathStep?

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(above) }

  /// Nil of a type that is not said: what was there may have been a value with keys.
  func encodeNil(forKey key: Key) throws { try scope.remove(key, above, mayHaveKeys: true) }
  func encode(_ value: Bool, forKey key: Key) throws { try scope.put(value ? 1 : 0 as Int64, key, above) }
  func encode(_ value: String, forKey key: Key) throws { try scope.put(value, key, above) }
  func encode(_ value: Double, forKey key: Key) throws {
    // NaN takes the way of the options.
    if value.isNaN { try scope.encode(value, key, above) } else { try scope.put(value, key, above) }
  }
  func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }

  @inline(__always)
  private func encode(integer value: some FixedWidthInteger, forKey key: Key) throws {
    if let number = Int64(exactly: value) { return try scope.put(number, key, above) }
    // Only a field has to hold it: the name of a record has its digits.
    guard let target = try scope.field(key, above) else { return try scope.put(String(value), key, above) }
    _ = try scope.integer(value, target)
  }
  func encode(_ value: Int, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: Int8, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: Int16, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: Int32, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: Int64, forKey key: Key) throws { try scope.put(value, key, above) }
  func encode(_ value: Int128, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt8, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: UInt16, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: UInt32, forKey key: Key) throws { try scope.put(Int64(value), key, above) }
  func encode(_ value: UInt64, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try scope.encode(value, key, above) }

  /// Nil of a type without keys.
  private func encodeNoLeaf(forKey key: Key) throws { try scope.remove(key, above, mayHaveKeys: false) }

  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNoLeaf(forKey: key) }
  }
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value { return try encode(value, forKey: key) }
    try scope.remove(
      key, above, T.self,
      // An optional in an optional is no list, and has the keys of what is in it.
      mayHaveKeys: T.self is any OptionalValue.Type
        ? scope.mayHaveKeys(T.self) : !(FieldDecoder.isLeaf(T.self) || T.self is any ListOfElements.Type))
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { scope.pendingEncoder(key, above).container(keyedBy: keyType) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    scope.pendingEncoder(key, above).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { scope.superEncoder(PlainKey.superKey, above) }
  func superEncoder(forKey key: Key) -> any Encoder { scope.superEncoder(key, above) }
}
