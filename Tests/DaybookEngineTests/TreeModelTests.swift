import DaybookTesting
import Testing

@testable import DaybookEngine

// Trees against their naive twins: the same thousands of random steps on a sorted array, a check of the whole tree after
// each batch, and every version that somebody still reads compared with the model of its time. Then what random steps
// meet too seldom: the largest cells, pages whose neighbours went away, edges of ranges.

@Suite("Trees against a model")
struct TreeModelTests {
  @Test("a tree answers like a sorted array, through savepoints, checkpoints and old versions", arguments: 1...6 as ClosedRange<UInt64>)
  func mixedKeys(seed: UInt64) throws {
    var trial = TreeTrial(seed: seed, stepCount: 2_000, families: KeyFamily.allCases)
    trial.typicalCount = 600
    try trial.run()
  }

  @Test("and so it does for keys of one kind", arguments: KeyFamily.allCases)
  func keysOfOneKind(family: KeyFamily) throws {
    var trial = TreeTrial(seed: 77, stepCount: 1_200, families: [family])
    trial.typicalCount = 500
    try trial.run()
  }
}
