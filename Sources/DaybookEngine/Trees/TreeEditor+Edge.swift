/// Ascending keys after all others of a tree, without a descent for each: the path of the one before is theirs, too.
///
/// Loads in the order of keys, images, and indexes that are built of sorted entries come so (row: kv-load-sequential-unsynced).
///
/// Always true while `edgeRoot` is not zero: `path` leads from that root over the last child of each branch to a leaf, and all of
/// these are pages of this edit since its innermost savepoint. Whatever else changes trees, frees pages or moves the mark forgets it.
extension TreeEditor {
  /// Puts a key after the last one of the tree; false, and nothing changes, when it does not belong there or has no room.
  @inline(__always)
  func putAtEdge(_ key: ByteView, _ value: ByteView, asCatalog: Bool, in root: inout TreeRoot) -> Bool {
    let leaf = path[path.count &- 1].page
    let count = leaf.cellCount
    guard (leaf.kind == Page.Kind.catalogLeaf) == asCatalog, count > 0, let suffix = leaf.suffix(ofKey: key),
      compareKeys(leaf.suffix(count &- 1), suffix) < 0 || isMutant("edge-takes-any-key"),
      leaf.insert(at: count, suffix: suffix, value: value, scratch: scratch)
    else { return false }
    root.count &+= 1
    addToCounts(1)
    return true
  }

  /// Called when a key has been put as the last of its leaf, in a page: remembers the path when no other leaf follows.
  @inline(__always)
  func rememberEdge(of root: TreeRoot) {
    for depth in 0..<path.count &- 1 where path[depth].child &+ 1 != path[depth].page.cellCount { return }
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
