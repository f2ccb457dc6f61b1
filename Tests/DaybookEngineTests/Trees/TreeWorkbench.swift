import DaybookTesting

@testable import DaybookEngine

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

// A tree editor without a store around it: zeroed memory stands for the file, and versions are pinned and freed by the
// store's rules. Freed pages are filled with 0xEE, so whoever still reads one notices. Beside each tree lives a sorted
// array that is asked the same questions.

/// The naive twin of a tree: two sorted arrays.
struct SortedModel {
  var keys: [[UInt8]] = []
  var values: [[UInt8]] = []
  var count: Int { keys.count }

  static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
    let shared = min(left.count, right.count)
    // Safe: both arrays hold `shared` bytes.
    let order = shared == 0 ? 0 : unsafe Int(memcmp(left, right, shared))
    return order != 0 ? order : left.count - right.count
  }

  /// The first index whose key is not below `key`.
  func index(of key: [UInt8]) -> Int {
    var lower = 0
    var upper = keys.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if SortedModel.order(keys[middle], key) < 0 { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }

  func holds(_ key: [UInt8], at index: Int) -> Bool { index < keys.count && keys[index] == key }

  func value(_ key: [UInt8]) -> [UInt8]? {
    let index = index(of: key)
    return holds(key, at: index) ? values[index] : nil
  }

  mutating func put(_ key: [UInt8], _ value: [UInt8]) -> Bool {
    let index = index(of: key)
    if holds(key, at: index) {
      values[index] = value
      return false
    }
    keys.insert(key, at: index)
    values.insert(value, at: index)
    return true
  }

  mutating func remove(_ key: [UInt8]) -> Bool {
    let index = index(of: key)
    guard holds(key, at: index) else { return false }
    keys.remove(at: index)
    values.remove(at: index)
    return true
  }

  func range(_ lower: [UInt8]?, _ upper: [UInt8]?) -> Range<Int> {
    let start = lower == nil ? 0 : index(of: lower!)
    let end = upper == nil ? count : index(of: upper!)
    return start..<max(start, end)
  }

  mutating func remove(_ range: Range<Int>) {
    keys.removeSubrange(range)
    values.removeSubrange(range)
  }
}

/// A promise of the trees that did not hold.
struct BrokenPromise: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

func promise(_ holds: Bool, _ message: @autoclosure () -> String) throws {
  if !holds { throw BrokenPromise(message()) }
}

/// What a walk over a whole tree saw.
struct TreeSurvey {
  var keys: [[UInt8]] = []
  var values: [[UInt8]] = []
  var references: Set<UInt64> = []
  var leafCount = 0
  var leafUsedByteCount = 0
  var depth = 0
  /// Leaves that have a delta.
  var deltaCount = 0
  var filling: Double { leafCount == 0 ? 0 : Double(leafUsedByteCount) / Double(leafCount * Page.capacity) }

  /// Walks a tree and checks every page: layout, order, separators, levels, counts, no page twice, none without records.
  init(_ root: TreeRoot, _ source: PageSource, end: UInt64) throws {
    if root.reference == 0 {
      try promise(root.count == 0, "an empty tree counts \(root.count) records")
      return
    }
    let rootPage = try source.rootPage(root.reference, end: end)
    depth = rootPage.level + 1
    let count: UInt64
    if InlineTree.isInline(root.reference) {
      try promise(root.pageCount == 0, "a tree in a cell counts \(root.pageCount) pages")
      if let reason = rootPage.verifyStructure(isInFile: true) { throw BrokenPromise("a tree in a cell: \(reason.rawValue)") }
      (0..<rootPage.cellCount).forEach {
        keys.append(rootPage.keyArray($0))
        values.append(rootPage.value($0).array)
      }
      count = UInt64(keys.count)
    } else {
      count = try walk(root.reference, source, end: end, level: rootPage.level, kind: nil, lower: nil, upper: nil)
    }
    try promise(count == root.count, "a tree of \(count) records counts \(root.count)")
    for index in keys.indices.dropFirst() {
      try promise(SortedModel.order(keys[index - 1], keys[index]) < 0, "keys \(index - 1) and \(index) are not in order")
    }
  }

