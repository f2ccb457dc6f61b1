/// Splitting full pages.
///
/// A page splits in the middle by bytes, with two exceptions: at the right edge of the tree, and behind the last key of a run.
/// There the left page stays full and the new cell starts a page of its own, so ascending inserts fill their pages. A run is
/// recognised by what its keys share (`endsRun`): the next key will come behind the last one, too. If keys stand behind the run
/// in its page, they get a page of their own first.
///
/// The separator between two leaves is the shortest key that separates them. The prefix of a new page is what the separators on
/// both sides of it share: every key that can ever come between them shares that, too.
///
/// The last page of a tree or of a run has no separator to its right that shares anything. So it gets a prefix only when it is
/// full: then it takes what its keys share, and has room again. (Without that, pages of ascending keys stayed 82 % full.)
///
/// A separator can vanish later, when a neighbour is merged away. Then a key may come that does not share the prefix; it sorts
/// before or after everything in the page. The page takes a shorter prefix if its cells still fit; otherwise the key starts a
/// page of its own. When such a page splits, the separators around a half may share less than its cells do; a half that would
/// not fit then keeps its old prefix.
extension TreeEditor {
  /// The new right page of a split, and how many records each side holds.
  struct SplitResult {
    var right: UInt64
    var leftCount: UInt64
    var rightCount: UInt64
  }

  /// Splits a leaf for a cell that does not fit, and carries the split up as far as necessary.
  func splitLeaf(
    at index: Int, key: ByteView, value: ByteView, sharesPrefix: Bool, root: inout TreeRoot
  ) throws(PageFault) {
    let depth = path.count - 1
    let page = path[depth].page
    try readFences(above: depth)
    let count = page.cellCount
    let endsRun = endsRun(page, index, key)
    let isRightEdge = index == count && (upperFence.count == 0 || endsRun)
    if (isRightEdge || !sharesPrefix) && refit(page, key, 2 + key.count + value.count) {
      let fits = page.insert(at: index, suffix: key.dropFirst(page.prefixLength), value: value, scratch: scratch)
      precondition(fits, "a page with another prefix was measured")
      return
    }
    let rightReference = try allocate()
    let right = DirtyPage(rightReference).page
    if !sharesPrefix {
      startLonelyPage(page, right, at: index, key: key, value: value)
    } else {
      let leftCellCount =
        isRightEdge
        ? count
        : endsRun && fits(page, index, key.count, value.count)
          ? index + 1 : leafSplitPoint(page, index, key.count, value.count)
      scratch.copy(from: page)
      makeSeparator(scratch, leftCellCount, index, key)
      rebuildLeaf(page, 0..<leftCellCount, index, key, value, between: lowerFence.view, separator.view)
      rebuildLeaf(
        right, leftCellCount..<count + 1, index, key, value, between: separator.view, upperFence.view)
    }
    let result = SplitResult(
      right: rightReference, leftCount: UInt64(page.cellCount), rightCount: UInt64(right.cellCount))
    try carryUp(result, from: depth, root: &root)
  }

  /// The keys before and after the page at `depth` that its ancestors hold; empty where the tree is open.
  /// No separator is the empty key: it would separate nothing.
  ///
  /// Throws when the page's keys do not lie between them. Each page may be valid and the tree still be forged; then halves
  /// would not fit, or would lose bytes of keys.
  private func readFences(above depth: Int) throws(PageFault) {
    lowerFence.truncate(to: 0)
    upperFence.truncate(to: 0)
    var hasLower = false
    var hasUpper = false
    for level in (0..<depth).reversed() {
      let step = path[level]
      if !hasLower && step.child >= 0 {
        step.page.appendKey(step.child, to: lowerFence)
        hasLower = true
      }
      if !hasUpper && step.child + 1 < step.page.cellCount {
        step.page.appendKey(step.child + 1, to: upperFence)
        hasUpper = true
      }
      if hasLower && hasUpper { break }
    }
    let page = path[depth].page
    guard page.cellCount > 0 else { return }
    fullKey.truncate(to: 0)
    page.appendKey(0, to: fullKey)
    var isBetween = compareKeys(lowerFence.view, fullKey.view) <= 0
    if hasUpper {
      fullKey.truncate(to: 0)
      page.appendKey(page.cellCount - 1, to: fullKey)
      isBetween = isBetween && compareKeys(fullKey.view, upperFence.view) < 0
    }
    if !isBetween { throw fault(path[depth].reference, .order) }
  }

