import Daybook

/// A value of which the record that is encoded has only a reference. Where no record has the value when the transaction ends, it
/// would be lost.
struct ReferredValue: Sendable {
  let source: Record.ID
  /// The field; nil for the parent.
  let field: String?
  let target: Record.ID
  /// Nil where it may be any.
  let type: String?

  func requireRecord(in transaction: Transaction) {
    transaction.requireRecord(target, ofType: type, for: field, of: source)
  }
}