  private mutating func walk(
    _ reference: UInt64, _ source: PageSource, end: UInt64, level: Int, kind: UInt8?, lower: [UInt8]?, upper: [UInt8]?
  ) throws -> UInt64 {
    try promise(references.insert(reference).inserted, "page \(reference) is in the tree twice")
    let page = try source.page(reference, end: end)
    if let reason = page.verifyStructure() { throw BrokenPromise("page \(reference): \(reason.rawValue)") }
    try promise(page.level == level, "a page of level \(page.level) stands at level \(level)")
    if LeafDelta.isDelta(reference) {
      deltaCount += 1
      try promise(!page.isBranch && level < (self.depth - 1), "a delta stands at a branch, or at a root")
    }
    if reference & PageSource.memoryTag != 0 {
      try promise(!DirtyPage(reference).isRetired, "a page of the newest version is marked as replaced")
    }
    for index in 0..<page.cellCount {
      let key = page.keyArray(index)
      if let lower { try promise(SortedModel.order(lower, key) <= 0, "a key lies below its separator") }
      if let upper { try promise(SortedModel.order(key, upper) < 0, "a key lies above its separator") }
      // A separator equal to the one that leads here would leave the leftmost child without any key.
      if let lower, page.isBranch { try promise(lower != key, "a separator stands twice on one way down") }
      if !page.isBranch {
        keys.append(key)
        values.append(page.value(index).array)
      }
    }
    if !page.isBranch {
      try promise(page.cellCount > 0, "a leaf without records is left in the tree")
      leafCount += 1
      leafUsedByteCount += page.usedByteCount
      return UInt64(page.cellCount)
    }
    try promise(page.leftmostChild != 0, "a branch without children is left in the tree")
    var total: UInt64 = 0
    for index in -1..<page.cellCount {
      let count = try walk(
        page.child(index), source, end: end, level: level - 1, kind: nil,
        lower: index < 0 ? lower : page.keyArray(index),
        upper: index + 1 < page.cellCount ? page.keyArray(index + 1) : upper)
      try promise(
        count == page.childCount(index), "a branch counts \(page.childCount(index)) records where \(count) are")
      total += count
    }
    return total
  }

  func expectEqual(_ model: SortedModel) throws {
    try promise(keys.count == model.count, "\(keys.count) records, the model has \(model.count)")
    for index in keys.indices {
      try promise(keys[index] == model.keys[index], "key \(index) differs from the model")
      try promise(values[index] == model.values[index], "value \(index) differs from the model")
    }
  }
}

@safe final class TreeWorkbench {
  /// A version: several trees, whose roots stand in the cells of a catalog.
  struct Version {
    var number: UInt64
    var catalog: TreeRoot
    var models: [SortedModel]
    var rests: [[UInt8]]
  }

  private struct Mark {
    var savepoint: TreeEditor.Savepoint
    var roots: [TreeRoot]
    var catalog: TreeRoot
    var models: [SortedModel]
    var rests: [[UInt8]]
  }

  static let fileByteCount = 1 << 30
  let file: UnsafeMutableRawPointer
  let source: PageSource
  let editor: TreeEditor
  private(set) var end: UInt64 = 4096

  /// The trees of the transaction that is going on.
  var roots: [TreeRoot]
  var models: [SortedModel]
  var catalog = TreeRoot.empty
  /// What the catalog keeps behind the roots, by tree.
  var rests: [[UInt8]]

  private(set) var newest: Version
  private(set) var pins: [Version] = []
  private var waiting: [TreeEditor.Retired] = []
  private var start: TreeEditor.Savepoint
  private var savepoints: [Mark] = []
  private let value = ByteBuffer()
  /// Trees that are small enough move into the cells of the catalog when they are written there.
  var inlinesSmallTrees = false
  private(set) var mostInline = 0
  private(set) var mostDeltas = 0

