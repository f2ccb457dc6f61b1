#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The result of a query, kept up to date from what commits change.
///
/// Of a query with a limit it keeps some rows more, so that one that goes is followed by the next. When those are used up,
/// the query is run again.
///
/// Always true: `rows` are the first of all that pass, in the order of the query; all of them, unless `isCut`.
struct ObservedQuery: Observed {
  private struct Row: Sendable {
    let record: Record
    let zoneKey: [UInt8]
    let place: Place
  }

  /// Where a row belongs.
  private enum Place: Sendable {
    /// By what it is sorted by.
    case key(SortKey)
    /// In the order of saves: a number that goes up.
    case saved(UInt64)
  }

  private let query: Query
  private let desiredKeys: [String]?
  private let dialect: Dialect
  private let hidesUsers: Bool
  private let dependsOnNow: Bool
  private var rows: [Row] = []
  private var isCut = false
  private var hasRead = false
  /// The value has changed since it was last handed out, and has to be read before it is.
  private var isUntold = false
  /// Only without an order: which number each row has.
  private var saves: [Record.ID: UInt64] = [:]
  private var nextSave: UInt64 = 0

  init(_ query: Query, desiredKeys: [String]?, in database: Database) {
    self.query = query
    self.desiredKeys = desiredKeys
    dialect = database.options.dialect
    hidesUsers = query.recordType == nil && database.scope != nil
    dependsOnNow = query.predicate.dependsOnNow
  }

  var interest: WatchInterest { query.interest(dialect) }

  func makeTest() -> ObservedTest {
    // What passes changes with the time alone, so a change of one record tells nothing of the others. What no database takes is not
    // made ready: the first read refuses it.
    if dependsOnNow || query.predicate.fault != nil { return .any }
    let filter = BodyFilter(query.predicate, dialect: dialect, now: Date(timeIntervalSinceReferenceDate: 0))
    return .query(
      filter, type: query.recordType, hidesUsers: hidesUsers, ObservationKey(query.predicate, dialect: dialect))
  }

  var value: [Record] { rows.prefix(limit).map(\.record) }

  private var limit: Int { query.limit ?? .max }

  /// How many rows are kept.
  private var capacity: Int {
    guard let limit = query.limit, limit > 0, limit < 1 << 40 else { return limit }
    return limit + max(16, limit / 4)
  }

  mutating func read(_ view: ReadView, _ stop: QueryStop) throws(DatabaseError) -> Bool {
    var wide = query
    if query.limit != nil { wide.limit = capacity }
    let records = try view.records(wide, desiredKeys: nil, stop)
    let old = hasRead ? value : nil
    let order = SortOrder(query.sort)
    rows = []
    rows.reserveCapacity(records.count)
    saves = [:]
    for record in records { rows.append(row(record.body, order)) }
    isCut = records.count >= capacity
    hasRead = true
    defer { isUntold = false }
    return isUntold || old.map { $0 != value } ?? true
  }

  mutating func apply(_ changes: [ObservedChange]) -> Bool? {
    let isNew = isChanged(by: changes)
    // The rows are no longer what was handed out, so the read cannot tell by them.
    if isNew == nil { isUntold = !isMutant("forget-untold-rows") }
    return isNew
  }

  private mutating func isChanged(by changes: [ObservedChange]) -> Bool? {
    let order = SortOrder(query.sort)
    var isNew = false
    for change in changes {
      if change.wasIn {
        if let index = index(of: change.change, order) {
          saves[rows[index].record.id] = nil
          rows.remove(at: index)
          if index < limit { isNew = true }
        } else if !isCut {
          return nil
        }
      }
      guard change.isIn, let body = change.change.new else { continue }
      let row = row(body, order)
      let index = position(of: row, order)
      // What comes after the last row that is known is among those that are not.
      if isCut, index == rows.count {
        saves[row.record.id] = nil
        continue
      }
      rows.insert(row, at: index)
      if index < limit { isNew = true }
      if rows.count > capacity, let last = rows.popLast() {
        saves[last.record.id] = nil
        isCut = true
      }
    }
    return isCut && rows.count < limit ? nil : isNew
  }

  // MARK: rows

  private mutating func row(_ body: RecordBody, _ order: SortOrder) -> Row {
    let record = desiredKeys.map { Record(body: body, desiredKeys: $0) } ?? Record(stored: body)
    let place: Place
    if query.sort.isEmpty {
      place = .saved(nextSave)
      saves[record.id] = nextSave
      nextSave += 1
    } else {
      place = .key(SortKey(body, order))
    }
    return Row(record: record, zoneKey: body.withZoneKey { $0.array }, place: place)
  }

