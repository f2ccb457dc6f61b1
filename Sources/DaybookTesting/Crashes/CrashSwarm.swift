import DaybookEngine

/// Random runs with random settings and failures, and a few random crashes at each call.
package final class CrashSwarm {
  package private(set) var counts = SearchCounts<CrashCounter>()
  private let depth: CrashDepth
  private let ignoresSyncs: Bool

  package init(ignoresSyncs: Bool = false) {
    self.ignoresSyncs = ignoresSyncs
    var depth = CrashDepth()
    depth.nestedEvery = 12
    depth.nestedUnitCount = 1
    depth.nestedRandomCount = 2
    depth.thoroughEvery = 12
    self.depth = depth
  }

  /// One run: the same seed is the same run, the same crashes and the same finding.
  package func run(seed: UInt64) -> CrashFinding? {
    var generator = SeededGenerator(seed: seed)
    var settings = CrashSettings.random(seed: seed, &generator)
    settings.ignoresSyncs = ignoresSyncs
    let operations = (0..<Int.random(in: 3..<20, using: &generator)).map { _ in CrashOperation.random(&generator) }
    if Bool.random(using: &generator) { settings.recycled = CrashRun.recycledBlocks(settings, operations) }
    guard let finding = look(settings, operations, crashesPerCall: 3, counting: true) else { return nil }
    // Call numbers change when operations are left out, and the same crash may not come again: more crashes at each call make
    // up for that.
    return CrashShrinker.shrink(finding) { settings, operations in
      look(settings, operations, crashesPerCall: 60, counting: false)
    }
  }

  private func look(
    _ settings: CrashSettings, _ operations: [CrashOperation], crashesPerCall: Int, counting: Bool
  ) -> CrashFinding? {
    let explorer = CrashExplorer(settings, operations, depth: depth)
    let run = CrashRun(settings, operations)
    run.onCall = { [unowned explorer] run, _, call in
      var generator = SeededGenerator(seed: settings.seed &* 65_537 &+ UInt64(call))
      let moment = CrashMoment(run.disk)
      let pending = moment.pending
      let verifier = CrashVerifier(settings: settings, expectation: run.expectation)
      explorer.counts[.crashPoints] += 1
      // With few pending units there are few choices.
      let count = min(crashesPerCall, 1 + pending.unitCount * 2 + pending.nameCount)
      for index in 0..<count {
        var choice = CrashChoice.random(pending, &generator)
        choice.isKill = index == 0 && Int.random(in: 0..<4, using: &generator) == 0
        explorer.examine(moment, choice, verifier, before: call, [])
      }
    }
    do { try run.run() } catch {
      explorer.finding =
        explorer.finding ?? CrashFinding(message: "\(error)", settings: settings, operations: operations, trail: [])
    }
    if counting {
      counts += explorer.counts
      counts[.runs] += 1
    }
    return explorer.finding
  }
}
