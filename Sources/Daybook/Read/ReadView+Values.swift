import DaybookEngine

/// What the records that a query finds have in one field: the first and the last value, and all with their counts. Each is what a loop
/// over the records finds; an index makes it faster.
extension ReadView {
  /// The value that comes first, or last, in the order of sorts; nil where no record has one.
  func extreme(
    of key: String, for query: Query, isFirst: Bool, _ stop: QueryStop?
  ) throws(DatabaseError) -> Record.Value? {
    try query.check()
    let field = Query.Field(key).whole
    var query = query
    query.sort = [Query.Sort(field, ascending: isFirst)]
    query.limit = 1
    var best: Record.Value?
    let plan = try prepareFilter(query)
    // One zone at a time, so that an index may be walked in its order.
    for zone in plan.zones {
      guard let record = try records(try narrowed(plan, to: zone, stop), desiredKeys: [field.name], stop).first,
        let value = PredicateMeaning.value(of: field, in: record), !value.kind.isAsset
      else { continue }
      let order = best.map { ValueOrder.compare(value, $0) } ?? (isFirst ? -1 : 1)
      if isFirst ? order < 0 : order > 0 { best = value }
    }
    return best
  }

  /// The same of what a property of a type is, which differs from its field where a record has none, or a value that the type
  /// does not know.
  func extreme(
    of key: String, as place: PredicateTranslation.Place, for query: Query, isFirst: Bool, _ stop: QueryStop?
  ) throws(DatabaseError) -> Record.Value? {
    if place.unknown != nil, try !hasLists(key, query) {
      let values = try distinctValues(of: key, as: place, for: query, stop)
      return (isFirst ? values.first : values.last)?.value
    }
    let best = try extreme(of: key, for: query, isFirst: isFirst, stop)
    guard let fallback = place.fallback, try count(ofAbsent: key, query, stop) > 0 else { return best }
    guard let best else { return fallback }
    let order = ValueOrder.compare(fallback, best)
    return (isFirst ? order < 0 : order > 0) ? fallback : best
  }

  /// The same of what a property of a type is.
  func distinctValues(
    of key: String, as place: PredicateTranslation.Place, for query: Query, _ stop: QueryStop?
  ) throws(DatabaseError) -> [Query.ValueCount] {
    var counts: [Record.Value: Int] = [:]
    if let unknown = place.unknown, try hasLists(key, query) {
      // Two unknown elements of one record are one to Swift.
      let field = Query.Field(key).whole
      var query = query
      query.sort = []
      query.limit = nil
      try countByScan(field, try prepare(query, alsoAsking: field, stop), &counts, stop, seen: unknown.seen)
    } else {
      for found in try distinctValues(of: key, for: query, stop) {
        counts[place.unknown?.seen(found.value) ?? found.value, default: 0] += found.count
      }
    }
    if let fallback = place.fallback {
      let count = try count(ofAbsent: key, query, stop)
      let values = fallback.elements.map { Set($0) } ?? [fallback]
      for value in values where count > 0 {
        // A rule may say 0 of a field that has 0.0.
        let same = counts.keys.first { ValueOrder.compare($0, value) == 0 }
        counts[same ?? value, default: 0] += count
      }
    }
    return sorted(counts)
  }

  /// Whether the field has had lists.
  private func hasLists(_ key: String, _ query: Query) throws(DatabaseError) -> Bool {
    try kinds(of: key, in: query)?.kinds(isEncrypted: false).contains { $0.isList } ?? false
  }

  /// How many records of a query have no such field.
  private func count(ofAbsent key: String, _ query: Query, _ stop: QueryStop?) throws(DatabaseError) -> Int {
    var query = query
    query.sort = []
    query.limit = nil
    query.predicate = query.predicate && Query.Field(key).whole.isAbsent
    // CloudKit does not ask that, and its caller has not.
    return try count(query, stop, checksDialect: false)
  }

  private func sorted(_ counts: [Record.Value: Int]) -> [Query.ValueCount] {
    counts.map { Query.ValueCount(value: $0.key, count: $0.value) }.sorted { ValueOrder.compare($0.value, $1.value) < 0 }
  }

