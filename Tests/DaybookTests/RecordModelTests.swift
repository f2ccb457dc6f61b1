import Foundation
import Testing

@testable import Daybook

// Databases in lockstep with a naive twin, for thousands of random steps: saves with every policy, deletions, zones,
// savepoints, transactions that throw, old tokens, disks that fill up and fail, closing, killing, crashing.
//
// DAYBOOK_MODEL_STEPS sets the number of steps, DAYBOOK_MODEL_SEED the first seed; a failure prints its own.

@Suite("records against a model")
struct RecordModelTests {
  @Test("a database answers like its naive twin, through failures, kills and crashes")
  func model() throws {
    let environment = ProcessInfo.processInfo.environment
    var remaining = Int(environment["DAYBOOK_MODEL_STEPS"] ?? "") ?? 4_000
    var seed = UInt64(environment["DAYBOOK_MODEL_SEED"] ?? "") ?? 8812
    // A new file every now and then: early states are the most different from each other.
    while remaining > 0 {
      let trial = try RecordTrial(seed: seed)
      do {
        try trial.run(min(remaining, 1_000))
      } catch {
        Issue.record("seed \(seed), step \(trial.stepCount): \(error)")
        return
      }
      remaining -= trial.stepCount
      seed += 1
    }
  }
}