  /// How many of the cells, the new one included, go to the left, so that both sides are about equally full.
  private func leafSplitPoint(_ page: Page, _ index: Int, _ keyCount: Int, _ valueCount: Int) -> Int {
    let count = page.cellCount
    let added = Page.slotByteCount + 2 + keyCount - page.prefixLength + valueCount
    let total = page.usedByteCount - page.prefixLength + added
    var left = 0
    for cell in 0...count {
      let size = cell == index ? added : page.cellByteCount(cell < index ? cell : cell - 1)
      if left + size / 2 > total / 2 && cell > 0 { return cell }
      left += size
    }
    return count
  }

  /// The shortest key above all keys left of the split and not above any key right of it.
  private func makeSeparator(_ old: Page, _ leftCellCount: Int, _ index: Int, _ key: ByteView) {
    fullKey.truncate(to: 0)
    separator.truncate(to: 0)
    // The last key on the left, then the first on the right, counted with the new cell among the old ones.
    let last = leftCellCount - 1
    if last == index {
      fullKey.append(key)
    } else {
      old.appendKey(last < index ? last : last - 1, to: fullKey)
    }
    if leftCellCount == index {
      separator.append(key)
    } else {
      old.appendKey(leftCellCount < index ? leftCellCount : leftCellCount - 1, to: separator)
    }
    separator.truncate(to: commonPrefixLength(fullKey.view, separator.view) + 1)
  }

  /// Fills a page with some of the cells in `scratch` and the new one, by their numbers in the combined order.
  private func rebuildLeaf(
    _ page: Page, _ cells: Range<Int>, _ index: Int, _ key: ByteView, _ value: ByteView,
    between lower: ByteView, _ upper: ByteView
  ) {
    let prefix = splitPrefix(
      cells, at: index, 2 + key.count - scratch.prefixLength + value.count, between: lower, upper)
    let prefixLength = prefix.count
    page.initialize(kind: scratch.kind, level: 0, prefix: prefix)
    for cell in cells {
      if cell == index {
        let fits = page.insert(
          at: page.cellCount, suffix: key.dropFirst(prefixLength), value: value, scratch: secondScratch)
        precondition(fits, "half of a page and one cell fit into a page")
      } else {
        page.appendCell(cell < index ? cell : cell - 1, of: scratch)
      }
    }
  }

  /// The prefix for a page made of some cells of `scratch` and perhaps the new one, which has `addedByteCount` behind the
  /// present prefix. It is what the separators share, or the present prefix if that is longer and the cells would not fit
  /// without it.
  private func splitPrefix(
    _ cells: Range<Int>, at added: Int, _ addedByteCount: Int, between lower: ByteView, _ upper: ByteView
  ) -> ByteView {
    let shared = commonPrefixLength(lower, upper)
    let growth = scratch.prefixLength - shared
    // Every cell loses as many bytes as the prefix gains.
    if growth <= 0 { return upper.prefix(shared) }
    var needed = shared + cells.count * growth
    for cell in cells {
      needed +=
        cell == added
        ? Page.slotByteCount + addedByteCount : scratch.cellByteCount(cell < added ? cell : cell - 1)
    }
    return needed <= Page.capacity ? upper.prefix(shared) : scratch.prefix
  }

