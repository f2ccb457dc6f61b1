/// Ascending keys of a tree, without a descent for each: the path of the one before is theirs, too, while they come after all others
/// of its leaf and before the key that ends it.
///
/// Loads in the order of keys, images, indexes that are built of sorted entries, and a replay, which puts each tree's entries
/// in order, come so (rows: kv-load-sequential-unsynced, record-open-after-kill-64-mb).
///
/// Always true while `edgeRoot` is not zero: `path` leads from that root to a leaf, all of its pages are of this edit since its
/// innermost savepoint, the leaf's last key came by a descent, and `edgeFence` is the key after which another leaf begins, or empty.
/// Whatever else changes trees, frees pages or moves the mark forgets it.
extension TreeEditor {
  /// Puts a key at the end of the leaf that took the one before; false, and nothing changes, when it does not belong there or has no room.
  @inline(__always)
  func putAtEdge(_ key: ByteView, _ value: ByteView, asCatalog: Bool, in root: inout TreeRoot) -> Bool {
    let leaf = path[path.count &- 1].page
    let count = leaf.cellCount
    guard (leaf.kind == Page.Kind.catalogLeaf) == asCatalog, count > 0, let suffix = leaf.suffix(ofKey: key),
      compareKeys(leaf.suffix(count &- 1), suffix) < 0 || isMutant("edge-takes-any-key"),
      edgeFence.count == 0 || compareKeys(key, edgeFence.view) < 0 || isMutant("edge-without-fence"),
      leaf.insert(at: count, suffix: suffix, value: value, scratch: scratch)
    else { return false }
    root.count &+= 1
    addToCounts(1)
    return true
  }

  /// Called when a key has been put as the last of its leaf, in a page, and the one before came to that leaf, too.
  func rememberEdge(of root: TreeRoot) {
    edgeFence.truncate(to: 0)
    var depth = path.count &- 2
    while depth >= 0 {
      let step = path[depth]
      if step.child &+ 1 < step.page.cellCount {
        step.page.appendKey(step.child &+ 1, to: edgeFence)
        break
      }
      depth &-= 1
    }
    edgeRoot = root.reference
  }
}

extension Page {
  /// What follows the page's prefix in a key that begins with it.
  @inline(__always)
  func suffix(ofKey key: ByteView) -> ByteView? {
    let length = prefixLength
    guard key.count >= length, length == 0 || compareKeys(key.prefix(length), prefix) == 0 else { return nil }
    return key.dropFirst(length)
  }
}
