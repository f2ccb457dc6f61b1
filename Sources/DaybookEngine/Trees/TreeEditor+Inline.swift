extension TreeEditor {
  /// Writes the value of a catalog cell, with small trees inside it: the smallest first, as long as there is room.
  /// - Returns: whether a tree is inside now. Its pages in memory are gone, and its root has to be read again.
  package func encodeCatalogValue(
    roots: [TreeRoot], ownerBytes: ByteView, keyByteCount: Int, into buffer: ByteBuffer
  ) throws(PageFault) -> Bool {
    var room = TreeLimits.maximumCellByteCount - keyByteCount
    room -= CatalogValue.headerByteCount + roots.count * TreeRoot.encodedByteCount + ownerBytes.count
    var chosen: UInt64 = 0
    while let next = smallest(roots, notIn: chosen), next.byteCount <= room {
      chosen |= 1 << UInt64(next.index)
      room -= next.byteCount
    }
    buffer.truncate(to: 0)
    CatalogValue.appendHeader(rootCount: roots.count, ownerByteCount: ownerBytes.count, to: buffer)
    var position = CatalogValue.headerByteCount + roots.count * TreeRoot.encodedByteCount + ownerBytes.count
    for index in roots.indices {
      var root = roots[index]
      if chosen & 1 << UInt64(index) != 0 {
        let byteCount = inlineByteCount(root) ?? 0
        root.reference = InlineTree.reference(position: position, byteCount: byteCount)
        root.pageCount = 0
        position += byteCount
      } else if InlineTree.isInline(root.reference) {
        root = try expanded(root)
      }
      root.append(to: buffer)
    }
    buffer.append(ownerBytes)
    for index in roots.indices where chosen & 1 << UInt64(index) != 0 {
      let root = roots[index]
      let isInside = InlineTree.isInline(root.reference)
      let packed = secondScratch
      packed.copy(from: try rootPage(root.reference))
      packed.compact(scratch: scratch)
      InlineTree.append(packed, to: buffer)
      if !isInside { discard(root.reference) }
    }
    return chosen != 0
  }

  /// A root page that may be changed in place.
  @inline(__always)
  func writableRoot(_ reference: UInt64) throws(PageFault) -> UInt64 {
    if !InlineTree.isInline(reference) { return try writable(reference) }
    let original = try rootPage(reference)
    let copy = try allocate()
    DirtyPage(copy).page.copy(from: original)
    return copy
  }

  private func rootPage(_ reference: UInt64) throws(PageFault) -> Page {
    do { return try source.rootPage(reference, end: end) } catch {
      isFaulty = true
      throw error
    }
  }

  /// Moves a tree out of a cell in which it has no room any more.
  private func expanded(_ root: TreeRoot) throws(PageFault) -> TreeRoot {
    TreeRoot(reference: try writableRoot(root.reference), count: root.count, pageCount: 1)
  }

  /// The bytes that a tree would take inside a cell; nil when it is not a single leaf, or a leaf of the file, which stays
  /// there.
  private func inlineByteCount(_ root: TreeRoot) -> Int? {
    if InlineTree.isInline(root.reference) { return InlineTree.byteCount(root.reference) }
    guard root.reference & PageSource.memoryTag != 0 else { return nil }
    let page = DirtyPage(root.reference).page
    return page.kind == Page.Kind.leaf ? InlineTree.byteCount(of: page) : nil
  }

  private func smallest(_ roots: [TreeRoot], notIn chosen: UInt64) -> (index: Int, byteCount: Int)? {
    var best: (index: Int, byteCount: Int)?
    for index in roots.indices where chosen & 1 << UInt64(index) == 0 {
      let root = roots[index]
      guard root.reference != 0, let byteCount = inlineByteCount(root), byteCount < best?.byteCount ?? .max else { continue }
      best = (index, byteCount)
    }
    return best
  }
}
