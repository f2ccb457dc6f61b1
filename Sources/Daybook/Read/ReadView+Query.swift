#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A query that was checked for a version of a database, with everything that is made once for all records.
struct QueryPreparation {
  let query: Query
  let zones: [Zone.ID]
  let filter: BodyFilter

  /// The records are in the order of their last saves.
  var isInOrderOfSaves: Bool { query.sort.isEmpty }
}

/// Queries, answered by looking at every record of the type. ``PredicateMeaning`` and ``ValueOrder`` say what the answer is.
extension ReadView {
  /// - Throws: `invalidArguments` for what the database does not take, `zoneNotFound`.
  func prepare(_ query: Query) throws(DatabaseError) -> QueryPreparation {
    try query.check()
    try database.requireListable(query.recordType)
    if let type = query.recordType {
      try query.predicate.forEachCondition { (condition) throws(DatabaseError) in
        if condition.field.system == nil { try requireQueryable(condition.field.name, ofType: type) }
      }
      for step in query.sort where step.field.system == nil { try requireQueryable(step.field.name, ofType: type) }
    }
    let dialect = database.options.dialect
    if dialect == .cloudKit { try query.requireCloudKit { (key) throws(DatabaseError) in try kinds(of: key, in: query) } }
    let zones: [Zone.ID]
    if let zone = query.zone {
      _ = try existingZone(zone)
      zones = [zone]
    } else {
      zones = dialect == .cloudKit ? [.default] : try self.zones().map(\.id)
    }
    let filter = BodyFilter(query.predicate, dialect: dialect, now: database.options.now())
    return QueryPreparation(query: query, zones: zones, filter: filter)
  }

  /// The kinds that a key has had in records of a query's type.
  private func kinds(of key: String, in query: Query) throws(DatabaseError) -> KindBits? {
    let buffer = ByteBuffer(capacity: 512)
    return try asDatabaseError { () throws(PageFault) in
      try (query.recordType ?? "").withKeyView { (type) throws(PageFault) in
        try key.withKeyView { (key) throws(PageFault) in
          try SchemaTree.kinds(of: key, type: type, reader, root(.schema), buffer)
        }
      }
    }
  }

  /// All records of the result.
  func records(_ query: Query, desiredKeys: [String]?, _ stop: QueryStop?) throws(DatabaseError) -> [Record] {
    let plan = try prepare(query)
    var records: [Record] = []
    if plan.filter.acceptsNone { return records }
    let limit = query.limit ?? .max
    if plan.isInOrderOfSaves {
      var scan = QueryScan(self, plan, stop: stop)
      while records.count < limit, let found = try scan.next() {
        if let desiredKeys {
          records.append(Record(body: found.body, desiredKeys: desiredKeys))
        } else {
          records.append(Record(stored: found.body))
        }
      }
      return records
    }
    var last: SortedPlace?
    while records.count < limit {
      var rows = try firstRows(plan, after: last, limit: limit - records.count, stop)
      let sorted = rows.sorted()
      try append(sorted, plan, desiredKeys, to: &records, stop)
      guard rows.isCut, let row = sorted.last else { break }
      last = SortedPlace(zone: row.zone, isOfZone: true, zoneKey: rows.zoneKey(of: row), name: row.name, sortKey: row.key.bytes)
    }
    return records
  }

  /// A page of the result.
  func page(
    _ query: Query, after cursor: Query.Cursor?, desiredKeys: [String]?, _ stop: QueryStop?
  ) throws(DatabaseError) -> Query.Page {
    let plan = try prepare(query)
    if let cursor { try require(cursor, query) }
    var page = Query.Page(records: [], next: nil)
    if plan.filter.acceptsNone { return page }
    let limit = query.limit ?? changesPerPage
    if plan.isInOrderOfSaves {
      guard let start = start(of: cursor, plan) else { return page }
      var scan = QueryScan(self, plan, from: start, stop: stop)
      while page.records.count < limit, let found = try scan.next() {
        page.records.append(Record(body: found.body, desiredKeys: desiredKeys))
      }
      if page.records.count == limit, let next = try scan.place() {
        page.next = Query.Cursor(
          databaseID: databaseID, query: query, zoneKey: plan.zones[next.zone].key,
          place: .journal(sequence: next.sequence, ordinal: next.ordinal))
      }
      return page
    }
    var rows = try firstRows(plan, after: cursor.flatMap { SortedPlace($0, plan.zones) }, limit: limit, stop)
    let sorted = rows.sorted()
    try append(sorted, plan, desiredKeys, to: &page.records, stop)
    if rows.isCut, let row = sorted.last {
      page.next = Query.Cursor(
        databaseID: databaseID, query: query, zoneKey: rows.zoneKey(of: row),
        place: .record(name: row.name, sortKey: row.key.bytes))
    }
    return page
  }

  /// How many records the result has.
  func count(_ query: Query, _ stop: QueryStop?) throws(DatabaseError) -> Int {
    let plan = try prepare(query)
    let limit = query.limit ?? .max
    if plan.filter.acceptsNone { return 0 }
    if plan.filter.acceptsAll, let type = query.recordType {
      var count: UInt64 = 0
      for zone in plan.zones { count += try self.count(ofType: type, in: try existingZone(zone)) }
      return min(limit, Int(clamping: count))
    }
    var scan = QueryScan(self, plan, stop: stop)
    var count = 0
    while count < limit, let found = try scan.next() {
      count += 1
      scan.drop(found)
    }
    return count
  }

