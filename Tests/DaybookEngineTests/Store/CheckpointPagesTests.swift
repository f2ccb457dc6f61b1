import DaybookTesting
import Synchronization
import Testing

@testable import DaybookEngine

// What becomes of the addresses of changed pages: none outlives the pin that keeps its page, however a checkpoint ends, and
// memory that was freed says so.

@Suite("Pages under a checkpoint")
struct CheckpointPagesTests {
  private let path = "book"

  private func key(_ number: Int) -> String { "\(number * 7919 % 100_000) and a longer key" }

  /// A store whose leaves are all in the file.
  private func filled(_ disk: SimulatedDisk, keyCount: Int = 9000) throws -> KeyValueStore {
    let store = try KeyValueStore(path, disk: disk, options: .mapped())
    try store.write { transaction in for number in 0..<keyCount { try transaction.put(key(number), [1]) } }
    try store.store.checkpoint()
    return store
  }

  private func update(_ store: KeyValueStore, _ value: UInt8, keyCount: Int = 9000) throws {
    try store.write { transaction in
      for number in stride(from: 0, to: keyCount, by: 10) { try transaction.put(key(number), [value, value]) }
    }
  }

  private func reclaim(_ store: KeyValueStore) {
    store.store.withTurnForBackground { hold in store.store.versions.reclaim(hold) }
  }

  @Test("pages of a checkpoint that found no room are nothing to the next one: their memory is others' by then")
  func failedCheckpointForgetsItsPages() throws {
    let disk = newDisk(32)
    let store = try filled(disk)
    try update(store, 2)
    let before = store.store.editor.pages.usedPageCount
    #expect(before > 70)
    disk.limit(toByteCount: (disk.bytes(of: path)?.count ?? 0) + 300 << 10)
    #expect(thrownCase { try store.store.checkpoint() } == "disk")
    disk.limit(toByteCount: nil)
    // What got into the file has left memory, and stays where it is.
    #expect(store.store.editor.pages.usedPageCount < before - 40)
    for value in 3...6 as ClosedRange<UInt8> {
      try update(store, value)
      reclaim(store)
    }
    try store.store.checkpoint()
    try update(store, 7)
    try store.store.checkpoint()
    #expect(store.store.editor.pages.usedPageCount == 0)
    try store.checkThoroughly()
    let contents = try store.contents()
    #expect(contents[key(10)] == [7, 7] && contents[key(11)] == [1] && contents.count == 9000)
    for image in [disk.killed(), disk.crashed(seed: 1)] {
      let found = try KeyValueStore(path, disk: image, options: .mapped())
      #expect(try found.contents() == contents)
      try found.checkThoroughly()
    }
    try store.close()
  }

