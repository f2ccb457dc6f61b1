import DaybookEngine

/// One run with its crashes: each image that was not seen before is made and opened.
final class ProcessExplorer {
  private(set) var counts = SearchCounts<ProcessCounter>()
  /// The hand-overs of the newest run, including the requested ones.
  private(set) var lastHandOvers: [HandOver] = []
  private var seen: [UInt64: Int] = [:]
  private var crash: (message: String, point: Int, choice: CrashChoice)?

  func explore(
    _ settings: ProcessSettings, _ scripts: [[ProcessStep]], _ schedule: Schedule, _ depth: ProcessDepth, checksTags: Bool
  ) -> ProcessFinding? {
    seen.removeAll(keepingCapacity: true)
    crash = nil
    let run = ProcessRun(settings, scripts, schedule)
    run.checksTags = checksTags
    run.momentsOneIn = max(1, depth.momentsOneIn)
    if depth.momentsOneIn > 0 {
      run.onMoment = { [unowned self] run, point in examine(run, point, depth) }
    }
    run.play()
    counts[.runs] += 1
    counts[.points] += run.scheduler.pointCount
    lastHandOvers = run.scheduler.handOvers
    counts[.handOvers] += lastHandOvers.count
    guard let message = run.finding else { return nil }
    return ProcessFinding(
      message: message, settings: settings, scripts: scripts, handOvers: lastHandOvers,
      crash: crash.map { ($0.point, $0.choice) })
  }

  private func examine(_ run: ProcessRun, _ point: Int, _ depth: ProcessDepth) {
    guard run.finding == nil else { return }
    var generator = SeededGenerator(seed: run.settings.seed &* 65_537 &+ UInt64(point))
    let moment = CrashMoment(run.disk)
    let pending = moment.pending
    counts[.moments] += 1
    let count = min(depth.crashesPerMoment, 2 + pending.unitCount * 2 + pending.nameCount)
    for index in 0..<count {
      var choice = CrashChoice.random(pending, &generator)
      if index == 0 {
        // Half of the time nothing arrives, which tests the promises hardest.
        choice = CrashChoice(units: [], names: [], seed: choice.seed)
        choice.size = .old
        choice.isKill = Bool.random(using: &generator)
      }
      do { try examine(run, moment, choice, depth) } catch {
        crash = ("\(error)", point, choice)
        return run.fail("\(error)")
      }
    }
  }

  private func examine(_ run: ProcessRun, _ moment: CrashMoment, _ choice: CrashChoice, _ depth: ProcessDepth) throws {
    counts[.images] += 1
    let fingerprint = moment.fingerprint(of: choice)
    let verifier = ProcessVerifier(run, isKill: choice.isKill)
    if !choice.isKill, let found = seen[fingerprint] {
      counts[.duplicates] += 1
      return try run.history.check(found, floor: verifier.floor) { "the file" }
    }
    let isThorough = fingerprint >> 8 % depth.thoroughEvery == 0
    if isThorough { counts[.thorough] += 1 }
    let found = try verifier.verify(moment.image(of: choice), variant: fingerprint >> 16, isThorough: isThorough)
    if !choice.isKill { seen[fingerprint] = found }
  }
}
