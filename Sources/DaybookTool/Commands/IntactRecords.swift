import Daybook
import Foundation

/// What could not be read. Told on standard error, the first places by name.
struct Damage {
  private let errors: Output
  /// Nothing is told: for records that are read twice.
  private let isQuiet: Bool
  private var count = 0
  private static let namedCount = 20

  init(_ errors: Output, isQuiet: Bool = false) {
    self.errors = errors
    self.isQuiet = isQuiet
  }

  var isEmpty: Bool { count == 0 }

  mutating func add(_ what: String, _ error: DatabaseError) throws {
    count += 1
    if count <= Self.namedCount, !isQuiet { try errors.line("daybook: cannot read \(what): \(error.message)") }
  }

  /// Ends the list.
  /// - Parameter done: what became of the other records.
  func tell(_ done: String = "printed") throws {
    if isQuiet { return }
    if count > Self.namedCount { try errors.line("daybook: … and \(count - Self.namedCount) more") }
    if count > 0 {
      try errors.line("  What else is there was \(done). Run `daybook check` for the places of the damage.")
    }
  }
}

/// The way past damage: record by record.
extension Invocation {
  /// Calls `body` with the records of a zone that can be read, those after a name, ordered by name. After a damaged page of the names
  /// they are those that the change journal has.
  func forEachIntactRecord(
    in zone: Zone.ID, after last: String?, _ database: Database, _ snapshot: borrowing Snapshot, _ damage: inout Damage,
    _ body: (Record) throws -> Void
  ) throws {
    var last = last
    var unreadableCount = 0
    do {
      try database.forEachName(in: zone, after: last) { name in
        let record: Record?
        do throws(DatabaseError) { record = try snapshot.record(Record.ID(existing: name, in: zone)) } catch {
          guard error.code == .corrupted else { throw error }
          try damage.add("\(zone)/\(name)", error)
          unreadableCount += 1
          last = name
          return
        }
        if let record { try body(record) }
        last = name
      }
    } catch let error as DatabaseError where error.code == .corrupted {
      try damage.add("the names of zone \(zone) to their end", error)
      let others = try snapshot.journaledRecords(in: zone, after: last)
      for entry in others.entries { try body(snapshot.record(entry)) }
      // Those before the damage were named.
      if others.unreadableCount > unreadableCount {
        try damage.add("\(Wording.count(others.unreadableCount - unreadableCount, "record")) of zone \(zone)", error)
      }
      if let fault = others.fault { try damage.add("the rest of zone \(zone)", fault) }
    }
  }

  /// Calls `body` with what a query finds among the records that can be read, by zone and name, at most `limit` of them.
  /// - Parameter last: the name to begin after, in a query of one zone.
  func forEachIntactMatch(
    _ query: Query, after last: String? = nil, limit: Int, _ database: Database, _ snapshot: borrowing Snapshot,
    _ damage: inout Damage, _ body: (Record) throws -> Void
  ) throws {
    struct Enough: Error {}
    let now = Date()
    var rest = limit
    do {
      for zone in try query.zone.map({ [$0] }) ?? selectedZones(database, snapshot) {
        try forEachRecord(in: zone, after: last, database, snapshot, &damage) { record in
          if let type = query.recordType, !UTF8Order.equal(type, record.type) { return }
          guard query.predicate.matches(record, now: now) else { return }
          try body(record)
          rest -= 1
          if rest == 0 { throw Enough() }
        }
      }
    } catch is Enough {}
  }

  /// Calls `body` with what a query finds among the records that can be read, in its order, at most `limit` of them.
  /// - Parameters:
  ///   - isByName: whether the order is that of names, in one zone.
  ///   - shown: what was printed already; by name the last is enough.
  func forEachIntactMatch(
    _ query: Query, isByName: Bool, after shown: [Record.ID], limit: Int, desiredKeys: [String]?, _ database: Database,
    _ snapshot: borrowing Snapshot, _ damage: inout Damage, _ body: (Record) throws -> Void
  ) throws {
    func shortened(_ record: Record) -> Record { desiredKeys.map { record.keeping(onlyKeys: $0) } ?? record }
    if isByName {
      return try forEachIntactMatch(query, after: shown.last?.name, limit: limit, database, snapshot, &damage) { record in
        try body(shortened(record))
      }
    }
    let known = Set(shown)
    let rest = try intactMatches(sorted: query, database, snapshot, &damage).filter { !known.contains($0) }
    var journals: [Zone.ID: JournaledRecords] = [:]
    for id in rest.prefix(limit) { if let record = try record(id, snapshot, &journals) { try body(shortened(record)) } }
  }

  /// A record that was found before, be it after a damaged page of the names.
  private func record(
    _ id: Record.ID, _ snapshot: borrowing Snapshot, _ journals: inout [Zone.ID: JournaledRecords]
  ) throws(DatabaseError) -> Record? {
    do { return try snapshot.record(id) } catch {
      guard error.code == .corrupted else { throw error }
      let journal = if let known = journals[id.zone] { known } else { try snapshot.journaledRecords(in: id.zone, after: nil) }
      journals[id.zone] = journal
      guard let entry = journal[id.name] else { throw error }
      return try snapshot.record(entry)
    }
  }

  /// What a query finds among the records that can be read, in its order. A database in memory sorts them: it has a row for each, in
  /// a zone of the same name, with what the record is sorted by and its place in the order of zones and names.
  func intactMatches(
    sorted query: Query, _ database: Database, _ snapshot: borrowing Snapshot, _ damage: inout Damage
  ) throws -> [Record.ID] {
    let sorter = try Database.inMemory()
    var found: [Record.ID] = []
    try sorter.write { transaction in
      try forEachIntactMatch(query, limit: .max, database, snapshot, &damage) { record in
        let zone = record.id.zone
        if found.last?.zone != zone, zone != .default { try transaction.save(Zone(zone)) }
        var row = try Record(type: "Row", id: Record.ID(in: zone))
        for (index, step) in query.sort.enumerated() {
          try row.set(record.sortValue(of: step.field), forKey: "step\(index)")
        }
        try row.set(.int(Int64(found.count)), forKey: "place")
        try transaction.save(row)
        found.append(record.id)
      }
    }
    let steps = query.sort.enumerated().map { Query.Sort(Query.Field("step\($0)"), ascending: $1.isAscending) }
    let rows = try sorter.records(Query("Row", sort: steps + [.ascending("place")]), desiredKeys: ["place"])
    return rows.compactMap { row in (row["place"] as Int?).map { found[$0] } }
  }
}

extension Record {
  /// What a query sorts the record by; nil where it comes last.
  fileprivate func sortValue(of field: Query.Field) -> Record.Value? {
    switch field.name {
    case "recordID": return .reference(Record.Reference(id))
    case "recordName": return .string(id.name)
    case "recordType": return .string(type)
    case "creationDate": return metadata.map { .date($0.creationDate) }
    case "modificationDate": return metadata.map { .date($0.modificationDate) }
    case "creatorUserRecordID": return metadata?.creatorUserID.map { .string($0) }
    case "lastModifiedUserRecordID": return metadata?.lastModifiedUserID.map { .string($0) }
    case "modifiedByDevice": return metadata?.modifiedByDevice.map { .string($0) }
    case "recordChangeTag": return changeTag.map { .string($0) }
    case "parent": return parent.map { .reference($0) }
    default:
      let value = self[field.name] as Record.Value?
      return switch value?.kind {
      case .asset, .assets: nil
      default: value
      }
    }
  }
}
