import DaybookTesting

@testable import DaybookEngine

// Random steps on trees and their models, decided by a seed: what a transaction can do, what a reader can ask, old versions
// pinned and let go, checkpoints between and across transactions. The first answer that differs ends the trial.

/// Keys of one kind; several kinds in one tree make pages whose neighbours share nothing with them.
enum KeyFamily: CaseIterable {
  case random, sequential, commonPrefix, long, tiny, prefixesOfEachOther, dense, zeros

  func key(_ generator: inout SeededGenerator) -> [UInt8] {
    switch self {
    case .random:
      return bytes(Int.random(in: 16...24, using: &generator), &generator)
    case .sequential:
      let number = UInt32.random(in: 0..<3000, using: &generator)
      return Array("record/".utf8) + bigEndian(number)
    case .commonPrefix:
      let length = [3, 20, 60, 300, 1200].randomElement(using: &generator)!
      return [UInt8](repeating: 0x70 + UInt8(length % 5), count: length)
        + bytes(Int.random(in: 0...6, using: &generator), &generator)
    case .long:
      let length = Bool.random(using: &generator) ? 1280 : Int.random(in: 200...1280, using: &generator)
      let shared = Int.random(in: 0...length, using: &generator)
      let start = UInt8.random(in: 0...3, using: &generator) &* 60
      return [UInt8](repeating: start, count: shared) + bytes(length - shared, &generator)
    case .tiny:
      return bytes(Int.random(in: 0...1, using: &generator), &generator)
    case .prefixesOfEachOther:
      let letter = UInt8.random(in: 0x61...0x63, using: &generator)
      return [UInt8](repeating: letter, count: Int.random(in: 0...1280, using: &generator))
    case .dense:
      // Eight neighbourhoods, each with a long prefix of its own and short ends.
      let area = UInt8.random(in: 0..<8, using: &generator)
      let number = UInt16.random(in: 0..<1500, using: &generator)
      return [0x64, area] + [UInt8](repeating: 0x2d, count: 18 + Int(area) * 20)
        + bigEndian(UInt32(number)).suffix(2)
    case .zeros:
      return (0..<Int.random(in: 0...7, using: &generator)).map { _ in [0, 0, 0, 1, 255].randomElement(using: &generator)! }
    }
  }

  private func bigEndian(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  private func bytes(_ count: Int, _ generator: inout SeededGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }
}

struct TreeTrial {
  var seed: UInt64
  var stepCount: Int
  var families: [KeyFamily]
  var treeCount = 2
  /// A batch ends with a check of everything.
  var batchStepCount = 400
  /// The number of records that a tree swings around.
  var typicalCount = 1500
  var usesCheckpoints = true
  var inlinesSmallTrees = false

  private(set) var step = 0
  private(set) var deepest = 0
  private(set) var most = 0
  /// The most trees that stood in cells at one time.
  private(set) var mostInline = 0
  /// The most leaves of one tree that had deltas at one time.
  private(set) var mostDeltas = 0

  init(seed: UInt64, stepCount: Int, families: [KeyFamily]) {
    self.seed = seed
    self.stepCount = stepCount
    self.families = families
  }

  /// Runs the trial; a promise that does not hold is thrown with the seed and the step.
  mutating func run() throws {
    do { try runSteps() } catch {
      throw BrokenPromise("seed \(seed), step \(step): \(error)")
    }
  }

  private mutating func runSteps() throws {
    var generator = SeededGenerator(seed: seed)
    let bench = try TreeWorkbench(treeCount: treeCount)
    bench.inlinesSmallTrees = inlinesSmallTrees
    defer {
      mostInline = bench.mostInline
      mostDeltas = bench.mostDeltas
    }
    // Of their own, so that these questions leave the steps as they are.
    var questions = SeededGenerator(seed: seed &+ 1 << 32)
    var checkpoint: TreeWorkbench.Checkpoint?
    var isGrowing = true
    while step < stepCount {
      step += 1
      let tree = Int.random(in: 0..<treeCount, using: &generator)
      if step % batchStepCount == 0 {
        try finishTransaction(bench, &checkpoint, &generator)
        let survey = try bench.checkNow(tree)
        deepest = max(deepest, survey.depth)
        most = max(most, survey.keys.count)
        try bench.checkEverything()
      }
      let count = bench.models[tree].count
      if count > typicalCount { isGrowing = false } else if count < typicalCount / 50 { isGrowing = true }
      try runStep(bench, tree, isGrowing, &checkpoint, &generator)
      if step % 20 == 0 { try gather(bench, tree, &questions) }
      if step % 20 == 10 { try lookInGroups(bench, tree, &questions) }
    }
    try empty(bench, &checkpoint, &generator)
  }

