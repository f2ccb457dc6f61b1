/// How many results a page may have: one rule for everything that takes a `limit`.
///
/// At least one, or a caller that asks for pages while `moreComing` would never end. There is no maximum: a page takes memory
/// for what is found only.
enum PageLimit {
  /// - Throws: `invalidArguments` for a limit below one.
  static func require(_ limit: Int, in zone: Zone.ID? = nil) throws(DatabaseError) {
    if limit >= 1 { return }
    throw DatabaseError(.invalidArguments, "A page holds at least one result.", facts: .init(zone: zone, limit: limit))
  }
}
