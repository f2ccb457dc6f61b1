import DaybookEngine

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
