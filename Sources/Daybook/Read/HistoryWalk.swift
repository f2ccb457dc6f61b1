import DaybookEngine

/// A walk from a version of a record to older ones, one operation of the log at a time.
struct HistoryWalk {
  private let view: ReadView
  private let id: Record.ID
  /// The version that comes next; a length of zero at the end.
  private var place: Place
  /// The commit of that version, where it is known: of the newest.
  private var sequence: UInt64?
  private var batch: RecordBodyBatch

  /// - Parameter count: how many versions will be kept.
  init(_ view: ReadView, of id: Record.ID, from place: Place, sequence: UInt64?, count: Int) {
    self.view = view
    self.id = id
    self.place = place
    self.sequence = sequence
    batch = view.batch(count: count)
  }

  /// The next older version; nil when there is none.
  mutating func next() throws(DatabaseError) -> RecordHistoryVersion? {
    guard place.byteCount > 0 else { return nil }
    let version: RecordHistoryVersion
    let previous: Place
    if let body = try view.savedBody(at: place, &batch) {
      guard body.isOf(id) else { throw view.misplaced(place, id.zone, id.name) }
      guard let saved = RecordHistoryVersion(body, sequence: sequence) else {
        throw view.failure(.operation(offset: place.offset))
      }
      version = saved
      previous = body.previousPlace
    } else {
      // Throws when it is none.
      let tombstone = try view.tombstone(at: place)
      guard tombstone.id == id else { throw view.misplaced(place, id.zone, id.name) }
      version = RecordHistoryVersion(tombstone, sequence: sequence)
      previous = Place(offset: tombstone.previousOffset, byteCount: tombstone.previousByteCount)
    }
    // Links lead towards the beginning of the log, and versions do not overlap: a walk reads no more than the file.
    guard previous.byteCount == 0 || previous.ends(before: place) else {
      throw view.failure(.operation(offset: place.offset))
    }
    place = previous
    sequence = nil
    return version
  }
}
