import DaybookEngine

/// A walk over an index in the order of a query: by the value, up or down, records without one last, equal ones by name.
///
///     index   … 3 a   3 b   7 c   7 d   9 e   –  f        a group: the entries of one value
///     down    e, c, d, a, b, f
///
/// Names have another order in keys than in results (`NameKey`), so a group is gathered and sorted, unless all of its names have keys of
/// one form. It gives up where that would be too many, and where the index does not know the order: `isLost`. Down, a group is gathered
/// from its end, and a long one from its start.
struct IndexOrderWalk {
  private enum Direction { case up, down }

  private let reader: TreeReader
  private let root: TreeRoot
  private let isDescending: Bool
  private var segments: [(range: IndexRange, direction: Direction)] = []
  private var segment = 0
  // Of the segment. Buffers, because an array's references would be counted for each group (row: query-range-50).
  private var isDown = false
  private let lower = ByteBuffer(capacity: 64)
  /// Down, and after a long group: where that begins.
  private let upper = ByteBuffer(capacity: 64)
  private var cursor: Cursor
  /// The cursor is on the entry that follows the group: up, the next one begins there; down, it ends there.
  private var isAfterGroup = false
  private let key = ByteBuffer(capacity: 128)
  /// `key` is the one under the cursor.
  private var hasKey = false

  // Of the group.
  private let prefix = ByteBuffer(capacity: 64)
  private let names = KeyList(capacity: 256)
  /// The order of its names, where they come in another one.
  private var order: [Int]?
  private var index = 0
  /// The rest of the group is in the order of names: it is read as it comes.
  private var isStreaming = false
  /// The place to go on after.
  private let after: (prefix: [UInt8], name: [UInt8])?
  private(set) var isLost = false

  private static let gatheredCount = 64
  private static let largestGroup = 4096

  init(
    _ reader: TreeReader, _ root: TreeRoot, _ choice: IndexChoice, isDescending: Bool,
    after: (prefix: [UInt8], name: [UInt8])?
  ) {
    self.reader = reader
    self.root = root
    self.isDescending = isDescending
    self.after = after
    cursor = reader.cursor(in: root)
    let nothing = IndexRange(ofNothingIn: choice.definition.number)
    let some = IndexRange.intersection(choice.ranges, [IndexRange(ofSomethingIn: choice.definition.number)])
    let none = IndexRange.intersection(choice.ranges, [nothing])
    let ordered = isDescending ? some.reversed() : some
    segments = ordered.map { ($0, isDescending ? .down : .up) } + none.map { ($0, .up) }
    defer { enter() }
    guard let after else { return }
    // What comes before the place is over.
    isLost = after.prefix.withView { IndexKey.isInexact($0, valueEnd: $0.count) }
    let end = after.prefix + [IndexKey.afterNames]
    let isBehindValues = !after.prefix.lexicographicallyPrecedes(nothing.lower)
    segments = segments.compactMap { segment in
      var range = segment.range
      if segment.direction == .down {
        if isBehindValues { return nil }
        if end.lexicographicallyPrecedes(range.upper) { range.upper = end }
      } else if isDescending {
        // The one of records without a value.
        if !isBehindValues { return segment }
        if range.lower.lexicographicallyPrecedes(after.prefix) { range.lower = after.prefix }
      } else if range.lower.lexicographicallyPrecedes(after.prefix) {
        range.lower = after.prefix
      }
      return range.isEmpty ? nil : (range, segment.direction)
    }
  }

  /// Where a query's cursor leads to in an index of a zone; nil where it is of another.
  static func place(of cursor: Query.Cursor, in zone: Zone.ID, _ number: UInt16) -> (prefix: [UInt8], name: [UInt8])? {
    guard case .record(let name, let sortKey) = cursor.position, cursor.zoneKey == zone.key else { return nil }
    let prefix = ByteBuffer(capacity: 64)
    IndexKey.appendNumber(number, to: prefix)
    let isSound = sortKey.withView { bytes in
      var reader = SortKey.Reader(bytes, zoneKey: bytes)
      guard let value = reader.next() else { return false }
      IndexKey.append(value, to: prefix)
      return true
    }
    return isSound ? (prefix.view.array, name) : nil
  }

  /// The key by name of the next record, valid until the next call; nil at the end, and where the walk is lost.
  mutating func next() throws(PageFault) -> ByteView? {
    while !isLost {
      if index < names.count {
        index += 1
        return names[order.map { $0[index - 1] } ?? index - 1]
      }
      if isStreaming {
        if let name = try nextNameOfGroup() {
          names.removeAll()
          names.append(name)
          index = 1
          try step()
          return names[0]
        }
        isStreaming = false
        isAfterGroup = !isDown
      }
      guard try findGroup() else { return nil }
      try gather()
    }
    return nil
  }

  private mutating func step() throws(PageFault) {
    hasKey = false
    try cursor.next()
  }

  /// The key under the cursor.
  private mutating func currentKey() -> ByteView {
    if !hasKey { cursor.key(into: key) }
    hasKey = true
    return key.view
  }

