import Daybook

/// A value of which the record that is encoded has only a reference.
struct ReferredValue: Sendable {
  let id: Record.ID
  let path: [String]

  /// Throws where the value would be lost: it is in no record.
  func requireRecord(in transaction: Transaction) throws {
    if try transaction.record(id) != nil { return }
    throw RecordCodingError(
      .recordNotFound,
      "The value here is a record of its own, of which only a reference is saved: save it before, or both together (encodeGraph).",
      path: path, facts: .init(target: id))
  }
}