  /// How the query would be answered.
  func explain(_ query: Query) throws(DatabaseError) -> Query.Plan {
    let plan = try prepare(query)
    var count: UInt64 = 0
    for zone in plan.zones {
      let trees = try existingZone(zone)
      if let type = query.recordType { count += try self.count(ofType: type, in: trees) } else { count += trees.byName.count }
    }
    let isBounded = (query.limit ?? .max) <= SortedRows.maximumCount
    return Query.Plan(
      access: plan.filter.acceptsNone ? .none : .scan, recordType: query.recordType, zones: plan.zones,
      recordCount: plan.filter.acceptsNone ? 0 : Int(clamping: count),
      filter: plan.filter.acceptsAll || plan.filter.acceptsNone ? nil : query.predicate,
      ordering: query.sort.isEmpty ? .asRead : isBounded ? .top : .sort, sort: query.sort, limit: query.limit)
  }

  // MARK: order

  /// The first rows of the order, after a place in it.
  private func firstRows(
    _ plan: QueryPreparation, after last: SortedPlace?, limit: Int, _ stop: QueryStop?
  ) throws(DatabaseError) -> SortedRows {
    var rows = SortedRows(SortOrder(plan.query.sort), zones: plan.zones, capacity: limit)
    var scan = QueryScan(self, plan, stop: stop)
    while let found = try scan.next() {
      let comes =
        last.map { last in
          // A zone that is gone was between two others.
          let zone = last.isOfZone || found.zone < last.zone ? last.zone : last.zone - 1
          return rows.compare(found, last.sortKey, zone: zone, zoneKey: last.zoneKey, name: last.name) > 0
        } ?? true
      if comes { rows.offer(found) }
      scan.drop(found)
    }
    return rows
  }

  /// Reads the records of rows, those of a zone together.
  private func append(
    _ rows: [SortedRows.Row], _ plan: QueryPreparation, _ desiredKeys: [String]?, to records: inout [Record],
    _ stop: QueryStop?
  ) throws(DatabaseError) {
    records.reserveCapacity(records.count + rows.count)
    var index = 0
    while index < rows.count {
      try checkStop(stop)
      let zone = rows[index].zone
      var places: [Place] = []
      var byteCount = 0
      while index < rows.count, rows[index].zone == zone, places.count < ReadView.largestBatch,
        byteCount < RecordBodyBatch.usualByteCount
      {
        places.append(rows[index].place)
        byteCount += RecordBodyBatch.room(for: rows[index].place)
        index += 1
      }
      let id = plan.zones[zone]
      let stray = try appendRecords(
        at: places, byteCount: byteCount, of: id, id.isDefault, desiredKeys: desiredKeys, to: &records)
      if let stray { throw misplaced(stray, id) }
    }
  }

  // MARK: cursors

  private func require(_ cursor: Query.Cursor, _ query: Query) throws(DatabaseError) {
    guard cursor.databaseID == databaseID else {
      throw DatabaseError(.invalidArguments, "The cursor is of another database.")
    }
    let isSound: Bool =
      switch cursor.place {
      case .journal: query.sort.isEmpty
      case .record(_, let key): !query.sort.isEmpty && SortKey.isSound(key, stepCount: query.sort.count)
      }
    guard isSound, cursor.queryChecksum == query.checksum else {
      throw DatabaseError(.invalidArguments, "A cursor belongs to the query that it came from.")
    }
  }

  /// Where a scan begins; nil when the cursor's zone was the last one and is gone.
  private func start(of cursor: Query.Cursor?, _ plan: QueryPreparation) -> (zone: Int, sequence: UInt64, ordinal: UInt32)? {
    guard let cursor, case .journal(let sequence, let ordinal) = cursor.place else { return (0, 0, 0) }
    guard let place = SortedPlace.position(of: cursor.zoneKey, in: plan.zones) else { return nil }
    return place.isThere ? (place.index, sequence, ordinal) : (place.index, 0, 0)
  }
}

/// A record of an order, to go on from.
private struct SortedPlace {
  /// The position of its zone; when the zone is gone, of the one that follows.
  let zone: Int
  let isOfZone: Bool
  let zoneKey: [UInt8]
  let name: [UInt8]
  let sortKey: [UInt8]

  init(zone: Int, isOfZone: Bool, zoneKey: [UInt8], name: [UInt8], sortKey: [UInt8]) {
    self.zone = zone
    self.isOfZone = isOfZone
    self.zoneKey = zoneKey
    self.name = name
    self.sortKey = sortKey
  }

  init?(_ cursor: Query.Cursor, _ zones: [Zone.ID]) {
    guard case .record(let name, let sortKey) = cursor.place else { return nil }
    let place = Self.position(of: cursor.zoneKey, in: zones) ?? (zones.count, false)
    self.init(zone: place.index, isOfZone: place.isThere, zoneKey: cursor.zoneKey, name: name, sortKey: sortKey)
  }

  /// The position of a zone among others, or of the first that follows; nil when none does.
  static func position(of key: [UInt8], in zones: [Zone.ID]) -> (index: Int, isThere: Bool)? {
    guard let id = key.withView({ try? Zone.ID(key: $0) }), let index = zones.firstIndex(where: { !($0 < id) }) else {
      return nil
    }
    return (index, zones[index] == id)
  }
}
