import DaybookTesting
import Foundation
import Testing

/// DAYBOOK_FORGED_FILES sets how many files are forged, DAYBOOK_FORGED_SEED the first seed.
@Suite("files whose pages were exchanged", .timeLimit(.minutes(30)))
struct ForgedPageTests {
  @Test("whatever pages and pointers are exchanged, every call returns")
  func exchanged() throws {
    let environment = ProcessInfo.processInfo.environment
    let count = UInt64(environment["DAYBOOK_FORGED_FILES"] ?? "") ?? 60
    let first = UInt64(environment["DAYBOOK_FORGED_SEED"] ?? "") ?? 1
    for seed in first..<first + count {
      do { try ForgedPages.run(seed: seed) } catch { Issue.record("seed \(seed): \(error)") }
    }
  }
}
