/// How many results a page may have: one rule for everything that takes a `limit`.
///
/// A page holds at least one result, or a caller that asks for the next one as long as more is coming would ask for ever. There
/// is no most: what is not there takes no room.
enum PageLimit {
  /// - Throws: `invalidArguments` for a limit below one.
  static func require(_ limit: Int, in zone: Zone.ID? = nil) throws(DatabaseError) {
    if limit >= 1 { return }
    throw DatabaseError(.invalidArguments, "A page holds at least one result.", facts: .init(zone: zone, limit: limit))
  }
}
