import Daybook

/// Which key a field belongs to. Flattened values have theirs beside the fields of other keys, so that a beginning alone does not tell:
/// `label_color` is below a flattened `label`, and is the field of `labelColor` where the type has that key.
///
/// Always true: a field belongs to the longest key that it is, or begins with before an underscore. What an encoder writes, it has looked
/// up by the same rule: see `EncodingScope.checkIsFound(_:isOfEnum:)`.
extension RecordCodingOptions {
  /// Whether a field is that of a key, or below it.
  /// - Parameter prefix: what the fields of the value have in front of their names that the key is of.
  func isField(_ field: String, of key: any CodingKey, after prefix: String) -> Bool {
    guard field.utf8.starts(with: prefix.utf8) else { return false }
    let own = spelling(of: key).utf8
    let rest = field.dropFirst(prefix.count)
    guard rest.utf8.starts(with: own) else { return false }
    if rest.utf8.count == own.count { return true }
    guard rest.utf8.dropFirst(own.count).first == UInt8(ascii: "_") else { return false }
    let type = type(of: key)
    if Self.isOpen(type) { return true }
    return !Self.beginnings(of: rest).contains { $0.utf8.count > own.count && hasKey(spelled: String($0), of: type) }
  }

  /// The same of all keys that lead to a value.
  func isField(_ field: String, below step: PathStep?) -> Bool {
    var next = step
    while let step = next {
      guard isField(field, of: step.key, after: step.parent?.prefix ?? "") else { return false }
      next = step.parent
    }
    return true
  }

  /// Whether a type of keys has one for a field, or for a beginning of it.
  func isField(_ field: String, after prefix: String, ofAKeyOf type: any CodingKey.Type) -> Bool {
    guard field.utf8.starts(with: prefix.utf8) else { return false }
    if Self.isOpen(type) { return true }
    return Self.beginnings(of: field.dropFirst(prefix.count)).contains { hasKey(spelled: String($0), of: type) }
  }

  /// What is in front of each underscore, the shortest first, and the whole.
  static func beginnings(of name: Substring) -> [Substring] {
    name.indices.filter { name[$0] == "_" }.map { name[..<$0] } + [name]
  }
}
