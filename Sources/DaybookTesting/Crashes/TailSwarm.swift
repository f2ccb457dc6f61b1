/// Torn or corrupt: random logs with group commits, cut by power loss in every order of their sectors, then with corruption inside.
///
/// Without corruption, nothing may be called corrupt, and nothing acknowledged may be missing. With corruption, the answer must
/// be the judge's, including the commit that is lost. This uses the engine's own store, without records.
import DaybookEngine

package final class TailSwarm {
  package private(set) var counts = SearchCounts<TailCounter>()
  private let ignoresSyncs: Bool

  /// - Parameter ignoresSyncs: whether the disk lies about its syncs: then there must be findings, or this tests nothing.
  package init(ignoresSyncs: Bool = false) { self.ignoresSyncs = ignoresSyncs }

  /// Runs one log with its tails. Returns the finding, shrunk, or nil.
  package func run(seed: UInt64) -> TailFinding? {
    var generator = SeededGenerator(seed: seed)
    let operations = (0..<Int.random(in: 4..<24, using: &generator)).map { _ in TailOperation.random(&generator) }
    guard let finding = look(seed, operations, tailsPerCall: 4, counting: true) else { return nil }
    return CrashShrinker.withFewerOperations(finding, \.operations) { operations in
      look(seed, operations, tailsPerCall: 60, counting: false)
    }
  }

  private func look(_ seed: UInt64, _ operations: [TailOperation], tailsPerCall: Int, counting: Bool) -> TailFinding? {
    // Blocks that were never written hold the same work under another salt.
    let other = TailRun(seed: seed &+ 0x5EED_0000, operations, tailsPerCall: 0, ignoresSyncs: false)
    other.run()
    let run = TailRun(seed: seed, operations, tailsPerCall: tailsPerCall, ignoresSyncs: ignoresSyncs)
    run.recycle(other.bytes)
    run.run()
    if counting {
      counts[.runs] += 1
      counts += run.counts
    }
    return run.finding
  }
}
