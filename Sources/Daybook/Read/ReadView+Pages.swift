import DaybookEngine

/// Lists of records and counts, as `RecordReader` offers them.
extension ReadView {
  /// Records of a zone in the order of names, after `name`.
  func page(in id: Zone.ID, after name: String?, limit: Int) throws(DatabaseError) -> [Record] {
    try PageLimit.require(limit, in: id)
    let zone = try existingZone(id)
    let start: [UInt8] = name.map { NameKey.key(of: $0) + [0] } ?? []
    var cursor = reader.cursor(in: zone.byName)
    try start.withView { (view) throws(DatabaseError) in try self.start(&cursor, at: view) }
    let key = ByteBuffer(capacity: 256)
    var bodies = BodyReading(self, count: limit)
    var remaining = logEnd
    let isDefault = id.isDefault
    var records: [Record] = []
    while records.count < limit, try next(&cursor) {
      cursor.key(into: key)
      cursor.touchAhead(isPacked: true)
      guard let place = RecordEntry(cursor.value)?.place else { throw failure(reader.fault(in: zone.byName)) }
      guard UInt64(place.byteCount) <= remaining else { throw failure(.operation(offset: place.offset)) }
      remaining -= UInt64(place.byteCount)
      let body = try bodies.read(place)
      // Entries of a forged file may all lead to one large body: a page of records would take many times the file's size.
      let isListed = body.withBytes { NameKey.matches(key.view, RecordBody.nameBytes(of: $0)) }
      guard isListed, body.isOf(id, isDefault: isDefault) else {
        throw misplaced(place, id, NameKey.name(of: key.view).withView { UTF8Order.string($0, isValid: false) })
      }
      records.append(Record(stored: body))
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
