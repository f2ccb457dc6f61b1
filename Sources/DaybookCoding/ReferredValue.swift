import Daybook

/// A value of which the record that is encoded has only a reference. Where no record has the value when the transaction ends, it
/// would be lost.
struct ReferredValue: Hashable, Sendable {
  let source: Record.ID
  /// The field; nil for the parent.
  let field: String?
  let target: Record.ID
  /// Nil where it may be any.
  let type: String?
  /// What the value is, where that is asked for: a reference that the stored record has already loses nothing as long as its value is
  /// what was read from it. Nil where it was not asked for, and where the value cannot be encoded by itself.
  let contents: Record?

  func requireRecord(in transaction: Transaction) {
    transaction.requireRecord(target, ofType: type, for: field, of: source)
  }
}