  /// Gives a page the prefix that its keys share with `key`, which comes before or after all of them. False, and nothing
  /// changes, when the page has that prefix already, or a cell with all of `key` would not fit then.
  private func refit(_ page: Page, _ key: ByteView, _ cellByteCount: Int) -> Bool {
    let count = page.cellCount
    fullKey.truncate(to: 0)
    if count > 0 { page.appendKey(0, to: fullKey) }
    let shared = commonPrefixLength(fullKey.view, key)
    // The prefix grows by as much as the suffix of the new cell shrinks.
    let growth = page.prefixLength - shared
    let needed = page.usedByteCount - page.prefixLength + growth * count + Page.slotByteCount + cellByteCount
    guard growth != 0, needed <= Page.capacity else { return false }
    scratch.copy(from: page)
    page.initialize(kind: scratch.kind, level: scratch.level, prefix: fullKey.view.prefix(shared))
    if scratch.isBranch { page.setLeftmost(child: scratch.leftmostChild, count: scratch.leftmostCount) }
    for cell in 0..<count { page.appendCell(cell, of: scratch) }
    return true
  }

  /// A key outside the page's prefix gets a page of its own, left or right of the others.
  private func startLonelyPage(_ page: Page, _ right: Page, at index: Int, key: ByteView, value: ByteView) {
    let old = page.cellCount
    let lonely: Page
    if index == 0 {
      right.copy(from: page)
      fullKey.truncate(to: 0)
      fullKey.append(key)
      separator.truncate(to: 0)
      right.appendKey(0, to: separator)
      lonely = page
    } else {
      fullKey.truncate(to: 0)
      page.appendKey(old - 1, to: fullKey)
      separator.truncate(to: 0)
      separator.append(key)
      lonely = right
    }
    separator.truncate(to: commonPrefixLength(fullKey.view, separator.view) + 1)
    lonely.initialize(kind: page.kind, level: 0, prefix: key.prefix(0))
    _ = lonely.insert(at: 0, suffix: key, value: value, scratch: secondScratch)
  }

  /// Adds the new page of a split to the parent, splitting the parent in turn if it is full; `separator` holds the key between
  /// the halves.
  private func carryUp(_ result: SplitResult, from depth: Int, root: inout TreeRoot) throws(PageFault) {
    var result = result
    var depth = depth
    while depth > 0 {
      let parent = path[depth - 1]
      parent.page.setChild(parent.child, path[depth].reference, count: result.leftCount)
      let position = parent.child + 1
      let prefixLength = parent.page.prefixLength
      let sharesPrefix =
        separator.count >= prefixLength
        && compareKeys(separator.view.prefix(prefixLength), parent.page.prefix) == 0
      if sharesPrefix
        && parent.page.insert(
          at: position, suffix: separator.view.dropFirst(prefixLength), child: result.right,
          count: result.rightCount, scratch: scratch)
      {
        return
      }
      guard let next = try splitBranch(at: depth - 1, position, result, sharesPrefix: sharesPrefix) else { return }
      result = next
      depth -= 1
    }
    let left = path[0].page
    guard left.level + 1 < TreeLimits.maximumDepth else { throw fault(root.reference, .depth) }
    let reference = try allocate()
    let page = DirtyPage(reference).page
    page.initialize(kind: Page.Kind.branch, level: left.level + 1, prefix: separator.view.prefix(0))
    page.setLeftmost(child: path[0].reference, count: result.leftCount)
    _ = page.insert(
      at: 0, suffix: separator.view, child: result.right, count: result.rightCount, scratch: scratch)
    root.reference = reference
  }

