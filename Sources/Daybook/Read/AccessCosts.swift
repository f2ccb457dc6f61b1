import DaybookEngine

/// What a query's access may cost beside a scan. How many records a scan would look at is counted when it is asked for first.
struct AccessCosts {
  private let view: ReadView
  private let type: String
  private let zones: [ZoneTrees]
  private let isPreferred: Bool
  private var counted: UInt64?

  init(_ view: ReadView, _ type: String, _ zones: [ZoneTrees]) {
    self.view = view
    self.type = type
    self.zones = zones
    isPreferred = view.database.options.prefersIndexes
  }

  /// How many descents of indexes a plan may spend.
  mutating func descents() throws(DatabaseError) -> UInt64 {
    isPreferred ? .max : IndexChoice.descentLimit(recordCount: try total(), zoneCount: zones.count)
  }

  /// So many candidates are too many: a scan, or the best choice until now, has less work.
  mutating func limit(_ best: IndexChoice?) throws(DatabaseError) -> UInt64 {
    if let best { return best.count }
    return isPreferred ? .max : min(IndexChoice.largestCount + 1, try total() / IndexChoice.lookupCost)
  }

  /// Whether so many candidates are less work than the best choice until now, or than a scan.
  mutating func isWorthwhile(_ count: UInt64, _ best: IndexChoice?) throws(DatabaseError) -> Bool {
    if best == nil, count <= IndexChoice.fewCandidates { return true }
    return try count < limit(best)
  }

  /// How many lookups in the order of an index are still not more work than the best choice, or than a scan.
  mutating func others(_ best: IndexChoice?) throws(DatabaseError) -> UInt64 {
    if isPreferred { return .max }
    if let best { return best.count }
    return try total() / IndexChoice.lookupCost
  }

  private mutating func total() throws(DatabaseError) -> UInt64 {
    if let counted { return counted }
    var total: UInt64 = 0
    for zone in zones { total += try view.count(ofType: type, in: zone) }
    counted = total
    return total
  }
}
