/// Whole benchmark loops, inside the module whose speed they measure.
///
/// A call into another module is not inlined and costs several times as much as one within a module, so a loop outside would
/// measure the module boundary instead of the engine. Keys and values are computed from their number, so that no table of them
/// competes for the processor's caches. Benchmarks/ computes the same ones for other engines and compares the sums.
package struct BenchmarkLoops: Sendable {
  package let store: KeyValueStore
  package let workload: BenchmarkWorkload

  package init(_ store: KeyValueStore, workload: BenchmarkWorkload = BenchmarkWorkload()) {
    self.store = store
    self.workload = workload
  }

  /// Puts keys that are new, `perTransaction` in each transaction.
  package func load(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    try put(numbers, round: 0, isAscending: false, perTransaction: perTransaction)
  }

  /// Puts new values for random keys among the first `keyCount`, `perTransaction` in each transaction.
  package func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    let key = ByteBuffer(capacity: 64)
    let value = ByteBuffer(capacity: 256)
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try store.write { transaction in
        for step in done..<end {
          let number = workload.pick(step, among: keyCount, round: round)
          workload.makeKey(number, into: key)
          workload.makeValue(number, round: round, into: value)
          try transaction.put(key.view, value.view)
        }
      }
      done = end
    }
  }

  /// Commits one new key at a time until the time is over. Returns when each commit began, relative to the first, and how long
  /// it took.
  package func latencies(from first: UInt64, nanoseconds: UInt64) throws -> [(start: UInt64, duration: UInt64)] {
    let key = ByteBuffer(capacity: 64)
    let value = ByteBuffer(capacity: 256)
    var result: [(start: UInt64, duration: UInt64)] = []
    result.reserveCapacity(1 << 20)
    let begin = SystemClock.monotonicNanoseconds()
    var last = begin
    var number = first
    while SystemClock.nanoseconds(from: begin, to: last) < nanoseconds {
      workload.makeKey(number, into: key)
      workload.makeValue(number, round: 0, into: value)
      try store.write { transaction in try transaction.put(key.view, value.view) }
      let now = SystemClock.monotonicNanoseconds()
      result.append((SystemClock.nanoseconds(from: begin, to: last), SystemClock.nanoseconds(from: last, to: now)))
      last = now
      number += 1
    }
    return result
  }

  /// Commits one new key at a time, on `threadCount` threads at once.
  package func commitSingly(_ numbers: Range<UInt64>, threadCount: Int) throws {
    if threadCount == 1 { return try load(numbers, perTransaction: 1) }
    let failure = Locked<(any Error)?>(nil)
    let total = numbers.upperBound - numbers.lowerBound
    let bounds = (0...UInt64(threadCount)).map { numbers.lowerBound + total * $0 / UInt64(threadCount) }
    let threads = (0..<threadCount).map { index in
      BackgroundThread(name: "benchmark") {
        do { try load(bounds[index]..<bounds[index + 1], perTransaction: 1) } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    for thread in threads {
      precondition(thread != nil, "a benchmark needs its threads")
      thread?.join()
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// Gets random keys among the first `keyCount`, each from a snapshot of its own; every value is verified.
  /// Returns the sum of the values, for comparison.
  package func getEach(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let key = ByteBuffer(capacity: 64)
    let target = ByteBuffer(capacity: 256)
    var sum: UInt64 = 0
    for step in 0..<count {
      workload.makeKey(workload.pick(step, among: keyCount, round: round), into: key)
      if let value = try store.get(key.view, into: target) { sum &+= BenchmarkWorkload.sum(of: value) }
    }
    return sum
  }

  /// The same from one snapshot.
  package func getAll(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let key = ByteBuffer(capacity: 64)
    let target = ByteBuffer(capacity: 256)
    var sum: UInt64 = 0
    let (current, pin) = try store.stores.beginRead()
    defer { current.endRead(pin) }
    for step in 0..<count {
      workload.makeKey(workload.pick(step, among: keyCount, round: round), into: key)
      if let value = try KeyValueStore.get(key.view, current, pin, into: target) { sum &+= BenchmarkWorkload.sum(of: value) }
    }
    return sum
  }

  /// Reads and verifies everything in key order; returns the sum of the values.
  package func scan() throws -> UInt64 {
    var sum: UInt64 = 0
    try store.scan { key, value in sum &+= BenchmarkWorkload.sum(of: value) &+ UInt64(key.count) }
    return sum
  }
}
