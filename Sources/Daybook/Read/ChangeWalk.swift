import DaybookEngine

/// A walk over entries of a zone's change journal in the order of the commits, from a place on: of all types, or of one.
///
///     groups    ∅ t₃ t₉   Film f₁ f₇   Song s₂ s₄ s₅        tombstones, then each type (`ChangeKey`)
///     walk      f₁ s₂ t₃ s₄ s₅ f₇ t₉
///
/// Each group is a range of the tree; the walk merges them. Entries of a group are read some at a time, and a heap has the
/// groups by their next entries, so that a step touches plain numbers only. Up to 64 groups have a cursor of their own. Where
/// there are more, several share one, which searches when it changes hands. A single group is walked without all that.
///
/// Always true: `heap` has each group with entries to come, the one with the earliest first; `items` has these entries.
struct ChangeWalk {
  /// An entry that was read ahead, and where it stands.
  private struct Item {
    let sequence: UInt64
    let ordinal: UInt32
    let entry: ChangeEntry
  }

  private struct Group {
    /// Entries in the tree that have not been read.
    var rest: UInt64
    /// From where on they stand.
    var sequence: UInt64
    var ordinal: UInt32
    /// The items that were read ahead and are still to come.
    var next = 0
    var end = 0
    /// Of its keys, whatever they say.
    let keyByteCount: Int
  }

  private struct Head {
    let sequence: UInt64
    let ordinal: UInt32
    let group: Int

    static func < (left: Head, right: Head) -> Bool {
      if isMutant("feed-type-by-type") { return left.group < right.group }
      return left.sequence != right.sequence ? left.sequence < right.sequence : left.ordinal < right.ordinal
    }
  }

  private static let maximumCursorCount = 64

  private let reader: TreeReader
  private let root: TreeRoot
  private let key = ByteBuffer(capacity: ChangeKey.maximumByteCount)
  /// Of a single group: stands on its next entry.
  private var cursor: Cursor
  private var places: [PackedPlace] = []
  private var groups: [Group] = []
  /// What the keys of each group begin with: type and zero byte.
  private var prefixes: [[UInt8]] = []
  private var heap: [Head] = []
  private var items: [Item] = []
  /// How many items each group has room for.
  private var aheadCount = 0
  private var cursors: [Cursor] = []
  /// The group that each cursor reads.
  private var owners: [Int] = []
  /// How many entries come from the place on.
  private(set) var count: UInt64 = 0
  /// How many are still to come.
  private var left: UInt64 = 0

  /// - Parameters:
  ///   - type: nil for all, deletions included.
  ///   - sequence: with `ordinal` the place of the first entry that may come.
  ///   - limit: how many the caller will take at most, about.
  init(
    _ reader: TreeReader, _ root: TreeRoot, ofType type: ByteView? = nil, from sequence: UInt64, _ ordinal: UInt32,
    limit: Int
  ) throws(PageFault) {
    self.reader = reader
    self.root = root
    cursor = reader.cursor(in: root)
    if root.reference == 0 { return }
    if let type {
      try add(type, sequence, ordinal)
    } else {
      var isValid = try cursor.first()
      while isValid {
        cursor.key(into: key)
        guard let type = ChangeKey.parts(key.view)?.type.array else { throw fault(.value) }
        try type.withView { (type) throws(PageFault) in try add(type, sequence, ordinal) }
        isValid = try (type + [1]).withView { (end) throws(PageFault) in try cursor.seek(end) }
      }
    }
    left = count
    if groups.count == 1 {
      var single = cursor
      try seek(&single, 0)
      cursor = single
    } else if groups.count > 1 {
      try begin(limit)
    }
  }

  private func fault(_ reason: PageFault.Reason) -> PageFault { reader.fault(in: root, reason) }

  private mutating func add(_ type: ByteView, _ sequence: UInt64, _ ordinal: UInt32) throws(PageFault) {
    ChangeKey.set(key, type: type, sequence: sequence, ordinal: ordinal)
    let rest = try (type.array + [1]).withView { (end) throws(PageFault) in
      try reader.count(from: key.view, to: end, in: root)
    }
    if rest == 0 { return }
    count += rest
    groups.append(Group(rest: rest, sequence: sequence, ordinal: ordinal, keyByteCount: key.count))
    prefixes.append(type.array + [0])
  }

  private mutating func begin(_ limit: Int) throws(PageFault) {
    aheadCount = max(1, min(32, limit, 4096 / groups.count))
    let none = Item(sequence: 0, ordinal: 0, entry: ChangeEntry(.none, isDeleted: false))
    items = [Item](repeating: none, count: aheadCount * groups.count)
    heap.reserveCapacity(groups.count)
    for group in groups.indices {
      if cursors.count < ChangeWalk.maximumCursorCount {
        cursors.append(reader.cursor(in: root))
        owners.append(-1)
      }
      try readAhead(group)
      heap.append(head(of: group))
    }
    for position in (0..<heap.count / 2).reversed() { sink(position) }
  }

  // MARK: the entry that is next

  // Mutating, as in `Cursor`: a walk that is copied counts ten references.