  init(treeCount: Int) throws {
    unsafe file = RawMemory.reserveZeroed(byteCount: TreeWorkbench.fileByteCount)!
    source = try unsafe PageSource(
      base: UnsafeRawPointer(file), salt: 0x5A17, maximumByteCount: TreeWorkbench.fileByteCount)
    editor = TreeEditor(source: source)
    roots = Array(repeating: .empty, count: treeCount)
    models = Array(repeating: SortedModel(), count: treeCount)
    rests = Array(repeating: [], count: treeCount)
    newest = Version(number: 1, catalog: .empty, models: models, rests: rests)
    start = editor.beginEdit()
    begin()
  }

  deinit { unsafe RawMemory.release(file, byteCount: TreeWorkbench.fileByteCount) }

  // MARK: one transaction after the other

  private func begin() {
    editor.version = newest.number + 1
    editor.end = end
    start = editor.beginEdit()
    savepoints = []
  }

  func commit() throws {
    try flush()
    try retire(editor.finishEdit(), newest: newest.number + 1)
    newest = Version(number: newest.number + 1, catalog: catalog, models: models, rests: rests)
    begin()
  }

  func abort() throws {
    editor.rollBack(to: start)
    catalog = newest.catalog
    models = newest.models
    rests = newest.rests
    roots = try (0..<models.count).map { try root(of: $0, in: newest.catalog) }
    begin()
  }

  static func cellKey(_ tree: Int) -> [UInt8] { Array("zone/\(tree)".utf8) }

  /// Writes the cells of all trees.
  private func flush() throws {
    for tree in roots.indices { try putCell(tree) }
    guard inlinesSmallTrees else { return }
    roots = try roots.indices.map { try root(of: $0, in: catalog) }
    mostInline = max(mostInline, roots.count { InlineTree.isInline($0.reference) })
  }

  private func putCell(_ tree: Int) throws {
    let key = TreeWorkbench.cellKey(tree)
    if inlinesSmallTrees {
      // Cells of the page move when one of them is written.
      if InlineTree.isInline(roots[tree].reference) { roots[tree] = try root(of: tree, in: catalog) }
      _ = try rests[tree].withView {
        try editor.encodeCatalogValue(roots: [roots[tree]], ownerBytes: $0, keyByteCount: key.count, into: value)
      }
    } else {
      rests[tree].withView { CatalogValue.encode(roots: [roots[tree]], ownerBytes: $0, into: value) }
    }
    try key.withView { key in
      _ = try editor.put(key, value.view, in: &catalog, asCatalog: true)
    }
  }

  func root(of tree: Int, in catalog: TreeRoot) throws -> TreeRoot {
    try root(of: tree, in: catalog, source)
  }

  private func root(of tree: Int, in catalog: TreeRoot, _ source: PageSource) throws -> TreeRoot {
    let reader = TreeReader(source: source, end: end)
    return try TreeWorkbench.cellKey(tree).withView { key in
      try reader.catalogValue(key, in: catalog)?.root(0) ?? .empty
    }
  }

  func beginSavepoint() throws {
    if inlinesSmallTrees { try flush() }
    savepoints.append(
      Mark(savepoint: editor.beginEdit(), roots: roots, catalog: catalog, models: models, rests: rests))
  }

  /// Goes back to the newest savepoint, or to the one before it; false when there is none.
  func rollBack(levels: Int) -> Bool {
    guard savepoints.count >= levels else { return false }
    let mark = savepoints[savepoints.count - levels]
    savepoints.removeLast(levels)
    editor.rollBack(to: mark.savepoint)
    roots = mark.roots
    catalog = mark.catalog
    models = mark.models
    rests = mark.rests
    return true
  }

  /// Keeps what the newest savepoints have done; false when there are not so many.
  func release(levels: Int) throws -> Bool {
    guard savepoints.count >= levels else { return false }
    for _ in 0..<levels { editor.release(savepoints.removeLast().savepoint) }
    return true
  }

  func dropTree(_ tree: Int) {
    editor.drop(roots[tree])
    roots[tree] = .empty
    models[tree] = SortedModel()
  }

  // MARK: one change to the tree and to its model

