import DaybookTesting
import Synchronization
import Testing

@testable import DaybookEngine

// Clocks that step back: those of some systems follow the date, and those of virtual machines have done it, too.

@Suite("Clocks that step back")
struct ClockTests {
  /// A millisecond a question, and three back with each fifth; a sleep takes its time.
  private final class SteppingClock: SimulatedTime {
    private let now = Atomic<UInt64>(1 << 40)
    private let questions = Atomic<Int>(0)

    func monotonicNanoseconds() -> UInt64 {
      let question = questions.add(1, ordering: .relaxed).newValue
      if question % 5 == 0 { return now.subtract(3_000_000, ordering: .relaxed).newValue }
      return now.add(1_000_000, ordering: .relaxed).newValue
    }
    func sleep(nanoseconds: UInt64) { now.add(nanoseconds, ordering: .relaxed) }
  }

  @Test("time that has gone by is never less than nothing")
  func elapsed() {
    #expect(SystemClock.nanoseconds(from: 5, to: 12) == 7)
    #expect(SystemClock.nanoseconds(from: 12, to: 5) == 0)
    #expect(SystemClock.nanoseconds(from: 0, to: .max) == .max)
    #expect(SystemClock.nanoseconds(since: .max) == 0)
    let start = SystemClock.monotonicNanoseconds()
    #expect(SystemClock.nanoseconds(since: start) < 3_600_000_000_000)
  }

  @Test("commits, checkpoints, compactions and waits for a lock go on while the clock steps back", arguments: [false, true])
  func store(takesTurns: Bool) throws {
    let failure = Locked<(any Error)?>(nil)
    let thread = try #require(
      BackgroundThread(name: "stepping clock") {
        SystemClock.simulate(SteppingClock())
        do { try Self.use(takesTurns: takesTurns) } catch { failure.withLock { $0 = error } }
      })
    thread.join()
    #expect(failure.withLock { $0 } == nil)
  }

  private static func use(takesTurns: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    var options = StoreOptions.small()
    options.locksPerTransaction = takesTurns
    options.lockTimeoutNanoseconds = 50_000_000
    let store = try KeyValueStore(storePath, disk: disk, options: options)
    for round in 0..<20 {
      for number in 0..<10 { try store.put("key \(round) \(number)", [UInt8](repeating: 1, count: 200)) }
      if round % 5 == 4 { try store.store.checkpoint() }
    }
    try store.compact(bytesPerSecond: 10_000_000)
    if !takesTurns {
      // Somebody else waits for the lock, and gives up.
      let error = #expect(throws: StoreError.self) { _ = try KeyValueStore(storePath, disk: disk, options: options) }
      guard case .alreadyOpen = error else { throw Deviation("the second open threw \(String(describing: error))") }
    }
    try store.close()
    let again = try KeyValueStore(storePath, disk: disk, options: options)
    guard try again.count == 200 else { throw Deviation("\(try again.count) keys") }
    try again.close()
  }
}
