import DaybookTesting
import Foundation

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

/// Indexes come and go, and queries are asked of the database and of a loop over the same records.
extension RecordTrial {
  /// Defines an index, builds a part of one, or drops it.
  func index(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let (type, key, kind) = (pick(types), pick(keys), pick(IndexKind.allCases))
    let context = transaction.context
    switch number(0...5) {
    case 0:
      let isThere = try context.dropIndex(on: key, ofType: type, kinds: [kind])
      try require(
        isThere == (next.indexes.remove([type, key, kind.rawValue]) != nil), "dropping the index of \(type).\(key): \(isThere)")
      if isThere {
        note(.indexDropped)
        next.order += 1
      }
    case 1, 2:
      let isNew = try context.defineIndex(on: key, ofType: type, kind: kind)
      try require(
        isNew == next.indexes.insert([type, key, kind.rawValue]).inserted, "defining the index of \(type).\(key): \(isNew)")
      if isNew {
        next.schema[type, default: [:]].merge([:]) { $1 }
        next.order += 1
      }
    default:
      for index in try context.view.indexes() where !index.isComplete {
        let part = try context.buildIndex(index, limit: number(1...5))
        if part.count > 0 { note(part.isComplete ? .indexBuilt : .indexBuiltInPart) }
        next.order += 1
      }
    }
  }

  /// - Parameters:
  ///   - records: the zone's of a type, in the order of their saves.
  ///   - find: asks the database, and says how.
  func ask(
    in zone: Zone.ID, ofType type: String, among records: [Record],
    _ find: (Query) throws -> (plan: Query.Plan, records: [Record], count: Int)
  ) throws {
    let predicate = condition(records)
    guard predicate.fault == nil else { return }
    var query = Query(type, where: predicate, in: zone)
    if chance(1, in: 2) { query.sort = [Query.Sort(Query.Field(key: pick(keys)), ascending: chance(1, in: 2))] }
    if chance(2, in: 3) { query.limit = number(1...6) }
    var expected = records.filter { predicate.matches($0) }
    if let sort = query.sort.first { expected = Self.sorted(expected, by: sort) }
    let names = expected.prefix(query.limit ?? .max).map(\.id.name)
    let (plan, found, count) = try find(query)
    if plan.access == .index {
      switch plan.indexKind {
      case .location: note(.foundByPlace)
      case .text: note(.foundByWord)
      default: note(plan.ordering == .index ? .orderedByIndex : .foundByIndex)
      }
    }
    try require(found.map(\.id.name) == names, "\(query): \(found.map(\.id.name)), expected \(names); \(plan)")
    try require(count == names.count, "\(query): a count of \(count), expected \(names.count); \(plan)")
  }

  private static func sorted(_ records: [Record], by sort: Query.Sort) -> [Record] {
    records.sorted { first, second in
      func value(_ record: Record) -> Record.Value? {
        record.values[sort.field.name].flatMap { $0.kind.isAsset ? nil : $0 }
      }
      switch (value(first), value(second)) {
      case (nil, nil): break
      case (nil, _): return false
      case (_, nil): return true
      case (let a?, let b?):
        let order = ValueOrder.compare(a, b) * (sort.isAscending ? 1 : -1)
        if order != 0 { return order < 0 }
      }
      return first.id < second.id
    }
  }

  /// About values that some record has, most of the time.
  private func condition(_ records: [Record]) -> Query.Predicate {
    let key = pick(keys)
    let values = records.compactMap { $0.values[key] }.flatMap { $0.elements ?? [$0] }.filter { !$0.kind.isAsset }
    func value() -> Record.Value { values.isEmpty || chance(1, in: 5) ? .int(Int64(number(-5...9))) : pick(values) }
    let field = chance(1, in: 3) ? Query.Field(key: key).any : Query.Field(key: key)
    let test: Query.Condition.Test
    switch number(0...9) {
    case 0, 1: test = .compare(.equal, .value(value()))
    case 2, 3: test = .compare(pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), .value(value()))
    case 4: test = .between(.value(value()), .value(value()))
    case 5: test = .isIn([value(), value()])
    case 6: test = chance(1, in: 2) ? .contains(value()) : .text(.prefix, ByteText(pick(["a", "é", "👩", ""])))
    case 7:
      let words = pick(["a", "sea of é", "the", "DUNE", "dunes dune"])
      if chance(1, in: 2) { return chance(1, in: 2) ? .tokens(words) : .allTokens(words) }
      test = .words(ByteText(words))
    case 8:
      var place = Location(latitude: 0, longitude: 180)
      if case .location(let one) = value() { place = one }
      test = .distance(.lessOrEqual, from: place, kilometres: pick([0, 30, 500, 9000]))
    default: return chance(1, in: 3) ? .true : Query.Field(key: key).isAbsent
    }
    let one = Query.Predicate(Query.Condition(field, test))
    return chance(1, in: 4) ? .all([one, condition(records)]) : chance(1, in: 5) ? !one : one
  }
}
