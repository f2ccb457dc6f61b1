import DaybookEngine

/// A broken promise, with everything needed to reproduce it.
package struct ProcessFinding: Sendable, CustomStringConvertible {
  package var message: String
  package var settings: ProcessSettings
  package var scripts: [[ProcessStep]]
  package var handOvers: [HandOver]
  /// The point and the choice of the crash; nil when the running processes themselves are wrong.
  package var crash: (point: Int, choice: CrashChoice)?

  package var stepCount: Int { scripts.reduce(0) { $0 + $1.count } }

  package var description: String {
    var lines = ["finding: \(message)", "  seed \(settings.seed), sectors of \(settings.sectorByteCount)"]
    if settings.cutsTransfers { lines[1] += ", short transfers" }
    if settings.copiesOnWrite { lines[1] += ", copies on write" }
    if let loss = settings.powerLoss { lines[1] += ", the power fails before call \(loss)" }
    for (index, member) in settings.members.enumerated() where settings.hasThreads {
      lines.append("  process \(index): \(member)")
    }
    for (index, home) in settings.homes.enumerated() where !settings.hasThreads || !scripts[index].isEmpty {
      lines.append("  actor \(index): \(settings.hasThreads ? "a thread of process \(home)" : "\(settings.members[home])")")
      for step in scripts[index] { lines.append("    \(step)") }
    }
    for handOver in handOvers { lines.append("  \(handOver)") }
    lines.append(
      crash.map { "  everybody's power fails before call \($0.point): \($0.choice)" }
        ?? "  no crash: the running processes are wrong")
    return lines.joined(separator: "\n")
  }
}
