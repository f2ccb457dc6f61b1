#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Queries, answered by looking at every record of the type, or at those that an index leaves. ``PredicateMeaning`` and ``ValueOrder`` say what the answer is.
extension ReadView {
  /// - Parameters:
  ///   - field: one more whose indexes will be of use.
  ///   - checksDialect: false where the library asks, of a query that the dialect takes.
  /// - Throws: `invalidArguments` for what the database does not take, `zoneNotFound`, `operationCancelled`.
  func prepare(
    _ query: Query, alsoAsking field: Query.Field? = nil, _ stop: QueryStop? = nil, checksDialect: Bool = true
  ) throws(DatabaseError) -> QueryPreparation {
    let plan = try prepareFilter(query, alsoAsking: field, checksDialect: checksDialect)
    return plan.reading(try access(plan, stop))
  }

  /// Everything but the access, which depends on the zones that are asked.
  func prepareFilter(
    _ query: Query, alsoAsking field: Query.Field? = nil, checksDialect: Bool = true
  ) throws(DatabaseError) -> QueryPreparation {
    try query.check()
    try database.requireListable(query.recordType)
    let asked = try askedFields(of: query, and: field)
    let dialect = database.options.dialect
    if dialect == .cloudKit, checksDialect {
      try query.requireCloudKit { (key) throws(DatabaseError) in try kinds(of: key, in: query) }
    }
    var zones = if let zone = query.zone { [zone] } else { dialect == .cloudKit ? [.default] : try zoneIDs() }
    var trees: [ZoneTrees] = []
    for zone in zones { trees.append(try existingZone(zone)) }
    if zones.count > 1, let type = query.recordType { try leaveEmptyZones(&zones, &trees, type) }
    let now = database.options.now()
    let filter = BodyFilter(query.predicate, dialect: dialect, now: now)
    let (planners, words) = try planners(query, asked, now: now)
    return QueryPreparation(query: query, zones: zones, trees: trees, filter: filter, planners: planners, words: words)
  }

  /// Leaves out zones without records of a type, unless all are: an order is read from an index in one zone only, and each database has
  /// the default zone.
  private func leaveEmptyZones(
    _ zones: inout [Zone.ID], _ trees: inout [ZoneTrees], _ type: String
  ) throws(DatabaseError) {
    var kept: [Int] = []
    for index in trees.indices where try count(ofType: type, in: trees[index]) > 0 { kept.append(index) }
    if kept.isEmpty || kept.count == zones.count { return }
    zones = kept.map { zones[$0] }
    trees = kept.map { trees[$0] }
  }

  /// The keys that a query asks for, of fields and of dates that the database keeps, each once, with the kinds that the fields have had.
  /// - Throws: `invalidArguments` for one that may not be asked for.
  private func askedFields(
    of query: Query, and other: Query.Field?
  ) throws(DatabaseError) -> [(key: String, kinds: KindBits?)] {
    guard let type = query.recordType else { return [] }
    var asked: [(key: String, kinds: KindBits?)] = []
    // Only of many: a predicate may name thousands.
    var known: Set<[UInt8]> = []
    func isKnown(_ key: String) -> Bool {
      if asked.count < 32 { return asked.contains { UTF8Order.equal($0.key, key) } }
      if known.isEmpty { known = Set(asked.map { Array($0.key.utf8) }) }
      return !known.insert(Array(key.utf8)).inserted
    }
    func add(_ field: Query.Field) throws(DatabaseError) {
      if !field.isIndexable || isKnown(field.name) { return }
      asked.append((field.name, try requireQueryable(field.name, ofType: type)))
    }
    try query.predicate.forEachCondition { (condition) throws(DatabaseError) in try add(condition.field) }
    for step in query.sort { try add(step.field) }
    if let other, other.isIndexable, !isKnown(other.name) {
      asked.append((other.name, try kinds(of: other.name, in: query)))
    }
    return asked
  }

