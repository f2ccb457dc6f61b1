import DaybookEngine

/// Every sequence of a few operations on a fresh database, every crash point of its last operation, every subset.
///
/// A crash within an earlier operation belongs to a shorter sequence, so nothing is left out.
package final class CrashExhaustion {
  package let operations = CrashOperation.exhaustive
  package let depth: CrashDepth
  package private(set) var counts = SearchCounts<CrashCounter>()
  private let seed: UInt64
  private let ignoresSyncs: Bool
  /// All sequences start the same way, so they share many images.
  private var seen: [UInt64: CrashVerifier.Found] = [:]

  package init(seed: UInt64 = 1, depth: CrashDepth = CrashDepth(), ignoresSyncs: Bool = false) {
    self.seed = seed
    self.ignoresSyncs = ignoresSyncs
    self.depth = depth
  }

  /// How many sequences of at most `length` operations there are, the empty one included.
  package func sequenceCount(length: Int) -> Int {
    var total = 0
    var power = 1
    for _ in 0...length {
      total += power
      power *= operations.count
    }
    return total
  }

  /// The sequences in order: the empty one, those of one operation, of two, …
  package func sequence(_ number: Int) -> [Int] {
    var rest = number
    var length = 0
    var power = 1
    while rest >= power {
      rest -= power
      power *= operations.count
      length += 1
    }
    var result: [Int] = []
    for _ in 0..<length {
      result.append(rest % operations.count)
      rest /= operations.count
    }
    return result.reversed()
  }

  package func name(_ number: Int) -> String {
    let names = sequence(number).map { operations[$0].name }
    return names.isEmpty ? "create" : names.joined(separator: " ")
  }

  /// Explores one sequence. Returns the finding, shrunk, or nil.
  package func explore(_ number: Int) -> CrashFinding? {
    let operations = sequence(number).map { self.operations[$0].operation }
    var settings = CrashSettings(seed: seed)
    settings.ignoresSyncs = ignoresSyncs
    settings.recycled = CrashRun.recycledBlocks(settings, operations)
    guard let finding = look(settings, operations) else { return nil }
    return CrashShrinker.shrink(finding) { settings, operations in look(settings, operations) }
  }

  private func look(_ settings: CrashSettings, _ operations: [CrashOperation]) -> CrashFinding? {
    let explorer = CrashExplorer(settings, operations, depth: depth)
    swap(&explorer.seen, &seen)
    let run = CrashRun(settings, operations)
    run.onCall = { [unowned explorer] run, _, call in
      guard run.index >= operations.count - 1 else { return }
      explorer.explore(run.disk, CrashVerifier(settings: settings, expectation: run.expectation), before: call)
    }
    do { try run.run() } catch {
      explorer.finding =
        explorer.finding ?? CrashFinding(message: "\(error)", settings: settings, operations: operations, trail: [])
    }
    swap(&explorer.seen, &seen)
    counts += explorer.counts
    counts[.runs] += 1
    return explorer.finding
  }
}