  /// Splits the branch at `depth` and adds a child. On entry, `separator` is that child's key; on return, the key between the
  /// two halves. Nil when a new prefix made room without a split.
  private func splitBranch(
    at depth: Int, _ position: Int, _ added: SplitResult, sharesPrefix: Bool
  ) throws(PageFault) -> SplitResult? {
    let page = path[depth].page
    try readFences(above: depth)
    let count = page.cellCount
    let isRightEdge = upperFence.count == 0 && position == count
    if (isRightEdge || !sharesPrefix) && refit(page, separator.view, 16 + separator.count) {
      let fits = page.insert(
        at: position, suffix: separator.view.dropFirst(page.prefixLength), child: added.right,
        count: added.rightCount, scratch: scratch)
      precondition(fits, "a page with another prefix was measured")
      return nil
    }
    let rightReference = try allocate()
    let right = DirtyPage(rightReference).page
    let level = page.level
    if !sharesPrefix {
      if position == 0 {
        right.copy(from: page)
        right.setLeftmost(child: added.right, count: added.rightCount)
        let leftmost = page.leftmostChild
        let leftmostCount = page.leftmostCount
        page.initialize(kind: Page.Kind.branch, level: level, prefix: separator.view.prefix(0))
        page.setLeftmost(child: leftmost, count: leftmostCount)
      } else {
        right.initialize(kind: Page.Kind.branch, level: level, prefix: separator.view.prefix(0))
        right.setLeftmost(child: added.right, count: added.rightCount)
      }
      return SplitResult(right: rightReference, leftCount: page.recordCount, rightCount: right.recordCount)
    }
    // `middle` is the number, in the combined order, of the cell whose key moves up.
    let middle = isRightEdge ? max(count - 1, 1) : branchSplitPoint(page, position)
    scratch.copy(from: page)
    fullKey.truncate(to: 0)
    fullKey.append(separator.view)
    separator.truncate(to: 0)
    let middleChild: UInt64
    let middleCount: UInt64
    if middle == position {
      separator.append(fullKey.view)
      middleChild = added.right
      middleCount = added.rightCount
    } else {
      let cell = middle < position ? middle : middle - 1
      scratch.appendKey(cell, to: separator)
      middleChild = scratch.child(cell)
      middleCount = scratch.childCount(cell)
    }
    let leftmost = (child: scratch.leftmostChild, count: scratch.leftmostCount)
    rebuildBranch(
      page, 0..<middle, position, added, leftmost: leftmost, between: lowerFence.view, separator.view)
    rebuildBranch(
      right, middle + 1..<count + 1, position, added, leftmost: (middleChild, middleCount),
      between: separator.view, upperFence.view)
    return SplitResult(right: rightReference, leftCount: page.recordCount, rightCount: right.recordCount)
  }

  private func branchSplitPoint(_ page: Page, _ position: Int) -> Int {
    let count = page.cellCount
    let added = Page.slotByteCount + 16 + separator.count - page.prefixLength
    let total = page.usedByteCount - page.prefixLength + added
    var left = 0
    for cell in 0...count {
      let size = cell == position ? added : page.cellByteCount(cell < position ? cell : cell - 1)
      if left + size / 2 > total / 2 { return min(max(cell, 1), max(count - 1, 1)) }
      left += size
    }
    return max(count - 1, 1)
  }

  /// `fullKey` holds the key of the added child.
  private func rebuildBranch(
    _ page: Page, _ cells: Range<Int>, _ position: Int, _ added: SplitResult,
    leftmost: (child: UInt64, count: UInt64), between lower: ByteView, _ upper: ByteView
  ) {
    let prefix = splitPrefix(
      cells, at: position, 16 + fullKey.count - scratch.prefixLength, between: lower, upper)
    let prefixLength = prefix.count
    page.initialize(kind: Page.Kind.branch, level: scratch.level, prefix: prefix)
    page.setLeftmost(child: leftmost.child, count: leftmost.count)
    for cell in cells {
      if cell == position {
        let fits = page.insert(
          at: page.cellCount, suffix: fullKey.view.dropFirst(prefixLength), child: added.right,
          count: added.rightCount, scratch: secondScratch)
        precondition(fits, "half of a branch and one cell fit into a page")
      } else {
        page.appendCell(cell < position ? cell : cell - 1, of: scratch)
      }
    }
  }
}
