import DaybookEngine

/// What a query would read, told without reading a record.
extension ReadView {
  /// How the query would be answered.
  func explain(_ query: Query, _ stop: QueryStop?) throws(DatabaseError) -> Query.Plan {
    let preparation = try prepare(query, stop)
    var plan = try plan(of: preparation)
    plan.warnings = try warnings(of: query)
    plan.unused = try unusedIndexes(preparation)
    return plan
  }

  private func plan(of plan: QueryPreparation) throws(DatabaseError) -> Query.Plan {
    let query = plan.query
    var count: UInt64 = 0
    for trees in plan.trees {
      if let type = query.recordType { count += try self.count(ofType: type, in: trees) } else { count += trees.byName.count }
    }
    let isBounded = (query.limit ?? .max) <= SortedRows.maximumCount
    var result = Query.Plan(
      access: .scan, recordType: query.recordType, zones: plan.zones, recordCount: Int(clamping: count),
      filter: plan.filter.acceptsAll ? nil : query.predicate,
      ordering: query.sort.isEmpty ? .asRead : isBounded ? .top : .sort, sort: query.sort, limit: query.limit)
    switch plan.access {
    case .scan: break
    case .none: (result.access, result.recordCount, result.filter) = (.none, 0, nil)
    case .named(let names):
      (result.access, result.index) = (.index, Query.Field.recordName.name)
      result.recordCount = names.reduce(0) { $0 + $1.count }
    case .candidates(let choice), .order(let choice):
      (result.access, result.index, result.indexKind) = (.index, choice.keys.joined(separator: ", "), choice.definition.kind)
      result.recordCount = Int(clamping: choice.count)
      if case .order = plan.access { result.ordering = .index }
    }
    return result
  }
}
