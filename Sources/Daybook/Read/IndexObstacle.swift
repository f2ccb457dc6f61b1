import DaybookEngine

/// Why a query does without an index, for ``Query/Plan/unused``.
///
/// `IndexPlanner` and `WordPlanner` say which conditions an index serves; here is only looked for what keeps them from it. Nothing of
/// this is done for a query that is run.
extension ReadView {
  /// The indexes of the query's type that are not in its plan, though it names their fields, by key.
  func unusedIndexes(_ plan: QueryPreparation) throws(DatabaseError) -> [Query.Plan.UnusedIndex] {
    guard let type = plan.query.recordType, !plan.filter.acceptsNone else { return [] }
    let used = plan.choice?.definitions ?? []
    let indexes = try facts().indexes
    var result: [Query.Plan.UnusedIndex] = []
    for definition in indexes.all[UTF8Order.withView(of: type, { indexes.range(of: $0) })] {
      guard let kind = definition.kind, !used.contains(definition), let reason = plan.obstacle(to: definition, kind) else {
        continue
      }
      // Of the indexes of a field one may do.
      if reason == .otherKind, used.contains(where: { $0.key == definition.key }) { continue }
      result.append(.init(key: definition.keyName, kind: kind, reason: reason))
    }
    return result
  }
}

/// Whether an index serves conditions.
private enum Verdict: Equatable {
  case served
  case obstacle(Query.Plan.UnusedIndex.Reason)
}

extension QueryPreparation {
  /// Why an index is not used that the choice has left out; nil where the query asks for nothing of its field.
  fileprivate func obstacle(to definition: IndexDefinition, _ kind: IndexKind) -> Query.Plan.UnusedIndex.Reason? {
    let step = query.sort.first { definition.isOf($0.field) }
    let verdict = query.predicate.verdict { condition in self.verdict(condition, definition, kind) }
    if step == nil, verdict == nil { return nil }
    if case .named = access { return .namedRecords }
    if definition.hasGaps { return .incomplete }
    if !definition.isComplete { return .building }
    let planner = planners.first { $0.definition.number == definition.number }
    if verdict == .served || planner?.isOrder(of: query, zoneCount: zones.count) == true {
      return choice == nil ? .lessSelective : .otherIndex
    }
    if case .obstacle(let reason)? = verdict { return reason }
    if kind != .value || step?.place != nil { return .otherKind }
    if query.sort.count > 1 { return .severalSteps }
    if query.limit == nil { return .noLimit }
    return zones.count > 1 ? .severalZones : .unordered
  }

  /// Whether an index serves a condition; nil for one on something else than its field.
  private func verdict(_ condition: Query.Condition, _ definition: IndexDefinition, _ kind: IndexKind) -> Verdict? {
    let isOfAllTexts = kind == .text && condition.field.system == .text
    guard isOfAllTexts || definition.isOf(condition.field) else { return nil }
    switch (kind, condition.test) {
    case (.text, .words):
      let isServed = words?.searches(for: Query.Predicate(condition)).isEmpty == false
      return isServed ? .served : .obstacle(isOfAllTexts ? .otherTexts : .comparison)
    case (.text, _), (.value, .distance), (.value, .words): return .obstacle(.otherKind)
    case (.location, .distance), (.value, _): break
    case (.location, _): return .obstacle(.otherKind)
    }
    guard let planner = planners.first(where: { $0.definition.number == definition.number }) else { return .served }
    if planner.ranges(for: Query.Predicate(condition)) != nil { return .served }
    // With other options the same comparison may be served.
    let exact = Query.Predicate(Query.Condition(condition.field, condition.test))
    let plain = IndexPlanner(definition: definition, kinds: planner.kinds, dialect: .extended, now: planner.now)
    return .obstacle(plain.ranges(for: exact) != nil ? .textOptions : .comparison)
  }
}

extension Query.Predicate {
  /// Whether an index serves a predicate of which it serves some conditions; nil where none asks for its field.
  /// - Parameter judge: the same of one condition.
  fileprivate func verdict(_ judge: (Query.Condition) -> Verdict?) -> Verdict? {
    switch term {
    case .constant(let isTrue): return isTrue ? nil : .served
    case .condition(let condition): return judge(condition)
    case .not(let part): return part.verdict(judge).map { _ in .obstacle(.negation) }
    case .and(let parts):
      let verdicts = parts.compactMap { $0.verdict(judge) }
      return verdicts.first { $0 == .served } ?? verdicts.first
    case .or(let parts):
      let verdicts = parts.map { $0.verdict(judge) }
      let known = verdicts.compactMap { $0 }
      if let obstacle = known.first(where: { $0 != .served }) { return obstacle }
      return known.isEmpty ? nil : known.count == verdicts.count ? .served : .obstacle(.alternative)
    }
  }
}
