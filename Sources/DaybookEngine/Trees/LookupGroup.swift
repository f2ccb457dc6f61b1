/// Lookups of several keys in one tree at once: each step of all before the next step of any.
///
///     key a   branches ─► leaf ─► probe ─► probe ─► cell
///     key b   branches ─► leaf ─► probe ─► probe ─► cell     a column waits for memory once
///     key c   branches ─► leaf ─► probe ─► probe ─► cell
///
/// One lookup after the other waits for its leaf, for some of the slots and for the cell, as often as there are lookups (row: query-equal).
/// The memory is kept from one group to the next. It belongs to one thread, and to one reader, whose snapshot or transaction must last.
@safe package struct LookupGroup: ~Copyable {
  /// More than these do not wait together: the processor has no room for more.
  package static let largestCount = 16

  /// Where a key is if the tree has it.
  fileprivate struct Search {
    let reference: UInt64
    /// A root may lie inside a cell of the catalog; a child of a page never does.
    let isRoot: Bool
    /// The leaf, where it is searched with others. A copy is not, nor is a leaf with a delta: the next page that is read may overwrite the
    /// one, and the other is two.
    var page: Page?
    /// The head that is looked for, among those of so many cells from `lower` on.
    var wanted: UInt32 = 0
    var lower = 0
    var length = 0
  }

  private var searches: [Search] = []

  package init() {}

  /// Looks for some keys of a list, no more than `largestCount` of them.
  /// - Parameter places: which of the keys of the list are meant, in the order of `range`; nil for all as they are.
  package mutating func find(
    _ keys: KeyList, _ places: [Int]?, _ range: Range<Int>, in root: TreeRoot, _ reader: TreeReader
  ) throws(PageFault) {
    precondition(range.count <= LookupGroup.largestCount, "a group has a limit")
    searches.removeAll(keepingCapacity: true)
    searches.reserveCapacity(range.count)
    for index in range { searches.append(try LookupGroup.leaf(of: keys[places?[index] ?? index], in: root, reader)) }
    for index in searches.indices where !searches[index].isRoot {
      let place = range.lowerBound &+ index
      try searches[index].open(keys[places?[place] ?? place], reader)
    }
    var isSearching = true
    while isSearching {
      isSearching = false
      for index in searches.indices where searches[index].length > 1 {
        searches[index].halve()
        isSearching = true
      }
    }
    for index in searches.indices { searches[index].close() }
  }

  /// The value of a key of the group; nil when the tree does not have it. Valid until another one is asked for.
  /// - Parameters:
  ///   - index: its number in the group.
  ///   - key: the same that was looked for.
  package func value(_ index: Int, _ key: ByteView, _ reader: TreeReader) throws(PageFault) -> ByteView? {
    let search = searches[index]
    guard let page = search.page else { return try LookupGroup.value(key, on: search, reader) }
    if search.length == 0 { return nil }
    let prefixLength = page.prefixLength
    if key.count < prefixLength { return nil }
    if compareKeys(page.suffix(search.lower), key.dropFirst(prefixLength)) == 0 { return page.value(search.lower) }
    // Several may have the head.
    let (place, isFound) = page.search(key)
    return isFound ? page.value(place) : nil
  }

  /// The way to the leaf of a key.
  private static func leaf(of key: ByteView, in root: TreeRoot, _ reader: TreeReader) throws(PageFault) -> Search {
    let (source, end) = (reader.source, reader.end)
    var reference = root.reference
    if reference == 0 || InlineTree.isInline(reference) { return Search(reference: reference, isRoot: true) }
    var page = try source.page(reference, end: end)
    var depth = 0
    while page.isBranch {
      let level = page.level
      reference = page.child(page.childIndex(for: key))
      depth &+= 1
      if level == 1 {
        source.touchEnds(reference, end: end)
        return Search(reference: reference, isRoot: false)
      }
      page = try source.page(reference, end: end)
      if page.level &+ 1 != level || depth >= TreeLimits.maximumDepth {
        throw PageFault(offset: reference, reason: .level)
      }
    }
    return Search(reference: reference, isRoot: true)
  }

  /// The value of a key on its leaf, for itself.
  private static func value(_ key: ByteView, on leaf: Search, _ reader: TreeReader) throws(PageFault) -> ByteView? {
    let reference = leaf.reference
    if reference == 0 { return nil }
    let page: Page
    if leaf.isRoot {
      page = try reader.source.rootPage(reference, end: reader.end)
    } else {
      if LeafDelta.isDelta(reference) { return try reader.valueBesideLeaf(key, reference) }
      page = try reader.source.page(reference, end: reader.end)
    }
    guard page.level == 0, !page.isBranch else { throw PageFault(offset: reference, reason: .level) }
    let (index, isFound) = page.search(key)
    return isFound ? page.value(index) : nil
  }
}

extension LookupGroup.Search {
  /// Takes up the search in the leaf, if it can be one of a group.
  @inline(__always)
  fileprivate mutating func open(_ key: ByteView, _ reader: TreeReader) throws(PageFault) {
    guard reader.source.isSteady(reference) else { return }
    let page = try reader.source.page(reference, end: reader.end)
    guard page.level == 0, !page.isBranch else { throw PageFault(offset: reference, reason: .level) }
    self.page = page
    let prefixLength = page.prefixLength
    if prefixLength > 0, page.comparePrefix(key, prefixLength) != 0 { return }
    wanted = keyHead(key.dropFirst(prefixLength))
    length = page.cellCount
  }

  /// A step of a binary search on heads (`Page.search`).
  @inline(__always)
  fileprivate mutating func halve() {
    guard let page else { return }
    let half = length &>> 1
    lower &+= page.head(lower &+ half &- 1) < wanted ? half : 0
    length &-= half
  }

  /// Ends it: on the first cell that has the head, which is loaded, or with none.
  @inline(__always)
  fileprivate mutating func close() {
    guard let page, length > 0 else { return }
    let count = page.cellCount
    if page.head(lower) < wanted { lower &+= 1 }
    if lower >= count || page.head(lower) != wanted {
      length = 0
    } else {
      page.touchCell(lower)
    }
  }
}
