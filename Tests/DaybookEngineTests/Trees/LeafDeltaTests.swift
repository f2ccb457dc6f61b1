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

// Deltas beside leaves of the file: what they hold against a sorted array, what they cost, and what becomes of them when a
// checkpoint writes them, a savepoint goes back, a snapshot still reads them, or the leaf below is corrupted.

@Suite("Deltas beside leaves")
struct LeafDeltaTests {
  /// A tree of so many records, all of it in the file.
  private func bench(recordCount: Int) throws -> TreeWorkbench {
    let bench = try TreeWorkbench(treeCount: 1)
    for number in 0..<recordCount { try bench.put(key(number * 2), value(number)) }
    try bench.commit()
    try checkpoint(bench)
    return bench
  }

  private func checkpoint(_ bench: TreeWorkbench) throws {
    var checkpoint = bench.freeze()
    while try bench.write(&checkpoint, pageCount: 100) {}
    try TreeTrial.expectInFile(bench, checkpoint)
    try bench.exchange(checkpoint)
    bench.reclaim()
  }

  private func key(_ number: Int) -> [UInt8] {
    Array("record/".utf8) + [16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } + [7, 7, 7, 7]
  }

  private func value(_ number: Int) -> [UInt8] { (0..<12).map { UInt8(truncatingIfNeeded: number &+ $0) } }