  private func runStep(
    _ bench: TreeWorkbench, _ tree: Int, _ isGrowing: Bool, _ checkpoint: inout TreeWorkbench.Checkpoint?,
    _ generator: inout SeededGenerator
  ) throws {
    switch Int.random(in: 0..<1000, using: &generator) {
    case 0..<500:
      if isGrowing || Int.random(in: 0..<4, using: &generator) == 0 {
        try put(bench, tree, newKey(&generator), &generator)
      } else {
        try bench.remove(oldKey(bench.models[tree], &generator), from: tree)
      }
    case 500..<650: try put(bench, tree, oldKey(bench.models[tree], &generator), &generator)
    case 650..<750: try bench.remove(oldKey(bench.models[tree], &generator), from: tree)
    case 750..<767: try bench.remove(newKey(&generator), from: tree)
    case 767..<770: if isGrowing { try putBehind(bench, tree, &generator) }
    case 770..<850: try look(bench, tree, &generator)
    case 850..<900: try walk(bench, tree, &generator)
    case 900..<912: try removeRange(bench, tree, &generator)
    case 912..<945: try bench.beginSavepoint()
    case 945..<953: _ = bench.rollBack(levels: Int.random(in: 1...2, using: &generator))
    case 953..<960: _ = try bench.release(levels: Int.random(in: 1...2, using: &generator))
    case 960: if Int.random(in: 0..<10, using: &generator) == 0 { bench.dropTree(tree) }
    case 961..<965:
      bench.rests[tree] = [UInt8](repeating: UInt8(tree), count: Int.random(in: 0...480, using: &generator))
    case 965..<967: try bench.abort()
    case 967..<975: if isGrowing { try putMany(bench, tree, &generator) }
    default: try finishTransaction(bench, &checkpoint, &generator)
    }
  }

  private func newKey(_ generator: inout SeededGenerator) -> [UInt8] {
    families.randomElement(using: &generator)!.key(&generator)
  }

  private func oldKey(_ model: SortedModel, _ generator: inout SeededGenerator) -> [UInt8] {
    model.keys.randomElement(using: &generator) ?? newKey(&generator)
  }

  /// A key of the tree, one near it, or any.
  func anyKey(_ model: SortedModel, _ generator: inout SeededGenerator) -> [UInt8] {
    var key = Bool.random(using: &generator) ? oldKey(model, &generator) : newKey(&generator)
    switch Int.random(in: 0..<5, using: &generator) {
    case 0 where key.count < 1280: key.append(0)
    case 1 where !key.isEmpty: key.removeLast()
    case 2 where !key.isEmpty: key[Int.random(in: 0..<key.count, using: &generator)] &+= 1
    default: break
    }
    return key
  }

  // MARK: changes

