import DaybookEngine

/// Several records by their IDs: looked up in groups, so that the processor waits for several at a time.
extension ReadView {
  /// What a lookup finds.
  enum Named {
    case noZone, nothing
    case at(Place)
  }

  func records(_ ids: [Record.ID], desiredKeys: [String]?) throws(DatabaseError) -> [Record.ID: Record] {
    var result: [Record.ID: Record] = [:]
    result.reserveCapacity(ids.count)
    var bodies = BodyReading(self, count: ids.count)
    try forEach(of: ids) { (id, found) throws(DatabaseError) in
      guard case .at(let place) = found else { return }
      result[id] = Record(body: try bodies.read(id, at: place), desiredKeys: desiredKeys)
    }
    return result
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
    result.reserveCapacity(ids.count)
    var bodies = BodyReading(self, count: ids.count)
    try forEach(of: ids) { (id, found) throws(DatabaseError) in
      switch found {
      case .noZone: result[id] = .failure(try missingZone(id.zone).adding { $0.name = id.name })
      case .nothing: result[id] = .failure(.init(.unknownItem, facts: .init(zone: id.zone, name: id.name)))
      case .at(let place):
        do throws(DatabaseError) {
          result[id] = .success(Record(body: try bodies.read(id, at: place), desiredKeys: desiredKeys))
        } catch { result[id] = .failure(error) }
      }
    }
    return result
  }

  /// Looks up records in the order of their IDs, those of one zone that follow one another together.
  func forEach(
    of ids: [Record.ID], _ visit: (Record.ID, Named) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    let reader = reader
    let keys = KeyList(capacity: 512)
    let buffer = ByteBuffer(capacity: 32)
    var group = LookupGroup()
    var places: [Place?] = []
    var first = 0
    while first < ids.count {
      let zoneID = ids[first].zone
      guard let zone = try zone(zoneID) else {
        try visit(ids[first], .noZone)
        first += 1
        continue
      }
      keys.removeAll()
      var last = first
      while last < ids.count, last - first < LookupGroup.largestCount, last == first || ids[last].zone == zoneID {
        ids[last].name.withKeyView { keys.append(NameKey.view(of: $0, in: buffer)) }
        last += 1
      }
      places.removeAll(keepingCapacity: true)
      do throws(PageFault) {
        try group.find(keys, nil, 0..<keys.count, in: zone.byName, reader)
        for index in 0..<keys.count {
          guard let value = try group.value(index, keys[index], reader) else {
            places.append(nil)
            continue
          }
          guard let entry = RecordEntry(value) else { throw reader.fault(in: zone.byName) }
          places.append(entry.place)
          reader.touch(entry.place)
        }
      } catch { throw failure(error) }
      for (index, place) in places.enumerated() { try visit(ids[first + index], place.map { .at($0) } ?? .nothing) }
      first = last
    }
  }
}