  @Test("a leaf and its delta answer like a sorted array, by lookup and merged", arguments: 1...40 as ClosedRange<UInt64>)
  func model(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bench = try bench(recordCount: 400)
    for step in 0..<600 {
      let number = Int.random(in: 0..<60, using: &generator) + Int(seed) * 7
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<5: try bench.put(key(number), value(step))
      case 5: try bench.put(key(number), [UInt8](repeating: 9, count: Int.random(in: 0...30, using: &generator)))
      case 6..<9: try bench.remove(key(number))
      default:
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: try bench.commit()
        case 1: try bench.beginSavepoint()
        case 2: _ = bench.rollBack(levels: 1)
        default:
          try bench.commit()
          if step % 5 == 0 { try checkpoint(bench) }
        }
      }
      for number in number - 1...number + 1 {
        let found = try key(number).withView { try bench.editor.reader.value($0, in: bench.roots[0])?.array }
        try promise(found == bench.models[0].value(key(number)), "step \(step): another value for key \(number)")
        let rank = try key(number).withView { try bench.editor.reader.rank(of: $0, in: bench.roots[0]) }
        try promise(rank == UInt64(bench.models[0].index(of: key(number))), "step \(step): another rank")
      }
      if step % 20 == 0 { try bench.checkNow(0) }
    }
    #expect(bench.mostDeltas > 0)
    try bench.commit()
    try checkpoint(bench)
    try bench.checkEverything()
  }

  @Test("a random update of a tree in the file takes a quarter of a kilobyte, its branches aside")
  func memory() throws {
    let bench = try bench(recordCount: 20_000)
    let before = bench.editor.pages.usedByteCount
    // One record in each of a hundred leaves.
    for number in 0..<100 { try bench.put(key(number * 400), value(number + 1)) }
    let survey = try bench.checkNow(0)
    #expect(survey.deltaCount == 100)
    let branchCount = survey.references.count { $0 & PageSource.memoryTag != 0 && !LeafDelta.isDelta($0) }
    #expect(bench.editor.pages.usedByteCount - before <= 100 * 256 + branchCount * DirtyPages.byteCountPerPage)
    #expect(bench.editor.createdByteCount == bench.editor.pages.usedByteCount - before)
    // The same records again, in a transaction of their own: copies as small as before, and the first ones come free.
    try bench.commit()
    bench.reclaim()
    let held = bench.editor.pages.usedByteCount
    for number in 0..<100 { try bench.put(key(number * 400), value(number + 2)) }
    try bench.commit()
    bench.reclaim()
    #expect(bench.editor.pages.usedByteCount == held)
  }

  @Test("memory that pages have left is taken for deltas, and the other way round")
  func recycling() throws {
    let pages = DirtyPages(poisons: false)
    var generator = SeededGenerator(seed: 3)
    var most = 0
    for round in 0..<8 {
      let number = round % 4
      var references: [UInt64] = []
      while pages.usedByteCount < 40 << 20 {
        let reference =
          number == 0
          ? try pages.allocate(birth: 1, mark: UInt64(round))
          : try pages.allocateDelta(classNumber: number, birth: 1, mark: UInt64(round))
        references.append(reference)
        // Safe: the memory of a reference that was just handed out. Two that overlap would change each other's mark.
        let address = UInt(reference & ~(PageSource.memoryTag | LeafDelta.classMask))
        unsafe memset(
          UnsafeMutableRawPointer(bitPattern: address)!, Int32(round),
          DirtyPages.byteCount(of: reference) - DirtyPages.headerByteCount)
      }
      #expect(Set(references).count == references.count)
      for reference in references {
        try promise(DirtyPage(reference).mark == UInt64(round) && DirtyPage(reference).birth == 1, "two share memory")
      }
      most = max(most, pages.reservedByteCount)
      references.shuffle(using: &generator)
      for reference in references { pages.deallocate(reference) }
      #expect(pages.usedByteCount == 0 && pages.usedPageCount == 0)
    }
    // Each size by itself would keep its forty megabytes.
    #expect(most < 100 << 20, "\(most) bytes for forty megabytes of four sizes")
  }

  @Test("memory that nothing uses any more goes back to the system, and what is in use stays as it is")
  func unusedMemory() throws {
    let pages = DirtyPages(poisons: false)
    var references: [UInt64] = []
    for number in 0..<40_000 {
      let reference =
        number % 3 == 0
        ? try pages.allocate(birth: 1, mark: UInt64(number))
        : try pages.allocateDelta(classNumber: number % 3, birth: 1, mark: UInt64(number))
      references.append(reference)
    }
    let most = pages.reservedByteCount
    #expect(most > 32 << 20)
    #expect(pages.detachUnused(moreThan: 1 << 20) == [], "everything is in use")
    // Every page and delta of the first and the last eighth stays.
    let kept = Array(references[..<5000] + references[35_000...])
    for reference in references[5000..<35_000].shuffled() { pages.deallocate(reference) }
    #expect(pages.detachUnused(moreThan: most) == [], "it is not so much that it is worth looking")
    let blocks = pages.detachUnused(moreThan: 16 << 20)
    #expect(blocks.count >= 3)
    PageSlabs.release(blocks)
    #expect(pages.reservedByteCount == most - blocks.count * 8 << 20)
    var others: [UInt64] = []
    for _ in 0..<30_000 { others.append(try pages.allocate(birth: 2, mark: 1_000_000)) }
    #expect(Set(others).isDisjoint(with: kept) && Set(others).count == others.count)
    for reference in others { try promise(DirtyPage(reference).mark == 1_000_000, "two share memory") }
    for reference in kept { try promise(DirtyPage(reference).birth == 1, "memory in use was given back") }
    for reference in kept + others { pages.deallocate(reference) }
    PageSlabs.release(pages.detachUnused(moreThan: 0))
    #expect(pages.reservedByteCount <= 8 << 20, "at most the first few slabs and a block that is being cut")
    #expect(DirtyPage(try pages.allocate(birth: 3, mark: 3)).birth == 3)
  }

  @Test("a delta that grows too large becomes a page, and so does a leaf that loses most of its records")
  func grown() throws {
    let bench = try bench(recordCount: 2_000)
    for number in 400..<480 { try bench.put(key(number), value(number + 1)) }
    #expect(try bench.checkNow(0).deltaCount <= 1)
    try bench.abort()
    for number in stride(from: 1000, to: 1300, by: 2) { try bench.remove(key(number)) }
    try bench.checkNow(0)
    try bench.abort()
    try bench.checkEverything()
  }

  @Test("an older version reads its own delta while newer ones change the same leaf, and a checkpoint writes one of them")
  func versions() throws {
    let bench = try bench(recordCount: 2_000)
    for round in 0..<6 {
      for number in stride(from: 0, to: 4_000, by: 130) { try bench.put(key(number + round), value(round)) }
      try bench.commit()
      bench.pin()
    }
    var checkpoint = bench.freeze()
    for number in stride(from: 0, to: 4_000, by: 260) { try bench.remove(key(number)) }
    while try bench.write(&checkpoint, pageCount: 3) {
      try bench.put(key(1), value(Int.random(in: 0..<100)))
      try bench.commit()
    }
    try bench.commit()
    try TreeTrial.expectInFile(bench, checkpoint)
    try bench.exchange(checkpoint)
    try bench.checkEverything()
    while !bench.pins.isEmpty {
      bench.unpin(0)
      bench.reclaim()
      for pin in bench.pins { try bench.check(pin) }
    }
    try bench.checkEverything()
  }

  @Test("a tree that shrinks to one leaf keeps no delta at its root")
  func shrunk() throws {
    let bench = try bench(recordCount: 300)
    try bench.put(key(1), value(1))
    try bench.removeRange(from: key(40), to: nil)
    try bench.checkNow(0)
    try bench.commit()
    try bench.put(key(3), value(3))
    try bench.commit()
    try checkpoint(bench)
    try bench.checkEverything()
  }

  @Test("two cursors walk leaves with deltas side by side, each with pages of its own")
  func cursors() throws {
    let bench = try bench(recordCount: 3_000)
    for number in stride(from: 0, to: 6_000, by: 50) { try bench.put(key(number), value(number + 1)) }
    #expect(try bench.checkNow(0).deltaCount > 20)
    let model = bench.models[0]
    var cursors = (0..<20).map { _ in bench.editor.reader.cursor(in: bench.roots[0]) }
    for index in cursors.indices { try key(index * 300).withView { _ = try cursors[index].seek($0) } }
    let found = ByteBuffer()
    for step in 0..<150 {
      for index in cursors.indices {
        let place = model.index(of: key(index * 300)) + step
        guard place < model.count else { continue }
        cursors[index].key(into: found)
        #expect(found.view.array == model.keys[place])
        #expect(cursors[index].value.array == model.values[place])
        try cursors[index].next()
      }
    }
  }

  @Test("a leaf that is corrupted below its delta is not merged and sealed again")
  func corrupt() throws {
    let bench = try bench(recordCount: 2_000)
    try bench.put(key(1000), value(1))
    try bench.commit()
    let survey = try bench.checkNow(0)
    let delta = try #require(survey.references.first { LeafDelta.isDelta($0) })
    let leaf = Int(LeafDelta(delta).leaf)
    // Safe: a byte of a value in a page of the workbench's file. It was checked before, so only the copy can tell.
    unsafe (bench.file + (leaf + 4000)).storeBytes(of: 0xFF, as: UInt8.self)
    var checkpoint = bench.freeze()
    #expect(throws: PageFault(offset: UInt64(leaf), reason: .checksum)) {
      while try bench.write(&checkpoint, pageCount: 10) {}
    }
    #expect(throws: PageFault(offset: UInt64(leaf), reason: .checksum)) {
      var cursor = bench.editor.reader.cursor(in: bench.roots[0])
      try key(1000).withView { _ = try cursor.seek($0) }
    }
    #expect(bench.source.firstFault.withLock { $0 } == PageFault(offset: UInt64(leaf), reason: .checksum))
  }
}
