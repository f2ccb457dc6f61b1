import DaybookEngine

/// The records of a zone as its change journal has them, without the tree by name: for the tool, where a page of that tree is damaged.
/// Their names are in their bodies, so each is read once to find out where it belongs.
package struct JournaledRecords: Sendable {
  /// Those that can be read, in the order of names.
  package fileprivate(set) var entries: [Entry] = []
  /// Those whose bodies cannot be read: of which nothing is known.
  package fileprivate(set) var unreadableCount = 0
  /// Why the journal itself was not read to its end; nil when it was.
  package fileprivate(set) var fault: DatabaseError?

  package struct Entry: Sendable {
    fileprivate let key: [UInt8]
    fileprivate let place: Place
  }

  /// The one of a name.
  package subscript(name: String) -> Entry? {
    let key = NameKey.key(of: name)
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].key == key ? entries[low] : nil
  }
}

extension Record {
  /// The record with some of its fields only.
  package func keeping(onlyKeys keys: [String]) -> Record { Record(body: body, desiredKeys: keys) }
}

extension RecordReader where Self: ~Copyable {
  /// The records of a zone whose names come after one.
  package func journaledRecords(in zone: Zone.ID, after name: String?) throws(DatabaseError) -> JournaledRecords {
    try reading { (view) throws(DatabaseError) in try view.journaledRecords(in: zone, after: name) }
  }

  /// One of them; of the same version.
  package func record(_ entry: JournaledRecords.Entry) throws(DatabaseError) -> Record {
    try reading { (view) throws(DatabaseError) in Record(stored: try view.body(at: entry.place)) }
  }
}

extension ReadView {
  fileprivate func journaledRecords(in id: Zone.ID, after name: String?) throws(DatabaseError) -> JournaledRecords {
    let zone = try existingZone(id)
    let start = name.map { NameKey.key(of: $0) }
    let isDefault = id.isDefault
    var result = JournaledRecords()
    // Entries of a forged file may all lead to one large body.
    var remaining = logEnd
    do throws(DatabaseError) {
      var walk = try walk(over: zone, from: (0, 0), limit: .max)
      while walk.isValid {
        let entry = try asDatabaseError { () throws(PageFault) in try walk.entry }
        if !entry.isDeleted {
          guard UInt64(entry.place.byteCount) <= remaining else { throw failure(.operation(offset: entry.place.offset)) }
          remaining -= UInt64(entry.place.byteCount)
          if let key = try nameKey(at: entry.place, of: id, isDefault) {
            if start.map({ $0.lexicographicallyPrecedes(key) }) ?? true {
              result.entries.append(.init(key: key, place: entry.place))
            }
          } else {
            result.unreadableCount += 1
          }
        }
        try asDatabaseError { () throws(PageFault) in try walk.next() }
      }
    } catch {
      guard error.code == .corrupted else { throw error }
      result.fault = error
    }
    result.entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
    return result
  }

  /// The key by name of the record at a place; nil where it cannot be read, or is of another zone.
  private func nameKey(at place: Place, of zone: Zone.ID, _ isDefault: Bool) throws(DatabaseError) -> [UInt8]? {
    do throws(DatabaseError) {
      let body = try body(at: place)
      return body.isOf(zone, isDefault: isDefault) ? NameKey.key(of: body.name) : nil
    } catch {
      guard error.code == .corrupted else { throw error }
      return nil
    }
  }
}
