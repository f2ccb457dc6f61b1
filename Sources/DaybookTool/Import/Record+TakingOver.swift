import Daybook
import DaybookEngine

/// What a record becomes when another one is put in its place, or over it.
extension Record {
  /// Loses the values and the parent that another record does not have.
  /// - Parameter unsaid: the keys of encrypted values of which the other does not say what they are: those stay. Nil for all.
  mutating func removeOthers(than other: Record, keepingEncrypted unsaid: [String]?) throws(DatabaseError) {
    // Nothing is looked for by its key: that is to walk from the front each time.
    let (plain, encrypted) = (other.fieldValues(), other.fieldValues(isEncrypted: true))
    for key in Self.keys(fieldValues(), without: plain) { try set(nil, forKey: key) }
    for key in Self.keys(fieldValues(isEncrypted: true), without: encrypted) {
      let isUnsaid = unsaid.map { $0.contains { UTF8Order.equal($0, key) } } ?? true
      if !isUnsaid { try encryptedValues.set(nil, forKey: key) }
    }
    if other.parent == nil, parent != nil { parent = nil }
  }

  /// Takes the values and the parent that another record has. What is the same already does not count as changed.
  mutating func takeOver(_ other: Record) throws(DatabaseError) {
    let (plain, encrypted) = (other.fieldValues(), other.fieldValues(isEncrypted: true))
    let (ownPlain, ownEncrypted) = (fieldValues(), fieldValues(isEncrypted: true))
    // A key goes from one namespace before it comes to the other. Whether it may, the schema says.
    for key in Self.keys(in: ownPlain, and: encrypted) { try set(nil, forKey: key) }
    for key in Self.keys(in: ownEncrypted, and: plain) { try encryptedValues.set(nil, forKey: key) }
    for field in Self.fields(plain, otherThan: ownPlain) { try set(field.value, forKey: field.key) }
    for field in Self.fields(encrypted, otherThan: ownEncrypted) { try encryptedValues.set(field.value, forKey: field.key) }
    if let own = other.parent, own != parent { parent = own }
  }

  private typealias FieldList = [(key: String, value: Value?)]

  /// The keys of fields that the others have no value for.
  private static func keys(_ fields: FieldList, without others: FieldList) -> [String] {
    let kept = keys(of: others)
    return fields.map(\.key).filter { !kept.contains(Array($0.utf8)) }
  }

  /// The keys that both have values for.
  private static func keys(in fields: FieldList, and others: FieldList) -> [String] {
    let both = keys(of: others)
    return fields.map(\.key).filter { both.contains(Array($0.utf8)) }
  }

  private static func keys(of fields: FieldList) -> Set<[UInt8]> {
    Set(fields.lazy.filter { $0.value != nil }.map { Array($0.key.utf8) })
  }

  /// Those of which the others do not have the same value.
  private static func fields(_ fields: FieldList, otherThan others: FieldList) -> FieldList {
    var known: [[UInt8]: Value] = [:]
    for (key, value) in others { known[Array(key.utf8)] = value }
    return fields.filter { !isSame(known[Array($0.key.utf8)], $0.value) }
  }

  private static func isSame(_ stored: Value?, _ new: Value?) -> Bool {
    guard let stored, let new else { return stored == nil && new == nil }
    return stored.isSame(as: new)
  }

  /// Whether a save of this one in the place of another would change nothing: all values are of the same kinds and equal.
  func isSame(as other: Record) -> Bool {
    let (own, others) = (fieldValues(), other.fieldValues())
    // No encrypted value is compared: one that was removed shows in its key, and so does a plain one in the place of one.
    guard own.count == others.count, encryptedValues.keys == other.encryptedValues.keys else { return false }
    return zip(own, others).allSatisfy { new, stored in
      UTF8Order.equal(new.key, stored.key) && Self.isSame(stored.value, new.value)
    }
  }
}
