import DaybookTesting
import Testing

@testable import DaybookEngine

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

// One page at a time: what search finds, what room a page has, what the check of a page from disk refuses, and that no
// content at all makes a reader trap or leave the page. Pages under test lie between two that nobody may touch.

/// A page with forbidden memory before and behind it.
@safe final class GuardedPage {
  private let memory: UnsafeMutableRawPointer
  private let byteCount: Int
  let page: Page

  init() {
    let systemPage = Int(sysconf(Int32(_SC_PAGESIZE)))
    byteCount = 3 * systemPage
    // Safe: fresh memory of three system pages, all forbidden, then the one in the middle allowed.
    unsafe memory = mmap(nil, byteCount, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0)
    let isAllowed = unsafe mprotect(memory + systemPage, systemPage, PROT_READ | PROT_WRITE) == 0
    precondition(isAllowed, "a page that was just mapped can be unlocked")
    // Where the system's pages are larger than ours, the end is the side to watch.
    unsafe page = Page(memory + (2 * systemPage - Page.byteCount))
  }

  deinit { unsafe munmap(memory, byteCount) }
}

/// A leaf built in random order beside its model.
struct PageBuilder {
  var model = SortedModel()
  let guarded = GuardedPage()
  let scratch = GuardedPage()
  let prefix: [UInt8]
  var page: Page { guarded.page }

  init(prefix: [UInt8] = [], kind: UInt8 = Page.Kind.leaf) {
    self.prefix = prefix
    prefix.withView { guarded.page.initialize(kind: kind, level: 0, prefix: $0) }
  }

  /// Inserts a key that is not there; false when the page is full.
  mutating func insert(_ suffix: [UInt8], _ value: [UInt8]) -> Bool {
    let key = prefix + suffix
    let index = model.index(of: key)
    let fits = suffix.withView { suffix in
      value.withView { page.insert(at: index, suffix: suffix, value: $0, scratch: scratch.page) }
    }
    if fits { _ = model.put(key, value) }
    return fits
  }

  func check() throws {
    if let reason = page.verifyStructure() { throw BrokenPromise(reason.rawValue) }
    try promise(page.cellCount == model.count, "\(page.cellCount) cells, the model has \(model.count)")
    var used = prefix.count
    for index in 0..<model.count {
      try promise(page.keyArray(index) == model.keys[index], "key \(index) differs")
      try promise(page.value(index).array == model.values[index], "value \(index) differs")
      used += page.cellByteCount(index)
    }
    try promise(page.usedByteCount == used, "\(page.usedByteCount) bytes counted, \(used) used")
  }
}

@Suite("Pages")
struct PageTests {
  static let prefixes: [[UInt8]] = [
    [], [7], Array("zone/a".utf8), [UInt8](repeating: 0, count: 9), [UInt8](repeating: 255, count: 1000),
  ]

  /// Keys that have heads, zero bytes and beginnings in common.
  static func suffix(_ generator: inout SeededGenerator) -> [UInt8] {
    let length = [0, 1, 2, 3, 4, 5, 8, 9, 20, 60].randomElement(using: &generator)!
    let letters: [UInt8] = Bool.random(using: &generator) ? [0, 1] : [0, 0x61, 0x62, 255]
    return (0..<length).map { _ in letters.randomElement(using: &generator)! }
  }

  @Test("search finds every key, and for any other the place where it belongs", arguments: prefixes)
  func search(prefix: [UInt8]) throws {
    var generator = SeededGenerator(seed: UInt64(prefix.count))
    for _ in 0..<12 {
      var builder = PageBuilder(prefix: prefix)
      let count = Int.random(in: 0...100, using: &generator)
      for _ in 0..<count {
        let suffix = PageTests.suffix(&generator)
        if builder.model.value(prefix + suffix) == nil { _ = builder.insert(suffix, [1]) }
      }
      var questions = builder.model.keys
      for key in builder.model.keys + [prefix, []] {
        questions.append(key + [0])
        questions.append(key + [255, 255, 255, 255, 255])
        if !key.isEmpty {
          questions.append(Array(key.dropLast()))
          var other = key
          other[Int.random(in: 0..<key.count, using: &generator)] &+= Bool.random(using: &generator) ? 1 : 255
          questions.append(other)
        }
      }
      for length in 0..<min(prefix.count, 12) {
        questions.append(Array(prefix.prefix(length)))
        questions.append(Array(prefix.prefix(length)) + [prefix[length] &+ 1])
        questions.append(Array(prefix.prefix(length)) + [prefix[length] &- 1])
      }
      for question in questions {
        let found = question.withView { builder.page.search($0) }
        let index = builder.model.index(of: question)
        #expect(found.index == index)
        #expect(found.isFound == builder.model.holds(question, at: index))
        let child = question.withView { builder.page.childIndex(for: $0) }
        #expect(child == (found.isFound ? index : index - 1))
      }
    }
  }

