import DaybookTesting
import Testing

@testable import DaybookEngine

// A checkpoint without a store: pages go into memory that stands for the file, children first, and are read back from there
// by someone who knows nothing but the file and the root.

@Suite("Checkpoint walks")
struct CheckpointWalkTests {
  private func key(_ number: Int) -> [UInt8] { Array("record/".utf8) + [UInt8(number >> 8), UInt8(number & 255)] }

  private func filled(treeCount: Int, recordCount: Int) throws -> TreeWorkbench {
    let bench = try TreeWorkbench(treeCount: treeCount)
    var generator = SeededGenerator(seed: UInt64(recordCount))
    for number in Array(0..<recordCount).shuffled(using: &generator) {
      try bench.put(key(number), [UInt8](repeating: UInt8(number & 255), count: number % 40), in: number % treeCount)
    }
    for tree in 0..<treeCount { bench.rests[tree] = [UInt8](repeating: UInt8(tree & 255), count: tree % 200) }
    try bench.commit()
    return bench
  }

  @Test("a checkpoint is read back from the file alone, trees within the catalog included", arguments: [1, 3, 200])
  func readBack(treeCount: Int) throws {
    let bench = try filled(treeCount: treeCount, recordCount: 3000)
    var checkpoint = bench.freeze()
    while try bench.write(&checkpoint, pageCount: 62) {}
    try TreeTrial.expectInFile(bench, checkpoint)
    try bench.exchange(checkpoint)
    try bench.checkEverything()
    #expect(bench.editor.pages.usedPageCount == 0, "nothing was written since, so no page of memory is left")
  }

  @Test("every page is written once, behind the pages below it")
  func order() throws {
    let bench = try filled(treeCount: 5, recordCount: 4000)
    var checkpoint = bench.freeze()
    while try bench.write(&checkpoint, pageCount: 7) {}
    #expect(Set(checkpoint.written).count == checkpoint.written.count)
    #expect(checkpoint.written.count == bench.editor.pages.usedPageCount)
    for reference in checkpoint.written {
      let offset = DirtyPage(reference).fileOffset
      // A catalog's roots and a branch's children lie before it, or the page would not hold.
      let page = try bench.source.page(offset, end: bench.end)
      #expect(page.kind == DirtyPage(reference).page.kind)
    }
  }

  @Test("what is written is the frozen version, whatever transactions do meanwhile", arguments: 1...3 as ClosedRange<UInt64>)
  func editsMeanwhile(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bench = try filled(treeCount: 4, recordCount: 2500)
    for round in 0..<4 {
      var checkpoint = bench.freeze()
      var isGoing = true
      while isGoing {
        isGoing = try bench.write(&checkpoint, pageCount: Int.random(in: 1...8, using: &generator))
        for _ in 0..<Int.random(in: 0...60, using: &generator) {
          let tree = Int.random(in: 0..<4, using: &generator)
          let number = Int.random(in: 0..<4000, using: &generator)
          if Bool.random(using: &generator) {
            try bench.put(key(number), [UInt8](repeating: 1, count: Int.random(in: 0...100, using: &generator)), in: tree)
          } else {
            try bench.remove(key(number), from: tree)
          }
        }
        if round == 2 { try bench.removeRange(from: key(1000), to: key(1100), in: 1) }
        if round == 3 { bench.dropTree(2) }
        bench.rests[3] = [UInt8](repeating: 9, count: Int.random(in: 0...400, using: &generator))
        try bench.commit()
        bench.reclaim()
      }
      try TreeTrial.expectInFile(bench, checkpoint)
      try bench.exchange(checkpoint)
      try bench.checkEverything()
    }
    // Now nothing but what changed since is in memory; one more checkpoint and nothing is.
    var last = bench.freeze()
    while try bench.write(&last, pageCount: 100) {}
    try bench.exchange(last)
    try bench.checkEverything()
    #expect(bench.editor.pages.usedPageCount == 0)
  }

  @Test("a second checkpoint writes the pages that changed, and no others")
  func onlyChanges() throws {
    let bench = try filled(treeCount: 2, recordCount: 6000)
    var first = bench.freeze()
    while try bench.write(&first, pageCount: 100) {}
    try bench.exchange(first)
    try bench.put(key(0), [1, 2, 3])
    try bench.commit()
    let depth = try bench.checkNow(0).depth + TreeSurvey(bench.catalog, bench.source, end: bench.end).depth
    var second = bench.freeze()
    while try bench.write(&second, pageCount: 100) {}
    #expect(second.written.count == depth)
    try TreeTrial.expectInFile(bench, second)
    // Nothing changed: nothing to write.
    try bench.exchange(second)
    var third = bench.freeze()
    #expect(try !bench.write(&third, pageCount: 1))
    #expect(third.written.isEmpty)
  }

  @Test("an old version stays readable from memory after its pages went into the file")
  func oldVersions() throws {
    let bench = try filled(treeCount: 3, recordCount: 2000)
    bench.pin()
    for number in 0..<200 { try bench.put(key(number * 7), [5], in: number % 3) }
    try bench.commit()
    var checkpoint = bench.freeze()
    bench.pin()
    while try bench.write(&checkpoint, pageCount: 9) {}
    try bench.exchange(checkpoint)
    for number in 0..<200 { try bench.put(key(number * 11), [6], in: number % 3) }
    try bench.commit()
    bench.reclaim()
    try bench.checkEverything()
    #expect(bench.pins.count == 2)
    while !bench.pins.isEmpty { bench.unpin(0) }
    try bench.checkEverything()
  }

  @Test("a page in the file shows nothing of records that were removed, nor of memory it never used")
  func nothingLeftOver() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    let secret = Array("do not tell".utf8)
    for number in 0..<400 { try bench.put(key(number), secret + secret) }
    for number in 0..<400 where number % 3 != 0 { try bench.remove(key(number)) }
    for number in 0..<400 where number % 3 == 0 { try bench.put(key(number), [UInt8](repeating: 1, count: number % 20)) }
    try bench.commit()
    var checkpoint = bench.freeze()
    while try bench.write(&checkpoint, pageCount: 100) {}
    let file = unsafe [UInt8](UnsafeRawBufferPointer(start: bench.file, count: Int(bench.end)))
    for start in 0..<file.count - secret.count where file[start] == secret[0] {
      if Array(file[start..<start + secret.count]) == secret { Issue.record("byte \(start) of the file tells") }
    }
    for offset in stride(from: 4096, to: bench.end, by: 4096) {
      let page = try bench.source.page(offset, end: bench.end)
      let slotsEnd = Page.headerByteCount + page.cellCount * Page.slotByteCount
      #expect(file[(Int(offset) + slotsEnd)..<(Int(offset) + page.heapStart)].allSatisfy { $0 == 0 })
    }
  }

  @Test("equal trees become equal bytes, whichever way they came about")
  func equalBytes() throws {
    var images: [[UInt8]] = []
    for isReversed in [false, true] {
      let bench = try TreeWorkbench(treeCount: 1)
      for number in isReversed ? (0..<60).reversed() : Array(0..<60) { try bench.put(key(number), [2, UInt8(number)]) }
      if isReversed {
        try bench.put(key(61), [1])
        try bench.put(key(5), [1, 1, 1])
        try bench.remove(key(61))
        try bench.put(key(5), [2, 5])
      }
      try bench.commit()
      var checkpoint = bench.freeze()
      while try bench.write(&checkpoint, pageCount: 100) {}
      images.append(unsafe [UInt8](UnsafeRawBufferPointer(start: bench.file, count: Int(bench.end))))
    }
    #expect(images[0] == images[1])
  }
}
