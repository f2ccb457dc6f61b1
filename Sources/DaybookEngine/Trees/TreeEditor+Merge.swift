/// Keeps pages filled when records are removed: empty pages leave the tree, and pages less than a quarter full are merged with
/// a neighbour.
///
/// Ranges are removed at once: whole subtrees between the two edges of the range are dropped without being read. Only the pages
/// along both edges are changed, and merged with their neighbours if little is left in them.
extension TreeEditor {
  static let minimumUsedByteCount = Page.capacity / 4
  private static let mergedByteCountLimit = Page.capacity * 9 / 10

  /// Rebalances the path after a removal from its leaf.
  func rebalance(_ root: inout TreeRoot) throws(PageFault) {
    var depth = path.count - 1
    while depth > 0 {
      let page = path[depth].page
      let parent = path[depth - 1]
      if isChildless(page) {
        // At once, if this edit made it: else a transaction that empties a large tree would keep a page for each leaf.
        discard(path[depth].reference)
        removeChild(parent.child, of: parent.page)
      } else if page.usedByteCount < TreeEditor.minimumUsedByteCount {
        if try !mergeWithNeighbour(at: depth) { break }
      } else {
        break
      }
      depth -= 1
    }
    try shrinkRoot(&root)
  }

  private func isChildless(_ page: Page) -> Bool {
    page.cellCount == 0 && (!page.isBranch || page.leftmostChild == 0)
  }

  /// Removes a child of a branch, perhaps its last.
  private func removeChild(_ child: Int, of page: Page) {
    if child >= 0 {
      page.remove(at: child)
    } else if page.cellCount > 0 {
      page.setLeftmost(child: page.child(0), count: page.childCount(0))
      page.remove(at: 0)
    } else {
      page.setLeftmost(child: 0, count: 0)
    }
  }

  /// Drops a root without records; replaces a root with one child by that child.
  func shrinkRoot(_ root: inout TreeRoot) throws(PageFault) {
    while root.reference != 0 {
      let page = try page(root.reference)
      if isChildless(page) {
        retire(root.reference)
        // Its page count falls with the edit's balance.
        root.reference = 0
        root.count = 0
      } else if page.isBranch && page.cellCount == 0 {
        let child = page.leftmostChild
        retire(root.reference)
        // A root has no delta.
        root.reference = LeafDelta.isDelta(child) ? try writable(child) : child
      } else {
        return
      }
    }
  }

  /// Merges the page at `depth` with its right or left neighbour, if both fit into one page.
  private func mergeWithNeighbour(at depth: Int) throws(PageFault) -> Bool {
    let parent = path[depth - 1]
    if parent.child + 1 < parent.page.cellCount, try merge(parent, left: parent.child) { return true }
    if parent.child >= 0, try merge(parent, left: parent.child - 1) { return true }
    return false
  }

  /// Merges children `left` and `left + 1` of a branch into one page.
  private func merge(_ parent: Step, left: Int) throws(PageFault) -> Bool {
    let leftPage = try pageToTakeFrom(parent.page.child(left))
    let rightPage = try pageToTakeFrom(parent.page.child(left + 1))
    separator.truncate(to: 0)
    parent.page.appendKey(left + 1, to: separator)
    // The descent has checked only one of the two pages.
    guard leftPage.level + 1 == parent.page.level, rightPage.level == leftPage.level else {
      throw fault(parent.reference, .level)
    }
    guard leftPage.kind == rightPage.kind else { throw fault(parent.reference, .kind) }
    guard isInOrder(leftPage, rightPage) else { throw fault(parent.reference, .order) }
    var prefixLength = commonPrefixLength(leftPage.prefix, rightPage.prefix)
    if leftPage.isBranch {
      prefixLength = min(prefixLength, commonPrefixLength(leftPage.prefix, separator.view))
    }
    var needed = prefixLength
    for source in [leftPage, rightPage] {
      needed += source.usedByteCount - source.prefixLength
      needed += (source.prefixLength - prefixLength) * source.cellCount
    }
    if leftPage.isBranch { needed += Page.slotByteCount + 16 + separator.count - prefixLength }
    if needed > TreeEditor.mergedByteCountLimit { return false }

    let count = parent.page.childCount(left) &+ parent.page.childCount(left + 1)
    scratch.initialize(kind: leftPage.kind, level: leftPage.level, prefix: leftPage.prefix.prefix(prefixLength))
    if leftPage.isBranch { scratch.setLeftmost(child: leftPage.leftmostChild, count: leftPage.leftmostCount) }
    for cell in 0..<leftPage.cellCount { scratch.appendCell(cell, of: leftPage) }
    if leftPage.isBranch {
      let fits = scratch.insert(
        at: scratch.cellCount, suffix: separator.view.dropFirst(prefixLength), child: rightPage.leftmostChild,
        count: rightPage.leftmostCount, scratch: secondScratch)
      precondition(fits, "the joint page was measured")
    }
    for cell in 0..<rightPage.cellCount { scratch.appendCell(cell, of: rightPage) }

    let target = try writable(parent.page.child(left))
    DirtyPage(target).page.copy(from: scratch)
    retire(parent.page.child(left + 1))
    parent.page.setChild(left, target, count: count)
    parent.page.remove(at: left + 1)
    return true
  }

