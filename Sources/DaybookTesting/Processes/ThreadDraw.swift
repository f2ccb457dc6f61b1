import DaybookEngine

/// Draws runs in which several threads share a database: at least two that write, others that read or do background work, and
/// sometimes another process beside them.
enum ThreadDraw {
  /// What a thread mostly does.
  enum Job: CaseIterable {
    case writing, reading, background, anything

    func isPart(_ action: ProcessAction) -> Bool {
      switch (self, action) {
      case (.writing, .commit), (.writing, .savepoints), (.writing, .abort), (.writing, .sync): true
      case (.reading, .read), (.reading, .hold), (.reading, .look), (.reading, .refresh): true
      case (.background, .checkpoint), (.background, .note), (.background, .zeros), (.background, .sync): true
      case (.background, .compact), (.background, .backup), (.background, .collect): true
      default: self == .anything
      }
    }
  }

  static func draw(seed: UInt64) -> (settings: ProcessSettings, scripts: [[ProcessStep]], schedule: Schedule) {
    var generator = SeededGenerator(seed: seed)
    func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
    var members = [ProcessSettings.Member.random(oneIn(4) ? .sharer : .soleWriter, &generator)]
    var jobs: [(home: Int, job: Job)] = [(0, .writing), (0, .writing)]
    for _ in 0..<Int.random(in: 0..<4, using: &generator) {
      jobs.append((0, Job.allCases.randomElement(using: &generator) ?? .reading))
    }
    if oneIn(6) {
      members.append(.random(members[0].role == .sharer && oneIn(2) ? .sharer : .follower, &generator))
      jobs.append((1, .anything))
    }
    var settings = ProcessSettings(seed: seed, members: members)
    settings.homes = jobs.map(\.home)
    settings.sectorByteCount = oneIn(5) ? 4096 : 512
    settings.cutsTransfers = oneIn(8)
    settings.powerLoss = oneIn(4) ? Int.random(in: 1..<2000, using: &generator) : nil
    // If nothing fails, threads keep working together; otherwise one of them soon closes the shared database.
    let isTroubled = oneIn(3)
    let scripts = jobs.map { (home, job) in
      script(
        job, members[home].role, length: 2..<10, freeOneIn: isTroubled ? 3 : 12, isTroubled: isTroubled,
        extra: .of(seed), &generator)
    }
    let oneIn = [2, 3, 6, 15, 50].randomElement(using: &generator) ?? 6
    return (settings, scripts, .random(seed: generator.next(), oneIn: oneIn))
  }

  /// - Parameter freeOneIn: one step in so many does not belong to the job.
  static func script(
    _ job: Job, _ role: ProcessSettings.Role, length: Range<Int>, freeOneIn: Int, isTroubled: Bool, extra: ExtraSteps?,
    _ generator: inout SeededGenerator
  ) -> [ProcessStep] {
    (1...Int.random(in: length, using: &generator)).map { number in
      let isFree = Int.random(in: 0..<freeOneIn, using: &generator) == 0
      while true {
        let step = ProcessStep.random(number, role, isTroubled: isTroubled && isFree, extra: isFree ? extra : nil, &generator)
        if isFree || job.isPart(step.action) { return step }
      }
    }
  }
}
