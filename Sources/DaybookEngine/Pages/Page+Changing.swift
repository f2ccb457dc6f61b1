/// Changes to a page in place. Only the editor of a transaction makes them, and only on pages that it made itself.
///
/// Cells are added at the low end of the heap; removed ones leave dead bytes that `compact` collects when an insert needs them.
/// A page is never half changed: each method checks that the change fits before it touches a byte.
extension Page {
  /// Makes this memory an empty page.
  func initialize(kind: UInt8, level: Int, prefix: ByteView) {
    precondition(level < TreeLimits.maximumDepth && prefix.count < Page.capacity, "pages are made within limits")
    // Safe: a page is 4096 bytes of memory that belongs to the caller; the prefix ends at the page's end.
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: Page.headerByteCount)
    unsafe base.storeBytes(of: kind, toByteOffset: 8, as: UInt8.self)
    unsafe base.storeBytes(of: UInt8(level), toByteOffset: 9, as: UInt8.self)
    setPrefixLength(prefix.count)
    setHeapStart(Page.byteCount - prefix.count)
    unsafe (base + (Page.byteCount - prefix.count)).copyMemory(from: prefix.base, byteCount: prefix.count)
  }

  // Safe: constant offsets inside the header.
  @_transparent func setCellCount(_ count: Int) {
    unsafe base.storeBytes(of: UInt16(truncatingIfNeeded: count), toByteOffset: 10, as: UInt16.self)
  }
  @_transparent func setPrefixLength(_ count: Int) {
    unsafe base.storeBytes(of: UInt16(truncatingIfNeeded: count), toByteOffset: 12, as: UInt16.self)
  }
  @_transparent func setHeapStart(_ offset: Int) {
    unsafe base.storeBytes(of: UInt16(truncatingIfNeeded: offset), toByteOffset: 14, as: UInt16.self)
  }
  @_transparent func setDeadByteCount(_ count: Int) {
    unsafe base.storeBytes(of: UInt16(truncatingIfNeeded: count), toByteOffset: 16, as: UInt16.self)
  }
  func setLeftmost(child: UInt64, count: UInt64) {
    unsafe base.storeBytes(of: child, toByteOffset: 24, as: UInt64.self)
    unsafe base.storeBytes(of: count, toByteOffset: 32, as: UInt64.self)
  }

  /// Replaces child `index` (-1: leftmost) and its count.
  @_transparent func setChild(_ index: Int, _ child: UInt64, count: UInt64) {
    if index < 0 {
      setLeftmost(child: child, count: count)
      return
    }
    precondition(index < cellCount, "children come from a search of this page")
    let cell = Page.cellOffset(slot(index))
    precondition(cell <= Page.byteCount - 16, "cells lie within their page")
    // Safe: the line above.
    unsafe base.storeBytes(of: child, toByteOffset: cell, as: UInt64.self)
    unsafe base.storeBytes(of: count, toByteOffset: cell + 8, as: UInt64.self)
  }

  /// Inserts a leaf cell before `index`; false when the page has no room. `suffix` is the key after the prefix.
  @inline(__always)
  func insert(at index: Int, suffix: ByteView, value: ByteView, scratch: Page) -> Bool {
    guard let cell = makeRoom(2 &+ suffix.count &+ value.count, at: index, suffix: suffix, scratch: scratch) else {
      return false
    }
    // Safe: `makeRoom` returned the offset of that many free bytes.
    unsafe base.storeBytes(of: UInt16(truncatingIfNeeded: value.count), toByteOffset: cell, as: UInt16.self)
    unsafe (base + (cell &+ 2)).copyMemory(from: suffix.base, byteCount: suffix.count)
    unsafe (base + (cell &+ 2 &+ suffix.count)).copyMemory(from: value.base, byteCount: value.count)
    return true
  }

  /// Inserts a branch cell before `index`; false when the page has no room.
  func insert(at index: Int, suffix: ByteView, child: UInt64, count: UInt64, scratch: Page) -> Bool {
    guard let cell = makeRoom(16 &+ suffix.count, at: index, suffix: suffix, scratch: scratch) else { return false }
    // Safe: as above.
    unsafe base.storeBytes(of: child, toByteOffset: cell, as: UInt64.self)
    unsafe base.storeBytes(of: count, toByteOffset: cell &+ 8, as: UInt64.self)
    unsafe (base + (cell &+ 16)).copyMemory(from: suffix.base, byteCount: suffix.count)
    return true
  }

  /// Opens a slot before `index` and room for a cell; the offset of that room, or nil when the page is full.
  @inline(__always)
  private func makeRoom(_ byteCount: Int, at index: Int, suffix: ByteView, scratch: Page) -> Int? {
    let count = cellCount
    precondition(index >= 0 && index <= count, "a cell is inserted between cells")
    let slotsEnd = Page.headerByteCount &+ count &* Page.slotByteCount
    let needed = byteCount &+ Page.slotByteCount
    if needed > heapStart &- slotsEnd {
      if needed > freeByteCount { return nil }
      compact(scratch: scratch)
    }
    let cell = heapStart &- byteCount
    let slotOffset = Page.headerByteCount &+ index &* Page.slotByteCount
    // Safe: slots end at or before the new cell, checked above.
    unsafe (base + (slotOffset &+ 8)).copyMemory(from: base + slotOffset, byteCount: slotsEnd &- slotOffset)
    let slot = UInt64(keyHead(suffix)) | UInt64(cell) &<< 32 | UInt64(suffix.count) &<< 48
    unsafe base.storeBytes(of: slot, toByteOffset: slotOffset, as: UInt64.self)
    setHeapStart(cell)
    setCellCount(count &+ 1)
    return cell
  }

  /// Removes a cell; its bytes become dead.
  func remove(at index: Int) {
    let count = cellCount
    precondition(index >= 0 && index < count, "a removed cell exists")
    let dead = cellByteCount(index) - Page.slotByteCount
    if Page.cellOffset(slot(index)) == heapStart {
      setHeapStart(heapStart + dead)
    } else {
      setDeadByteCount(deadByteCount + dead)
    }
    removeSlots(index..<index + 1)
  }

  /// Removes the cells of a range.
  func remove(_ range: Range<Int>) {
    var dead = 0
    for index in range { dead += cellByteCount(index) - Page.slotByteCount }
    setDeadByteCount(deadByteCount + dead)
    removeSlots(range)
  }

  private func removeSlots(_ range: Range<Int>) {
    let count = cellCount
    let target = Page.headerByteCount + range.lowerBound * Page.slotByteCount
    let source = Page.headerByteCount + range.upperBound * Page.slotByteCount
    // Safe: both ends lie within the slot array.
    unsafe (base + target).copyMemory(
      from: base + source, byteCount: (count - range.upperBound) * Page.slotByteCount)
    setCellCount(count - range.count)
  }

  /// Puts a value of equal length in place of the present one.
  @inline(__always)
  func overwriteValue(at index: Int, with value: ByteView) {
    let slot = slot(index)
    let start = Page.cellOffset(slot) &+ 2 &+ Page.suffixLength(slot)
    precondition(self.value(index).count == value.count, "only a value of the same length fits in place")
    // Safe: the present value lies within the page and has the same length.
    unsafe (base + start).copyMemory(from: value.base, byteCount: value.count)
  }

  /// Collects dead bytes. `scratch` is a page of memory to work in.
  func compact(scratch: Page) {
    // Safe: both are whole pages.
    unsafe scratch.base.copyMemory(from: base, byteCount: Page.byteCount)
    let count = cellCount
    var heap = Page.byteCount - prefixLength
    for index in 0..<count {
      let slot = scratch.slot(index)
      let length = scratch.cellByteCount(index) - Page.slotByteCount
      let from = Page.cellOffset(slot)
      precondition(heap - length >= Page.headerByteCount + count * 8, "cells of a page fit into it")
      heap -= length
      unsafe (base + heap).copyMemory(from: scratch.base + from, byteCount: length)
      let moved = (slot & 0xFFFF_0000_FFFF_FFFF) | UInt64(heap) << 32
      unsafe base.storeBytes(of: moved, toByteOffset: Page.headerByteCount + index * 8, as: UInt64.self)
    }
    setHeapStart(heap)
    setDeadByteCount(0)
  }

  /// Zeroes the bytes between the slots and the heap.
  func clearFreeBytes() {
    let slotsEnd = Page.headerByteCount + cellCount * Page.slotByteCount
    precondition(slotsEnd <= heapStart && heapStart <= Page.byteCount, "slots end before the heap starts")
    // Safe: the line above.
    unsafe RawMemory.zero(base + slotsEnd, byteCount: heapStart - slotsEnd)
  }

  /// Appends cell `index` of another page of the same kind, whose prefix may have another length. The key must begin
  /// with this page's prefix, and come after all keys that are here.
  func appendCell(_ index: Int, of source: Page) {
    let slot = source.slot(index)
    let suffix = source.suffix(index)
    let tail = source.isBranch ? 0 : source.value(index).count
    let header = source.cellHeaderByteCount
    let sourceCell = Page.cellOffset(slot)
    let count = cellCount
    let carried = source.prefixLength - prefixLength  // bytes of the source's prefix that become part of the suffix
    let newSuffixCount = suffix.count + carried
    precondition(newSuffixCount >= 0, "a key is at least as long as the prefix of its page")
    let length = header + newSuffixCount + tail
    let cell = heapStart - length
    precondition(cell >= Page.headerByteCount + (count + 1) * 8, "the caller measured that the cell fits")
    // Safe: the room was checked above; source ranges lie within the source page.
    unsafe (base + cell).copyMemory(from: source.base + sourceCell, byteCount: header)
    if carried >= 0 {
      let prefixEnd = Page.byteCount
      unsafe (base + (cell + header)).copyMemory(from: source.base + (prefixEnd - carried), byteCount: carried)
      unsafe (base + (cell + header + carried)).copyMemory(from: suffix.base, byteCount: suffix.count + tail)
    } else {
      unsafe (base + (cell + header)).copyMemory(from: suffix.base - carried, byteCount: newSuffixCount + tail)
    }
    let newSuffix = unsafe ByteView(UnsafeRawPointer(base) + (cell + header), count: newSuffixCount)
    let newSlot = UInt64(keyHead(newSuffix)) | UInt64(cell) << 32 | UInt64(newSuffixCount) << 48
    unsafe base.storeBytes(of: newSlot, toByteOffset: Page.headerByteCount + count * 8, as: UInt64.self)
    setHeapStart(cell)
    setCellCount(count + 1)
  }

  /// Becomes a copy of another page, without the free space between slots and heap, which nobody reads: that saves a fifth of
  /// the copy (row: record-insert).
  func copy(from source: Page) {
    let slotsEnd = Page.headerByteCount &+ source.cellCount &* Page.slotByteCount
    let heap = min(max(source.heapStart, slotsEnd), Page.byteCount)
    // Safe: both are whole pages, and the two ranges end within 4096 bytes: there are at most 507 slots.
    unsafe base.copyMemory(from: source.base, byteCount: slotsEnd)
    unsafe (base + heap).copyMemory(from: source.base + heap, byteCount: Page.byteCount &- heap)
  }
}
