import DaybookEngine

/// Pages of records, counts and types: what `Database`, `Snapshot` and `Transaction` offer alike.
extension ReadView {
  func page(
    in zone: Zone.ID, ofType type: String?, after name: String?, limit: Int
  ) throws(DatabaseError) -> [Record] {
    try PageLimit.require(limit, in: zone)
    var records: [Record] = []
    do {
      try forEachRecord(in: zone, type: type, after: name) { record in
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
}
