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
}
