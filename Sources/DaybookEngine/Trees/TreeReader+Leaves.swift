import Synchronization

/// Lookups of several keys at once, in two steps: first the way to the leaf of each, then the search in each leaf.
///
///     leaf a ──► loads ───┐
///     leaf b ──► loads ───┤  at the same time
///     leaf c ──► loads ───┘        search a, search b, search c
///
/// One lookup after the other waits for memory as often as there are lookups (row: query-equal).
extension TreeReader {
  /// Where a key is if the tree has it: on a leaf, or in the delta beside one.
  package struct LeafReference {
    fileprivate let reference: UInt64
    /// A root may lie inside a cell of the catalog; a child of a page never does.
    fileprivate let isRoot: Bool
  }

  /// The leaf of a key. What a search there will read is on its way to the processor afterwards.
  package func leaf(of key: ByteView, in root: TreeRoot) throws(PageFault) -> LeafReference {
    var reference = root.reference
    if reference == 0 || InlineTree.isInline(reference) { return LeafReference(reference: reference, isRoot: true) }
    var page = try source.page(reference, end: end)
    var depth = 0
    while page.isBranch {
      let level = page.level
      reference = page.child(page.childIndex(for: key))
      depth &+= 1
      if level == 1 {
        source.touch(reference, end: end)
        return LeafReference(reference: reference, isRoot: false)
      }
      page = try source.page(reference, end: end)
      if page.level &+ 1 != level || depth >= TreeLimits.maximumDepth {
        throw PageFault(offset: reference, reason: .level)
      }
    }
    return LeafReference(reference: reference, isRoot: true)
  }

  /// The value of a key on its leaf; nil when the tree does not have it.
  package func value(_ key: ByteView, on leaf: LeafReference) throws(PageFault) -> ByteView? {
    let reference = leaf.reference
    if reference == 0 { return nil }
    let page: Page
    if leaf.isRoot {
      page = try source.rootPage(reference, end: end)
    } else {
      if LeafDelta.isDelta(reference) { return try valueBesideLeaf(key, reference) }
      page = try source.page(reference, end: end)
    }
    guard page.level == 0, !page.isBranch else { throw PageFault(offset: reference, reason: .level) }
    let (index, isFound) = page.search(key)
    return isFound ? page.value(index) : nil
  }

  /// Loads the beginning of an operation, so that reading it soon will not wait for memory.
  @inline(__always)
  package func touch(_ place: Place) {
    if source.isBuffered { return }
    let end = place.offset &+ UInt64(min(place.byteCount, 512))
    guard place.offset < end, end <= self.end else { return }
    var line = place.offset & ~63
    while line < end {
      // Safe: the range lies below the verified end, which is mapped. Atomic, because the compiler would remove a plain load
      // whose result is not used.
      _ = unsafe (source.base + Int(line)).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .relaxed)
      line &+= 64
    }
  }
}
