import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// What a large frame costs besides its own bytes: memory for the next, zeros after it.

@Suite("what a large frame brings along")
struct LargeFrameTests {
  @Test("the buffer keeps what the last frame needed, and releases it after one that needed little")
  func buffer() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.partByteCount = 8 << 20
    let store = try KeyValueStore("test.daybook", disk: SimulatedDisk(seed: 1), options: options)
    let large = filler(1, 3 << 20)
    try store.put("a", large)
    let needed = store.store.transactionBuffer.capacity
    #expect(needed >= 3 << 20)
    try store.put("b", large)
    #expect(store.store.transactionBuffer.capacity == needed)
    try store.put("c", [1])
    #expect(store.store.transactionBuffer.capacity == needed)
    try store.put("d", [1])
    #expect(store.store.transactionBuffer.capacity <= 1 << 20)
    #expect(try store.value("b") == large)
    try store.close()
  }

  @Test("after a large frame the reserve is all that is written of zeros, after a small one twice as much")
  func zeros() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.partByteCount = 8 << 20
    options.reserveByteCount = 24 << 10
    let store = try KeyValueStore("test.daybook", disk: SimulatedDisk(seed: 1), options: options)
    func zeros() -> Int { Int(store.store.log.zerosEnd.load(ordering: .relaxed)) - Int(store.store.log.tail.offset) }
    try store.put("a", [1])
    #expect(zeros() == 48 << 10)
    try store.put("b", filler(1, 100_000))
    #expect(zeros() == 24 << 10)
    try store.close()
  }
}
