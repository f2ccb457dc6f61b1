import DaybookEngine

/// What the change journal says of types: it has the records of each type together, in the order of their last changes.
extension ReadView {
  /// A page of the records of a type, from behind a cursor on.
  func page(
    in id: Zone.ID, ofType type: String, after cursor: RecordCursor?, limit: Int
  ) throws(DatabaseError) -> RecordPage {
    try database.requireListable(type)
    try PageLimit.require(limit, in: id)
    let zone = try existingZone(id)
    var page = RecordPage(records: [], next: nil)
    if type.utf8.isEmpty { return page }
    if let cursor, try mustWait(forCursorOf: cursor.state) {
      page.next = cursor
      return page
    }
    var walk = try walk(over: zone, ofType: type, from: cursor.map { ($0.sequence, $0.ordinal) } ?? (0, 0), limit: limit)
    page.records.reserveCapacity(min(limit, Int(clamping: walk.count), 1024))
    var remaining = logEnd
    let isDefault = id.isDefault
    var places: [Place] = []
    places.reserveCapacity(min(limit, ReadView.largestBatch))
    while walk.isValid {
      let room = limit - page.records.count
      if room == 0 {
        let next = try asDatabaseError { () throws(PageFault) in try walk.position() }
        let skipped: UInt32 = isMutant("skip-between-pages") ? 1 : 0
        page.next = RecordCursor(
          state: try stateToShow(), sequence: next.sequence, ordinal: next.ordinal + skipped)
        break
      }
      var byteCount = 0
      places.removeAll(keepingCapacity: true)
      while walk.isValid, places.count < min(room, ReadView.largestBatch), byteCount < RecordBodyBatch.usualByteCount {
        walk.touchAhead()
        let entry: ChangeEntry
        do throws(PageFault) { entry = try walk.entry } catch { throw failure(error) }
        // Entries of a forged file may all lead to one large body.
        guard !entry.isDeleted, UInt64(entry.place.byteCount) <= remaining else {
          throw failure(.operation(offset: entry.place.offset))
        }
        remaining -= UInt64(entry.place.byteCount)
        places.append(entry.place)
        byteCount += RecordBodyBatch.room(for: entry.place)
        do throws(PageFault) { try walk.next() } catch { throw failure(error) }
      }
      let first = page.records.count
      let stray = try appendRecords(at: places, byteCount: byteCount, of: id, isDefault, desiredKeys: nil, to: &page.records)
      if let stray { throw misplaced(stray, id) }
      for (record, place) in zip(page.records[first...], places) where !record.body.hasType(type) {
        throw misplaced(place, id, record.id.name)
      }
    }
    return page
  }

  /// The types of a zone's records with their counts, by name.
  /// - Complexity: O(types × log records).
  func types(in zone: ZoneTrees) throws(DatabaseError) -> [(type: String, count: UInt64)] {
    var result: [(String, UInt64)] = []
    let key = ByteBuffer(capacity: ChangeKey.maximumByteCount)
    do throws(PageFault) {
      var cursor = reader.cursor(in: zone.changeJournal)
      while try cursor.next() {
        cursor.key(into: key)
        guard let bytes = ChangeKey.parts(key.view)?.type.array,
          let type = bytes.withView({ UTF8Order.string($0, isValid: false) })
        else { throw reader.fault(in: zone.changeJournal) }
        // No type is that of the tombstones.
        if !bytes.isEmpty { result.append((type, try count(ofGroup: bytes, in: zone))) }
        try (bytes + [1]).withView { (end) throws(PageFault) in try cursor.start(at: end) }
      }
    } catch { throw failure(error) }
    return result
  }

  func count(ofType type: String, in zone: ZoneTrees) throws(DatabaseError) -> UInt64 {
    if type.utf8.isEmpty { return 0 }
    return try asDatabaseError { () throws(PageFault) in try count(ofGroup: Array(type.utf8), in: zone) }
  }

  private func count(ofGroup type: [UInt8], in zone: ZoneTrees) throws(PageFault) -> UInt64 {
    try (type + [0]).withView { (low) throws(PageFault) in
      try (type + [1]).withView { (high) throws(PageFault) in
        try reader.count(from: low, to: high, in: zone.changeJournal)
      }
    }
  }
}

extension RecordBody {
  /// Whether it is of a type, in place.
  func hasType(_ type: String) -> Bool {
    withBytes { bytes in UTF8Order.withView(of: type) { UTF8Order.equal(RecordBody.typeBytes(of: bytes), $0) } }
  }
}
