/// Faults of a tree whose pages are sound one by one, but not what they say together.
extension TreeReader {
  /// Names the page of the tree's root; for a tree inside a cell of the catalog, the page with the cell. What is only in memory has
  /// no place in the file.
  @inline(never)
  package func fault(in root: TreeRoot, _ reason: PageFault.Reason = .value) -> PageFault {
    source.fault(root.reference, reason)
  }
}

extension PageSource {
  func fault(_ root: UInt64, _ reason: PageFault.Reason) -> PageFault {
    if root & PageSource.memoryTag != 0 { return PageFault(reason: reason) }
    guard InlineTree.isInline(root) else { return PageFault(offset: root, reason: reason) }
    var offset = InlineTree.place(of: root)
    if InlineTree.isAddress(root) {
      // An address within the mapping is a place of the file.
      let start = unsafe UInt64(UInt(bitPattern: base))
      guard offset >= start, offset - start < UInt64(inPlaceEnd) else { return PageFault(reason: reason) }
      offset -= start
    }
    return PageFault(offset: offset & ~UInt64(Page.byteCount - 1), reason: reason)
  }
}
