import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The searches of `Scripts/crash.sh`, a small part of each. They print a finding as the smallest run that still fails.
// On a disk that lies about its syncs they must find something: a search that finds nothing there looks at nothing.

@Suite("crash searches")
struct CrashSearchTests {
  @Test("every crash of every single operation leaves a commit's state, with all that was acknowledged")
  func everySingleOperation() {
    var depth = CrashDepth()
    depth.nestedEvery = 8
    depth.thoroughEvery = 16
    let exhaustion = CrashExhaustion(depth: depth)
    for number in 0..<exhaustion.sequenceCount(length: 1) {
      let finding = exhaustion.explore(number)
      #expect(finding == nil, "\(exhaustion.name(number))")
    }
    #expect(exhaustion.counts[.images] > 500 && exhaustion.counts[.nestedImages] > 500)
    #expect(exhaustion.counts[.duplicates] < exhaustion.counts[.images])
  }

  @Test("random crashes of random runs break no promise")
  func swarm() {
    let swarm = CrashSwarm()
    for seed in 900_000...900_014 as ClosedRange<UInt64> {
      let finding = swarm.run(seed: seed)
      #expect(finding == nil)
    }
    #expect(swarm.counts.total > 500 && swarm.counts[.thorough] > 0)
  }

  @Test("what a crash cut is called torn, what was corrupted behind a later proof is called corrupt, with what is lost")
  func tails() {
    let swarm = TailSwarm()
    for seed in 900_000...900_019 as ClosedRange<UInt64> {
      let finding = swarm.run(seed: seed)
      #expect(finding == nil)
    }
    #expect(swarm.counts[.torn] > 300 && swarm.counts[.cut] > 50 && swarm.counts[.corrupt] > 50 && swarm.counts[.cutShort] > 0)
  }

  @Test("a disk that lies about its syncs is found out, and the run that shows it is small")
  func liesAreFound() throws {
    var found = 0
    let swarm = CrashSwarm(ignoresSyncs: true)
    for seed in 1...3 as ClosedRange<UInt64> {
      guard let finding = swarm.run(seed: seed) else { continue }
      found += 1
      #expect(finding.operations.count <= 2, "\(finding)")
      #expect(CrashExplorer.replay(finding) != nil, "what is printed shows it again")
    }
    #expect(found > 0)
    let exhaustion = CrashExhaustion(ignoresSyncs: true)
    #expect((0..<exhaustion.sequenceCount(length: 1)).contains { exhaustion.explore($0) != nil })
    let tails = TailSwarm(ignoresSyncs: true)
    #expect((1...5 as ClosedRange<UInt64>).contains { tails.run(seed: $0) != nil })
  }

  @Test("the progress of an exhaustive search visits each sequence once, short ones first")
  func sequences() {
    let exhaustion = CrashExhaustion()
    let count = exhaustion.operations.count
    let total = exhaustion.sequenceCount(length: 3)
    #expect(total == 1 + count + count * count + count * count * count)
    let sequences = (0..<total).map { exhaustion.sequence($0) }
    #expect(Set(sequences).count == total)
    #expect(sequences.map(\.count) == sequences.map(\.count).sorted())
    #expect(sequences.last?.count == 3)
  }
}
