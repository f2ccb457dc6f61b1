import DaybookTesting
import Testing

@testable import DaybookEngine

// Trees against their naive twins: the same thousands of random steps on a sorted array, a check of the whole tree after
// each batch, and every version that somebody still reads compared with the model of its time. Then what random steps
// meet too seldom: the largest cells, pages whose neighbours went away, edges of ranges.

@Suite("Trees against a model")
struct TreeModelTests {
  @Test(
    "a tree answers like a sorted array, through savepoints, checkpoints and old versions",
    arguments: 1...6 as ClosedRange<UInt64>)
  func mixedKeys(seed: UInt64) throws {
    var trial = TreeTrial(seed: seed, stepCount: 2_000, families: KeyFamily.allCases)
    trial.typicalCount = 600
    try trial.run()
    #expect(trial.mostDeltas > 1)
  }

  @Test("and so it does for keys of one kind", arguments: KeyFamily.allCases)
  func keysOfOneKind(family: KeyFamily) throws {
    var trial = TreeTrial(seed: 77, stepCount: 1_200, families: [family])
    trial.typicalCount = 500
    try trial.run()
  }

  @Test(
    "small trees stand in the cells of the catalog, come out when they grow, and go in again",
    arguments: 1...12 as ClosedRange<UInt64>)
  func smallTrees(seed: UInt64) throws {
    let families: [KeyFamily] = seed % 3 == 0 ? [.long, .tiny] : [.random, .sequential, .dense, .commonPrefix, .zeros]
    var trial = TreeTrial(seed: seed, stepCount: 1_500, families: families)
    trial.treeCount = 12
    trial.typicalCount = seed % 2 == 0 ? 12 : 60
    trial.batchStepCount = 150
    trial.inlinesSmallTrees = true
    try trial.run()
    #expect(trial.mostInline > 1)
  }

