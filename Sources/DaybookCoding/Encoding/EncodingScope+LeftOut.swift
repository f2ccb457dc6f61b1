import Daybook

/// Keys that a type lists and does not encode: `if let note { try container.encode(note, forKey: .note) }`. An older record loses their
/// fields, as with `encodeIfPresent`; else what became nil would come back.
///
/// Known are the keys of types that are `CaseIterable`, of the value itself and its superclasses. (Of a flattened value every field goes
/// that is below its key and not named: ``FlattenedFields``. Nested JSON is written whole.) Fields of no such key stay, so those of a newer
/// version do.
extension EncodingScope {
  /// The value itself asked for a container.
  @inline(__always)
  func seeListedKeys<Key: CodingKey>(_ type: Key.Type) {
    let keys = TypeMemory.listedKeys(type)
    // Another set of names has its own say about what stays: in CloudKit a key that is not set is not touched.
    if !keys.isEmpty, options.layer == nil { listedKeys += keys }
  }

  /// A key has got its field, or lost it.
  @inline(__always)
  func note(_ target: FieldTarget) {
    if fields.keepsEqualValues || !listedKeys.isEmpty, target.above == nil { named.insert(target.field) }
  }

  private func isEncoded(_ target: FieldTarget) -> Bool {
    if named.contains(target.field) || owners[target.field] != nil { return true }
    // A new record has only what was encoded.
    if fields.keepsEqualValues { return false }
    return fields.record[target.field] as Record.Value? != nil
      || fields.record.encryptedValues[target.field] as Record.Value? != nil
  }

  /// After the whole value was encoded.
  func removeLeftOut() throws {
    for key in listedKeys {
      // Ignored keys, the name and system fields are none.
      guard case .field(let target) = meaning(key, nil), !isEncoded(target) else { continue }
      // Where the rule does not say that the value has fields of its own, those that begin as it does may be a newer version's.
      let isFlattened = if case .flattened? = target.rule { true } else { false }
      try remove(target, mayHaveKeys: isFlattened)
    }
  }
}
