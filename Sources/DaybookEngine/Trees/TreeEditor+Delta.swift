/// Changes to a leaf of the file without copying it: they are kept in a `LeafDelta` beside it.
///
///     branch (in memory) ──► delta ──► leaf of the file
///
/// Only children of a branch have deltas, never roots, and never leaves of a catalog, whose values a checkpoint must follow. A
/// change that does not fit, or would leave the leaf nearly empty, is made in a page in memory as usual: `writable` merges leaf
/// and delta.
///
/// On entry, the path ends with the branch above the leaf; a change adds the leaf's step to it.
extension TreeEditor {
  /// The leaf that a delta may change, and its delta; nil if it is a page in memory, or not a leaf.
  private func leafForDelta() throws(PageFault) -> (page: Page, reference: UInt64, delta: LeafDelta?)? {
    let parent = path[path.count &- 1]
    let reference = parent.page.child(parent.child)
    let isDelta = LeafDelta.isDelta(reference)
    if !isDelta && reference & PageSource.memoryTag != 0 { return nil }
    let delta = isDelta ? LeafDelta(reference) : nil
    delta?.touch()
    let page = try page(delta?.leaf ?? reference)
    page.touch()
    return page.kind == Page.Kind.leaf && page.level == 0 ? (page, reference, delta) : nil
  }

  /// Puts a value under a key of the leaf at the end of the path. Returns whether the key is new, or nil when the change needs
  /// a page.
  func putInDelta(_ key: ByteView, _ value: ByteView, old: ByteBuffer?) throws(PageFault) -> Bool? {
    guard let (leaf, reference, delta) = try leafForDelta() else { return nil }
    let position = delta?.position(of: key, in: leaf) ?? LeafDelta.position(of: key, in: leaf)
    let index = position.entry
    let present: ByteView?
    if let delta, position.hasEntry {
      present = delta.isRemoved(index) ? nil : delta.value(index)
    } else {
      present = position.isInLeaf ? leaf.value(position.cell) : nil
    }
    if let delta, position.hasEntry, let present, present.count == value.count, isOwn(reference) {
      old?.append(present)
      delta.overwriteValue(at: index, with: value)
      return false
    }
    var suffix = key.prefix(0)
    var added: Int
    if position.isInLeaf {
      added = value.count - leaf.value(position.cell).count
      if added != 0 { suffix = leaf.suffix(position.cell) }
      added = max(added, 0)
    } else {
      guard let rest = leaf.suffix(ofKey: key) else { return nil }
      suffix = rest
      added = Page.slotByteCount + 2 + suffix.count + value.count
    }
    guard leaf.usedByteCount + (delta?.addedByteCount ?? 0) + added <= Page.capacity else { return nil }
    let needed = LeafDelta.entryByteCount + 2 + suffix.count + value.count
    let oldCount = old?.count ?? 0
    if let present { old?.append(present) }
    let dropped = position.hasEntry ? index : nil
    guard let target = try writableDelta(reference, delta, needed: needed, leavingOut: dropped) else {
      old?.truncate(to: oldCount)
      return nil
    }
    let changed = LeafDelta(target)
    changed.insert(at: index, order: position.order, suffix: suffix, value: value)
    changed.addedByteCount += added
    stand(on: target, leaf)
    return present == nil
  }

