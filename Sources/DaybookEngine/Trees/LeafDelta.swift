import Synchronization

/// A few changes to a leaf of the file, kept beside it in memory. A random update of a large database then takes and copies a
/// few hundred bytes instead of a page of 4096 (rows: kv-update-100-unsynced, record-insert).
///
///     offset  size  field
///          0     8  the leaf: its offset in the file
///          8     2  entry count
///         10     2  heap start
///         12     2  dead bytes of the heap
///         14     2  how many bytes larger than the leaf the merged page is at most
///         16     2  how many bytes smaller at most
///         18     6  nothing
///         24   8×n  entries in key order: {u16 order, u16 1 for a removed cell, u16 cell offset, u16 suffix length}
///        ...        free
///        ...        cells, growing downwards: {u16 value length, suffix, value}
///
/// An entry with an odd order, 2 × i + 1, changes cell i of the leaf; it repeats the suffix only if the value has another
/// length. An entry with an even order, 2 × i, is a new cell before cell i.
///
/// A delta is never in the file: a checkpoint writes the merged page. Its memory and references come from `DirtyPages`; the low
/// bits of a reference say how large it is.
///
/// Always true: leaf and entries together fit into one page, in whatever order they are merged, and the leaf's own remaining
/// cells fill at least a quarter of a page. Otherwise the leaf becomes a page in memory.
@safe struct LeafDelta {
  static let headerByteCount = 24
  static let entryByteCount = 8
  /// The largest class. A larger delta would not be much smaller than a page.
  static let classCount = 3
  static let classMask: UInt64 = 63

  private let base: UnsafeMutableRawPointer
  private let capacity: Int

  /// Whether a reference leads to a delta. References to clean pages and addresses of pages have no low bits set.
  @_transparent
  static func isDelta(_ reference: UInt64) -> Bool {
    reference & classMask != 0 && reference & PageSource.memoryTag != 0
  }

  /// The memory of a delta of this class, header included: 256, 512 or 1024 bytes.
  static func stride(ofClass number: Int) -> Int { 128 << number }

  /// The smallest class with room for so many bytes of entries and cells; nil when there is none.
  static func classNumber(for byteCount: Int) -> Int? {
    var number = 1
    while number <= classCount {
      if headerByteCount + byteCount <= stride(ofClass: number) - DirtyPages.headerByteCount { return number }
      number += 1
    }
    return nil
  }

  @_transparent
  init(_ reference: UInt64) {
    // Safe: such a reference is made by `DirtyPages.allocateDelta`, and its memory lives as long as a version that
    // reaches it is pinned.
    unsafe base = UnsafeMutableRawPointer(
      bitPattern: UInt(reference & ~(PageSource.memoryTag | LeafDelta.classMask)))!
    capacity = LeafDelta.stride(ofClass: Int(reference & LeafDelta.classMask)) &- DirtyPages.headerByteCount
  }

  func initialize(leaf: UInt64) {
    // Safe: constant offsets inside the header, here and below.
    unsafe base.storeBytes(of: leaf, as: UInt64.self)
    set(0, at: 8)
    set(capacity, at: 10)
    for offset in [12, 14, 16] { set(0, at: offset) }
  }

  @_transparent private func field(_ offset: Int) -> Int { unsafe Int(base.load(fromByteOffset: offset, as: UInt16.self)) }
  @_transparent private func set(_ value: Int, at offset: Int) {
    unsafe base.storeBytes(of: UInt16(value), toByteOffset: offset, as: UInt16.self)
  }

  @_transparent var leaf: UInt64 { unsafe base.load(as: UInt64.self) }
  @_transparent var entryCount: Int { field(8) }
  private var heapStart: Int { field(10) }
  private var deadByteCount: Int { field(12) }
  /// How much larger than the leaf the merged page may be.
  var addedByteCount: Int {
    get { field(14) }
    nonmutating set { set(newValue, at: 14) }
  }
  /// By how much the remaining cells of the leaf have shrunk.
  var removedByteCount: Int {
    get { field(16) }
    nonmutating set { set(newValue, at: 16) }
  }
  private var entriesEnd: Int { LeafDelta.headerByteCount + entryCount * LeafDelta.entryByteCount }
  /// The room for another entry and its cell, without moving anything.
  var freeByteCount: Int { heapStart - entriesEnd }
  /// The bytes of all entries and cells.
  var usedByteCount: Int { entryCount * LeafDelta.entryByteCount + capacity - heapStart - deadByteCount }

