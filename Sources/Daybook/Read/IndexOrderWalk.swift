import DaybookEngine

/// A walk over an index in the order of a query: by the value, up or down, records without one last, equal ones by name.
///
///     index   … 3 a   3 b   7 c   7 d   9 e   –  f        a group: the entries of one value
///     down    e, c, d, a, b, f
///
/// Names have another order in keys than in results (`NameKey`), so a group is gathered and sorted, unless all of its names have keys of
/// one form. It gives up where that would be too many, and where the index does not know the order: `isLost`.
struct IndexOrderWalk {
  private enum Direction { case up, down }

  private let reader: TreeReader
  private let root: TreeRoot
  private let isDescending: Bool
  private var segments: [(range: IndexRange, direction: Direction)] = []
  private var segment = 0
  /// Where the next group is looked for; nil before the first of a segment.
  private var bound: [UInt8]?
  private var cursor: Cursor
  private let key = ByteBuffer(capacity: 512)

  // Of the group.
  private var prefix: [UInt8] = []
  private var names: [[UInt8]] = []
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

  /// The key by name of the next record; nil at the end, and where the walk is lost.
  mutating func next() throws(PageFault) -> [UInt8]? {
    while !isLost {
      if index < names.count {
        index += 1
        return names[index - 1]
      }
      if isStreaming {
        if let name = try nameOfGroup() {
          try cursor.next()
          return name
        }
        isStreaming = false
      }
      guard try findGroup() else { return nil }
      try gather()
    }
    return nil
  }

  /// The name that the cursor is on, if it is of the group and after the place to go on from.
  private mutating func nameOfGroup() throws(PageFault) -> [UInt8]? {
    while cursor.isValid {
      cursor.key(into: key)
      let view = key.view
      guard view.count > prefix.count, prefix.withView({ UTF8Order.equal(view.prefix(prefix.count), $0) }),
        view[prefix.count] != IndexKey.afterNames
      else { return nil }
      let name = view.dropFirst(prefix.count)
      if let after, after.prefix == prefix,
        !after.name.lexicographicallyPrecedes(NameKey.name(of: name))
      {
        try cursor.next()
        continue
      }
      return name.array
    }
    return nil
  }

  /// Puts the cursor on the first entry of the next group.
  private mutating func findGroup() throws(PageFault) -> Bool {
    while segment < segments.count {
      let (range, direction) = segments[segment]
      let from = bound ?? (direction == .up ? range.lower : range.upper)
      let isFound = try from.withView { (view) throws(PageFault) in
        direction == .up ? try cursor.seek(view) : try cursor.seek(before: view)
      }
      if isFound {
        cursor.key(into: key)
        let isWithin =
          direction == .up
          ? range.upper.withView { compareKeys(key.view, $0) < 0 } : range.lower.withView { compareKeys(key.view, $0) >= 0 }
        if isWithin {
          guard let end = IndexKey.valueEnd(in: key.view) else { throw reader.fault(in: root) }
          prefix = key.view.prefix(end).array
          bound = direction == .up ? prefix + [IndexKey.afterNames] : prefix
          if direction == .down { _ = try prefix.withView { (view) throws(PageFault) in try cursor.seek(view) } }
          return true
        }
      }
      segment += 1
      bound = nil
    }
    return false
  }

  private mutating func gather() throws(PageFault) {
    names.removeAll(keepingCapacity: true)
    index = 0
    var isMixed = false
    let isInexact = prefix.withView { IndexKey.isInexact($0, valueEnd: $0.count) }
    while let name = try nameOfGroup() {
      if let first = names.first, Self.form(first) != Self.form(name) { isMixed = true }
      names.append(name)
      try cursor.next()
      if isInexact, names.count > 1 { return isLost = true }
      if names.count == Self.gatheredCount, !isMixed, try hasOneForm() { return isStreaming = true }
      if names.count > Self.largestGroup { return isLost = true }
    }
    if isMixed {
      names = names.map { ($0, $0.withView { NameKey.name(of: $0) }) }
        .sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }
  }

  /// Whether the last name of the group has a key as the first has.
  private func hasOneForm() throws(PageFault) -> Bool {
    var last = reader.cursor(in: root)
    let isFound = try (prefix + [IndexKey.afterNames]).withView { (view) throws(PageFault) in try last.seek(before: view) }
    let key = ByteBuffer(capacity: 512)
    guard isFound else { return false }
    last.key(into: key)
    guard key.count > prefix.count else { return false }
    return Self.form(key.view.dropFirst(prefix.count).array) == Self.form(names[0])
  }

  /// UUIDs in capitals, in small letters, other names: each sorts as its names do.
  private static func form(_ nameKey: [UInt8]) -> UInt8 { nameKey.first.map { min($0, 3) } ?? 0 }
}