  /// All zones. Most databases have one, which takes a lookup.
  private func zoneIDs() throws(DatabaseError) -> [Zone.ID] {
    let catalog = try catalog()
    if catalog.count == 0 { return [.default] }
    if catalog.count == 1 {
      let isDefault = try asDatabaseError { () throws(PageFault) in
        try reader.catalogValue(Zone.ID.defaultKey, in: catalog) != nil
      }
      if isDefault { return [.default] }
    }
    return try zones().map(\.id)
  }

  /// The same query, of one zone alone.
  func narrowed(_ plan: QueryPreparation, to zone: Zone.ID, _ stop: QueryStop?) throws(DatabaseError) -> QueryPreparation {
    var plan = plan
    plan.query.zone = zone
    plan.zones = [zone]
    plan.trees = [try existingZone(zone)]
    plan.access = try access(plan, stop)
    return plan
  }

  private func access(_ plan: QueryPreparation, _ stop: QueryStop?) throws(DatabaseError) -> QueryPreparation.Access {
    if plan.filter.acceptsNone { return .none }
    // To make the filter of many constants ready takes as long as looking at many records.
    if plan.filter.hasManyConstants { try checkStop(stop) }
    if let names = try namedRecords(plan, stop) { return .named(names) }
    return try indexAccess(plan, stop)
  }

  /// The kinds that a key has had in records of a query's type.
  func kinds(of key: String, in query: Query) throws(DatabaseError) -> KindBits? {
    let buffer = ByteBuffer(capacity: 64)
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
    try records(try prepare(query, stop), desiredKeys: desiredKeys, stop)
  }

  func records(_ plan: QueryPreparation, desiredKeys: [String]?, _ stop: QueryStop?) throws(DatabaseError) -> [Record] {
    var records: [Record] = []
    let limit = plan.query.limit ?? .max
    records.reserveCapacity(min(limit, LookupGroup.largestCount))
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
    if let found = try orderedRecords(plan, after: nil, limit: limit, isCutAsked: false, desiredKeys: desiredKeys, stop) {
      return found.records
    }
    var last: SortedPosition?
    while records.count < limit {
      var rows = try firstRows(plan, after: last, limit: limit - records.count, stop)
      let sorted = rows.sorted()
      try append(sorted, plan, desiredKeys, to: &records, stop)
      guard rows.isCut, let row = sorted.last else { break }
      last = SortedPosition(
        zone: row.zone, isOfZone: true, zoneKey: rows.zoneKey(of: row), name: row.name, sortKey: row.key.bytes)
    }
    return records
  }

  /// A page of the result.
  func page(
    _ query: Query, after cursor: Query.Cursor?, desiredKeys: [String]?, _ stop: QueryStop?
  ) throws(DatabaseError) -> Query.Page {
    let plan = try prepare(query, stop)
    var page = Query.Page(records: [], next: nil)
    if let cursor {
      try require(cursor, query)
      if try mustWait(for: cursor) {
        page.next = cursor
        return page
      }
    }
    let limit = query.limit ?? changesPerPage
    if plan.isInOrderOfSaves {
      guard let start = start(of: cursor, plan) else { return page }
      var scan = QueryScan(self, plan, from: start, stop: stop)
      while page.records.count < limit, let found = try scan.next() {
        page.records.append(Record(body: found.body, desiredKeys: desiredKeys))
      }
      if page.records.count == limit, let next = try scan.position() {
        page.next = Query.Cursor(
          databaseID: databaseID, query: query, zoneKey: plan.zones[next.zone].key,
          position: .journal(state: try stateToShow(), sequence: next.sequence, ordinal: next.ordinal))
      }
      return page
    }
    if let found = try orderedRecords(plan, after: cursor, limit: limit, isCutAsked: true, desiredKeys: desiredKeys, stop) {
      page.records = found.records
      if found.isCut, let body = found.last {
        let key = SortKey(body, SortOrder(query.sort))
        page.next = Query.Cursor(
          databaseID: databaseID, query: query, zoneKey: plan.zones[0].key,
          position: .record(name: body.withName { $0.array }, sortKey: key.bytes))
      }
      return page
    }
    var rows = try firstRows(plan, after: cursor.flatMap { SortedPosition($0, plan.zones) }, limit: limit, stop)
    let sorted = rows.sorted()
    try append(sorted, plan, desiredKeys, to: &page.records, stop)
    if rows.isCut, let row = sorted.last {
      page.next = Query.Cursor(
        databaseID: databaseID, query: query, zoneKey: rows.zoneKey(of: row),
        position: .record(name: row.name, sortKey: row.key.bytes))
    }
    return page
  }

