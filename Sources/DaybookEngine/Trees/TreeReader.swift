import Synchronization

/// Looks things up in the trees of one version. Each lookup has its descent written out: a descent that they shared would be a
/// closure or a generic call on the path of a get.
///
/// Valid as long as the snapshot or transaction that it came from.
@safe package struct TreeReader: Sendable {
  package let source: PageSource
  /// The first byte behind what this version may read.
  package let end: UInt64

  package init(source: PageSource, end: UInt64) {
    self.source = source
    self.end = end
  }

  /// The value of a key; nil when the tree does not hold it.
  /// - Complexity: one page a level, about four for a million records.
  package func value(_ key: ByteView, in root: TreeRoot) throws(PageFault) -> ByteView? {
    if root.reference == 0 { return nil }
    var reference = root.reference
    var page = try source.rootPage(reference, end: end)
    var depth = 0
    while page.isBranch {
      let level = page.level
      reference = page.child(page.childIndex(for: key))
      if level == 1, LeafDelta.isDelta(reference) { return try valueBesideLeaf(key, reference) }
      page = try source.page(reference, end: end)
      if level == 1 { page.touch() }
      depth &+= 1
      if page.level &+ 1 != level || depth >= TreeLimits.maximumDepth {
        throw PageFault(offset: reference, reason: .level)
      }
    }
    let (index, isFound) = page.search(key)
    return isFound ? page.value(index) : nil
  }

  /// The value of a key in a catalog. Throws where the tree is not a catalog: then nothing has checked the roots in the value.
  package func catalogValue(_ key: ByteView, in root: TreeRoot) throws(PageFault) -> CatalogValue? {
    if root.reference == 0 { return nil }
    var reference = root.reference
    var page = try source.page(reference, end: end)
    var depth = 0
    while page.isBranch {
      let level = page.level
      reference = page.child(page.childIndex(for: key))
      page = try source.page(reference, end: end)
      depth += 1
      if page.level + 1 != level || depth >= TreeLimits.maximumDepth {
        throw PageFault(offset: reference, reason: .level)
      }
    }
    guard page.kind == Page.Kind.catalogLeaf else { throw PageFault(offset: reference, reason: .kind) }
    let (index, isFound) = page.search(key)
    return isFound ? catalogValue(page.value(index), on: page, reference) : nil
  }

  /// A catalog value on the page with this reference. Where the file is not mapped, the page may be a copy that is soon
  /// overwritten; then the trees inside the value are found by its place in the file, or in the page that was copied.
  @inline(__always)
  func catalogValue(_ value: ByteView, on page: Page, _ reference: UInt64) -> CatalogValue {
    guard source.isBuffered else { return unsafe CatalogValue(value, place: InlineTree.place(ofAddress: value.base)) }
    let position = unsafe UInt64(value.base - UnsafeRawPointer(page.base))
    let isInMemory = reference & PageSource.memoryTag != 0
    let place = (reference & ~PageSource.memoryTag) + position
    return CatalogValue(value, place: isInMemory ? place | InlineTree.addressTag : place)
  }

  /// How many keys of the tree sort before `key`.
  /// - Complexity: O(log n): branches know how many records lie below each child.
  package func rank(of key: ByteView, in root: TreeRoot) throws(PageFault) -> UInt64 {
    if root.reference == 0 { return 0 }
    var page = try source.rootPage(root.reference, end: end)
    // Of the page: so many records are below it.
    var count = root.count
    var total: UInt64 = 0
    var depth = 0
    while page.isBranch {
      let index = page.childIndex(for: key)
      let below = page.childCount(index)
      // The shorter way: what is left of the child, or what is right of it.
      if index < page.cellCount / 2 {
        for left in -1..<max(index, -1) { total &+= page.childCount(left) }
      } else {
        total &+= count &- below
        for right in index + 1..<max(page.cellCount, index + 1) { total &-= page.childCount(right) }
      }
      count = below
      let level = page.level
      let reference = page.child(index)
      page = try source.page(reference, end: end)
      depth += 1
      if page.level + 1 != level || depth >= TreeLimits.maximumDepth {
        throw PageFault(offset: reference, reason: .level)
      }
    }
    // Counts of a forged tree may say anything.
    return min(total &+ UInt64(page.search(key).index), root.count)
  }

  /// The number of keys in `lower ..< upper`; nil bounds are open.
  package func count(from lower: ByteView?, to upper: ByteView?, in root: TreeRoot) throws(PageFault) -> UInt64 {
    let end = upper == nil ? root.count : try rank(of: upper!, in: root)
    let start = lower == nil ? 0 : try rank(of: lower!, in: root)
    return end > start ? end - start : 0
  }

  package func cursor(in root: TreeRoot) -> Cursor { Cursor(reader: self, root: root) }

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
