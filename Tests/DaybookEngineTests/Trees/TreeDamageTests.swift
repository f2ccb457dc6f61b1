import DaybookTesting
import Testing

@testable import DaybookEngine

// Trees in a file that lies: pages are changed, exchanged and linked to each other, and then sealed again, so every checksum
// holds. Whoever reads or changes such a tree may get wrong answers or a fault, but never a trap, and never memory outside.

@Suite("Forged trees")
struct TreeDamageTests {
  /// A catalog and two trees of several levels, as a checkpoint has written them.
  struct Original {
    let bytes: [UInt8]
    let root: TreeRoot
    let salt: UInt64

    init() throws {
      let bench = try TreeWorkbench(treeCount: 2)
      var generator = SeededGenerator(seed: 8)
      for _ in 0..<500 {
        let key = KeyFamily.commonPrefix.key(&generator)
        try bench.put(key, [UInt8](repeating: 1, count: Int.random(in: 0...80, using: &generator)))
      }
      for _ in 0..<300 { try bench.put(KeyFamily.dense.key(&generator), [], in: 1) }
      for number in 0..<30 {
        // More cells, so that the catalog has a branch.
        try Array("zone/x\(number)".utf8).withView { key in
          let value = ByteBuffer()
          [UInt8](repeating: 1, count: 200).withView { CatalogValue.encode(roots: [.empty], ownerBytes: $0, into: value) }
          _ = try bench.editor.put(key, value.view, in: &bench.catalog, asCatalog: true)
        }
      }
      try bench.commit()
      var checkpoint = bench.freeze()
      while try bench.write(&checkpoint, pageCount: 100) {}
      bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: bench.file, count: Int(bench.end)))
      root = bench.fileRoot(checkpoint)
      salt = bench.source.salt
    }
  }

  /// A copy of the original, to be forged.
  @safe final class Forgery {
    let memory: UnsafeMutableRawPointer
    let byteCount: Int
    let pageCount: Int
    let salt: UInt64

    init(_ original: Original) {
      byteCount = original.bytes.count
      pageCount = byteCount / Page.byteCount
      salt = original.salt
      unsafe memory = RawMemory.reserveZeroed(byteCount: byteCount)!
      // Safe: the memory was reserved with the length of the copy.
      unsafe original.bytes.withUnsafeBytes { unsafe memory.copyMemory(from: $0.baseAddress!, byteCount: byteCount) }
    }

    deinit { unsafe RawMemory.release(memory, byteCount: byteCount) }

    /// Page 0 stands for the header of the file.
    func page(_ number: Int) -> Page { unsafe Page(memory + number * Page.byteCount) }

    func forge(_ generator: inout SeededGenerator) {
      let number = Int.random(in: 1..<pageCount, using: &generator)
      let page = page(number)
      let offset = UInt64(number * Page.byteCount)
      // A page that is broken already is as broken as it gets.
      guard page.verifyStructure(isInFile: true) == nil else { return }
      switch Int.random(in: 0..<8, using: &generator) {
      case 0:
        page.copy(from: self.page(Int.random(in: 1..<pageCount, using: &generator)))
      case 1 where page.isBranch, 2 where page.isBranch:
        let child = UInt64(Int.random(in: 1..<max(number, 2), using: &generator) * Page.byteCount)
        page.setChild(Int.random(in: -1..<page.cellCount, using: &generator), child, count: generator.next() >> 60)
      case 3 where page.kind == Page.Kind.catalogLeaf && page.cellCount > 0:
        let cell = Int.random(in: 0..<page.cellCount, using: &generator)
        let reference = UInt64(Int.random(in: 1..<max(number, 2), using: &generator) * Page.byteCount)
        guard CatalogValue(page.value(cell)).rootCount > 0 else { break }
        CatalogValue.setReference(reference, root: 0, cell: cell, of: page)
      case 4 where !page.isBranch:
        unsafe page.base.storeBytes(of: page.kind == 2 ? 3 : 2, toByteOffset: 8, as: UInt8.self)
      case 5 where page.isBranch:
        unsafe page.base.storeBytes(of: UInt8.random(in: 1...3, using: &generator), toByteOffset: 9, as: UInt8.self)
      case 6:
        // Another prefix of the same length: still sound, but somewhere else in the order.
        for index in 0..<min(page.prefixLength, 3) {
          let byte = UInt8.random(in: 0...255, using: &generator)
          unsafe page.base.storeBytes(of: byte, toByteOffset: Page.byteCount - page.prefixLength + index, as: UInt8.self)
        }
      default:
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
          let offset = Int.random(in: 8..<Page.byteCount, using: &generator)
          unsafe page.base.storeBytes(of: UInt8(truncatingIfNeeded: generator.next()), toByteOffset: offset, as: UInt8.self)
        }
      }
      page.sealChecksum(salt: salt, offset: offset)
    }
  }

  struct Tally {
    var faults: [PageFault.Reason: Int] = [:]
    var soundCount = 0
  }

  /// Everything that one can do with trees, a few times.
  static func use(
    _ forgery: Forgery, root catalog: TreeRoot, generator: inout SeededGenerator, tally: inout Tally
  ) throws {
    let source = try unsafe PageSource(
      base: UnsafeRawPointer(forgery.memory), salt: forgery.salt, maximumByteCount: forgery.byteCount)
    let editor = TreeEditor(source: source)
    editor.end = UInt64(forgery.byteCount)
    for _ in 0..<6 {
      let start = editor.beginEdit()
      do throws(PageFault) {
        try useOnce(editor, catalog, &generator)
        tally.soundCount += 1
      } catch { tally.faults[error.reason, default: 0] += 1 }
      editor.rollBack(to: start)
    }
  }

  private static func useOnce(
    _ editor: TreeEditor, _ catalog: TreeRoot, _ generator: inout SeededGenerator
  ) throws(PageFault) {
    var catalog = catalog
    let tree = Int.random(in: 0..<2, using: &generator)
    let family = tree == 0 ? KeyFamily.commonPrefix : .dense
    let cellKey = TreeWorkbench.cellKey(tree)
    let cell = try cellKey.withView { (key) throws(PageFault) in try editor.reader.catalogValue(key, in: catalog) }
    guard let cell, cell.rootCount > 0 else { return }
    var root = cell.root(0)
    for _ in 0..<40 {
      let key = family.key(&generator)
      let value = [UInt8](repeating: 7, count: [0, 12, 80, 512].randomElement(using: &generator)!)
      let limit = family.key(&generator)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<5:
        try key.withView { (key) throws(PageFault) in
          try value.withView { (value) throws(PageFault) in _ = try editor.put(key, value, in: &root) }
        }
      case 5, 6: try key.withView { (key) throws(PageFault) in _ = try editor.remove(key, from: &root) }
      case 7:
        _ = try key.withView { (key) throws(PageFault) in try editor.reader.rank(of: key, in: root) }
      case 8:
        var cursor = editor.reader.cursor(in: root)
        let buffer = ByteBuffer()
        var isValid = try key.withView { (key) throws(PageFault) in try cursor.seek(key) }
        for _ in 0..<100 where isValid {
          cursor.key(into: buffer)
          _ = cursor.value.array
          isValid = Bool.random(using: &generator) ? try cursor.next() : try cursor.previous()
        }
      default:
        try key.withView { (key) throws(PageFault) in
          try limit.withView { (limit) throws(PageFault) in
            _ = try editor.removeRange(from: key, to: limit, in: &root)
          }
        }
      }
    }
    let value = ByteBuffer()
    [1, 2, 3].withView { CatalogValue.encode(roots: [root], ownerBytes: $0, into: value) }
    try cellKey.withView { (key) throws(PageFault) in
      _ = try editor.put(key, value.view, in: &catalog, asCatalog: true)
    }
    // A checkpoint of what came out of it, and the exchange.
    var walk = CheckpointWalk(roots: [catalog])
    let target = GuardedPage()
    var offset = editor.end
    while let reference = walk.next() {
      try editor.encodeForFile(reference, into: target.page, offset: offset)
      offset += UInt64(Page.byteCount)
    }
    _ = try editor.exchangeWritten(catalog.reference)
  }

  @Test("a forged tree gives faults or wrong answers, and neither traps nor reads outside")
  func forged() throws {
    let tally = try TreeDamageTests.forge(seeds: 0..<80)
    #expect(tally.soundCount > 0 && tally.faults.count > 3, "\(tally)")
  }

  static func forge(seeds: Range<UInt64>) throws -> Tally {
    let original = try Original()
    var tally = Tally()
    for seed in seeds {
      var generator = SeededGenerator(seed: seed)
      let forgery = Forgery(original)
      for _ in 0..<Int.random(in: 1...4, using: &generator) { forgery.forge(&generator) }
      try use(forgery, root: original.root, generator: &generator, tally: &tally)
    }
    return tally
  }

  @Test("a reference that is no multiple of 4096 is refused, also where the page it overlaps has been checked")
  func misaligned() throws {
    let original = try Original()
    let forgery = Forgery(original)
    let source = try unsafe PageSource(
      base: UnsafeRawPointer(forgery.memory), salt: forgery.salt, maximumByteCount: forgery.byteCount)
    let end = UInt64(forgery.byteCount)
    _ = try source.page(4096, end: end)
    for reference in [4097, 4096 + 512, 8191, 1, 4095] as [UInt64] {
      #expect(throws: PageFault(offset: reference, reason: .place)) { try source.page(reference, end: end) }
    }
    for reference in [end, end - 4096 + 4096, 1 << 40, (1 << 63) - 4096] as [UInt64] {
      #expect(throws: PageFault(offset: reference, reason: .beyondEnd)) { try source.page(reference, end: end) }
    }
  }

  @Test(
    "neighbours that do not belong together are not joined",
    arguments: [
      (Page.Kind.leaf, [0x36], nil), (Page.Kind.catalogLeaf, [0x36], .kind), (Page.Kind.branch, [0x36], .level),
      (Page.Kind.leaf, [0x34], .order),
    ] as [(UInt8, [UInt8], PageFault.Reason?)])
  func forgedNeighbours(kind: UInt8, key: [UInt8], reason: PageFault.Reason?) throws {
    let file = HandmadeFile()
    file.leaf(1, ["1", "2", "3"])
    file.page(2, kind: kind, level: kind == Page.Kind.branch ? 1 : 0) { page, scratch in
      page.setLeftmost(child: 4096, count: 1)
      key.withView { key in
        if page.isBranch {
          _ = page.insert(at: 0, suffix: key, child: 4096, count: 1, scratch: scratch)
        } else {
          _ = page.insert(at: 0, suffix: key, value: key, scratch: scratch)
        }
      }
    }
    file.branch(3, level: 1, prefix: "", leftmost: (1, 3), [("5", 2, 1)])
    let editor = try file.editor()
    var root = TreeRoot(reference: 12288, count: 4)
    var found: PageFault.Reason?
    do throws(PageFault) {
      try Array("1".utf8).withView { (key) throws(PageFault) in _ = try editor.remove(key, from: &root) }
    } catch { found = error.reason }
    #expect(found == reason)
    #expect(editor.isFaulty == (reason != nil))
  }

  @Test("a branch without separators joins its neighbour, whatever prefix it has kept")
  func stalePrefix() throws {
    let file = HandmadeFile()
    file.leaf(1, ["aa"])
    file.leaf(2, ["aba"])
    file.leaf(3, ["abcd", "abce"])
    file.branch(4, level: 1, prefix: "abc", leftmost: (1, 1), [])
    file.branch(5, level: 1, prefix: "abc", leftmost: (2, 1), [("d", 3, 2)])
    file.branch(6, level: 2, prefix: "", leftmost: (4, 1), [("ab", 5, 3)])
    let editor = try file.editor()
    var root = TreeRoot(reference: 6 * 4096, count: 4)
    for (key, rest) in [("abce", ["aa", "aba", "abcd"]), ("aa", ["aba", "abcd"]), ("abcd", ["aba"]), ("aba", [])] {
      try Array(key.utf8).withView { _ = try editor.remove($0, from: &root) }
      let survey = try TreeSurvey(root, editor.source, end: editor.end)
      #expect(survey.keys == rest.map { Array($0.utf8) })
    }
    #expect(root.isEmpty)
  }

  @Test("a search is answered by no key on the wrong side of it, where a branch lies")
  func lyingBranch() throws {
    let file = HandmadeFile()
    file.leaf(1, ["a", "b"])
    file.leaf(2, ["c", "d"])
    file.branch(3, level: 1, prefix: "", leftmost: (1, 2), [("z", 2, 2)])
    file.leaf(4, ["m"])
    file.leaf(5, ["p"])
    file.branch(6, level: 1, prefix: "", leftmost: (4, 1), [("c", 5, 1)])
    let editor = try file.editor()
    let reader = TreeReader(source: editor.source, end: editor.end)
    let (high, low) = (TreeRoot(reference: 3 * 4096, count: 4), TreeRoot(reference: 6 * 4096, count: 2))
    let (x, d) = (Array("x".utf8), Array("d".utf8))
    func move(in root: TreeRoot, _ move: (inout Cursor) throws -> Void) throws {
      var cursor = reader.cursor(in: root)
      try move(&cursor)
    }
    #expect(throws: PageFault.self) { try move(in: high) { cursor in _ = try x.withView { try cursor.seek($0) } } }
    #expect(throws: PageFault.self) { try move(in: high) { cursor in try x.withView { try cursor.start(at: $0) } } }
    #expect(throws: PageFault.self) { try move(in: low) { cursor in _ = try d.withView { try cursor.seek(before: $0) } } }
  }

  /// A small file of pages made by hand.
  @safe final class HandmadeFile {
    private static let byteCount = 8 * Page.byteCount
    private let memory = unsafe RawMemory.reserveZeroed(byteCount: HandmadeFile.byteCount)!
    private let scratch = GuardedPage()

    deinit { unsafe RawMemory.release(memory, byteCount: HandmadeFile.byteCount) }

    func editor() throws -> TreeEditor {
      let source = try unsafe PageSource(
        base: UnsafeRawPointer(memory), salt: 1, maximumByteCount: HandmadeFile.byteCount)
      let editor = TreeEditor(source: source)
      editor.end = UInt64(HandmadeFile.byteCount)
      return editor
    }

    func page(_ number: Int, kind: UInt8, level: Int, prefix: String = "", fill: (Page, Page) -> Void) {
      // Safe: numbers are below eight.
      let page = unsafe Page(memory + number * Page.byteCount)
      Array(prefix.utf8).withView { page.initialize(kind: kind, level: level, prefix: $0) }
      fill(page, scratch.page)
      page.compact(scratch: scratch.page)
      page.sealChecksum(salt: 1, offset: UInt64(number * Page.byteCount))
    }

    func leaf(_ number: Int, _ keys: [String]) {
      page(number, kind: Page.Kind.leaf, level: 0) { page, scratch in
        for (index, key) in keys.enumerated() {
          Array(key.utf8).withView { _ = page.insert(at: index, suffix: $0, value: $0, scratch: scratch) }
        }
      }
    }

    func branch(
      _ number: Int, level: Int, prefix: String, leftmost: (page: Int, count: UInt64), _ cells: [(String, Int, UInt64)]
    ) {
      page(number, kind: Page.Kind.branch, level: level, prefix: prefix) { page, scratch in
        page.setLeftmost(child: UInt64(leftmost.page * Page.byteCount), count: leftmost.count)
        for (index, (suffix, child, count)) in cells.enumerated() {
          Array(suffix.utf8).withView {
            _ = page.insert(
              at: index, suffix: $0, child: UInt64(child * Page.byteCount), count: count, scratch: scratch)
          }
        }
      }
    }
  }
}

