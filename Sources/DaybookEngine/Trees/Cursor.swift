/// Walks a tree in key order, both ways.
///
///     var cursor = reader.cursor(in: root)          in front of the first record
///     try cursor.start(at: key)                     or in front of the first whose key is not below a key
///     while try cursor.next() { … cursor.value … }
///
/// A cursor is on a record, before the first, or behind the last. It reads one version; a transaction that changes the tree
/// makes a new cursor afterwards. The leaf under the cursor is kept apart from the path of branches above it, so a step inside
/// a leaf is one addition and one comparison (row: scan).
///
/// Where the file is not mapped, leaf and path are the cursor's own copies: a walk may last for hours and holds nothing of the
/// cache. So do not copy a cursor while it is on a record.
///
/// Always true while `isValid`: `index` names a cell of `leaf`, and `path` leads from the root to it.
package struct Cursor {
  private struct Step {
    var page: Page
    var index: Int
  }

  let reader: TreeReader
  private let root: TreeRoot
  private var path: [Step] = []
  /// Nil as long as all pages can be read in place: the file is mapped, the root is not inline, and no leaf had a delta yet.
  private var copies: PageCopies?
  private var keepsCopies: Bool
  /// Whether a leaf of the file is checked in the copy.
  private var checksCopies = false
  var leaf: Page
  /// The reference of the page that was read last: the leaf, while the cursor is on a record.
  private var reference: UInt64 = 0
  var leafCellCount = 0
  var index = 0
  private(set) package var isValid = false
  /// What `next` does where the cursor is on no record.
  private var entry = Entry.first
  private enum Entry {
    /// Goes to the first record: nobody has moved the cursor yet.
    case first
    /// Stays where `start` has searched.
    case found
    /// Nothing: the walk has ended.
    case none
  }

  init(reader: TreeReader, root: TreeRoot) {
    self.reader = reader
    self.root = root
    keepsCopies = reader.source.isBuffered || InlineTree.isInline(root.reference)
    copies = keepsCopies ? PageCopies() : nil
    // Safe: never read; the first move replaces it.
    unsafe leaf = Page(reader.source.base)
  }

  /// Moves to the first record whose key is not below `key`; false when there is none.
  @discardableResult
  package mutating func seek(_ key: ByteView) throws(PageFault) -> Bool {
    guard var page = try rootPage() else { return false }
    while page.isBranch {
      let child = page.childIndex(for: key)
      page = try descend(from: page, to: child)
    }
    try stand(on: page, at: page.search(key).index)
    if isValid { return true }
    guard try advance() else { return false }
    // A forged branch may name a leaf that has only smaller keys: a caller that goes on by seeking would loop without end.
    if compareKey(with: key) < 0 { throw endOutOfOrder() }
    return true
  }

  /// Moves to the first record; false in an empty tree.
  @discardableResult
  package mutating func first() throws(PageFault) -> Bool {
    guard let page = try rootPage() else { return false }
    try stand(on: leftmostLeaf(below: page), at: 0)
    return isValid ? true : try advance()
  }

  /// Moves to the last record; false in an empty tree.
  @discardableResult
  package mutating func last() throws(PageFault) -> Bool {
    guard let page = try rootPage() else { return false }
    let lastLeaf = try rightmostLeaf(below: page)
    try stand(on: lastLeaf, at: lastLeaf.cellCount - 1)
    return isValid ? true : try retreat()
  }

  /// Moves to the last record whose key is below `key`; false when there is none.
  @discardableResult
  package mutating func seek(before key: ByteView) throws(PageFault) -> Bool {
    guard try seek(key) ? previous() : last() else { return false }
    if compareKey(with: key) >= 0 { throw endOutOfOrder() }
    return true
  }

  /// Moves in front of the first record whose key is not below `key`: `next` goes there.
  package mutating func start(at key: ByteView) throws(PageFault) {
    if try seek(key) { entry = .found }
    isValid = false
  }

  /// Moves to the next record, from a new cursor to the first; false behind the last.
  @discardableResult
  @inline(__always)
  package mutating func next() throws(PageFault) -> Bool {
    if !isValid { return try enter() }
    index &+= 1
    return index < leafCellCount ? true : try advance()
  }

  @inline(never)
  mutating func enter() throws(PageFault) -> Bool {
    switch entry {
    case .first: return try first()
    case .found:
      entry = .none
      isValid = true
      return true
    case .none: return false
    }
  }

  /// Moves to the record before; false, and on no record, in front of the first.
  @discardableResult
  package mutating func previous() throws(PageFault) -> Bool {
    if !isValid { return false }
    index -= 1
    return index >= 0 ? true : try retreat()
  }

  // What looks at the record is mutating: for a function that is not, a build without optimisation copies the cursor first, and
  // counts its references (row: kv-scan-step).

  /// The value under the cursor; valid as long as its version.
  package var value: ByteView {
    @inline(__always)
    mutating get {
      precondition(isValid, "a value is read where a cursor stands on a record")
      return leaf.value(index)
    }
  }

  /// Whether values here begin with the roots of other trees.
  var isInCatalog: Bool { leaf.kind == Page.Kind.catalogLeaf }

  /// The value under the cursor as a value of a catalog. Throws where the tree is not a catalog: then nothing has checked the
  /// roots in the value.
  package var catalogValue: CatalogValue {
    mutating get throws(PageFault) {
      if !isInCatalog { throw reader.fault(in: root, .kind) }
      return reader.catalogValue(value, on: leaf, reference)
    }
  }

  /// How long the key under the cursor is.
  package var keyByteCount: Int {
    @inline(__always)
    mutating get {
      precondition(isValid, "a key is measured where a cursor stands on a record")
      return leaf.prefixLength &+ leaf.suffix(index).count
    }
  }

  /// Puts the key under the cursor into `buffer`, replacing what is there.
  package mutating func key(into buffer: ByteBuffer) {
    precondition(isValid, "a key is read where a cursor stands on a record")
    buffer.truncate(to: 0)
    leaf.appendKey(index, to: buffer)
  }

  /// Compares the key under the cursor with another key.
  package mutating func compareKey(with other: ByteView) -> Int {
    precondition(isValid, "a key is compared where a cursor stands on a record")
    let prefix = leaf.prefix
    let shared = min(prefix.count, other.count)
    let order = compareKeys(prefix.prefix(shared), other.prefix(shared))
    if order != 0 { return order }
    if other.count < prefix.count { return 1 }
    return compareKeys(leaf.suffix(index), other.dropFirst(prefix.count))
  }

  /// Moves to the first record whose key is not below one that comes after the cursor's place: as `seek`, but in the same leaf if it is there.
  @discardableResult
  package mutating func seek(onTo key: ByteView) throws(PageFault) -> Bool {
    if isValid {
      let found = leaf.search(key).index
      if found < leafCellCount {
        index = max(index, found)
        return true
      }
    }
    return try seek(key)
  }

  /// From here on, leaves are read in copies, and those of the file are checked there: for a caller that makes new pages of them, which get
  /// checksums of their own.
  package mutating func readInCheckedCopies() {
    precondition(!isValid, "a cursor is told so before it is on a record")
    keepsCopies = true
    checksCopies = true
    if copies == nil { copies = PageCopies() }
  }

  // MARK: moving between leaves

  private mutating func rootPage() throws(PageFault) -> Page? {
    path.removeAll(keepingCapacity: true)
    isValid = false
    entry = .none
    reference = root.reference
    return reference == 0 ? nil : try reader.source.rootPage(reference, end: reader.end)
  }

  /// The page, kept for more than a few calls; the leaf is number 0, the root 1.
  @inline(__always)
  private mutating func kept(_ page: Page, as number: Int) -> Page {
    if !keepsCopies {
      guard reader.source.isBuffered else { return page }
      // A transaction's cursor: the transaction has outgrown the mapping since.
      keepsCopies = true
      if copies == nil { copies = PageCopies() }
    }
    return copies.map { $0.keep(page, as: number) } ?? page
  }

  private mutating func stand(on page: Page, at index: Int) throws(PageFault) {
    if LeafDelta.isDelta(reference), !keepsCopies, !isMutant("keep-merged-leaf") {
      let copies = copies ?? PageCopies()
      self.copies = copies
      leaf = copies.keep(page, as: 0)
    } else {
      leaf = kept(page, as: 0)
      if checksCopies { try reader.source.checkCopy(leaf, of: reference) }
    }
    leafCellCount = page.cellCount
    self.index = index
    isValid = index >= 0 && index < leafCellCount
  }

  private mutating func descend(from page: Page, to child: Int) throws(PageFault) -> Page {
    let page = kept(page, as: path.count + 1)
    // One allocation for the levels that trees of any size have, not one for each (row: kv-scan-step).
    if path.isEmpty { path.reserveCapacity(4) }
    path.append(Step(page: page, index: child))
    reference = page.child(child)
    let next = try reader.source.page(reference, end: reader.end)
    if next.level + 1 != page.level || path.count >= TreeLimits.maximumDepth {
      isValid = false
      throw PageFault(offset: reference, reason: .level)
    }
    return next
  }

  private mutating func leftmostLeaf(below page: Page) throws(PageFault) -> Page {
    var page = page
    while page.isBranch { page = try descend(from: page, to: -1) }
    return page
  }

  private mutating func rightmostLeaf(below page: Page) throws(PageFault) -> Page {
    var page = page
    while page.isBranch { page = try descend(from: page, to: page.cellCount - 1) }
    return page
  }

  mutating func advance() throws(PageFault) -> Bool {
    isValid = false
    while let step = path.popLast() {
      if step.index + 1 >= step.page.cellCount { continue }
      let page = try descend(from: step.page, to: step.index + 1)
      let next = try leftmostLeaf(below: page)
      guard leaf.precedes(next) else { throw outOfOrder() }
      try stand(on: next, at: 0)
      if isValid { return true }
    }
    return false
  }

  private mutating func retreat() throws(PageFault) -> Bool {
    isValid = false
    while let step = path.popLast() {
      if step.index < 0 { continue }
      let page = try descend(from: step.page, to: step.index - 1)
      let lastLeaf = try rightmostLeaf(below: page)
      guard lastLeaf.precedes(leaf) else { throw outOfOrder() }
      try stand(on: lastLeaf, at: lastLeaf.cellCount - 1)
      if isValid { return true }
    }
    return false
  }

  private func outOfOrder() -> PageFault { reader.fault(in: root, .order) }

  private mutating func endOutOfOrder() -> PageFault {
    isValid = false
    return outOfOrder()
  }
}