  @Test("a walk begins at the first record or at a key, and ends once")
  func walks() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    func walk(_ cursor: inout Cursor) throws -> [[UInt8]] {
      let key = ByteBuffer()
      var keys: [[UInt8]] = []
      while try cursor.next() {
        cursor.key(into: key)
        keys.append(key.view.array)
      }
      #expect(try !cursor.next() && !cursor.isValid)
      return keys
    }
    var empty = bench.editor.reader.cursor(in: bench.roots[0])
    #expect(try walk(&empty).isEmpty)
    let keys = (0..<900).map { [1, UInt8($0 >> 8), UInt8($0 & 255)] }
    for key in keys { try bench.put(key, key) }
    var cursor = bench.editor.reader.cursor(in: bench.roots[0])
    #expect(try walk(&cursor) == keys)
    for (start, first) in [(keys[0], 0), (keys[255], 255), (keys[255] + [0], 256), (keys[899] + [0], 900), ([9], 900)] {
      try start.withView { try cursor.start(at: $0) }
      #expect(!cursor.isValid)
      #expect(try walk(&cursor) == Array(keys[first...]))
    }
    try cursor.last()
    #expect(try !cursor.next())
  }

  @Test("a page whose neighbours went away splits, though its cells grow without their prefix")
  func splitAfterNeighboursLeft() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    func key(_ number: Int) -> [UInt8] {
      [UInt8](repeating: 1, count: 60) + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }
    try bench.put([9], [])
    for number in 0..<2000 { try bench.put(key(number * 4), []) }
    // Drops whole leaves: what is left of them stands right before a separator that shares nothing with it.
    try bench.removeRange(from: key(3000), to: key(6000))
    try bench.checkNow(0)
    for number in 2000..<6400 where number % 4 != 0 {
      if !(3000..<6000).contains(number) { try bench.put(key(number), []) }
    }
    try bench.checkNow(0)
  }

  @Test("a branch whose neighbours went away splits, though its separators grow without their prefix")
  func branchSplitAfterNeighboursLeft() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    // Long keys with long values: few records a leaf, separators almost as long as the keys.
    func key(_ number: Int) -> [UInt8] {
      [UInt8](repeating: 1, count: 100) + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }
    let value = [UInt8](repeating: 2, count: 512)
    try bench.put([9], [])
    for number in 0..<2500 { try bench.put(key(number * 8), value) }
    try bench.removeRange(from: key(9000), to: key(18000))
    try bench.checkNow(0)
    for number in 7000..<9000 where number % 8 != 0 { try bench.put(key(number), value) }
    try bench.checkNow(0)
  }

  // MARK: filling

  @Test("ascending keys fill their pages, and random ones leave less than 40 % empty")
  func filling() throws {
    var generator = SeededGenerator(seed: 5)
    for isSequential in [true, false] {
      let bench = try TreeWorkbench(treeCount: 1)
      let value = [UInt8](repeating: 1, count: 12)
      for number in 0..<6000 {
        let word = isSequential ? UInt64(number) : generator.next()
        let key = (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } + [1, 2, 3, 4, 5, 6, 7, 8]
        _ = try key.withView { key in try value.withView { try bench.editor.put(key, $0, in: &bench.roots[0]) } }
      }
      let filling = try TreeSurvey(bench.roots[0], bench.source, end: bench.end).filling
      #expect(filling > (isSequential ? 0.9 : 0.6))
    }
  }

  @Test("records removed in small ranges leave no chain of nearly empty pages")
  func fillingAfterRanges() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] + Array("record".utf8) }
    for number in 0..<6000 { try bench.put(key(number), [UInt8](repeating: 1, count: 12)) }
    for start in stride(from: 0, to: 6000, by: 50) { try bench.removeRange(from: key(start), to: key(start + 48)) }
    let survey = try bench.checkNow(0)
    #expect(survey.keys.count == 240)
    #expect(survey.filling > 0.25)
  }

  @Test("ascending runs in the middle of a tree end where the keys that were there before begin", arguments: [0, 40])
  func ascendingRuns(sharedByteCount: Int) throws {
    var generator = SeededGenerator(seed: 11)
    let bench = try TreeWorkbench(treeCount: 2)
    func key(_ number: Int) -> [UInt8] {
      [UInt8](repeating: 9, count: sharedByteCount) + [UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)]
    }
    for number in stride(from: 0, to: 1 << 20, by: 4096) { try bench.put(key(number), [UInt8](repeating: 1, count: 20)) }
    for round in 0..<400 {
      if round % 7 == 0 { try bench.beginSavepoint() }
      // Some cross the keys that were there, some begin in front of the last run's end, some go to another tree in between.
      var number = Int.random(in: 0..<(1 << 20), using: &generator)
      let step = [1, 3, 250][Int.random(in: 0..<3, using: &generator)]
      for index in 0..<Int.random(in: 2..<60, using: &generator) {
        try bench.put(key(number), [UInt8](repeating: UInt8(round & 255), count: 20))
        if round % 5 == 0, index % 10 == 9 { try bench.put(key(number), [1], in: 1) }
        if round % 11 == 0, index % 13 == 12 { try bench.remove(key(number)) }
        number += step
      }
      if round % 14 == 0 { #expect(try bench.release(levels: 1)) } else if round % 7 == 0 { #expect(bench.rollBack(levels: 1)) }
      if round % 20 == 0 { try bench.commit() }
      if round % 50 == 0 { try bench.checkNow(0) }
    }
    try bench.commit()
    try bench.checkEverything()
  }

  // MARK: the largest cells

  @Test("the longest keys with the longest values split and merge", arguments: [0, 600, 1278])
  func largestCells(sharedByteCount: Int) throws {
    var generator = SeededGenerator(seed: UInt64(sharedByteCount))
    func key(_ number: Int) -> [UInt8] {
      [UInt8](repeating: 3, count: sharedByteCount) + [UInt8(number >> 8), UInt8(number & 255)]
        + [UInt8](repeating: 8, count: 1278 - sharedByteCount)
    }
    for order in 0..<3 {
      let bench = try TreeWorkbench(treeCount: 1)
      var numbers = Array(0..<120)
      if order == 1 { numbers.reverse() }
      if order == 2 { numbers.shuffle(using: &generator) }
      for number in numbers {
        try bench.put(key(number), [UInt8](repeating: UInt8(number), count: number % 3 == 0 ? 0 : 512))
      }
      #expect(try bench.checkNow(0).depth > 1)
      for number in numbers { try bench.put(key(number), [UInt8](repeating: 1, count: number % 3 == 1 ? 0 : 512)) }
      try bench.checkNow(0)
      for (index, number) in numbers.shuffled(using: &generator).enumerated() {
        try bench.remove(key(number))
        if index % 10 == 0 { try bench.checkNow(0) }
      }
      #expect(bench.roots[0].isEmpty)
    }
  }

  @Test("separators as long as keys can be split branches into pages of three")
  func longestSeparators() throws {
    var generator = SeededGenerator(seed: 31)
    // Neighbours differ in their last byte only, so separators cannot be cut.
    func key(_ number: Int) -> [UInt8] {
      var key = [UInt8](repeating: 0, count: 1280)
      for bit in 0..<10 where number >> bit & 1 == 1 { key[(9 - bit) * 128 + 127] = 1 }
      return key
    }
    let bench = try TreeWorkbench(treeCount: 1)
    for number in Array(0..<1024).shuffled(using: &generator) {
      try bench.put(key(number), [UInt8](repeating: 1, count: 500))
    }
    #expect(try bench.checkNow(0).depth >= 4)
    for number in stride(from: 0, to: 1024, by: 100) { try bench.removeRange(from: key(number), to: key(number + 70)) }
    try bench.checkNow(0)
    for number in Array(0..<1024).shuffled(using: &generator) where bench.models[0].value(key(number)) != nil {
      try bench.remove(key(number))
    }
    #expect(bench.roots[0].isEmpty)
  }

  @Test("the empty key is a key like any other")
  func emptyKey() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    for number in 0..<2000 { try bench.put([UInt8(number >> 8), UInt8(number & 255), 0, 0], [1, 2, 3]) }
    try bench.put([], [4])
    try bench.put([0], [5])
    try bench.checkNow(0)
    #expect(try [].withView { try bench.editor.reader.value($0, in: bench.roots[0])?.array } == [4])
    #expect(try [].withView { try bench.editor.reader.rank(of: $0, in: bench.roots[0]) } == 0)
    try bench.removeRange(from: [], to: [0])
    try bench.checkNow(0)
    #expect(bench.models[0].keys[0] == [0])
  }

  // MARK: savepoints and old versions

  @Test("going back to a savepoint leaves its trees as they were, and no page behind")
  func rollBack() throws {
    let bench = try TreeWorkbench(treeCount: 2)
    for number in 0..<3000 { try bench.put([UInt8(number & 255), UInt8(number >> 8)], [1], in: number % 2) }
    try bench.commit()
    let used = bench.editor.pages.usedPageCount
    for _ in 0..<3 {
      try bench.beginSavepoint()
      for number in 0..<500 { try bench.put([UInt8(number & 255), UInt8(number >> 8), 1], [2]) }
      try bench.beginSavepoint()
      try bench.removeRange(from: [10], to: [200])
      bench.dropTree(1)
      #expect(bench.rollBack(levels: 1))
      try bench.checkNow(0)
      try bench.checkNow(1)
      try bench.removeRange(from: [100], to: nil)
      try bench.beginSavepoint()
      for number in 0..<100 { try bench.put([UInt8(number), 9], [2], in: 1) }
      #expect(bench.rollBack(levels: 2))
      try bench.checkNow(0)
      try bench.checkNow(1)
    }
    #expect(bench.editor.pages.usedPageCount == used)
    try bench.abort()
    try bench.checkEverything()
  }

  @Test("ten thousand savepoints that succeed need the memory of one, within another, too")
  func manySavepoints() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    for number in 0..<3000 { try bench.put([UInt8(number & 255), UInt8(number >> 8)], [1]) }
    try bench.commit()
    var generator = SeededGenerator(seed: 7)
    func change(_ count: Int) throws {
      for _ in 0..<count {
        try bench.beginSavepoint()
        let key = [UInt8.random(in: 0...255, using: &generator), UInt8.random(in: 0..<12, using: &generator)]
        try bench.put(key, [UInt8.random(in: 0...9, using: &generator)])
        #expect(try bench.release(levels: 1))
      }
    }
    let used = bench.editor.pages.usedPageCount
    // Every page of the tree may be copied once for the transaction, and once more for the rollback of a savepoint.
    let pageCount = Int(bench.roots[0].pageCount)
    try change(5_000)
    #expect(bench.editor.pages.usedPageCount - used <= 2 * pageCount + 8)
    try bench.beginSavepoint()
    try change(5_000)
    #expect(bench.editor.pages.usedPageCount - used <= 3 * pageCount + 8)
    try bench.checkNow(0)
    #expect(bench.rollBack(levels: 1))
    try bench.checkNow(0)
    try change(100)
    try bench.commit()
    try bench.checkEverything()
  }

  @Test("a dropped tree stays readable while its version is pinned, and then all its pages come free")
  func droppedTree() throws {
    let bench = try TreeWorkbench(treeCount: 2)
    for number in 0..<3000 { try bench.put([UInt8(number & 255), UInt8(number >> 8)], [1], in: number % 2) }
    try bench.commit()
    bench.pin()
    for number in 0..<300 { try bench.put([UInt8(number & 255), 77], [1]) }
    bench.dropTree(0)
    bench.dropTree(1)
    try bench.commit()
    try bench.checkEverything()
    bench.unpin(0)
    try bench.checkEverything()
    #expect(bench.editor.pages.usedPageCount == 1, "the catalog's page")
  }

  @Test("a catalog and an ordinary tree are not taken for each other")
  func catalogKind() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    try bench.put([1], [1])
    try bench.commit()
    #expect(throws: PageFault.self) {
      try [2].withView { _ = try bench.editor.put($0, $0, in: &bench.roots[0], asCatalog: true) }
    }
    try bench.abort()
    #expect(throws: PageFault.self) {
      try [2].withView { _ = try bench.editor.put($0, $0, in: &bench.catalog) }
    }
    try bench.abort()
    #expect(throws: PageFault.self) { try [1].withView { _ = try bench.editor.reader.catalogValue($0, in: bench.roots[0]) } }
    var cursor = bench.editor.reader.cursor(in: bench.roots[0])
    try cursor.first()
    #expect(throws: PageFault.self) { try cursor.catalogValue }
    cursor = bench.editor.reader.cursor(in: bench.catalog)
    try cursor.first()
    #expect(try cursor.catalogValue.root(0) == bench.roots[0])
    let root = try TreeWorkbench.cellKey(0).withView {
      try bench.editor.reader.catalogValue($0, in: bench.catalog)?.root(0)
    }
    #expect(root == bench.roots[0])
    try bench.checkEverything()
  }
}
