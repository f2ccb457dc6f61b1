#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// What a query uses of an index.
struct IndexChoice {
  /// The index; of several of words the first.
  let definition: IndexDefinition
  /// Of words: the others.
  var otherDefinitions: ArraySlice<IndexDefinition> = []
  let ranges: [IndexRange]
  /// How many entries the ranges have in the zones of the query.
  let count: UInt64
  /// The names that they have in each zone, where the plan has looked at them; nil where it has only counted.
  var names: [CandidateNames]?
  /// Ranges of other words, in each of which a record that passes has an entry as well.
  var others: [IndexChoice] = []

  /// Every index that is looked at.
  var definitions: [IndexDefinition] { [definition] + otherDefinitions + others.flatMap(\.definitions) }

  /// The keys of all indexes that the ranges are of.
  var keys: [String] { [definition.keyName] + otherDefinitions.map(\.keyName) }

  /// More candidates are not kept at once.
  static let largestCount: UInt64 = 1 << 18
  /// A record that is found by an index costs as much as so many of a scan, about.
  static let lookupCost: UInt64 = 4
  /// So few are looked up whatever else there is: to find out how many records there are would cost about as much (row: query-equal).
  static let fewCandidates: UInt64 = 16
  /// And as much as walking over so many entries, about.
  static let walkedEntryCount: UInt64 = 16
  /// Fewer candidates are not worth another walk, nor are more walks than these.
  static let leastCompared: UInt64 = 16
  static let mostOthers = 3
  /// The names of another word are kept while they are compared.
  static let mostCompared: UInt64 = 1 << 20

  /// So many descents a plan may spend in any case.
  static let leastDescents: UInt64 = 64

  /// How many descents of indexes a plan may spend to save looking at some records: each costs as much as a lookup. With few
  /// records neither cost matters.
  static func descentLimit(recordCount: UInt64, zoneCount: Int) -> UInt64 {
    max(leastDescents, recordCount / lookupCost + UInt64(zoneCount))
  }
}

extension IndexChoice {
  /// Up to this many entries are read instead of counted: counting takes two descents a range, and if they are chosen, they are
  /// walked over anyway (row: query-equal). Words have a higher limit: two lists of words are compared before a record is read.
  fileprivate static let mostNames = 256
  fileprivate static let mostNamesOfWords = 4096

  /// The same, with those of others, rarer ones first, that leave records out for less than reading them would cost.
  fileprivate func compared(with others: ArraySlice<IndexChoice>) -> IndexChoice {
    var result = self
    if count < IndexChoice.leastCompared { return result }
    let most = count.multipliedReportingOverflow(by: IndexChoice.walkedEntryCount).partialValue
    result.others = others.prefix(IndexChoice.mostOthers).filter { $0.count <= min(most, IndexChoice.mostCompared) }
    return result
  }
}

extension ReadView {
  /// The index that serves a query best; a scan where looking at all records is not more work, or finding out would be.
  func indexAccess(_ plan: QueryPreparation, _ stop: QueryStop?) throws(DatabaseError) -> QueryPreparation.Access {
    let query = plan.query
    guard let type = query.recordType, !plan.planners.isEmpty || plan.words != nil else { return .scan }
    var costs = AccessCosts(self, type, plan.trees)
    var best: IndexChoice?
    var order: IndexChoice?
    let most = plan.filter.hasManyConstants ? Int(clamping: try costs.descents()) : .max
    for planner in plan.planners {
      try checkStop(stop)
      let ranges = planner.ranges(for: query.predicate, atMost: most)
      let isOrder = order == nil && planner.isOrder(of: query, zoneCount: plan.zones.count)
      if isOrder {
        // Its entries are walked over in their order, if it is chosen: their names are not gathered.
        let whole = ranges ?? IndexRange.union([planner.something, planner.nothing])
        if let count = try count(of: whole, plan.trees, descents: costs.descents(), stop) {
          order = IndexChoice(definition: planner.definition, ranges: whole, count: count)
          if ranges != nil, try costs.isWorthwhile(count, best) {
            best = IndexChoice(definition: planner.definition, ranges: whole, count: count)
          }
        }
        continue
      }
      guard let ranges else { continue }
      let found = try candidates([planner.definition], ranges, plan.trees, best, IndexChoice.mostNames, &costs, stop)
      if let found { best = found }
    }
    var searches: [IndexChoice] = []
    for search in plan.words?.searches(for: query.predicate) ?? [] {
      if let choice = try candidates(
        search.definitions, search.ranges, plan.trees, nil, IndexChoice.mostNamesOfWords, &costs, stop)
      {
        searches.append(choice)
      }
    }
    searches.sort { $0.count < $1.count }
    if let rarest = searches.first, best.map({ rarest.count < $0.count }) ?? true {
      best = rarest.compared(with: searches.dropFirst())
    }
    let access = best.map { QueryPreparation.Access.candidates($0) } ?? .scan
    guard let order, let limit = query.limit else { return access }
    let others = try costs.others(best)
    // What other conditions leave is not known.
    let isAll = plan.planners.contains { $0.definition.number == order.definition.number && $0.isAll(of: query.predicate) }
    let visited = min(order.count, isAll ? UInt64(clamping: limit) : UInt64(clamping: min(limit, .max / 4)) * 4)
    return visited < others ? .order(order) : access
  }

