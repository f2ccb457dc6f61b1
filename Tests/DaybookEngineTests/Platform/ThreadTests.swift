import Foundation
import Testing

@testable import DaybookEngine

@Suite("Threads and clocks")
struct ThreadTests {
  private final class Counter: @unchecked Sendable {
    let monitor = Monitor()
    var value = 0
  }

  @Test("a monitor lets one thread in at a time, and a waiter learns of a change")
  func monitor() throws {
    let counter = Counter()
    let threads = try (0..<4).map { index in
      try #require(
        BackgroundThread(name: "counter \(index)") {
          for _ in 0..<10_000 { counter.monitor.withLock { counter.value += 1 } }
          counter.monitor.withLock { counter.monitor.broadcast() }
        })
    }
    counter.monitor.lock()
    while counter.value < 40_000 { counter.monitor.wait() }
    counter.monitor.unlock()
    for thread in threads { thread.join() }
    #expect(counter.value == 40_000)
  }

  @Test("waiting with a limit ends when nobody signals")
  func timeOut() {
    let monitor = Monitor()
    let start = SystemClock.monotonicNanoseconds()
    let wasSignalled = monitor.withLock {
      // A condition may wake for no reason; only the limit ends this loop.
      while monitor.wait(nanoseconds: 20_000_000) && SystemClock.monotonicNanoseconds() - start < 1_000_000_000 {}
      return SystemClock.monotonicNanoseconds() - start >= 1_000_000_000
    }
    #expect(!wasSignalled)
    #expect(SystemClock.monotonicNanoseconds() - start >= 20_000_000)
  }

  @Test("join returns after the body, also when called twice, and a dropped thread runs on")
  func join() throws {
    let counter = Counter()
    let thread = try #require(
      BackgroundThread(name: "sleeper") {
        SystemClock.sleep(nanoseconds: 10_000_000)
        counter.monitor.withLock { counter.value = 1 }
      })
    thread.join()
    thread.join()
    #expect(counter.value == 1)
    _ = BackgroundThread(name: "dropped") {
      counter.monitor.withLock {
        counter.value = 2
        counter.monitor.signal()
      }
    }
    counter.monitor.withLock {
      while counter.value != 2 { counter.monitor.wait() }
    }
  }

  @Test("the wall clock tells the date")
  func wallClock() {
    #expect(abs(SystemClock.secondsSince1970() - Date().timeIntervalSince1970) < 5)
    #expect(processID() == processID())
  }

  @Test("reserved memory is zero, and zero again after it was cleared")
  func rawMemory() throws {
    let byteCount = 1 << 20
    let base = try unsafe #require(RawMemory.reserveZeroed(byteCount: byteCount))
    defer { unsafe RawMemory.release(base, byteCount: byteCount) }
    let bytes = unsafe UnsafeMutableRawBufferPointer(start: base, count: byteCount)
    #expect(unsafe bytes.allSatisfy { $0 == 0 })
    for range in [0..<byteCount, 5..<100, 4000..<9000, 100..<50_001] {
      unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0xaa)
      unsafe RawMemory.clear(base, range)
      #expect(bytes.indices.allSatisfy { unsafe bytes[$0] == (range.contains($0) ? 0 : 0xaa) })
    }
  }
}
