/// When two records are the same: by bytes for text, by exact value for numbers, as indexes see it.

extension Record: Hashable {
  /// Whether both have the same identity, type, metadata, parent and values, plain and encrypted.
  ///
  /// What was changed since the record was read does not count, only what is in it. Costs nothing for copies of one
  /// record, else one walk over the fields of each.
  public static func == (first: Record, second: Record) -> Bool {
    let isSameBody = first.body.isIdentical(to: second.body)
    if isSameBody, !first.hasChanges, !second.hasChanges { return true }
    guard first.body.tag == second.body.tag, first.id == second.id, UTF8Order.equal(first.type, second.type) else {
      return false
    }
    guard isSameBody || first.metadata == second.metadata, first.parent == second.parent else { return false }
    for isEncrypted in [false, true] {
      let (fields, others) = (first.fieldValues(isEncrypted: isEncrypted), second.fieldValues(isEncrypted: isEncrypted))
      guard fields.elementsEqual(others, by: { UTF8Order.equal($0.key, $1.key) && $0.value == $1.value }) else { return false }
    }
    return true
  }

  /// Hashes identity and change tag, which is enough to tell the records of a set apart.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(body.tag)
  }
}
