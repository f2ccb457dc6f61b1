import Daybook

extension RecordEncoder {
  /// The record of a value that was changed, with as much of what is stored as it was as reads back as the value.
  ///
  /// A value may be stored in other fields than it is encoded in: whole where it is flattened now, as one text that became two properties.
  /// Some of the former fields and some of the new ones would be another value, or leave an old one there: then all new ones are stored.
  /// A field that only has another value, such as that of a case that is not known, still stays.
  /// - Parameters:
  ///   - encoded: what encoding makes of the value.
  ///   - unchanged: what it makes of the value as it was read.
  func record<T: RecordCodable>(
    of type: T.Type, encodedAs encoded: Record, keeping stored: Record, where unchanged: Record
  ) throws -> Record {
    if unchanged.hasSameChanges(as: stored) { return encoded }
    // A type may decode other than it encodes, trim a text for instance, or encode the time: what is compared has been read once, too,
    // and keys that are other ones each time say nothing.
    guard let read = try? RecordDecoder(options: options).decode(type, from: encoded),
      let first = try? encode(read, onto: stored),
      let second = try? encode(read, onto: stored)
    else { return encoded }
    for keepsForm in unchanged.hasSameForm(as: encoded, of: stored) ? [true, false] : [false] {
      let kept = try encoded.keeping(stored, where: unchanged, keepsForm: keepsForm)
      guard let value = try? RecordDecoder(options: options).decode(type, from: kept),
        let again = try? encode(value, onto: stored)
      else { continue }
      if again.hasSameChanges(as: first, besides: second) { return kept }
    }
    return encoded
  }
}

extension Record {
  /// An encoded record with the stored fields in the place of those that encoding changed, and nothing else.
  /// - Parameters:
  ///   - stored: the record that the value was read from.
  ///   - unchanged: what encoding makes of the value as it was read.
  ///   - keepsForm: also fields that encoding adds, and those that it takes away.
  fileprivate func keeping(_ stored: Record, where unchanged: Record, keepsForm: Bool) throws -> Record {
    func isKept(_ new: Value?, _ own: Value?, _ old: Value?) -> Bool {
      Self.isSame(new, own) && (keepsForm || new != nil && old != nil)
    }
    let (keys, encrypted) = (unchanged.changedKeys, unchanged.encryptedValues.changedKeys)
    var result = stored
    for key in changedKeys.sorted(by: <) where !keys.contains(key) || !isKept(self[key], unchanged[key], stored[key]) {
      try result.set(self[key] as Value?, forKey: key)
    }
    for key in encryptedValues.changedKeys.sorted(by: <)
    where !encrypted.contains(key)
      || !isKept(encryptedValues[key], unchanged.encryptedValues[key], stored.encryptedValues[key])
    {
      try result.encryptedValues.set(encryptedValues[key] as Value?, forKey: key)
    }
    let isParentKept = unchanged.parent != stored.parent && unchanged.parent == parent
    if parent != stored.parent, !isParentKept { result.parent = parent }
    return result
  }

  /// Whether two records that were made from one have the same changes.
  /// - Parameter second: another making of the other record: keys in which the two differ are not compared.
  fileprivate func hasSameChanges(as other: Record, besides second: Record? = nil) -> Bool {
    func isSame(_ own: Value?, _ other: Value?, _ again: @autoclosure () -> Value?) -> Bool {
      Self.isSame(own, other) || second != nil && !Self.isSame(other, again())
    }
    let keys = changedKeys.union(other.changedKeys)
    let encrypted = encryptedValues.changedKeys.union(other.encryptedValues.changedKeys)
    return parent == other.parent && keys.allSatisfy { isSame(self[$0], other[$0], second?[$0]) }
      && encrypted.allSatisfy { isSame(encryptedValues[$0], other.encryptedValues[$0], second?.encryptedValues[$0]) }
  }

  /// Whether another record that was made from the same one has all fields as this one that this one has got or lost.
  fileprivate func hasSameForm(as other: Record, of stored: Record) -> Bool {
    func isSame(_ own: Value?, _ other: Value?, _ old: Value?) -> Bool { own != nil && old != nil || Self.isSame(own, other) }
    return changedKeys.allSatisfy { isSame(self[$0], other[$0], stored[$0]) }
      && encryptedValues.changedKeys.allSatisfy {
        isSame(encryptedValues[$0], other.encryptedValues[$0], stored.encryptedValues[$0])
      }
  }

  private static func isSame(_ first: Value?, _ second: Value?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return first.isSame(as: second)
  }
}
