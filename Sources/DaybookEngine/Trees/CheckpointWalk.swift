/// Visits the pages of a version that are not in the file yet, children before parents.
///
/// A checkpoint writes them in small frames between commits, so the walk can stop after any page and continue later: its
/// position is an explicit stack. The version stays pinned in the meantime, so no page that it visits changes or goes away.
/// Catalog leaves hold the roots of other trees, which count as children.
///
/// Always true: when a page is returned, every page below it has its file offset.
struct CheckpointWalk {
  private struct Step {
    var reference: UInt64
    var cell: Int
    var root: Int
  }

  private var roots: [TreeRoot]
  private var nextRoot = 0
  private var stack: [Step] = []

  init(roots: [TreeRoot]) { self.roots = roots }

  /// The next page to write; nil when all are written. The caller sets its file offset before asking again.
  mutating func next() -> UInt64? {
    while true {
      guard let top = stack.last else {
        guard nextRoot < roots.count else { return nil }
        visit(roots[nextRoot].reference)
        nextRoot += 1
        continue
      }
      if LeafDelta.isDelta(top.reference) {
        stack.removeLast()
        return top.reference
      }
      let page = DirtyPage(top.reference).page
      if page.isBranch {
        if top.cell < page.cellCount {
          stack[stack.count - 1].cell += 1
          visit(page.child(top.cell))
          continue
        }
      } else if page.kind == Page.Kind.catalogLeaf, top.cell < page.cellCount {
        let value = CatalogValue(page.value(max(top.cell, 0)))
        if top.cell < 0 || top.root >= value.rootCount {
          stack[stack.count - 1].cell += 1
          stack[stack.count - 1].root = 0
        } else {
          stack[stack.count - 1].root += 1
          visit(value.root(top.root).reference)
        }
        continue
      }
      stack.removeLast()
      return top.reference
    }
  }

  private mutating func visit(_ reference: UInt64) {
    guard reference & PageSource.memoryTag != 0, DirtyPage(reference).fileOffset == 0 else { return }
    // A branch starts at its leftmost child, number -1.
    stack.append(Step(reference: reference, cell: -1, root: 0))
  }
}

extension Page {
  /// Calls `body` with each reference that this page holds, and stores what it returns where it differs.
  func replaceReferences(_ body: (UInt64) -> UInt64) {
    if isBranch {
      for index in -1..<cellCount {
        let old = child(index)
        let new = body(old)
        if new != old { setChild(index, new, count: childCount(index)) }
      }
    } else if kind == Kind.catalogLeaf {
      for cell in 0..<cellCount {
        let value = CatalogValue(value(cell))
        for root in 0..<value.rootCount {
          let old = value.root(root).reference
          let new = body(old)
          if new != old { CatalogValue.setReference(new, root: root, cell: cell, of: self) }
        }
      }
    }
  }
}

extension PageSource {
  /// Writes the image of a dirty page, or of a leaf with its delta, for a file at `offset`: cells in slot order without holes, the
  /// checksum set. Free space is zeroed, so that neither unused memory nor removed records get into the file.
  /// - Parameter place: where a child is in the file.
  func encode(
    _ reference: UInt64, into target: Page, end: UInt64, scratch: Page, salt: UInt64, offset: UInt64,
    place: (UInt64) -> UInt64
  ) throws(PageFault) {
    if LeafDelta.isDelta(reference) {
      try merge(reference, into: target, end: end, scratch: scratch)
    } else {
      target.copy(from: DirtyPage(reference).page)
    }
    target.compact(scratch: scratch)
    target.clearFreeBytes()
    target.replaceReferences(place)
    target.sealChecksum(salt: salt, offset: offset)
  }
}

extension TreeEditor {
  /// Writes the image of a dirty page for the file at `offset`, and notes that it is there.
  func encodeForFile(_ reference: UInt64, into target: Page, offset: UInt64) throws(PageFault) {
    try source.encode(reference, into: target, end: end, scratch: scratch, salt: source.salt, offset: offset) { child in
      child & PageSource.memoryTag == 0 ? child : DirtyPage(child).fileOffset
    }
    DirtyPage(reference).fileOffset = offset
  }

  /// Writes zeros, which fail every check, in the place of a leaf that cannot be written.
  func encodeDamage(_ reference: UInt64, into target: Page, offset: UInt64) {
    // Safe: the caller's page of memory.
    unsafe RawMemory.zero(target.base, byteCount: Page.byteCount)
    DirtyPage(reference).fileOffset = offset
  }

  /// After a checkpoint: the tree with file offsets for all pages that were written. Branches newer than the checkpoint are
  /// copied, because published pages never change.
  package func exchangeWritten(_ reference: UInt64) throws(PageFault) -> UInt64 {
    guard reference & PageSource.memoryTag != 0 else { return reference }
    let meta = DirtyPage(reference)
    if meta.fileOffset != 0 { return meta.fileOffset }
    if LeafDelta.isDelta(reference) { return reference }
    let page = meta.page
    if page.kind == Page.Kind.leaf { return reference }
    var replacements: [UInt64: UInt64] = [:]
    var references: [UInt64] = []
    page.replaceReferences { child in
      references.append(child)
      return child
    }
    for child in references {
      let replaced = try exchangeWritten(child)
      if replaced != child { replacements[child] = replaced }
    }
    if replacements.isEmpty { return reference }
    let copy = try writable(reference)
    DirtyPage(copy).page.replaceReferences { replacements[$0] ?? $0 }
    return copy
  }

  /// Retires the memory of pages that are in the file now, unless a newer version has replaced them already.
  func retireWritten(_ references: [UInt64]) {
    for reference in references where !DirtyPage(reference).isRetired {
      retire(reference)
      // The page leaves memory but stays in its tree.
      pageBalanceCorrection()
    }
  }
}