  /// Whether all keys of one page lie below `separator`, and those of the other do not.
  private func isInOrder(_ left: Page, _ right: Page) -> Bool {
    if left.cellCount > 0 {
      fullKey.truncate(to: 0)
      left.appendKey(left.cellCount - 1, to: fullKey)
      if compareKeys(fullKey.view, separator.view) >= 0 { return false }
    }
    if right.cellCount > 0 {
      fullKey.truncate(to: 0)
      right.appendKey(0, to: fullKey)
      if compareKeys(separator.view, fullKey.view) > (right.isBranch ? -1 : 0) { return false }
    }
    return true
  }

  // MARK: ranges

  /// Removes every key in `lower ..< upper` (nil bounds are open); returns how many there were.
  /// - Complexity: pages along both edges of the range. What lies between is not read, so the root's page count is only an
  ///   upper bound afterwards.
  @discardableResult
  package func removeRange(
    from lower: ByteView?, to upper: ByteView?, in root: inout TreeRoot
  ) throws(PageFault) -> UInt64 {
    if root.reference == 0 { return 0 }
    let before = root.count
    if InlineTree.isInline(root.reference) { root.reference = try writableRoot(root.reference) }
    let remaining = try removeRange(lower, upper, below: root.reference, level: nil)
    root.reference = remaining.reference
    root.count = remaining.count
    if root.count != before {
      if let lower { try rebalance(lower, &root) }
      if let upper { try rebalance(upper, &root) }
    }
    try shrinkRoot(&root)
    if root.reference == 0 { root.pageCount = 0 }
    return before &- root.count
  }

  /// Merges pages that a range has left nearly empty along one of its edges with their neighbours.
  private func rebalance(_ edge: ByteView, _ root: inout TreeRoot) throws(PageFault) {
    if root.reference == 0 { return }
    _ = try descendForWriting(edge, in: &root)
    for depth in (1..<path.count).reversed()
    where path[depth].page.usedByteCount < TreeEditor.minimumUsedByteCount {
      _ = try mergeWithNeighbour(at: depth)
    }
  }

  private func removeRange(
    _ lower: ByteView?, _ upper: ByteView?, below original: UInt64, level: Int?
  ) throws(PageFault) -> TreeRoot {
    let reference = try writable(original)
    let page = DirtyPage(reference).page
    // Levels fall with every step and start below the deepest: this ends.
    if let level, page.level != level { throw fault(original, .level) }
    guard page.isBranch else {
      let start = lower == nil ? 0 : page.search(lower!).index
      let end = upper == nil ? page.cellCount : page.search(upper!).index
      if start < end { page.remove(start..<end) }
      return finishRange(page, reference)
    }
    let first = lower == nil ? -1 : page.childIndex(for: lower!)
    let last = upper == nil ? page.cellCount - 1 : page.childIndex(for: upper!)
    guard first <= last else { return finishRange(page, reference) }
    // From the right, so that the numbers of the children still to visit stay valid.
    for child in (first...last).reversed() {
      let isEdge = (child == first && lower != nil) || (child == last && upper != nil)
      var kept = TreeRoot.empty
      if isEdge {
        kept = try removeRange(
          child == first ? lower : nil, child == last ? upper : nil, below: page.child(child),
          level: page.level - 1)
      } else {
        drop(TreeRoot(reference: page.child(child), count: page.childCount(child)))
      }
      if kept.reference == 0 {
        removeChild(child, of: page)
      } else {
        page.setChild(child, kept.reference, count: kept.count)
      }
    }
    return finishRange(page, reference)
  }

  private func finishRange(_ page: Page, _ reference: UInt64) -> TreeRoot {
    if isChildless(page) {
      retire(reference)
      return .empty
    }
    return TreeRoot(reference: reference, count: page.recordCount)
  }
}
