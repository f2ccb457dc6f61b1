import DaybookEngine

/// A broken promise, with everything needed to reproduce it.
package struct CrashFinding: Sendable, CustomStringConvertible {
  package var message: String
  package var settings: CrashSettings
  package var operations: [CrashOperation]
  package var trail: [CrashStep]

  package var description: String {
    var lines = ["finding: \(message)", "  seed \(settings.seed); \(settings)"]
    for (index, operation) in operations.enumerated() { lines.append("  \(index + 1). \(operation)") }
    if trail.isEmpty { lines.append("  no crash: the running database itself is wrong") }
    for (index, step) in trail.enumerated() {
      lines.append("  \(index == 0 ? "power fails" : "power fails in the recovery") \(step)")
    }
    return lines.joined(separator: "\n")
  }
}