  func put(_ key: [UInt8], _ value: [UInt8], in tree: Int = 0) throws {
    let isNew = try key.withView { key in
      try value.withView { value in try editor.put(key, value, in: &roots[tree]) }
    }
    try promise(isNew == models[tree].put(key, value), "put says \(isNew ? "new" : "known") for a key that is not")
  }

  func remove(_ key: [UInt8], from tree: Int = 0) throws {
    let before = roots[tree]
    let wasThere = try key.withView { try editor.remove($0, from: &roots[tree]) }
    try promise(wasThere == models[tree].remove(key), "remove says \(wasThere) for a key")
    if !wasThere { try promise(before == roots[tree], "removing nothing has copied pages") }
  }

  func removeRange(from lower: [UInt8]?, to upper: [UInt8]?, in tree: Int = 0) throws {
    let range = models[tree].range(lower, upper)
    let count = try withViews(lower, upper) { lower, upper in
      try editor.removeRange(from: lower, to: upper, in: &roots[tree])
    }
    try promise(count == UInt64(range.count), "a range of \(range.count) records was removed as \(count)")
    models[tree].remove(range)
  }

  // MARK: pinned versions

  func pin() { pins.append(newest) }
  func unpin(_ index: Int) { pins.remove(at: index) }

  private func retire(_ retired: [TreeEditor.Retired], newest: UInt64) throws {
    for page in retired {
      if !page.isWholeTree && page.birth == newest { free(page.reference) } else { waiting.append(page) }
    }
  }

  private func isPinned(_ birth: UInt64, _ death: UInt64) -> Bool {
    pins.contains { $0.number >= birth && $0.number < death }
  }

  /// The editor's memory is poisoned: nobody may read a page that is being freed.
  private func free(_ reference: UInt64) { editor.pages.deallocate(reference) }

  private func expandWholeTrees(all: Bool) {
    let trees = waiting.filter { $0.isWholeTree && (all || !isPinned(0, $0.death)) }
    waiting.removeAll { $0.isWholeTree && (all || !isPinned(0, $0.death)) }
    for tree in trees { editor.collectPages(below: tree.reference, death: tree.death, into: &waiting) }
  }

  func reclaim() {
    expandWholeTrees(all: false)
    waiting.removeAll { page in
      if page.isWholeTree || isPinned(page.birth, page.death) { return false }
      free(page.reference)
      return true
    }
  }

  // MARK: checkpoints

  struct Checkpoint {
    var version: Version
    var walk: CheckpointWalk
    var written: [UInt64] = []
  }

  /// Pins the newest version and gets ready to write it. Between transactions only.
  func freeze() -> Checkpoint {
    pins.append(newest)
    return Checkpoint(version: newest, walk: CheckpointWalk(roots: [newest.catalog]))
  }

  /// Writes some more pages; false when all are written.
  func write(_ checkpoint: inout Checkpoint, pageCount: Int) throws -> Bool {
    for _ in 0..<pageCount {
      guard let reference = checkpoint.walk.next() else { return false }
      // Safe: the file's memory is a gigabyte, far more than any test writes.
      try unsafe editor.encodeForFile(reference, into: Page(file + Int(end)), offset: end)
      checkpoint.written.append(reference)
      end += UInt64(Page.byteCount)
    }
    return true
  }

  /// Where the root of a checkpoint that was written is in the file.
  func fileRoot(_ checkpoint: Checkpoint) -> TreeRoot {
    let root = checkpoint.version.catalog
    let isDirty = root.reference & PageSource.memoryTag != 0
    return TreeRoot(reference: isDirty ? DirtyPage(root.reference).fileOffset : root.reference, count: root.count)
  }

  /// The short edit after a checkpoint. Between transactions only.
  func exchange(_ checkpoint: Checkpoint) throws {
    editor.version = newest.number + 1
    editor.end = end
    _ = editor.beginEdit()
    catalog.reference = try editor.exchangeWritten(catalog.reference)
    expandWholeTrees(all: true)
    editor.retireWritten(checkpoint.written)
    try retire(editor.finishEdit(), newest: newest.number + 1)
    newest = Version(number: newest.number + 1, catalog: catalog, models: models, rests: rests)
    roots = try (0..<models.count).map { try root(of: $0, in: catalog) }
    pins.remove(at: pins.firstIndex { $0.number == checkpoint.version.number }!)
    begin()
  }