  @Test("a page holds what a sorted array holds, until it is full and after", arguments: prefixes)
  func lockstep(prefix: [UInt8]) throws {
    var generator = SeededGenerator(seed: 100 + UInt64(prefix.count))
    var builder = PageBuilder(prefix: prefix)
    var refused = 0
    for step in 0..<1500 {
      let count = builder.model.count
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<12:
        let suffix = PageTests.suffix(&generator)
        if builder.model.value(prefix + suffix) != nil { continue }
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: Int.random(in: 0...90, using: &generator))
        let needed = Page.slotByteCount + 2 + suffix.count + value.count
        let hasRoom = needed <= builder.page.freeByteCount
        #expect(builder.insert(suffix, value) == hasRoom, "a page is full when its free bytes say so")
        if !hasRoom { refused += 1 }
      case 12..<17 where count > 0:
        let index = Int.random(in: 0..<count, using: &generator)
        builder.page.remove(at: index)
        builder.model.remove(index..<index + 1)
      case 17 where count > 0:
        let start = Int.random(in: 0..<count, using: &generator)
        let range = start..<min(count, start + Int.random(in: 0..<6, using: &generator))
        builder.page.remove(range)
        builder.model.remove(range)
      case 18 where count > 0:
        let index = Int.random(in: 0..<count, using: &generator)
        let value = builder.model.values[index].map { $0 &+ 1 }
        value.withView { builder.page.overwriteValue(at: index, with: $0) }
        builder.model.values[index] = value
      default:
        builder.page.compact(scratch: builder.scratch.page)
        #expect(builder.page.deadByteCount == 0)
      }
      if step % 10 == 0 { try builder.check() }
    }
    try builder.check()
    #expect(refused > 10, "the page was full now and then")
  }

  @Test("cells move to a page with a shorter or longer prefix and keep key and value")
  func appendCells() throws {
    let whole = Array("zone/records/".utf8)
    for length in 0...whole.count {
      for targetLength in 0...whole.count {
        var builder = PageBuilder(prefix: Array(whole.prefix(length)))
        let rest = Array(whole.dropFirst(length))
        let endings: [[UInt8]] = [[], [0], [0, 0], [1, 2, 3], [9, 9, 9, 9, 9, 9, 9, 9, 9]]
        for (index, ending) in endings.enumerated() {
          let fits = builder.insert(rest + ending, [UInt8](repeating: 4, count: index))
          #expect(fits)
        }
        var target = PageBuilder(prefix: Array(whole.prefix(targetLength)))
        for index in 0..<builder.page.cellCount { target.page.appendCell(index, of: builder.page) }
        target.model = builder.model
        try target.check()
      }
    }
  }

  @Test("a branch gives back its children and counts, also after they were replaced")
  func branchCells() throws {
    let builder = PageBuilder()
    let page = builder.page
    let scratch = builder.scratch.page
    Array("ab".utf8).withView { page.initialize(kind: Page.Kind.branch, level: 3, prefix: $0) }
    page.setLeftmost(child: 8192, count: 5)
    for index in 0..<40 {
      let fits = [UInt8(index), 0, 1].withView {
        page.insert(at: index, suffix: $0, child: UInt64(index) * 4096, count: UInt64(index), scratch: scratch)
      }
      #expect(fits)
    }
    for index in stride(from: 38, through: 0, by: -2) { page.remove(at: index) }
    page.compact(scratch: scratch)
    page.setChild(-1, 77, count: 1000)
    page.setChild(3, 78, count: 2000)
    #expect(page.verifyStructure() == nil)
    #expect(page.cellCount == 20)
    for index in 0..<20 where index != 3 {
      #expect(page.child(index) == UInt64(index * 2 + 1) * 4096)
      #expect(page.childCount(index) == UInt64(index * 2 + 1))
    }
    #expect(page.child(-1) == 77 && page.childCount(-1) == 1000)
    #expect(page.child(3) == 78 && page.childCount(3) == 2000)
    // The odd numbers up to 39, without the 7 that was replaced.
    #expect(page.recordCount == 1000 + 2000 + 400 - 7)
  }

  // MARK: pages from disk

  /// A sealed page as a checkpoint writes it.
  static func sealedPage(seed: UInt64, isBranch: Bool, offset: UInt64, salt: UInt64) throws -> PageBuilder {
    var generator = SeededGenerator(seed: seed)
    var builder = PageBuilder(prefix: seed % 2 == 0 ? [] : Array("prefix".utf8))
    if isBranch {
      let page = builder.page
      page.initialize(kind: Page.Kind.branch, level: 2, prefix: page.prefix)
      page.setLeftmost(child: 4096, count: 3)
    }
    for _ in 0..<60 {
      let suffix = PageTests.suffix(&generator)
      let key = builder.prefix + suffix
      if builder.model.value(key) != nil { continue }
      if isBranch {
        let index = builder.model.index(of: key)
        _ = suffix.withView {
          builder.page.insert(at: index, suffix: $0, child: 8192, count: 9, scratch: builder.scratch.page)
        }
        _ = builder.model.put(key, [])
      } else {
        _ = builder.insert(suffix, [UInt8](repeating: 3, count: Int.random(in: 0...30, using: &generator)))
      }
    }
    builder.page.compact(scratch: builder.scratch.page)
    builder.page.clearFreeBytes()
    builder.page.sealChecksum(salt: salt, offset: offset)
    return builder
  }

  @Test(
    "a sealed page holds; with one byte changed, or at another place, or with another salt, it does not",
    arguments: [false, true])
  func oneByteChanged(isBranch: Bool) throws {
    for seed in [isBranch ? 1 : 2] as [UInt64] {
      let builder = try PageTests.sealedPage(seed: seed, isBranch: isBranch, offset: 40960, salt: 99)
      let page = builder.page
      #expect(page.verify(salt: 99, offset: 40960) == nil)
      #expect(page.verify(salt: 98, offset: 40960) == .checksum)
      #expect(page.verify(salt: 99, offset: 45056) == .checksum)
      for offset in 0..<Page.byteCount {
        let change = UInt8(truncatingIfNeeded: offset &* 37) | 1
        flip(page, offset, change)
        if page.verify(salt: 99, offset: 40960) != .checksum { Issue.record("byte \(offset) may change unseen") }
        flip(page, offset, change)
      }
      #expect(page.verify(salt: 99, offset: 40960) == nil)
    }
  }

  /// Changes a byte of a page. Safe: callers stay below 4096.
  private func flip(_ page: Page, _ offset: Int, _ change: UInt8) {
    let old = unsafe page.base.load(fromByteOffset: offset, as: UInt8.self)
    unsafe page.base.storeBytes(of: old ^ change, toByteOffset: offset, as: UInt8.self)
  }

  @Test("no content of a page makes a reader trap or leave the page")
  func garbage() throws {
    try PageTests.readGarbage(seed: 1, pageCount: 800)
  }

  static func readGarbage(seed: UInt64, pageCount: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let sound = try [false, true].map { try sealedPage(seed: 3, isBranch: $0, offset: 40960, salt: 99) }
    let target = GuardedPage()
    let page = target.page
    let key = ByteBuffer()
    var accepted = 0
    for round in 0..<pageCount {
      if round % 8 == 0 {
        for word in 0..<Page.byteCount / 8 {
          unsafe page.base.storeBytes(of: generator.next(), toByteOffset: word * 8, as: UInt64.self)
        }
        if round % 16 == 0 {
          // Something that the first guards let pass.
          unsafe page.base.storeBytes(of: UInt8(round / 16 % 3 + 1), toByteOffset: 8, as: UInt8.self)
          unsafe page.base.storeBytes(of: round / 16 % 3 == 0 ? 1 : 0, toByteOffset: 9, as: UInt8.self)
        }
      } else {
        page.copy(from: sound[round % 2].page)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
          let area = [24, 48, 200, Page.byteCount].randomElement(using: &generator)!
          let offset = Int.random(in: 8..<area, using: &generator)
          let byte = [0, 1, 255, UInt8(truncatingIfNeeded: generator.next())].randomElement(using: &generator)!
          unsafe page.base.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
        }
      }
      page.sealChecksum(salt: 99, offset: 40960)
      readEverything(page, key, &generator)
      if page.verify(salt: 99, offset: 40960) == nil {
        accepted += 1
        changeEverything(page, &generator)
      }
    }
    #expect(accepted > 0, "some changed pages hold, so the writing half of this test runs")
  }

  private static func readEverything(_ page: Page, _ key: ByteBuffer, _ generator: inout SeededGenerator) {
    _ = page.verifyStructure()
    _ = page.recordCount
    _ = page.freeByteCount
    for length in [0, 1, 3, 4, 5, 30, 1280] {
      let question = (0..<length).map { _ in [0, 0x61, 255].randomElement(using: &generator)! as UInt8 }
      let (index, _) = question.withView { page.search($0) }
      #expect(index >= 0 && index <= page.cellCount)
      let (_, _) = (Array("prefix".utf8) + question).withView { page.search($0) }
    }
    var sum: UInt8 = 0
    for index in Set([0, 1, page.cellCount / 2, page.cellCount - 1]) where index >= 0 && index < page.cellCount {
      key.truncate(to: 0)
      page.appendKey(index, to: key)
      for byte in key.view.array.suffix(1) + page.value(index).array.suffix(1) { sum &+= byte }
      sum &+= UInt8(truncatingIfNeeded: page.child(index) &+ page.childCount(index))
      _ = page.cellByteCount(index)
    }
  }

  /// A page from disk that holds may be copied and changed: then nothing may trap either.
  private static func changeEverything(_ page: Page, _ generator: inout SeededGenerator) {
    let copy = GuardedPage()
    let scratch = GuardedPage()
    copy.page.copy(from: page)
    for _ in 0..<30 {
      let count = copy.page.cellCount
      if count > 0 && Bool.random(using: &generator) {
        copy.page.remove(at: Int.random(in: 0..<count, using: &generator))
      } else {
        let suffix = PageTests.suffix(&generator)
        let index = Int.random(in: 0...count, using: &generator)
        suffix.withView { suffix in
          if copy.page.isBranch {
            _ = copy.page.insert(at: index, suffix: suffix, child: 4096, count: 1, scratch: scratch.page)
          } else {
            _ = copy.page.insert(at: index, suffix: suffix, value: suffix, scratch: scratch.page)
          }
        }
      }
    }
    copy.page.compact(scratch: scratch.page)
  }

  @Test("a forged page with a sound checksum is refused")
  func forgedPages() throws {
    func reason(isBranch: Bool = false, offset: UInt64 = 40960, _ change: (Page) -> Void) throws -> PageFault.Reason? {
      let builder = try PageTests.sealedPage(seed: 2, isBranch: isBranch, offset: offset, salt: 1)
      change(builder.page)
      builder.page.sealChecksum(salt: 1, offset: offset)
      return builder.page.verify(salt: 1, offset: offset)
    }
    func store(_ page: Page, _ value: UInt16, at offset: Int) {
      unsafe page.base.storeBytes(of: value, toByteOffset: offset, as: UInt16.self)
    }
    #expect(try reason { _ in } == nil)
    #expect(try reason { unsafe $0.base.storeBytes(of: 4, toByteOffset: 8, as: UInt8.self) } == .kind)
    #expect(try reason { unsafe $0.base.storeBytes(of: 1, toByteOffset: 9, as: UInt8.self) } == .level)
    #expect(try reason(isBranch: true) { unsafe $0.base.storeBytes(of: 24, toByteOffset: 9, as: UInt8.self) } == .level)
    #expect(try reason { $0.setCellCount(507) } == .slots)
    #expect(try reason { $0.setPrefixLength(1281) } == .slots)
    #expect(try reason { $0.setHeapStart(4097) } == .slots)
    #expect(try reason { $0.setDeadByteCount(1) } == .cell)
    #expect(try reason { store($0, 0x7777, at: 40 + 8) } == .cell, "a head that is not its key's")
    #expect(try reason { store($0, 513, at: Page.cellOffset($0.slot($0.cellCount - 1))) } == .cell)
    for byteCount in [512, 513] {
      let expected: PageFault.Reason? = byteCount == 512 ? nil : .cell
      #expect(
        try reason { page in
          page.initialize(kind: Page.Kind.leaf, level: 0, prefix: page.prefix)
          let scratch = GuardedPage()
          [UInt8](repeating: 1, count: byteCount).withView {
            _ = page.insert(at: 0, suffix: $0.prefix(3), value: $0, scratch: scratch.page)
          }
        } == expected)
    }
    // Two cells that share their bytes.
    #expect(try reason { store($0, UInt16(Page.cellOffset($0.slot(1))), at: 40 + 2 * 8 + 4) } == .cell)
    #expect(try reason { $0.initialize(kind: Page.Kind.leaf, level: 0, prefix: $0.prefix) } == .empty)
    // Cells in another order than their slots: sound in memory, but no checkpoint writes them.
    var reasonInMemory: PageFault.Reason? = .checksum
    let reasonInFile = try reason { page in
      page.initialize(kind: Page.Kind.leaf, level: 0, prefix: page.prefix)
      let scratch = GuardedPage()
      for key in [[2], [1]] as [[UInt8]] {
        key.withView { _ = page.insert(at: 0, suffix: $0, value: $0, scratch: scratch.page) }
      }
      reasonInMemory = page.verifyStructure()
    }
    #expect(reasonInMemory == nil && reasonInFile == .cell)
    // Two slots in the wrong order, their cells in the order of the slots.
    #expect(
      try reason { page in
        page.initialize(kind: Page.Kind.leaf, level: 0, prefix: page.prefix)
        let scratch = GuardedPage()
        for key in [[2], [1]] as [[UInt8]] {
          _ = key.withView { page.insert(at: page.cellCount, suffix: $0, value: $0, scratch: scratch.page) }
        }
      } == .order)
    // Children: behind the parent, overlapping it, in the file's header, in memory.
    for child in [40960, 45056, 40960 - 4095, 0, 1, 4095, PageSource.memoryTag | 4096] as [UInt64] {
      #expect(try reason(isBranch: true) { $0.setChild(2, child, count: 1) } == .child)
      #expect(try reason(isBranch: true) { $0.setChild(-1, child, count: 1) } == .child)
    }
    #expect(try reason(isBranch: true) { $0.setChild(2, 40960 - 4096, count: 1) } == nil)
  }

  @Test("a catalog page whose roots point into memory, or not before the page, is refused")
  func forgedCatalog() throws {
    func reason(_ root: TreeRoot) -> PageFault.Reason? {
      var builder = PageBuilder(kind: Page.Kind.catalogLeaf)
      let value = ByteBuffer()
      [1, 2, 3].withView { CatalogValue.encode(roots: [.empty, root], ownerBytes: $0, into: value) }
      let fits = builder.insert([1], value.view.array)
      #expect(fits)
      builder.page.sealChecksum(salt: 1, offset: 40960)
      return builder.page.verify(salt: 1, offset: 40960)
    }
    #expect(reason(.empty) == nil)
    #expect(reason(TreeRoot(reference: 8192, count: 4)) == nil)
    #expect(reason(TreeRoot(reference: 0, count: 4)) == .child)
    for reference in [40960, 36865, 1, 4095, PageSource.memoryTag | 4096, .max] as [UInt64] {
      #expect(reason(TreeRoot(reference: reference, count: 4)) == .child)
    }
  }
}