  /// The name that the cursor is on, if it is of the group. Valid until the cursor moves.
  private mutating func nameOfGroup() -> ByteView? {
    guard cursor.isValid else { return nil }
    let view = currentKey()
    let prefix = prefix.view
    guard view.count > prefix.count, UTF8Order.equal(view.prefix(prefix.count), prefix),
      view[prefix.count] != IndexKey.afterNames
    else { return nil }
    return view.dropFirst(prefix.count)
  }

  /// Whether a name of the group comes after the place to go on from.
  private func isLeft(_ name: ByteView) -> Bool {
    guard let after, after.prefix.withView({ UTF8Order.equal($0, prefix.view) }) else { return true }
    return after.name.lexicographicallyPrecedes(NameKey.name(of: name))
  }

  /// The same, of those that are left, from here on upwards.
  private mutating func nextNameOfGroup() throws(PageFault) -> ByteView? {
    while let name = nameOfGroup() {
      if isLeft(name) { return name }
      try step()
    }
    return nil
  }

  /// Begins with a segment.
  private mutating func enter() {
    isAfterGroup = false
    guard segment < segments.count else { return }
    isDown = segments[segment].direction == .down
    lower.truncate(to: 0)
    lower.append(segments[segment].range.lower)
    upper.truncate(to: 0)
    upper.append(segments[segment].range.upper)
  }

  /// Puts the cursor on an entry of the next group: up the first, down the last.
  private mutating func findGroup() throws(PageFault) -> Bool {
    while segment < segments.count {
      if !isAfterGroup {
        hasKey = false
        _ = isDown ? try cursor.seek(before: upper.view) : try cursor.seek(lower.view)
      }
      isAfterGroup = false
      if cursor.isValid, isDown ? compareKeys(currentKey(), lower.view) >= 0 : compareKeys(currentKey(), upper.view) < 0 {
        let view = currentKey()
        guard let end = IndexKey.valueEnd(in: view) else { throw reader.fault(in: root) }
        prefix.truncate(to: 0)
        prefix.append(view.prefix(end))
        return true
      }
      segment += 1
      enter()
    }
    return false
  }

  private mutating func gather() throws(PageFault) {
    names.removeAll()
    order = nil
    index = 0
    if isDown, try gatherFromEnd() { return }
    var isMixed = false
    let isInexact = IndexKey.isInexact(prefix.view, valueEnd: prefix.count)
    while let name = try nextNameOfGroup() {
      if names.count > 0, Self.form(names[0]) != Self.form(name) { isMixed = true }
      names.append(name)
      try step()
      if isInexact, names.count > 1 { return isLost = true }
      if names.count == Self.gatheredCount, !isMixed, try hasOneForm() { return isStreaming = true }
      if names.count > Self.largestGroup { return isLost = true }
    }
    isAfterGroup = !isDown
    if isMixed { sortNames() }
  }

  /// Gathers a group from its end down. False for a long one: then the cursor is on its first entry, and the group is still to be gathered.
  private mutating func gatherFromEnd() throws(PageFault) -> Bool {
    var isMixed = false
    var count = 0
    while let name = nameOfGroup() {
      count += 1
      if count > Self.gatheredCount {
        if isMutant("cut-long-group") { break }
        names.removeAll()
        upper.truncate(to: 0)
        upper.append(prefix.view)
        hasKey = false
        _ = try cursor.seek(prefix.view)
        return false
      }
      if isLeft(name) {
        if names.count > 0, Self.form(names[0]) != Self.form(name) { isMixed = true }
        names.append(name)
      }
      hasKey = false
      try cursor.previous()
    }
    isAfterGroup = true
    if names.count < 2 { return true }
    if IndexKey.isInexact(prefix.view, valueEnd: prefix.count) {
      isLost = true
    } else if isMixed {
      sortNames()
    } else if !isMutant("names-from-the-end") {
      order = Array((0..<names.count).reversed())
    }
    return true
  }

  private mutating func sortNames() {
    let plain = (0..<names.count).map { NameKey.name(of: names[$0]) }
    order = plain.indices.sorted { plain[$0].lexicographicallyPrecedes(plain[$1]) }
  }

  /// Whether the last name of the group has a key as the first has.
  private func hasOneForm() throws(PageFault) -> Bool {
    var last = reader.cursor(in: root)
    let isFound = try (prefix.view.array + [IndexKey.afterNames]).withView { (view) throws(PageFault) in
      try last.seek(before: view)
    }
    let key = ByteBuffer(capacity: 512)
    guard isFound else { return false }
    last.key(into: key)
    guard key.count > prefix.count else { return false }
    return Self.form(key.view.dropFirst(prefix.count)) == Self.form(names[0])
  }

  /// UUIDs in capitals, in small letters, other names: each sorts as its names do.
  private static func form(_ nameKey: ByteView) -> UInt8 { nameKey.count == 0 ? 0 : min(nameKey[0], 3) }
}
