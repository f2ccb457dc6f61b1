import Foundation
import Testing

@testable import Daybook

// Databases in lockstep with a naive twin, for thousands of random steps: saves with every policy, deletions, zones,
// savepoints, transactions that throw, requests that are refused in parts, callers that await, assets and their collection, old
// tokens, indexes, disks that fill up and fail, closing, killing, crashing; several writers and readers of one file, suspended ones,
// containers.
//
// DAYBOOK_MODEL_STEPS sets the number of steps, DAYBOOK_MODEL_SEED the first seed; a failure prints its own.

@Suite("records against a model")
struct RecordModelTests {
  @Test("a database answers like its naive twin, through failures, kills and crashes")
  func model() async throws {
    let environment = ProcessInfo.processInfo.environment
    let count = Int(environment["DAYBOOK_MODEL_STEPS"] ?? "") ?? 4_000
    let first = UInt64(environment["DAYBOOK_MODEL_SEED"] ?? "") ?? 8812
    // A thread of its own: it waits for callers that need the pool of tasks.
    let finding = await withCheckedContinuation { continuation in
      Thread { continuation.resume(returning: Self.firstFinding(count, from: first)) }.start()
    }
    if let finding { Issue.record("\(finding)") }
  }

  private static func firstFinding(_ count: Int, from first: UInt64) -> String? {
    var (remaining, seed) = (count, first)
    var occasions: [RecordTrial.Occasion: Int] = [:]
    // A new file every now and then: early states are the most different from each other.
    while remaining > 0 {
      var stepCount = 0
      do {
        let trial = try RecordTrial(seed: seed)
        defer {
          stepCount = trial.stepCount
          occasions.merge(trial.occasions) { $0 + $1 }
        }
        do { try trial.run(min(remaining, 1_000)) } catch { return "seed \(seed), step \(trial.stepCount): \(error)" }
      } catch { return "seed \(seed): \(error)" }
      remaining -= stepCount
      seed += 1
    }
    if count >= 20_000 { print(occasions.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")) }
    let missing = Set(RecordTrial.Occasion.allCases).subtracting(occasions.keys)
    // The rarest of them comes about every 15,000 steps.
    return count < 100_000 || missing.isEmpty ? nil : "\(count) steps without \(missing)"
  }
}
