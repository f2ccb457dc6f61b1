/// One key that was set or removed since the record was read.
package struct FieldEdit: Sendable {
  package internal(set) var key: String
  /// The first eight bytes of the key in their order; most comparisons of keys end with them.
  var head: UInt64
  package internal(set) var isEncrypted: Bool
  /// The key was edited as plain and as encrypted, one after the other: a removal is of both.
  var isOfBoth = false
  /// The value's kind, so that most questions need no copy of the value; nil removes.
  package internal(set) var kind: FieldKind?
  /// Nil removes.
  package internal(set) var value: Record.Value?

  package var isRemoval: Bool { kind == nil }
}
