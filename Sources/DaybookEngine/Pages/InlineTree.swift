/// A small tree inside the catalog cell that holds its root, so that a hundred thousand small zones do not take several pages
/// each.
///
///     offset  size  field
///          0     2  cell count n
///          2     2  prefix length
///          4   8×n  slots, as in a page
///        ...        cells and prefix, as they stand at the end of a page
///
/// It is one leaf without its header and its free space; when expanded, slots and cells are where they were. A reader gets the
/// page in memory of its own thread (`ThreadScratch`); a writer gets a dirty page, as for any page that it changes.
/// `TreeEditor.encodeCatalogValue` puts small trees into the cell when it is written.
///
/// In the file, a root names the position within its value. In memory, a root names the place of the bytes, so that it is valid
/// without its cell:
///
///     bit 62   set: a tree inside a cell (bit 63 is clear)
///     bit 61   the place is an address; else an offset in the file. Never set in the file
///     48…60    byte count
///     0…47     the place; in the file the position within the value
///
/// Always true: an address lies in a page that the version pins, or in a catalog page of the transaction itself. In the second
/// case the root is read from the catalog again after each change there.
enum InlineTree {
  static let tag: UInt64 = 1 << 62
  static let addressTag: UInt64 = 1 << 61
  static let headerByteCount = 4
  private static let placeMask: UInt64 = 1 << 48 - 1

  @inline(__always)
  static func isInline(_ reference: UInt64) -> Bool { reference >> 62 == 1 }

  /// Where the bytes are: an address, or an offset in the file.
  static func place(of reference: UInt64) -> UInt64 { reference & placeMask }
  static func isAddress(_ reference: UInt64) -> Bool { reference & addressTag != 0 }

  static func byteCount(_ reference: UInt64) -> Int { Int(reference >> 48 & 0x1FFF) }

  static func reference(position: Int, byteCount: Int) -> UInt64 {
    tag | UInt64(byteCount) << 48 | UInt64(position)
  }

  /// Turns a root of the file into a root in memory, for a value at `place`. A root that points outside its value becomes one
  /// that cannot be read.
  static func resolve(_ reference: UInt64, in value: ByteView, at place: UInt64) -> UInt64 {
    let position = Int(reference & placeMask)
    let byteCount = byteCount(reference)
    guard reference & addressTag == 0, position + byteCount <= value.count else { return tag }
    return tag | UInt64(byteCount) << 48 | (place & addressTag) | (place & placeMask) + UInt64(position)
  }

  /// The bytes of a root in a value.
  static func image(_ reference: UInt64, in value: ByteView) -> ByteView? {
    let position = Int(reference & placeMask)
    let byteCount = byteCount(reference)
    guard reference & addressTag == 0, position + byteCount <= value.count else { return nil }
    return value.slice(position..<position + byteCount)
  }

  static func place(ofAddress base: UnsafeRawPointer) -> UInt64 { addressTag | UInt64(UInt(bitPattern: base)) }

  /// How many bytes a leaf takes in a cell.
  static func byteCount(of page: Page) -> Int { headerByteCount + page.usedByteCount }

  /// Appends the image of a leaf that has no dead bytes.
  static func append(_ page: Page, to buffer: ByteBuffer) {
    precondition(page.kind == Page.Kind.leaf && page.deadByteCount == 0, "a small tree is one leaf, packed")
    buffer.append(uint16: UInt16(page.cellCount))
    buffer.append(uint16: UInt16(page.prefixLength))
    let slots = Page.headerByteCount..<Page.headerByteCount + page.cellCount * Page.slotByteCount
    // Safe: slots and heap are parts of a page.
    unsafe buffer.append(ByteView(UnsafeRawPointer(page.base) + slots.lowerBound, count: slots.count))
    unsafe buffer.append(ByteView(UnsafeRawPointer(page.base) + page.heapStart, count: Page.byteCount - page.heapStart))
  }

  /// Expands an image into `page`; false when the image cannot be a leaf. Cells are not checked here: the first use of a
  /// catalog page checks the page together with its images.
  static func expand(_ image: ByteView, into page: Page) -> Bool {
    guard image.count >= headerByteCount else { return false }
    let cellCount = Int(image.uint16(at: 0))
    let prefixLength = Int(image.uint16(at: 2))
    let slotsEnd = cellCount * Page.slotByteCount
    let heapByteCount = image.count - headerByteCount - slotsEnd
    guard cellCount > 0, heapByteCount >= prefixLength, slotsEnd + heapByteCount <= Page.capacity else { return false }
    page.initialize(kind: Page.Kind.leaf, level: 0, prefix: image.prefix(0))
    page.setCellCount(cellCount)
    page.setPrefixLength(prefixLength)
    page.setHeapStart(Page.byteCount - heapByteCount)
    // Safe: both parts fit into the page, side by side, as the guard says.
    unsafe (page.base + Page.headerByteCount).copyMemory(from: image.base + headerByteCount, byteCount: slotsEnd)
    unsafe (page.base + (Page.byteCount - heapByteCount)).copyMemory(
      from: image.base + (headerByteCount + slotsEnd), byteCount: heapByteCount)
    return true
  }

  /// What is wrong with an image; nil when it is a valid leaf of so many records.
  static func fault(in image: ByteView?, count: UInt64) -> PageFault.Reason? {
    guard let image else { return .cell }
    return unsafe withUnsafeTemporaryAllocation(byteCount: Page.byteCount, alignment: 64) { memory in
      // Safe: the allocation has the size of a page.
      let page = unsafe Page(memory.baseAddress!)
      guard expand(image, into: page) else { return .cell }
      if let reason = page.verifyStructure(isInFile: true) { return reason }
      return UInt64(page.cellCount) == count ? nil : .count
    }
  }
}
