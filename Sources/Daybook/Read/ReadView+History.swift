import DaybookEngine

/// Older versions of records: each names the place of the one before it, down to the record's first save or to the last
/// compaction.
extension ReadView {
  /// A walk over the versions of a record that the log still links, newest first.
  /// - Parameter count: how many of them will be kept.
  func historyWalk(of id: Record.ID, count: Int = 1) throws(DatabaseError) -> HistoryWalk {
    let zone = try existingZone(id.zone)
    if let entry = try entry(id.name, in: zone) {
      return HistoryWalk(self, of: id, from: entry.place, sequence: entry.sequence, count: count)
    }
    // A deleted record's history starts at its tombstone, which the change journal knows.
    let scratch = ByteBuffer(capacity: ChangeKey.tailByteCount)
    let deletion = try asDatabaseError { () throws(PageFault) in
      try id.name.withKeyView { (name) throws(PageFault) in
        try NameKey.withView(of: name) { (key) throws(PageFault) in try reader.deletion(ofName: key, in: zone, scratch) }
      }
    }
    return HistoryWalk(self, of: id, from: deletion?.place ?? .none, sequence: deletion?.tombstone.sequence, count: count)
  }

  /// A page of versions.
  /// - Parameter tag: the version after which the page begins; nil begins at the newest.
  func history(of id: Record.ID, before tag: String?, limit: Int) throws(DatabaseError) -> [RecordHistoryVersion] {
    try PageLimit.require(limit, in: id.zone)
    // Those before the page are read, too, and not kept.
    var walk = try historyWalk(of: id, count: tag == nil ? limit : .max)
    if let tag {
      while let version = try walk.next(), version.changeTag != tag {}
    }
    var versions: [RecordHistoryVersion] = []
    while versions.count < limit, let version = try walk.next() { versions.append(version) }
    return versions
  }

  /// The version of a record that had a change tag, if the log still links it; an earlier life's too.
  func ancestor(of body: RecordBody, tag: UInt64) throws(DatabaseError) -> Record? {
    var place = body.previousPlace
    var steps = 0
    while place.byteCount > 0, steps < 10_000 {
      let previous: Place
      if Operation.isOf(.deleteRecord, try operation(at: place)) {
        let tombstone = try tombstone(at: place)
        guard tombstone.id == body.id else { throw misplaced(place, body.zoneID, body.name) }
        previous = Place(offset: tombstone.previousOffset, byteCount: tombstone.previousByteCount)
      } else {
        let older = try self.body(at: place)
        guard older.isOfSameRecord(as: body) else { throw misplaced(place, body.zoneID, body.name) }
        if older.tag == tag { return Record(body: older) }
        previous = older.previousPlace
      }
      guard previous.ends(before: place) else { return nil }
      place = previous
      steps += 1
    }
    return nil
  }
}

extension Place {
  func ends(before other: Place) -> Bool {
    offset < other.offset && UInt64(byteCount) <= other.offset - offset
  }
}

extension RecordBody {
  /// Where the version before this one is; a length of zero when there is none.
  var previousPlace: Place {
    withBytes { Place($0, at: RecordBody.previousOffset) }
  }
}