  @_transparent
  private func entry(_ index: Int) -> UInt64 {
    precondition(index >= 0 && index < entryCount, "an entry of a delta exists")
    // Safe: entries lie in front of the heap, which starts within the memory.
    return unsafe base.load(fromByteOffset: LeafDelta.headerByteCount &+ index &* 8, as: UInt64.self)
  }
  @_transparent func order(_ index: Int) -> Int { Int(entry(index) & 0xFFFF) }
  @_transparent func isRemoved(_ index: Int) -> Bool { entry(index) &>> 16 & 0xFFFF != 0 }

  func suffix(_ index: Int) -> ByteView {
    let entry = entry(index)
    // Safe: `insert` put the cell there.
    return unsafe ByteView(UnsafeRawPointer(base) + (Int(entry &>> 32 & 0xFFFF) + 2), count: Int(entry &>> 48))
  }

  func value(_ index: Int) -> ByteView {
    let entry = entry(index)
    let cell = Int(entry &>> 32 & 0xFFFF)
    // Safe: as above.
    let count = unsafe Int(base.loadUnaligned(fromByteOffset: cell, as: UInt16.self))
    return unsafe ByteView(UnsafeRawPointer(base) + (cell + 2 + Int(entry &>> 48)), count: count)
  }

  private func cellByteCount(_ index: Int) -> Int { isRemoved(index) ? 0 : 2 + suffix(index).count + value(index).count }

