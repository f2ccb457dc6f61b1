import DaybookBenchmarking
import Foundation

/// How long a durable commit takes while the checkpointer and the compactor are at work: for each second its median, its
/// 99th percentile and its worst, and what was going on.
enum LatencyReport {
  static func run(in directory: String, recordCount: Int) throws {
    let path = directory + "/latency.daybook"
    // Loaded without syncs, then opened for durable commits.
    let loading = try EngineStore(path: path, durability: .relaxed)
    try loading.benchmarkLoad(0..<UInt64(recordCount), perTransaction: 1000)
    try loading.benchmarkUpdate(recordCount / 2, among: UInt64(recordCount), round: 1, perTransaction: 1000)
    try loading.close()
    sync()
    let store = try EngineStore(path: path, durability: .full)
    let work = Work()
    let thread = Thread {
      work.run("–", seconds: 4) {}
      // Something for the checkpoint to write: pages that random updates have changed.
      work.run("updates", seconds: 0) {
        try store.benchmarkUpdate(recordCount / 4, among: UInt64(recordCount), round: 2, perTransaction: 1000)
      }
      // The updates are over before the second begins in which the checkpoint is judged.
      work.run("–", seconds: 1.5) {}
      work.run("checkpoint", seconds: 0) { try store.checkpoint() }
      work.run("–", seconds: 2) {}
      work.run("compaction", seconds: 0) { try store.compact() }
      work.run("–", seconds: 2) {}
      work.end()
    }
    thread.start()
    print("\(recordCount) keys; durable commits of one key, one thread\n")
    print("| second | at work | commits | median µs | p99 µs | p99 / median | worst ms |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    var second = 0
    var next = UInt64(recordCount)
    var worstFactor = 0.0, worstMilliseconds = 0.0
    while !work.hasEnded {
      let latencies = try store.benchmarkLatencies(from: next, nanoseconds: 1_000_000_000)
      next += UInt64(latencies.count)
      let sorted = latencies.map(\.duration).sorted()
      guard !sorted.isEmpty else { continue }
      let median = Double(sorted[sorted.count / 2]) / 1000
      let high = Double(sorted[min(sorted.count - 1, sorted.count * 99 / 100)]) / 1000
      let worst = Double(sorted[sorted.count - 1]) / 1e6
      let names = work.takeNames()
      if !names.contains("updates"), names != ["–"] {
        worstFactor = max(worstFactor, high / median)
        worstMilliseconds = max(worstMilliseconds, worst)
      }
      print(
        String(
          format: "| %d | %@ | %d | %.0f | %.0f | %.1f | %.1f |", second, names.joined(separator: ", "), sorted.count, median,
          high, high / median, worst))
      fflush(nil)
      second += 1
    }
    if let error = work.error { throw error }
    try store.close()
    print(String(format: "\nwhile at work: p99 at most %.1f × the median, the worst %.1f ms", worstFactor, worstMilliseconds))
  }

  /// What the background thread is doing.
  private final class Work: @unchecked Sendable {
    private let lock = NSLock()
    private var names = ["–"]
    private var isOver = false
    private var failure: (any Error)?

    /// What has been done since the last call.
    func takeNames() -> [String] {
      lock.withLock {
        defer { names = [names[names.count - 1]] }
        return names
      }
    }
    var hasEnded: Bool { lock.withLock { isOver } }
    var error: (any Error)? { lock.withLock { failure } }

    func run(_ name: String, seconds: Double, _ body: () throws -> Void) {
      lock.withLock { if names.last != name { names.append(name) } }
      do { try body() } catch { lock.withLock { failure = failure ?? error } }
      if seconds > 0 { Thread.sleep(forTimeInterval: seconds) }
    }

    func end() { lock.withLock { isOver = true } }
  }
}
