/// A cursor looks ahead: at several records of its leaf in one call, and it loads what they lead to.
extension Cursor {
  /// Fewer cells are read one after the other.
  private static let fewCells = 32

  /// Appends the keys from here on that are below another one to a list, as many as `limit` allows: from the record under the cursor,
  /// or, of a cursor that `start` has put in front of one, from that. Afterwards it is on the first that was not appended.
  /// - Parameter dropCount: so many bytes each key has more than what is appended of it.
  /// - Returns: whether these are all.
  package mutating func gather(
    below upper: ByteView, limit: Int, dropping dropCount: Int = 0, into keys: KeyList
  ) throws(PageFault) -> Bool {
    if !isValid { guard try enter() else { return true } }
    var room = limit
    while true {
      let end = max(index, leaf.search(upper).index)
      let last = min(end, index &+ room)
      if last &- index > Cursor.fewCells { leaf.touchCells() }
      keys.append(index..<last, of: leaf, dropping: dropCount)
      room &-= last &- index
      index = last
      if last < end { return false }
      if end < leafCellCount { return true }
      guard try advance() else { return true }
    }
  }

  /// The places that the values from here on begin with, of this leaf and no more than a group, and loads what they lead to. The cursor
  /// stays where it is: `skip` moves it. A step for each record would be a call of another module for each thing that is asked
  /// (row: query-filter).
  /// - Parameters:
  ///   - keyByteCount: of each key.
  ///   - places: ends in front of the first record that has another key, or a value that is more or less than a place.
  package mutating func look(limit: Int, keyByteCount: Int, places: inout [PackedPlace]) {
    places.removeAll(keepingCapacity: true)
    guard isValid else { return }
    let suffixByteCount = keyByteCount &- leaf.prefixLength
    for index in index..<min(leafCellCount, index &+ min(limit, Cursor.lookCount)) {
      let value = leaf.value(index)
      guard leaf.suffix(index).count == suffixByteCount, let place = PackedPlace(value), place.byteCount == value.count else {
        break
      }
      places.append(place)
    }
    touch(places)
  }

  /// Loads what places lead to, unless they are in the order of the log.
  private func touch(_ places: [PackedPlace]) {
    guard let first = places.first, let last = places.last, !reader.source.isBuffered else { return }
    if Cursor.isSequential(first.place, last.place) { return }
    for place in places { reader.touch(place.place) }
  }

  /// Moves on by some records of this leaf; false behind the last of the tree.
  @discardableResult
  package mutating func skip(_ count: Int) throws(PageFault) -> Bool {
    precondition(isValid && count <= leafCellCount &- index, "a cursor skips records of its leaf")
    index &+= count
    return index < leafCellCount ? true : try advance()
  }

  /// Loads the log bytes of the next records, several at a time. A walk over bodies that lie in another order in the log then
  /// waits for many cache misses at once, not for one after another. One load at each step does not help, because each holds up
  /// the work behind it (row: kv-scan-arrival-order).
  ///
  /// - Parameter isPacked: how the values begin: with a `PackedPlace`, or with the place as it is.
  @inline(__always)
  package mutating func touchAhead(isPacked: Bool) {
    if index & (Cursor.lookCount &- 1) == 0 { touchGroup(isPacked) }
  }

  /// So many records are looked at together, at most.
  package static let lookCount = 16

  @inline(never)
  private mutating func touchGroup(_ isPacked: Bool) {
    if reader.source.isBuffered || isGroupSequential(isPacked) { return }
    for ahead in 0..<Cursor.lookCount { touch(index &+ ahead, isPacked) }
  }

  /// The place that a value begins with.
  @_transparent
  private func place(in value: ByteView, _ isPacked: Bool) -> Place? {
    if isPacked { return PackedPlace(value)?.place }
    return value.count >= Place.encodedByteCount ? Place(value, at: 0) : nil
  }

  /// Whether the group has the same order in the log: then the processor prefetches by itself, and loads ahead cost more than
  /// they save (row: record-changes-since-1000).
  private mutating func isGroupSequential(_ isPacked: Bool) -> Bool {
    guard let first = place(in: leaf.value(index), isPacked),
      let last = place(in: leaf.value(min(index &+ Cursor.lookCount, leafCellCount) &- 1), isPacked)
    else { return false }
    return Cursor.isSequential(first, last)
  }

  private static func isSequential(_ first: Place, _ last: Place) -> Bool {
    last.offset &- first.offset < UInt64(lookCount * 512)
  }

  @inline(__always)
  private mutating func touch(_ index: Int, _ isPacked: Bool) {
    guard index < leafCellCount, let place = place(in: leaf.value(index), isPacked) else { return }
    reader.touch(place)
  }
}
