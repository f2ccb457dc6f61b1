/// Makes a failing run smaller: fewer processes, fewer steps, fewer hand-overs, plainer settings, as long as anything fails.
///
/// Schedules are lists of hand-overs by then. A hand-over names a step and a call of it, so most of them still mean the same when
/// other steps go; what is left of those that do not is nothing.
enum ProcessShrinker {
  static func shrink(
    _ first: ProcessFinding, search: (ProcessSettings, [[ProcessStep]], [HandOver]) -> ProcessFinding?
  ) -> ProcessFinding {
    var finding = first
    func attempt(_ change: (inout ProcessFinding) -> Void) -> Bool {
      var smaller = finding
      change(&smaller)
      guard let found = search(smaller.settings, smaller.scripts, smaller.handOvers) else { return false }
      finding = found
      return true
    }
    // The schedule as a list must show it, too; a run that needs the very seed stays as it is.
    guard attempt({ _ in }) else { return first }
    var isSmaller = true
    var roundCount = 0
    while isSmaller, roundCount < 6 {
      roundCount += 1
      let before = size(of: finding)
      for index in finding.scripts.indices where !finding.scripts[index].isEmpty { _ = attempt { $0.scripts[index] = [] } }
      for index in finding.scripts.indices {
        let here = index
        leaveOut(count: { finding.scripts[here].count }) { range in attempt { $0.scripts[here].removeSubrange(range) } }
      }
      leaveOut(count: { finding.handOvers.count }) { range in attempt { $0.handOvers.removeSubrange(range) } }
      for change in plainer(finding.settings) { _ = attempt { change(&$0.settings) } }
      isSmaller = size(of: finding) < before
    }
    return finding
  }

  private static func size(of finding: ProcessFinding) -> Int { finding.stepCount * 100 + finding.handOvers.count }

  /// Halves, quarters, …, single ones.
  private static func leaveOut(count: () -> Int, _ attempt: (Range<Int>) -> Bool) {
    var width = max(1, count() / 2)
    while true {
      var start = 0
      while start < count() {
        if !attempt(start..<min(start + width, count())) { start += width }
      }
      if width == 1 { return }
      width /= 2
    }
  }

  private static func plainer(_ settings: ProcessSettings) -> [(inout ProcessSettings) -> Void] {
    var changes: [(inout ProcessSettings) -> Void] = []
    if settings.cutsTransfers { changes.append { $0.cutsTransfers = false } }
    if settings.copiesOnWrite { changes.append { $0.copiesOnWrite = false } }
    if settings.powerLoss != nil { changes.append { $0.powerLoss = nil } }
    if settings.sectorByteCount != 512 { changes.append { $0.sectorByteCount = 512 } }
    for (index, member) in settings.members.enumerated() {
      let plain = ProcessSettings.Member(role: member.role)
      if member.isBuffered { changes.append { $0.members[index].isBuffered = false } }
      if member.durability != .full { changes.append { $0.members[index].durability = .full } }
      if member.partByteCount != plain.partByteCount {
        changes.append { $0.members[index].partByteCount = plain.partByteCount }
      }
      if member.minimumLogByteCount != plain.minimumLogByteCount {
        changes.append { $0.members[index].minimumLogByteCount = plain.minimumLogByteCount }
      }
      if member.closeCheckpointByteCount != plain.closeCheckpointByteCount {
        changes.append { $0.members[index].closeCheckpointByteCount = plain.closeCheckpointByteCount }
      }
      if member.reserveByteCount != 0 { changes.append { $0.members[index].reserveByteCount = 0 } }
    }
    return changes
  }
}