  @Test("checkpoints beside commits that replace the pages which they write")
  func checkpointsBesideCommits() throws {
    let store = try filled(newDisk(64))
    let isDone = Atomic<Bool>(false)
    try onThreads(2) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        for _ in 0..<12 { try store.store.checkpoint() }
        return
      }
      var value: UInt8 = 2
      while !isDone.load(ordering: .acquiring) {
        value = value &+ 1
        try update(store, value)
        reclaim(store)
      }
    }
    try store.store.checkpoint()
    #expect(store.store.editor.pages.usedPageCount == 0)
    try store.checkThoroughly()
    try store.close()
  }

  // MARK: damage

  @Test("a leaf that is corrupted below its delta keeps no checkpoint from being made, and the next open has all of it again")
  func damageBelowDelta() throws {
    let disk = newDisk(16)
    let store = try filled(disk, keyCount: 2000)
    _ = try store.contents()
    try store.put(key(500), [5])
    var expected = try store.contents()
    let leaf = try #require(try leafBelowDelta(store))
    disk.corrupt(path, at: Int(leaf) + 4000)
    for round in 0..<5 {
      // Each in a leaf of its own, mostly; what cannot be had is refused, and everything else goes on.
      for number in stride(from: round, to: 2000, by: 100) {
        if (try? store.put(key(number), [UInt8(round)])) != nil { expected[key(number)] = [UInt8(round)] }
      }
      try store.store.checkpoint()
      #expect(store.store.editor.pages.usedPageCount == 0)
      // Its own frame and the note behind it.
      #expect(store.store.replayByteCount < 1000)
    }
    #expect(thrownCase { _ = try store.value(key(500)) } == "page")
    #expect(thrownCase { _ = try store.contents() } == "page")
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: .mapped())
    #expect(reopened.store.recovery.basis == .log)
    #expect(try reopened.contents() == expected)
    try reopened.store.checkpoint()
    try reopened.checkThoroughly()
    try reopened.close()
    let third = try KeyValueStore(path, disk: disk, options: .mapped())
    #expect(third.store.recovery.basis == .newestCheckpoint)
    try third.close()
  }

  /// Where the leaf is that has the only delta.
  private func leafBelowDelta(_ store: KeyValueStore) throws -> UInt64? {
    var level = [store.store.head.roots[0].reference]
    while !level.isEmpty {
      if let delta = level.first(where: { LeafDelta.isDelta($0) }) { return LeafDelta(delta).leaf }
      var children: [UInt64] = []
      for reference in level {
        let page = try store.store.source.page(reference, end: store.store.log.tail.offset)
        if page.isBranch { children += (-1..<page.cellCount).map { page.child($0) } }
      }
      level = children
    }
    return nil
  }

  @Test("a byte that is corrupted after the first touch of its page is not sealed anew by a copy of the page")
  func rotBeforeCopy() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .mapped())
    for (name, value) in ["aaaa-k10": 1, "bbbb-k20": 2, "cccc-k30": 3] as KeyValuePairs<String, UInt8> {
      try store.put(name, [value])
    }
    try store.store.checkpoint()
    let contents = try store.contents()
    // The only leaf, which is the root. The key that was "bbbb-k20" reads "bbbb-k21" now.
    let root = store.store.head.roots[0].reference
    #expect(root & PageSource.memoryTag == 0)
    let bytes = try #require(disk.bytes(of: path))
    let page = Array(bytes[Int(root)..<Int(root) + Page.byteCount])
    let place = try #require(page.indices.dropLast(2).first { Array(page[$0...$0 + 2]) == Array("k20".utf8) })
    disk.corrupt(path, at: Int(root) + place + 2)
    #expect(thrownCase { try store.put("dddd-k40", [4]) } == "page")
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: .mapped())
    #expect(try reopened.contents() == contents)
    try reopened.checkThoroughly()
    try reopened.close()
  }

  @Test("nor by a copy of a branch, nor by one of the page that it is joined with", arguments: [true, false])
  func rotInTree(isBranch: Bool) throws {
    let bench = try TreeWorkbench(treeCount: 1)
    func treeKey(_ number: Int) -> [UInt8] { Array("record/\(100_000 + number)".utf8) }
    for number in 0..<4000 { try bench.put(treeKey(number), [1, 2, 3]) }
    // Half full, so that two fit into one.
    for number in stride(from: 1, to: 4000, by: 2) { try bench.remove(treeKey(number)) }
    try bench.commit()
    var checkpoint = bench.freeze()
    while try bench.write(&checkpoint, pageCount: 100) {}
    try bench.exchange(checkpoint)
    bench.reclaim()
    try bench.checkNow(0)
    let root = bench.roots[0].reference
    let page = try bench.source.page(root, end: bench.end)
    #expect(page.isBranch && page.level == 1)
    let damaged = isBranch ? root : page.child(0)
    // Free space, which only the checksum looks at.
    let place = try bench.source.page(damaged, end: bench.end).heapStart - 1
    // Safe: a byte of a page in the workbench's file.
    let address = unsafe bench.file + (Int(damaged) + place)
    unsafe address.storeBytes(of: address.load(as: UInt8.self) ^ 1, as: UInt8.self)
    #expect(throws: PageFault(offset: damaged, reason: .checksum)) {
      for number in stride(from: 0, to: 600, by: 2) { try bench.remove(treeKey(number)) }
    }
  }

  // MARK: freed memory

  @Test("memory of a freed page is filled with a pattern, and not the next to be used")
  func freedMemoryIsPoisoned() throws {
    let pages = DirtyPages(poisons: true)
    let freed = try pages.allocate(birth: 7, mark: 1)
    [1, 2].withView { DirtyPage(freed).page.initialize(kind: Page.Kind.leaf, level: 0, prefix: $0) }
    pages.deallocate(freed)
    #expect(DirtyPage(freed).birth == DirtyPage.poisonedBirth)
    #expect(DirtyPage(freed).page.kind == DirtyPages.poison)
    for number in 0..<200 as Range<UInt64> {
      let reference = try pages.allocate(birth: number, mark: 1)
      #expect(reference != freed)
      pages.deallocate(reference)
    }
    #expect(pages.usedByteCount == 0)
    // It comes back in time.
    let all = try (0..<400).map { try pages.allocate(birth: UInt64($0), mark: 1) }
    for reference in all { pages.deallocate(reference) }
    let more = try (0..<800).map { try pages.allocate(birth: UInt64($0), mark: 1) }
    #expect(pages.reservedByteCount < 6 << 20)
    for reference in more { pages.deallocate(reference) }
  }

  #if !os(iOS)
    @Test("who frees a page twice, or writes to one that was freed, is stopped")
    func staleAddressesShow() async {
      await #expect(processExitsWith: .failure) {
        let pages = DirtyPages(poisons: true)
        let reference = try pages.allocate(birth: 7, mark: 1)
        pages.deallocate(reference)
        pages.deallocate(reference)
      }
      await #expect(processExitsWith: .failure) {
        let pages = DirtyPages(poisons: true)
        let reference = try pages.allocate(birth: 7, mark: 1)
        pages.deallocate(reference)
        DirtyPage(reference).fileOffset = 4096
        pages.releaseAll()
      }
    }
  #endif
}
