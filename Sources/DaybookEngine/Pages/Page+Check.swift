/// What must hold for a page from disk before it is searched.
///
/// A page of the file is laid out in one way only: cells in slot order from the end of the heap downwards, without holes.
/// `encodeForFile` writes it like that, so the check is strict. Two cells cannot share bytes, and whoever copies such a page
/// and changes it finds as much room as the header says.
extension Page {
  static func seed(salt: UInt64, offset: UInt64) -> UInt64 { salt ^ (offset &* 0x9E37_79B9_7F4A_7C15) }

  func checksum(salt: UInt64, offset: UInt64) -> UInt64 {
    // Safe: bytes 8 ..< 4096 of the page.
    unsafe XXH3.hash(
      ByteView(UnsafeRawPointer(base) + 8, count: Page.byteCount - 8), seed: Page.seed(salt: salt, offset: offset))
  }

  func sealChecksum(salt: UInt64, offset: UInt64) {
    let sum = checksum(salt: salt, offset: offset)
    unsafe base.storeBytes(of: sum, toByteOffset: 0, as: UInt64.self)
  }

  func hasValidChecksum(salt: UInt64, offset: UInt64) -> Bool {
    unsafe base.loadUnaligned(fromByteOffset: 0, as: UInt64.self) == checksum(salt: salt, offset: offset)
  }

  /// Checks a page that came from disk: checksum, layout, order, children. About half a microsecond.
  func verify(salt: UInt64, offset: UInt64) -> PageFault.Reason? {
    if !hasValidChecksum(salt: salt, offset: offset), !isMutant("accept-page-checksum") { return .checksum }
    if let reason = verifyStructure(isInFile: true) { return reason }
    if isBranch {
      for index in -1..<cellCount where !Page.lies(child(index), before: offset) { return .child }
    } else if cellCount == 0 {
      return .empty
    } else if kind == Kind.catalogLeaf {
      // A root that looked like an address would be followed into memory.
      for index in 0..<cellCount {
        let value = CatalogValue(value(index))
        for index in 0..<value.rootCount {
          let root = value.root(index)
          if !root.hasSaneCounts { return .count }
          if InlineTree.isInline(root.reference) {
            if root.pageCount != 0 { return .count }
            let image = InlineTree.image(root.reference, in: value.bytes)
            if let reason = InlineTree.fault(in: image, count: root.count) { return reason }
            continue
          }
          if root.reference == 0 ? root.count != 0 : !Page.lies(root.reference, before: offset) { return .child }
        }
      }
    }
    return nil
  }

  private static func lies(_ reference: UInt64, before offset: UInt64) -> Bool {
    reference >= UInt64(byteCount) && reference < offset && reference + UInt64(byteCount) <= offset
  }

  /// Checks the layout and order of a page. In memory, cells may lie in any order, with dead bytes between them.
  func verifyStructure(isInFile: Bool = false) -> PageFault.Reason? {
    guard kind >= Kind.branch && kind <= Kind.catalogLeaf else { return .kind }
    guard level < TreeLimits.maximumDepth, (level > 0) == isBranch else { return .level }
    let rawCount = unsafe Int(base.loadUnaligned(fromByteOffset: 10, as: UInt16.self))
    let rawPrefix = unsafe Int(base.loadUnaligned(fromByteOffset: 12, as: UInt16.self))
    let prefixStart = Page.byteCount - rawPrefix
    let slotsEnd = Page.headerByteCount + rawCount * Page.slotByteCount
    guard rawPrefix <= TreeLimits.maximumKeyByteCount, heapStart >= slotsEnd, heapStart <= prefixStart else { return .slots }
    let header = cellHeaderByteCount
    var cellBytes = 0
    var nextEnd = prefixStart
    var previousHead: UInt32 = 0
    for index in 0..<rawCount {
      let slot = slot(index)
      let rawOffset = Int(UInt16(truncatingIfNeeded: slot >> 32))
      let length = Page.suffixLength(slot)
      guard rawOffset >= heapStart, rawOffset + header + length <= prefixStart else { return .cell }
      var end = rawOffset + header + length
      if !isBranch {
        let valueCount = unsafe Int(base.loadUnaligned(fromByteOffset: rawOffset, as: UInt16.self))
        end += valueCount
        let limit =
          kind == Kind.catalogLeaf
          ? TreeLimits.maximumCellByteCount - rawPrefix - length : TreeLimits.maximumValueByteCount
        guard end <= prefixStart, valueCount <= limit else { return .cell }
      }
      if isInFile {
        guard end == nextEnd else { return .cell }
        nextEnd = rawOffset
      }
      cellBytes += end - rawOffset
      let suffix = suffix(index)
      let head = head(index)
      guard head == keyHead(suffix), rawPrefix + length <= TreeLimits.maximumKeyByteCount else { return .cell }
      if index > 0 {
        if head < previousHead { return .order }
        if head == previousHead && compareKeys(self.suffix(index - 1), suffix) >= 0 { return .order }
      }
      previousHead = head
    }
    guard cellBytes + deadByteCount == prefixStart - heapStart else { return .cell }
    return nil
  }

  /// Whether the last key here sorts before the first key of another page. A walk asks this at each new leaf: in a forged file,
  /// branches may lead to one leaf from many places, and a walk that goes back would never end.
  func precedes(_ next: Page) -> Bool {
    if cellCount == 0 || next.cellCount == 0 { return true }
    let suffix = suffix(cellCount - 1)
    let nextSuffix = next.suffix(0)
    let shared = min(prefixLength, next.prefixLength)
    let order = compareKeys(prefix.prefix(shared), next.prefix.prefix(shared))
    if order != 0 { return order < 0 }
    if prefixLength == next.prefixLength { return compareKeys(suffix, nextSuffix) < 0 }
    // One prefix is longer: its additional bytes are compared with the other page's suffix.
    if prefixLength < next.prefixLength {
      let rest = next.prefix.dropFirst(shared)
      let count = min(rest.count, suffix.count)
      let order = compareKeys(suffix.prefix(count), rest.prefix(count))
      if order != 0 || suffix.count < rest.count { return order <= 0 }
      return compareKeys(suffix.dropFirst(count), nextSuffix) < 0
    }
    let rest = prefix.dropFirst(shared)
    let count = min(rest.count, nextSuffix.count)
    let restOrder = compareKeys(rest.prefix(count), nextSuffix.prefix(count))
    if restOrder != 0 || nextSuffix.count <= rest.count { return restOrder < 0 }
    return compareKeys(suffix, nextSuffix.dropFirst(count)) < 0
  }
}