  /// Where the record of a change is, as it was before; nil when it is not among the rows.
  private func index(of change: RecordChange, _ order: SortOrder) -> Int? {
    guard let old = change.old else { return nil }
    let place: Place
    if query.sort.isEmpty {
      guard let save = saves[change.id] else { return nil }
      place = .saved(save)
    } else {
      place = .key(SortKey(old, order))
    }
    let index = position(
      of: Row(record: Record(stored: old), zoneKey: old.withZoneKey { $0.array }, place: place), order)
    return index < rows.count && rows[index].record.id == change.id ? index : nil
  }

  /// The first position whose row does not come before this one.
  private func position(of row: Row, _ order: SortOrder) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(rows[middle], row, order) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func isBefore(_ first: Row, _ second: Row, _ order: SortOrder) -> Bool {
    UTF8Order.withView(of: first.zoneKey) { firstZone in
      UTF8Order.withView(of: second.zoneKey) { secondZone in
        let zones = UTF8Order.compare(firstZone, secondZone)
        switch (first.place, second.place) {
        case (.key(let a), .key(let b)):
          let steps = UTF8Order.withView(of: a.bytes) { a in
            UTF8Order.withView(of: b.bytes) { order.compare(a, firstZone, $0, secondZone) }
          }
          if steps != 0 { return steps < 0 }
          if zones != 0 { return zones < 0 }
          return UTF8Order.compare(first.record.id.name, second.record.id.name) < 0
        case (.saved(let a), .saved(let b)): return zones != 0 ? zones < 0 : a < b
        default: return false
        }
      }
    }
  }
}

/// How many records a query finds, kept up to date from what commits change.
struct ObservedCount: Observed {
  private let query: Query
  private let rows: ObservedQuery
  private let limit: Int
  private var count: Int?

  init(_ query: Query, in database: Database) {
    limit = query.limit ?? .max
    // Counting refuses a limit that is none.
    self.query = limit < 1 ? query : Query(query, limit: nil)
    rows = ObservedQuery(query, desiredKeys: [], in: database)
  }

  var interest: WatchInterest { rows.interest }
  func makeTest() -> ObservedTest { rows.makeTest() }
  var value: Int { min(count ?? 0, limit) }

  mutating func read(_ view: ReadView, _ stop: QueryStop) throws(DatabaseError) -> Bool {
    let old = count.map { _ in value }
    count = try view.count(query, stop)
    return value != old
  }

  mutating func apply(_ changes: [ObservedChange]) -> Bool? {
    let old = value
    for change in changes { count = (count ?? 0) + (change.isIn ? 1 : 0) - (change.wasIn ? 1 : 0) }
    return value != old
  }
}

/// One record, or none.
struct ObservedRecord: Observed {
  let id: Record.ID
  private(set) var value: Record?
  private var hasRead = false

  init(_ id: Record.ID) { self.id = id }

  var interest: WatchInterest { WatchInterest(zones: [id.zone]) }
  func makeTest() -> ObservedTest { .record(id) }

  mutating func read(_ view: ReadView, _ stop: QueryStop) throws(DatabaseError) -> Bool {
    let old = value
    value = try view.record(id)
    defer { hasRead = true }
    return !hasRead || value != old
  }

  mutating func apply(_ changes: [ObservedChange]) -> Bool? {
    guard let last = changes.last?.change else { return false }
    if let body = last.new {
      value = Record(stored: body)
      return true
    }
    guard last.isDeleted else { return nil }
    defer { value = nil }
    return value != nil
  }
}

extension Query {
  init(_ query: Query, limit: Int?) {
    self = query
    self.limit = limit
  }

  /// The commits that can change its result.
  fileprivate func interest(_ dialect: Dialect) -> WatchInterest {
    WatchInterest(
      zones: zone.map { [$0] } ?? (dialect == .cloudKit ? [.default] : nil), types: recordType.map { [$0] },
      wantsEnds: zone != nil)
  }
}

extension Query.Predicate {
  /// Whether the time alone can change what passes.
  fileprivate var dependsOnNow: Bool {
    var depends = false
    forEachCondition { condition in
      switch condition.test {
      case .compare(_, .now), .between(.now, _), .between(_, .now): depends = true
      default: break
      }
    }
    return depends
  }
}
