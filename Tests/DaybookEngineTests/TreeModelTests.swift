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

  @Test("a page whose neighbours went away splits, though its cells grow without their prefix")
  func splitAfterNeighboursLeft() throws {
    let bench = try TreeWorkbench(treeCount: 1)
    func key(_ number: Int) -> [UInt8] {
      [UInt8](repeating: 1, count: 60) + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }
    try bench.put([9], [])
    for number in 0..<2000 { try bench.put(key(number * 4), []) }
    // Drops whole leaves: what is left of them stands right before a separator that shares nothing with it.
    try bench.removeRange(from: key(3000), to: key(6000))
    try bench.checkNow(0)
    for number in 2000..<6400 where number % 4 != 0 {
      if !(3000..<6000).contains(number) { try bench.put(key(number), []) }
    }
    try bench.checkNow(0)
  }
}
