/// A place in the records of a zone and type, as they follow one another by their last saves.
///
/// Opaque. It holds for the state of the database that gave it and for every later one: whatever is there behind that place comes, and
/// nothing is left out. A record that is saved moves to the end. So pages of one snapshot have each record once, while pages
/// of a database that changes meanwhile may have a record again that they had in an earlier state. Where that state has gone (a restored
/// backup, a transaction that was rolled back) it is refused with `changeTokenForked`; a snapshot that is older has an empty page, with the
/// same cursor.
public struct RecordCursor: Sendable, Hashable {
  /// The state that gave it.
  let state: StateMark
  /// Where the next record is.
  let sequence: UInt64
  let ordinal: UInt32
}
