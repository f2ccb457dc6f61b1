/// Changes trees, copy on write.
///
/// A page that a published version may hold is never changed: the editor copies it, and every page on the way from the root,
/// and retires the originals. Pages that this edit made itself are changed in place. `mark` distinguishes the two: a
/// transaction and each savepoint begin with a new one, so a rollback finds every older page unchanged. What a savepoint has
/// made belongs to what is around it as soon as it is released.
///
/// One thread at a time: the holder of the turn. After a fault while pages are changed, the trees of this transaction are
/// unusable, and it must be rolled back (`isFaulty`).
@safe package final class TreeEditor {
  /// A page that a version has replaced; it may be freed when no version in `birth ..< death` is pinned.
  struct Retired {
    var reference: UInt64
    var birth: UInt64
    var death: UInt64
    /// The whole tree below is retired with it, as when a zone is dropped.
    var isWholeTree = false
  }

  struct Step {
    var page: Page
    var reference: UInt64
    /// The child that the descent takes; -1 is the leftmost.
    var child: Int
  }

  let source: PageSource
  let pages: DirtyPages
  /// Two pages of memory to work in, and the path of the present operation.
  let scratch: Page
  let secondScratch: Page
  private let scratchMemory: UnsafeMutableRawPointer
  @safe @exclusivity(unchecked) var path: [Step] = []
  /// The root of the tree in one of whose leaves `path` ends, while a key after that leaf's last one may be put there without a descent
  /// (`TreeEditor+Edge.swift`); 0 for none.
  @safe @exclusivity(unchecked) var edgeRoot: UInt64 = 0
  /// Where that leaf ends; empty for the last of its tree.
  let edgeFence = ByteBuffer(capacity: 2048)
  let separator = ByteBuffer(capacity: 2048)
  let lowerFence = ByteBuffer(capacity: 2048)
  let upperFence = ByteBuffer(capacity: 2048)
  let fullKey = ByteBuffer(capacity: 2048)

  /// The version that new pages are born in.
  @safe @exclusivity(unchecked) package var version: UInt64 = 1
  /// Pages with this mark or a higher one were made since the innermost savepoint, or since the transaction began.
  @safe @exclusivity(unchecked) private(set) var mark: UInt64 = 1
  /// The highest mark that any page may have.
  @safe @exclusivity(unchecked) private var lastMark: UInt64 = 1
  /// The end of what this transaction may read of the file.
  @safe @exclusivity(unchecked) package var end: UInt64 = 0
  @safe @exclusivity(unchecked) private(set) var created: [UInt64] = []
  /// The memory of the pages that this edit made.
  @safe @exclusivity(unchecked) private(set) var createdByteCount = 0
  @safe @exclusivity(unchecked) private(set) var retired: [Retired] = []
  /// Pages that live trees gained, less those that they lost, since the last commit.
  @safe @exclusivity(unchecked) private(set) package var pageBalance = 0
  @safe @exclusivity(unchecked) package var isFaulty = false

  package init(source: PageSource, poisonsFreedMemory: Bool = TestSetting.poisonsFreedMemory) {
    self.source = source
    pages = DirtyPages(poisons: poisonsFreedMemory)
    unsafe scratchMemory = .allocate(byteCount: 2 * Page.byteCount, alignment: 64)
    unsafe scratch = Page(scratchMemory)
    unsafe secondScratch = Page(scratchMemory + Page.byteCount)
    path.reserveCapacity(TreeLimits.maximumDepth)
  }

  deinit { unsafe scratchMemory.deallocate() }

  package var reader: TreeReader { TreeReader(source: source, end: end) }

  // MARK: transactions and savepoints

  /// A savepoint, for rolling back to it or releasing it: once, and after every savepoint within it.
  package struct Savepoint {
    /// The mark of what is around it.
    let outerMark: UInt64
    let createdCount: Int
    let createdByteCount: Int
    let retiredCount: Int
    let pageBalance: Int
  }

  /// From here on, pages made so far are copied before they change.
  package func beginEdit() -> Savepoint {
    let outerMark = mark
    beginMark()
    return Savepoint(
      outerMark: outerMark, createdCount: created.count, createdByteCount: createdByteCount, retiredCount: retired.count,
      pageBalance: pageBalance)
  }

  private func beginMark() {
    edgeRoot = 0
    lastMark &+= 1
    mark = lastMark
  }

  /// Ends a savepoint that succeeded: its changes are part of what is around it. Pages that were made around it and replaced
  /// within it are freed, because no version and no rollback can lead to them any more; so many savepoints in one transaction
  /// need no more memory than one.
  package func release(_ savepoint: Savepoint) {
    var keptCount = savepoint.retiredCount
    for index in savepoint.retiredCount..<retired.count {
      let retirement = retired[index]
      if retirement.reference & PageSource.memoryTag != 0, !retirement.isWholeTree,
        DirtyPage(retirement.reference).mark >= (isMutant("free-before-savepoint") ? 0 : savepoint.outerMark)
      {
        free(retirement.reference)
      } else {
        retired[keptCount] = retirement
        keptCount += 1
      }
    }
    retired.removeSubrange(keptCount...)
    edgeRoot = 0
    mark = savepoint.outerMark
  }

  /// Undoes everything since a savepoint; the caller restores the roots that it kept.
  package func rollBack(to savepoint: Savepoint) {
    // Before any page is freed: this edit may have retired pages that it made itself.
    for retirement in retired[savepoint.retiredCount...]
    where retirement.reference & PageSource.memoryTag != 0 && !retirement.isWholeTree {
      DirtyPage(retirement.reference).isRetired = false
    }
    retired.removeSubrange(savepoint.retiredCount...)
    for reference in created[savepoint.createdCount...] { pages.deallocate(reference) }
    created.removeSubrange(savepoint.createdCount...)
    createdByteCount = savepoint.createdByteCount
    pageBalance = savepoint.pageBalance
    edgeRoot = 0
    mark = savepoint.outerMark
    isFaulty = false
  }

  /// Ends the transaction: its pages now belong to `version`. Returns the pages that older versions may still need.
  func finishEdit() -> [Retired] {
    created.removeAll(keepingCapacity: true)
    createdByteCount = 0
    let result = retired
    retired.removeAll(keepingCapacity: true)
    pageBalance = 0
    beginMark()
    return result
  }

  /// Frees the pages of this edit: all of them are in the file, and nobody else has seen them.
  func freeCreated() {
    for reference in created { pages.deallocate(reference) }
    created.removeAll(keepingCapacity: true)
    createdByteCount = 0
    retired.removeAll(keepingCapacity: true)
    beginMark()
  }

  // MARK: pages

  func allocate() throws(PageFault) -> UInt64 {
    let reference: UInt64
    do { reference = try pages.allocate(birth: version, mark: mark) } catch {
      isFaulty = true
      throw PageFault(error, offset: 0)
    }
    DirtyPage(reference).createdIndex = created.count
    created.append(reference)
    createdByteCount += DirtyPages.byteCountPerPage
    pageBalance += 1
    return reference
  }

  /// A delta counts as the page that it will be merged into.
  func allocateDelta(classNumber: Int) throws(PageFault) -> UInt64 {
    let reference: UInt64
    do { reference = try pages.allocateDelta(classNumber: classNumber, birth: version, mark: mark) } catch {
      isFaulty = true
      throw PageFault(error, offset: 0)
    }
    DirtyPage(reference).createdIndex = created.count
    created.append(reference)
    createdByteCount += LeafDelta.stride(ofClass: classNumber)
    pageBalance += 1
    return reference
  }

  /// A page that may be changed in place: this one, if this edit made it, else a copy, merged where it has a delta.
  @inline(__always)
  func writable(_ reference: UInt64) throws(PageFault) -> UInt64 {
    if reference & PageSource.memoryTag != 0, reference & LeafDelta.classMask == 0,
      DirtyPage(reference).mark >= mark || isMutant("change-published-page")
    {
      return reference
    }
    return try copyForWriting(reference)
  }

  private func copyForWriting(_ reference: UInt64) throws(PageFault) -> UInt64 {
    let original = try page(reference)
    let copy = try allocate()
    if reference & PageSource.memoryTag == 0 {
      try copyFromFile(original, reference, to: DirtyPage(copy).page)
    } else {
      DirtyPage(copy).page.copy(from: original)
    }
    if LeafDelta.isDelta(reference) { discard(reference) } else { retire(reference) }
    return copy
  }

  /// Copies a page of the file and checks the copy, because the page that is made from it gets a checksum of its own.
  private func copyFromFile(_ page: Page, _ reference: UInt64, to target: Page) throws(PageFault) {
    do { try source.copyPage(page, reference, to: target) } catch {
      isFaulty = true
      throw error
    }
  }

  /// A page whose cells are about to move to another page. For a page of the file this is a checked copy, in memory of this
  /// thread.
  func pageToTakeFrom(_ reference: UInt64) throws(PageFault) -> Page {
    let original = try page(reference)
    if reference & PageSource.memoryTag != 0 || !source.isInPlace(reference) { return original }
    let copy = unsafe Page(ThreadScratch.current.nextPage())
    try copyFromFile(original, reference, to: copy)
    return copy
  }

  @inline(__always)
  func page(_ reference: UInt64) throws(PageFault) -> Page {
    do { return try source.page(reference, end: end) } catch {
      isFaulty = true
      throw error
    }
  }

  /// A fault found while pages are being changed.
  func fault(_ reference: UInt64, _ reason: PageFault.Reason) -> PageFault {
    isFaulty = true
    return PageFault(offset: reference, reason: reason)
  }

  func retire(_ reference: UInt64) {
    pageBalance -= 1
    guard reference & PageSource.memoryTag != 0 else { return }
    let meta = DirtyPage(reference)
    meta.isRetired = true
    retired.append(Retired(reference: reference, birth: meta.birth, death: version))
  }

  /// Frees a page or a delta at once if only this edit has seen it, and retires it otherwise. Small trees come and go with each
  /// zone that a transaction reads, and deltas grow: without this they would fill the memory until the transaction ends.
  func discard(_ reference: UInt64) {
    guard reference & PageSource.memoryTag != 0, DirtyPage(reference).mark >= mark else { return retire(reference) }
    free(reference)
    pageBalance -= 1
  }

  /// Frees a page of this edit that nothing leads to.
  private func free(_ reference: UInt64) {
    edgeRoot = 0
    let index = DirtyPage(reference).createdIndex
    precondition(index < created.count && created[index] == reference, "an edit knows what it has made")
    // The last page is no older than what is left of the list before it, as far as the savepoints that can be rolled back to.
    let last = created.removeLast()
    if last != reference {
      created[index] = last
      DirtyPage(last).createdIndex = index
    }
    createdByteCount -= DirtyPages.byteCount(of: reference)
    pages.deallocate(reference)
  }

  /// Called for a page that leaves memory while its tree keeps it.
  func pageBalanceCorrection() { pageBalance += 1 }

  /// Retires a whole tree without walking it.
  package func drop(_ root: TreeRoot) {
    edgeRoot = 0
    // A forged file may have many roots that claim much.
    pageBalance = max(pageBalance &- Int(clamping: min(root.pageCount, TreeRoot.countLimit)), -Int(TreeRoot.countLimit))
    if root.reference & PageSource.memoryTag != 0 {
      retired.append(Retired(reference: root.reference, birth: 0, death: version, isWholeTree: true))
    }
  }

  // MARK: put

  /// Puts a value under a key; true when the key is new. Neither may lie in a page of this transaction: a page may move its
  /// cells to make room.
  /// - Parameter old: receives the bytes of the value that is replaced, which saves the caller a second descent.
  /// - Complexity: the first change in a transaction copies one page a level, and of a leaf of the file only what changes;
  ///   after that, about 300 ns.
  @discardableResult
  package func put(
    _ key: ByteView, _ value: ByteView, in root: inout TreeRoot, asCatalog: Bool = false, old: ByteBuffer? = nil
  ) throws(PageFault) -> Bool {
    precondition(key.count <= TreeLimits.maximumKeyByteCount, "keys are limited before they reach a tree")
    precondition(
      value.count <= TreeLimits.maximumValueByteCount
        || asCatalog && key.count + value.count <= TreeLimits.maximumCellByteCount,
      "values are limited before they reach a tree")
    if root.reference == 0 {
      let reference = try allocate()
      let page = DirtyPage(reference).page
      page.initialize(kind: asCatalog ? Page.Kind.catalogLeaf : Page.Kind.leaf, level: 0, prefix: key.prefix(0))
      _ = page.insert(at: 0, suffix: key, value: value, scratch: scratch)
      root = TreeRoot(reference: reference, count: 1, pageCount: 1)
      return true
    }
    if root.reference == edgeRoot, putAtEdge(key, value, asCatalog: asCatalog, in: &root) { return true }
    let balance = pageBalance
    defer { root.addPages(pageBalance &- balance) }
    let formerLeaf = path.last?.reference ?? 0
    let isBelowBranch = try descendToLastBranch(key, in: &root)
    if isBelowBranch, !asCatalog, let isNew = try putInDelta(key, value, old: old) {
      if isNew {
        root.count &+= 1
        addToCounts(1)
      }
      return isNew
    }
    let leaf = isBelowBranch ? try descendToLeaf() : path[path.count &- 1].page
    // A checkpoint follows the roots in leaves of a catalog, and no other values.
    guard (leaf.kind == Page.Kind.catalogLeaf) == asCatalog else {
      throw fault(path[path.count - 1].reference, .kind)
    }
    let (index, isFound) = leaf.search(key)
    if isFound {
      old?.append(leaf.value(index))
      if leaf.value(index).count == value.count {
        leaf.overwriteValue(at: index, with: value)
        return false
      }
      leaf.remove(at: index)
    }
    let prefixLength = leaf.prefixLength
    let sharesPrefix =
      key.count >= prefixLength && (prefixLength == 0 || compareKeys(key.prefix(prefixLength), leaf.prefix) == 0)
    if !isFound {
      root.count &+= 1
      addToCounts(1)
    }
    if sharesPrefix
      && leaf.insert(at: index, suffix: key.dropFirst(prefixLength), value: value, scratch: scratch)
    {
      if index &+ 1 == leaf.cellCount, path[path.count &- 1].reference == formerLeaf { rememberEdge(of: root) }
      return !isFound
    }
    try splitLeaf(at: index, key: key, value: value, sharesPrefix: sharesPrefix, root: &root)
    return !isFound
  }

  /// Loads the bytes of a leaf that a change under `key` will read, so that they are cached when the change comes. Changes
  /// nothing, and stops at any page that is not valid.
  package func touchLeaf(of key: ByteView, in root: TreeRoot) {
    if source.isBuffered { return }
    var reference = root.reference
    var depth = 0
    while reference != 0, depth < TreeLimits.maximumDepth, let page = try? source.page(reference, end: end), page.isBranch {
      reference = page.child(page.childIndex(for: key))
      if page.level == 1 { return source.touch(reference, end: end) }
      depth &+= 1
    }
  }

  /// Makes every page from the root to the leaf of `key` writable; `path` remembers them. Returns the leaf.
  func descendForWriting(_ key: ByteView, in root: inout TreeRoot) throws(PageFault) -> Page {
    try descendToLastBranch(key, in: &root) ? try descendToLeaf() : path[path.count &- 1].page
  }

  /// Makes every branch from the root to the leaf of `key` writable, but not the leaf. False if the root is the leaf; then it
  /// is writable.
  func descendToLastBranch(_ key: ByteView, in root: inout TreeRoot) throws(PageFault) -> Bool {
    edgeRoot = 0
    path.removeAll(keepingCapacity: true)
    root.reference = try writableRoot(root.reference)
    var reference = root.reference
    var page = DirtyPage(reference).page
    while page.isBranch {
      let child = page.childIndex(for: key)
      if page.level == 1 {
        path.append(Step(page: page, reference: reference, child: child))
        return true
      }
      let original = page.child(child)
      let next = try writable(original)
      if next != original { page.setChild(child, next, count: page.childCount(child)) }
      path.append(Step(page: page, reference: reference, child: child))
      let nextPage = DirtyPage(next).page
      if nextPage.level + 1 != page.level || path.count >= TreeLimits.maximumDepth { throw fault(original, .level) }
      reference = next
      page = nextPage
    }
    path.append(Step(page: page, reference: reference, child: 0))
    return false
  }

  /// Makes the leaf writable that `descendToLastBranch` has reached.
  func descendToLeaf() throws(PageFault) -> Page {
    let parent = path[path.count &- 1]
    let original = parent.page.child(parent.child)
    let next = try writable(original)
    if next != original { parent.page.setChild(parent.child, next, count: parent.page.childCount(parent.child)) }
    let page = DirtyPage(next).page
    if page.level != 0 || path.count >= TreeLimits.maximumDepth { throw fault(original, .level) }
    path.append(Step(page: page, reference: next, child: 0))
    return page
  }

  /// Adds to the record count of each child on the path.
  @inline(__always)
  func addToCounts(_ change: Int) {
    var depth = path.count &- 2
    while depth >= 0 {
      let step = path[depth]
      step.page.setChild(
        step.child, step.page.child(step.child),
        count: step.page.childCount(step.child) &+ UInt64(bitPattern: Int64(change)))
      depth &-= 1
    }
  }

  // MARK: remove

  /// Removes a key; false when the tree does not hold it, and then nothing is copied.
  /// - Parameter old: receives the bytes of the value that is removed.
  @discardableResult
  package func remove(
    _ key: ByteView, from root: inout TreeRoot, old: ByteBuffer? = nil
  ) throws(PageFault) -> Bool {
    do {
      if try reader.value(key, in: root) == nil { return false }
    } catch {
      isFaulty = true
      throw error
    }
    let balance = pageBalance
    defer { root.addPages(pageBalance &- balance) }
    let isBelowBranch = try descendToLastBranch(key, in: &root)
    if isBelowBranch, try removeInDelta(key, old: old) {
      root.removeOne()
      addToCounts(-1)
      return true
    }
    let leaf = isBelowBranch ? try descendToLeaf() : path[path.count &- 1].page
    let (index, isFound) = leaf.search(key)
    precondition(isFound, "a key that was just found is still there")
    old?.append(leaf.value(index))
    leaf.remove(at: index)
    root.removeOne()
    addToCounts(-1)
    try rebalance(&root)
    return true
  }
}
