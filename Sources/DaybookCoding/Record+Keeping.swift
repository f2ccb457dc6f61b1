import Daybook

extension Record {
  /// An encoded record with the stored fields in the place of those that encoding changed, and nothing else.
  /// - Parameters:
  ///   - stored: the record that the value was read from.
  ///   - unchanged: what encoding makes of the value as it was read.
  func keeping(_ stored: Record, where unchanged: Record) throws -> Record {
    let (keys, encrypted) = (unchanged.changedKeys, unchanged.encryptedValues.changedKeys)
    let isParentKept = unchanged.parent != stored.parent && unchanged.parent == parent
    if keys.isEmpty, encrypted.isEmpty, !isParentKept { return self }
    var result = stored
    for key in changedKeys.sorted(by: <) where !keys.contains(key) || !Self.isSame(self[key], unchanged[key]) {
      try result.set(self[key] as Value?, forKey: key)
    }
    for key in encryptedValues.changedKeys.sorted(by: <)
    where !encrypted.contains(key) || !Self.isSame(encryptedValues[key], unchanged.encryptedValues[key]) {
      try result.encryptedValues.set(encryptedValues[key] as Value?, forKey: key)
    }
    if parent != stored.parent, !isParentKept { result.parent = parent }
    return result
  }

  private static func isSame(_ first: Value?, _ second: Value?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return first.isSame(as: second)
  }
}
