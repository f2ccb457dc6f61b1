/// Slabs of a megabyte that `DirtyPages` divides into pages and deltas, and how they go back to the system.
///
///     system ── a slab alone (the first few), or blocks of eight ──► taken ──► nothing in use ──► empty ──► taken again
///                                                                                                   │
///                                                          all eight of a block ──► the system ◄────┘
///
/// They come from the system itself, because an allocator would keep what a compaction used. A small store takes a megabyte at
/// a time. A large one takes large pages of the system, because it accesses its memory at random (rows:
/// kv-load-random-unsynced, record-insert).
@safe struct PageSlabs {
  static let byteCount = 1 << 20
  private static let blockByteCount = 8 << 20
  private static let slabsPerBlock = blockByteCount / byteCount
  private static let singleCount = 4

  private var singles = unsafe [UnsafeMutableRawPointer]()
  private var blocks = unsafe [UnsafeMutableRawPointer]()
  /// How many slabs of the newest block have been taken.
  private var cutCount = PageSlabs.slabsPerBlock
  /// Slabs of blocks with nothing in use.
  private var empty = unsafe [UnsafeMutableRawPointer]()

  /// All memory taken from the system, in use or not.
  var reservedByteCount: Int {
    unsafe (singles.count + blocks.count * PageSlabs.slabsPerBlock - (PageSlabs.slabsPerBlock - cutCount)) * PageSlabs.byteCount
  }
  var hasEmpty: Bool { unsafe !empty.isEmpty }

  /// A slab with nothing in use; nil when the system has no more memory.
  mutating func take() -> UnsafeMutableRawPointer? {
    if let slab = unsafe empty.popLast() { return unsafe slab }
    if unsafe singles.count < PageSlabs.singleCount {
      guard let slab = unsafe RawMemory.reserveZeroed(byteCount: PageSlabs.byteCount) else { return nil }
      unsafe singles.append(slab)
      return unsafe slab
    }
    if cutCount == PageSlabs.slabsPerBlock {
      guard let block = unsafe RawMemory.reserveZeroedInLargePages(byteCount: PageSlabs.blockByteCount) else { return nil }
      unsafe blocks.append(block)
      cutCount = 0
    }
    cutCount += 1
    // Safe: slabs of a block lie one behind the other, as many as fit.
    return unsafe blocks[blocks.count - 1] + (cutCount - 1) * PageSlabs.byteCount
  }

  /// Removes from a list of free references all those of slabs with nothing in use, that is, with all `countPerSlab` references
  /// in the list. The list keeps its order. Costs a few nanoseconds a reference.
  mutating func collectEmpty(from free: inout [UInt64], countPerSlab: Int) {
    var counts = SlabCounts(slabCount: reservedByteCount / PageSlabs.byteCount)
    for reference in free { counts.add(PageSlabs.start(of: reference)) }
    // A single slab need not begin at a multiple of its size, so it cannot be recycled.
    for index in unsafe singles.indices {
      let start = unsafe UInt64(UInt(bitPattern: singles[index]))
      counts.remove(PageSlabs.start(of: start))
      counts.remove(PageSlabs.start(of: start + UInt64(PageSlabs.byteCount)))
    }
    let starts = counts.starts(countedTo: countPerSlab)
    if starts.isEmpty { return }
    free.removeAll { counts.count(of: PageSlabs.start(of: $0)) == countPerSlab }
    // Safe: an address inside a slab of a block, rounded down to where the slab begins; sorted, so that the same work takes
    // the same memory.
    for start in starts.sorted() { unsafe empty.append(UnsafeMutableRawPointer(bitPattern: UInt(start))!) }
  }

  /// Detaches the blocks whose slabs are all empty. Nothing refers to them any more; the caller returns them with `release`
  /// when it holds no lock.
  mutating func detachEmptyBlocks() -> [UInt] {
    let emptyStarts = unsafe Set(empty.map { UInt(bitPattern: $0) })
    func isEmpty(_ block: UInt, _ count: Int) -> Bool {
      count > 0 && (0..<count).allSatisfy { emptyStarts.contains(block + UInt($0 * PageSlabs.byteCount)) }
    }
    var detached: [UInt] = []
    for index in unsafe blocks.indices {
      let isNewest = unsafe index == blocks.count - 1
      let block = unsafe UInt(bitPattern: blocks[index])
      if isEmpty(block, isNewest ? cutCount : PageSlabs.slabsPerBlock) {
        detached.append(block)
        if isNewest { cutCount = PageSlabs.slabsPerBlock }
      }
    }
    let gone = Set(detached)
    let parts = Set(detached.flatMap { block in (0..<PageSlabs.slabsPerBlock).map { block + UInt($0 * PageSlabs.byteCount) } })
    unsafe blocks.removeAll { gone.contains(UInt(bitPattern: $0)) }
    unsafe empty.removeAll { parts.contains(UInt(bitPattern: $0)) }
    return detached
  }

  /// Gives detached blocks back to the system.
  static func release(_ blocks: [UInt]) {
    for block in blocks {
      // Safe: `detachEmptyBlocks` has taken it out of every list.
      unsafe RawMemory.release(UnsafeMutableRawPointer(bitPattern: block)!, byteCount: blockByteCount)
    }
  }

  /// Releases everything; none of it may be used any more.
  mutating func releaseAll() {
    while let slab = unsafe singles.popLast() { unsafe RawMemory.release(slab, byteCount: PageSlabs.byteCount) }
    while let block = unsafe blocks.popLast() { unsafe RawMemory.release(block, byteCount: PageSlabs.blockByteCount) }
    unsafe empty = []
    cutCount = PageSlabs.slabsPerBlock
  }

  /// The start of the slab that a reference, with its tag and its size class, lies in.
  private static func start(of reference: UInt64) -> UInt64 {
    reference & ~(PageSource.memoryTag | UInt64(byteCount - 1))
  }
}

/// Counts the references in each slab. A small table with linear probing, because it is asked about each of a million
/// references while writers wait.
private struct SlabCounts {
  private var entries: [(start: UInt64, count: Int)]
  private let mask: Int

  /// Single slabs may lie across two starts.
  init(slabCount: Int) {
    var capacity = 16
    while capacity < 2 * (slabCount + 8) { capacity *= 2 }
    entries = Array(repeating: (0, 0), count: capacity)
    mask = capacity - 1
  }

  private func index(of start: UInt64) -> Int {
    // Neighbouring slabs get neighbouring slots.
    var index = Int(truncatingIfNeeded: start >> 20) & mask
    while entries[index].start != start && entries[index].start != 0 { index = (index + 1) & mask }
    return index
  }

  mutating func add(_ start: UInt64) {
    let index = index(of: start)
    entries[index].start = start
    entries[index].count += 1
  }

  mutating func remove(_ start: UInt64) { entries[index(of: start)].count = 0 }

  func count(of start: UInt64) -> Int { entries[index(of: start)].count }

  func starts(countedTo count: Int) -> [UInt64] { entries.filter { $0.count == count && $0.start != 0 }.map(\.start) }
}