  // MARK: checks

  /// The tree as the transaction has it now, against the model.
  @discardableResult
  func checkNow(_ tree: Int) throws -> TreeSurvey {
    let survey = try TreeSurvey(roots[tree], source, end: end)
    try survey.expectEqual(models[tree])
    mostDeltas = max(mostDeltas, survey.deltaCount)
    return survey
  }

  /// A whole version, against the models of its time; the pages in memory that it reaches.
  @discardableResult
  func check(_ version: Version, ownSource: PageSource? = nil, isNewest: Bool = false) throws -> Set<UInt64> {
    let source = ownSource ?? source
    if !isNewest {
      // Pages of an old version may be replaced; the survey looks at that mark, so a plain walk has to do.
      let reader = TreeReader(source: source, end: end)
      for tree in version.models.indices {
        let root = try self.root(of: tree, in: version.catalog, source)
        try expectEqual(reader, root, version.models[tree])
      }
      return []
    }
    let cells = try TreeSurvey(version.catalog, source, end: end)
    var references = cells.references
    for tree in version.models.indices where version.catalog.reference != 0 {
      let cell = cells.keys.firstIndex(of: TreeWorkbench.cellKey(tree))
      guard let cell else { throw BrokenPromise("the catalog has lost tree \(tree)") }
      let rest = cells.values[cell].withView { CatalogValue($0).ownerBytes.array }
      let root = try self.root(of: tree, in: version.catalog, source)
      try promise(rest == version.rests[tree], "what the catalog keeps about tree \(tree) has changed")
      let survey = try TreeSurvey(root, source, end: end)
      try survey.expectEqual(version.models[tree])
      mostDeltas = max(mostDeltas, survey.deltaCount)
      try promise(references.isDisjoint(with: survey.references), "two trees share a page")
      references.formUnion(survey.references)
    }
    return references.filter { $0 & PageSource.memoryTag != 0 }
  }

  private func expectEqual(_ reader: TreeReader, _ root: TreeRoot, _ model: SortedModel) throws {
    try promise(root.count == UInt64(model.count), "an old version has another count")
    var cursor = reader.cursor(in: root)
    let key = ByteBuffer()
    var index = 0
    var isValid = try cursor.first()
    while isValid {
      cursor.key(into: key)
      try promise(index < model.count && key.view.array == model.keys[index], "key \(index) of an old version differs")
      try promise(cursor.value.array == model.values[index], "value \(index) of an old version differs")
      index += 1
      isValid = try cursor.next()
    }
    try promise(index == model.count, "an old version ends at record \(index) of \(model.count)")
  }

  /// Every version, and that no page of memory is lost. Between transactions only.
  func checkEverything() throws {
    let reachable = try check(newest, isNewest: true)
    for pin in pins { try check(pin) }
    reclaim()
    if pins.isEmpty {
      let used = editor.pages.usedPageCount
      try promise(used == reachable.count, "\(used) pages of memory are in use, the trees reach \(reachable.count)")
    }
  }
}

/// Two keys as views; nil stays nil.
func withViews<R>(_ lower: [UInt8]?, _ upper: [UInt8]?, _ body: (ByteView?, ByteView?) throws -> R) throws -> R {
  try (lower ?? []).withView { lowerView in
    try (upper ?? []).withView { upperView in
      try body(lower == nil ? nil : lowerView, upper == nil ? nil : upperView)
    }
  }
}

extension CatalogValue {
  /// The value of a cell whose trees all have pages of their own.
  static func encode(roots: [TreeRoot], ownerBytes: ByteView, into buffer: ByteBuffer) {
    buffer.truncate(to: 0)
    appendHeader(rootCount: roots.count, ownerByteCount: ownerBytes.count, to: buffer)
    for root in roots { root.append(to: buffer) }
    buffer.append(ownerBytes)
  }
}
