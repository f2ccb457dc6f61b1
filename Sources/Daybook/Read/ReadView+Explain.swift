import DaybookEngine

/// What a query would read, told without reading a record.
extension ReadView {
  /// How the query would be answered.
  func explain(_ query: Query) throws(DatabaseError) -> Query.Plan {
    let preparation = try prepare(query)
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
    if let named = plan.named, !plan.filter.acceptsNone {
      return Query.Plan(
        access: .index, index: Query.Field.recordName.name, recordType: query.recordType, zones: plan.zones,
        recordCount: named.reduce(0) { $0 + $1.count }, filter: query.predicate,
        ordering: query.sort.isEmpty ? .asRead : isBounded ? .top : .sort, sort: query.sort, limit: query.limit)
    }
    if let choice = plan.choice {
      return Query.Plan(
        access: .index, index: choice.keys.joined(separator: ", "), indexKind: choice.definition.kind,
        recordType: query.recordType, zones: plan.zones,
        recordCount: Int(clamping: choice.count), filter: plan.filter.acceptsAll ? nil : query.predicate,
        ordering: choice.use == .order ? .index : query.sort.isEmpty ? .asRead : isBounded ? .top : .sort, sort: query.sort,
        limit: query.limit)
    }
    return Query.Plan(
      access: plan.filter.acceptsNone ? .none : .scan, recordType: query.recordType, zones: plan.zones,
      recordCount: plan.filter.acceptsNone ? 0 : Int(clamping: count),
      filter: plan.filter.acceptsAll || plan.filter.acceptsNone ? nil : query.predicate,
      ordering: query.sort.isEmpty ? .asRead : isBounded ? .top : .sort, sort: query.sort, limit: query.limit)
  }
}