  var isValid: Bool { @inline(__always) mutating get { left > 0 } }

  /// Where the next entry is in the order of commits.
  mutating func position() throws(PageFault) -> (sequence: UInt64, ordinal: UInt32) {
    if !heap.isEmpty { return (heap[0].sequence, heap[0].ordinal) }
    cursor.key(into: key)
    guard let parts = ChangeKey.parts(key.view) else { throw fault(.value) }
    return (parts.sequence, parts.ordinal)
  }

  /// The next entry.
  var entry: ChangeEntry {
    @inline(__always) mutating get throws(PageFault) {
      if !heap.isEmpty { return items[groups[heap[0].group].next].entry }
      guard cursor.keyByteCount == groups[0].keyByteCount, let entry = ChangeEntry(cursor.value) else { throw fault(.value) }
      return entry
    }
  }

  /// Loads the bodies of the next entries ahead, as `Cursor.touchAhead` says.
  @inline(__always)
  mutating func touchAhead() { if heap.isEmpty { cursor.touchAhead(isPacked: true) } }

  /// The next entries, as many as can be looked at without moving: at least one where there is one. Their bodies are loaded.
  mutating func look(_ entries: inout [ChangeEntry]) throws(PageFault) {
    entries.removeAll(keepingCapacity: true)
    if left == 0 { return }
    if !heap.isEmpty { return entries.append(try entry) }
    if places.capacity == 0 { places.reserveCapacity(Cursor.lookCount) }
    cursor.look(limit: Int(clamping: left), keyByteCount: groups[0].keyByteCount, places: &places)
    for place in places {
      guard place.ownBits == 0 else { break }
      entries.append(ChangeEntry(place.place, isDeleted: place.isFlagged))
    }
    if entries.isEmpty { throw fault(.value) }
  }

  /// Moves on by some of those that were looked at.
  mutating func skip(_ count: Int) throws(PageFault) {
    if count == 0 { return }
    if !heap.isEmpty { return try next() }
    left &-= UInt64(count)
    if left > 0 { guard try cursor.skip(count) else { throw fault(.order) } }
  }

  @inline(__always)
  mutating func next() throws(PageFault) {
    left &-= 1
    if !heap.isEmpty { return try nextOfMany() }
    if left > 0 { guard try cursor.next() else { throw fault(.order) } }
  }

  private mutating func nextOfMany() throws(PageFault) {
    let group = heap[0].group
    groups[group].next += 1
    if groups[group].next == groups[group].end, groups[group].rest > 0 { try readAhead(group) }
    if groups[group].next < groups[group].end {
      heap[0] = head(of: group)
    } else {
      let last = heap.removeLast()
      if heap.isEmpty { return }
      heap[0] = last
    }
    sink(0)
  }

  // MARK: reading ahead

  private func head(of group: Int) -> Head {
    let item = items[groups[group].next]
    return Head(sequence: item.sequence, ordinal: item.ordinal, group: group)
  }

  /// Moves a cursor to the first entry of a group that has not been read.
  private func seek(_ cursor: inout Cursor, _ group: Int) throws(PageFault) {
    key.truncate(to: 0)
    prefixes[group].withView { key.append($0) }
    key.append(uint64: groups[group].sequence.byteSwapped)
    key.append(uint32: groups[group].ordinal.byteSwapped)
    guard try cursor.seek(key.view) else { throw fault(.order) }
  }

  /// Reads the next entries of a group, which has some.
  private mutating func readAhead(_ group: Int) throws(PageFault) {
    let slot = group & (ChangeWalk.maximumCursorCount - 1)
    var cursor = cursors[slot]
    // Only one may have its path, or that would be copied.
    cursors[slot] = self.cursor
    defer { cursors[slot] = cursor }
    if owners[slot] != group {
      owners[slot] = group
      try seek(&cursor, group)
    }
    var state = groups[group]
    state.next = group * aheadCount
    state.end = state.next
    while state.rest > 0, state.end < state.next + aheadCount {
      cursor.touchAhead(isPacked: true)
      cursor.key(into: key)
      // Of the view: asking the buffer of another module for its count is a check of exclusive access, for each change.
      let bytes = key.view
      guard bytes.count == state.keyByteCount, let parts = ChangeKey.parts(bytes), let entry = ChangeEntry(cursor.value) else {
        throw fault(.value)
      }
      items[state.end] = Item(sequence: parts.sequence, ordinal: parts.ordinal, entry: entry)
      state.end += 1
      state.rest -= 1
      if state.rest > 0 { guard try cursor.next() else { throw fault(.order) } }
    }
    let last = items[state.end - 1]
    state.sequence = last.ordinal == .max ? last.sequence &+ 1 : last.sequence
    state.ordinal = last.ordinal &+ 1
    groups[group] = state
  }

  private mutating func sink(_ position: Int) {
    var parent = position
    let head = heap[parent]
    while true {
      var child = 2 * parent + 1
      if child >= heap.count { break }
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      if !(heap[child] < head) { break }
      heap[parent] = heap[child]
      parent = child
    }
    heap[parent] = head
  }
}