/// A tree whose branches lead to one leaf over and over, as no writer makes it and as every checksum allows: six levels of a
/// hundred ways each would take a walk longer than anybody lives.
@Suite("Trees that lead in circles")
struct SharedPageTests {
  /// A leaf with one key, and above it branches whose children are all the page below.
  private static func pages(levelCount: Int) -> [[UInt8]] {
    var pages: [[UInt8]] = []
    for level in 0...levelCount {
      let keys: [UInt8] = level == 0 ? [1] : Array(1...100)
      // Page 0 is the header, page 1 the pages frame's own; the leaf is page 2, the page below this one `level + 1`.
      let child = UInt64((level + 1) * Page.byteCount)
      let cellByteCount = level == 0 ? 3 : 17
      let heapStart = Page.byteCount - keys.count * cellByteCount
      let page = ByteBuffer()
      page.append(zeros: 8)
      page.append([level == 0 ? 2 : 1, UInt8(level)])
      page.append(uint16: UInt16(keys.count))
      page.append(uint16: 0)
      page.append(uint16: UInt16(heapStart))
      page.append(zeros: 8)
      page.append(uint64: level == 0 ? 0 : child)
      page.append(uint64: level == 0 ? 0 : 1)
      for (index, key) in keys.enumerated() {
        page.append(uint32: UInt32(key) << 24)
        page.append(uint16: UInt16(Page.byteCount - (index + 1) * cellByteCount))
        page.append(uint16: 1)
      }
      page.append(zeros: heapStart - page.count)
      for key in keys.reversed() {
        if level == 0 {
          page.append(uint16: 0)
        } else {
          page.append(uint64: child)
          page.append(uint64: 1)
        }
        page.append(key)
      }
      pages.append(page.view.array)
    }
    return pages
  }

