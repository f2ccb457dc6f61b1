import DaybookEngine

/// Lists of records and counts, as `RecordReader` offers them.
extension ReadView {
  func page(
    in zone: Zone.ID, after name: String?, limit: Int
  ) throws(DatabaseError) -> [Record] {
    try PageLimit.require(limit, in: zone)
    var records: [Record] = []
    do {
      try forEachRecord(in: zone, after: name) { record in
        records.append(record)
        return records.count < limit
      }
    } catch let error as DatabaseError {
      throw error
    } catch {
      preconditionFailure("the visitor above throws nothing")
    }
    return records
  }

  func recordCount(in id: Zone.ID, ofType type: String?) throws(DatabaseError) -> Int {
    let zone = try existingZone(id)
    guard let type else { return Int(clamping: zone.byName.count) }
    return Int(clamping: try count(ofType: type, in: zone))
  }

  func recordTypes(in id: Zone.ID) throws(DatabaseError) -> [(type: String, count: Int)] {
    try types(in: try existingZone(id)).map { ($0.type, Int(clamping: $0.count)) }
  }
  /// Each record with a result: `unknownItem` or `zoneNotFound` where there is none.
  func results(
    for ids: [Record.ID], desiredKeys: [String]?
  ) throws(DatabaseError) -> [Record.ID: Result<Record, DatabaseError>] {
    let limit = database.options.limits.itemsPerRequest
    guard ids.count <= limit else {
      throw DatabaseError(
        .limitExceeded, "A request has too many records; divide it.", facts: .init(size: ids.count, limit: limit))
    }
    var result: [Record.ID: Result<Record, DatabaseError>] = [:]
    for id in ids {
      guard let zone = try zone(id.zone) else {
        result[id] = .failure(try missingZone(id.zone).adding { $0.name = id.name })
        continue
      }
      guard let entry = try entry(id.name, in: zone) else {
        result[id] = .failure(.init(.unknownItem, facts: .init(zone: id.zone, name: id.name)))
        continue
      }
      do throws(DatabaseError) {
        result[id] = .success(Record(body: try body(of: id, at: entry.place), desiredKeys: desiredKeys))
      } catch { result[id] = .failure(error) }
    }
    return result
  }
}
