import DaybookEngine

/// Which records refer to a record.
extension ReadView {
  /// The records that refer to a target, by name, each once; those after `name`.
  func referencing(_ id: Record.ID, after name: String?, limit: Int) throws(DatabaseError) -> [Record] {
    try PageLimit.require(limit, in: id.zone)
    let zone = try existingZone(id.zone)
    var records: [Record] = []
    var remaining = logEnd
    let sources = try sources(of: id.name, kinds: ReferenceKind.all, in: zone, after: name, limit: limit)
    var bodies = BodyReading(self, count: sources.count)
    try forEach(of: sources.map { Record.ID(unchecked: $0, in: id.zone) }) { (source, found) throws(DatabaseError) in
      guard case .at(let place) = found, UInt64(place.byteCount) <= remaining else {
        throw failure(reader.fault(in: zone.references))
      }
      remaining -= UInt64(place.byteCount)
      records.append(Record(stored: try bodies.read(source, at: place)))
    }
    return records
  }

  /// The names of the sources that refer to a target in one of these ways, ascending, each once.
  ///
  /// Each kind is a range of its own in the tree; the ranges are merged.
  func sources(
    of target: String, kinds: ClosedRange<UInt8>, in zone: ZoneTrees, after name: String? = nil, limit: Int
  ) throws(DatabaseError) -> [String] {
    if zone.references.count == 0 || limit <= 0 { return [] }
    let key = ByteBuffer(capacity: 512)
    var names: [String] = []
    let reader = reader
    do throws(PageFault) {
      var ranges: [(cursor: Cursor, kind: UInt8, source: [UInt8])] = []
      for kind in kinds {
        key.truncate(to: 0)
        key.append(utf8: target)
        key.append(0)
        key.append(kind)
        if let name {
          key.append(utf8: name)
          key.append(0)
        }
        var cursor = reader.cursor(in: zone.references)
        guard try cursor.seek(key.view), let source = source(under: &cursor, target, kind, key) else { continue }
        ranges.append((cursor, kind, source))
      }
      while names.count < limit, let first = ranges.map(\.source).min(by: { $0.lexicographicallyPrecedes($1) }) {
        guard let text = first.withView({ UTF8Order.string($0, isValid: false) }) else {
          throw reader.fault(in: zone.references)
        }
        names.append(text)
        for index in ranges.indices.reversed() where ranges[index].source == first {
          if try ranges[index].cursor.next(),
            let next = source(under: &ranges[index].cursor, target, ranges[index].kind, key)
          {
            ranges[index].source = next
          } else {
            ranges.remove(at: index)
          }
        }
      }
    } catch { throw failure(error) }
    return names
  }

  /// The source of the entry under a cursor; nil when it is of another target or kind.
  private func source(under cursor: inout Cursor, _ target: String, _ kind: UInt8, _ key: ByteBuffer) -> [UInt8]? {
    key.truncate(to: 0)
    cursor.key(into: key)
    let count = target.utf8.count
    guard key.count > count + 2, UTF8Order.withView(of: target, { UTF8Order.equal($0, key.view.prefix(count)) }),
      key.view[count] == 0, key.view[count + 1] == kind
    else { return nil }
    return key.view.dropFirst(count + 2).array
  }

  /// Whether any record refers to a target in one of these ways. One search.
  func hasSources(of target: String, kinds: ClosedRange<UInt8>, in zone: ZoneTrees) throws(DatabaseError) -> Bool {
    if zone.references.count == 0 { return false }
    let key = ByteBuffer(capacity: 512)
    let reader = reader
    return try asDatabaseError { () throws(PageFault) in
      key.append(utf8: target)
      key.append(0)
      let prefixCount = key.count
      key.append(kinds.lowerBound)
      var cursor = reader.cursor(in: zone.references)
      guard try cursor.seek(key.view) else { return false }
      let found = ByteBuffer(capacity: 512)
      cursor.key(into: found)
      return found.count > prefixCount + 1 && UTF8Order.equal(found.view.prefix(prefixCount), key.view.prefix(prefixCount))
        && found.view[prefixCount] <= kinds.upperBound
    }
  }

  /// How many sources one target has of one kind.
  /// - Parameter prefix: the target's name, 0, the kind.
  func sourceCount(ofPrefix prefix: [UInt8], in zone: ZoneTrees) throws(DatabaseError) -> Int {
    if zone.references.count == 0 { return 0 }
    var upper = prefix
    upper[upper.count - 1] += 1
    let reader = reader
    return try asDatabaseError { () throws(PageFault) in
      try prefix.withView { (low) throws(PageFault) in
        try upper.withView { (high) throws(PageFault) in
          Int(clamping: try reader.count(from: low, to: high, in: zone.references))
        }
      }
    }
  }

  /// Parents and validated targets that are not there, by target: at most so many, one source for each.
  /// - Complexity: O(references of the zone).
  func referencesWithoutTarget(
    in zone: ZoneTrees, limit: Int
  ) throws(DatabaseError) -> [(source: String, target: String)] {
    var found: [(String, String)] = []
    let reader = reader
    let key = ByteBuffer(capacity: 512)
    var known: [UInt8] = []
    try asDatabaseError { () throws(PageFault) in
      var cursor = reader.cursor(in: zone.references)
      while found.count < limit, try cursor.next() {
        key.truncate(to: 0)
        cursor.key(into: key)
        var end = 0
        while end < key.count, key.view[end] != 0 { end += 1 }
        guard end + 2 < key.count else { throw reader.fault(in: zone.references) }
        let target = key.view.prefix(end)
        // A target is looked up once, however many refer to it.
        if ReferenceKind.needing.contains(key.view[end + 1]), known.withView({ !UTF8Order.equal($0, target) }) {
          known = target.array
          if try NameKey.withView(of: target, { (key) throws(PageFault) in try reader.value(key, in: zone.byName) }) == nil,
            let source = UTF8Order.string(key.view.dropFirst(end + 2), isValid: false),
            let name = UTF8Order.string(target, isValid: false)
          {
            found.append((source, name))
          }
        }
      }
    }
    return found
  }
}