  /// The entries of some ranges as candidates, with their names if they are few; nil where they are not worthwhile, or finding out
  /// takes more descents than may be.
  private func candidates(
    _ definitions: [IndexDefinition], _ ranges: [IndexRange], _ zones: [ZoneTrees], _ best: IndexChoice?, _ mostNames: Int,
    _ costs: inout AccessCosts, _ stop: QueryStop?
  ) throws(DatabaseError) -> IndexChoice? {
    if best?.count == 0 { return nil }
    let mostNames = min(UInt64(mostNames), best.map { $0.count - 1 } ?? .max)
    var choice: IndexChoice
    if let names = try names(in: ranges, zones, limit: Int(clamping: mostNames), &costs, stop) {
      let count = names.reduce(0) { $0 + UInt64($1.count) }
      guard try costs.isWorthwhile(count, best) else { return nil }
      choice = IndexChoice(definition: definitions[0], ranges: ranges, count: count, names: names)
    } else {
      let limit = try costs.limit(best)
      if limit <= mostNames { return nil }
      guard let count = try count(of: ranges, zones, below: limit, descents: costs.descents(), stop) else { return nil }
      choice = IndexChoice(definition: definitions[0], ranges: ranges, count: count)
    }
    choice.otherDefinitions = definitions.dropFirst()
    return choice
  }

  /// The names in some ranges, for each zone; nil where there are more than `limit`, or finding out takes more descents than may be.
  private func names(
    in ranges: [IndexRange], _ zones: [ZoneTrees], limit: Int, _ costs: inout AccessCosts, _ stop: QueryStop?
  ) throws(DatabaseError) -> [CandidateNames]? {
    let (asked, isTooMany) = UInt64(ranges.count).multipliedReportingOverflow(by: UInt64(zones.count))
    if isTooMany { return nil }
    if asked > IndexChoice.leastDescents, try asked > costs.descents() { return nil }
    var result: [CandidateNames] = []
    var rest = limit
    for zone in zones {
      guard let names = try CandidateNames(in: ranges, zone.indexes, self, limit: rest, stop) else { return nil }
      rest -= names.count
      result.append(names)
    }
    return result
  }

  /// How many entries ranges have; nil where there are as many as `limit`, and where counting them takes more descents than may be.
  func count(
    of ranges: [IndexRange], _ zones: [ZoneTrees], below limit: UInt64 = .max, descents: UInt64, _ stop: QueryStop?
  ) throws(DatabaseError) -> UInt64? {
    let zones = zones.filter { $0.indexes.count > 0 }
    let (asked, isTooMany) = UInt64(ranges.count).multipliedReportingOverflow(by: UInt64(zones.count))
    if isTooMany || asked > descents { return nil }
    var count: UInt64 = 0
    var steps = 0
    for zone in zones {
      for range in ranges {
        count += try asDatabaseError { () throws(PageFault) in try range.count(in: zone.indexes, reader) }
        if count >= limit { return nil }
        steps += 1
        if steps % 256 == 0 { try checkStop(stop) }
      }
    }
    return count < limit ? count : nil
  }

  /// The indexes of a type that are complete and of which a query can make use, and the planner of those of words; nil where there are
  /// none, or no words are asked for.
  /// - Parameter asked: the fields that the query asks for, with the kinds that they have had.
  func planners(
    _ query: Query, _ asked: [(key: String, kinds: KindBits?)], now: Date
  ) throws(DatabaseError) -> (planners: [IndexPlanner], words: WordPlanner?) {
    guard let type = query.recordType else { return ([], nil) }
    var (asksForWords, asksForAll) = (false, false)
    query.predicate.forEachCondition { (condition) throws(Never) in
      guard case .words = condition.test else { return }
      asksForWords = true
      if condition.field.system == .text { asksForAll = true }
    }
    var result: [IndexPlanner] = []
    var ofWords: [IndexDefinition] = []
    let facts = try facts()
    let known = facts.indexes.all
    for index in UTF8Order.withView(of: type, { facts.indexes.range(of: $0) }) {
      guard known[index].isComplete, !known[index].hasGaps, let kind = known[index].kind else { continue }
      if kind == .text {
        if asksForWords { ofWords.append(known[index]) }
        continue
      }
      let key = known[index].key
      let place = asked.firstIndex { field in
        UTF8Order.withView(of: field.key) { name in key.withView { UTF8Order.equal(name, $0) } }
      }
      guard let field = place.map({ asked[$0] }) else { continue }
      result.append(
        IndexPlanner(
          definition: known[index], kinds: field.kinds ?? KindBits(rawValue: 0), dialect: database.options.dialect, now: now))
    }
    if ofWords.isEmpty { return (result, nil) }
    let keys = asksForAll ? try textKeys(ofType: type) : nil
    return (result, WordPlanner(ofWords, textKeys: keys))
  }
}

extension IndexPlanner {
  /// Whether a query may be answered by walking over the index in its order.
  func isOrder(of query: Query, zoneCount: Int) -> Bool {
    guard query.limit != nil, zoneCount == 1, query.sort.count == 1, query.sort[0].place == nil, isOf(query.sort[0].field)
    else { return false }
    return isSortable
  }
}

extension BodyFilter {
  /// More than a plan may look up one by one in any case.
  var hasManyConstants: Bool { constants.count > Int(IndexChoice.leastDescents) }
}