  /// The values with the number of records that have each, in the order of sorts.
  func distinctValues(
    of key: String, for query: Query, _ stop: QueryStop?
  ) throws(DatabaseError) -> [Query.ValueCount] {
    try query.check()
    let field = Query.Field(key).whole
    var query = query
    query.sort = []
    query.limit = nil
    let plan = try prepare(query, alsoAsking: field, stop)
    try field.check()
    if field.system == nil, let type = query.recordType { try requireQueryable(field.name, ofType: type) }
    var counts: [Record.Value: Int] = [:]
    if plan.filter.acceptsNone { return [] }
    if try !countByIndex(field, plan, &counts, stop) { try countByScan(field, plan, &counts, stop) }
    return sorted(counts)
  }

  /// - Parameter seen: what a value counts as.
  private func countByScan(
    _ field: Query.Field, _ plan: QueryPreparation, _ counts: inout [Record.Value: Int], _ stop: QueryStop?,
    seen: (Record.Value) -> Record.Value = { $0 }
  ) throws(DatabaseError) {
    let kinds = field.system == nil ? try self.kinds(of: field.name, in: plan.query) : nil
    counts = [:]
    var scan = QueryScan(self, plan, stop: stop)
    while let found = try scan.next() {
      let value = PredicateMeaning.value(of: field, in: Record(body: found.body, desiredKeys: [field.name]))
      scan.drop(found)
      guard let value, !value.kind.isAsset else { continue }
      func counted(_ value: Record.Value) -> Record.Value { IndexKey.canonical(seen(value), kinds ?? KindBits(rawValue: 0)) }
      if let elements = value.elements {
        for element in Set(elements.map(counted)) { counts[element, default: 0] += 1 }
      } else {
        counts[counted(value), default: 0] += 1
      }
    }
  }

  /// Counts by an index that knows all values, where the query leaves nothing to test. Returns whether there is one.
  private func countByIndex(
    _ field: Query.Field, _ plan: QueryPreparation, _ counts: inout [Record.Value: Int], _ stop: QueryStop?
  ) throws(DatabaseError) -> Bool {
    guard
      let planner = plan.planners.first(where: { $0.definition.kind == .value && $0.isOf(field) }),
      let ranges = plan.filter.acceptsAll
        ? [planner.something]
        : planner.exactRanges(
          for: plan.query.predicate, atMost: plan.filter.hasManyConstants ? Int(clamping: try descentLimit(plan)) : .max)
    else { return false }
    let zones = plan.trees
    if UInt64(ranges.count) > (try descentLimit(plan)) / UInt64(max(1, zones.count)) { return false }
    var steps = 0
    for trees in zones {
      var values = IndexValues(reader, trees.indexes, kinds: planner.kinds)
      for range in ranges {
        try values.forEach(in: range, orThrow: { failure($0) }) { (value, count) throws(DatabaseError) in
          counts[value, default: 0] += Int(clamping: count)
          steps += 1
          if steps % 256 == 0 { try checkStop(stop) }
        }
        if values.isLost { return false }
      }
    }
    return true
  }

  /// How many records pass, where an index says so without reading one, and sooner than the records would; nil where none does.
  func countByIndex(_ plan: QueryPreparation, _ stop: QueryStop?) throws(DatabaseError) -> Int? {
    let most = plan.filter.hasManyConstants ? Int(clamping: try descentLimit(plan)) : .max
    for planner in plan.planners {
      guard let ranges = planner.exactRanges(for: plan.query.predicate, atMost: most) else { continue }
      guard let count = try count(of: ranges, plan.trees, descents: try descentLimit(plan), stop) else { continue }
      return Int(clamping: count)
    }
    return nil
  }

  private func descentLimit(_ plan: QueryPreparation) throws(DatabaseError) -> UInt64 {
    guard let type = plan.query.recordType, !database.options.prefersIndexes else { return .max }
    var total: UInt64 = 0
    for zone in plan.trees { total += try count(ofType: type, in: zone) }
    return IndexChoice.descentLimit(recordCount: total, zoneCount: plan.trees.count)
  }
}