  /// A file: the pages, and a checkpoint that names the topmost as a root.
  private static func file(levelCount: Int) -> [UInt8] {
    let pages = pages(levelCount: levelCount)
    let file = ByteBuffer()
    file.append(Forgery.header())
    func frame(_ kind: FrameHeader.Kind, number: UInt64, checkpoint: UInt64, _ payload: [UInt8]) {
      let header = FrameHeader(
        kind: kind, offset: UInt64(file.count), number: number, sequence: 0, previous: 0, durableThrough: number - 1,
        newestCheckpoint: checkpoint, olderCheckpoint: 0)
      let frame = ByteBuffer()
      frame.append(zeros: FrameHeader.byteCount)
      frame.append(payload)
      var sealed = header
      sealed.seal(into: frame, salt: 1)
      file.append(frame.view)
    }
    frame(.pages, number: 1, checkpoint: 0, [UInt8](repeating: 0, count: Page.byteCount - 96) + pages.joined())
    let root = UInt64(2 * Page.byteCount + levelCount * Page.byteCount)
    let payload = ByteBuffer()
    payload.append(zeros: FileHeader.meaningfulByteCount)
    for number in [4096, 1, 0, 0, UInt64(levelCount + 1), 0, 1, root, 1, 1] as [UInt64] { payload.append(uint64: number) }
    frame(.checkpoint, number: 2, checkpoint: UInt64(file.count), payload.view.array)
    return Forgery.sealed(file.view.array)
  }

  @Test("walks, the check and the count of pages end", .timeLimit(.minutes(15)))
  func walksEnd() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.install(Self.file(levelCount: 6), at: "a")
    let store = try KeyValueStore("a", disk: disk, options: .small().readOnly)
    let pin = try store.store.beginRead()
    defer { store.store.endRead(pin) }
    #expect(pin.root(0).reference != 0, "the forged checkpoint was taken")
    #expect(throws: PageFault.self) {
      var cursor = pin.reader.cursor(in: pin.root(0))
      var isValid = try cursor.first()
      while isValid { isValid = try cursor.next() }
    }
    #expect(throws: PageFault.self) {
      var cursor = pin.reader.cursor(in: pin.root(0))
      var isValid = try cursor.last()
      while isValid { isValid = try cursor.previous() }
    }
    #expect(!(try store.store.check(pin).isClean))
    var visited: Set<UInt64> = []
    #expect(throws: StoreError.self) { try store.store.levels(of: pin.root(0), pin, visited: &visited) }
  }
}
