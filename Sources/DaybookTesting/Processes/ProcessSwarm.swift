import DaybookEngine

/// Random processes and threads with random scripts under random schedules, and a few crashes of each run.
package final class ProcessSwarm {
  /// Who meets on the disk.
  package enum Kind: Sendable { case processes, threads }

  package private(set) var counts = SearchCounts<ProcessCounter>()
  private let kind: Kind
  private let mistake: ProcessSettings.Mistake?
  private let checksTags: Bool
  private let depth = ProcessDepth()

  /// - Parameter checksTags: whether each change tag must stand for one version.
  package init(_ kind: Kind = .processes, mistake: ProcessSettings.Mistake? = nil, checksTags: Bool = false) {
    self.kind = kind
    self.mistake = mistake
    self.checksTags = checksTags
  }

  /// One run of several processes in so many has a thread for what is done in the background.
  private static let backgroundOneIn = 6

  /// What a seed stands for.
  package static func draw(
    _ kind: Kind = .processes, seed: UInt64
  ) -> (settings: ProcessSettings, scripts: [[ProcessStep]], schedule: Schedule) {
    if kind == .threads { return ThreadDraw.draw(seed: seed) }
    var generator = SeededGenerator(seed: seed)
    var settings = ProcessSettings.random(seed: seed, &generator)
    let isTroubled = Bool.random(using: &generator)
    let extra = ExtraSteps.of(seed)
    var scripts = settings.members.map { member in
      (1...Int.random(in: 3..<16, using: &generator)).map {
        ProcessStep.random($0, member.role, isTroubled: isTroubled, extra: extra, &generator)
      }
    }
    // The writer's background work runs on a thread beside its commits; `ThreadDraw` has more threads.
    if Int.random(in: 0..<backgroundOneIn, using: &generator) == 0 {
      settings.homes.append(0)
      scripts.append(
        ThreadDraw.script(
          .background, settings.members[0].role, length: 2..<8, freeOneIn: 12, isTroubled: false, extra: nil, &generator))
    }
    let oneIn = [2, 4, 10, 30, 100].randomElement(using: &generator) ?? 10
    return (settings, scripts, .random(seed: generator.next(), oneIn: oneIn))
  }

  /// One run without crashes: its hand-overs, a number for what it left on the disk, and what was wrong.
  package static func play(
    _ settings: ProcessSettings, _ scripts: [[ProcessStep]], _ schedule: Schedule
  ) -> (handOvers: [HandOver], fingerprint: UInt64, finding: String?) {
    let run = ProcessRun(settings, scripts, schedule)
    run.play()
    return (run.scheduler.handOvers, run.disk.fingerprint, run.finding)
  }

  /// One run: the same seed is the same run, the same crashes and the same finding.
  package func run(seed: UInt64, isShrunk: Bool = true) -> ProcessFinding? {
    var (settings, scripts, schedule) = Self.draw(kind, seed: seed)
    settings.mistake = mistake
    let explorer = ProcessExplorer()
    defer { counts += explorer.counts }
    guard let finding = explorer.explore(settings, scripts, schedule, depth, checksTags: checksTags) else { return nil }
    return isShrunk ? Self.shrink(finding, checksTags: checksTags) : finding
  }

  /// The limit for shrinking a finding: a run that hangs takes long each time.
  private static let mostPointsOfShrinking = 500_000

  package static func shrink(_ finding: ProcessFinding, checksTags: Bool = false) -> ProcessFinding {
    // Call numbers change when steps are left out, and the same crash may not come again: more crashes make up for that.
    var depth = ProcessDepth()
    depth.momentsOneIn = finding.crash == nil ? 0 : 1
    depth.crashesPerMoment = 6
    var pointCount = 0
    return ProcessShrinker.shrink(finding) { settings, scripts, handOvers in
      if pointCount > mostPointsOfShrinking { return nil }
      let explorer = ProcessExplorer()
      defer { pointCount += explorer.counts.total }
      return explorer.explore(settings, scripts, .handOvers(handOvers), depth, checksTags: checksTags)
    }
  }
}
