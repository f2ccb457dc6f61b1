import DaybookEngine

/// A walk over entries of a zone's change journal in the order of the commits, from a place on: of all types, or of one.
///
///     journal   ∅ t₃ t₉   Film f₁ f₇   Song s₂ s₄ s₅        groups: tombstones, then each type (`ChangeKey`)
///     walk      f₁ s₂ t₃ s₄ s₅ f₇ t₉
///
/// Each group is a range of the tree; the walk merges them. A heap has the groups by their next entries, so a step costs a
/// comparison or two where there are several types, and none where there is one. Up to 64 groups have a cursor of their own.
/// Where there are more, several share one, which searches when it changes hands.
///
/// Always true while `isValid`: the group at the top of the heap has the next entry, and `left` counts it.
struct ChangeWalk {
  private struct Group {
    /// What its keys begin with: type and zero byte.
    let prefix: [UInt8]
    /// Entries that are still to come.
    var left: UInt64
    /// Where the next one is.
    var sequence: UInt64
    var ordinal: UInt32
  }

  private static let maximumCursorCount = 64

  private let reader: TreeReader
  private let root: TreeRoot
  private let key = ByteBuffer(capacity: ChangeKey.maximumByteCount)
  private var groups: [Group] = []
  /// Numbers of groups: a heap, the one with the earliest entry first.
  private var heap: [Int] = []
  private var cursors: [Cursor] = []
  /// The group on whose next entry a cursor stands.
  private var owners: [Int] = []
  /// How many entries come from the place on.
  private(set) var count: UInt64 = 0

  /// - Parameters:
  ///   - type: nil for all, deletions included.
  ///   - sequence: with `ordinal` the place of the first entry that may come.
  init(
    _ reader: TreeReader, _ root: TreeRoot, ofType type: ByteView? = nil, from sequence: UInt64, _ ordinal: UInt32
  ) throws(PageFault) {
    self.reader = reader
    self.root = root
    if root.reference == 0 { return }
    var search = reader.cursor(in: root)
    if let type {
      try add(type, &search, sequence, ordinal)
    } else {
      var isValid = try search.first()
      while isValid {
        search.key(into: key)
        guard let type = ChangeKey.parts(key.view)?.type.array else { throw PageFault(offset: root.reference, reason: .value) }
        try type.withView { (type) throws(PageFault) in
          try add(type, &search, sequence, ordinal)
          setEnd(of: type)
        }
        isValid = try search.seek(key.view)
      }
    }
    for group in (0..<groups.count / 2).reversed() { sink(group) }
    try stand()
  }

  /// The key behind all of a group.
  private func setEnd(of type: ByteView) {
    key.truncate(to: 0)
    key.append(type)
    key.append(1)
  }

  private mutating func add(
    _ type: ByteView, _ search: inout Cursor, _ sequence: UInt64, _ ordinal: UInt32
  ) throws(PageFault) {
    ChangeKey.set(key, type: type, sequence: sequence, ordinal: ordinal)
    guard try search.seek(key.view) else { return }
    let start = key.view.array
    setEnd(of: type)
    let left = try start.withView { (start) throws(PageFault) in
      try reader.count(from: start, to: key.view, in: root)
    }
    if left == 0 { return }
    let place = try place(under: search)
    count += left
    groups.append(
      Group(prefix: Array(start.prefix(type.count + 1)), left: left, sequence: place.sequence, ordinal: place.ordinal))
    heap.append(groups.count - 1)
    if cursors.count < ChangeWalk.maximumCursorCount {
      owners.append(groups.count - 1)
      // The search goes on from here with a cursor of its own.
      cursors.append(search)
      search = reader.cursor(in: root)
    }
  }

  // MARK: the entry that is next

  var isValid: Bool { @inline(__always) get { !heap.isEmpty } }

  /// Whether the entries of one type, or deletions, are all that is left.
  @inline(__always)
  private var isAlone: Bool { heap.count == 1 }

  private var slot: Int { @inline(__always) get { heap[0] & (ChangeWalk.maximumCursorCount &- 1) } }

  /// Where the next entry is in the order of commits.
  func position() throws(PageFault) -> (sequence: UInt64, ordinal: UInt32) { try place(under: cursors[slot]) }

  /// The next entry.
  var entry: ChangeEntry {
    @inline(__always) get throws(PageFault) {
      let slot = slot
      guard cursors[slot].keyByteCount == groups[heap[0]].prefix.count &+ ChangeKey.tailByteCount &- 1,
        let entry = ChangeEntry(cursors[slot].value)
      else { throw PageFault(offset: root.reference, reason: .value) }
      return entry
    }
  }

  /// Loads the bodies of the next entries ahead, as `Cursor.touchAhead` says.
  @inline(__always)
  func touchAhead() { cursors[slot].touchAhead(placeAt: ChangeEntry.placeOffset) }

  mutating func next() throws(PageFault) {
    let group = heap[0]
    groups[group].left -= 1
    if groups[group].left > 0 {
      guard try cursors[slot].next() else { throw PageFault(offset: root.reference, reason: .order) }
      if isAlone { return }
      let place = try place(under: cursors[slot])
      groups[group].sequence = place.sequence
      groups[group].ordinal = place.ordinal
    } else {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
      if heap.isEmpty { return }
    }
    sink(0)
    try stand()
  }

  private func place(under cursor: borrowing Cursor) throws(PageFault) -> (sequence: UInt64, ordinal: UInt32) {
    cursor.key(into: key)
    guard let parts = ChangeKey.parts(key.view) else { throw PageFault(offset: root.reference, reason: .value) }
    return (parts.sequence, parts.ordinal)
  }

  /// Puts the cursor of the first group onto its next entry, if others use it, too.
  private mutating func stand() throws(PageFault) {
    guard isValid else { return }
    let group = heap[0]
    if owners[slot] == group { return }
    owners[slot] = group
    key.truncate(to: 0)
    groups[group].prefix.withView { key.append($0) }
    key.append(uint64: groups[group].sequence.byteSwapped)
    key.append(uint32: groups[group].ordinal.byteSwapped)
    guard try cursors[slot].seek(key.view) else { throw PageFault(offset: root.reference, reason: .order) }
  }

  // MARK: heap

  private func isEarlier(_ left: Int, _ right: Int) -> Bool {
    let (left, right) = (heap[left], heap[right])
    if isMutant("feed-type-by-type") { return left < right }
    return (groups[left].sequence, groups[left].ordinal) < (groups[right].sequence, groups[right].ordinal)
  }

  private mutating func sink(_ position: Int) {
    var parent = position
    while true {
      let left = 2 * parent + 1
      if left >= heap.count { return }
      let child = left + 1 < heap.count && isEarlier(left + 1, left) ? left + 1 : left
      if !isEarlier(child, parent) { return }
      heap.swapAt(parent, child)
      parent = child
    }
  }
}