  /// Removes an existing key from the leaf at the end of the path; false when the change needs a page.
  func removeInDelta(_ key: ByteView, old: ByteBuffer?) throws(PageFault) -> Bool {
    guard let (leaf, reference, delta) = try leafForDelta() else { return false }
    let position = delta?.position(of: key, in: leaf) ?? LeafDelta.position(of: key, in: leaf)
    let index = position.entry
    let removed = position.isInLeaf ? leaf.cellByteCount(position.cell) : 0
    // Without the prefix, which does not depend on the number of cells.
    let remaining = leaf.usedByteCount - leaf.prefixLength - (delta?.removedByteCount ?? 0) - removed
    guard remaining >= TreeEditor.minimumUsedByteCount else { return false }
    let oldCount = old?.count ?? 0
    if let delta, position.hasEntry { old?.append(delta.value(index)) } else { old?.append(leaf.value(position.cell)) }
    let dropped = position.hasEntry ? index : nil
    let needed = position.isInLeaf ? LeafDelta.entryByteCount : 0
    guard let target = try writableDelta(reference, delta, needed: needed, leavingOut: dropped) else {
      old?.truncate(to: oldCount)
      return false
    }
    if position.isInLeaf {
      let changed = LeafDelta(target)
      changed.insert(at: index, order: position.order, suffix: key.prefix(0), value: nil)
      changed.removedByteCount += removed
    }
    stand(on: target, leaf)
    return true
  }

  private func isOwn(_ reference: UInt64) -> Bool {
    DirtyPage(reference).mark >= mark || isMutant("change-published-delta")
  }

  /// A delta of this edit with room for `needed` bytes, without one of its entries; nil when it would be too large.
  private func writableDelta(_ reference: UInt64, _ delta: LeafDelta?, needed: Int, leavingOut dropped: Int?) throws(PageFault)
    -> UInt64?
  {
    let used = delta?.usedByteCount(leavingOut: dropped) ?? 0
    guard let number = LeafDelta.classNumber(for: used + needed) else { return nil }
    if let delta, isOwn(reference), delta.freeByteCount + (dropped == nil ? 0 : LeafDelta.entryByteCount) >= needed {
      if let dropped { delta.remove(at: dropped) }
      return reference
    }
    let target = try allocateDelta(classNumber: number)
    if let delta {
      LeafDelta(target).copy(from: delta, leavingOut: dropped, needed: needed)
    } else {
      LeafDelta(target).initialize(leaf: reference)
    }
    discard(reference)
    return target
  }

  private func stand(on reference: UInt64, _ leaf: Page) {
    let parent = path[path.count &- 1]
    if parent.page.child(parent.child) != reference {
      parent.page.setChild(parent.child, reference, count: parent.page.childCount(parent.child))
    }
    path.append(Step(page: leaf, reference: reference, child: 0))
  }
}

extension TreeReader {
  /// The value of a key in a leaf that has a delta.
  @inline(never)
  func valueBesideLeaf(_ key: ByteView, _ reference: UInt64) throws(PageFault) -> ByteView? {
    let delta = LeafDelta(reference)
    let leaf = try source.page(delta.leaf, end: end)
    guard leaf.level == 0 else { throw PageFault(offset: delta.leaf, reason: .level) }
    let position = delta.position(of: key, in: leaf)
    if position.hasEntry { return delta.isRemoved(position.entry) ? nil : delta.value(position.entry) }
    return position.isInLeaf ? leaf.value(position.cell) : nil
  }
}

extension PageSource {
  /// The merged page of a leaf and its delta, in memory of the present thread.
  @inline(never)
  func mergedPage(_ reference: UInt64, _ end: UInt64) throws(PageFault) -> Page {
    let scratch = ThreadScratch.current
    // A page that is not mapped is already a copy.
    if !isInPlace(LeafDelta(reference).leaf) {
      let copy = try page(LeafDelta(reference).leaf, end: end)
      LeafDelta(reference).merge(into: copy, scratch: unsafe Page(scratch.workPage))
      return copy
    }
    let target = unsafe Page(scratch.nextPage())
    try merge(reference, into: target, end: end, scratch: unsafe Page(scratch.workPage))
    return target
  }

  /// Merges a leaf and its delta into `target`. The copy of the leaf is checked, because the result may get a new checksum.
  func merge(_ reference: UInt64, into target: Page, end: UInt64, scratch: Page) throws(PageFault) {
    let delta = LeafDelta(reference)
    let leaf = try page(delta.leaf, end: end)
    try copyPage(leaf, delta.leaf, to: target)
    if isMutant("write-leaf-without-delta") { return }
    delta.merge(into: target, scratch: scratch)
  }
}