  private func put(_ bench: TreeWorkbench, _ tree: Int, _ key: [UInt8], _ generator: inout SeededGenerator) throws {
    let count: Int
    switch Int.random(in: 0..<10, using: &generator) {
    case 0..<3: count = 0
    case 3..<8: count = 12
    case 8: count = Int.random(in: 0...60, using: &generator)
    default: count = Int.random(in: 0..<4, using: &generator) == 0 ? 512 : Int.random(in: 0...512, using: &generator)
    }
    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ step) }
    try bench.put(key, value, in: tree)
  }

  /// A run of keys of one kind, often in order.
  private func putMany(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    let family = families.randomElement(using: &generator)!
    var keys = (0..<Int.random(in: 50...400, using: &generator)).map { _ in family.key(&generator) }
    if Bool.random(using: &generator) { keys.sort { SortedModel.order($0, $1) < 0 } }
    let value = [UInt8](repeating: 5, count: [0, 12, 60].randomElement(using: &generator)!)
    for key in keys { try bench.put(key, value, in: tree) }
  }

  /// Keys after the last one of a tree, each after the one before; now and then something else comes between two of them.
  private func putBehind(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    for _ in 0..<Int.random(in: 1...60, using: &generator) {
      var key = bench.models[tree].keys.last ?? newKey(&generator)
      if let last = key.last, last < 255 {
        key[key.count - 1] = last + 1
      } else if key.count < 1280 {
        key.append(1)
      } else {
        return
      }
      try put(bench, tree, key, &generator)
      switch Int.random(in: 0..<40, using: &generator) {
      case 0: try bench.remove(key, from: tree)
      case 1: try bench.beginSavepoint()
      case 2: _ = bench.rollBack(levels: 1)
      case 3: _ = try bench.release(levels: 1)
      case 4: try put(bench, (tree + 1) % bench.roots.count, newKey(&generator), &generator)
      case 5: try put(bench, tree, newKey(&generator), &generator)
      case 6: try put(bench, tree, key, &generator)
      case 7: try bench.removeRange(from: key, to: nil, in: tree)
      case 8 where Int.random(in: 0..<8, using: &generator) == 0: bench.dropTree(tree)
      default: break
      }
    }
  }

  private func removeRange(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    let model = bench.models[tree]
    let lower: [UInt8]?
    let upper: [UInt8]?
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: (lower, upper) = (nil, anyKey(model, &generator))
    case 1: (lower, upper) = (anyKey(model, &generator), nil)
    case 2: (lower, upper) = (anyKey(model, &generator), anyKey(model, &generator))
    case 3 where Int.random(in: 0..<8, using: &generator) == 0: (lower, upper) = (nil, nil)
    default:
      // A short range, whose ends are keys of the tree.
      let start = Int.random(in: 0...model.count, using: &generator)
      let end = min(model.count, start + Int.random(in: 0...150, using: &generator))
      lower = start < model.count ? model.keys[start] : nil
      upper = end < model.count ? model.keys[end] : nil
    }
    // Long ranges are rarer, or the tree would never grow.
    let range = model.range(lower, upper)
    if range.count > 200 && Int.random(in: 0..<12, using: &generator) != 0 { return }
    try bench.removeRange(from: lower, to: upper, in: tree)
  }

  // MARK: between transactions

  private func finishTransaction(
    _ bench: TreeWorkbench, _ checkpoint: inout TreeWorkbench.Checkpoint?, _ generator: inout SeededGenerator
  ) throws {
    try bench.commit()
    if Int.random(in: 0..<3, using: &generator) == 0 { bench.pin() }
    // The pin of a checkpoint goes with the checkpoint.
    if checkpoint == nil, !bench.pins.isEmpty, Int.random(in: 0..<3, using: &generator) == 0 {
      let index = Int.random(in: 0..<bench.pins.count, using: &generator)
      try bench.check(bench.pins[index])
      bench.unpin(index)
    }
    if checkpoint == nil, bench.pins.count > 5 { while !bench.pins.isEmpty { bench.unpin(0) } }
    if Int.random(in: 0..<3, using: &generator) == 0 { bench.reclaim() }
    guard usesCheckpoints else { return }
    if var going = checkpoint {
      checkpoint = nil
      if try bench.write(&going, pageCount: Int.random(in: 1...40, using: &generator)) {
        checkpoint = going
      } else {
        try TreeTrial.expectInFile(bench, going)
        try bench.exchange(going)
        try bench.check(bench.newest, isNewest: true)
      }
    } else if Int.random(in: 0..<10, using: &generator) == 0 {
      checkpoint = bench.freeze()
    }
  }

  /// Reads a checkpoint back as the next process would: nothing but the file.
  static func expectInFile(_ bench: TreeWorkbench, _ checkpoint: TreeWorkbench.Checkpoint) throws {
    let fresh = try unsafe PageSource(
      base: UnsafeRawPointer(bench.file), salt: bench.source.salt, maximumByteCount: TreeWorkbench.fileByteCount)
    var version = checkpoint.version
    version.catalog = bench.fileRoot(checkpoint)
    let inMemory = try bench.check(version, ownSource: fresh, isNewest: true)
    try promise(inMemory.isEmpty, "a checkpoint refers to memory")
  }

  /// Removes what is left, key by key, then looks whether a page was lost.
  private func empty(
    _ bench: TreeWorkbench, _ checkpoint: inout TreeWorkbench.Checkpoint?, _ generator: inout SeededGenerator
  ) throws {
    try bench.commit()
    if var going = checkpoint {
      while try bench.write(&going, pageCount: 100) {}
      try TreeTrial.expectInFile(bench, going)
      try bench.exchange(going)
    }
    for tree in bench.roots.indices {
      let keys = bench.models[tree].keys.shuffled(using: &generator)
      for (index, key) in keys.enumerated() {
        try bench.remove(key, from: tree)
        if index % batchStepCount == 0 { try bench.checkNow(tree) }
      }
      try promise(bench.roots[tree].isEmpty, "a tree without records has a root")
    }
    try bench.commit()
    while !bench.pins.isEmpty { bench.unpin(0) }
    bench.reclaim()
    try bench.checkEverything()
  }
}
