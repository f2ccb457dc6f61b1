/// Torn or corrupt: random logs with group commits, cut by power loss in every order of their sectors, then with corruption inside.
///
/// Without corruption, nothing may be called corrupt, and nothing acknowledged may be missing. With corruption, the answer must
/// be the judge's, including the commit that is lost. This uses the engine's own store, without records.
import DaybookEngine

package enum TailOperation: Sendable, Hashable {
  /// A commit that nobody waits for yet; a large one is written in parts.
  case commit(key: Int, count: Int, byteCount: Int)
  /// Waits for everything written; another writer appends while the sync runs.
  case wait(appends: Bool)
  case abort(count: Int)
  case note, zeros, checkpoint, close, kill, powerLoss
  /// The process dies so many calls later.
  case dieSoon(calls: Int)

  static func random(_ generator: inout SeededGenerator) -> TailOperation {
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    switch number(0..<100) {
    case 0..<46: return .commit(key: number(0..<9), count: 1, byteCount: number(0..<6) == 0 ? number(0..<1500) : number(0..<80))
    case 46..<52: return .commit(key: number(0..<9), count: number(2..<6), byteCount: number(100..<500))
    case 52..<74: return .wait(appends: number(0..<3) == 0)
    case 74..<76: return .abort(count: number(1..<6))
    case 76..<85: return .note
    case 85..<86: return .zeros
    case 86..<90: return .checkpoint
    case 90..<93: return .close
    case 93..<96: return .kill
    case 96..<98: return .dieSoon(calls: number(1..<7))
    default: return .powerLoss
    }
  }
}

package struct TailCounts: Sendable, CustomStringConvertible {
  package var runs = 0
  package var torn = 0
  package var cut = 0
  package var withCorruption = 0
  package var corrupt = 0
  package var doubtful = 0
  package var unnoticed = 0
  package var salvaged = 0
  package var cutShort = 0
  package var tails: Int { torn + withCorruption }
  package init() {}

  package var description: String {
    "\(tails) tails of \(runs) logs: \(torn) as power loss leaves them, \(cut) of these lost commits, 0 called corrupt; "
      + "\(withCorruption) with corruption inside, \(corrupt) of these called corrupt, \(cutShort) cut short, \(doubtful) open to both answers, "
      + "\(unnoticed) in what open need not read; \(salvaged) salvaged"
  }
}

package struct TailFinding: Sendable, CustomStringConvertible {
  package var message: String
  package var seed: UInt64
  package var operations: [TailOperation]
  package var call: Int
  package var choice: CrashChoice?
  package var corruption: [String]
  package var frames: [String]

  package var description: String {
    var lines = ["finding: \(message)", "  seed \(seed)"]
    for (index, operation) in operations.enumerated() { lines.append("  \(index + 1). \(operation)") }
    if let choice { lines.append("  power fails before call \(call): \(choice)") }
    lines += corruption.map { "  corruption: \($0)" } + frames.map { "  \($0)" }
    return lines.joined(separator: "\n")
  }
}

package final class TailSwarm {
  package private(set) var counts = TailCounts()
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
      counts.runs += 1
      counts.torn += run.counts.torn
      counts.cut += run.counts.cut
      counts.withCorruption += run.counts.withCorruption
      counts.corrupt += run.counts.corrupt
      counts.doubtful += run.counts.doubtful
      counts.unnoticed += run.counts.unnoticed
      counts.salvaged += run.counts.salvaged
      counts.cutShort += run.counts.cutShort
    }
    return run.finding
  }
}
