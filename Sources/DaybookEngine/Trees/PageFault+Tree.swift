/// Faults of a tree whose pages are sound one by one, but not what they say together.
extension PageFault {
  /// Names the page of the tree's root; for a tree inside a cell of the catalog, the page with the cell. What is only in memory has
  /// no place in the file.
  @inline(never)
  package init(in root: TreeRoot, reason: Reason = .value) {
    self.init(reference: root.reference, reason: reason)
  }

  @inline(never)
  init(reference: UInt64, reason: Reason) {
    if reference & PageSource.memoryTag != 0 {
      self.init(reason: reason)
    } else if InlineTree.isInline(reference) {
      if let page = InlineTree.page(of: reference) { self.init(offset: page, reason: reason) } else { self.init(reason: reason) }
    } else {
      self.init(offset: reference, reason: reason)
    }
  }
}