  /// Loads all cache lines of the delta at once, as `Page.touch` does (row: kv-update-100-unsynced).
  @inline(__always)
  func touch() {
    var offset = 0
    while offset < capacity {
      // Safe: offsets inside the memory.
      _ = unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .relaxed)
      offset &+= 64
    }
  }

  // MARK: finding

  /// Where a key stands in a leaf and its delta.
  struct Position {
    /// The cell of the leaf, or the cell in front of which a new key belongs.
    var cell: Int
    var isInLeaf: Bool
    /// The entry, or the entry in front of which a new one belongs.
    var entry: Int
    var hasEntry: Bool
    @_transparent var order: Int { cell &* 2 &+ (isInLeaf ? 1 : 0) }
  }

  /// Where a key stands in a leaf that has no delta yet.
  static func position(of key: ByteView, in leaf: Page) -> Position {
    let (cell, isFound) = leaf.search(key)
    return Position(cell: cell, isInLeaf: isFound, entry: 0, hasEntry: false)
  }

  func position(of key: ByteView, in leaf: Page) -> Position {
    var position = LeafDelta.position(of: key, in: leaf)
    let order = position.order
    var lower = 0
    var upper = entryCount
    while lower < upper {
      let middle = (lower &+ upper) &>> 1
      if self.order(middle) < order { lower = middle &+ 1 } else { upper = middle }
    }
    position.entry = lower
    let count = entryCount
    guard lower < count, self.order(lower) == order else { return position }
    if position.isInLeaf {
      position.hasEntry = true
      return position
    }
    // Search the new cells between the same two cells of the leaf, in key order. A key without the prefix is not among them.
    guard let wanted = leaf.suffix(ofKey: key) else { return position }
    while position.entry < count, self.order(position.entry) == order {
      let comparison = compareKeys(suffix(position.entry), wanted)
      if comparison >= 0 {
        position.hasEntry = comparison == 0
        break
      }
      position.entry &+= 1
    }
    return position
  }

  // MARK: changing

  /// Inserts an entry before `index`; the caller has checked that it fits. A nil value removes the cell of the leaf.
  func insert(at index: Int, order: Int, suffix: ByteView, value: ByteView?) {
    let count = entryCount
    var cell = heapStart
    if let value { cell -= 2 + suffix.count + value.count }
    precondition(index <= count && cell >= entriesEnd + LeafDelta.entryByteCount, "an entry of a delta was measured")
    if let value {
      // Safe: the cell lies behind the entries and in front of the heap, as measured.
      unsafe base.storeBytes(of: UInt16(value.count), toByteOffset: cell, as: UInt16.self)
      unsafe (base + (cell + 2)).copyMemory(from: suffix.base, byteCount: suffix.count)
      unsafe (base + (cell + 2 + suffix.count)).copyMemory(from: value.base, byteCount: value.count)
    }
    let place = LeafDelta.headerByteCount + index * 8
    unsafe (base + (place + 8)).copyMemory(from: base + place, byteCount: (count - index) * 8)
    let entry = UInt64(order) | (value == nil ? 1 << 16 : 0) | UInt64(cell) << 32 | UInt64(suffix.count) << 48
    unsafe base.storeBytes(of: entry, toByteOffset: place, as: UInt64.self)
    set(cell, at: 10)
    set(count + 1, at: 8)
  }

  func remove(at index: Int) {
    set(deadByteCount + cellByteCount(index), at: 12)
    let place = LeafDelta.headerByteCount + index * 8
    // Safe: both ends lie within the entries.
    unsafe (base + place).copyMemory(from: base + (place + 8), byteCount: (entryCount - index - 1) * 8)
    set(entryCount - 1, at: 8)
  }

  /// Overwrites a value with one of equal length.
  func overwriteValue(at index: Int, with value: ByteView) {
    let present = self.value(index)
    precondition(present.count == value.count, "only a value of the same length fits in place")
    // Safe: the line above.
    unsafe UnsafeMutableRawPointer(mutating: present.base).copyMemory(from: value.base, byteCount: value.count)
  }

  /// Becomes a copy of another delta without one of its entries. Dead bytes are left out only if the room is needed.
  func copy(from other: LeafDelta, leavingOut skipped: Int?, needed: Int) {
    let free = other.freeByteCount + (skipped == nil ? 0 : LeafDelta.entryByteCount)
    if capacity == other.capacity && free >= needed {
      let entriesEnd = other.entriesEnd
      let heap = other.heapStart
      // Safe: both have that capacity; entries end before the heap starts.
      unsafe base.copyMemory(from: other.base, byteCount: entriesEnd)
      unsafe (base + heap).copyMemory(from: other.base + heap, byteCount: capacity &- heap)
      if let skipped { remove(at: skipped) }
      return
    }
    initialize(leaf: other.leaf)
    addedByteCount = other.addedByteCount
    removedByteCount = other.removedByteCount
    for index in 0..<other.entryCount where index != skipped {
      let isRemoved = other.isRemoved(index)
      insert(
        at: entryCount, order: other.order(index), suffix: isRemoved ? other.suffix(index).prefix(0) : other.suffix(index),
        value: isRemoved ? nil : other.value(index))
    }
  }

  /// The bytes of all entries and cells but one.
  func usedByteCount(leavingOut index: Int?) -> Int {
    guard let index else { return usedByteCount }
    return usedByteCount - LeafDelta.entryByteCount - cellByteCount(index)
  }

  // MARK: merging

  /// Applies the delta to a copy of the leaf. It goes backwards, so that the numbers of the cells in front stay valid.
  func merge(into page: Page, scratch: Page) {
    for index in (0..<entryCount).reversed() {
      let order = order(index)
      let cell = order >> 1
      if order & 1 != 0 {
        if isRemoved(index) {
          page.remove(at: cell)
          continue
        }
        if page.value(cell).count == value(index).count {
          page.overwriteValue(at: cell, with: value(index))
          continue
        }
        page.remove(at: cell)
      }
      let fits = page.insert(at: cell, suffix: suffix(index), value: value(index), scratch: scratch)
      precondition(fits, "a leaf and its delta were measured")
    }
  }
}
