#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// How a query uses an index, if it does.
struct IndexChoice {
  enum Use {
    /// The records that have entries in the ranges are looked at, in the order of their last saves.
    case candidates
    /// The index is walked in the order that is asked for.
    case order
  }

  /// The index; of several of words the first.
  let definition: IndexDefinition
  /// The keys of all indexes that the ranges are of.
  let keys: [String]
  let ranges: [IndexRange]
  let use: Use
  /// How many entries the ranges have in the zones of the query.
  let count: UInt64
  /// Ranges of other words, in each of which a record that passes has an entry as well.
  var others: [[IndexRange]] = []

  /// More candidates are not kept at once.
  static let largestCount: UInt64 = 1 << 18
  /// A record that is found by an index costs as much as so many of a scan, about.
  static let lookupCost: UInt64 = 4
  /// And as much as walking over so many entries, about.
  static let walkedEntryCount: UInt64 = 16
  /// Fewer candidates are not worth another walk, nor are more walks than these.
  static let leastCompared: UInt64 = 16
  static let mostOthers = 3

  /// How many descents of indexes a plan may cost that saves looking at some records: each is as much as a lookup. In a few records
  /// neither counts.
  static func descentLimit(recordCount: UInt64, zoneCount: Int) -> UInt64 {
    max(64, recordCount / lookupCost + UInt64(zoneCount))
  }
}

extension IndexChoice {
  init(_ definitions: [IndexDefinition], _ ranges: [IndexRange], _ use: Use, count: UInt64) {
    self.init(
      definition: definitions[0], keys: definitions.map(\.keyName), ranges: ranges, use: use, count: count)
  }

  /// The same, with those of others, rarer ones first, that leave records out for less than reading them would cost.
  fileprivate func compared(with others: ArraySlice<IndexChoice>) -> IndexChoice {
    var result = self
    if count < IndexChoice.leastCompared { return result }
    let most = count.multipliedReportingOverflow(by: IndexChoice.walkedEntryCount).partialValue
    result.others = others.prefix(IndexChoice.mostOthers).filter { $0.count <= most }.map(\.ranges)
    return result
  }
}

extension ReadView {
  /// The index that serves a query best; nil where looking at all records is not more work, or finding out would be.
  func choice(
    _ query: Query, _ zones: [Zone.ID], _ filter: BodyFilter, _ planners: [IndexPlanner], _ words: WordPlanner?,
    _ stop: QueryStop?
  ) throws(DatabaseError) -> IndexChoice? {
    guard let type = query.recordType, !filter.acceptsNone, !planners.isEmpty || words != nil else { return nil }
    var total: UInt64 = 0
    var trees: [ZoneTrees] = []
    for zone in zones {
      trees.append(try existingZone(zone))
      total += try count(ofType: type, in: trees[trees.count - 1])
    }
    let isPreferred = database.options.prefersIndexes
    let descents = isPreferred ? .max : IndexChoice.descentLimit(recordCount: total, zoneCount: zones.count)
    let most = isPreferred ? .max : min(IndexChoice.largestCount + 1, total / IndexChoice.lookupCost)
    var best: IndexChoice?
    for planner in planners {
      try checkStop(stop)
      guard let ranges = planner.ranges(for: query.predicate) else { continue }
      if let count = try count(of: ranges, trees, below: best?.count ?? most, descents: descents, stop) {
        best = IndexChoice([planner.definition], ranges, .candidates, count: count)
      }
    }
    var searches: [IndexChoice] = []
    for search in words?.searches(for: query.predicate) ?? [] {
      if let count = try count(of: search.ranges, trees, below: most, descents: descents, stop) {
        searches.append(IndexChoice(search.definitions, search.ranges, .candidates, count: count))
      }
    }
    searches.sort { $0.count < $1.count }
    if let rarest = searches.first, best.map({ rarest.count < $0.count }) ?? true {
      best = rarest.compared(with: searches.dropFirst())
    }
    let others = isPreferred ? .max : best?.count ?? total / IndexChoice.lookupCost
    if let order = try orderedChoice(query, planners, trees, instead: others, descents: descents, stop) {
      return order
    }
    return best
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

  /// Walking an index in its order, where that is likely to look at fewer records than something else.
  private func orderedChoice(
    _ query: Query, _ planners: [IndexPlanner], _ zones: [ZoneTrees], instead others: UInt64, descents: UInt64,
    _ stop: QueryStop?
  ) throws(DatabaseError) -> IndexChoice? {
    guard let limit = query.limit, zones.count == 1, query.sort.count == 1, query.sort[0].field.system == nil,
      query.sort[0].place == nil,
      let planner = planners.first(where: {
        $0.isSortable && UTF8Order.equal($0.definition.keyName, query.sort[0].field.name)
      })
    else { return nil }
    let ranges = planner.ranges(for: query.predicate) ?? IndexRange.union([planner.something, planner.nothing])
    guard let count = try count(of: ranges, zones, descents: descents, stop) else { return nil }
    // What other conditions leave is not known.
    let visited = min(
      count, planner.isAll(of: query.predicate) ? UInt64(clamping: limit) : UInt64(clamping: min(limit, .max / 4)) * 4)
    return visited < others ? IndexChoice([planner.definition], ranges, .order, count: count) : nil
  }

  /// The indexes of a type that are complete, and the planner of those of words; nil where there are none, or no words are asked for.
  func planners(_ query: Query, now: Date) throws(DatabaseError) -> (planners: [IndexPlanner], words: WordPlanner?) {
    guard let type = query.recordType else { return ([], nil) }
    var result: [IndexPlanner] = []
    var ofWords: [IndexDefinition] = []
    let known = try facts().indexes
    for index in known.all[known.range(of: Array(type.utf8))] where index.isComplete && !index.hasGaps {
      guard let kind = index.kind else { continue }
      if kind == .text {
        ofWords.append(index)
        continue
      }
      let kinds = try kinds(of: index.keyName, in: query) ?? KindBits(rawValue: 0)
      result.append(IndexPlanner(definition: index, kinds: kinds, dialect: database.options.dialect, now: now))
    }
    var (asksForWords, asksForAll) = (false, false)
    query.predicate.forEachCondition { (condition) throws(Never) in
      guard case .words = condition.test else { return }
      asksForWords = true
      if condition.field.system == .text { asksForAll = true }
    }
    if ofWords.isEmpty || !asksForWords { return (result, nil) }
    let keys = asksForAll ? try textKeys(ofType: type) : nil
    return (result, WordPlanner(ofWords, textKeys: keys))
  }
}
