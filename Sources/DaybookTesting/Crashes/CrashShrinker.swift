/// Makes a failing run smaller: fewer operations, plainer settings, a plainer crash, as long as it still fails.
///
/// Any failure counts, not only the first one: a smaller run with another symptom is as good a place to start.
enum CrashShrinker {
  /// - Parameter search: repeats operations and looks for any failure; call numbers change when operations are left out.
  static func shrink(
    _ first: CrashFinding, search: (CrashSettings, [CrashOperation]) -> CrashFinding?
  ) -> CrashFinding {
    var finding = withFewerOperations(first, \.operations) { search(first.settings, $0) }
    finding = withPlainerSettings(finding, search)
    let settings = finding.settings
    finding = withFewerOperations(finding, \.operations) { search(settings, $0) }
    return withPlainerCrash(finding)
  }

  /// Leaves out halves, quarters, …, single operations, as long as something still fails.
  static func withFewerOperations<Finding, Operation>(
    _ first: Finding, _ path: KeyPath<Finding, [Operation]>, _ search: ([Operation]) -> Finding?
  ) -> Finding {
    var finding = first
    var width = max(1, finding[keyPath: path].count / 2)
    while true {
      var start = 0
      var isSmaller = false
      while start < finding[keyPath: path].count {
        var operations = finding[keyPath: path]
        operations.removeSubrange(start..<min(start + width, operations.count))
        if let smaller = search(operations) {
          finding = smaller
          isSmaller = true
        } else {
          start += width
        }
      }
      if width > 1 { width /= 2 } else if !isSmaller { return finding }
    }
  }

  private static func withPlainerSettings(
    _ first: CrashFinding, _ search: (CrashSettings, [CrashOperation]) -> CrashFinding?
  ) -> CrashFinding {
    var finding = first
    let plain = CrashSettings(seed: finding.settings.seed)
    let changes: [(inout CrashSettings) -> Void] = [
      { $0.fault = nil }, { $0.recycled = [] }, { $0.cutsTransfers = false }, { $0.padding = false },
      { $0.durability = .full }, { $0.sectorByteCount = 512 }, { $0.partByteCount = 8 << 20 },
      { $0.minimumLogByteCount = plain.minimumLogByteCount },
      { $0.closeCheckpointByteCount = plain.closeCheckpointByteCount },
    ]
    for change in changes {
      var settings = finding.settings
      change(&settings)
      if let plainer = search(settings, finding.operations) { finding = plainer }
    }
    return finding
  }

  /// The same run with plainer crashes.
  private static func withPlainerCrash(_ first: CrashFinding) -> CrashFinding {
    var finding = first
    func attempt(_ change: (inout CrashFinding) -> Void) {
      var plainer = finding
      change(&plainer)
      if let message = CrashExplorer.replay(plainer) {
        finding = plainer
        finding.message = message
      }
    }
    while finding.trail.count > 1 {
      let count = finding.trail.count
      attempt { $0.trail.removeLast() }
      if finding.trail.count == count { break }
    }
    for index in finding.trail.indices {
      attempt { $0.trail[index].choice.torn = nil }
      attempt { $0.trail[index].choice.unwritten = .zeros }
      attempt { $0.trail[index].choice.size = .new }
      for unit in finding.trail[index].choice.units.reversed() { attempt { $0.trail[index].choice.units.remove(unit) } }
      for name in finding.trail[index].choice.names.reversed() { attempt { $0.trail[index].choice.names.remove(name) } }
    }
    return finding
  }
}
