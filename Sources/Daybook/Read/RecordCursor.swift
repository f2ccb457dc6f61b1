/// A place in the records of a zone and type, as they follow one another by their last saves.
///
/// Opaque. It holds for every version of the database that it came from: whatever is there behind that place comes, and
/// nothing is left out. A record that is saved moves to the end. So pages of one snapshot have each record once, while pages
/// of a database that changes meanwhile may have a record again that they had in an earlier state. A database with another history (a
/// restored backup) refuses it with `changeTokenForked`; a snapshot that is older has an empty page, with the same cursor.
public struct RecordCursor: Sendable, Hashable {
  /// Of the commit.
  let lineage: Lineage?
  let sequence: UInt64
  let ordinal: UInt32
}