  /// How many records the result has. Where an index says so, none is read.
  func count(_ query: Query, _ stop: QueryStop?, checksDialect: Bool = true) throws(DatabaseError) -> Int {
    var plan = try prepare(query, stop, checksDialect: checksDialect)
    if case .order = plan.access {
      // The order shows in no number.
      plan.query.sort = []
      plan.access = try access(plan, stop)
    }
    let limit = query.limit ?? .max
    if plan.filter.acceptsAll, let type = query.recordType {
      var count: UInt64 = 0
      for trees in plan.trees { count += try self.count(ofType: type, in: trees) }
      return min(limit, Int(clamping: count))
    }
    if let count = try countByIndex(plan, stop) { return min(limit, count) }
    var scan = QueryScan(self, plan, stop: stop)
    var count = 0
    while count < limit, let found = try scan.next() {
      count += 1
      scan.drop(found)
    }
    return count
  }

  // MARK: order

  /// The first rows of the order, after a place in it.
  private func firstRows(
    _ plan: QueryPreparation, after last: SortedPosition?, limit: Int, _ stop: QueryStop?
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
      switch cursor.position {
      case .journal: query.sort.isEmpty
      case .record(_, let key): !query.sort.isEmpty && SortKey.isSound(key, stepCount: query.sort.count)
      }
    guard isSound, cursor.queryChecksum == query.checksum else {
      throw DatabaseError(.invalidArguments, "A cursor belongs to the query that it came from.")
    }
  }

  /// Whether a cursor is of a state ahead of what this view shows.
  /// - Throws: `changeTokenForked` when it is in another history.
  private func mustWait(for cursor: Query.Cursor) throws(DatabaseError) -> Bool {
    guard case .journal(let state, _, _) = cursor.position else { return false }
    return try mustWait(forCursorOf: state)
  }

  /// Where a scan begins; nil when the cursor's zone was the last one and is gone.
  private func start(of cursor: Query.Cursor?, _ plan: QueryPreparation) -> (zone: Int, sequence: UInt64, ordinal: UInt32)? {
    guard let cursor, case .journal(_, let sequence, let ordinal) = cursor.position else { return (0, 0, 0) }
    guard let place = SortedPosition.position(of: cursor.zoneKey, in: plan.zones) else { return nil }
    return place.isThere ? (place.index, sequence, ordinal) : (place.index, 0, 0)
  }
}

/// A record of an order, to go on from.
private struct SortedPosition {
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
    guard case .record(let name, let sortKey) = cursor.position else { return nil }
    let place = Self.position(of: cursor.zoneKey, in: zones) ?? (zones.count, false)
    self.init(zone: place.index, isOfZone: place.isThere, zoneKey: cursor.zoneKey, name: name, sortKey: sortKey)
  }

  /// The position of a zone among others, or of the first that follows; nil when none does.
  static func position(of key: [UInt8], in zones: [Zone.ID]) -> (index: Int, isThere: Bool)? {
    key.withView { key in
      for (index, zone) in zones.enumerated() {
        let order = zone.withKey { compareKeys($0, key) }
        if order >= 0 { return (index, order == 0) }
      }
      return nil
    }
  }
}
