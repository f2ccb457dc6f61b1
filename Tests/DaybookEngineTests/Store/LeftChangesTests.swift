import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// A close does not write a page for each of a few random changes: the log has them, and the next open replays them, once.

@Suite("changes that a close leaves to the next open")
struct LeftChangesTests {
  private let disk = SimulatedDisk(seed: 1)

  private func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> KeyValueStore {
    var options = StoreOptions.small()
    options.minimumLogBudgetByteCount = 64 << 20
    options.maximumLogBudgetByteCount = 64 << 20
    options.closeSparedPageCount = 20
    change(&options)
    return try KeyValueStore("test.daybook", disk: disk, options: options)
  }

  private func fill() throws {
    let store = try open()
    try store.write { transaction in for number in 0..<10_000 { try transaction.put("key \(number)", filler(number, 4)) } }
    try store.close()
  }

  /// A key in every leaf, about.
  private func changeAtRandom(_ store: KeyValueStore, _ round: Int) throws {
    for number in stride(from: 7 + round, to: 10_000, by: 71) { try store.put("key \(number)", filler(-number, 4)) }
  }

  private func expectChanges(_ store: KeyValueStore, rounds: Int) throws {
    let contents = try store.contents()
    #expect(contents.count == 10_000)
    for number in 0..<10_000 {
      let isChanged = (0..<rounds).contains { number >= 7 + $0 && (number - 7 - $0) % 71 == 0 }
      if contents["key \(number)"] != filler(isChanged ? -number : number, 4) { throw Deviation("key \(number) is another's") }
    }
    try store.checkThoroughly()
  }

  @Test(
    "random changes of many pages are left once: the next open has them, and its close writes them", arguments: [false, true])
  func leftOnce(commits: Bool) throws {
    try fill()
    var store = try open()
    #expect(store.store.recovery.replayedCommitCount == 0)
    try changeAtRandom(store, 0)
    let before = (disk.bytes(of: "test.daybook")?.count ?? 0)
    try store.close()
    #expect((disk.bytes(of: "test.daybook")?.count ?? 0) - before < 4096)

    store = try open()
    #expect(store.store.recovery.wasClosed && store.store.recovery.replayedByteCount > 4096)
    try expectChanges(store, rounds: 1)
    if commits { try changeAtRandom(store, 1) }
    try store.close()

    store = try open()
    #expect(store.store.recovery.wasClosed && store.store.recovery.replayedCommitCount == 0)
    try expectChanges(store, rounds: commits ? 2 : 1)
    try store.close()
  }

  @Test("a reader that opens the file has the changes, and leaves them to the next writer")
  func reader() throws {
    try fill()
    var store = try open()
    try changeAtRandom(store, 0)
    try store.close()
    let reader = try open { $0.isReadOnly = true }
    try expectChanges(reader, rounds: 1)
    try reader.close()
    store = try open()
    #expect(store.store.recovery.replayedByteCount > 4096)
    try store.close()
    store = try open()
    #expect(store.store.recovery.replayedCommitCount == 0)
    try store.close()
  }

  @Test("where the pages are not a multiple of the log, or the log is long, a close writes them")
  func written() throws {
    try fill()
    // New keys side by side: few pages.
    var store = try open()
    for number in 10_000..<10_400 { try store.put("key \(number)", filler(number, 40)) }
    try store.close()
    store = try open()
    #expect(store.store.recovery.replayedCommitCount == 0)
    try changeAtRandom(store, 0)
    try store.close()
    // What was left and what comes now are one log.
    store = try open { $0.closeCheckpointByteCount = .max }
    try changeAtRandom(store, 1)
    try store.close()
    store = try open()
    #expect(store.store.recovery.replayedByteCount > 4096)
    try store.close()
    store = try open { $0.closeLeftByteCount = 4096 }
    try changeAtRandom(store, 0)
    try store.close()
    store = try open()
    #expect(store.store.recovery.replayedCommitCount == 0)
    try store.close()
  }

  @Test("while commits go on, what was left is written in the background, so that the next close leaves only what is new")
  func background() throws {
    try fill()
    var store = try open()
    try changeAtRandom(store, 0)
    try store.close()
    store = try open { $0.hasBackgroundThread = true }
    let left = store.store.replayStart.offset
    try store.put("key 1", filler(1, 4))
    for _ in 0..<1000 where store.store.withTurnForBackground({ _ in store.store.replayStart.offset == left }) {
      Thread.sleep(forTimeInterval: 0.01)
    }
    #expect(store.store.withTurnForBackground { _ in store.store.replayStart.offset > left && !store.store.hasReplayedChanges })
    try changeAtRandom(store, 1)
    try store.close()
    store = try open()
    #expect(store.store.recovery.replayedByteCount > 4096)
    try expectChanges(store, rounds: 2)
    try store.close()
  }
}
