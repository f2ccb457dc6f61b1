import Synchronization

/// A tree page of 4096 bytes: sorted cells, addressed by slots, their common key prefix stored once.
///
///     offset  size  field
///          0     8  checksum of bytes 8 ..< 4096, seeded with salt and offset; zero while the page is only in memory
///          8     1  kind: 1 branch, 2 leaf, 3 catalog leaf (its values begin with tree roots)
///          9     1  level: 0 for leaves, one more than its children for a branch
///         10     2  cell count
///         12     2  prefix length
///         14     2  heap start: the lowest byte of any cell
///         16     2  dead bytes: holes that removed cells left in the heap
///         18     6  zero
///         24     8  leftmost child (branch)
///         32     8  records below the leftmost child (branch)
///         40   8×n  slots in key order: {u32 key head, u16 cell offset, u16 suffix length}
///        ...        free
///        ...        cells, growing downwards:  leaf {u16 value length, suffix, value}
///                                              branch {u64 child, u64 records below, suffix}
///     4096-p     p  the common prefix
///
/// Always true: slots ascend by key; cells never overlap; every key of the page is prefix + suffix; a head holds the
/// first four bytes of the suffix. A branch child holds the keys from its separator on; the leftmost those before it.
/// Numbers are little-endian, heads are compared as big-endian numbers. Spec: FORMAT.md.
///
/// This file reads pages; Page+Changing.swift changes them. Offsets are masked and lengths clamped, so a page that is corrupted
/// in memory after its check may give wrong answers but never reads outside itself.
@safe struct Page {
  static let byteCount = 4096
  static let headerByteCount = 40
  static let slotByteCount = 8
  /// What slots, cells and prefix share.
  static let capacity = byteCount - headerByteCount

  enum Kind { static let branch: UInt8 = 1, leaf: UInt8 = 2, catalogLeaf: UInt8 = 3 }

  nonisolated(unsafe) let base: UnsafeMutableRawPointer

  @_transparent init(_ base: UnsafeMutableRawPointer) { unsafe self.base = base }
  @_transparent init(_ base: UnsafeRawPointer) { unsafe self.base = UnsafeMutableRawPointer(mutating: base) }

  // Safe: every load below is at a constant offset under 40, or at a slot whose index the caller took from `cellCount`,
  // clamped so that slot array and cells stay within the page.
  @_transparent var kind: UInt8 { unsafe base.load(fromByteOffset: 8, as: UInt8.self) }
  @_transparent var level: Int { unsafe Int(base.load(fromByteOffset: 9, as: UInt8.self)) }
  @_transparent var isBranch: Bool { kind == Kind.branch }
  @_transparent var cellCount: Int {
    min(unsafe Int(base.loadUnaligned(fromByteOffset: 10, as: UInt16.self)), 507)
  }
  @_transparent var prefixLength: Int {
    unsafe Int(base.loadUnaligned(fromByteOffset: 12, as: UInt16.self) & 0xFFF)
  }
  @_transparent var heapStart: Int { unsafe Int(base.loadUnaligned(fromByteOffset: 14, as: UInt16.self)) }
  @_transparent var deadByteCount: Int { unsafe Int(base.loadUnaligned(fromByteOffset: 16, as: UInt16.self)) }
  @_transparent var leftmostChild: UInt64 { unsafe base.loadUnaligned(fromByteOffset: 24, as: UInt64.self) }
  @_transparent var leftmostCount: UInt64 { unsafe base.loadUnaligned(fromByteOffset: 32, as: UInt64.self) }

  var prefix: ByteView {
    unsafe ByteView(UnsafeRawPointer(base) + (Page.byteCount - prefixLength), count: prefixLength)
  }

  @_transparent func slot(_ index: Int) -> UInt64 {
    unsafe base.loadUnaligned(fromByteOffset: Page.headerByteCount &+ index &* 8, as: UInt64.self)
  }
  @_transparent func head(_ index: Int) -> UInt32 {
    unsafe base.loadUnaligned(fromByteOffset: Page.headerByteCount &+ index &* 8, as: UInt32.self)
  }
  @_transparent static func cellOffset(_ slot: UInt64) -> Int { Int((slot &>> 32) & 0xFFF) }
  @_transparent static func suffixLength(_ slot: UInt64) -> Int { Int(slot &>> 48) }

  /// Bytes before the suffix in a cell: a value length in leaves, child and count in branches.
  @_transparent var cellHeaderByteCount: Int { isBranch ? 16 : 2 }

  @_transparent func suffix(_ index: Int) -> ByteView {
    let slot = slot(index)
    let start = min(Page.cellOffset(slot) &+ cellHeaderByteCount, Page.byteCount)
    // Safe: clamped to the page.
    return unsafe ByteView(
      UnsafeRawPointer(base) + start, count: min(Page.suffixLength(slot), Page.byteCount &- start))
  }

  /// The value of a leaf cell.
  @_transparent func value(_ index: Int) -> ByteView {
    let slot = slot(index)
    let cell = min(Page.cellOffset(slot), Page.byteCount - 2)
    let length = unsafe Int(base.loadUnaligned(fromByteOffset: cell, as: UInt16.self))
    let start = min(cell &+ 2 &+ Page.suffixLength(slot), Page.byteCount)
    // Safe: clamped to the page.
    return unsafe ByteView(UnsafeRawPointer(base) + start, count: min(length, Page.byteCount &- start))
  }

  /// The child to the right of separator `index`; -1 names the leftmost child.
  @_transparent func child(_ index: Int) -> UInt64 {
    if index < 0 { return leftmostChild }
    let cell = min(Page.cellOffset(slot(index)), Page.byteCount - 16)
    return unsafe base.loadUnaligned(fromByteOffset: cell, as: UInt64.self)
  }

