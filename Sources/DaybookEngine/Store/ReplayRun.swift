/// Operations that replay has gathered, to apply them in the order of their keys instead of the order of the log.
///
///     position in the log   0  1  2  3  4  5  …      gathered; keys are copied, bodies stay in the log
///     position by key       4  0  2  5  1  3  …      by group, then by key, then as they stand in the log
///
/// In the order of keys, each leaf of a tree is touched once, not once for each operation, and ascending inserts find their
/// page in the processor's cache. The applier decides what may be gathered, what a group is (a zone), and what several
/// operations of one key amount to. What it cannot gather, it applies at once, before or after the run.
///
/// Always true: operations of one key are in the order of the log. `byteCount` bounds the memory: an applier ends the run when
/// it reaches `StoreTransaction.replayByteCount`. Belongs to the holder of the turn.
@safe package final class ReplayRun: @unchecked Sendable {
  /// One gathered operation.
  package struct Gathered {
    package let offset: UInt64
    package let sequence: UInt64
    package let byteCount: UInt32
    package let ordinal: UInt32
    let keyOffset: UInt32
    let keyByteCount: UInt16
    /// The length of the bytes behind the key, which do not count for the order.
    let restByteCount: UInt8
    package let kind: UInt8
    /// Operations of one group are sorted and applied together; groups are numbered from zero.
    package let group: UInt32
    /// A number for the applier's own use.
    package let mark: Int32

    package var place: Place { Place(offset: offset, byteCount: byteCount) }
  }

  /// The memory of an operation besides its key, including what sorting needs.
  static let byteCountPerOperation = MemoryLayout<Gathered>.stride + 3 * MemoryLayout<UInt64>.stride
  /// A key's offset has 32 bits, and one more operation may come when the limit is nearly reached.
  package static let maximumByteCount = 1 << 30

  @safe @exclusivity(unchecked) private var gathered: [Gathered] = []
  private let keys = ByteBuffer(capacity: 64)
  /// The operations by key: the position in the log in the low half, what was last compared in the high half.
  @safe @exclusivity(unchecked) private var order: [UInt64] = []
  /// The operations by group, in the order of the log within each; empty when there is only one group.
  @safe @exclusivity(unchecked) private var groupOrder: [UInt32] = []
  /// Where each group begins in both lists, and where the last one ends.
  @safe @exclusivity(unchecked) private var starts: [Int] = []
  @safe @exclusivity(unchecked) private var charged = 0
  /// The ranks below this have been loaded ahead.
  @safe @exclusivity(unchecked) private var askedThrough = 0
  @safe @exclusivity(unchecked) private var asked: UInt8 = 0
  private static let askedAheadCount = 64
  /// How many runs have been sorted; for tests of the bound.
  @safe @exclusivity(unchecked) package private(set) var sortCount = 0

  package init() {}

  package var count: Int { gathered.count }
  /// How many operations have memory already.
  var capacity: Int { gathered.capacity }

  /// About how much memory the run takes.
  package var byteCount: Int { gathered.count * ReplayRun.byteCountPerOperation + keys.count + charged }

  /// Counts memory that the applier uses for this run.
  package func charge(byteCount: Int) { charged += byteCount }

  /// - Parameter noting: memory that the applier needs for this operation.
  package func append(
    kind: UInt8, key: ByteView, rest: ByteView, group: UInt32 = 0, mark: Int32 = -1, place: Place, sequence: UInt64,
    ordinal: UInt32, noting byteCount: Int = 0
  ) {
    charged += byteCount
    precondition(key.count <= Int(UInt16.max) && rest.count <= Int(UInt8.max), "keys are limited before they are gathered")
    gathered.append(
      Gathered(
        offset: place.offset, sequence: sequence, byteCount: place.byteCount, ordinal: ordinal,
        keyOffset: UInt32(keys.count), keyByteCount: UInt16(key.count), restByteCount: UInt8(rest.count), kind: kind,
        group: group, mark: mark))
    keys.append(key)
    keys.append(rest)
  }

  /// Removes everything and releases most of the memory.
  package func removeAll(keepingCapacity: Bool = false) {
    if gathered.capacity == 0 { return }
    gathered.removeAll(keepingCapacity: keepingCapacity)
    order.removeAll(keepingCapacity: keepingCapacity)
    groupOrder.removeAll(keepingCapacity: keepingCapacity)
    starts.removeAll()
    keys.removeAll(keeping: keepingCapacity ? keys.capacity : 64)
    charged = 0
  }

  // MARK: in the order of the log

  /// The operation at a position in the log's order.
  package func operation(_ position: Int) -> Gathered { gathered[position] }

  /// Its key; valid until the next `append`.
  package func key(_ position: Int) -> ByteView {
    let operation = gathered[position]
    return keys.view.slice(Int(operation.keyOffset)..<Int(operation.keyOffset) + Int(operation.keyByteCount))
  }

  /// The bytes behind its key.
  package func rest(_ position: Int) -> ByteView {
    let operation = gathered[position]
    let start = Int(operation.keyOffset) + Int(operation.keyByteCount)
    return keys.view.slice(start..<start + Int(operation.restByteCount))
  }

  // MARK: in the order of keys

  /// Sorts what has been gathered. `groupCount` is one more than the highest group.
  package func sort(groupCount: Int = 1) {
    sortCount += 1
    starts = [0, gathered.count]
    if groupCount > 1 {
      separateGroups(groupCount)
      order = groupOrder.map { UInt64($0) }
    } else {
      order = (0..<UInt64(gathered.count)).map { $0 }
    }
    var spare = [UInt64](repeating: 0, count: gathered.count)
    for group in 0..<groupCount {
      KeySorter.sort(&order, &spare, starts[group]..<starts[group + 1], gathered, keys.view)
    }
  }

  /// Puts the operations of each group side by side.
  private func separateGroups(_ groupCount: Int) {
    starts = [Int](repeating: 0, count: groupCount + 1)
    for operation in gathered { starts[Int(operation.group) + 1] += 1 }
    for group in 0..<groupCount { starts[group + 1] += starts[group] }
    var next = starts
    groupOrder = [UInt32](repeating: 0, count: gathered.count)
    for (position, operation) in gathered.enumerated() {
      groupOrder[next[Int(operation.group)]] = UInt32(position)
      next[Int(operation.group)] += 1
    }
  }

  /// The ranks of a group's operations, in either order.
  package func ranks(of group: Int = 0) -> Range<Int> { starts[group]..<starts[group + 1] }

  /// The position of the operation at a rank in the order of the log.
  package func position(atLogRank rank: Int) -> Int { groupOrder.isEmpty ? rank : Int(groupOrder[rank]) }

  /// The position of the operation at a rank in the order of keys.
  package func position(atRank rank: Int) -> Int { Int(truncatingIfNeeded: order[rank] & 0xFFFF_FFFF) }

  /// The end of the ranks that have the same key as `rank`. Asked for in ascending order.
  package func endOfKey(atRank rank: Int, in ranks: Range<Int>) -> Int {
    if rank == ranks.lowerBound { askedThrough = rank }
    if rank >= askedThrough { askAhead(ranks) }
    var end = rank + 1
    if end == ranks.upperBound { return end }
    let key = key(position(atRank: rank))
    while end < ranks.upperBound, equalKeys(key, self.key(position(atRank: end))) { end += 1 }
    return end
  }

  /// Loads what the next operations will need, all at once. In the order of keys each lies somewhere else, and loading them one
  /// by one took a third of the time of a replay.
  private func askAhead(_ ranks: Range<Int>) {
    let next = askedThrough
    askedThrough = min(next + ReplayRun.askedAheadCount, ranks.upperBound)
    var sum: UInt8 = 0
    for rank in next..<askedThrough {
      let operation = gathered[position(atRank: rank)]
      // Its first and its last bytes: it may lie on two cache lines.
      sum &+= UInt8(truncatingIfNeeded: operation.offset) &+ UInt8(truncatingIfNeeded: operation.mark)
      if operation.keyByteCount > 0 { sum &+= keys.view[Int(operation.keyOffset)] }
    }
    // Kept, because the compiler would remove loads whose results are not used.
    asked = sum
  }

  @inline(__always)
  private func equalKeys(_ left: ByteView, _ right: ByteView) -> Bool {
    left.count == right.count && compareKeys(left, right) == 0
  }
}
