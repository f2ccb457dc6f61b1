import DaybookEngine

/// One crash of a trail: before which call, and what it left. The first call belongs to the run, the others to recoveries.
package struct CrashStep: Sendable, CustomStringConvertible {
  package var call: Int
  package var choice: CrashChoice
  package var description: String { "before call \(call): \(choice)" }
}