  /// The number of records below child `index`; -1 names the leftmost child.
  @_transparent func childCount(_ index: Int) -> UInt64 {
    if index < 0 { return leftmostCount }
    let cell = min(Page.cellOffset(slot(index)), Page.byteCount - 16)
    return unsafe base.loadUnaligned(fromByteOffset: cell &+ 8, as: UInt64.self)
  }

  /// Bytes that a cell takes, its slot included.
  func cellByteCount(_ index: Int) -> Int {
    let slot = slot(index)
    let tail = isBranch ? 16 : 2 + value(index).count
    return Page.slotByteCount + Page.suffixLength(slot) + tail
  }

  /// Bytes of the capacity that neither cells nor the prefix use.
  var freeByteCount: Int {
    heapStart - Page.headerByteCount - cellCount * Page.slotByteCount + deadByteCount
  }
  var usedByteCount: Int { Page.capacity - freeByteCount }

  /// Appends the whole key of a cell.
  func appendKey(_ index: Int, to key: ByteBuffer) {
    key.append(prefix)
    key.append(suffix(index))
  }

  /// The records below a branch, or in a leaf.
  var recordCount: UInt64 {
    guard isBranch else { return UInt64(cellCount) }
    var total = leftmostCount
    for index in 0..<cellCount { total &+= childCount(index) }
    return total
  }

  /// Loads the cache lines that a search is likely to read, all at once: header, slots and prefix. One by one, as a binary
  /// search reaches them, each would be a cache miss (row: kv-get-own-snapshot).
  @inline(__always)
  func touch() {
    loadLines(14)
    load(Page.byteCount - 64)
  }

  /// Loads the header and the prefix.
  @inline(__always)
  func touchEnds() {
    load(0)
    load(Page.byteCount - 64)
  }

  /// Loads the beginning of a cell: the word that its first byte is in ends inside the page, too.
  @inline(__always)
  func touchCell(_ index: Int) { load(Page.cellOffset(slot(index)) & ~7) }

  /// Loads the whole page, all lines at once: for a walk over many of its cells (row: query-tokens).
  @inline(__always)
  func touchCells() { loadLines(Page.byteCount / 64) }

  @_transparent
  private func loadLines(_ count: Int) {
    var line = 0
    while line < count {
      load(line &* 64)
      line &+= 1
    }
  }

  /// Loads a word inside the page.
  @_transparent
  private func load(_ offset: Int) {
    // Safe: inside the page. Atomic, because the compiler would remove a plain load whose result is not used.
    _ = unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .relaxed)
  }

  /// The first cell whose key is not below `key`, and whether it is equal to it.
  @inline(__always)
  func search(_ key: ByteView) -> (index: Int, isFound: Bool) { find(key) }

  /// A transparent function's values have no names to keep for a debugger, which are a third of a search without optimisation.
  @_transparent
  private func find(_ key: ByteView) -> (index: Int, isFound: Bool) {
    let prefixLength = prefixLength
    var suffix = key
    if prefixLength > 0 {
      let order = comparePrefix(key, prefixLength)
      if order != 0 { return (order < 0 ? 0 : cellCount, false) }
      suffix = unsafe ByteView(key.base + prefixLength, count: key.count &- prefixLength)
    }
    let wanted = keyHead(suffix)
    let count = cellCount
    var lower = firstCell(notBelow: wanted, among: count)
    if lower >= count || head(lower) != wanted { return (lower, false) }
    // Equal heads: compare whole suffixes, by binary search inside the run.
    var upper = count
    while lower < upper {
      let middle = (lower &+ upper) &>> 1
      let order = head(middle) != wanted ? 1 : compareKeys(self.suffix(middle), suffix)
      if order == 0 { return (middle, true) }
      if order < 0 { lower = middle &+ 1 } else { upper = middle }
    }
    return (lower, false)
  }

  /// The first cell whose head is not below one.
  @_transparent
  private func firstCell(notBelow wanted: UInt32, among count: Int) -> Int {
    var lower = 0
    var length = count
    // A binary search on heads without branches: the compiler makes this a conditional move (row: get hit).
    while length > 1 {
      let half = length &>> 1
      lower &+= head(lower &+ half &- 1) < wanted ? half : 0
      length &-= half
    }
    if lower < count && head(lower) < wanted { lower &+= 1 }
    return lower
  }

  /// Zero when `key` starts with the page's prefix, else the order of `key` against all keys of the page.
  @_transparent
  func comparePrefix(_ key: ByteView, _ prefixLength: Int) -> Int {
    let start = Page.byteCount &- prefixLength
    let shared = min(prefixLength, key.count)
    var offset = 0
    while offset &+ 8 <= shared {
      // Safe: eight bytes at `offset` lie within the prefix and within the key.
      let a = unsafe key.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let b = unsafe base.loadUnaligned(fromByteOffset: start &+ offset, as: UInt64.self)
      if a != b { return a.bigEndian < b.bigEndian ? -1 : 1 }
      offset &+= 8
    }
    while offset < shared {
      // Safe: as above, one byte.
      let a = unsafe key.base.load(fromByteOffset: offset, as: UInt8.self)
      let b = unsafe base.load(fromByteOffset: start &+ offset, as: UInt8.self)
      if a != b { return a < b ? -1 : 1 }
      offset &+= 1
    }
    return key.count < prefixLength ? -1 : 0
  }

  /// The child of a branch that holds `key`: the number of its separator, or -1 for the leftmost child.
  @_transparent
  func childIndex(for key: ByteView) -> Int {
    let found = find(key)
    return found.isFound ? found.index : found.index &- 1
  }
}
